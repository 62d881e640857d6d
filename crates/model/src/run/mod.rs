//! The run: TASKS.md as a graph of tasks that are worked on phase by phase.

mod graph;
mod machine;
mod phases;
mod plan;
mod planning;
mod state;
mod summary;
mod waves;
mod window;

#[cfg(test)]
mod tests;

pub use machine::{Command, Event, Failure};
pub use plan::{Depends, Details, Plan, PlanError, PlanSource, PlannedTask, Priority};
pub use state::{
    Active, EndStep, FailReason, Isolation, LastFailure, Mode, PhaseStage, Progress, Run, Settings,
    TaskStatus, TaskView,
};
pub use summary::{PhaseSummary, Summary, TaskSummary};
pub use window::{Config, Execution, Metrics, PhaseCheckpoint, RunState, TaskLists, translate};
