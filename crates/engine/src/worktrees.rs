//! The work trees of a project as commands see them: together with what the run says of them.

use crate::{
    clock::Clock,
    error::{EngineError, Problem},
    project::Project,
};
use std::{collections::BTreeSet, path::PathBuf, time::Duration};
use waypost_git::{
    GitError, Hold, Mistake, PruneOrder, Pruned, TreeEntry, Trees, TreesPlace, name, size, tree,
};
use waypost_model::{
    code::Code,
    document::session::SessionStatus,
    machine::Rejected,
    next::NextStep,
    run::{Active, PhaseStage, TaskStatus},
    session::RequestState,
    time::Time,
};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A work tree of a run or of a session, or what is left of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkTree {
    /// The folder below the project, and the branch.
    pub name: String,
    pub path: PathBuf,
    pub phase: Option<u32>,
    /// The request of a session that it is for.
    pub request: Option<String>,
    pub task: Option<String>,
    pub attempt: Option<u32>,
    pub state: TreeState,
    /// The branch that is checked out; none: a detached head.
    pub branch: Option<String>,
    pub head: Option<String>,
    pub is_dirty: bool,
    pub size_bytes: u64,
    pub used_at: Option<Time>,
    pub processes: Vec<(u32, String)>,
    /// The refs of its snapshots, the oldest first.
    pub snapshots: Vec<String>,
}

/// What a tree is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeState {
    /// An attempt works in it, or its phase is under way.
    Working,
    /// No attempt works in it; it has something that is nowhere else.
    Kept,
    /// All that it has is joined or was never anything.
    Joined,
    /// A person or a program has deleted its folder.
    Deleted,
    /// Only snapshots of it are left.
    Removed,
}

/// Why a run clears up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reclaim {
    Age,
    Need,
}

impl TreeState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Kept => "kept",
            Self::Joined => "joined",
            Self::Deleted => "deleted",
            Self::Removed => "removed",
        }
    }
}

/// What to clear up.
#[derive(Clone, Copy, Debug, Default)]
pub struct PruneOptions {
    /// In place of the configured age of trees.
    pub older_than_days: Option<u32>,
    /// So much is to be free afterwards, in megabytes.
    pub need_mb: Option<u64>,
    /// Trees go even if repositories inside are lost with them. For a person.
    pub force: bool,
}

/// A work tree that is back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    pub name: String,
    pub path: PathBuf,
    /// The snapshot that it is made from; none: only its folder was gone.
    pub snapshot: Option<String>,
}

/// The trees of a project. Nothing is made, and nothing is asked of git yet.
pub(crate) fn trees_of(project: &Project) -> Result<Trees, EngineError> {
    let place = project.place();
    let common = place.git_common.clone().ok_or_else(|| {
        Problem::new(Code::RepositoryNeeded, "work trees need a git repository, and this is none")
            .next(NextStep::RunGit { words: "init".into() })
            .next(NextStep::BeginWithoutTrees)
    })?;
    let root = project.setup.trees_home().ok_or_else(|| {
        let message =
            "it is not known where this repository's own work tree is, to make others below";
        Problem::new(Code::RepositoryNeeded, message)
            .hint("go on in that work tree, or without work trees")
            .next(NextStep::BeginWithoutTrees)
    })?;
    // A bare repository has no files; those of the work tree that the command was given in.
    let is_bare = root == common && !place.is_made_by_waypost();
    let source = if is_bare { project.root().to_owned() } else { root.clone() };
    let config = project.configuration().values.worktree.clone();
    let (state, now) = (place.state.clone(), || Clock.now());
    Ok(Trees::of(TreesPlace { root, source, state, common, config, now }))
}

/// The content of the project's work tree; none outside git, where nothing can be committed.
pub(crate) fn content(project: &Project) -> Result<Option<String>, EngineError> {
    Ok(waypost_git::content(project.place())?)
}

