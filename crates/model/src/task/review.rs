//! The end of a phase: the agent's claim, what a verification found, the person's review.

use crate::inbox::{ReviewedDiff, ReviewedFile, VerificationFinding};
use serde::{Deserialize, Serialize};

/// An agent says that a phase is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseClaim {
    /// Counted over the whole task; a verification names the claim that it is about.
    pub number: u32,
    /// 0: the whole task, which has no phases.
    pub phase: u32,
    /// How many deliverables the agent named.
    #[serde(default)]
    pub deliverables: u32,
    pub stage: ClaimStage,
}

/// How far a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStage {
    /// Its verification is wanted, or under way.
    Verifying,
    /// It did not hold, and no rework is left: a person says how to go on.
    Escalated,
    /// It held, or was accepted as it is: its review is open.
    InReview,
}

/// What a verification came to: the verdict of its agent together with Waypost's own checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskReport {
    pub is_passed: bool,
    /// What was found, each in a sentence that the agent can act on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<VerificationFinding>,
    /// The deliverables that were looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deliverables: Vec<ReviewedFile>,
}

/// A review that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReview {
    /// Counted over the whole task; an approval of an earlier one is refused as stale.
    pub version: u32,
    pub phase: u32,
    pub report: TaskReport,
    /// Whether a person has accepted it although its verification failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_accepted: bool,
    /// The commit that is reviewed, and the one of the phase before, so that a diff can be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// What there is of a claim that did not hold, for the review of a person who accepts it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EscalatedWork {
    /// None: what the verification reported holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<TaskReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What has changed since the phase before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<ReviewedDiff>,
}

impl EscalatedWork {
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// How a person decides about a claim that did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationChoice {
    /// The agent tries again; the reworks count from the beginning.
    Retry,
    /// It goes to the review as it is.
    Accept,
    /// The task fails.
    Fail,
}

impl TaskReport {
    /// The findings as an agent is told them.
    pub fn told(&self) -> Vec<String> {
        let told = self.findings.iter().map(|it| match (&it.file, it.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {}", it.text),
            (Some(file), None) => format!("{file}: {}", it.text),
            (None, _) => it.text.clone(),
        });
        told.collect()
    }
}
