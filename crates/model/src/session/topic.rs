//! What a session asks a person about, and what the answers mean.

use super::{call::Call, gate::Gate, state::Session, words::Command};
use crate::{
    answer::{Answer, Consequence},
    document::{SessionTaskId, SubtaskId},
    inbox::Topic,
};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result as Written};

/// What cannot go on without a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The plan was sent back too often.
    Plan,
    /// A gate of a subtask does not hold.
    Gate { subtask: SubtaskId, gate: Gate },
    /// An agent that is called comes to nothing.
    Call { call: Call },
    /// The work of a task cannot be joined to that of the request.
    Join { task: SessionTaskId },
    /// The work of the request cannot be merged into the target.
    Landing,
}

impl Hold {
    pub fn read(topic: &Topic) -> Option<Self> {
        let text = topic.as_str();
        if text == "plan" {
            return Some(Self::Plan);
        }
        if text == "landing" {
            return Some(Self::Landing);
        }
        if let Some(task) = text.strip_prefix("join/") {
            return Some(Self::Join { task: task.parse().ok()? });
        }
        if let Some(call) = text.strip_prefix("call/") {
            return Some(Self::Call { call: Call::try_from(call.to_owned()).ok()? });
        }
        let (subtask, gate) = text.strip_prefix("gate/")?.split_once('/')?;
        Some(Self::Gate { subtask: subtask.parse().ok()?, gate: Gate::named(gate)? })
    }

    pub fn topic(&self) -> Topic {
        Topic::new(match self {
            Self::Plan => "plan".to_owned(),
            Self::Gate { subtask, gate } => format!("gate/{subtask}/{gate}"),
            Self::Call { call } => format!("call/{call}"),
            Self::Join { task } => format!("join/{task}"),
            Self::Landing => "landing".to_owned(),
        })
    }

    /// Whether a merge waits: it is tried again without a word of a person's, as a run's is.
    pub fn is_merge(&self) -> bool {
        matches!(self, Self::Join { .. } | Self::Landing)
    }
}

/// In words for a sentence.
impl Display for Hold {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        match self {
            Self::Plan => f.write_str("the plan"),
            Self::Gate { subtask, gate } => write!(f, "{gate} of {subtask}"),
            Self::Call { call } => match (call.task(), call.subtask()) {
                (Some(task), _) => write!(f, "the {} for {task}", call.role()),
                (_, Some(subtask)) => write!(f, "the {} for {subtask}", call.role()),
                _ => write!(f, "the {}", call.role()),
            },
            Self::Join { task } => write!(f, "joining the work of {task}"),
            Self::Landing => f.write_str("merging the request"),
        }
    }
}

pub(super) fn consequence_of(session: &Session, answer: &Answer<'_>) -> Consequence<Command> {
    let Some(hold) = Hold::read(answer.topic) else { return Consequence::nothing() };
    let is_held = session.request().is_some_and(|request| request.held(&hold).is_some());
    match is_held {
        true if answer.is("stop") => Consequence::command(Command::Stop),
        true => Consequence::command(Command::Retry { hold }),
        false => Consequence::nothing(),
    }
}
