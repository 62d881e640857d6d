//! Attempts in the work tree of their phase, which they share: one after another, or side by side on
//! files that are known to be others.
//!
//! An attempt enters a tree that has nothing in its files but what is committed, and leaves it like
//! that: what it did is committed if it is done, and otherwise kept under its own name and taken
//! out, its own commits too. So nothing of it can get into what another attempt commits. One that
//! goes on in its conversation gets back what it left itself, on top of what was done since.
//!
//! Two refs of ours remember what a crash must not lose: `begun`, the commit at which an attempt
//! entered, and `left`, what the last attempt at a task has left.

use super::{
    BranchKind, Committed, EVIDENCE, PhaseBranch, Stamp, TrialMerge,
    join::{self, is_committed},
    name_some,
    phase::clear_phase,
    try_merge,
};
use crate::{
    command::Git,
    durable::{sync_objects, sync_ref},
    error::GitError,
    packs,
    tree::{
        Leftovers, Trees, ignored_outputs, keep_leftovers, keep_outputs, known, rebuild,
        restore_paths, stage_among_others, take_out,
    },
};
use waypost_model::declared;

/// Refs about attempts that share the work tree of a phase.
const REFS: &str = "refs/waypost/shared";

/// Why something is kept that no attempt has left.
pub(super) const STRAY: &str = "left in the phase's work tree";

/// An attempt in the work tree of its phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupant {
    pub phase: PhaseBranch,
    pub stamp: Stamp,
    /// The files that it declares.
    pub files: Vec<String>,
    /// No other attempt works in the tree: everything that is there and not committed is its own.
    pub is_alone: bool,
}

impl Occupant {
    /// What it leaves is kept under this name.
    fn name(&self) -> String {
        format!("{}--{}-{}", self.phase.name, self.stamp.id, self.stamp.attempt)
    }

    fn begun(&self) -> String {
        let Self { phase, stamp, .. } = self;
        format!("{}/begun/{}-{}", refs(phase), stamp.id, stamp.attempt)
    }

    fn left(&self) -> String {
        format!("{}/left/{}", refs(&self.phase), self.stamp.id)
    }
}

/// Says that a phase's shared work tree is left to a person.
pub(super) fn handed(phase: &PhaseBranch) -> String {
    format!("{}/handed", refs(phase))
}

/// Where refs about attempts in the tree of a phase are.
pub(crate) fn refs(phase: &PhaseBranch) -> String {
    match phase.kind {
        BranchKind::Phase => format!("{REFS}/{}", phase.number),
        // No attempts share its tree.
        BranchKind::Request => format!("{REFS}/R{}", phase.number),
    }
}

/// Makes the phase's work tree ready for an attempt. Returns why one that goes on could not get
/// back what it had done.
pub fn enter(
    trees: &Trees,
    occupant: &Occupant,
    goes_on: bool,
) -> Result<Option<String>, GitError> {
    occupant.phase.or_gone(trees, enter_whole(trees, occupant, goes_on))
}

fn enter_whole(
    trees: &Trees,
    occupant: &Occupant,
    goes_on: bool,
) -> Result<Option<String>, GitError> {
    let phase = &occupant.phase;
    if occupant.is_alone {
        clear_phase(trees, phase)?;
    }
    let git = trees.git_in(&trees.path(&phase.name))?.durable();
    let head = git.text(&["rev-parse", "--verify", "HEAD"])?;
    if !occupant.is_alone {
        let files: Vec<&str> = occupant.files.iter().map(String::as_str).collect();
        let stray = Leftovers { only: Some(&files), ..Leftovers::of(&phase.name, &head, STRAY) };
        take_out(trees, &stray)?;
    }
    let refused = match goes_on {
        true => give_back(trees, &git, occupant)?,
        false => None,
    };
    git.text(&["update-ref", &occupant.begun(), &head])?;
    Ok(refused)
}

/// Puts back what the task's last attempt left, on top of what was done since; or says why not.
fn give_back(trees: &Trees, git: &Git, occupant: &Occupant) -> Result<Option<String>, GitError> {
    let Some(left) = trees.commit_of(&occupant.left())? else { return Ok(None) };
    let tree = match try_merge(git, "HEAD", &left, None) {
        Ok(TrialMerge::Clean(tree)) => tree,
        Ok(TrialMerge::Conflict(files)) => {
            return Ok(Some(format!("others have changed {} since", name_some(&files))));
        }
        Err(killed @ GitError::Killed { .. }) => return Err(killed),
        Err(error) => return Ok(Some(error.to_string())),
    };
    let diff = ["diff", "--name-only", "--no-renames", "-z", "HEAD", &tree, "--"];
    let changed = git.bytes(&diff)?;
    restore_paths(trees, git, &[&format!("--source={tree}"), "--worktree"], &changed)?;
    Ok(None)
}