/// The work trees of this project's runs, and those of which snapshots are left.
pub fn work_trees(project: &mut Project) -> Result<Vec<WorkTree>, EngineError> {
    let trees = trees_of(project)?;
    let working = working(project)?;
    let snapshots = tree::list_snapshots(&trees)?;
    let of = |name: &str| {
        let own = snapshots.iter().filter(|it| it.name == name);
        own.map(|it| it.reference.clone()).collect::<Vec<_>>()
    };
    let entries = tree::list(&trees)?.into_iter();
    let mut found: Vec<WorkTree> = entries.map(|it| shown(&trees, it, &working, &of)).collect();
    let mut gone: BTreeSet<&str> = snapshots.iter().map(|it| it.name.as_str()).collect();
    gone.retain(|name| found.iter().all(|it| it.name != *name));
    for name in gone {
        let last = snapshots.iter().rfind(|it| it.name == name);
        found.push(WorkTree {
            used_at: last.map(|it| it.at),
            snapshots: of(name),
            ..bare(&trees, name, TreeState::Removed)
        });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Makes a work tree again of its newest snapshot. A name may lack `worktree/` in front, and
/// have the number of a snapshot behind, as in `phase-1-cart--T1.2-3/1`.
pub fn undo_work_tree(project: &mut Project, typed: &str) -> Result<Undone, EngineError> {
    project.refuse_stale()?;
    let trees = trees_to_change(project)?;
    let rest = typed.trim_end_matches('/');
    let rest = rest.strip_prefix("worktree/").unwrap_or(rest);
    let (tree, number) = match rest.split_once('/') {
        Some((tree, number)) => (tree, Some(number)),
        None => (rest, None),
    };
    let name = format!("{}/{tree}", name::FOLDER);
    let number = number.map(str::parse).transpose();
    let number = number.ok().filter(|_| name::is_name(&name));
    let number =
        number.ok_or_else(|| GitError::from(Mistake::TreeName { name: typed.to_owned() }))?;
    let back = tree::bring_back(&trees, &name, number)?;
    Ok(Undone { name, path: back.path, snapshot: back.snapshot })
}

/// Retires trees that no attempt works in, by age and need, and deletes old snapshots; the latter
/// only for a person.
pub fn prune_work_trees(
    project: &mut Project,
    options: &PruneOptions,
) -> Result<Pruned, EngineError> {
    project.refuse_stale()?;
    if options.force && !project.actor().is_person() {
        return Err(Rejected::reserved("losing repositories with a work tree").into());
    }
    let trees = trees_to_change(project)?;
    let days = |days: u32| DAY.saturating_mul(days);
    let configured = |value: u32| Some(value).filter(|it| *it > 0).map(days);
    let config = trees.config().clone();
    let order = PruneOrder {
        older_than: match (options.older_than_days, options.need_mb) {
            (Some(chosen), _) => Some(days(chosen)),
            // Who needs space names it; nothing else has to go.
            (None, Some(_)) => None,
            (None, None) => configured(config.keep_days),
        },
        need: options.need_mb.map(|need| need.saturating_mul(1 << 20)),
        snapshots_older_than: configured(config.snapshot_days)
            .filter(|_| project.actor().is_person()),
        loses_strays: options.force,
    };
    let working = working(project)?;
    let now = project.clock().now();
    Ok(tree::prune(&trees, &order, |name| is_working(name, &working), now)?)
}

/// Retires trees that no attempt works in, for a run: those that are old, or the oldest until there
/// is room for another one. Snapshots stay.
pub(crate) fn reclaim(
    project: &mut Project,
    trees: &Trees,
    by: Reclaim,
) -> Result<Pruned, EngineError> {
    let config = trees.config();
    let age = Some(config.keep_days).filter(|days| *days > 0).map(|days| DAY * days);
    let order = PruneOrder {
        older_than: age.filter(|_| by == Reclaim::Age),
        need: (by == Reclaim::Need).then(|| config.min_free_mb.saturating_mul(1 << 20)),
        snapshots_older_than: None,
        loses_strays: false,
    };
    let working = working(project)?;
    let now = project.clock().now();
    Ok(tree::prune(trees, &order, |name| is_working(name, &working), now)?)
}

/// The trees, for changing them beside an engine or instead of one.
pub(crate) fn trees_to_change(project: &Project) -> Result<Trees, EngineError> {
    let trees = trees_of(project)?;
    let state = &project.place().state;
    if let Some(hold) = Hold::try_acquire(state)? {
        return Ok(trees.held(hold));
    }
    match project.engine_holder()? {
        // It is alive and takes turns; only its own git has to be waited for.
        Some(_) => Ok(trees),
        None => Ok(trees.held(Hold::acquire(state)?)),
    }
}

/// The trees that a run or a session works in or will go on in.
fn working(project: &mut Project) -> Result<BTreeSet<String>, EngineError> {
    let mut names = project.run()?.active().map(working_of_run).unwrap_or_default();
    // One that was stopped may be resumed.
    let request = project.session()?.request();
    let open = request.filter(|request| request.status != SessionStatus::Completed);
    names.extend(open.map(RequestState::trees_at_work).unwrap_or_default());
    Ok(names)
}

/// Those of tasks that are not settled, and of phases under way.
fn working_of_run(active: &Active) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if active.is_over() {
        return names;
    }
    for (number, stage) in active.phases() {
        if matches!(stage, PhaseStage::Open { .. } | PhaseStage::Ending { .. }) {
            names.insert(active.plan().phase_tree(number));
        }
    }
    let is_open =
        |status| matches!(status, TaskStatus::InProgress | TaskStatus::Ready | TaskStatus::Pending);
    let open = active.tasks().filter(|view| is_open(view.status));
    names.extend(open.filter_map(|view| active.task_tree(&view.planned.id)));
    names
}

fn is_working(name: &str, working: &BTreeSet<String>) -> bool {
    working.contains(name)
}

fn shown(
    trees: &Trees,
    entry: TreeEntry,
    working: &BTreeSet<String>,
    snapshots: &dyn Fn(&str) -> Vec<String>,
) -> WorkTree {
    let is_working = is_working(&entry.name, working) || !entry.processes.is_empty();
    let state = match () {
        () if !entry.is_there => TreeState::Deleted,
        () if is_working => TreeState::Working,
        () if entry.is_needed => TreeState::Kept,
        () => TreeState::Joined,
    };
    let bare = bare(trees, &entry.name, state);
    WorkTree {
        size_bytes: size(&bare.path),
        branch: entry.branch,
        head: entry.head,
        is_dirty: entry.is_dirty,
        used_at: entry.used.max(entry.made),
        processes: entry.processes,
        snapshots: snapshots(&entry.name),
        ..bare
    }
}

fn bare(trees: &Trees, name: &str, state: TreeState) -> WorkTree {
    let attempt = name::attempt(name);
    WorkTree {
        name: name.to_owned(),
        path: trees.path(name),
        phase: name::phase(name),
        request: name::request(name).map(str::to_owned),
        task: attempt.map(|(task, _)| task.to_owned()),
        attempt: attempt.map(|(_, attempt)| attempt),
        state,
        branch: None,
        head: None,
        is_dirty: false,
        size_bytes: 0,
        used_at: None,
        processes: Vec::new(),
        snapshots: Vec::new(),
    }
}
