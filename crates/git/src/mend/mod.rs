//! A repository after a power cut, a full disk or a careless hand: what does not verify is found, put
//! aside, and rebuilt from what is known elsewhere.
//!
//! Work trees, git's records of them, their indexes and the branches of attempts are caches. The
//! truth is the journal, which names every commit that was joined, and the objects of those, which
//! were synced before it was told. So the head of a phase can be found again from what was joined,
//! a tree from its name, an index from its commit; logs of git tell where other branches were.
//!
//! Nothing is deleted here: what is replaced goes to `aside` below the journal's folder. What cannot
//! be rebuilt is named. Looking changes nothing.
//!
//! Deliberately not here: whether anything is to be done about it, and what tasks follow from it.

mod aside;
mod head;
mod index;
mod objects;
mod recorded;
mod records;
mod refs;
#[cfg(test)]
mod tests;

pub use recorded::{RecordedPhase, RecordedWork};

use crate::{
    error::GitError,
    tree::{Trees, release_locks},
};
use std::collections::{BTreeMap, BTreeSet};

/// Something that does not verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What it is, with its place.
    pub what: String,
    pub cure: Cure,
}

/// What became of it, or can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cure {
    /// It was rebuilt, or can be; as what.
    Rebuilt(String),
    /// There is nothing to rebuild it from; what a person can do.
    Lost(String),
}

/// Whether something is done about what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Look,
    Mend,
}

/// Finds what does not verify, and says what it would be rebuilt as.
pub fn examine(trees: &Trees, recorded: &RecordedWork) -> Result<Vec<Damage>, GitError> {
    Mender::new(trees, recorded, Act::Look).go_through()
}

/// Rebuilds what does not verify, as far as that can be done. No git of ours may be at work.
pub fn mend(trees: &Trees, recorded: &RecordedWork) -> Result<Vec<Damage>, GitError> {
    release_locks(trees)?;
    Mender::new(trees, recorded, Act::Mend).go_through()
}

/// Makes branches of phases again that are gone, with everything that was recorded as joined. Nothing that
/// is there is touched, so git may be at work.
pub fn restore_branches(trees: &Trees, recorded: &RecordedWork) -> Result<Vec<Damage>, GitError> {
    let mut mender = Mender::new(trees, recorded, Act::Mend);
    for phase in recorded.phases.iter().filter(|phase| phase.base.is_some()) {
        if trees.commit_of(&phase.branch.head())?.is_none() {
            mender.look_at_phase(phase, &mut BTreeMap::new())?;
        }
    }
    Ok(mender.found)
}

/// A repository that is being gone through.
struct Mender<'a> {
    trees: &'a Trees,
    recorded: &'a RecordedWork,
    act: Act,
    found: Vec<Damage>,
    /// Refs of ours of which everything is there.
    whole: BTreeSet<String>,
}

impl<'a> Mender<'a> {
    fn new(trees: &'a Trees, recorded: &'a RecordedWork, act: Act) -> Self {
        Self { trees, recorded, act, found: Vec::new(), whole: BTreeSet::new() }
    }

    /// In this order: each needs what comes before it.
    fn go_through(mut self) -> Result<Vec<Damage>, GitError> {
        if !self.look_at_head()? {
            return Ok(self.found);
        }
        self.look_at_objects()?;
        self.look_at_refs()?;
        if self.act == Act::Look {
            self.look_at_landed()?;
        }
        self.look_at_trees()?;
        self.look_at_checkout()?;
        Ok(self.found)
    }

    fn is_mending(&self) -> bool {
        self.act == Act::Mend
    }

    fn rebuilt(&mut self, what: impl Into<String>, how: impl Into<String>) {
        self.found.push(Damage { what: what.into(), cure: Cure::Rebuilt(how.into()) });
    }

    fn lost(&mut self, what: impl Into<String>, remedy: impl Into<String>) {
        self.found.push(Damage { what: what.into(), cure: Cure::Lost(remedy.into()) });
    }
}
