//! What piles up is deleted by age and size: logs, renderings of windows, snapshots of work trees.
//!
//! What the present run may still want stays: logs and snapshots of its tasks that are not
//! completed, and of its phases that have not landed. So does whatever an open question names, and
//! the newest renderings of each window, with which edits are compared. Files are found on disk, so
//! nothing has to be remembered, and deleting may be cut off anywhere.
//!
//! A host does it beside its work, in a thread of its own; `doctor` shows what would go.

mod needs;
mod piles;

pub(crate) use piles::{Pile, PileKind};

use crate::{error::EngineError, project::Project, threaded::Threaded, worktrees::trees_of};
use needs::Needs;
use piles::PileFolder;
use std::time::Duration;
use waypost_git::Trees;
use waypost_model::{
    config::{Config, RetentionConfig},
    time::Time,
};
use waypost_store::file;

/// What a day brings is not noticed on a disk; a run that is left alone for weeks is looked after
/// many times.
const INTERVAL: Duration = Duration::from_secs(600);
/// A host that lives shortly looks only if none has for so long.
const RARELY: Duration = Duration::from_secs(24 * 3_600);
/// Says when that was last done; beside the journal.
const STAMP: &str = "retention.stamp";

/// What is kept of this project, and what of it is needed.
#[derive(Debug)]
pub(crate) struct Stock {
    place: PileFolder,
    needs: Needs,
    retention: RetentionConfig,
    snapshot_days: u32,
    /// None outside git.
    trees: Option<Trees>,
    now: Time,
}

impl Stock {
    pub(crate) fn of(project: &mut Project) -> Result<Self, EngineError> {
        let needs = Needs::of(project)?;
        let Config { retention, worktree, .. } = &project.configuration().values;
        Ok(Self {
            place: PileFolder { state: project.place().state.clone() },
            needs,
            retention: retention.clone(),
            snapshot_days: worktree.snapshot_days,
            trees: trees_of(project).ok(),
            now: project.clock().now(),
        })
    }

    /// What there is of each kind, and what of it would go.
    pub(crate) fn piles(&self) -> Result<Vec<Pile>, EngineError> {
        let Self { place, needs, retention, now, .. } = self;
        let logs = Pile::of(PileKind::Logs, place.logs(needs), retention.logs(), *now);
        let renderings = place.renderings();
        let renderings = Pile::of(PileKind::Renderings, renderings, retention.renderings(), *now);
        let snapshots = match &self.trees {
            Some(trees) => piles::snapshots(trees, needs)?,
            None => Vec::new(),
        };
        let limits = retention.snapshots(self.snapshot_days);
        let snapshots = Pile::of(PileKind::Snapshots, snapshots, limits, *now);
        Ok(vec![logs, renderings, snapshots])
    }

    /// Deletes what is to go. What cannot be deleted stays, and goes another time.
    pub(crate) fn reduce(&self) -> Result<Vec<Pile>, EngineError> {
        let piles = self.piles()?;
        for pile in &piles {
            pile.delete(self.trees.as_ref());
        }
        // It means nothing after a power cut.
        file::replace_volatile(&self.place.state.join(STAMP), b"", file::PRIVATE)?;
        Ok(piles)
    }
}

/// Does it for a host, from time to time.
#[derive(Debug)]
pub(crate) struct Retention {
    due: Time,
    at_work: Option<Threaded<()>>,
}

impl Retention {
    pub(crate) fn new(project: &Project) -> Self {
        let now = project.clock().now();
        let stamp = project.place().state.join(STAMP);
        let last = piles::written(&stamp).filter(|last| now.since(*last) < RARELY);
        Self { due: last.map_or(now, |_| now.plus(INTERVAL)), at_work: None }
    }

    /// Begins if it is time, and goes on if it has ended.
    pub(crate) fn attend(&mut self, project: &mut Project, now: Time) {
        if let Some(at_work) = &mut self.at_work {
            if !matches!(at_work.take(), Ok(None)) {
                self.at_work = None;
                self.due = now.plus(INTERVAL);
            }
        } else if now >= self.due {
            self.due = now.plus(INTERVAL);
            // Nothing depends on it: what cannot be told or deleted now is found next time.
            let Ok(stock) = Stock::of(project) else { return };
            self.at_work = Threaded::begin(move || drop(stock.reduce())).ok();
        }
    }
}

#[cfg(test)]
mod tests;
