//! What an agent is called for within a session, and the role in which it answers.

use super::gate::Gate;
use crate::document::{SessionTaskId, SubtaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result as Written};

/// The part that an agent plays.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Looks at the code: `explored.yaml`.
    CodeExplore,
    /// Divides the request: `task-breakdown.yaml`.
    Planner,
    /// Brings both together: a `design-brief.yaml` for each task.
    Orchestrator,
    /// Designs a task: `design-contract.yaml`.
    Architect,
    /// Writes the tests of a subtask and says what their run showed.
    QaEngineer,
    /// Makes the tests pass.
    Implementer,
}

impl Role {
    /// All of them, in the order in which they come.
    pub const ALL: [Self; 6] = [
        Self::CodeExplore,
        Self::Planner,
        Self::Orchestrator,
        Self::Architect,
        Self::QaEngineer,
        Self::Implementer,
    ];

    /// The role's word, the same as serde's.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CodeExplore => "code-explore",
            Self::Planner => "planner",
            Self::Orchestrator => "orchestrator",
            Self::Architect => "architect",
            Self::QaEngineer => "qa-engineer",
            Self::Implementer => "implementer",
        }
    }
}

impl Display for Role {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        f.pad(self.as_str())
    }
}

/// One thing that an agent is called for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Call {
    Explore,
    Plan,
    /// The design brief of a task.
    Brief(SessionTaskId),
    /// The design contract of a task.
    Design(SessionTaskId),
    /// The test contract of a subtask, and its tests.
    WriteTests(SubtaskId),
    Implement(SubtaskId),
    /// The test result of a subtask.
    Verify(SubtaskId),
    /// A report on what a gate of a subtask leaves open.
    Confirm(SubtaskId, Gate),
}

impl Call {
    pub fn role(&self) -> Role {
        match self {
            Self::Explore => Role::CodeExplore,
            Self::Plan => Role::Planner,
            Self::Brief(_) => Role::Orchestrator,
            Self::Design(_) | Self::Confirm(_, Gate::Gate4) => Role::Architect,
            Self::WriteTests(_) | Self::Verify(_) | Self::Confirm(..) => Role::QaEngineer,
            Self::Implement(_) => Role::Implementer,
        }
    }

    /// The subtask that it is for, where it is for one.
    pub fn subtask(&self) -> Option<&SubtaskId> {
        match self {
            Self::WriteTests(id)
            | Self::Implement(id)
            | Self::Verify(id)
            | Self::Confirm(id, _) => Some(id),
            Self::Explore | Self::Plan | Self::Brief(_) | Self::Design(_) => None,
        }
    }

    /// The task that it is for, where it is for one as a whole.
    pub fn task(&self) -> Option<&SessionTaskId> {
        match self {
            Self::Brief(id) | Self::Design(id) => Some(id),
            _ => None,
        }
    }
}

/// `explore`, `design/T1` and the like, which is read back.
impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        match self {
            Self::Explore => f.write_str("explore"),
            Self::Plan => f.write_str("plan"),
            Self::Brief(task) => write!(f, "brief/{task}"),
            Self::Design(task) => write!(f, "design/{task}"),
            Self::WriteTests(subtask) => write!(f, "tests/{subtask}"),
            Self::Implement(subtask) => write!(f, "implement/{subtask}"),
            Self::Verify(subtask) => write!(f, "verify/{subtask}"),
            Self::Confirm(subtask, gate) => write!(f, "confirm/{subtask}/{gate}"),
        }
    }
}

impl From<Call> for String {
    fn from(call: Call) -> Self {
        call.to_string()
    }
}

impl TryFrom<String> for Call {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bad = || format!("`{text}` is no call of an agent");
        let (word, id) = text.split_once('/').unwrap_or((&text, ""));
        let task = || id.parse::<SessionTaskId>().map_err(|_| bad());
        let subtask = || id.parse::<SubtaskId>().map_err(|_| bad());
        Ok(match word {
            "explore" if id.is_empty() => Self::Explore,
            "plan" if id.is_empty() => Self::Plan,
            "brief" => Self::Brief(task()?),
            "design" => Self::Design(task()?),
            "tests" => Self::WriteTests(subtask()?),
            "implement" => Self::Implement(subtask()?),
            "verify" => Self::Verify(subtask()?),
            "confirm" => {
                let (subtask, gate) = id.split_once('/').ok_or_else(bad)?;
                let gate = Gate::named(gate).ok_or_else(bad)?;
                Self::Confirm(subtask.parse().map_err(|_| bad())?, gate)
            }
            _ => return Err(bad()),
        })
    }
}
