//! The tasks of the server as commands see them: made, listed, looked at, handed in, tried again.
//!
//! Any process may do all of this; an agent works on a task where a host carries it.

use crate::{
    attendance,
    error::{EngineError, Problem},
    ledger::{MachineCommand, decode},
    project::Project,
    serving::{as_it_lies, end_left},
    task_types, values,
};
use std::{
    collections::{BTreeMap, BTreeSet, hash_map::RandomState},
    hash::BuildHasher as _,
};
use waypost_model::{
    actor::Actor,
    code::Code,
    document::{
        ServerTaskId,
        server::{ServerTaskStatus, Transition},
    },
    id::StreamName,
    machine::Machine as _,
    next::NextStep,
    run::Priority,
    task::{
        Command, LostCause, RetriedCheckpoint, RetriedTask, ServedTask, TaskChange, TaskFields,
        TaskFile, TaskRow, task_word,
    },
};
use waypost_store::{
    StoreError,
    journal::{ListingOrder, ListingPlace, ListingQuery, View},
};

/// How many letters and digits a new id has behind `task_`.
const ID_LENGTH: usize = 8;

/// How many tasks are looked at for cycles; more than a person makes depend on each other.
const DEPENDENCIES_FOLLOWED: usize = 10_000;

/// Which tasks a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// One of these states, in the seed's words; empty: any.
    pub states: Vec<String>,
    pub priority: Option<Priority>,
    /// Stands in title, id or type.
    pub text: Option<String>,
    /// Also those that were archived.
    pub with_archived: bool,
    /// In the order of the queue, not the newest first.
    pub in_queue_order: bool,
    /// Only what follows this task.
    pub after: Option<ServerTaskId>,
    pub limit: usize,
}

/// From where a task is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryFrom {
    NewestCheckpoint,
    Checkpoint(u32),
    /// An empty workspace.
    Nothing,
}

/// The stream of a task.
pub fn task_stream(id: &ServerTaskId) -> StreamName {
    StreamName::of(ServedTask::KIND, Some(id.as_str())).expect("a task id is a stream's name")
}

/// A command for one task.
pub fn command_for(id: &ServerTaskId, command: Command) -> MachineCommand {
    MachineCommand::of::<ServedTask>(task_stream(id), command)
}

/// An id that no task has: random, so that tasks of several machines never meet.
pub fn fresh_task_id() -> ServerTaskId {
    const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut number = RandomState::new().hash_one(std::process::id());
    let mut id = String::from("task_");
    for _ in 0..ID_LENGTH {
        let digit = usize::try_from(number % 36).unwrap_or(0);
        id.push(char::from(DIGITS[digit]));
        number /= 36;
    }
    id.parse().expect("letters and digits behind task_ are a task id")
}

/// Makes a draft, and hands it in if that is wanted: both or neither.
pub fn create(
    project: &mut Project,
    fields: TaskFields,
    is_submitted: bool,
) -> Result<ServerTaskId, EngineError> {
    let id = fresh_task_id();
    let mut commands = Vec::new();
    if is_submitted {
        require_all(&fields)?;
        commands.push(submission(project, &id, &fields)?);
    }
    let create = Command::Create { id: id.clone(), fields, retry_of: None };
    commands.insert(0, command_for(&id, create));
    project.command(&commands)?;
    Ok(id)
}

/// Refuses fields that cannot be handed in. The task of which they would be is none yet, so no id of it
/// is named that is of no use.
fn require_all(fields: &TaskFields) -> Result<(), EngineError> {
    let missing = fields.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("a task cannot be submitted without: {}", missing.join(", "));
    let hint = "nothing was kept; give what is missing, or keep a draft";
    Err(Problem::new(Code::FieldMissing, message).hint(hint).into())
}

/// Changes fields of a task. What one that was handed in waits for exists and does not wait for it; of a draft that is
/// found out when it is handed in.
pub fn edit(
    project: &mut Project,
    id: &ServerTaskId,
    change: TaskChange,
) -> Result<(), EngineError> {
    let is_draft = file(project, id)?.status == ServerTaskStatus::Draft;
    if let Some(named) = change.dependencies.as_ref().filter(|_| !is_draft) {
        check_dependencies(project, id, named)?;
    }
    command(project, id, Command::Edit { change })
}

/// Hands in a draft.
pub fn submit(project: &mut Project, id: &ServerTaskId) -> Result<(), EngineError> {
    let fields = file(project, id)?.fields.clone();
    let submission = submission(project, id, &fields)?;
    project.command(&[submission])
}

/// The command that hands in a task with these fields: its type as it is now, and dependencies that
/// exist and do not wait for it.
fn submission(
    project: &mut Project,
    id: &ServerTaskId,
    fields: &TaskFields,
) -> Result<MachineCommand, EngineError> {
    // What is missing is told by the task itself, all at once.
    let shape = match fields.task_type.as_str() {
        "" => waypost_model::task::TaskShape::default(),
        name => task_types::task_type(&project.setup, name)?.shape(),
    };
    check_dependencies(project, id, &fields.dependencies)?;
    Ok(command_for(id, Command::Submit { shape }))
}

