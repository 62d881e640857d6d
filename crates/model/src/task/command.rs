//! What is wanted of a task.
//!
//! Each says who may give it. *Engine* is Waypost itself, for which the host speaks; whatever it gives
//! may come twice, and then changes nothing.

use super::{
    attempt::{AttemptPlan, ExitCause, TaskWorkspace},
    checkpoint::CheckpointTaken,
    fields::{TaskChange, TaskFields, TaskShape},
    item::ItemKey,
    review::{EscalationChoice, TaskReport},
    signal::SpokenSignal,
    state::{LostCause, RetriedTask},
};
use crate::{
    document::ServerTaskId,
    inbox::{LineComment, OPTIONAL_WAIT, Question, ReviewedDiff, Topic},
    next::NextStep,
    run::{Account, Conversation, Parked, Prompt, Usage},
    time::Time,
};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Anyone: makes a draft. `retry_of` links it to the task that it tries again.
    Create { id: ServerTaskId, fields: TaskFields, retry_of: Option<RetriedTask> },
    /// Anyone: says something else of it. A draft may be changed in every way; what waits for an agent
    /// in priority, agent, dependencies and budget; what is worked on in priority and budget.
    Edit { change: TaskChange },
    /// Anyone: hands in a draft, with the phases of its type as they are now.
    Submit { shape: TaskShape },

    /// Engine: gives a pending task to an agent. `met` are those of the named tasks that are completed.
    /// The process is started afterwards (`Launch`), or could not be (`Exit`).
    Assign { plan: AttemptPlan, workspace: TaskWorkspace, met: Vec<ServerTaskId> },
    /// Engine: decides about another process of the task's agent.
    Engage { plan: AttemptPlan },
    /// Engine: the process of the attempt is there.
    Launch { attempt: u32 },
    /// Engine: the program has said which conversation it is in.
    Converse { attempt: u32, conversation: Conversation },
    /// Engine: the process of the attempt is gone.
    Exit { attempt: u32, cause: ExitCause, why: String },
    /// Engine: what the attempt used up, once, at its end.
    Account { attempt: u32, account: Account },
    /// Engine: messages up to this number were handed to the agent.
    Deliver { attempt: u32, up_to: u32 },
    /// Engine: what the agent said, of one moment, in the order in which it counts (errors first).
    /// What begins before the place up to which the stream is known is left out.
    Hear { attempt: u32, signals: Vec<SpokenSignal>, limits: SignalLimits },
    /// Engine: the agent's program asks a person (a permission, a question of its own).
    Ask { attempt: u32, prompt: Prompt, question: Question<Topic> },
    /// Engine: what is there of the present phase's deliverables.
    Observe { phase: Option<u32>, steps_done: u32, current_step: Option<String> },

    /// Engine: what the verification of a claim came to. `usage` is what its agent used up.
    /// `escalation_timeout` is how long an escalation waits before the task fails; none: for ever.
    Verify {
        claim: u32,
        report: TaskReport,
        usage: Usage,
        /// The commit that was verified.
        commit: Option<String>,
        /// What has changed since the phase before, for the person who reviews it.
        diff: Option<ReviewedDiff>,
        escalation_timeout: Option<Duration>,
    },
    /// Engine: the claim cannot be verified, because its agent does not answer. `seen` is what the person
    /// who decides, and who reviews it if it is accepted, is shown all the same.
    GiveUpVerifying {
        claim: u32,
        why: String,
        seen: Box<UnverifiedWork>,
        escalation_timeout: Option<Duration>,
    },
    /// Person: the review of this version is fine. None: of whichever is open.
    Approve { version: Option<u32> },
    /// Person: the review of this version is not fine, because of `text`.
    RequestChanges { version: Option<u32>, text: String, comments: Vec<LineComment> },
    /// Person, or Waypost after `escalation_timeout`: how a claim that did not hold goes on.
    /// What the person says with it goes to the agent.
    Decide { claim: u32, choice: EscalationChoice, text: String },

    /// Person, or Waypost when nothing came in time: answers a question; `key` is an item's or that of a
    /// prompt.
    Answer { key: String, text: String },
    /// Person: a value was put into the store of secrets under the name that was asked for.
    Provide { item: ItemKey },
    /// Person, or Waypost when nothing came in time: it is not given, because of `why`, which may be
    /// empty. What is required fails the task.
    Decline { item: ItemKey, why: String },
    /// Person: tells the agent something beside its questions.
    Tell { text: String },

    /// Anyone: stops the agent until a person resumes it.
    Pause { why: String },
    /// Person: takes the conversation over. The agent's process ends, and nothing is started until it is
    /// resumed.
    TakeOver,
    /// Anyone, but what a person paused only by a person: goes on.
    Resume,
    /// Engine: the agent met a limit or cannot work for a reason that is not the task's.
    Limit { attempt: u32, parked: Parked },
    /// Engine (by a timer), or a person: the limit is over.
    EndLimit,
    /// Engine: it cannot be begun or gone on with as things are set up, which is no fault of its own.
    /// `next` are the steps that fix it.
    Hinder { why: String, next: Vec<NextStep> },
    /// Engine: what it could not be set up with is there.
    EndHindrance,
    /// Engine: a tool call was seen without a verdict of ours. The attempt is stopped, its tree kept.
    Quarantine { attempt: u32, why: String, kept: Option<String> },

    /// Anyone: ends it as failed with the reason `cancelled`.
    Cancel { why: String },
    /// Engine or person: ends it as failed, for a reason that no other command has.
    Fail { why: String },
    /// Anyone: another task tries this failed one again.
    Retry { task: ServerTaskId },
    /// Anyone: hides what is over from lists.
    Archive,
    /// Person: forgets it; its workspace is removed by the engine.
    Delete,

    /// Engine: a checkpoint was taken.
    Checkpoint { taken: CheckpointTaken },
    /// Person: goes back to a checkpoint. The engine puts the workspace back and starts the agent.
    Restore { checkpoint: u32 },
    /// Engine: a named task will never be completed.
    LoseDependency { task: ServerTaskId, cause: LostCause },
    /// Person: it is not to wait for a named task any more.
    DropDependency { task: ServerTaskId },
    /// What follows by itself: the agent's state is brought in line with what it waits for.
    Align,
}

/// What was looked at of a claim that could not be verified.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnverifiedWork {
    /// What Waypost itself has found.
    pub report: TaskReport,
    pub commit: Option<String>,
    pub diff: Option<ReviewedDiff>,
}

/// What the configuration says about signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalLimits {
    /// How long an item waits that is not required.
    pub optional_wait: Duration,
    /// When a limit ends that `pause_and_retry` is about, where the words of the error tell it.
    pub limit_until: Option<Time>,
}

impl Default for SignalLimits {
    fn default() -> Self {
        Self { optional_wait: OPTIONAL_WAIT, limit_until: None }
    }
}
