//! Landing a phase: its branch is merged into the branch that the run started on.

use super::{
    BranchKind, PHASE, PhaseBranch, REQUEST, TRIES, TrialMerge,
    advance::{Moved, advance, checkout_of},
    cut_move::settle_in_turn,
    join::{Stamp, one_line},
    name_some, try_merge,
};
use crate::{
    command::Git,
    error::GitError,
    packs::{self, KeptPack},
    tree::Trees,
};
use waypost_model::{
    document::SessionTaskId,
    id::TaskId,
    run::{Active, TaskStatus, TaskView},
    session::{RequestState, SessionTaskState},
};
use waypost_store::{file, tasks_md};

/// What is to land.
#[derive(Clone, Debug)]
pub struct Landing {
    pub phase: PhaseBranch,
    /// The phase's name.
    pub title: String,
    /// Tasks whose boxes are ticked, in this file of the repository.
    pub ticks: Vec<TaskId>,
    pub tasks_file: Option<String>,
    /// What the journal says was joined: each has to be in the branch.
    pub joined: Vec<(TaskId, String)>,
}

impl Landing {
    /// What the journal knows of a phase that is to be merged; none without work trees.
    pub fn of(active: &Active, number: u32) -> Option<Self> {
        let is_done = |view: &TaskView<'_>| view.status == TaskStatus::Completed;
        let plan = active.plan();
        Some(Self {
            phase: PhaseBranch::of(active, number)?,
            title: plan.phases.get(&number).cloned().unwrap_or_default(),
            ticks: active.tasks().filter(is_done).map(|view| view.planned.id.clone()).collect(),
            tasks_file: plan.source.as_ref().map(|source| source.path.clone()),
            joined: active
                .tasks()
                .filter(|view| view.planned.phase == number)
                .filter_map(|view| Some((view.planned.id.clone(), view.commit?.to_owned())))
                .collect(),
        })
    }
}

impl Landing {
    /// What the merge commit says.
    fn message(&self) -> String {
        let number = self.phase.number;
        match self.phase.kind {
            BranchKind::Phase => {
                let subject = subject(&format!("phase {number}"), &self.title);
                format!("{subject}\n\n{PHASE}: {number}\n")
            }
            BranchKind::Request => {
                let subject = subject(&format!("request R{number}"), &self.title);
                format!("{subject}\n\n{REQUEST}: R{number}\n")
            }
        }
    }

    /// What the journal knows of a request that is to be merged; none without work trees.
    pub fn of_request(request: &RequestState) -> Option<Self> {
        Some(Self {
            phase: PhaseBranch::of_request(request)?,
            title: request.text.lines().next().unwrap_or_default().to_owned(),
            ticks: Vec::new(),
            tasks_file: None,
            joined: joined_tasks(request),
        })
    }
}

