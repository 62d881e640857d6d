//! What an earlier engine has left of agents in a folder of keepers: the one that is looked for, and
//! others, which have to be gone before another process may begin.

use super::{bury, end_child};
use crate::error::{EngineError, Problem};
use std::{path::Path, time::Duration};
use waypost_proc::{Dead, Ended, Found, Keeper, Report, find};

/// What was found in a folder of keepers.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// The process that was looked for, at work, and what its keeper has told.
    pub(crate) own: Option<(Keeper, Vec<Report>)>,
    pub(crate) left: Vec<LeftProcess>,
}

/// A process that an earlier engine has left.
#[derive(Debug)]
pub(crate) enum LeftProcess {
    Alive(Keeper, Vec<Report>),
    Dead(Dead),
}

/// Looks for what is left; `own` is what its keeper calls the process that is looked for.
pub(crate) fn leftovers(folder: &Path, own: Option<&str>) -> Result<Leftovers, EngineError> {
    let mut found = Leftovers::default();
    for keeper in find(folder)? {
        match keeper {
            Found::Alive(keeper) => {
                let reports = keeper.next(Duration::ZERO)?;
                match own.is_some_and(|own| reports.iter().any(|report| report.id() == own)) {
                    true => found.own = Some((keeper, reports)),
                    false => found.left.push(LeftProcess::Alive(keeper, reports)),
                }
            }
            Found::Dead(dead) => found.left.push(LeftProcess::Dead(dead)),
            Found::Foreign { id, .. } => {
                return Err(Problem::other_version(&id, "agent has").into());
            }
        }
    }
    Ok(found)
}

/// Ends what is left, and waits until it has ended. How the child of this name did, if that was seen.
pub(crate) fn clear(left: Vec<LeftProcess>, id: &str) -> Result<Option<Ended>, EngineError> {
    let mut ended = None;
    for left in left {
        match left {
            LeftProcess::Alive(keeper, reports) => {
                if let Some(id) = reports.first().map(|report| report.id().to_owned()) {
                    end_child(&keeper, &id, reports)?;
                }
                keeper.close()?;
            }
            LeftProcess::Dead(dead) => {
                ended = bury(&dead, id)?.or(ended);
                dead.remove()?;
            }
        }
    }
    Ok(ended)
}
