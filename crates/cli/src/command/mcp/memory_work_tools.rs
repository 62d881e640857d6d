//! Tools for the memory's own tasks and their steps.

use super::{
    tools::Nothing,
    visit::{ToolAnswer, Visit, object, read},
};
use crate::{
    command::{
        memory::{artifact, task_id},
        run::parse_class,
    },
    data::{Enveloped, MemoryReport, MemoryTaskReport},
    error::CliError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use waypost_engine::memory as engine;
use waypost_model::{
    code::Code,
    document::MemoryTaskId,
    json::{Json, OpenMap},
    memory::{Command, Ending, StepAct, StepDraft, StepFailure, TaskAct, TaskDraft},
};

/// What becomes of a task.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskWord {
    New,
    Start,
    Pause,
    Resume,
    Fail,
    Recover,
    Cancel,
    Close,
    Complete,
    Replan,
}

/// A task of the memory, and what becomes of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryTaskInput {
    /// new makes one, which is current if none is; complete, close and cancel end it; replan drops the steps that have not begun.
    action: TaskWord,
    /// As in task-2026-11-17-001; none: the current one.
    task: Option<String>,
    /// What a new one is called.
    name: Option<String>,
    /// What a new one is to achieve.
    goal: Option<String>,
    /// What must hold when a new one is achieved.
    #[serde(default)]
    criteria: Vec<String>,
    /// The user's own words, kept in the context of a new one.
    request: Option<String>,
    /// Why it failed, or what was done about it so that it recovers.
    reason: Option<String>,
    /// What came of it, when it ends.
    summary: Option<String>,
    /// What was learned, when it ends.
    #[serde(default)]
    lessons: Vec<String>,
    /// Files that it produced, as PATH or PATH=DESCRIPTION, when it ends.
    #[serde(default)]
    artifacts: Vec<String>,
    /// Whether steps may be left undone when it is completed; the result is then partial.
    #[serde(default)]
    partial: bool,
}

/// What becomes of a step.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum StepWord {
    Add,
    Start,
    Complete,
    Fail,
    Retry,
    Escalate,
}

/// A step of a task of the memory, and what becomes of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryStepInput {
    /// add makes one; a step that failed is tried again after 2, 4 and 8 seconds, then a person is asked.
    action: StepWord,
    /// As in task-2026-11-17-001; none: the current one.
    task: Option<String>,
    /// The step's id; a new one has none.
    step: Option<u32>,
    /// What a new one is called.
    name: Option<String>,
    /// The agent that does a new one, or tries it again.
    agent: Option<String>,
    /// Steps that have to be completed before a new one.
    #[serde(default)]
    after: Vec<u32>,
    /// What it produced: any JSON.
    output: Option<Value>,
    /// Files that it produced, as PATH or PATH=DESCRIPTION.
    #[serde(default)]
    artifacts: Vec<String>,
    /// Why it failed, or what the person should know.
    reason: Option<String>,
    /// transient, validation, dependency, resource, structural or critical; transient unless said.
    class: Option<String>,
    /// Steps that have to be completed first, of one that failed for want of them.
    #[serde(default)]
    needs: Vec<u32>,
}

pub(super) fn state(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let _nothing: Nothing = read(arguments)?;
    object(&Enveloped::new(&MemoryReport::from(visit.project.memory()?)))
}

pub(super) fn task(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: MemoryTaskInput = read(arguments)?;
    let named = task_id(input.task.as_ref())?;
    let act = match input.action {
        TaskWord::New => return new_task(visit, input),
        TaskWord::Start => TaskAct::Start,
        TaskWord::Pause => TaskAct::Pause,
        TaskWord::Resume => TaskAct::Resume,
        TaskWord::Fail => TaskAct::Fail { message: needed(input.reason, "reason")? },
        TaskWord::Recover => TaskAct::Recover { how: input.reason.unwrap_or_default() },
        TaskWord::Cancel => TaskAct::Cancel { ending: ending(&input) },
        TaskWord::Close => TaskAct::Close { ending: ending(&input) },
        TaskWord::Complete => TaskAct::Complete { partial: input.partial, ending: ending(&input) },
        TaskWord::Replan => {
            // What is dropped can be looked up afterwards.
            engine::keep_windows(&mut visit.project)?;
            TaskAct::Replan
        }
    };
    let id = meant(visit, named.as_ref())?;
    engine::give_once(&mut visit.project, Command::Task { id: named, act })?;
    told(visit, id.as_ref())
}