fn check_dependencies(
    project: &mut Project,
    id: &ServerTaskId,
    named: &[ServerTaskId],
) -> Result<(), EngineError> {
    let (mut open, mut seen): (Vec<ServerTaskId>, BTreeSet<ServerTaskId>) =
        (named.to_vec(), BTreeSet::new());
    while let Some(next) = open.pop() {
        if next == *id {
            let message = format!("{id} would wait for itself by way of its dependencies");
            return Err(Problem::new(Code::TaskWaits, message).into());
        }
        if seen.len() >= DEPENDENCIES_FOLLOWED || !seen.insert(next.clone()) {
            continue;
        }
        match trace(project, &next)? {
            Some(file) => open.extend(file.fields.dependencies.iter().cloned()),
            None if named.contains(&next) => return Err(unknown(&next)),
            None => {}
        }
    }
    Ok(())
}

/// One task; an error if there is none, or if it was deleted.
pub fn file<'p>(project: &'p mut Project, id: &ServerTaskId) -> Result<&'p TaskFile, EngineError> {
    let loaded = project.machine::<ServedTask>(&task_stream(id))?;
    loaded.and_then(|it| it.state.file()).ok_or_else(|| unknown(id))
}

/// One task, with its workspace where that is now: a project that was moved has taken it along.
pub fn located(project: &mut Project, id: &ServerTaskId) -> Result<TaskFile, EngineError> {
    let file = file(project, id)?.clone();
    Ok(as_it_lies(&project.setup, file))
}

/// What is known of a task, also of one that was deleted.
pub fn trace<'p>(
    project: &'p mut Project,
    id: &ServerTaskId,
) -> Result<Option<&'p TaskFile>, EngineError> {
    let loaded = project.machine::<ServedTask>(&task_stream(id))?;
    Ok(loaded.and_then(|it| it.state.trace()))
}

fn unknown(id: &ServerTaskId) -> EngineError {
    let message = format!("there is no task {id}");
    Problem::new(Code::TaskUnknown, message).next(NextStep::ListServedTasks).into()
}

/// Gives a command to a task.
pub fn command(
    project: &mut Project,
    id: &ServerTaskId,
    command: Command,
) -> Result<(), EngineError> {
    project.command(&[command_for(id, command)])
}

/// Gives a command to a task that holds its agent or ends it. A host that lives does that; what one that died has left
/// at work is ended here.
pub fn hold(project: &mut Project, id: &ServerTaskId, command: Command) -> Result<(), EngineError> {
    self::command(project, id, command)?;
    match attendance::alone(project, "task")? {
        Some(_alone) => end_left(&project.setup, id),
        None => Ok(()),
    }
}

/// Deletes a task. What people gave to it goes at once; what its agents left goes with the next host that works
/// on tasks.
pub fn delete(project: &mut Project, id: &ServerTaskId) -> Result<(), EngineError> {
    command(project, id, Command::Delete)?;
    values::forget(project, id.as_str())
}

/// The tasks that a filter lets through, without loading any.
pub fn list(project: &mut Project, filter: &TaskFilter) -> Result<Vec<TaskRow>, EngineError> {
    let after = match &filter.after {
        Some(id) => {
            let file = file(project, id)?;
            let (rank, since) = (i64::from(file.fields.priority as u8), file.times.created);
            Some(ListingPlace { rank, since, stream: task_stream(id) })
        }
        None => None,
    };
    let Some(journal) = &mut project.journal else { return Ok(Vec::new()) };
    let states: Vec<&str> = filter.states.iter().map(String::as_str).collect();
    let query = ListingQuery {
        states: &states,
        rank: filter.priority.map(|it| i64::from(it as u8)),
        text: filter.text.as_deref(),
        with_hidden: filter.with_archived,
        order: match filter.in_queue_order {
            true => ListingOrder::Queue,
            false => ListingOrder::Newest,
        },
        after,
        limit: filter.limit,
        ..ListingQuery::of(ServedTask::KIND)
    };
    Ok(rows(&journal.view()?, &query)?)
}

/// All tasks that wait to be given to an agent.
pub(crate) fn pending(project: &mut Project) -> Result<Vec<TaskRow>, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Vec::new()) };
    let states = [task_word(ServerTaskStatus::Pending)];
    let query = ListingQuery { states: &states, ..ListingQuery::of(ServedTask::KIND) };
    Ok(rows(&journal.view()?, &query)?)
}

