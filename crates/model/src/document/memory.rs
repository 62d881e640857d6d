//! The memory: the current task, the history, the shared context and each agent's own memory.
//!
//! A field that is absent gets its default when read, because agents write only what they know;
//! files are always written whole. What agents put into open maps is kept as it is.

use super::check::{Findings, find_cycle};
use super::fields::plain_number;
use super::{Document, Kind, MemorySessionId, MemoryTaskId, TextVersion, code};
use crate::diagnostic::Diagnostic;
use crate::json::{Json, OpenMap};
use crate::time::Stamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// The current task and those that wait (`task-state.json`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskState {
    /// The version of this format.
    pub version: TextVersion,
    /// The one task that is being worked on, null if none.
    pub current_task: Option<MemoryTask>,
    /// Tasks that wait for it to end, oldest first.
    pub pending_tasks: Vec<MemoryTask>,
    /// When this file was last written.
    pub last_updated: Option<Stamp>,
}

/// A task with its plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Task")]
pub struct MemoryTask {
    /// The task's id, counted per day.
    pub id: MemoryTaskId,
    /// What the task is called.
    pub name: String,
    /// Where the task is in its life.
    #[serde(default)]
    pub status: MemoryTaskStatus,
    /// When it was first started; until then, when it was made.
    #[serde(default)]
    pub started_at: Option<Stamp>,
    /// When something about it last changed.
    #[serde(default)]
    pub updated_at: Option<Stamp>,
    /// The agent that leads it.
    #[serde(default = "orchestrator")]
    pub orchestrator: String,
    /// What it is to achieve, and how.
    #[serde(default)]
    pub plan: TaskPlan,
    /// The original request and whatever else agents need to know; anything may stand here.
    #[serde(default)]
    pub context: OpenMap,
    /// What it has produced so far.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// What went wrong, and how it was resolved.
    #[serde(default)]
    pub issues: Vec<Issue>,
}

fn orchestrator() -> String {
    "orchestrator".to_owned()
}

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TaskStatus")]
pub enum MemoryTaskStatus {
    /// Not started yet.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Ended with success.
    Completed,
    /// Ended with an error, from which it may recover.
    Failed,
    /// Set aside; goes on when it is resumed.
    Paused,
    /// Ended because it is no longer wanted.
    Cancelled,
}

/// What a task is to achieve, and in which steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Plan")]
pub struct TaskPlan {
    /// What is to be achieved.
    pub goal: String,
    /// What must hold when it is achieved.
    pub success_criteria: Vec<String>,
    /// The steps, each with its own id.
    pub steps: Vec<Step>,
    /// The lowest step in progress, else the lowest unfinished one, else null.
    pub current_step: Option<u32>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The step's id, unique in its plan.
    pub id: u32,
    /// What the step is called.
    pub name: String,
    /// The agent that does it.
    #[serde(default)]
    pub agent: Option<String>,
    /// The group of agents that it belongs to.
    #[serde(default)]
    pub cluster: Option<String>,
    /// Where the step is in its life.
    #[serde(default)]
    pub status: StepStatus,
    /// The ids of steps that must be completed first.
    #[serde(default)]
    pub dependencies: Vec<u32>,
    /// When it was started.
    #[serde(default)]
    pub started_at: Option<Stamp>,
    /// When it was completed.
    #[serde(default)]
    pub completed_at: Option<Stamp>,
    /// What it produced; anything may stand here.
    #[serde(default)]
    pub output: Json,
    /// Why it failed the last time.
    #[serde(default)]
    pub error: Option<StepError>,
    /// How often it was tried again.
    #[serde(default)]
    pub retries: u32,
    /// How long it should take; twice as long calls for a new plan.
    #[serde(default)]
    pub expected_seconds: Option<u64>,
}

/// Where a step is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not started yet.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Ended with an error; may be tried again.
    Failed,
    /// Out of retries; waits for a person.
    Escalated,
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepError {
    /// The class of failure: transient, validation, dependency, resource, structural or critical.
    #[serde(rename = "type")]
    pub class: String,
    /// What happened.
    pub message: String,
    /// When it happened.
    #[serde(default)]
    pub timestamp: Option<Stamp>,
    /// How often it had been tried again by then.
    #[serde(default)]
    pub retries: u32,
}

/// Something that went wrong in a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// The step in which it happened, null if in none.
    #[serde(default)]
    pub step_id: Option<u32>,
    /// The class of failure.
    #[serde(rename = "type")]
    pub class: String,
    /// What happened.
    pub message: String,
    /// How it was resolved.
    #[serde(default)]
    pub resolution: Option<String>,
    /// Whether it was resolved.
    #[serde(default)]
    pub resolved: bool,
    /// When it was resolved.
    #[serde(default)]
    pub resolved_at: Option<Stamp>,
}

