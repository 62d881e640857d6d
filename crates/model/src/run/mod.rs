//! The run: TASKS.md as a graph of tasks that are worked on phase by phase.

mod apart;
mod at_work;
mod graph;
mod holding;
mod image;
mod machine;
mod notices;
mod parked;
mod phases;
mod plan;
mod planning;
mod positions;
mod remembered;
mod sequence;
mod state;
mod summary;
mod topic;
mod trail;
mod waves;
mod window;
mod wording;
mod words;

#[cfg(test)]
mod tests;

pub use apart::TREES;
pub use at_work::PlanAtWork;
pub use parked::{ParkCause, Parked, TRY_AGAIN};
pub use plan::{Depends, Details, Plan, PlanError, PlanSource, PlannedTask, Priority};
pub use sequence::{Before, Earlier, RunBrief};
pub use state::{
    Active, EndStep, FailReason, Isolation, LastFailure, Mode, PhaseStage, Progress, Run, Settings,
    TaskStatus, TaskView,
};
pub use summary::{Estimate, PhaseSummary, RunOutcome, RunSummary, TaskSummary};
pub use topic::RunTopic;
pub use trail::{Account, Budget, Conversation, Prompt, Trail, Usage};
pub use window::{
    Execution, ListedTask, Metrics, PhaseCheckpoint, RunState, TaskLists, WindowConfig, translate,
};
pub use wording::FIELD_LABELS;
pub use words::{Command, Event, Failure};
