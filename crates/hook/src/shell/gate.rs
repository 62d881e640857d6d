//! Ends a call when a gate closes under it: it keeps the rights that it started with for as long as
//! they are given.

use super::answer::{Answer, meet};
use crate::{Spot, Standing};
use rustix::fs::inotify;
use std::{env, fs, path::PathBuf};
use waypost_model::{
    layout::{self, variable},
    workflow::Rights,
};
use waypost_wall::{Attendant, Ending, notices};

/// A record that is gone for so many rounds is not just being written: the journal is asked.
const CALL_ROUNDS: u32 = 2;

/// The same for a whole agent. There may be hundreds, for hours, and each commit of a run makes records old;
/// a gate that closes writes a new one, which is noticed at once.
const AGENT_ROUNDS: u32 = 30;

/// What is said to the one who made the call.
const CLOSED: &str = "a gate has closed while this call was running, so it was ended; `waypost develop \
                      status` says what is open now";

/// The name of the work tree that belongs to the repository itself.
const MAIN_TREE: &str = "main";

/// Looks at the gate records of the projects that hold a call.
#[derive(Debug)]
pub(super) struct Gate {
    spots: Vec<Spot>,
    rights: Rights,
    unknown: u32,
    patience: u32,
}

impl Gate {
    pub(super) fn begin(answer: &Answer, is_agent: bool) -> Self {
        // In a work tree that Waypost has made for an attempt no workflow holds.
        let is_task = env::var_os(variable::TASK).is_some();
        let is_free = |spot: &Spot| is_agent && is_task && spot.tree != MAIN_TREE;
        let spots: Vec<Spot> =
            answer.projects.iter().map(|it| it.spot.clone()).filter(|it| !is_free(it)).collect();
        let patience = if is_agent { AGENT_ROUNDS } else { CALL_ROUNDS };
        for spot in &spots {
            let folder = spot.state.join(layout::state::GATES);
            // Without a folder of records there is a look every second. What it is in is not made: a project that
            // was deleted meanwhile stays so.
            let _slower = fs::create_dir(&folder);
            let on = inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::DELETE;
            notices::watch(&folder, on);
        }
        Self { spots, rights: answer.rights, unknown: 0, patience }
    }

    /// What is allowed now, as far as that can be told without asking; none if it cannot.
    fn now(&mut self) -> Option<Rights> {
        let mut rights = Rights::ALL;
        let mut is_known = true;
        for spot in &self.spots {
            match Standing::of(spot) {
                Standing::Free => {}
                Standing::Held(held) => rights = meet(rights, held.rights),
                Standing::Unknown => is_known = false,
            }
        }
        self.unknown = if is_known { 0 } else { self.unknown + 1 };
        if is_known || meet(rights, self.rights) != self.rights {
            return Some(rights);
        }
        (self.unknown > self.patience).then(|| {
            self.unknown = 0;
            let folders: Vec<PathBuf> = self.spots.iter().map(|spot| spot.root.clone()).collect();
            Answer::ask(&folders).rights
        })
    }
}

impl Attendant for Gate {
    fn attend(&mut self) -> Option<Ending> {
        let now = self.now()?;
        (meet(now, self.rights) != self.rights).then(|| Ending { reason: CLOSED.to_owned() })
    }
}
