//! Who gives a command: a person, an agent, or Waypost itself.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Who gives a command, written as `user:NAME`, `agent:ID#ATTEMPT` or `waypost`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Actor {
    /// A person at a terminal, or the bearer of a named token.
    User(String),
    /// Everything else that gives commands; `attempt` is 0 outside an attempt of ours.
    Agent { id: String, attempt: u32 },
    /// Waypost itself: timers, recovery, consequences of other events.
    Waypost,
}

impl Actor {
    pub fn is_agent(&self) -> bool {
        matches!(self, Self::Agent { .. })
    }

    pub fn is_person(&self) -> bool {
        matches!(self, Self::User(_))
    }
}

/// A text that names no actor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an actor: expected user:NAME, agent:ID#ATTEMPT or waypost")]
pub struct BadActor(String);

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user:{name}"),
            Self::Agent { id, attempt } => write!(f, "agent:{id}#{attempt}"),
            Self::Waypost => f.write_str("waypost"),
        }
    }
}

impl FromStr for Actor {
    type Err = BadActor;

    fn from_str(text: &str) -> Result<Self, BadActor> {
        let bad = || BadActor(text.to_owned());
        match text.split_once(':') {
            None if text == "waypost" => Ok(Self::Waypost),
            Some(("user", name)) if !name.is_empty() => Ok(Self::User(name.to_owned())),
            Some(("agent", rest)) => {
                let (id, attempt) = rest.rsplit_once('#').ok_or_else(bad)?;
                let attempt = attempt.parse().map_err(|_| bad())?;
                Ok(Self::Agent { id: id.to_owned(), attempt })
            }
            _ => Err(bad()),
        }
    }
}

impl TryFrom<String> for Actor {
    type Error = BadActor;

    fn try_from(text: String) -> Result<Self, BadActor> {
        text.parse()
    }
}

impl From<Actor> for String {
    fn from(actor: Actor) -> Self {
        actor.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_read_back_as_written() {
        let agent = Actor::Agent { id: "T1.3".into(), attempt: 2 };
        for actor in [Actor::User("mina".into()), agent, Actor::Waypost] {
            assert_eq!(actor.to_string().parse(), Ok(actor));
        }
        for bad in ["", "user:", "agent:x", "agent:x#y", "root"] {
            assert!(bad.parse::<Actor>().is_err(), "{bad:?}");
        }
    }
}