/// All tasks that are not over, archived or not.
pub(crate) fn open(project: &mut Project) -> Result<Vec<ServerTaskId>, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Vec::new()) };
    let states = ["draft", "pending", "in_progress", "review"];
    let all = ListingQuery { with_hidden: true, ..ListingQuery::of(ServedTask::KIND) };
    let listed = journal.view()?.listings(&ListingQuery { states: &states, ..all })?.into_iter();
    Ok(listed.filter_map(|it| it.stream.instance()?.parse().ok()).collect())
}

/// The rows of tasks that a question finds.
pub(crate) fn rows(view: &View<'_>, query: &ListingQuery<'_>) -> Result<Vec<TaskRow>, StoreError> {
    let listed = view.listings(query)?.into_iter();
    let read = listed.map(|it| {
        serde_json::from_str(&it.body).map_err(|error| StoreError::Undecodable {
            seq: 0,
            detail: format!("the row of {}: {error}", it.stream),
        })
    });
    read.collect()
}

/// How many tasks there are in each state; those that were archived are under none.
pub fn counts(project: &mut Project) -> Result<BTreeMap<String, u64>, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(BTreeMap::new()) };
    let counts = journal.view()?.listing_counts(ServedTask::KIND)?.into_iter();
    Ok(counts.filter(|it| !it.is_hidden).map(|it| (it.state, it.count)).collect())
}

/// The log of a task's transitions, oldest first.
pub fn transitions(
    project: &mut Project,
    id: &ServerTaskId,
) -> Result<Vec<Transition>, EngineError> {
    file(project, id)?;
    let Some(journal) = &mut project.journal else { return Ok(Vec::new()) };
    let (mut state, mut found) = (ServedTask::start(), Vec::new());
    journal.view()?.for_each_event(&task_stream(id), 0, |entry| {
        let event = decode::<ServedTask>(&entry)?;
        found.extend(state.trace().and_then(|file| file.transition(&event, entry.at)));
        state.apply(&event, entry.at);
        Ok::<(), StoreError>(())
    })?;
    Ok(found)
}

/// Makes a new task of a failed one, linked to it, and hands it in.
pub fn retry(
    project: &mut Project,
    id: &ServerTaskId,
    from: RetryFrom,
) -> Result<ServerTaskId, EngineError> {
    let file = file(project, id)?;
    let fields = file.fields.clone();
    let checkpoint = match from {
        RetryFrom::Nothing => None,
        RetryFrom::NewestCheckpoint => file.newest_checkpoint(),
        RetryFrom::Checkpoint(number) => {
            let found = file.checkpoint(number).filter(|it| it.taken.commit.is_some());
            Some(found.ok_or_else(|| {
                let message = format!("{id} has no checkpoint {number} to go on from");
                let step = NextStep::ListTaskCheckpoints { task: id.clone() };
                EngineError::from(Problem::new(Code::CheckpointUnknown, message).next(step))
            })?)
        }
    };
    let checkpoint = checkpoint.and_then(|it| {
        let (id, commit, phase) = (it.id, it.taken.commit.clone()?, it.phase);
        Some(RetriedCheckpoint { id, commit, phase })
    });
    let (again, retry_of) = (fresh_task_id(), RetriedTask { task: id.clone(), checkpoint });
    let submission = submission(project, &again, &fields)?;
    let create = Command::Create { id: again.clone(), fields, retry_of: Some(retry_of) };
    let retried = command_for(id, Command::Retry { task: again.clone() });
    project.command(&[retried, command_for(&again, create), submission])?;
    Ok(again)
}

/// Tells pending tasks which of the tasks that they wait for will never be completed. The host does so
/// when it begins and when a task has ended; a command that ends one does so at once.
pub fn note_lost_dependencies(project: &mut Project) -> Result<(), EngineError> {
    let pending = list(
        project,
        &TaskFilter {
            states: vec!["pending".to_owned()],
            limit: usize::MAX,
            ..TaskFilter::default()
        },
    )?;
    let mut lost = Vec::new();
    for row in pending.iter().filter(|row| !row.dependencies.is_empty()) {
        for task in &row.dependencies {
            if let Some(cause) = lost_cause(project, task)? {
                let task = task.clone();
                lost.push(command_for(&row.id, Command::LoseDependency { task, cause }));
            }
        }
    }
    if !lost.is_empty() {
        project.commit_each(&Actor::Waypost, &lost, |_| Vec::new())?;
    }
    Ok(())
}

/// Why a task will never be completed; none if it may be, or is.
pub fn lost_cause(
    project: &mut Project,
    id: &ServerTaskId,
) -> Result<Option<LostCause>, EngineError> {
    Ok(trace(project, id)?.and_then(|file| match file.status {
        _ if file.is_deleted && file.status != ServerTaskStatus::Completed => {
            Some(LostCause::Deleted)
        }
        ServerTaskStatus::Failed if file.is_cancelled() => Some(LostCause::Cancelled),
        ServerTaskStatus::Failed => Some(LostCause::Failed),
        _ => None,
    }))
}
