//! Tools for the run: what is ready, and how a task goes.

use super::visit::{ToolAnswer, Visit, object, read};
use crate::{
    command::run::{self as run_command, parse_class, parse_id},
    data::{Enveloped, TaskLine},
    error::CliError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;
use waypost_engine::{by_hand, tasks, why as explaining};
use waypost_model::{
    code::Code,
    id::TaskId,
    next::NextStep,
    run::{Command, Failure, TaskStatus, TaskView},
};

/// Which tasks are wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NextInput {
    /// How many at most; 5 unless said.
    limit: Option<usize>,
}

/// Which tasks are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListInput {
    /// Only those: pending, ready, in_progress, completed, failed or blocked.
    status: Option<String>,
    /// Only what follows this task in the plan, as in T1.3.
    from: Option<String>,
    /// How many at most; 50 unless said, never more than 500.
    limit: Option<usize>,
}

/// Tasks of the run, in the order of the plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedTasks<'a> {
    tasks: Vec<TaskLine<'a>>,
    /// How many there are of that status, told or not.
    total: usize,
}

/// Which task is meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskInput {
    /// The task, as in T1.3.
    id: String,
}

/// Which task is done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DoneInput {
    /// The task, as in T1.3.
    id: String,
    /// The attempt that speaks, as task_start told it; an older one is refused.
    attempt: Option<u32>,
}

/// How a task failed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FailInput {
    /// The task, as in T1.3.
    id: String,
    /// What went wrong.
    reason: String,
    /// transient, validation, dependency, resource, structural or critical; transient unless said.
    class: Option<String>,
    /// The attempt that speaks, as task_start told it.
    attempt: Option<u32>,
}

/// Tasks that can be started.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReadyTasks<'a> {
    tasks: Vec<TaskLine<'a>>,
    /// Whether the run is over; none has begun: false.
    run_over: bool,
}

/// What holds a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Explained {
    id: String,
    status: String,
    reasons: Vec<String>,
}

/// How many tasks are told unless more are wanted.
const TASKS_TOLD: usize = 5;

/// How many are listed unless said otherwise, and at most.
const LISTED: usize = 50;
const LISTED_MAX: usize = 500;

pub(super) fn next(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: NextInput = read(arguments)?;
    let (run, mut ready) = run_command::ready(&mut visit.project, None)?;
    ready.truncate(input.limit.unwrap_or(TASKS_TOLD));
    let tasks = ready.iter().map(TaskLine::from).collect();
    object(&ReadyTasks { tasks, run_over: run.is_over })
}

pub(super) fn list(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ListInput = read(arguments)?;
    let status = input.status.as_deref().map(status).transpose()?;
    let from = input.from.as_deref().map(parse_id).transpose()?;
    let limit = input.limit.unwrap_or(LISTED).min(LISTED_MAX);
    run_command::with_plan(&mut visit.project, |active| {
        let is_wanted = |view: &TaskView<'_>| status.is_none_or(|it| view.status == it);
        let total = active.tasks().filter(is_wanted).count();
        let mut rest = active.tasks();
        if let Some(from) = &from
            && !rest.any(|view| view.planned.id == *from)
        {
            let message = format!("the plan has no task {from}");
            return Err(CliError::new(Code::TaskUnknown, message).next(NextStep::ShowRun));
        }
        let listed = rest.filter(is_wanted).take(limit);
        let listed: Vec<_> = listed.map(|view| active.summarize(&view)).collect();
        object(&ListedTasks { tasks: listed.iter().map(TaskLine::from).collect(), total })
    })
}

fn status(word: &str) -> Result<TaskStatus, CliError> {
    TaskStatus::ALL.into_iter().find(|it| it.as_str() == word).ok_or_else(|| {
        let known = TaskStatus::ALL.map(TaskStatus::as_str).join(", ");
        CliError::new(Code::BadArgument, format!("`{word}` is no status of a task"))
            .hint(format!("one of {known}"))
    })
}

pub(super) fn start(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: TaskInput = read(arguments)?;
    let id = parse_id(&input.id)?;
    let mut echo = visit.echo();
    let place = by_hand::start_task(&mut visit.project, &id, None, &mut echo)?;
    report(visit, &id, place.as_deref())
}

pub(super) fn done(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: DoneInput = read(arguments)?;
    let id = parse_id(&input.id)?;
    let mut echo = visit.echo();
    run_command::complete(&mut visit.project, &id, input.attempt, &mut echo)?;
    report(visit, &id, None)
}

pub(super) fn fail(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: FailInput = read(arguments)?;
    let id = parse_id(&input.id)?;
    let class = parse_class(input.class.as_deref().unwrap_or("transient"))?;
    let failure = Failure { text: input.reason, class, ..Failure::default() };
    let attempt = visit.project.speaking_attempt(&id, input.attempt)?;
    let command = Command::Fail { id: id.clone(), attempt, failure };
    tasks::drive_run(&mut visit.project, &[command], None)?;
    let mut echo = visit.echo();
    by_hand::end_phase(&mut visit.project, &mut echo)?;
    report(visit, &id, None)
}

pub(super) fn why(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: TaskInput = read(arguments)?;
    let why = explaining::explain(&mut visit.project, &parse_id(&input.id)?)?;
    object(&Explained {
        id: why.id.to_string(),
        status: why.status.to_string(),
        reasons: why.reasons.iter().map(|reason| reason.text.clone()).collect(),
    })
}

/// How the task stands now.
fn report(visit: &mut Visit<'_>, id: &TaskId, place: Option<&Path>) -> ToolAnswer {
    let run = visit.project.run()?;
    let Some((active, view)) = run.active().and_then(|it| Some((it, it.task(id)?))) else {
        return Ok(Map::new());
    };
    let task = active.summarize(&view);
    let run_over = Some(active.is_over());
    object(&Enveloped::new(&TaskLine { run_over, worktree: place, ..TaskLine::from(&task) }))
}
