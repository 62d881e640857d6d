//! What would keep the phases of a run from having their branches and work trees, told before anything
//! is made.
//!
//! Git is asked once, for all phases; the rest is looking at files. What comes up later is found when a
//! phase is opened, which looks again.

use super::PhaseBranch;
use crate::{
    error::{GitError, Refusal},
    tree::{self, Trees},
};
use std::collections::BTreeSet;
use waypost_model::run::TREES;

/// The refs that may stand in the way of phases, as they were when git was asked.
#[derive(Debug)]
pub struct Outlook {
    trees: Trees,
    refs: BTreeSet<String>,
}

impl Outlook {
    pub fn of(trees: Trees) -> Result<Self, GitError> {
        let branches = format!("refs/heads/{TREES}");
        let arguments = ["for-each-ref", "--format=%(refname)", &branches, "refs/waypost/phases"];
        let refs = trees.git()?.text(&arguments)?.lines().map(str::to_owned).collect();
        Ok(Self { trees, refs })
    }

    /// Says what would keep a phase from being opened.
    pub fn check(&self, phase: &PhaseBranch) -> Result<(), GitError> {
        if !self.refs.contains(&phase.marker()) {
            phase.refuse_foreign(|name| Ok(self.refs.contains(name)))?;
        }
        tree::foresee(&self.trees, &phase.name)
    }
}

impl PhaseBranch {
    /// Refuses branches that stand where the one of this phase is to be made.
    pub(super) fn refuse_foreign(
        &self,
        is_there: impl Fn(&str) -> Result<bool, GitError>,
    ) -> Result<(), GitError> {
        if is_there(&self.head())? {
            return Err(Refusal::ForeignBranch { name: self.name.clone() }.into());
        }
        if is_there(&format!("refs/heads/{TREES}"))? {
            let (name, wanted) = (TREES.to_owned(), self.name.clone());
            return Err(Refusal::BranchAsFolder { name, wanted }.into());
        }
        Ok(())
    }
}
