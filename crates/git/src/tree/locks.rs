//! Locks in the repository that a git of ours has left because it was killed.

use super::{Trees, record::TreeRecord};
use crate::{command::stale_locks, error::GitError};
use std::path::PathBuf;

/// Git is at work for an engine from here on. What a git that was killed before has left in the
/// way is taken away; the engine that calls this holds the lock that all of them lived under.
pub fn begin_work(trees: &Trees) -> Result<(), GitError> {
    release_locks(trees)?;
    stale_locks::begin(trees.state())
}

/// The engine's git has ended, and none of it was killed.
pub fn end_work(trees: &Trees) -> Result<(), GitError> {
    release_locks(trees)?;
    stale_locks::end(trees.state())
}

/// Takes away what a git that was killed has left in the way; says how much that was.
pub fn release_locks(trees: &Trees) -> Result<usize, GitError> {
    let (state, common) = (trees.state(), trees.common());
    let others = TreeRecord::all(common)?.into_iter().map(|(_, path)| path);
    let places: Vec<PathBuf> =
        [trees.root().to_owned(), common.to_owned()].into_iter().chain(others).collect();
    stale_locks::release(state, common, &places)
}
