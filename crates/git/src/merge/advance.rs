//! Moving a branch that a person may have checked out.
//!
//! Where it is checked out, git itself moves branch, index and files together, and refuses to touch
//! what is not committed, also what it ignores; we look first, to be able to say which files those
//! are.

use super::{
    cut_move::{end_move, forget_move, note_move},
    join::paths,
    obstructions::{in_the_way, read_raw},
};
use crate::{
    command::{self, Git},
    durable::sync_ref,
    error::GitError,
    tree::Trees,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What became of moving a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    Done,
    /// It is not where it was.
    Elsewhere,
    /// A person has to do something first.
    Held(String),
}

/// Moves `branch` from `old` to `new`, which has `old` among its parents.
pub(super) fn advance(
    trees: &Trees,
    branch: &str,
    (old, new): (&str, &str),
    reason: &str,
) -> Result<Moved, GitError> {
    let git = trees.git()?.durable();
    if let Some(folder) = rebased(trees, branch)? {
        let why = format!("{branch} is being rebased in {}", folder.display());
        return Ok(Moved::Held(format!("{why}: finish that or abort it.")));
    }
    let Some(folder) = checkout_of(trees, branch)? else {
        let head = format!("refs/heads/{branch}");
        let moved = git.try_text(&["update-ref", "-m", reason, &head, new, old])?;
        if moved.is_none() {
            return Ok(Moved::Elsewhere);
        }
        return sync_ref(trees, &head).map(|()| Moved::Done);
    };
    let here = trees.git_in(&folder)?.durable_with_index();
    let changed = paths(&here.bytes(&["diff", "--name-only", "--no-renames", "-z", old, new])?);
    if let Some(why) = held_files(&here, &folder, &changed)? {
        return Ok(Moved::Held(why));
    }
    let raw = ["diff-tree", "-r", "-z", "--raw", "--no-renames", old, new];
    let untracked = in_the_way(&folder, &read_raw(&here.bytes(&raw)?))?;
    if !untracked.is_empty() {
        return Ok(Moved::Held(format!(
            "The merge would replace files in {} that git ignores: {}. Move them away.",
            folder.display(),
            super::name_some(&untracked)
        )));
    }
    let merge = ["merge", "--ff-only", "--no-overwrite-ignore", "--no-autostash", "--quiet"];
    let merge = [&merge[..], &["--no-verify", new]].concat();
    note_move(trees, &folder, (old, new))?;
    let output = here.variable("GIT_REFLOG_ACTION", reason).output(&merge)?;
    if output.status.success() {
        return end_move(trees, &folder, &changed).map(|()| Moved::Done);
    }
    forget_move(trees)?;
    let now = trees.commit_of(&format!("refs/heads/{branch}"))?;
    if now.as_deref() != Some(old) {
        return Ok(Moved::Elsewhere);
    }
    let said = command::failure("merge", &output).to_string();
    Ok(Moved::Held(format!("{} could not be updated: {said}.", folder.display())))
}

/// Files of a checkout that the move would touch and that are not ours to touch.
fn held_files(git: &Git, folder: &Path, changed: &[String]) -> Result<Option<String>, GitError> {
    let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];
    let listed = git.bytes(&status)?;
    let dirty: Vec<String> =
        paths(&listed).into_iter().filter_map(|it| it.get(3..).map(str::to_owned)).collect();
    // A file where the other side has a folder is in the way as well.
    let is_same = |one: &str, other: &str| {
        let below = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
        };
        one == other || below(one, other) || below(other, one)
    };
    let touched = |path: &&String| changed.iter().any(|it| is_same(it, path));
    let dirty: Vec<String> = dirty.iter().filter(touched).cloned().collect();
    if !dirty.is_empty() {
        return Ok(Some(format!(
            "The merge changes files that have uncommitted changes in {}: {}. Commit them or \
             put them aside (`git stash -u`).",
            folder.display(),
            super::name_some(&dirty)
        )));
    }
    let filtered = filtered(git, changed)?;
    Ok((!filtered.is_empty()).then(|| {
        format!(
            "The merge changes files for which the repository's own configuration names a \
             filter, a program that Waypost does not run: {}.",
            super::name_some(&filtered)
        )
    }))
}

/// Files for which the repository's own configuration names a filter: written without it they
/// would not be what the user expects.
fn filtered(git: &Git, files: &[String]) -> Result<Vec<String>, GitError> {
    const AT_ONCE: usize = 500;
    let filters = git.foreign_filters();
    let mut found = Vec::new();
    if filters.is_empty() {
        return Ok(found);
    }
    for some in files.chunks(AT_ONCE) {
        let names = some.iter().map(String::as_str);
        let arguments: Vec<&str> =
            ["check-attr", "-z", "filter", "--"].into_iter().chain(names).collect();
        let told = paths(&git.bytes(&arguments)?);
        let of_file = told.chunks_exact(3).filter(|it| filters.contains(&it[2]));
        found.extend(of_file.map(|it| it[0].clone()));
    }
    Ok(found)
}

/// Where a branch is checked out.
pub(super) fn checkout_of(trees: &Trees, branch: &str) -> Result<Option<PathBuf>, GitError> {
    let git = trees.git()?;
    let listed = trees.with_list(|| git.bytes(&["worktree", "list", "--porcelain", "-z"]))?;
    let wanted = format!("branch refs/heads/{branch}");
    let mut folder = None;
    for line in paths(&listed) {
        if let Some(path) = line.strip_prefix("worktree ") {
            folder = Some(PathBuf::from(path));
        } else if line == wanted {
            // Git tells the repository's folder where that stands apart from its work tree, as
            // a submodule's does.
            let folder = folder.map(|folder| match folder == trees.common() {
                true => trees.root().to_owned(),
                false => folder,
            });
            return Ok(folder.filter(|folder| folder.exists()));
        }
    }
    Ok(None)
}

/// The repository folder in which a branch is being rebased.
fn rebased(trees: &Trees, branch: &str) -> Result<Option<PathBuf>, GitError> {
    let head = format!("refs/heads/{branch}");
    let records = fs::read_dir(trees.common().join("worktrees")).into_iter().flatten().flatten();
    let folders = [trees.common().to_owned()].into_iter().chain(records.map(|it| it.path()));
    let is_its = |folder: &PathBuf| {
        ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|name| {
            fs::read_to_string(folder.join(name)).is_ok_and(|found| found.trim() == head)
        })
    };
    Ok(folders.into_iter().find(is_its))
}
