//! What has happened to a task. `Moved` alone changes the states of the two machines; all else is
//! what they are decided by.

use super::{
    attempt::{AttemptPlan, ExitCause, TaskWorkspace},
    checkpoint::TaskCheckpoint,
    fields::{TaskChange, TaskFields, TaskShape},
    item::ItemKey,
    pause::PersonPause,
    review::{EscalatedWork, EscalationChoice, TaskReport, TaskReview},
    signal::TaskSignal,
    state::{LostCause, RetriedTask},
};
use crate::{
    actor::Actor,
    document::{
        ServerTaskId,
        server::{AgentStatus, ServerTaskStatus, Trigger},
    },
    inbox::LineComment,
    run::{Account, Conversation, Parked, Prompt, Usage},
    time::Time,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Created {
        id: ServerTaskId,
        fields: TaskFields,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_of: Option<RetriedTask>,
    },
    Edited {
        change: TaskChange,
    },
    Submitted {
        shape: TaskShape,
    },
    /// One or both machines went on. A transition of the log is one of these.
    Moved {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<ServerTaskStatus>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentStatus>,
        trigger: Trigger,
        #[serde(default, skip_serializing_if = "MoveFacts::is_none")]
        facts: MoveFacts,
    },
    Assigned {
        plan: AttemptPlan,
        workspace: TaskWorkspace,
    },
    Engaged {
        plan: AttemptPlan,
    },
    Launched {
        attempt: u32,
    },
    Conversed {
        conversation: Conversation,
    },
    Exited {
        attempt: u32,
        cause: ExitCause,
        why: String,
        /// Whether it counts as one of the restarts.
        is_counted: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Time>,
    },
    Accounted {
        attempt: u32,
        account: Account,
    },
    Delivered {
        up_to: u32,
    },
    /// A signal, once.
    Heard {
        attempt: u32,
        offset: u64,
        signal: TaskSignal,
        /// The fields that were too long and lost their end.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut: Vec<String>,
    },
    AgentAsked {
        prompt: Prompt,
    },
    Observed {
        steps_done: u32,
        current_step: Option<String>,
    },
    /// A phase is worked on from here on; 0: a task without phases.
    PhaseBegun {
        phase: u32,
    },
    Claimed {
        claim: u32,
        phase: u32,
        #[serde(default)]
        deliverables: u32,
    },
    Verified {
        claim: u32,
        report: TaskReport,
        #[serde(default, skip_serializing_if = "Usage::is_nothing")]
        usage: Usage,
    },
    /// The claim did not hold; the agent works on the phase again.
    ReworkAsked {
        phase: u32,
        findings: Vec<String>,
        rework: u32,
        limit: u32,
    },
    Escalated {
        claim: u32,
        why: String,
        /// What a person who accepts it reviews.
        #[serde(default, skip_serializing_if = "EscalatedWork::is_none")]
        work: EscalatedWork,
    },
    EscalationDecided {
        claim: u32,
        choice: EscalationChoice,
        by: Actor,
    },
    ReviewOpened {
        review: TaskReview,
    },
    Approved {
        version: u32,
        by: Actor,
    },
    ChangesRequested {
        version: u32,
        by: Actor,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        comments: Vec<LineComment>,
    },
    Answered {
        item: ItemKey,
        text: String,
        by: Actor,
    },
    PromptAnswered {
        key: String,
        text: String,
    },
    /// A value is in the store of secrets; its name, never the value.
    Provided {
        item: ItemKey,
        name: String,
        by: Actor,
    },
    Declined {
        item: ItemKey,
        by: Actor,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    Told {
        text: String,
        by: Actor,
    },
    Paused {
        pause: PersonPause,
    },
    Resumed {
        by: Actor,
    },
    Limited {
        parked: Parked,
    },
    LimitEnded {
        by: Actor,
    },
    Quarantined {
        attempt: u32,
        pause: PersonPause,
    },
    Failed {
        reason: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_cancelled: bool,
    },
    Completed {},
    Retried {
        task: ServerTaskId,
    },
    Archived {},
    Deleted {},
    Checkpointed {
        checkpoint: TaskCheckpoint,
    },
    CheckpointsPruned {
        ids: Vec<u32>,
    },
    Restored {
        checkpoint: u32,
        by: Actor,
    },
    DependencyLost {
        task: ServerTaskId,
        cause: LostCause,
    },
    DependencyDropped {
        task: ServerTaskId,
    },
}

/// What is worth knowing of a move; the metadata of its transition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MoveFacts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deliverables: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl MoveFacts {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Event {
    /// The event's word in the journal, the same as serde's.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::Edited { .. } => "edited",
            Self::Submitted { .. } => "submitted",
            Self::Moved { .. } => "moved",
            Self::Assigned { .. } => "assigned",
            Self::Engaged { .. } => "engaged",
            Self::Launched { .. } => "launched",
            Self::Conversed { .. } => "conversed",
            Self::Exited { .. } => "exited",
            Self::Accounted { .. } => "accounted",
            Self::Delivered { .. } => "delivered",
            Self::Heard { .. } => "heard",
            Self::AgentAsked { .. } => "agent_asked",
            Self::Observed { .. } => "observed",
            Self::PhaseBegun { .. } => "phase_begun",
            Self::Claimed { .. } => "claimed",
            Self::Verified { .. } => "verified",
            Self::ReworkAsked { .. } => "rework_asked",
            Self::Escalated { .. } => "escalated",
            Self::EscalationDecided { .. } => "escalation_decided",
            Self::ReviewOpened { .. } => "review_opened",
            Self::Approved { .. } => "approved",
            Self::ChangesRequested { .. } => "changes_requested",
            Self::Answered { .. } => "answered",
            Self::PromptAnswered { .. } => "prompt_answered",
            Self::Provided { .. } => "provided",
            Self::Declined { .. } => "declined",
            Self::Told { .. } => "told",
            Self::Paused { .. } => "paused",
            Self::Resumed { .. } => "resumed",
            Self::Limited { .. } => "limited",
            Self::LimitEnded { .. } => "limit_ended",
            Self::Quarantined { .. } => "quarantined",
            Self::Failed { .. } => "failed",
            Self::Completed {} => "completed",
            Self::Retried { .. } => "retried",
            Self::Archived {} => "archived",
            Self::Deleted {} => "deleted",
            Self::Checkpointed { .. } => "checkpointed",
            Self::CheckpointsPruned { .. } => "checkpoints_pruned",
            Self::Restored { .. } => "restored",
            Self::DependencyLost { .. } => "dependency_lost",
            Self::DependencyDropped { .. } => "dependency_dropped",
        }
    }
}
