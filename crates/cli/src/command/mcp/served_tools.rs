//! Tools for tasks that are handed in and worked on where `waypost serve` runs.

use super::visit::{ToolAnswer, Visit, object, read};
use crate::{
    command::task::{parse, priority, refuse_unknown_states},
    data::ServedTaskLine,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use waypost_engine::served::{self, TaskFilter};
use waypost_model::{
    document::ServerTaskId,
    run::Budget,
    task::{TaskFields, TaskRow},
};

/// How many are listed unless said otherwise, and at most.
const LISTED: usize = 20;
const LISTED_MAX: usize = 200;

/// Which tasks are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServedListInput {
    /// Only those in these states: draft, pending, in_progress, review, completed, failed.
    #[serde(default)]
    states: Vec<String>,
    /// Only those with this text in title, id or type.
    text: Option<String>,
    /// Only what follows this task in the list.
    from: Option<String>,
    /// How many at most; 20 unless said, never more than 200.
    limit: Option<usize>,
}

/// Tasks of the server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ServedTasks<'a> {
    tasks: Vec<ServedTaskLine<'a>>,
}

/// One task of the server with what is to be done.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ServedTaskText<'a> {
    #[serde(flatten)]
    task: ServedTaskLine<'a>,
    description: &'a str,
}

/// Which task is meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServedInput {
    /// The task, as in task_abc123.
    id: String,
}

/// A task to be handed in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewInput {
    /// What it is, in one line.
    title: String,
    /// The name of its type; `custom` is always there.
    task_type: Option<String>,
    /// What is to be done.
    description: Option<String>,
    /// critical, high, normal or low; normal unless said.
    priority: Option<String>,
    /// Tasks that have to be completed first.
    #[serde(default)]
    after: Vec<String>,
    /// Whether it is handed in at once; else it is a draft.
    #[serde(default)]
    submit: bool,
}

pub(super) fn list(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ServedListInput = read(arguments)?;
    refuse_unknown_states(&input.states)?;
    let filter = TaskFilter {
        states: input.states,
        priority: None,
        text: input.text,
        with_archived: false,
        in_queue_order: false,
        after: input.from.as_deref().map(parse).transpose()?,
        limit: input.limit.unwrap_or(LISTED).min(LISTED_MAX),
    };
    let rows = served::list(&mut visit.project, &filter)?;
    object(&ServedTasks { tasks: rows.iter().map(ServedTaskLine::from).collect() })
}

pub(super) fn show(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ServedInput = read(arguments)?;
    told(visit, &parse(&input.id)?)
}

pub(super) fn new(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: NewInput = read(arguments)?;
    let after = input.after.iter().map(|id| parse(id)).collect::<Result<Vec<_>, _>>()?;
    let fields = TaskFields {
        title: input.title,
        task_type: input.task_type.unwrap_or_default(),
        description: input.description.unwrap_or_default(),
        priority: input.priority.as_deref().map(priority).transpose()?.unwrap_or_default(),
        agent: String::new(),
        dependencies: after,
        budget: Budget::default(),
    };
    let id = served::create(&mut visit.project, fields, input.submit)?;
    told(visit, &id)
}

pub(super) fn submit(visit: &mut Visit<'_>, arguments: Map<String, Value>) -> ToolAnswer {
    let input: ServedInput = read(arguments)?;
    let id = parse(&input.id)?;
    served::submit(&mut visit.project, &id)?;
    told(visit, &id)
}

/// How the task stands now.
fn told(visit: &mut Visit<'_>, id: &ServerTaskId) -> ToolAnswer {
    let file = served::file(&mut visit.project, id)?;
    let row = TaskRow::of(file);
    let (task, description) = (ServedTaskLine::from(&row), file.fields.description.as_str());
    object(&ServedTaskText { task, description })
}