/// Something that a task produced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// What it is.
    #[serde(rename = "type")]
    pub form: ArtifactForm,
    /// Where it is.
    pub path: String,
    /// What it is good for.
    #[serde(default)]
    pub description: String,
}

/// What an artifact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactForm {
    /// A file of the project.
    File,
    /// Anything else.
    Data,
}

/// Tasks that have ended (`task-history.json`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskHistory {
    /// The version of this format.
    pub version: TextVersion,
    /// The newest of them, oldest first.
    pub tasks: Vec<HistoryEntry>,
    /// Totals over all tasks, also those that are no longer listed.
    pub statistics: Statistics,
}

/// A task that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryEntry {
    /// The task's id.
    pub id: MemoryTaskId,
    /// What the task was called.
    pub name: String,
    /// How it ended.
    pub result: TaskResult,
    /// When it was started.
    #[serde(default)]
    pub started_at: Option<Stamp>,
    /// When it ended.
    #[serde(default)]
    pub completed_at: Option<Stamp>,
    /// How long it took, from its start.
    #[serde(default)]
    pub duration_seconds: u64,
    /// What came of it.
    #[serde(default)]
    pub summary: String,
    /// What it produced.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// What it took.
    #[serde(default)]
    pub metrics: TaskMetrics,
    /// What was learned.
    #[serde(default)]
    pub lessons: Vec<String>,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskResult {
    /// Every step was completed.
    Success,
    /// It was closed after a failure.
    Failure,
    /// It was completed with steps left undone.
    Partial,
    /// It was no longer wanted.
    Cancelled,
}

/// What a task took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Metrics")]
pub struct TaskMetrics {
    /// How many steps its plan had.
    pub steps_total: u32,
    /// How many of them were completed.
    pub steps_completed: u32,
    /// How often a step was tried again.
    pub retries: u32,
    /// Tokens that its agents used.
    pub tokens_used: u64,
}

/// Totals over all tasks that ever ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Statistics {
    /// How many tasks have ended.
    pub total_tasks: u64,
    /// Success ÷ (success + failure + partial), from 0 to 1.
    #[serde(serialize_with = "plain_number")]
    #[schemars(range(min = 0, max = 1))]
    pub success_rate: f64,
    /// How long a task took on average.
    #[serde(serialize_with = "plain_number")]
    #[schemars(range(min = 0))]
    pub avg_duration_seconds: f64,
}

/// What all agents share (`shared-context.json`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SharedContext {
    /// The version of this format.
    pub version: TextVersion,
    /// The session that this context belongs to.
    pub session: Option<ContextSession>,
    /// What agents hand to each other; anything may stand here.
    pub shared_data: OpenMap,
    /// What the user prefers; anything may stand here.
    pub preferences: OpenMap,
    /// When this file was last written.
    pub last_updated: Option<Stamp>,
}

/// The session that a shared context belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextSession {
    /// The session's id, counted per day.
    pub id: MemorySessionId,
    /// When it was started.
    #[serde(default)]
    pub started_at: Option<Stamp>,
}

/// What one agent keeps (`agents/NAME.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentMemory {
    /// The version of this format.
    #[serde(default)]
    pub version: TextVersion,
    /// The agent's name, which is also the file's.
    pub agent: String,
    /// What the agent prefers; anything may stand here.
    #[serde(default)]
    pub preferences: OpenMap,
    /// What the agent has found before; anything may stand here.
    #[serde(default)]
    pub cache: OpenMap,
    /// What the agent counts; anything may stand here.
    #[serde(default)]
    pub statistics: OpenMap,
    /// When this file was last written.
    #[serde(default)]
    pub last_updated: Option<Stamp>,
}

impl MemoryTaskStatus {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
        }
    }
}

impl StepStatus {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Escalated => "escalated",
        }
    }
}

impl TaskResult {
    pub const ALL: [Self; 4] = [Self::Success, Self::Failure, Self::Partial, Self::Cancelled];

    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Partial => "partial",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Document for TaskState {
    const KIND: Kind = Kind::TaskState;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        let pending = self.pending_tasks.iter().enumerate();
        let pending = pending.map(|(at, task)| (format!("pending_tasks[{at}]"), task));
        let current = self.current_task.iter().map(|task| ("current_task".to_owned(), task));
        let all: Vec<(String, &MemoryTask)> = current.chain(pending).collect();
        findings.unique(all.iter().map(|(_, task)| &task.id), |at| format!("{}.id", all[at].0));
        for (path, task) in &all {
            check_plan(&mut findings, &format!("{path}.plan"), &task.plan);
            check_issues(&mut findings, path, task);
        }
        findings.into_vec()
    }
}

