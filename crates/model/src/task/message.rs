//! What an agent is to be told, in the order in which it is told: durable before it is said.
//!
//! The state knows how many were handed over. An agent that dies in between may be told twice, never
//! not at all. Whatever has to be looked up (prompts of the task type, contents of files) is
//! added by the engine when it says it.

use super::item::ItemKey;
use crate::inbox::{LineComment, WantedKind};
use serde::{Deserialize, Serialize};

/// A message to the agent of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskMessage {
    /// Counted over the whole task, from 1.
    pub number: u32,
    pub body: MessageBody,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageBody {
    /// Begin with a phase; 0: with a task that has none.
    BeginPhase { phase: u32 },
    /// The answer to a question, and whether it is the default because none came in time.
    Answered {
        item: ItemKey,
        question: String,
        answer: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_default: bool,
    },
    /// A question without a default got no answer in time, or the person would not say.
    Unanswered {
        item: ItemKey,
        question: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// A value is in the environment from now on; its name, never the value.
    ValueProvided { item: ItemKey, kind: WantedKind, name: String },
    /// A value that was not required is not given: go on with the default, or without.
    ValueDeclined {
        item: ItemKey,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The phase does not hold yet.
    Rework { phase: u32, findings: Vec<String>, rework: u32, limit: u32 },
    /// A person wants changes.
    Changes {
        phase: u32,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        comments: Vec<LineComment>,
    },
    /// What it said could not be understood.
    Malformed { block: String, why: String },
    /// These fields of what it asked or reported were too long and lost their end.
    Cut { fields: Vec<String> },
    /// A person says something beside a question.
    Note { text: String },
    /// It was put back to a checkpoint.
    Restored { checkpoint: u32, phase: Option<u32> },
}
