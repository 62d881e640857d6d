//! The branch and the work tree of a phase.
//!
//! A marker ref of ours is made in the same step as the branch: a branch of that name without the
//! marker is not ours, and is left alone.

use super::{
    TRIES,
    join::paths,
    name_some,
    occupant::{STRAY, forget_occupants, handed, is_astray},
};
use crate::{
    error::{Absence, GitError, Hindrance, Refusal},
    tree::{Leftovers, Trees, make, processes::in_folder, retire, take_out, take_snapshot},
};
use waypost_model::{
    run::{Active, Isolation},
    session::RequestState,
};

/// Whose work is brought together in a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchKind {
    /// A phase of a run.
    Phase,
    /// A request of a session.
    Request,
}

impl BranchKind {
    /// The folder of markers below `refs/waypost`.
    fn markers(self) -> &'static str {
        match self {
            Self::Phase => "phases",
            Self::Request => "requests",
        }
    }
}

/// Where the work of one phase is joined, and where it goes; or that of a request of a session, which has one
/// as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseBranch {
    pub kind: BranchKind,
    /// The number of the phase or of the request.
    pub number: u32,
    /// The branch, which is also the folder of the work tree.
    pub name: String,
    /// The branch that the run started on.
    pub target: String,
    /// Whether tasks work in the phase's work tree itself, on its branch.
    pub is_shared: bool,
}

impl PhaseBranch {
    /// The branch of a phase; none where the project folder itself is worked in.
    pub fn of(active: &Active, number: u32) -> Option<Self> {
        let settings = active.settings();
        let is_shared = match settings.isolation {
            Isolation::None | Isolation::Undecided => return None,
            Isolation::Phase => true,
            Isolation::Task => false,
        };
        let name = active.plan().phase_tree(number);
        let target = settings.target.clone()?;
        Some(Self { kind: BranchKind::Phase, number, name, target, is_shared })
    }

    /// The branch of a request; none where its tasks are worked on in the project's own work tree.
    pub fn of_request(request: &RequestState) -> Option<Self> {
        let target = request.trees.as_ref()?.target.clone();
        let number = request.id.as_str().trim_start_matches('R').parse().ok()?;
        let (kind, name) = (BranchKind::Request, request.tree_name());
        Some(Self { kind, number, name, target, is_shared: false })
    }

    pub(crate) fn head(&self) -> String {
        format!("refs/heads/{}", self.name)
    }

    pub(super) fn target_head(&self) -> String {
        format!("refs/heads/{}", self.target)
    }

    /// The commit that the branch is at.
    pub fn tip(&self, trees: &Trees) -> Result<String, GitError> {
        let tip = trees.commit_of(&self.head())?;
        Ok(tip.ok_or_else(|| Absence::Branch { name: self.name.clone() })?)
    }

    /// What git has failed in, where that is because the branch is gone: then nothing is wrong with the
    /// work, and the branch can be made again from what was joined.
    pub(super) fn or_gone<T>(
        &self,
        trees: &Trees,
        done: Result<T, GitError>,
    ) -> Result<T, GitError> {
        match done {
            Err(error @ GitError::Failed { .. }) => self.tip(trees).and(Err(error)),
            done => done,
        }
    }

    /// Says that the branch is ours, and which commit it was made from.
    pub(crate) fn marker(&self) -> String {
        format!("refs/waypost/{}/{}", self.kind.markers(), self.number)
    }
}

/// Makes the branch and the work tree of a phase; both may be there. Returns the commit that
/// they were made from. A branch that has vanished is made without what was joined to it, so one that was
/// recorded as made is asked for its tip before.
pub fn open_phase(trees: &Trees, phase: &PhaseBranch) -> Result<String, GitError> {
    let git = trees.git()?.durable();
    let base = match trees.commit_of(&phase.marker())? {
        Some(base) => base,
        None => {
            phase.refuse_foreign(|name| Ok(trees.commit_of(name)?.is_some()))?;
            let target = trees.commit_of(&phase.target_head())?;
            let gone = || Refusal::TargetIsGone { name: phase.target.clone() };
            let target = target.ok_or_else(gone)?;
            git.text(&["update-ref", &phase.marker(), &target, ""])?;
            target
        }
    };
    if trees.commit_of(&phase.head())?.is_none() {
        git.text(&["update-ref", &phase.head(), &base, ""])?;
    }
    make(trees, &phase.name, &base)?;
    if !phase.is_shared {
        // The branch moves with each join; files follow when there is time.
        let git = trees.git_in(&trees.path(&phase.name))?;
        if git.try_text(&["symbolic-ref", "--quiet", "HEAD"])?.is_some() {
            git.text(&["checkout", "--quiet", "--detach"])?;
        }
    }
    Ok(base)
}

/// Brings the phase's work tree to what was joined, and makes sure that nothing else is in it.
/// What else was left there is kept as a snapshot.
pub fn settle_phase(trees: &Trees, phase: &PhaseBranch) -> Result<(), GitError> {
    if is_handed_over(trees, phase)? {
        let git = trees.git_in(&trees.path(&phase.name))?;
        let listed = git.bytes(&["status", "--porcelain=v1", "-z", "--no-renames"])?;
        let dirty: Vec<String> =
            paths(&listed).iter().filter_map(|it| it.get(3..).map(str::to_owned)).collect();
        if !dirty.is_empty() {
            let (name, files) = (phase.name.clone(), name_some(&dirty));
            return Err(Hindrance::Uncommitted { name, files }.into());
        }
    }
    open_phase(trees, phase)?;
    sync_phase(trees, phase)?;
    clear_phase(trees, phase)
}