/// An attempt is over and its work is not done: what it left is kept and taken out. Once it has
/// left, this does nothing.
pub fn leave(trees: &Trees, occupant: &Occupant, why: &str) -> Result<(), GitError> {
    occupant.phase.or_gone(trees, leave_whole(trees, occupant, why))
}

fn leave_whole(trees: &Trees, occupant: &Occupant, why: &str) -> Result<(), GitError> {
    let Occupant { phase, files, is_alone, .. } = occupant;
    let path = trees.path(&phase.name);
    let Some(begun) = trees.commit_of(&occupant.begun())? else { return Ok(()) };
    if !path.join(".git").exists() {
        return trees.forget_ref(&occupant.begun());
    }
    let git = trees.git_in(&path)?.durable();
    if !is_alone && is_astray(&git, phase)? {
        // The next one that has the tree for itself brings it back to its branch.
        return Ok(());
    }
    let base = newest_joined(trees, phase, &begun)?;
    let (name, files): (_, Vec<&str>) =
        (occupant.name(), files.iter().map(String::as_str).collect());
    if !is_alone {
        take_back_commits(trees, &git, occupant, &base)?;
    }
    let (left, has_left) = (occupant.left(), has_left(&git, occupant)?);
    let leaving = Leftovers {
        name: &name,
        branch: Some(&phase.name),
        only: (!is_alone).then_some(&files),
        pin: (!has_left).then_some(&left),
        ..Leftovers::of(&phase.name, &base, why)
    };
    if take_out(trees, &leaving)?.is_none() && !has_left {
        trees.forget_ref(&left)?;
    }
    trees.forget_ref(&occupant.begun())
}

/// Whether what this attempt left is noted already: taking it out was cut off, and what is there
/// now is not all of it.
fn has_left(git: &Git, occupant: &Occupant) -> Result<bool, GitError> {
    let format = "--format=%(trailers:key=Waypost-Tree,valueonly,separator=%x20)";
    let tree = git.try_text(&["log", "-1", format, &occupant.left(), "--"])?;
    Ok(tree.is_some_and(|tree| tree.trim() == occupant.name()))
}

/// Takes commits out of the branch that an attempt made by itself, while others work beside it.
/// Files stay as they are.
fn take_back_commits(
    trees: &Trees,
    git: &Git,
    occupant: &Occupant,
    base: &str,
) -> Result<(), GitError> {
    let Occupant { phase, .. } = occupant;
    let head = git.text(&["rev-parse", "--verify", "HEAD"])?;
    if head == base {
        return Ok(());
    }
    let (name, why) = (occupant.name(), "commits that are not joined");
    keep_leftovers(
        trees,
        &Leftovers { name: &name, ..Leftovers::of(&phase.name, base, why) },
        true,
    )?;
    let reason = format!("waypost: commits of {}", occupant.stamp.id);
    git.text(&["update-ref", "-m", &reason, &phase.head(), base, &head]).map(drop)
}

/// Commits what one task left in the phase's work tree: the files that it declared, or all.
/// Nothing is committed that does not prove that the task was worked on.
pub fn commit_shared(
    trees: &Trees,
    occupant: &Occupant,
    needs_change: bool,
    evidence: &str,
) -> Result<Committed, GitError> {
    let committed = commit_whole(trees, occupant, needs_change, evidence);
    occupant.phase.or_gone(trees, committed)
}

fn commit_whole(
    trees: &Trees,
    occupant: &Occupant,
    needs_change: bool,
    evidence: &str,
) -> Result<Committed, GitError> {
    let phase = &occupant.phase;
    let path = trees.path(&phase.name);
    if !path.join(".git").exists() {
        return Ok(Committed::Gone);
    }
    let git = trees.git_in(&path)?.durable();
    if is_astray(&git, phase)? {
        let why = format!("the phase's work tree is not on {} any more", phase.name);
        return Ok(Committed::Astray(why));
    }
    let begun = trees.commit_of(&occupant.begun())?;
    let begun = begun.or(trees.commit_of(&phase.marker())?).unwrap_or_default();
    let before = newest_joined(trees, phase, &begun)?;
    packs::until_whole(
        || commit_on(trees, &git, occupant, &before, (needs_change, evidence)),
        || rebuild(&git, &before),
    )
}

