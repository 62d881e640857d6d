//! What the server tells of a task and its agent, and the record of one transition.
//!
//! Field names are camelCase, as clients already read them. An answer that shows only some of the
//! fields is read too: whatever may be absent has a default, named at the field.

use super::check::Findings;
use super::{Document, Kind, ServerTaskId, code};
use crate::diagnostic::Diagnostic;
use crate::json::OpenMap;
use crate::time::Stamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Task")]
pub struct ServerTask {
    /// The task's id.
    pub id: ServerTaskId,
    /// Where the task is in its life.
    pub status: ServerTaskStatus,
    /// The phase that is being worked on, from 1; null before the first. Absent: null.
    #[serde(default)]
    pub current_phase: Option<u32>,
    /// How many phases a task of this type has; 0 for custom tasks. Absent: 0.
    #[serde(default)]
    pub total_phases: u32,
    /// How much is done, in percent. Absent: 0.
    #[serde(default)]
    #[schemars(range(max = 100))]
    pub progress: u32,
    /// When the task was made. Absent: null.
    #[serde(default)]
    pub created_at: Option<Stamp>,
    /// When its first agent was started. Absent: null.
    #[serde(default)]
    pub started_at: Option<Stamp>,
    /// When its last phase was approved. Absent: null.
    #[serde(default)]
    pub completed_at: Option<Stamp>,
    /// When it failed or was cancelled. Absent: null.
    #[serde(default)]
    pub failed_at: Option<Stamp>,
    /// When it was cancelled; only on a task that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<Stamp>,
    /// Why it failed, `cancelled` when a person ended it; only on a failed task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The file that keeps what its last agent wrote; only on a failed task that had an agent, and as long as
    /// the file is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_log: Option<String>,
    /// Who paused its agent; only while it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<PausedBy>,
}

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaskStatus")]
pub enum ServerTaskStatus {
    /// Being written; not submitted yet.
    Draft,
    /// Submitted; waits for an agent and for the tasks that it names.
    Pending,
    /// An agent works on a phase, or is paused, or waits for an answer.
    InProgress,
    /// A phase is done and waits for a person's review.
    Review,
    /// Every phase was approved.
    Completed,
    /// Ended without success, by an error or by being cancelled.
    Failed,
}

/// Who paused an agent: an automatic resume never undoes a person's pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PausedBy {
    /// A person asked for it.
    User,
    /// The agent's provider refused more requests for a while.
    RateLimit,
}

/// The state of the agent of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Agent {
    /// What the agent is doing.
    pub status: AgentStatus,
    /// The phase that it works on, from 1. Absent: null.
    #[serde(default)]
    pub current_phase: Option<u32>,
    /// The first step whose deliverable is not there yet, as in `03_users`. Absent: null.
    #[serde(default)]
    pub current_step: Option<String>,
    /// How much of its task is done, in percent. Absent: 0.
    #[serde(default)]
    #[schemars(range(max = 100))]
    pub progress: u32,
    /// Tokens that it has used so far. Absent: 0.
    #[serde(default)]
    pub tokens_used: u64,
    /// What it waits for, null while it works. Absent: null.
    #[serde(default)]
    pub blocked_by: Option<BlockedBy>,
    /// When something was last heard of it. Absent: null.
    #[serde(default)]
    pub last_update: Option<Stamp>,
    /// When its state was last saved. Absent: never, and every ten minutes.
    #[serde(default)]
    pub checkpoint: AgentCheckpoint,
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// Has no process yet.
    Idle,
    /// Works.
    Running,
    /// Stopped by a person or by a rate limit.
    Paused,
    /// Asked for a value that has not been provided yet.
    WaitingDependency,
    /// Asked a question that has not been answered yet.
    WaitingQuestion,
    /// Finished a phase that has not been approved yet.
    WaitingReview,
    /// Ended with its task completed.
    Completed,
    /// Ended without success.
    Failed,
}

/// What an agent waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockedBy {
    /// A value that it asked for.
    Dependency,
    /// The answer to its question.
    Question,
    /// The approval of its phase.
    Review,
    /// The end of a rate limit.
    RateLimit,
    /// A person, who paused it.
    User,
}

/// When an agent's state was saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AgentCheckpoint {
    /// When it was last saved, null if never. Absent: null.
    #[serde(default)]
    pub last_saved: Option<Stamp>,
    /// Milliseconds between two saves. Absent: ten minutes.
    #[serde(default = "auto_save_interval")]
    pub auto_save_interval: u64,
}

impl Default for AgentCheckpoint {
    fn default() -> Self {
        Self { last_saved: None, auto_save_interval: auto_save_interval() }
    }
}

fn auto_save_interval() -> u64 {
    600_000
}

/// One record of the transition log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Transition {
    /// When it happened.
    pub timestamp: Stamp,
    /// The task that it happened to.
    pub task_id: ServerTaskId,
    /// What kind of record this is.
    #[serde(rename = "type")]
    pub record: RecordType,
    /// What a person saw before.
    pub from: ShownState,
    /// What a person sees since then.
    pub to: ShownState,
    /// What caused it.
    pub trigger: Trigger,
    /// Anything else that is worth knowing. Absent: empty.
    #[serde(default)]
    pub metadata: OpenMap,
}

/// The kind of a log record; there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordType {
    /// A task or its agent went from one state to another.
    StateTransition,
}

/// What a person sees: the agent's state while it is paused or waits, else the task's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShownState {
    Draft,
    Pending,
    InProgress,
    Review,
    Completed,
    Failed,
    Idle,
    Running,
    Paused,
    WaitingDependency,
    WaitingQuestion,
    WaitingReview,
}

/// What causes a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Trigger {
    Submit,
    Assign,
    PhaseComplete,
    VerificationPassed,
    VerificationFailed,
    Approve,
    RequestChanges,
    DependencyRequest,
    DependencyProvided,
    UserQuestion,
    QuestionAnswered,
    Pause,
    Resume,
    RateLimit,
    RateLimitReset,
    Cancel,
    FatalError,
    ProcessExit,
    Recovered,
}

impl Document for ServerTask {
    const KIND: Kind = Kind::Task;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        findings.percent("progress", self.progress);
        check_phase(&mut findings, self.current_phase, self.total_phases);
        if self.cancelled_at.is_some() && self.status != ServerTaskStatus::Failed {
            let message = "a cancelled task is a failed one".to_owned();
            findings.error(code::CONTRADICTION, "cancelledAt".to_owned(), message);
        }
        findings.in_order("startedAt", self.created_at, self.started_at);
        findings.in_order("completedAt", self.started_at, self.completed_at);
        findings.in_order("failedAt", self.created_at, self.failed_at);
        findings.into_vec()
    }
}

impl Document for Agent {
    const KIND: Kind = Kind::Agent;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        findings.percent("progress", self.progress);
        check_phase(&mut findings, self.current_phase, 0);
        findings.into_vec()
    }
}

impl Document for Transition {
    const KIND: Kind = Kind::Transition;

    fn check(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
}

/// Phases count from 1; a total of 0 is that of an answer that does not show it.
fn check_phase(findings: &mut Findings, current: Option<u32>, total: u32) {
    let Some(phase) = current else { return };
    if phase == 0 || (total > 0 && phase > total) {
        let message = format!("there is no phase {phase}");
        let finding = Diagnostic::error(code::OUT_OF_RANGE, message).path("currentPhase");
        findings.add(finding.expected(if total > 0 {
            format!("a number from 1 to {total}, or null")
        } else {
            "a number from 1, or null".to_owned()
        }));
    }
}
