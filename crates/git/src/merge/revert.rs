//! Taking a task's work out of a branch again.

use super::{
    REVERTS, TASK, TRIES, TrialMerge,
    advance::{Moved, advance},
    cut_move::settle_in_turn,
    land::{TickedBoxes, with_boxes},
    name_some, try_merge,
};
use crate::{command::Git, error::GitError, packs, tree::Trees};
use waypost_model::id::TaskId;
use waypost_store::tasks_md;

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reverted {
    /// From this commit on the branch does not have it.
    Done { commit: String },
    /// A person has to do something first; what.
    Held(String),
}

/// Adds a commit to `branch` that takes out what `commit` brought; once.
pub fn revert(
    trees: &Trees,
    branch: &str,
    commit: &str,
    (id, tasks_file): (&TaskId, Option<&str>),
) -> Result<Reverted, GitError> {
    let (trees, _turn) = trees.landing_turn()?;
    let trees = &trees;
    settle_in_turn(trees)?;
    let head = format!("refs/heads/{branch}");
    let git = trees.git()?.durable();
    let trailer = format!("{REVERTS}: {commit}");
    for _ in 0..TRIES {
        let Some(old) = trees.commit_of(&head)? else {
            return Ok(Reverted::Held(format!("the branch {branch} is gone")));
        };
        // The branch was moved meanwhile: there is nothing to take out any more.
        if !trees.is_in(commit, &old)? {
            return Ok(Reverted::Done { commit: old });
        }
        let (grep, range) = (format!("--grep=^{trailer}$"), format!("{commit}..{old}"));
        let done = git.text(&["log", "-1", "--format=%H", &grep, &range])?;
        if !done.is_empty() {
            return Ok(Reverted::Done { commit: done });
        }
        let message = format!("Revert {id}\n\n{trailer}\n{TASK}-Reverted: {id}\n");
        let make = || {
            let tree = match without(trees, &git, (&old, branch), commit, (id, tasks_file))? {
                Ok(tree) => tree,
                Err(why) => return Ok(Err(why)),
            };
            let new = git.text(&["commit-tree", &tree, "-p", &old, "-m", &message])?;
            let kept = packs::secure(trees, &new, &[&old])?;
            Ok(Ok((new, kept)))
        };
        let (new, kept) = match packs::until_whole(make, || Ok(()))? {
            Ok(made) => made,
            Err(why) => return Ok(Reverted::Held(why)),
        };
        match advance(trees, branch, (&old, &new), &format!("waypost: revert {id}"))? {
            Moved::Done => {
                kept.release()?;
                return Ok(Reverted::Done { commit: new });
            }
            Moved::Elsewhere => {}
            Moved::Held(why) => return Ok(Reverted::Held(why)),
        }
    }
    Ok(Reverted::Held(format!("{branch} is being moved all the time")))
}

/// The files of a branch without what `commit` brought, as one tree; or why that cannot be.
fn without(
    trees: &Trees,
    git: &Git,
    (old, branch): (&str, &str),
    commit: &str,
    (id, tasks_file): (&TaskId, Option<&str>),
) -> Result<Result<String, String>, GitError> {
    let before = format!("{commit}^1");
    let tree = match try_merge(git, old, &before, Some(commit))? {
        TrialMerge::Clean(tree) => tree,
        TrialMerge::Conflict(files) => {
            let files = name_some(&files);
            return Ok(Err(format!("what came after {id} has changed the same files: {files}")));
        }
    };
    let untick = |text: &str| tasks_md::untick(text, std::slice::from_ref(id));
    Ok(Ok(match with_boxes(trees, git, &tree, (branch, tasks_file), untick)? {
        TickedBoxes::Done(unticked) => unticked,
        TickedBoxes::Same | TickedBoxes::Edited => tree,
    }))
}
