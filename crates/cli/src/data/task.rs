//! What `waypost task` prints beside the seed's own answers.

use super::{EventOf, Reason};
use crate::spelling::Step;
use schemars::JsonSchema;
use serde::Serialize;
use waypost_engine::KnownType;
use waypost_model::{
    document::{
        ServerTaskId,
        server::{AgentStatus, PausedBy, ServerTaskStatus},
    },
    task::{CheckpointReason, TaskCheckpoint, TaskRow},
};

/// One task of the server, as a list shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServedTaskLine<'a> {
    pub(crate) id: &'a ServerTaskId,
    pub(crate) title: &'a str,
    /// The name of its task type; empty: none was chosen yet.
    pub(crate) task_type: &'a str,
    pub(crate) status: ServerTaskStatus,
    /// What its agent is doing.
    pub(crate) agent_status: AgentStatus,
    /// The agent's name; empty: the configured one.
    pub(crate) agent: &'a str,
    /// critical, high, normal or low.
    pub(crate) priority: &'static str,
    pub(crate) phase: Option<u32>,
    pub(crate) phases: u32,
    /// In percent.
    pub(crate) progress: u32,
    pub(crate) paused_by: Option<PausedBy>,
    /// How many questions and values it waits for.
    pub(crate) open: u32,
    /// The tasks that have to be completed first.
    pub(crate) dependencies: &'a [ServerTaskId],
    pub(crate) reason: Option<&'a str>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) archived: bool,
}

impl<'a> From<&'a TaskRow> for ServedTaskLine<'a> {
    fn from(row: &'a TaskRow) -> Self {
        Self {
            id: &row.id,
            title: &row.title,
            task_type: &row.task_type,
            status: row.status,
            agent_status: row.agent_status,
            agent: &row.agent,
            priority: row.priority.word(),
            phase: row.phase,
            phases: row.phases,
            progress: row.progress,
            paused_by: row.paused_by,
            open: row.open,
            dependencies: &row.dependencies,
            reason: row.reason.as_deref(),
            created_at: row.created.to_string(),
            updated_at: row.updated.to_string(),
            archived: row.is_archived,
        }
    }
}

/// One checkpoint of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskCheckpointLine<'a> {
    pub(crate) id: u32,
    pub(crate) at: String,
    pub(crate) reason: CheckpointReason,
    pub(crate) task: ServerTaskStatus,
    pub(crate) agent: AgentStatus,
    pub(crate) phase: Option<u32>,
    pub(crate) attempt: u32,
    /// The workspace's content; null: nothing could be kept.
    pub(crate) commit: Option<&'a str>,
    pub(crate) conversation: Option<&'a str>,
    /// Names of the values that the agent's environment had.
    pub(crate) values: Vec<&'a str>,
    /// What the agent waited for.
    pub(crate) open: &'a [String],
    /// How much its agent had said in this attempt, in bytes of its stream.
    pub(crate) said_to: u64,
    pub(crate) deliverables: &'a [String],
    pub(crate) note: &'a str,
}

impl<'a> From<&'a TaskCheckpoint> for TaskCheckpointLine<'a> {
    fn from(checkpoint: &'a TaskCheckpoint) -> Self {
        let TaskCheckpoint { taken, .. } = checkpoint;
        Self {
            id: checkpoint.id,
            at: checkpoint.at.to_string(),
            reason: taken.reason,
            task: checkpoint.task,
            agent: checkpoint.agent,
            phase: checkpoint.phase,
            attempt: checkpoint.attempt,
            commit: taken.commit.as_deref(),
            conversation: checkpoint.conversation.as_deref(),
            values: checkpoint.values.iter().map(String::as_str).collect(),
            open: &checkpoint.open,
            said_to: taken.said_to,
            deliverables: &taken.deliverables,
            note: &taken.note,
        }
    }
}

/// A task type.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskTypeLine<'a> {
    pub(crate) name: &'a str,
    /// Its file; null: it comes with the program.
    pub(crate) path: Option<String>,
}

impl<'a> From<&'a KnownType> for TaskTypeLine<'a> {
    fn from(known: &'a KnownType) -> Self {
        let path = known.path.as_ref().map(|path| path.display().to_string());
        Self { name: &known.name, path }
    }
}

/// What holds a task of the server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ServedWhyReport<'a> {
    pub(crate) id: &'a ServerTaskId,
    pub(crate) status: ServerTaskStatus,
    pub(crate) agent_status: AgentStatus,
    /// The nearest first.
    pub(crate) reasons: Vec<Reason<'a>>,
}

/// A reason as it is printed.
pub(crate) fn reason_data(reason: &waypost_engine::Reason) -> Reason<'_> {
    let next_steps: Vec<Step<'_>> = crate::spelling::data(reason.next.as_slice());
    Reason {
        text: &reason.text,
        event: reason.event.as_ref().map(EventOf::from),
        next: reason.next.as_ref().map(crate::spelling::command_line),
        next_steps,
    }
}