/// Step ids are unique, dependencies exist and can be met, and the current step is one of them.
fn check_plan(findings: &mut Findings, path: &str, plan: &TaskPlan) {
    findings.unique(plan.steps.iter().map(|step| &step.id), |at| format!("{path}.steps[{at}].id"));
    let known: HashMap<u32, usize> =
        plan.steps.iter().enumerate().rev().map(|(at, step)| (step.id, at)).collect();
    let mut waits = vec![Vec::new(); plan.steps.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        for (nth, wanted) in step.dependencies.iter().enumerate() {
            if let Some(&other) = known.get(wanted) {
                waits[at].push(other);
            } else {
                let path = format!("{path}.steps[{at}].dependencies[{nth}]");
                findings.error(code::MISSING_REFERENCE, path, format!("there is no step {wanted}"));
            }
        }
        findings.in_order(
            &format!("{path}.steps[{at}].completed_at"),
            step.started_at,
            step.completed_at,
        );
    }
    if let Some(cycle) = find_cycle(&waits) {
        let names: Vec<String> = cycle.iter().map(|&at| plan.steps[at].id.to_string()).collect();
        let message = format!("steps wait for each other: {}", names.join(" → "));
        findings.error(code::CYCLE, format!("{path}.steps[{}].dependencies", cycle[0]), message);
    }
    if let Some(step) = plan.current_step.filter(|step| !known.contains_key(step)) {
        let path = format!("{path}.current_step");
        findings.error(code::MISSING_REFERENCE, path, format!("there is no step {step}"));
    }
}

/// An issue names a step of its task, or none.
fn check_issues(findings: &mut Findings, path: &str, task: &MemoryTask) {
    let known: HashSet<u32> = task.plan.steps.iter().map(|step| step.id).collect();
    for (at, issue) in task.issues.iter().enumerate() {
        if let Some(step) = issue.step_id.filter(|step| !known.contains(step)) {
            let path = format!("{path}.issues[{at}].step_id");
            findings.error(code::MISSING_REFERENCE, path, format!("there is no step {step}"));
        }
    }
}

impl Document for TaskHistory {
    const KIND: Kind = Kind::TaskHistory;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        findings.unique(self.tasks.iter().map(|task| &task.id), |at| format!("tasks[{at}].id"));
        for (at, task) in self.tasks.iter().enumerate() {
            let TaskMetrics { steps_total, steps_completed, .. } = task.metrics;
            if steps_completed > steps_total {
                let path = format!("tasks[{at}].metrics.steps_completed");
                let message = format!("{steps_completed} of {steps_total} steps were completed");
                findings.error(code::WRONG_COUNT, path, message);
            }
            let path = format!("tasks[{at}].completed_at");
            findings.in_order(&path, task.started_at, task.completed_at);
        }
        let rate = self.statistics.success_rate;
        if !(0.0..=1.0).contains(&rate) {
            let finding = Diagnostic::error(code::OUT_OF_RANGE, format!("{rate} is not a rate"));
            findings.add(finding.path("statistics.success_rate").expected("a number from 0 to 1"));
        }
        let mean = self.statistics.avg_duration_seconds;
        if !mean.is_finite() || mean < 0.0 {
            let message = format!("{mean} is not a duration");
            let path = "statistics.avg_duration_seconds".to_owned();
            findings.error(code::OUT_OF_RANGE, path, message);
        }
        if self.statistics.total_tasks < self.tasks.len() as u64 {
            let (total, listed) = (self.statistics.total_tasks, self.tasks.len());
            let message = format!("{total} tasks in all, but {listed} are listed");
            findings.warning(code::WRONG_COUNT, "statistics.total_tasks".to_owned(), message);
        }
        findings.into_vec()
    }
}

impl Document for SharedContext {
    const KIND: Kind = Kind::SharedContext;

    fn check(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
}

impl Document for AgentMemory {
    const KIND: Kind = Kind::AgentMemory;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        // The name becomes a file name, so it must not lead anywhere else.
        let is_name = !self.agent.is_empty()
            && !self.agent.starts_with('.')
            && !self.agent.contains(['/', '\\', '\0']);
        if !is_name {
            let finding =
                Diagnostic::error(code::BAD_VALUE, format!("`{}` is not a name", self.agent));
            findings.add(finding.path("agent").expected("a name that can be a file's"));
        }
        findings.into_vec()
    }
}
