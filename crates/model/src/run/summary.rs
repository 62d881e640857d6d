//! A run in brief: what there is to say about it without naming every task.
//!
//! A plain value, so that it can be kept beside the journal and shown without loading the run.

use crate::{
    evidence::Evidence,
    id::TaskId,
    run::{
        Active, Budget, EndStep, FailReason, Mode, PhaseStage, Progress, TaskStatus, TaskView,
        Trail, Usage,
    },
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Which run of the repository it is.
    #[serde(default = "first")]
    pub number: u32,
    pub project: String,
    pub mode: Mode,
    pub current_phase: u32,
    /// Nothing is left to do: everything is done, failed or cut off by a failure.
    pub is_over: bool,
    pub total: usize,
    counts: BTreeMap<TaskStatus, usize>,
    pub phases: Vec<PhaseSummary>,
    pub in_progress: Vec<TaskSummary>,
    pub failed: Vec<TaskSummary>,
    /// Tasks that wait for something that is not their fault, or did until they were started again.
    #[serde(default)]
    pub parked: Vec<TaskSummary>,
    /// What all agents have used up, and may.
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub budget: Budget,
}

/// How one phase stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSummary {
    pub number: u32,
    pub name: String,
    pub stage: PhaseStage,
    pub progress: Progress,
}

/// How one task stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSummary {
    pub id: TaskId,
    pub title: String,
    pub phase: u32,
    pub status: TaskStatus,
    pub attempts: u32,
    pub retries: u32,
    /// The dependencies that the file names.
    pub depends: Vec<TaskId>,
    /// None where the task has no details at all.
    pub files: Option<Vec<String>>,
    pub verify: Option<Vec<String>>,
    pub command: Option<String>,
    pub evidence: Option<Evidence>,
    pub reason: Option<FailReason>,
    pub last_failure: Option<String>,
    /// The earliest time for the next attempt after a failure or a limit.
    pub not_before: Option<Time>,
    /// What waits for it, directly.
    pub unblocks: Vec<TaskId>,
    /// What model agents left.
    #[serde(default)]
    pub trail: Option<Trail>,
}

/// What a run, or one phase of it, has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every task is completed, and the work is where it belongs.
    Completed,
    /// A task has failed, or is blocked by one that has, or a phase could not be merged.
    Failed,
    /// Nothing has failed, and there is work left: for later, for a person, for more money.
    Unfinished,
}

/// What the rest of a run may take, from what its tasks took so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Estimate {
    /// Tasks that are left to do.
    pub left: usize,
    /// Tasks that the estimate is made from.
    pub from: usize,
    /// Working time of what is left, as if done one after another.
    pub seconds: u64,
    pub cost_micros: u64,
}

fn first() -> u32 {
    1
}

impl RunSummary {
    pub fn count(&self, status: TaskStatus) -> usize {
        self.counts.get(&status).copied().unwrap_or(0)
    }

    /// What it has come to: the whole run, or only one phase of it.
    pub fn outcome(&self, only: Option<u32>) -> RunOutcome {
        let mut phases =
            self.phases.iter().filter(|phase| only.is_none_or(|only| phase.number == only));
        let has_failed = |phase: &PhaseSummary| {
            let is_held = matches!(phase.stage, PhaseStage::Ending { step: EndStep::Stopped, .. });
            is_held || phase.progress.failed + phase.progress.blocked > 0
        };
        let is_completed = |phase: &PhaseSummary| {
            let is_over = match phase.stage {
                PhaseStage::Closed { .. } => true,
                // What a person is asked is whether the next phase may begin.
                PhaseStage::Ending { step: EndStep::Approval, .. } => only.is_some(),
                _ => false,
            };
            is_over && phase.progress.completed == phase.progress.total
        };
        match () {
            () if phases.clone().any(has_failed) => RunOutcome::Failed,
            () if phases.all(is_completed) => RunOutcome::Completed,
            () => RunOutcome::Unfinished,
        }
    }
}

impl TaskSummary {
    /// Whether the delay of a retry or a limit still holds the task.
    pub fn is_delayed(&self, now: Time) -> bool {
        self.not_before.is_some_and(|not_before| not_before > now)
    }
}

impl Active {
    pub fn summary(&self) -> RunSummary {
        let phase = |(number, stage): (u32, &PhaseStage)| PhaseSummary {
            number,
            name: self.plan().phases.get(&number).cloned().unwrap_or_default(),
            stage: stage.clone(),
            progress: self.progress(number),
        };
        RunSummary {
            number: self.number(),
            project: self.plan().project.clone(),
            mode: self.settings().mode,
            current_phase: self.current_phase(),
            is_over: self.is_over(),
            total: self.plan().tasks.len(),
            counts: TaskStatus::ALL.map(|status| (status, self.count(status))).into(),
            phases: self.phases().map(phase).collect(),
            in_progress: self.all_with(TaskStatus::InProgress),
            failed: self.all_with(TaskStatus::Failed),
            parked: self.parked_summaries(),
            usage: *self.usage(),
            budget: self.settings().budget,
        }
    }

    /// What is left, at the mean of what was done; none while nothing was.
    pub fn estimate(&self) -> Option<Estimate> {
        let done = self
            .tasks()
            .filter(|it| it.status == TaskStatus::Completed && it.attempts > it.attempts_before);
        let (mut from, mut cost) = (0, 0u64);
        for view in done {
            from += 1;
            cost += view.trail.map_or(0, |trail| trail.usage.cost_micros);
        }
        let left = [TaskStatus::Pending, TaskStatus::Ready, TaskStatus::InProgress];
        let left: usize = left.into_iter().map(|status| self.count(status)).sum();
        let seconds = self.average_task_seconds() * left as u64;
        let cost_micros = cost.checked_div(from as u64)? * left as u64;
        Some(Estimate { left, from, seconds, cost_micros })
    }

    /// The tasks that may be started now, the most urgent first, then as they stand in the file.
    pub fn ready_summaries(&self) -> Vec<TaskSummary> {
        self.ready().map(|view| self.summarize(&view)).collect()
    }

    fn parked_summaries(&self) -> Vec<TaskSummary> {
        self.parked().map(|view| self.summarize(&view)).collect()
    }

    fn all_with(&self, status: TaskStatus) -> Vec<TaskSummary> {
        self.tasks_with(status).map(|view| self.summarize(&view)).collect()
    }

    pub fn summarize(&self, view: &TaskView<'_>) -> TaskSummary {
        let details = view.planned.details.as_deref();
        TaskSummary {
            id: view.planned.id.clone(),
            title: view.planned.title.clone(),
            phase: view.planned.phase,
            status: view.status,
            attempts: view.attempts,
            retries: view.retries,
            depends: view.planned.stated().to_vec(),
            files: details.map(|it| it.files.clone()),
            verify: details.map(|it| it.verify.clone()),
            command: details.and_then(|it| it.command.as_deref().map(str::to_owned)),
            evidence: view.evidence.cloned(),
            reason: view.reason,
            last_failure: view.last_failure.map(|it| it.text.clone()),
            not_before: view.not_before(),
            trail: view.trail.cloned(),
            unblocks: self.dependents(&view.planned.id).into_iter().cloned().collect(),
        }
    }
}
