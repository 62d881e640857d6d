//! What one attempt leaves in a work tree that others work in, too: kept under the attempt's own
//! name, then taken out of the tree.
//!
//! Nothing is taken out before it is kept. What git ignores stays where it is: a setup made it, and
//! no commit of ours would have it.

use super::{
    Trees,
    inspection::{InspectedTree, Inspection, inspect_files, only_here_beyond},
    name,
    snapshot::{Closeness, keep, reader, record_left, until_kept},
    staging::{ready, uncover},
};
use crate::{command::Git, error::GitError};
use waypost_store::file;

/// How often a tree is emptied in which taking out one thing brings another to light: rules about
/// ignored files may hide further rules.
const ROUNDS_MAX: usize = 4;

/// What is to be kept and taken out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leftovers<'a> {
    /// The work tree that is shared.
    pub(crate) tree: &'a str,
    /// It is kept under this name: the attempt's, or the tree's own.
    pub(crate) name: &'a str,
    /// The commit that the tree is brought back to.
    pub(crate) base: &'a str,
    /// The branch that the tree is brought back to, where it has to be on one.
    pub(crate) branch: Option<&'a str>,
    /// Only these files, because others are at work in the tree; none: everything.
    pub(crate) only: Option<&'a [&'a str]>,
    /// A ref that is put on what is kept before anything is taken out.
    pub(crate) pin: Option<&'a str>,
    pub(crate) why: &'a str,
}

impl<'a> Leftovers<'a> {
    /// Everything beyond a commit, kept under the name of the tree itself.
    pub(crate) fn of(tree: &'a str, base: &'a str, why: &'a str) -> Self {
        Self { tree, name: tree, base, branch: None, only: None, pin: None, why }
    }
}

/// Keeps what is to be taken out, then takes it out. Returns where the first of it is kept; none
/// if there was nothing.
pub(crate) fn take_out(trees: &Trees, leaving: &Leftovers<'_>) -> Result<Option<String>, GitError> {
    let mut first = None;
    for round in 0..ROUNDS_MAX {
        let kept = keep_leftovers(trees, leaving, round == 0)?;
        if kept.is_none() && (round > 0 || !is_elsewhere(trees, leaving)?) {
            break;
        }
        if let (None, Some(kept), Some(pin)) = (&first, &kept, leaving.pin) {
            let commit = format!("{kept}^{{commit}}");
            trees.git()?.durable().text(&["update-ref", pin, &commit])?;
        }
        first = first.or(kept);
        match leaving.only {
            Some(files) => take_out_some(trees, leaving, files)?,
            None => take_out_all(trees, leaving)?,
        }
    }
    Ok(first)
}

/// Whether the tree is not on the branch that it has to be on.
fn is_elsewhere(trees: &Trees, leaving: &Leftovers<'_>) -> Result<bool, GitError> {
    let Some(branch) = leaving.branch else { return Ok(false) };
    let git = trees.git_in(&trees.path(leaving.tree))?;
    let head = git.try_text(&["symbolic-ref", "--quiet", "HEAD"])?;
    Ok(head != Some(format!("refs/heads/{branch}")))
}

