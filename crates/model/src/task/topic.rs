//! What a task asks a person about, and what it sets timers for.

use super::item::ItemKey;
use crate::{document::ServerTaskId, inbox::Topic};

/// The topics of a task, as they stand in the inbox and in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskTopic {
    /// A question or a value that the agent asked for.
    Item(ItemKey),
    /// A question of the agent's program, by its key.
    Prompt(String),
    /// The review of this version.
    Review(u32),
    /// The claim that did not hold.
    Escalation(u32),
    /// What its agent said last and could not be understood: one entry, however often.
    Malformed,
    /// An error that the agent wants a person to know of.
    Notice(ItemKey),
    /// A named task that will never be completed.
    Dependency(ServerTaskId),
    /// A limit, an outage or a budget; a timer: when it may go on.
    Limit,
    /// An attempt that had to be stopped.
    Quarantine(u32),
}

impl TaskTopic {
    pub fn read(topic: &Topic) -> Option<Self> {
        let (word, rest) = topic.as_str().split_once('/').unwrap_or((topic.as_str(), ""));
        Some(match word {
            "item" => Self::Item(rest.parse().ok()?),
            "prompt" => Self::Prompt(rest.to_owned()),
            "review" => Self::Review(rest.parse().ok()?),
            "escalation" => Self::Escalation(rest.parse().ok()?),
            // Earlier versions had an entry for each block.
            "malformed" => Self::Malformed,
            "notice" => Self::Notice(rest.parse().ok()?),
            "dependency" => Self::Dependency(rest.parse().ok()?),
            "limit" => Self::Limit,
            "quarantine" => Self::Quarantine(rest.parse().ok()?),
            _ => return None,
        })
    }
}

impl From<TaskTopic> for Topic {
    fn from(topic: TaskTopic) -> Self {
        Self::new(match topic {
            TaskTopic::Item(key) => format!("item/{key}"),
            TaskTopic::Prompt(key) => format!("prompt/{key}"),
            TaskTopic::Review(version) => format!("review/{version}"),
            TaskTopic::Escalation(claim) => format!("escalation/{claim}"),
            TaskTopic::Malformed => "malformed".to_owned(),
            TaskTopic::Notice(key) => format!("notice/{key}"),
            TaskTopic::Dependency(task) => format!("dependency/{task}"),
            TaskTopic::Limit => "limit".to_owned(),
            TaskTopic::Quarantine(attempt) => format!("quarantine/{attempt}"),
        })
    }
}
