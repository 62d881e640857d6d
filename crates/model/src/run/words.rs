//! The words of a run: what can be wanted of it, and what can happen to it.
//!
//! The names of events and of their fields are part of the journal's format.

use crate::{
    evidence::Evidence,
    id::TaskId,
    inbox::{Question, Topic},
    retry::FailureClass,
    run::{
        Before, Earlier, EndStep, FailReason, Parked, Plan, Settings,
        trail::{Account, Conversation, Prompt},
    },
    time::Time,
    trouble::Trouble,
};
use serde::{Deserialize, Serialize};

/// What an actor wants of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Begins the first run, or the next one after a run that is over. What earlier runs have
    /// completed and what says the same stays completed; ticked tasks count as completed unless a
    /// run has ticked them.
    Begin {
        plan: Plan,
        settings: Settings,
    },
    /// Begins the next run also where one is not finished: that one is given up.
    BeginNew {
        plan: Plan,
        settings: Settings,
        earlier: Earlier,
    },
    /// TASKS.md has changed: tasks keep what they have by id. Refused if a task that is completed
    /// says something else now, unless it is to stay completed.
    Replan {
        plan: Plan,
        keep_done: bool,
    },
    /// Makes the state again from TASKS.md and from what is known to be done, such as merged work
    /// and merged phases; what the journal says of the tasks stays. By a person.
    Rebuild {
        plan: Plan,
        completed: Vec<(TaskId, Evidence)>,
        before: Before,
    },
    /// Goes on after an interruption: what was in progress is ready again, and a phase that could
    /// not be joined is tried once more.
    Resume,
    Start {
        id: TaskId,
    },
    /// By Waypost: as `Start`, ahead of the slot that the task will run in, so that the start is
    /// durable together with what freed the slot.
    Claim {
        id: TaskId,
    },
    /// `attempt` fences off a caller that speaks for an older one; none is given by a person. `commit` is
    /// what brought the work into its phase's branch, where there is one.
    Done {
        id: TaskId,
        attempt: Option<u32>,
        evidence: Evidence,
        commit: Option<String>,
    },
    Fail {
        id: TaskId,
        attempt: Option<u32>,
        failure: Failure,
    },
    /// By Waypost: the attempt ended without a result, because it was stopped or the machine had
    /// no room for it. The task waits; it has not failed.
    Interrupt {
        id: TaskId,
        attempt: Option<u32>,
    },
    /// Opens a failed task again, with all its retries.
    Retry {
        id: TaskId,
    },
    /// Takes a task out: it counts as failed.
    Skip {
        id: TaskId,
    },
    /// Counts a task as completed without doing it. By a person.
    Satisfy {
        id: TaskId,
    },
    /// The work of a completed task was taken out again: it counts as failed, and what stands on
    /// it is blocked.
    Revert {
        id: TaskId,
    },
    Configure {
        settings: Settings,
    },
    /// By Waypost: the attempt works in this conversation.
    Engage {
        id: TaskId,
        attempt: u32,
        conversation: Conversation,
    },
    /// By Waypost: what an attempt used up and said; given once, at its end.
    Account {
        id: TaskId,
        account: Account,
    },
    /// By Waypost: the attempt cannot go on before a time. It has not failed.
    Park {
        id: TaskId,
        attempt: u32,
        parked: Parked,
    },
    /// An agent's account can be used again, as an agent that got through has shown or a person
    /// says: the tasks that were parked because of it go on.
    WakeAccount {
        agent: String,
    },
    /// By Waypost: the machine is in trouble, and that does not pass by itself at once.
    ReportTrouble {
        trouble: Trouble,
        why: String,
    },
    /// A trouble of the machine is gone, as was found out or as a person says: the tasks that were
    /// parked because of it go on.
    WakeTrouble {
        trouble: Trouble,
    },
    /// By Waypost: what the task was parked for does not hold it any more.
    WakeTask {
        id: TaskId,
    },
    /// By Waypost: the attempt's agent needs a person. The key names the question and what it is
    /// bound to: asked again with the same key, it is the same question.
    Ask {
        id: TaskId,
        attempt: u32,
        prompt: Prompt,
        question: Question<Topic>,
    },
    /// A person's answer to that.
    Answer {
        id: TaskId,
        key: String,
        text: String,
    },
    /// A person works in the task's conversation; until it is handed back no agent does.
    TakeOver {
        id: TaskId,
    },
    HandBack {
        id: TaskId,
    },
    /// By Waypost: all tasks of the current phase are settled, or another phase has work.
    Follow,
    /// By Waypost: the branch and the work tree of a phase are there, made from this commit.
    BasePhase {
        phase: u32,
        commit: String,
    },
    /// A phase that could not be joined is tried once more.
    JoinAgain,
    /// By Waypost: what became of a phase's checks and merge.
    PhaseJoined {
        phase: u32,
        result: Result<Option<String>, String>,
    },
    /// A person lets the run go on after a phase.
    ApprovePhase {
        phase: u32,
    },
    /// Makes a state file that was found without a journal the beginning of one. By a person.
    Adopt {
        plan: Plan,
        settings: Settings,
        completed: Vec<TaskId>,
        failed: Vec<TaskId>,
        before: Before,
    },
}

