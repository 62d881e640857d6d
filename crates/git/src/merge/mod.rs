//! Bringing work together in git: an attempt's commit into its phase's branch (`join`), a phase's
//! branch into the branch that the run started on (`land`), and a task's work out of it again
//! (`revert`).
//!
//! Merges are made from objects, without a work tree, and become true by one compare-and-swap of a
//! ref. Every merge commit says in its trailers what it is, so that after a crash git can be asked
//! what has happened: all of these may be done twice.

mod advance;
mod cut_move;
mod history;
mod join;
mod land;
mod obstructions;
mod occupant;
mod outlook;
mod phase;
mod revert;

pub use cut_move::settle_move;
pub use history::{Brought, brought, diff_of_commit, diff_since, landed_phase, missing_from};
pub use join::{
    Committed, Join, Stamp, changed_since, commit_attempt, is_committed, join, joined, put_back,
};
pub(crate) use land::joined_tasks;
pub use land::{Land, Landing, land};
pub(crate) use occupant::refs as occupant_refs;
pub use occupant::{Occupant, commit_shared, enter, leave};
pub use outlook::Outlook;
pub use phase::{
    BranchKind, PhaseBranch, clear_phase, clear_strays, close_phase, hand_over, has_phase,
    is_untouched, open_phase, settle_phase, sync_phase, take_back,
};
pub use revert::{Reverted, revert};

use crate::{
    command::{self, Git},
    error::GitError,
};

/// Trailers of our commits.
const TASK: &str = "Waypost-Task";
const ATTEMPT: &str = "Waypost-Attempt";
const EVIDENCE: &str = "Waypost-Evidence";
const PHASE: &str = "Waypost-Phase";
const REQUEST: &str = "Waypost-Request";
const REVERTS: &str = "Waypost-Reverts";

/// How often a merge is made again because its branch was moved meanwhile.
const TRIES: usize = 20;

/// A merge that was made from objects.
#[derive(Debug)]
enum TrialMerge {
    /// The tree that results.
    Clean(String),
    /// Files that both sides changed in different ways.
    Conflict(Vec<String>),
}

/// Merges two commits without a work tree.
fn try_merge(
    git: &Git,
    ours: &str,
    theirs: &str,
    base: Option<&str>,
) -> Result<TrialMerge, GitError> {
    let base = base.map(|base| format!("--merge-base={base}"));
    let start = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"];
    let arguments: Vec<&str> =
        start.into_iter().chain(base.as_deref()).chain([ours, theirs]).collect();
    let output = git.output(&arguments)?;
    let mut fields = output.stdout.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let tree = fields.next().map(|tree| tree.trim().to_owned()).filter(|tree| !tree.is_empty());
    match (output.status.code(), tree) {
        (Some(0), Some(tree)) => Ok(TrialMerge::Clean(tree)),
        (Some(1), Some(_)) => {
            let files: Vec<String> =
                fields.filter(|it| !it.is_empty()).map(|it| it.into_owned()).collect();
            Ok(TrialMerge::Conflict(files))
        }
        _ => Err(command::failure("merge-tree", &output)),
    }
}

/// Names some files in a sentence.
pub fn name_some(files: &[String]) -> String {
    const NAMED_MAX: usize = 5;
    let shown: Vec<&str> = files.iter().take(NAMED_MAX).map(String::as_str).collect();
    match files.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