/// The tasks of a request whose work is joined, by the names that its commits have, with these commits.
pub(crate) fn joined_tasks(request: &RequestState) -> Vec<(TaskId, String)> {
    let commit = |task: &SessionTaskState| task.tree.as_ref()?.joined.as_ref()?.commit.clone();
    let named = |id: &SessionTaskId| Stamp::of_session(request, id).map(|stamp| stamp.id);
    let tasks = request.tasks.iter();
    tasks.filter_map(|(id, task)| Some((named(id)?, commit(task)?))).collect()
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Land {
    /// It is in the target by this commit.
    Done {
        commit: String,
        /// TASKS.md is being edited, so its boxes are left for a later merge.
        leaves_boxes: bool,
    },
    /// There was nothing to merge.
    Nothing,
    /// A person has to do something first; what.
    Held(String),
}

/// Merges a phase into its target, once; what has landed already is found again. One after another, also of
/// several processes: a run and a session may have the same target.
pub fn land(trees: &Trees, landing: &Landing) -> Result<Land, GitError> {
    let (trees, _turn) = trees.landing_turn()?;
    land_in_turn(&trees, landing)
}

fn land_in_turn(trees: &Trees, landing: &Landing) -> Result<Land, GitError> {
    settle_in_turn(trees)?;
    let phase = &landing.phase;
    let target_head = phase.target_head();
    let tip = phase.tip(trees)?;
    for (id, commit) in &landing.joined {
        if !trees.is_in(commit, &tip)? {
            return Ok(Land::Held(format!(
                "The branch {0} does not have the work of {id} any more; \
                 `git -C {0} merge {1}` brings it back.",
                phase.name,
                short(commit)
            )));
        }
    }
    let git = trees.git()?.durable();
    let base = trees.commit_of(&phase.marker())?;
    for _ in 0..TRIES {
        let Some(old) = trees.commit_of(&target_head)? else {
            return Ok(Land::Held(format!("The branch {} is gone.", phase.target)));
        };
        if let Some(commit) = landed(trees, phase, &tip, &old)? {
            return Ok(Land::Done { commit, leaves_boxes: false });
        }
        // A phase that changed nothing has nothing to bring.
        let tip = if base.as_ref() == Some(&tip) { &old } else { &tip };
        if let Some(base) = &base
            && *tip != old
            && !trees.is_in(base, &old)?
        {
            return Ok(Land::Held(format!(
                "{0} does not have {1} any more, which the phase began with: it was reset or \
                 rebased, and a merge would bring that back. If it may come back, \
                 `git merge {2}` on {0}.",
                phase.target,
                short(base),
                phase.name
            )));
        }
        let merge = || merged(trees, &git, landing, &old, tip);
        let (new, leaves_boxes, kept) = match packs::until_whole(merge, || Ok(()))? {
            Merged::Commit { commit, leaves_boxes, kept } => (commit, leaves_boxes, kept),
            Merged::Same => return Ok(Land::Nothing),
            Merged::Conflict(files) => {
                return Ok(Land::Held(format!(
                    "Its work conflicts with {0} in {1}: `git -C {2} merge {0}`, resolve it \
                     and commit there.",
                    phase.target,
                    name_some(&files),
                    phase.name
                )));
            }
        };
        let reason = match phase.kind {
            BranchKind::Phase => format!("waypost: merge phase {}", phase.number),
            BranchKind::Request => format!("waypost: merge request R{}", phase.number),
        };
        match advance(trees, &phase.target, (&old, &new), &reason)? {
            Moved::Done if trees.is_in(&new, &target_head)? => {
                kept.release()?;
                return Ok(Land::Done { commit: new, leaves_boxes });
            }
            Moved::Done | Moved::Elsewhere => {}
            Moved::Held(why) => return Ok(Land::Held(why)),
        }
    }
    Ok(Land::Held(format!("{} is being moved all the time.", phase.target)))
}

/// The commit by which the phase is in its target already.
fn landed(
    trees: &Trees,
    phase: &PhaseBranch,
    tip: &str,
    target: &str,
) -> Result<Option<String>, GitError> {
    let base = trees.commit_of(&phase.marker())?;
    if base.as_deref() == Some(tip) || !trees.is_in(tip, target)? {
        return Ok(None);
    }
    let range = format!("{tip}..{target}");
    let listed = trees.git()?.text(&["rev-list", "--merges", "--parents", &range])?;
    let merge = listed.lines().find_map(|line| {
        let (commit, parents) = line.split_once(' ')?;
        parents.split(' ').any(|parent| parent == tip).then(|| commit.to_owned())
    });
    // A person may have merged it by hand, and fast-forward.
    Ok(Some(merge.unwrap_or_else(|| tip.to_owned())))
}

fn merged(
    trees: &Trees,
    git: &Git,
    landing: &Landing,
    old: &str,
    tip: &str,
) -> Result<Merged, GitError> {
    let tree = match try_merge(git, old, tip, None)? {
        TrialMerge::Clean(tree) => tree,
        TrialMerge::Conflict(files) => return Ok(Merged::Conflict(files)),
    };
    let ticks = |text: &str| tasks_md::tick(text, &landing.ticks);
    let file = landing.tasks_file.as_deref();
    let edited = with_boxes(trees, git, &tree, (&landing.phase.target, file), ticks)?;
    let (tree, leaves_boxes) = match edited {
        TickedBoxes::Done(ticked) => (ticked, false),
        TickedBoxes::Edited => (tree, true),
        TickedBoxes::Same => (tree, false),
    };
    let before = git.text(&["rev-parse", "--verify", &format!("{old}^{{tree}}")])?;
    if tree == before {
        return Ok(Merged::Same);
    }
    let message = landing.message();
    let mut arguments = vec!["commit-tree", &tree, "-p", old];
    // With nothing but ticked boxes there is only one side.
    if !trees.is_in(tip, old)? {
        arguments.extend(["-p", tip]);
    }
    arguments.extend(["-m", &message]);
    let commit = git.text(&arguments)?;
    let kept = packs::secure(trees, &commit, &[old, tip])?;
    Ok(Merged::Commit { commit, leaves_boxes, kept })
}

/// The tree with other boxes, where it has TASKS.md. One that is being edited in a checkout of
/// the branch stays as it is.
pub(super) fn with_boxes(
    trees: &Trees,
    git: &Git,
    tree: &str,
    (branch, file): (&str, Option<&str>),
    edit: impl Fn(&str) -> String,
) -> Result<TickedBoxes, GitError> {
    let Some(path) = file else { return Ok(TickedBoxes::Same) };
    let text = git.try_bytes(&["cat-file", "blob", &format!("{tree}:{path}")])?;
    let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else {
        return Ok(TickedBoxes::Same);
    };
    let edited = edit(&text);
    if edited == text {
        return Ok(TickedBoxes::Same);
    }
    if is_edited(trees, branch, path)? {
        return Ok(TickedBoxes::Edited);
    }
    Ok(TickedBoxes::Done(with_file(trees, git, tree, path, edited.as_bytes())?))
}

fn is_edited(trees: &Trees, branch: &str, path: &str) -> Result<bool, GitError> {
    let Some(folder) = checkout_of(trees, branch)? else { return Ok(false) };
    let git = trees.git_in(&folder)?.variable("GIT_LITERAL_PATHSPECS", "1");
    Ok(!git.text(&["status", "--porcelain=v1", "--", path])?.is_empty())
}

/// A tree with one file replaced, made with an index of its own.
fn with_file(
    trees: &Trees,
    git: &Git,
    tree: &str,
    path: &str,
    bytes: &[u8],
) -> Result<String, GitError> {
    let folder = trees.state().join("scratch/land");
    file::make_private_folder(&folder)?;
    // What a git that was killed has left would keep every later one from working.
    file::remove(&folder.join("index.lock"))?;
    let source = folder.join("file");
    file::replace_volatile(&source, bytes, file::PRIVATE)?;
    let own = git.clone().variable("GIT_INDEX_FILE", folder.join("index"));
    own.text(&["read-tree", tree])?;
    let listed = own.text(&["ls-files", "--stage", "--", path])?;
    let mode = listed.split(' ').next().filter(|mode| !mode.is_empty()).unwrap_or("100644");
    let name = source.to_string_lossy();
    let blob = own.text(&["hash-object", "-w", "--no-filters", "--", &name])?;
    let entry = format!("{mode},{blob},{path}");
    own.text(&["update-index", "--cacheinfo", &entry])?;
    own.text(&["write-tree"])
}

/// The first line of the commit that merges a phase or a request.
pub(super) fn subject(what: &str, title: &str) -> String {
    match one_line(title).as_str() {
        "" => format!("Merge {what}"),
        title => format!("Merge {what}: {title}"),
    }
}

/// What became of the boxes in a tree.
pub(super) enum TickedBoxes {
    /// The tree that has them.
    Done(String),
    /// Nothing to do.
    Same,
    /// A person edits the file.
    Edited,
}

enum Merged {
    Commit {
        commit: String,
        leaves_boxes: bool,
        /// What it brings, until a branch has it.
        kept: KeptPack,
    },
    /// Nothing would change.
    Same,
    Conflict(Vec<String>),
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
