//! The tasks of the server: one stream for each (`task:ID`), six states, and the agent of each with its
//! eight.
//!
//! `state` is what is known of a task, `command` what may be wanted of it, `event` what has happened.
//! The rules are in `machine` and its parts: `draft` (writing and submitting), `work` (attempts and
//! signals), `phase` (claims, verification, review), `hold` (pauses, limits, what is waited for),
//! `ending` (cancel, fail, retry, archive, delete), `keeping` (checkpoints and restoring).
//!
//! *How the engine uses it.* `TaskFile::wants_agent` says that the agent is to work: where no live
//! attempt is there and `not_before` has passed, the engine commits `Engage` (`Assign` for a pending
//! task), starts the process, commits `Launch`. It hands over `undelivered` messages and commits
//! `Deliver`. What the agent says is committed as `Hear`, keyed by its place in the stream, and read
//! again after a crash without harm. When the process is gone it commits `Exit`. `unverified` is the
//! claim that wants a verification: `Verify`. `must_replace` says that the process is to be replaced. In
//! the states in which an agent waits or is paused the process may be stopped, or ended and started
//! again later; none of that is the machine's business.

mod agent;
mod ask;
mod attempt;
mod checkpoint;
mod command;
mod draft;
mod ending;
mod event;
mod fields;
mod hear;
mod hold;
mod item;
mod keeping;
mod machine;
mod message;
mod pause;
mod phase;
mod remembered;
mod review;
mod row;
mod signal;
mod state;

#[cfg(test)]
mod tests;
mod topic;
mod view;
mod work;

pub use agent::{AGENT_STATES, may_move};
pub use attempt::{AttemptLife, AttemptPlan, ExitCause, TaskAttempt, TaskWorkspace, WorkspaceKind};
pub use checkpoint::{CheckpointReason, CheckpointTaken, NEWEST_KEPT, TaskCheckpoint};
pub use command::{Command, SignalLimits, UnverifiedWork};
pub use ending::CANCELLED;
pub use event::{Event, MoveFacts};
pub use fields::{
    DEPENDENCIES_MAX, DESCRIPTION_BYTES_MAX, ShapedPhase, TITLE_LENGTH_MAX, TaskChange, TaskFields,
    TaskShape,
};
pub use item::{BadItemKey, ITEMS_MAX, ItemKey, ItemWant, OpenItem};
pub use message::{MessageBody, TaskMessage};
pub use pause::{PersonPause, TaskPauses};
pub use review::{ClaimStage, EscalatedWork, EscalationChoice, PhaseClaim, TaskReport, TaskReview};
pub use row::{TaskRow, turn};
pub use signal::{
    MalformedBlock, ProblemRecovery, QuestionCategory, SpokenProblem, SpokenQuestion, SpokenSignal,
    TaskSignal, ValueRequest,
};
pub use state::{LostCause, RetriedCheckpoint, RetriedTask, ServedTask, TaskFile, TaskTimes};
pub use topic::TaskTopic;
pub use view::{LiveAgent, agent_word, task_word};
