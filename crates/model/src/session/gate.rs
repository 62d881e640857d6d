//! What a gate of a subtask is, and what was found when one was looked at.
//!
//! A finding is a fact that was found out outside of the machine: it says whether the gate holds and
//! what stands behind that. What follows from it is decided by the machine alone.

use crate::document::{RequestId, SessionTaskId, SubtaskId};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter, Result as Written};

/// A gate of a subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Gate {
    /// The tests are written: from `test_first` to `implementation`.
    #[serde(rename = "GATE-1")]
    Gate1,
    /// The tests pass: from `verification` to `complete`.
    #[serde(rename = "GATE-2")]
    Gate2,
    /// Only what the task covers was changed: from `implementation` to `verification`.
    #[serde(rename = "GATE-3")]
    Gate3,
    /// The design was kept to: from `implementation` to `verification`.
    #[serde(rename = "GATE-4")]
    Gate4,
}

impl Gate {
    /// All of them by their numbers.
    pub const ALL: [Self; 4] = [Self::Gate1, Self::Gate2, Self::Gate3, Self::Gate4];

    /// The name, as `state.json` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gate1 => "GATE-1",
            Self::Gate2 => "GATE-2",
            Self::Gate3 => "GATE-3",
            Self::Gate4 => "GATE-4",
        }
    }

    /// The gate of this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.name().eq_ignore_ascii_case(name))
    }
}

impl Display for Gate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        f.write_str(self.name())
    }
}

/// Whose fault it is that tests fail, in the words of `test-result.yaml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The code does not do what it should: back to `implementation`.
    ImplementationError,
    /// The code cannot do it within the design: back to the design of the task.
    DesignViolation,
    /// The test asks for the wrong thing: back to `test_first`.
    TestError,
}

/// What was found when a gate was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateFinding {
    /// Which gate.
    pub gate: Gate,
    /// Whether it holds.
    pub holds: bool,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// What prose leaves open, and a report has to confirm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// What stands behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// The tree that it was looked at, as git names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Where GATE-2 leads when it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<FailureKind>,
}

/// The subtask that a gate is looked at for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubtaskSubject {
    /// The request.
    pub request: RequestId,
    /// The task.
    pub task: SessionTaskId,
    /// The subtask.
    pub subtask: SubtaskId,
    /// The commit of the snapshot that was made when the subtask began.
    pub base: Option<String>,
}
