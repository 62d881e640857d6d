//! What a session asks a person about, and what the answers mean.

use super::{call::Call, gate::Gate, state::Session, words::Command};
use crate::{
    answer::{Answer, Consequence},
    document::SubtaskId,
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
}

impl Hold {
    pub fn read(topic: &Topic) -> Option<Self> {
        let text = topic.as_str();
        if text == "plan" {
            return Some(Self::Plan);
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
        })
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
