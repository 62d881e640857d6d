//! What is known of a task: the fold over its events.

use super::{
    attempt::{TaskAttempt, TaskWorkspace},
    checkpoint::TaskCheckpoint,
    fields::{TaskFields, TaskShape},
    item::{ItemKey, OpenItem},
    message::TaskMessage,
    pause::TaskPauses,
    review::{ClaimStage, EscalatedWork, PhaseClaim, TaskReport, TaskReview},
};
use crate::{
    actor::Actor,
    document::{
        ServerTaskId,
        server::{AgentStatus, ServerTaskStatus},
    },
    inbox::LineComment,
    run::{ParkCause, Parked, Trail},
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The task machine: nothing before the task is made; a trace of it after it was deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServedTask {
    pub(super) known: Option<Box<TaskFile>>,
}

/// Everything about one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskFile {
    pub id: ServerTaskId,
    pub fields: TaskFields,
    /// The task machine's own state.
    pub status: ServerTaskStatus,
    /// The agent machine's own state.
    pub agent: AgentStatus,
    /// Its phases, from the submission on.
    #[serde(default)]
    pub shape: TaskShape,
    /// The phase that is being worked on, from 1; none before the first and without phases.
    pub phase: Option<u32>,
    pub times: TaskTimes,
    /// Why it failed; `cancelled` where a person ended it.
    pub reason: Option<String>,
    /// The task that this one tries again, and the checkpoint that its workspace begins with.
    pub retry_of: Option<RetriedTask>,
    /// The task that tries this one again.
    pub retried_as: Option<ServerTaskId>,
    /// Named tasks that will never be completed, and what became of them.
    pub lost: BTreeMap<ServerTaskId, LostCause>,
    pub workspace: Option<TaskWorkspace>,
    /// The newest attempt; none before the first.
    pub attempt: Option<TaskAttempt>,
    /// Processes that ended by themselves since something was achieved.
    pub restarts: u32,
    /// The earliest time for the next attempt.
    pub not_before: Option<Time>,
    /// Conversation, usage, result; questions of the agent's program and what a person allowed.
    pub trail: Trail,
    /// What the agent has asked for by the text protocol and does not have.
    pub items: BTreeMap<ItemKey, OpenItem>,
    /// The names of the values that were provided.
    pub values: BTreeSet<String>,
    /// What its agent has in place of values that were not given, by their names: it said so itself.
    #[serde(default)]
    pub defaults: BTreeMap<String, String>,
    /// Whether the last of what its agent said could not be understood, and a person can see so.
    #[serde(default)]
    pub is_misunderstood: bool,
    /// What the agent is told, those of the present phase; and how many were handed over.
    pub messages: Vec<TaskMessage>,
    pub message_count: u32,
    pub delivered: u32,
    pub claim: Option<PhaseClaim>,
    pub claim_count: u32,
    /// What there is of a claim that was escalated, until a person has decided.
    #[serde(default)]
    pub escalated: EscalatedWork,
    /// Reworks of the present phase since it began or since a person asked for changes.
    pub reworks: u32,
    /// What the newest verification of the present phase came to.
    pub report: Option<TaskReport>,
    pub review: Option<TaskReview>,
    pub review_count: u32,
    /// What a person commented on lines when changes were last asked for.
    pub comments: Vec<LineComment>,
    pub pauses: TaskPauses,
    /// Limits met in a row, so that waits grow.
    pub limits_in_a_row: u32,
    /// In the order in which they were taken.
    pub checkpoints: Vec<TaskCheckpoint>,
    pub checkpoint_count: u32,
    /// The checkpoint that a person went back to, until an attempt goes on from it.
    pub restoring: Option<u32>,
    pub is_archived: bool,
    /// Only its id and its state are left.
    pub is_deleted: bool,
    /// Steps of the present phase that are finished, as last seen.
    pub steps_done: u32,
    /// The first step that is not, as `NN_name`.
    pub current_step: Option<String>,
}

/// When what happened to a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTimes {
    pub created: Time,
    pub submitted: Option<Time>,
    /// When its first agent was started.
    pub started: Option<Time>,
    pub completed: Option<Time>,
    pub failed: Option<Time>,
    pub cancelled: Option<Time>,
    /// When something was last heard of it.
    pub updated: Time,
}

/// A task that is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetriedTask {
    pub task: ServerTaskId,
    /// None: from nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<RetriedCheckpoint>,
}

/// What another task left at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetriedCheckpoint {
    pub id: u32,
    pub commit: String,
    /// The phase with which the new task begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
}

/// Why a named task will never be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LostCause {
    Failed,
    Cancelled,
    Deleted,
}

impl ServedTask {
    pub const fn none() -> Self {
        Self { known: None }
    }

    /// The task, if it was made and not deleted.
    pub fn file(&self) -> Option<&TaskFile> {
        self.known.as_deref().filter(|file| !file.is_deleted)
    }

    /// What is left of the task, also when it was deleted.
    pub fn trace(&self) -> Option<&TaskFile> {
        self.known.as_deref()
    }
}

