//! Staging everything of a work tree that is work, to be committed.

use super::{
    Trees, index,
    inspection::{InspectedTree, Inspection, inspect_files},
    make::{TreeCondition, condition, unusable},
    name,
    snapshot::{no_tree, reader, scratch_of},
};
use crate::error::GitError;
use std::fs;
use waypost_store::file;

/// Puts everything of a tree that is work into its index: tracked or not, whatever marks an
/// agent has set so that git would not look. Waypost's own files stay out, and repositories
/// that are not tracked: a commit cannot hold those. Returns where such were found. No other tree
/// may be at work in the tree.
///
/// `git add` is not to be called with all of a tree instead: it runs git in submodules, which
/// does what those configure.
pub(crate) fn stage(trees: &Trees, name: &str) -> Result<Vec<String>, GitError> {
    name::check(name)?;
    let (trees, _turn) = trees.turn(name)?;
    let subject = ready(&trees, name)?;
    subject.clear_locks()?;
    match stage_plain(&trees, &subject)? {
        true => Ok(Vec::new()),
        false => stage_inspected(&trees, &subject, &[]),
    }
}

/// As `stage`, only some files, or all; others may be at work in the tree. Git's own locks keep
/// them apart.
pub(crate) fn stage_among_others(
    trees: &Trees,
    name: &str,
    only: &[&str],
) -> Result<Vec<String>, GitError> {
    name::check(name)?;
    let (trees, _turn) = trees.turn(name)?;
    stage_inspected(&trees, &ready(&trees, name)?, only)
}

pub(super) fn ready(trees: &Trees, name: &str) -> Result<InspectedTree, GitError> {
    let TreeCondition::Ready(record, mark) = condition(trees, name)? else {
        return Err(no_tree(name));
    };
    Ok(InspectedTree { name: name.to_owned(), record, mark, folder: trees.path(name) })
}

fn stage_inspected(
    trees: &Trees,
    subject: &InspectedTree,
    only: &[&str],
) -> Result<Vec<String>, GitError> {
    let seen = inspect_files(trees, subject)?;
    if seen.has_blinkers {
        uncover(trees, subject)?;
    }
    if seen.is_changed || !seen.links.is_empty() {
        reader(trees, subject, &seen)?.stage(only)?;
    }
    Ok(strays(&seen))
}

/// Stages without a look at the tree first, which would cost as much again. `false`: nothing is
/// staged; there are marks or other repositories, for which a look is needed.
fn stage_plain(trees: &Trees, subject: &InspectedTree) -> Result<bool, GitError> {
    let is_plain = |bytes: &[u8]| {
        index::read(bytes, subject.oid_length()).is_some_and(|found| found.is_plain())
    };
    let Some(index) = subject.record.index()?.filter(|index| is_plain(&index.bytes)) else {
        return Ok(false);
    };
    let nothing_seen = Inspection::default();
    let work = reader(trees, subject, &nothing_seen)?;
    let Some(staged) = work.stage_aside(&index)? else { return Ok(false) };
    let bytes = fs::read(&staged).map_err(|error| unusable(&staged, error))?;
    // Git notes a commit of every repository that it comes across.
    if !is_plain(&bytes) {
        return Ok(false);
    }
    file::rename(&staged, &subject.record.index_path())?;
    Ok(true)
}

/// Takes the marks from a tree's index that keep git from looking at files which are there.
pub(super) fn uncover(trees: &Trees, subject: &InspectedTree) -> Result<(), GitError> {
    let InspectedTree { record, folder, name, .. } = subject;
    let Some(index) = record.index()? else { return Ok(()) };
    let Some(copy) = index::without_blinkers(&index.bytes, subject.oid_length(), folder) else {
        return Ok(());
    };
    let scratch = scratch_of(trees, name)?;
    let aside = scratch.0.join("index");
    index.copy_to(&aside, &copy)?;
    Ok(file::rename(&aside, &record.index_path())?)
}

impl InspectedTree {
    /// What a git that was killed with its agent has left would keep every later one from working.
    fn clear_locks(&self) -> Result<(), GitError> {
        for name in ["index.lock", "HEAD.lock"] {
            file::remove(&self.record.folder.join(name))?;
        }
        Ok(())
    }
}

/// The repositories in a tree that git does not track.
fn strays(seen: &Inspection) -> Vec<String> {
    seen.nested.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}