/// Commits on top of `before`, the newest that is joined.
fn commit_on(
    trees: &Trees,
    git: &Git,
    occupant: &Occupant,
    before: &str,
    (needs_change, evidence): (bool, &str),
) -> Result<Committed, GitError> {
    let Occupant { phase, stamp, files, is_alone } = occupant;
    let ignored = ignored_outputs(trees, &phase.name, files)?;
    let head = git.text(&["rev-parse", "--verify", "HEAD"])?;
    let diff = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z"];
    if !trees.is_in(before, &head)? {
        let why = format!("it has taken commits of others out of {}", phase.name);
        return Ok(Committed::Astray(why));
    }
    if head == before && is_committed(trees, &phase.name, stamp)? {
        // A git that was killed has committed it before.
        let since = format!("{head}^");
        let changed = join::paths(&git.bytes(&[&diff[..], &[&since, &head]].concat())?);
        packs::secure(trees, &head, &[&since])?.release()?;
        return Ok(Committed::At { commit: head, changed, ignored });
    }
    let by_itself = join::paths(&git.bytes(&[&diff[..], &[before, &head]].concat())?);
    if !by_itself.iter().all(|path| declared::include(files, path)) {
        take_back_commits(trees, git, occupant, before)?;
    }
    let declared: Vec<&str> = files.iter().map(String::as_str).collect();
    let found = known(git, &declared)?;
    if files.is_empty() || !found.is_empty() {
        stage_among_others(trees, &phase.name, &found)?;
    }
    let mut changed = match files.is_empty() || !found.is_empty() {
        true => {
            let staged = [&diff[..], &["--cached", before, "--"], &found].concat();
            join::paths(&git.bytes(&staged)?)
        }
        false => Vec::new(),
    };
    // What is kept beside the commit proves as much as what is in it.
    let kept = ignored.kept.iter().filter(|file| declared::include(files, file));
    changed.extend(kept.cloned());
    let task = (stamp.id.as_str(), &**files);
    if declared::proves_nothing(task, needs_change, &changed).is_some() {
        return Ok(Committed::At { commit: before.to_owned(), changed, ignored });
    }
    keep_outputs(trees, &phase.name)?;
    let message = stamp.message(Some(evidence));
    let head = git.text(&["rev-parse", "--verify", "HEAD"])?;
    let is_beside = head != before || !ignored.kept.is_empty();
    if !join::commit_staged(git, &message, &found)? && is_beside {
        // It has committed by itself, or what it made is kept beside; this says whose work that was.
        git.text(&["commit", "--quiet", "--no-verify", "--allow-empty", "-m", &message])?;
    }
    let commit = git.text(&["rev-parse", "--verify", "HEAD"])?;
    packs::secure(trees, &commit, &[before])?.release()?;
    sync_objects(trees, git, &commit, &[before])?;
    sync_ref(trees, &phase.head())?;
    if *is_alone {
        let (name, why) = (occupant.name(), "beyond what it declared");
        take_out(trees, &Leftovers { name: &name, ..Leftovers::of(&phase.name, &commit, why) })?;
    }
    trees.forget_ref(&occupant.left())?;
    trees.forget_ref(&occupant.begun())?;
    Ok(Committed::At { commit, changed, ignored })
}

/// The newest commit of the phase that is not an attempt's own: what was joined since `begun`,
/// or that.
fn newest_joined(trees: &Trees, phase: &PhaseBranch, begun: &str) -> Result<String, GitError> {
    let range = format!("{begun}..{}", phase.head());
    let grep = format!("--grep=^{EVIDENCE}: ");
    let found = trees.git()?.text(&["log", "-1", "--format=%H", &grep, &range])?;
    Ok(if found.is_empty() { begun.to_owned() } else { found })
}

/// Takes away what is noted about attempts in a phase that is over.
pub(super) fn forget_occupants(trees: &Trees, phase: &PhaseBranch) -> Result<(), GitError> {
    let list = ["for-each-ref", "--format=%(refname)", &refs(phase)];
    let listed = trees.git()?.text(&list)?;
    listed.lines().try_for_each(|name| trees.forget_ref(name))
}

/// Whether the work tree of a phase is not on the phase's branch.
pub(super) fn is_astray(git: &Git, phase: &PhaseBranch) -> Result<bool, GitError> {
    let head = git.try_text(&["symbolic-ref", "--quiet", "HEAD"])?;
    Ok(phase.is_shared && head.as_deref() != Some(&phase.head()))
}
