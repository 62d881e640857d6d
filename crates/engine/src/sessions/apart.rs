//! A request whose tasks have work trees: each made, joined to the request's branch, and that landed.
//!
//! What is next follows from the journal (`RequestState::tree_step`); git comes first, then the journal. Each step may
//! be done twice and cut off anywhere: names follow from request and task, and merges are found again by what their
//! commits say.

use super::{active_id, gates, learn_at_end};
use crate::{
    by_hand,
    error::{EngineError, Problem},
    execute::{Made, make_attempt_tree},
    gate, isolation,
    ledger::MachineCommand,
    mending,
    project::Project,
    worktrees::trees_to_change,
};
use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use waypost_git::{
    Absence, Committed, GitError, Hold, Join, Landing, PhaseBranch, Retirement, Stamp, Trees,
    merge, name_some, tree,
};
use waypost_model::{
    code::Code,
    document::SessionTaskId,
    machine::Rejected,
    next::NextStep,
    run::Isolation,
    session::{Command, RequestState, TreeStep},
    time::Time,
};
use waypost_store::place::Place;

/// How long processes that a killed one has left are waited for: git, or what is still in a tree. They take a moment; one
/// that stays is not waited for in vain for longer.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);
const LEAVING_PAUSE: Duration = Duration::from_millis(200);

/// Why the tree of a task goes.
const JOINED: &str = "its work is joined";

/// Decides whether the tasks of the request have work trees, unless that is decided: what has begun in the
/// project's own work tree stays there. Says what was decided.
pub(super) fn decide(
    project: &mut Project,
    stated: Option<Isolation>,
) -> Result<Option<String>, EngineError> {
    let request = project.session()?.find_request()?;
    if request.trees.is_some() || request.has_begun() {
        return Ok(None);
    }
    let Some(target) = isolation::place_request(project, stated)? else { return Ok(None) };
    let told = format!("each task works in a work tree of its own, and is merged into {target}");
    by_waypost(project, Command::SetApart { target })?;
    Ok(Some(told))
}

/// Whether something is to be done with the trees of the request now.
pub(super) fn is_due(project: &mut Project) -> Result<bool, EngineError> {
    let Some(request) = project.session()?.active_request().cloned() else { return Ok(false) };
    Ok(request.tree_step().is_some() || is_tree_gone(project, &request))
}

