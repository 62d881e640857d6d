//! An attempt: one process of a task's agent, under a number that only grows.
//!
//! Attempts follow each other whenever a process has to be started: at first, after it ended by itself,
//! after a value was provided (a running process cannot be given a new variable), after a long pause,
//! after a restore. They share the workspace and, where the program can, the conversation.

use crate::{run::Conversation, time::Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Where a task is worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskWorkspace {
    pub kind: WorkspaceKind,
    /// Its folder, as an absolute path.
    pub folder: String,
    /// The commit that it began with; none for an empty repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceKind {
    /// A repository of its own, empty at first.
    Own,
    /// A work tree of the project.
    Tree,
}

/// What is decided about a process before it is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptPlan {
    /// One more than that of the attempt before; 1 is the first.
    pub number: u32,
    /// The agent's name in the configuration.
    pub agent: String,
    /// The conversation in which it works, where its id is known before the process starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// The names of the provided values that are in its environment.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub values: BTreeSet<String>,
    /// The checkpoint from which it goes on, where it goes on from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
}

/// The newest attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAttempt {
    pub plan: AttemptPlan,
    pub life: AttemptLife,
    /// Every signal that begins before this place in its stream is known.
    pub heard_to: u64,
}

/// How far an attempt's process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptLife {
    /// Decided; its process may be there or not.
    Planned,
    /// Its process was started.
    Live { since: Time },
    /// Its process is not there any more.
    Over { at: Time },
}

impl TaskAttempt {
    pub fn number(&self) -> u32 {
        self.plan.number
    }

    pub fn is_over(&self) -> bool {
        matches!(self.life, AttemptLife::Over { .. })
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitCause {
    /// By itself, whether an engine saw it or was down.
    Itself,
    /// It could not be started.
    NotStarted,
    /// It said nothing for too long and was ended.
    Stalled,
    /// It was ended for something that is no fault of its own: parking, a new value, a restore, a
    /// shutdown, the end of the task.
    Asked,
}