fn take_out_all(trees: &Trees, leaving: &Leftovers<'_>) -> Result<(), GitError> {
    let is_elsewhere = is_elsewhere(trees, leaving)?;
    let git = trees.git_in(&trees.path(leaving.tree))?;
    let rules = ["diff", "--quiet", leaving.base, "--", "*.gitignore"];
    let reveals = git.try_text(&rules)?.is_none();
    if let Some(branch) = leaving.branch.filter(|_| is_elsewhere) {
        // Whatever was begun there is not gone on with, and no other branch is moved.
        git.try_text(&["rebase", "--quit"])?;
        git.text(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")])?;
    }
    git.text(&["reset", "--hard", "--quiet", leaving.base])?;
    if reveals {
        // What was ignored until now may be a person's work as well.
        keep_leftovers(trees, leaving, false)?;
    }
    git.text(&["clean", "-d", "--force", "--quiet"]).map(drop)
}

fn take_out_some(trees: &Trees, leaving: &Leftovers<'_>, files: &[&str]) -> Result<(), GitError> {
    let git = trees.git_in(&trees.path(leaving.tree))?;
    let diff = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", leaving.base];
    let changed = git.bytes(&[&diff[..], &["--"], files].concat())?;
    let source = format!("--source={}", leaving.base);
    restore_paths(trees, &git, &[&source, "--staged", "--worktree"], &changed)?;
    git.text(&[&["clean", "-d", "--force", "--quiet", "--"], files].concat()).map(drop)
}

/// `git restore` of these paths, each with a NUL behind it, whatever bytes they are made of.
pub(crate) fn restore_paths(
    trees: &Trees,
    git: &Git,
    how: &[&str],
    paths: &[u8],
) -> Result<(), GitError> {
    if paths.is_empty() {
        return Ok(());
    }
    let folder = trees.state().join("scratch");
    file::make_private_folder(&folder)?;
    let list = folder.join("restored");
    file::replace_volatile(&list, paths, file::PRIVATE)?;
    let from = format!("--pathspec-from-file={}", list.to_string_lossy());
    let git = git.clone().variable("GIT_LITERAL_PATHSPECS", "1");
    let start = ["restore", "--quiet", "--no-overlay", &from, "--pathspec-file-nul"];
    git.text(&[&start[..], how].concat())?;
    Ok(file::remove(&list)?)
}

/// Keeps what is to be taken out, with commits that no other ref has or without; none if that is
/// nothing.
pub(crate) fn keep_leftovers(
    trees: &Trees,
    leaving: &Leftovers<'_>,
    has_commits: bool,
) -> Result<Option<String>, GitError> {
    name::check(leaving.name)?;
    let (trees, _turn) = trees.turn(leaving.tree)?;
    let shared = ready(&trees, leaving.tree)?;
    until_kept(&trees, &shared, |closeness| {
        keep_once(&trees, &shared, leaving, (has_commits, closeness))
    })
}

fn keep_once(
    trees: &Trees,
    shared: &InspectedTree,
    leaving: &Leftovers<'_>,
    (has_commits, closeness): (bool, Closeness),
) -> Result<Option<String>, GitError> {
    let mut seen = inspect_files(trees, shared)?;
    if seen.has_blinkers {
        uncover(trees, shared)?;
    }
    let is_own = leaving.name != leaving.tree;
    let ahead = seen.commit.clone().filter(|commit| commit != leaving.base);
    if !is_own && !seen.is_changed && ahead.is_none() {
        return Ok(None);
    }
    if has_commits {
        let heads = shared.record.heads(trees.common(), leaving.tree)?;
        seen.lost = only_here_beyond(trees, leaving.tree, &heads, Some(leaving.base))?;
        seen.lost.extend(ahead);
        seen.lost.sort();
        seen.lost.dedup();
    }
    if !seen.has_something_to_lose() {
        return Ok(None);
    }
    if is_own {
        // A person who brings it back gets a branch of that name.
        seen.branch = Some(leaving.name.to_owned());
    }
    seen.own_branch = seen.commit.clone();
    let subject = InspectedTree { name: leaving.name.to_owned(), ..shared.clone() };
    match leaving.only {
        None => Ok(keep(trees, &subject, &seen, (leaving.why, closeness))?.reference),
        Some(files) => keep_some(trees, &subject, &seen, (leaving, files)),
    }
}

/// Keeps some files as they are in the tree, everything else as in the base.
fn keep_some(
    trees: &Trees,
    subject: &InspectedTree,
    seen: &Inspection,
    (leaving, files): (&Leftovers<'_>, &[&str]),
) -> Result<Option<String>, GitError> {
    let base = leaving.base;
    let tree = reader(trees, subject, seen)?.files_over(base, files)?;
    if trees.git()?.text(&["rev-parse", &format!("{base}^{{tree}}")])? == tree {
        return Ok(None);
    }
    let head = seen.commit.as_deref().filter(|head| *head != base);
    let parents: Vec<&str> = [base].into_iter().chain(head).collect();
    record_left(trees, &subject.name, (&tree, &parents), leaving.why).map(Some)
}
