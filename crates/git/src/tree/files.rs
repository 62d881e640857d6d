//! What is in a work tree now, as a tree of git's.

use super::{
    Trees,
    inspection::{InspectedTree, inspect},
    make::{TreeCondition, condition},
    name,
    snapshot::{REFS, reader},
};
use crate::error::GitError;

/// The commit that a tree is at, and its files as one tree; of one that was retired, as they
/// were then. None if nothing is known of it.
pub fn files_of(trees: &Trees, name: &str) -> Result<Option<(String, String)>, GitError> {
    name::check(name)?;
    let (trees, _turn) = trees.turn(name)?;
    match condition(&trees, name)? {
        TreeCondition::Ready(record, mark) => {
            let folder = trees.path(name);
            let subject = InspectedTree { name: name.to_owned(), record, mark, folder };
            let seen = inspect(&trees, &subject)?;
            let files = reader(&trees, &subject, &seen)?.files()?;
            Ok(seen.commit.map(|commit| (commit, files)))
        }
        _ => kept_files(&trees, name),
    }
}

/// The newest snapshot of a tree.
fn kept_files(trees: &Trees, name: &str) -> Result<Option<(String, String)>, GitError> {
    let below = format!("{REFS}/{}", name::short(name));
    let list = ["for-each-ref", "--sort=-version:refname", "--count=1", "--format=%(refname)"];
    let git = trees.git()?;
    let newest = git.text(&[&list[..], &[&below]].concat())?;
    if newest.is_empty() {
        return Ok(None);
    }
    let head = git.try_text(&["rev-parse", "--verify", "--quiet", &format!("{newest}^1")])?;
    Ok(head.map(|head| (head, newest)))
}
