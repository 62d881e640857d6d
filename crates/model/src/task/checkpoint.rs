//! Checkpoints of a task: immutable records from which an agent goes on.

use super::item::{ItemKey, OpenItem};
use crate::{
    document::server::{AgentStatus, ServerTaskStatus},
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How many of the newest checkpoints are kept beside the ends of phases.
pub const NEWEST_KEPT: usize = 10;

/// Why a checkpoint was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointReason {
    Interval,
    PhaseComplete,
    Question,
    Dependency,
    RateLimit,
    Error,
    UserPause,
    Shutdown,
    Completed,
    Failed,
    Cancelled,
}

impl CheckpointReason {
    /// Whether it is kept as long as the task is: a phase can be gone back to.
    pub fn ends_phase(self) -> bool {
        matches!(self, Self::PhaseComplete | Self::Completed)
    }

    /// The reason's word, the same as serde's.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::PhaseComplete => "phase_complete",
            Self::Question => "question",
            Self::Dependency => "dependency",
            Self::RateLimit => "rate_limit",
            Self::Error => "error",
            Self::UserPause => "user_pause",
            Self::Shutdown => "shutdown",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What the engine knows when it takes a checkpoint; the rest is the task's own state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointTaken {
    pub reason: CheckpointReason,
    /// The workspace's content as a commit below `refs/waypost/`; none: nothing could be kept, and
    /// `note` says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Deliverables that were there, by their paths below the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliverables: Vec<String>,
    /// How much the agent of the attempt had said, in bytes of its stream: with those of the attempts before,
    /// the conversation's text. Streams stay as long as the task is open.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub said_to: u64,
    /// What a person should know of it: what was left out, and why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCheckpoint {
    /// Counted over the whole task, from 1.
    pub id: u32,
    pub at: Time,
    pub taken: CheckpointTaken,
    pub task: ServerTaskStatus,
    pub agent: AgentStatus,
    /// The phase that was being worked on; none before the first and without phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// The attempt that worked, 0 before the first.
    pub attempt: u32,
    /// The conversation of the agent, by the id by which its program knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Names of the values that its environment had; never the values.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub values: BTreeSet<String>,
    /// The questions and values that it waited for, by their keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// Those of them that were asked by the text protocol: they are asked again by who goes back to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub items: BTreeMap<ItemKey, OpenItem>,
}

/// The checkpoints that are not kept any more when another one has been taken.
pub(super) fn surplus(kept: &[TaskCheckpoint]) -> Vec<u32> {
    // One more is about to be added.
    let newest = kept.len().saturating_sub(NEWEST_KEPT - 1);
    let old = kept.iter().take(newest);
    old.filter(|it| !it.taken.reason.ends_phase()).map(|it| it.id).collect()
}