/// Waits until git that a process before this one has left is gone: two would move the same refs.
pub(super) fn wait_for_git(project: &Project) -> Result<(), EngineError> {
    let start = project.clock().now();
    while Hold::try_acquire(&project.place().state)?.is_none() {
        if project.clock().now().since(start) > PATIENCE {
            break;
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Does what is next with the trees of the request, for one who drives it by hand: not from inside a call of an agent
/// that Waypost has started. Returns what was done, in lines.
pub fn bring_on(
    project: &mut Project,
    echo: &mut dyn io::Write,
) -> Result<Vec<String>, EngineError> {
    match project.caller.fence {
        Some(_) => Ok(Vec::new()),
        None => go_on(project, echo),
    }
}

/// Does what is next with the trees of the request: gives a task that begins one, joins what is done, lands it when
/// everything is. Returns what was done, in lines.
pub(super) fn go_on(
    project: &mut Project,
    echo: &mut dyn io::Write,
) -> Result<Vec<String>, EngineError> {
    let mut done = Vec::new();
    while is_due(project)? {
        project.refuse_stale()?;
        super::is_here(project)?;
        let request = project.session()?.find_request()?.clone();
        match request.tree_step() {
            Some(step) => done.push(take_step(project, &request, &step, echo)?),
            None => remake(project, &request)?,
        }
    }
    Ok(done)
}

fn take_step(
    project: &mut Project,
    request: &RequestState,
    step: &TreeStep,
    echo: &mut dyn io::Write,
) -> Result<String, EngineError> {
    let trees = trees_to_change(project)?;
    let (command, told) = match step {
        TreeStep::Place(id) => {
            let base = make(project, &trees, (request, id), echo)?;
            let name = request.task_tree_name(id).unwrap_or_default();
            let told = format!("{id} is worked on in {name}");
            (Command::PlaceTask { task: id.clone(), base }, told)
        }
        TreeStep::Join(id) => {
            let result = join(project, &trees, request, id)?;
            let told = match &result {
                Ok(_) => format!("the work of {id} is joined"),
                Err(why) => format!("the work of {id} could not be joined: {why}"),
            };
            (Command::JoinTask { task: id.clone(), result }, told)
        }
        TreeStep::Land => {
            let landing = Landing::of_request(request).ok_or_else(without_trees)?;
            let result = by_hand::land(project, &trees, &landing, echo)?;
            let told = match &result {
                Ok(_) => format!("{} is merged into {}", request.id, landing.phase.target),
                Err(why) => format!("{} could not be merged: {why}", request.id),
            };
            (Command::Land { result }, told)
        }
        TreeStep::Close => {
            let told = match close(project, &trees, request)?.as_slice() {
                [] => format!("the work trees of {} are gone", request.id),
                kept => kept.join("; "),
            };
            (Command::CloseTrees, told)
        }
    };
    match by_waypost(project, command) {
        // Another process has done the same, and was first.
        Err(EngineError::Rejected(rejected)) if rejected.code == Code::TaskStatus => {}
        recorded => recorded?,
    }
    if let TreeStep::Join(id) = step
        && project.session()?.request().is_some_and(|it| it.open_tree(id).is_none())
        && let Some(name) = request.open_tree(id)
    {
        // A process may still be in it; then it is removed when the request is closed, or later.
        let _kept = tree::retire(&trees, &name, JOINED);
    }
    // This process may end with the next step.
    tree::settle(&trees);
    Ok(told)
}

/// Makes the tree of a task, and the branch of its request where there is none; both may be there. Returns the commit
/// that the tree was made from.
fn make(
    project: &mut Project,
    trees: &Trees,
    (request, id): (&RequestState, &SessionTaskId),
    echo: &mut dyn io::Write,
) -> Result<String, EngineError> {
    let branch = PhaseBranch::of_request(request).ok_or_else(without_trees)?;
    mending::restore_branches(project, trees)?;
    merge::open_phase(trees, &branch)?;
    merge::take_back(trees, &branch)?;
    let name = request.task_tree_name(id).ok_or_else(without_trees)?;
    let task = id.as_str().parse().map_err(|_| without_trees())?;
    if make_attempt_tree(trees, &task, &name, &branch)? == Made::NoSpace {
        let message = "the disk is nearly full: there is no room for a work tree";
        return Err(Problem::new(Code::DiskFull, message).next(NextStep::ListTrees).into());
    }
    // A process that was killed may have made it and no more.
    by_hand::set_up(project, &trees.path(&name), echo)?;
    let base = trees.commit_of(&format!("refs/heads/{}", branch.name))?;
    Ok(base.ok_or_else(|| GitError::from(Absence::Branch { name: branch.name.clone() }))?)
}

/// Whether the folder in which a task is worked on was deleted.
fn is_tree_gone(project: &Project, request: &RequestState) -> bool {
    let folder = request.current().and_then(|(id, _)| folder_of(project, request, id));
    folder.is_some_and(|folder| !folder.join(".git").exists())
}

/// Fills a tree again whose folder was deleted, with what git has of it.
fn remake(project: &mut Project, request: &RequestState) -> Result<(), EngineError> {
    let trees = trees_to_change(project)?;
    let Some((id, task)) = request.current() else { return Ok(()) };
    let (Some(name), Some(tree)) = (request.open_tree(id), task.open_tree()) else { return Ok(()) };
    tree::make(&trees, &name, &tree.base)?;
    by_hand::set_up(project, &trees.path(&name), &mut io::sink())
}

/// Commits what is in the tree of a task and joins it; why not, where a person has to do something first.
fn join(
    project: &mut Project,
    trees: &Trees,
    request: &RequestState,
    id: &SessionTaskId,
) -> Result<Result<Option<String>, String>, EngineError> {
    let branch = PhaseBranch::of_request(request).ok_or_else(without_trees)?;
    let name = request.open_tree(id).ok_or_else(without_trees)?;
    let stamp = Stamp::of_session(request, id).ok_or_else(without_trees)?;
    if let Some(why) = changed_since_judged(project, request, id)? {
        return Ok(Err(why));
    }
    mending::restore_branches(project, trees)?;
    // The branch moves without the work tree of the request.
    merge::take_back(trees, &branch)?;
    let commit = match merge::commit_attempt(trees, &name, &branch, &stamp, &[])? {
        Committed::At { commit, .. } => commit,
        Committed::Gone => return Ok(Err(format!("{name} is not there any more."))),
        Committed::Astray(why) => return Ok(Err(format!("{why}."))),
    };
    tree::keep_outputs(trees, &name)?;
    let subtasks = request
        .tasks
        .get(id)
        .map(|task| task.subtasks.keys().map(|it| it.to_string()).collect::<Vec<_>>());
    let evidence = format!("the gates of {}", subtasks.unwrap_or_default().join(", "));
    Ok(match merge::join(trees, &branch, &commit, &stamp, &evidence)? {
        Join::Done { commit } => Ok(Some(commit)),
        Join::Nothing => Ok(None),
        Join::Conflict { files } | Join::Unclean { files } => Err(format!(
            "It conflicts with what is in {0} in {1}: `git -C {2} merge {0}`, resolve it and commit there.",
            branch.name,
            name_some(&files),
            trees.path(&name).display()
        )),
    })
}

/// What was changed in a tree since its last gate was passed, in a sentence.
fn changed_since_judged(
    project: &mut Project,
    request: &RequestState,
    id: &SessionTaskId,
) -> Result<Option<String>, EngineError> {
    let Some(folder) = folder_of(project, request, id) else { return Ok(None) };
    let own = project.beside(&folder)?;
    let is_same = gates::is_as_judged(&own, request, id)?;
    let told = || {
        format!(
            "Files in {} have changed since the last gate of {id} was passed: take that back.",
            folder.display()
        )
    };
    Ok((!is_same).then(told))
}

/// Takes away all trees of a request whose work has landed. Returns which had to stay, each with why.
fn close(
    project: &Project,
    trees: &Trees,
    request: &RequestState,
) -> Result<Vec<String>, EngineError> {
    let branch = PhaseBranch::of_request(request).ok_or_else(without_trees)?;
    let beginning = format!("{}--", branch.name);
    tree::sweep(trees)?;
    let there = tree::names(trees)?.into_iter().filter(|name| name.starts_with(&beginning));
    // Of a tree that a killed process was taking away there may be a branch alone.
    let made = request.tasks.iter().flat_map(|(id, task)| {
        let last = task.tree.as_ref().map_or(0, |tree| tree.number);
        (1..=last).map(|number| format!("{beginning}{id}-{number}")).collect::<Vec<_>>()
    });
    let (mut kept, start) = (Vec::new(), project.clock().now());
    for name in there.chain(made).collect::<BTreeSet<String>>() {
        let why = retire((project, start), trees, &name)?.why_kept();
        kept.extend(why.map(|why| format!("{name} is kept: {why}")));
    }
    merge::close_phase(trees, &branch)?;
    // Once it is recorded that they are gone, no process looks for what is left of them.
    tree::settle(trees);
    Ok(kept)
}

/// Takes away a tree. Processes that are in it may be on their way out: they are waited for, for a while since
/// `start`.
fn retire(
    (project, start): (&Project, Time),
    trees: &Trees,
    name: &str,
) -> Result<Retirement, EngineError> {
    loop {
        let retired = tree::retire(trees, name, JOINED)?;
        let is_late = project.clock().now().since(start) > PATIENCE;
        if is_late || !matches!(retired, Retirement::InUse { .. }) {
            return Ok(retired);
        }
        thread::sleep(LEAVING_PAUSE);
    }
}

/// The folder in which a task is worked on, where that is a tree of its own.
pub(super) fn folder_of(
    project: &Project,
    request: &RequestState,
    id: &SessionTaskId,
) -> Option<PathBuf> {
    Some(project.setup.trees_home()?.join(request.open_tree(id)?))
}

/// The folder in which the present task is worked on, where that is a tree of its own.
pub fn task_folder(project: &mut Project) -> Result<Option<PathBuf>, EngineError> {
    let Some(request) = project.session()?.active_request().cloned() else { return Ok(None) };
    Ok(request.current().and_then(|(id, _)| folder_of(project, &request, id)))
}

/// The project in the tree of the present task; none where this is it.
pub(super) fn workplace(project: &mut Project) -> Result<Option<Project>, EngineError> {
    match task_folder(project)? {
        Some(folder) if !is_same(&folder, project.root()) => project.beside(&folder).map(Some),
        _ => Ok(None),
    }
}

/// Where files of a task are: its tree, or the project's own.
pub(super) fn place_of(
    project: &Project,
    request: &RequestState,
    id: &SessionTaskId,
) -> Result<Place, EngineError> {
    match folder_of(project, request, id) {
        Some(folder) => Ok(Place::find(&folder)?),
        None => Ok(project.place().clone()),
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| one == other)
}

/// Says of a request that ends before it is merged where its work is.
pub(super) fn say_unmerged(project: &mut Project) -> Result<(), EngineError> {
    let Some(request) = project.session()?.active_request() else { return Ok(()) };
    if !request.trees_at_work().is_empty() {
        let (id, name) = (&request.id, request.tree_name());
        let told = format!("the work of {id} is in the branch {name}, and merged nowhere else");
        project.notice(told);
    }
    Ok(())
}

/// Lets merges go on that were held: a person has put right what was in their way.
pub(super) fn try_merges_again(project: &mut Project) -> Result<(), EngineError> {
    let Some(request) = project.session()?.active_request() else { return Ok(()) };
    let held: Vec<_> = request.held.iter().map(|held| held.hold.clone()).collect();
    for hold in held.into_iter().filter(|hold| hold.is_merge()) {
        by_waypost(project, Command::Retry { hold })?;
    }
    Ok(())
}

pub(super) fn by_waypost(project: &mut Project, command: Command) -> Result<(), EngineError> {
    let before = active_id(project)?;
    gate::by_waypost(project, &[MachineCommand::session(command)])?;
    learn_at_end(project, before.as_ref())
}

fn without_trees() -> EngineError {
    Rejected::rule(Code::TaskStatus, "the request has no work trees").into()
}