fn new_task(visit: &mut Visit<'_>, input: MemoryTaskInput) -> ToolAnswer {
    let request = input.request.map(|text| ("user_request".to_owned(), Json::from(text.as_str())));
    let draft = TaskDraft {
        id: None,
        name: needed(input.name, "name")?,
        goal: input.goal.unwrap_or_default(),
        success_criteria: input.criteria,
        orchestrator: None,
        context: request.into_iter().collect::<OpenMap>(),
    };
    let command = Command::NewTask { draft: Box::new(draft) };
    let id = engine::give(&mut visit.project, command)?.newest().map(|kept| kept.task.id.clone());
    told(visit, id.as_ref())
}

pub(super) fn step(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: MemoryStepInput = read(arguments)?;
    let named = task_id(input.task.as_ref())?;
    let id = meant(visit, named.as_ref())?;
    let artifacts = input.artifacts.iter().map(|typed| artifact(typed)).collect();
    let act = match input.action {
        StepWord::Add => {
            let draft = StepDraft {
                id: None,
                name: needed(input.name, "name")?,
                agent: input.agent,
                cluster: None,
                dependencies: input.after,
                expected_seconds: None,
            };
            let command = Command::AddStep { task: named, draft: Box::new(draft) };
            engine::give(&mut visit.project, command)?;
            return told(visit, id.as_ref());
        }
        StepWord::Start => StepAct::Start,
        StepWord::Complete => StepAct::Complete { output: kept(input.output)?, artifacts },
        StepWord::Fail => {
            let class = parse_class(input.class.as_deref().unwrap_or("transient"))?;
            let message = needed(input.reason, "reason")?;
            StepAct::Fail { failure: StepFailure { class, message, needs: input.needs } }
        }
        StepWord::Retry => StepAct::Retry { agent: input.agent },
        StepWord::Escalate => StepAct::Escalate { why: input.reason.unwrap_or_default() },
    };
    let step = needed(input.step, "step")?;
    engine::give_once(&mut visit.project, Command::Step { task: named, step, act })?;
    told(visit, id.as_ref())
}

fn ending(input: &MemoryTaskInput) -> Ending {
    Ending {
        summary: input.summary.clone().unwrap_or_default(),
        lessons: input.lessons.clone(),
        artifacts: input.artifacts.iter().map(|typed| artifact(typed)).collect(),
        tokens_used: 0,
    }
}

/// An argument that an action cannot do without.
fn needed<T>(given: Option<T>, name: &str) -> Result<T, CliError> {
    given.ok_or_else(|| {
        CliError::new(Code::BadArgument, format!("this action needs `{name}`"))
            .hint("the tool's input schema says what each argument is for")
    })
}

fn kept(value: Option<Value>) -> Result<Json, CliError> {
    serde_json::from_value(value.unwrap_or_default())
        .map_err(|error| CliError::bad_input(format!("the output cannot be kept: {error}")))
}

/// The task that a command is about.
fn meant(
    visit: &mut Visit<'_>,
    named: Option<&MemoryTaskId>,
) -> Result<Option<MemoryTaskId>, CliError> {
    let current = visit.project.memory()?.current().map(|kept| kept.task.id.clone());
    Ok(named.cloned().or(current))
}

/// How a task stands now, or how it has ended.
fn told(visit: &mut Visit<'_>, id: Option<&MemoryTaskId>) -> ToolAnswer {
    let memory = visit.project.memory()?;
    let Some(id) = id else { return Ok(Map::new()) };
    let report = match (memory.task(id), memory.history().entry(id)) {
        (Some(kept), _) => MemoryTaskReport::of(memory, kept),
        (None, Some(entry)) => MemoryTaskReport::ended(entry),
        (None, None) => return Ok(Map::new()),
    };
    object(&Enveloped::new(&report))
}
