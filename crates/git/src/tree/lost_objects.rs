//! A work tree whose commit or index has lost objects, because another git has cleared up beside us.
//!
//! What counts is the files, and they are there: the tree goes back to the newest commit that is
//! whole, and its index is filled from that, without a word about which files are unchanged. So
//! whatever is staged next is read and written again.

use super::Trees;
use crate::{
    command::Git,
    error::{Absence, GitError},
};

/// How many commits of an attempt's own are looked at, the newest first.
const COMMITS_MAX: &str = "--max-count=20";

/// Brings a tree back to the newest commit that is whole, at least to `sound`, and its index with it.
/// Files stay as they are.
pub(crate) fn rebuild(git: &Git, sound: &str) -> Result<(), GitError> {
    let whole = rebuild_head(git, sound)?;
    git.text(&["read-tree", &whole]).map(drop)
}

/// Brings a tree back to the newest commit that is whole, at least to `sound`. Index and files stay as
/// they are. Returns that commit.
pub(super) fn rebuild_head(git: &Git, sound: &str) -> Result<String, GitError> {
    let head = git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let newest = ["rev-list", COMMITS_MAX, "HEAD", "--not", sound];
    let own = git.try_text(&newest)?;
    let mut whole = match (&own, &head) {
        // It has nothing of its own, and only its index is at fault.
        (Some(own), Some(head)) if own.is_empty() => head,
        _ => sound,
    };
    for commit in own.iter().flat_map(|own| own.lines()) {
        let walk = ["rev-list", "--objects", "--quiet", commit, "--not", sound];
        if git.try_text(&walk)?.is_some() {
            whole = commit;
            break;
        }
    }
    let whole = git.text(&["rev-parse", "--verify", &format!("{whole}^{{commit}}")])?;
    if head.as_deref() != Some(&whole) {
        git.text(&["update-ref", "-m", "waypost: objects were lost", "HEAD", &whole])?;
        // Logs name what is gone, and git would miss it there for weeks.
        let branch = git.try_text(&["symbolic-ref", "--quiet", "HEAD"])?;
        let logs: Vec<&str> = ["HEAD"].into_iter().chain(branch.as_deref()).collect();
        let never = ["--expire=never", "--expire-unreachable=never"];
        git.try_text(&[&["reflog", "expire", "--stale-fix"], &never[..], &logs].concat())?;
    }
    Ok(whole)
}

/// The commit that a tree of ours began with.
pub(crate) fn base_of(trees: &Trees, name: &str) -> Result<String, GitError> {
    let record = trees.record(name)?;
    let mark = record.map(|record| record.mark()).transpose()?.flatten();
    let base = mark.map(|mark| mark.base);
    base.ok_or_else(|| Absence::Record { name: name.to_owned() }.into())
}
