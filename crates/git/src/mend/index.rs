//! Indexes: what git cannot read, or names objects that are gone, is read again from the commit.
//!
//! Files stay as they are. What was staged and nowhere else cannot be known any more.

use super::Mender;
use crate::{command::Git, error::GitError};
use std::path::Path;

/// As many objects are asked about at once.
const AT_ONCE: usize = 500;

impl Mender<'_> {
    /// The checkout of the repository itself.
    pub(super) fn look_at_checkout(&mut self) -> Result<(), GitError> {
        if self.trees.root() == self.trees.common() {
            return Ok(());
        }
        let index = self.trees.common().join("index");
        let git = self.trees.git()?;
        self.look_at_index(&git, &index)
    }

    /// The index of the tree that `git` is in.
    pub(super) fn look_at_index(&mut self, git: &Git, index: &Path) -> Result<(), GitError> {
        if index.symlink_metadata().is_err() || is_readable(git)? {
            return Ok(());
        }
        let what = format!("{} cannot be read, or names what is gone", index.display());
        self.rebuilt(what, "read again from the commit; files stay as they are");
        if !self.is_mending() {
            return Ok(());
        }
        self.put_aside(index)?;
        git.clone().durable_with_index().text(&["read-tree", "HEAD"])?;
        // What differs is no failure.
        git.try_text(&["update-index", "-q", "--refresh"]).map(drop)
    }
}

/// Whether git can read its index, and has every object that was staged.
fn is_readable(git: &Git) -> Result<bool, GitError> {
    let staged = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "HEAD", "--"];
    let Some(listed) = git.try_bytes(&staged)? else {
        // Before a first commit there is nothing to compare with, or to read again.
        let head = git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])?;
        return Ok(head.is_none());
    };
    let listed = String::from_utf8_lossy(&listed);
    // `:OLDMODE NEWMODE OLD NEW STATUS`; what is deleted or a submodule has no object here.
    let object = |field: &str| {
        let mut words = field.strip_prefix(':')?.split(' ').skip(1);
        let (mode, oid) = (words.next()?, words.nth(1)?);
        (!matches!(mode, "000000" | "160000")).then(|| oid.to_owned())
    };
    let objects: Vec<String> = listed.split('\0').filter_map(object).collect();
    for some in objects.chunks(AT_ONCE) {
        let names = some.iter().map(String::as_str);
        let walk: Vec<&str> =
            ["rev-list", "--objects", "--no-walk", "--quiet"].into_iter().chain(names).collect();
        if git.try_text(&walk)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}