impl Command {
    /// The task that the command is about.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Start { id }
            | Self::Claim { id }
            | Self::Done { id, .. }
            | Self::Fail { id, .. }
            | Self::Interrupt { id, .. }
            | Self::Retry { id }
            | Self::Skip { id }
            | Self::Satisfy { id }
            | Self::Revert { id }
            | Self::Engage { id, .. }
            | Self::Account { id, .. }
            | Self::Park { id, .. }
            | Self::WakeTask { id }
            | Self::Ask { id, .. }
            | Self::Answer { id, .. }
            | Self::TakeOver { id }
            | Self::HandBack { id } => Some(id),
            _ => None,
        }
    }
}

/// How an attempt failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    pub text: String,
    pub class: FailureClass,
    /// Exit code and last lines, digits and paths aside; empty when unknown.
    pub signature: String,
    /// Whether the next attempt goes on in the same conversation: it broke off, and nothing was
    /// wrong with what it did.
    pub resumes: bool,
}

/// What happened to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Begun {
        plan: Plan,
        settings: Settings,
    },
    Replanned {
        plan: Plan,
    },
    /// Times and merged phases that are known from elsewhere.
    Restored {
        before: Before,
    },
    Configured {
        settings: Settings,
    },
    TaskStarted {
        id: TaskId,
        attempt: u32,
    },
    TaskCompleted {
        id: TaskId,
        evidence: Evidence,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    AttemptFailed {
        id: TaskId,
        text: String,
        signature: String,
        not_before: Time,
        #[serde(default, skip_serializing_if = "is_false")]
        resumes: bool,
    },
    AttemptEngaged {
        id: TaskId,
        conversation: Conversation,
    },
    AttemptAccounted {
        id: TaskId,
        #[serde(flatten)]
        account: Account,
    },
    /// The attempt ended without a result, and the next one has to wait.
    AttemptParked {
        id: TaskId,
        #[serde(flatten)]
        parked: Parked,
    },
    /// What the task was parked for is gone: it may be started.
    TaskWoken {
        id: TaskId,
    },
    AgentAsked {
        id: TaskId,
        #[serde(flatten)]
        prompt: Prompt,
    },
    AgentAnswered {
        id: TaskId,
        key: String,
        text: String,
    },
    TaskTaken {
        id: TaskId,
        by: String,
    },
    TaskReturned {
        id: TaskId,
    },
    /// The attempt ended without a result; it does not count as a retry.
    AttemptInterrupted {
        id: TaskId,
    },
    TaskFailed {
        id: TaskId,
        reason: FailReason,
        text: String,
    },
    TaskReopened {
        id: TaskId,
    },
    PhaseOpened {
        phase: u32,
    },
    PhaseBased {
        phase: u32,
        commit: String,
    },
    PhaseSettled {
        phase: u32,
        step: EndStep,
        merge_commit: Option<String>,
    },
    PhaseClosed {
        phase: u32,
        merge_commit: Option<String>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}
