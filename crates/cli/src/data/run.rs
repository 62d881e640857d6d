//! Runs and tasks as data.

use super::events::EventOf;
use crate::spelling::Step;
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, path::Path};
use waypost_model::{
    evidence::Evidence,
    id::TaskId,
    run::{Budget, Estimate, FailReason, RunSummary, TaskStatus, TaskSummary, Trail, Usage},
    time::Stamp,
};

/// How a run stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunReport<'a> {
    pub(crate) number: u32,
    pub(crate) project: &'a str,
    pub(crate) mode: &'static str,
    pub(crate) current_phase: u32,
    /// Whether nothing is left to do.
    pub(crate) over: bool,
    pub(crate) total: usize,
    /// How many tasks are in each state.
    pub(crate) counts: BTreeMap<String, usize>,
    pub(crate) phases: Vec<PhaseReport<'a>>,
    pub(crate) in_progress: Vec<TaskReport<'a>>,
    pub(crate) failed: Vec<TaskReport<'a>>,
    pub(crate) usage: &'a Usage,
    pub(crate) budget: &'a Budget,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PhaseReport<'a> {
    pub(crate) phase: u32,
    pub(crate) name: &'a str,
    /// waiting, open, ending or closed.
    pub(crate) stage: &'static str,
    pub(crate) total: usize,
    pub(crate) completed: usize,
    pub(crate) failed: usize,
    pub(crate) blocked: usize,
}

impl<'a> From<&'a RunSummary> for RunReport<'a> {
    fn from(run: &'a RunSummary) -> Self {
        let phases = run.phases.iter().map(|phase| PhaseReport {
            phase: phase.number,
            name: &phase.name,
            stage: crate::show::run::stage_word(&phase.stage),
            total: phase.progress.total,
            completed: phase.progress.completed,
            failed: phase.progress.failed,
            blocked: phase.progress.blocked,
        });
        let counts = TaskStatus::ALL.into_iter().map(|it| (it.to_string(), run.count(it)));
        Self {
            number: run.number,
            project: &run.project,
            mode: run.mode.as_str(),
            current_phase: run.current_phase,
            over: run.is_over,
            total: run.total,
            counts: counts.collect(),
            phases: phases.collect(),
            in_progress: run.in_progress.iter().map(TaskReport::from).collect(),
            failed: run.failed.iter().map(TaskReport::from).collect(),
            usage: &run.usage,
            budget: &run.budget,
        }
    }
}

/// How the run stands, begun or not.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunStatus<'a> {
    #[serde(flatten)]
    pub(crate) run: RunReport<'a>,
    /// Whether it has begun; else it is what TASKS.md would begin.
    pub(crate) begun: bool,
    /// Its engine died and has left what it started.
    pub(crate) engine_gone: bool,
}

/// A task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskReport<'a> {
    pub(crate) id: &'a TaskId,
    pub(crate) title: &'a str,
    pub(crate) phase: u32,
    pub(crate) status: TaskStatus,
    /// The number of the last attempt.
    pub(crate) attempt: u32,
    pub(crate) retries: u32,
    pub(crate) depends: &'a [TaskId],
    pub(crate) files: Option<&'a [String]>,
    pub(crate) verify: Option<&'a [String]>,
    /// The command that does it.
    pub(crate) run: Option<&'a str>,
    pub(crate) evidence: Option<&'a Evidence>,
    pub(crate) reason: Option<FailReason>,
    pub(crate) last_failure: Option<&'a str>,
    /// What waits for it, directly.
    pub(crate) unblocks: &'a [TaskId],
    /// What model agents left.
    pub(crate) agent: Option<&'a Trail>,
}

impl<'a> From<&'a TaskSummary> for TaskReport<'a> {
    fn from(task: &'a TaskSummary) -> Self {
        Self {
            id: &task.id,
            title: &task.title,
            phase: task.phase,
            status: task.status,
            attempt: task.attempts,
            retries: task.retries,
            depends: &task.depends,
            files: task.files.as_deref(),
            verify: task.verify.as_deref(),
            run: task.command.as_deref(),
            evidence: task.evidence.as_ref(),
            reason: task.reason,
            last_failure: task.last_failure.as_deref(),
            unblocks: &task.unblocks,
            agent: task.trail.as_ref(),
        }
    }
}

/// A task that something was done with, or that is ready.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskLine<'a> {
    #[serde(flatten)]
    pub(crate) task: TaskReport<'a>,
    /// Whether the run is over with that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run_over: Option<bool>,
    /// Where it is worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<&'a Path>,
}

impl<'a> From<&'a TaskSummary> for TaskLine<'a> {
    fn from(task: &'a TaskSummary) -> Self {
        Self { task: task.into(), run_over: None, worktree: None }
    }
}

/// A run among all runs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunLine<'a> {
    pub(crate) number: u32,
    pub(crate) project: &'a str,
    /// The file that its plan was read from.
    pub(crate) file: Option<&'a str>,
    pub(crate) started_at: Stamp,
    pub(crate) ended_at: Option<Stamp>,
    pub(crate) over: bool,
    pub(crate) total: usize,
    pub(crate) completed: usize,
    pub(crate) failed: usize,
    pub(crate) blocked: usize,
    pub(crate) usage: &'a Usage,
    /// The same in a few words.
    pub(crate) outcome: String,
}

/// What a run would do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanReport<'a> {
    pub(crate) project: &'a str,
    pub(crate) phases: Vec<PlannedPhase<'a>>,
    /// What is left may take so much, by what was done so far.
    pub(crate) estimate: Option<Estimate>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedPhase<'a> {
    pub(crate) phase: u32,
    pub(crate) name: &'a str,
    pub(crate) tasks: Vec<PlannedReport<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedReport<'a> {
    pub(crate) id: &'a TaskId,
    pub(crate) title: &'a str,
    /// Tasks of one wave could run beside each other.
    pub(crate) wave: usize,
    pub(crate) status: TaskStatus,
    pub(crate) depends: Vec<TaskId>,
    pub(crate) agent: &'a str,
    pub(crate) run: Option<&'a str>,
    pub(crate) verify: Option<&'a [String]>,
}

/// Something in which TASKS.md and the state differ.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference<'a> {
    pub(crate) finding: &'a str,
}

/// What holds a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhyReport<'a> {
    pub(crate) id: &'a str,
    /// The status of the task; of a task of the memory that has ended, its result.
    pub(crate) status: &'a str,
    /// Its dependencies are met, and something else keeps it from being started.
    pub(crate) held: bool,
    /// The nearest first; each follows from the next one.
    pub(crate) reasons: Vec<Reason<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reason<'a> {
    pub(crate) text: &'a str,
    /// The event that made it so, where there is one.
    pub(crate) event: Option<EventOf<'a>>,
    pub(crate) next: Option<String>,
    pub(crate) next_steps: Vec<Step<'a>>,
}