/// Takes everything out of the phase's work tree that is not committed, and keeps it as a
/// snapshot.
pub fn clear_phase(trees: &Trees, phase: &PhaseBranch) -> Result<(), GitError> {
    let git = trees.git_in(&trees.path(&phase.name))?;
    let is_astray = is_astray(&git, phase)?;
    let base = match is_astray {
        true => trees.commit_of(&phase.head())?,
        false => git.try_text(&["rev-parse", "--verify", "HEAD"])?,
    };
    let base = base.ok_or_else(|| Absence::Branch { name: phase.name.clone() })?;
    let branch = is_astray.then_some(&*phase.name);
    take_out(trees, &Leftovers { branch, ..Leftovers::of(&phase.name, &base, STRAY) }).map(drop)
}

/// Takes out of a shared work tree what no attempt has left that is in progress, after an engine that
/// has died: a power cut leaves files without what was committed of them. `others` are the files that
/// those attempts have declared. Nothing is done while a process or a person is at work in it.
pub fn clear_strays(trees: &Trees, phase: &PhaseBranch, others: &[String]) -> Result<(), GitError> {
    let path = trees.path(&phase.name);
    if !phase.is_shared
        || !path.join(".git").exists()
        || !in_folder(&path).is_empty()
        || is_handed_over(trees, phase)?
    {
        return Ok(());
    }
    if others.is_empty() {
        return clear_phase(trees, phase);
    }
    let git = trees.git_in(&path)?;
    if is_astray(&git, phase)? {
        return Ok(());
    }
    let head = git.text(&["rev-parse", "--verify", "HEAD"])?;
    let all_but = others.iter().map(|file| format!(":(exclude,top){file}"));
    let files: Vec<String> = [".".to_owned()].into_iter().chain(all_but).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let stray = Leftovers { only: Some(&files), ..Leftovers::of(&phase.name, &head, STRAY) };
    take_out(trees, &stray).map(drop)
}

/// Leaves the phase's work tree to a person: clean, and on the phase's branch, so that what is
/// committed there is part of the phase. What was begun there before stays.
pub fn hand_over(trees: &Trees, phase: &PhaseBranch) -> Result<(), GitError> {
    let path = trees.path(&phase.name);
    let has_branch = trees.commit_of(&phase.head())?.is_some();
    if !has_branch || !path.join(".git").exists() || is_handed_over(trees, phase)? {
        return Ok(());
    }
    clear_phase(trees, phase)?;
    let git = trees.git_in(&path)?.durable();
    match phase.is_shared {
        // It is on its branch all the time.
        true => git.text(&["update-ref", &handed(phase), &phase.head()]).map(drop),
        false => git.text(&["switch", "--quiet", &phase.name]).map(drop),
    }
}

/// Tasks work on the phase again: its branch moves without its work tree.
pub fn take_back(trees: &Trees, phase: &PhaseBranch) -> Result<(), GitError> {
    match is_handed_over(trees, phase)? {
        true if phase.is_shared => trees.forget_ref(&handed(phase)),
        true => {
            let git = trees.git_in(&trees.path(&phase.name))?;
            git.text(&["checkout", "--quiet", "--detach"]).map(drop)
        }
        false => Ok(()),
    }
}

/// Whether a person may be at work in the phase's work tree: it is on the phase's branch, or, one
/// that tasks share and that always is, marked so.
fn is_handed_over(trees: &Trees, phase: &PhaseBranch) -> Result<bool, GitError> {
    let path = trees.path(&phase.name);
    if !path.join(".git").exists() {
        return Ok(false);
    }
    if phase.is_shared {
        return Ok(trees.commit_of(&handed(phase))?.is_some());
    }
    let head = trees.git_in(&path)?.try_text(&["symbolic-ref", "--quiet", "HEAD"])?;
    Ok(head.as_deref() == Some(&phase.head()))
}

/// Brings the phase's work tree to what was joined.
pub fn sync_phase(trees: &Trees, phase: &PhaseBranch) -> Result<(), GitError> {
    if phase.is_shared {
        return Ok(());
    }
    let git = trees.git_in(&trees.path(&phase.name))?;
    match git.text(&["checkout", "--quiet", "--detach", &phase.head()]) {
        Ok(_) => Ok(()),
        Err(_) => {
            phase.tip(trees)?;
            // A person has changed files in it that were changed by what was joined, too.
            take_snapshot(trees, &phase.name, "in the way of what was joined")?;
            git.text(&["checkout", "--quiet", "--force", "--detach", &phase.head()]).map(drop)
        }
    }
}

/// Takes away the branch and the work tree of a phase that has landed, or that has nothing.
pub fn close_phase(trees: &Trees, phase: &PhaseBranch) -> Result<(), GitError> {
    retire(trees, &phase.name, "the phase is over")?;
    remove_ref(trees, &phase.head())?;
    forget_occupants(trees, phase)?;
    // The last to go, because by it an engine that comes after a crash finds what is left.
    remove_ref(trees, &phase.marker())
}

fn remove_ref(trees: &Trees, name: &str) -> Result<(), GitError> {
    for _ in 0..TRIES {
        let Some(commit) = trees.commit_of(name)? else { break };
        if trees.git()?.try_text(&["update-ref", "-d", name, &commit])?.is_some() {
            break;
        }
    }
    Ok(())
}

/// Whether nothing was joined to a phase yet.
pub fn is_untouched(trees: &Trees, phase: &PhaseBranch) -> Result<bool, GitError> {
    Ok(trees.commit_of(&phase.head())? == trees.commit_of(&phase.marker())?)
}

/// Whether anything of a phase is there.
pub fn has_phase(trees: &Trees, phase: &PhaseBranch) -> Result<bool, GitError> {
    let is_there = trees.path(&phase.name).symlink_metadata().is_ok();
    Ok(is_there || trees.commit_of(&phase.marker())?.is_some())
}
