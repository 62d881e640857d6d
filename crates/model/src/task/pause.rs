//! Why an agent is paused: a person's pause and a limit's stand beside each other, so that the end of
//! the one never undoes the other.

use crate::{actor::Actor, run::Parked, time::Time};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskPauses {
    /// Until a person resumes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonPause>,
    /// A limit, an outage, an account or a budget; until its time, or until a person has done something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Parked>,
}

/// A pause that only a person ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonPause {
    pub since: Time,
    /// Who paused it; Waypost where an attempt had to be stopped.
    pub by: Actor,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Where the tree of an attempt is kept that had no proof of life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Whether the person has the conversation open: then its agent has no process.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_taken: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(value: &bool) -> bool {
    !value
}

impl TaskPauses {
    pub fn is_none(&self) -> bool {
        self.person.is_none() && self.limit.is_none()
    }
}