impl TaskFile {
    pub(super) fn new(id: ServerTaskId, fields: TaskFields, at: Time) -> Self {
        Self {
            id,
            fields,
            status: ServerTaskStatus::Draft,
            agent: AgentStatus::Idle,
            shape: TaskShape::default(),
            phase: None,
            times: TaskTimes { created: at, updated: at, ..TaskTimes::default() },
            reason: None,
            retry_of: None,
            retried_as: None,
            lost: BTreeMap::new(),
            workspace: None,
            attempt: None,
            restarts: 0,
            not_before: None,
            trail: Trail::default(),
            items: BTreeMap::new(),
            values: BTreeSet::new(),
            defaults: BTreeMap::new(),
            messages: Vec::new(),
            message_count: 0,
            delivered: 0,
            claim: None,
            claim_count: 0,
            escalated: EscalatedWork::default(),
            is_misunderstood: false,
            reworks: 0,
            report: None,
            review: None,
            review_count: 0,
            comments: Vec::new(),
            pauses: TaskPauses::default(),
            limits_in_a_row: 0,
            checkpoints: Vec::new(),
            checkpoint_count: 0,
            restoring: None,
            is_archived: false,
            is_deleted: false,
            steps_done: 0,
            current_step: None,
        }
    }

    /// Whether nothing can happen to it any more but being tried again, hidden or deleted.
    pub fn is_over(&self) -> bool {
        matches!(self.status, ServerTaskStatus::Completed | ServerTaskStatus::Failed)
    }

    /// Whether a person has its conversation open.
    pub fn is_taken(&self) -> bool {
        self.pauses.person.as_ref().is_some_and(|pause| pause.is_taken)
    }

    /// Why it cannot be begun or gone on with as things are set up, if that is so.
    pub fn hindrance(&self) -> Option<&Parked> {
        self.pauses.limit.as_ref().filter(|it| it.cause == ParkCause::SetUp)
    }

    /// Whether nothing but that holds it: then it is tried again and again.
    fn is_tried(&self) -> bool {
        self.hindrance().is_some() && self.pauses.person.is_none()
    }

    /// Whether a person's pause waits until its agent would go on: what waits does so already.
    pub fn is_to_be_paused(&self) -> bool {
        let waits = !matches!(self.agent, AgentStatus::Paused | AgentStatus::Idle);
        self.is_alive() && self.pauses.person.is_some() && waits
    }

    /// Whether it waits for a person because an attempt went past the hook.
    pub fn is_quarantined(&self) -> bool {
        self.pauses.person.as_ref().is_some_and(|pause| pause.by == Actor::Waypost)
    }

    /// Whether an agent of it may have a process: in progress, or in review.
    pub fn is_alive(&self) -> bool {
        matches!(self.status, ServerTaskStatus::InProgress | ServerTaskStatus::Review)
    }

    /// The number of the newest attempt; 0 before the first.
    pub fn attempt_number(&self) -> u32 {
        self.attempt.as_ref().map_or(0, TaskAttempt::number)
    }

    /// The attempt that counts as current: it may still speak.
    pub fn live_attempt(&self) -> Option<&TaskAttempt> {
        self.attempt.as_ref().filter(|attempt| self.is_alive() && !attempt.is_over())
    }

    /// Whether its agent is to work now: an attempt has to be there, or be started.
    pub fn wants_agent(&self) -> bool {
        let works = match self.agent {
            AgentStatus::Running => true,
            // A pause that came before its first process takes hold at once.
            AgentStatus::Idle => self.pauses.is_none() || self.is_tried(),
            AgentStatus::Paused => self.is_tried(),
            _ => false,
        };
        self.status == ServerTaskStatus::InProgress && works
    }

    /// Whether the process has to be replaced before the agent goes on: a value was provided that it
    /// does not have, or a person went back to a checkpoint.
    pub fn must_replace(&self) -> bool {
        let lacks = |it: &TaskAttempt| !self.given().is_subset(&it.plan.values);
        self.restoring.is_some() || self.live_attempt().is_some_and(lacks)
    }

    /// The names of all that is in the environment of its next process: values, and defaults in place of them.
    pub fn given(&self) -> BTreeSet<String> {
        self.values.iter().chain(self.defaults.keys()).cloned().collect()
    }

    /// The claim that is to be verified now.
    pub fn unverified(&self) -> Option<&PhaseClaim> {
        let is_open = |claim: &&PhaseClaim| claim.stage == ClaimStage::Verifying;
        self.claim.as_ref().filter(is_open).filter(|_| self.agent == AgentStatus::WaitingReview)
    }

    /// What the agent is still to be told.
    pub fn undelivered(&self) -> impl Iterator<Item = &TaskMessage> {
        self.messages.iter().filter(|message| message.number > self.delivered)
    }

    /// What all of its agents have spent, in millionths of a dollar.
    pub fn spent_micros(&self) -> u64 {
        self.trail.usage.cost_micros
    }

    pub fn is_cancelled(&self) -> bool {
        self.times.cancelled.is_some()
    }

    pub fn checkpoint(&self, id: u32) -> Option<&TaskCheckpoint> {
        self.checkpoints.iter().find(|checkpoint| checkpoint.id == id)
    }

    /// The newest checkpoint that has content to go on from.
    pub fn newest_checkpoint(&self) -> Option<&TaskCheckpoint> {
        self.checkpoints.iter().rev().find(|checkpoint| checkpoint.taken.commit.is_some())
    }
}
