//! `.claude/orchestrate-state.json`: how a run is shown, and what an edit of it means.
//!
//! An edit becomes commands, never state. Lists that follow from the graph (`pending`, `ready`,
//! `blocked`), counts and times are not edits: they are computed again.

use crate::{
    code::Code,
    config::reference,
    diagnostic::Diagnostic,
    document::{Document, Kind},
    id::TaskId,
    machine::Rejected,
    next::NextStep,
    ordered::Ordered,
    run::{
        Active, Before, Command, Depends, Failure, Mode, PhaseStage, Plan, PlannedTask, Priority,
        Settings, TaskStatus, graph::Graph,
    },
    time::{Stamp, Time},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The run's state file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunState {
    /// Always written as "2.0"; a 1.x file is read, and is of mode `normal`.
    pub version: String,
    /// What happens between tasks and phases.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// The project's name in logs and notifications.
    pub project: String,
    /// Where the run is.
    pub execution: Execution,
    /// Every task, in exactly one list.
    pub tasks: TaskLists,
    /// The stated dependencies of each task.
    #[serde(default)]
    pub dependencies: Ordered<TaskId, Vec<TaskId>>,
    /// `phase_N`: how far each phase is, and its merge.
    #[serde(default)]
    pub checkpoints: Ordered<String, PhaseCheckpoint>,
    /// Counts over all tasks.
    #[serde(default)]
    pub metrics: Metrics,
    /// How the run behaves.
    #[serde(default)]
    pub config: WindowConfig,
}

/// Where the run is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// The phase that is being worked on, from 0.
    pub current_phase: u32,
    /// The worktree of that phase; null until it is made.
    pub worktree: Option<String>,
    /// When the run began.
    pub started_at: Stamp,
    /// When something last happened in it.
    pub last_updated: Stamp,
}

/// Every task is in exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskLists {
    /// Its dependencies or its phase hold it.
    pub pending: Vec<TaskId>,
    /// It may be started.
    pub ready: Vec<TaskId>,
    /// An attempt is under way.
    pub in_progress: Vec<TaskId>,
    /// Done; never started again.
    pub completed: Vec<TaskId>,
    /// Out of retries, or skipped.
    pub failed: Vec<TaskId>,
    /// A task that it depends on has failed.
    pub blocked: Vec<TaskId>,
}

/// How far one phase is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseCheckpoint {
    /// When its first task could start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Stamp>,
    /// When all of its tasks were completed; absent while some are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Stamp>,
    /// How many tasks it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_count: Option<u32>,
    /// Its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<TaskId>>,
    /// "completed/total".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Whether its work is merged into the branch that the run started on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<bool>,
    /// The first seven digits of the merge commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge_commit: Option<String>,
}

/// Counts over all tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Tasks in TASKS.md.
    pub total_tasks: u64,
    /// Completed tasks.
    pub completed_count: u64,
    /// Failed tasks.
    pub failed_count: u64,
    /// Mean wall time of completed tasks over all their attempts.
    pub average_task_time_seconds: u64,
}

/// How the run behaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Config")]
pub struct WindowConfig {
    /// How many tasks may be in progress at once; 0 is no limit.
    pub max_parallel: u32,
    /// Retries after a task's first try.
    pub retry_limit: u32,
    /// A Slack webhook, or `env:NAME` to take it from the environment.
    pub slack_webhook_url: Option<String>,
}

impl Default for WindowConfig {
    fn default() -> Self {
        let settings = Settings::default();
        Self {
            max_parallel: settings.max_parallel,
            retry_limit: settings.retry_limit,
            slack_webhook_url: None,
        }
    }
}

impl PhaseCheckpoint {
    /// Whether all of its tasks were merged: without some of them it has no `completed_at`.
    fn is_merged(&self) -> bool {
        self.merged == Some(true) && self.completed_at.is_some()
    }
}

impl TaskLists {
    pub fn of(&self, status: TaskStatus) -> &Vec<TaskId> {
        match status {
            TaskStatus::Pending => &self.pending,
            TaskStatus::Ready => &self.ready,
            TaskStatus::InProgress => &self.in_progress,
            TaskStatus::Completed => &self.completed,
            TaskStatus::Failed => &self.failed,
            TaskStatus::Blocked => &self.blocked,
        }
    }

    fn of_mut(&mut self, status: TaskStatus) -> &mut Vec<TaskId> {
        match status {
            TaskStatus::Pending => &mut self.pending,
            TaskStatus::Ready => &mut self.ready,
            TaskStatus::InProgress => &mut self.in_progress,
            TaskStatus::Completed => &mut self.completed,
            TaskStatus::Failed => &mut self.failed,
            TaskStatus::Blocked => &mut self.blocked,
        }
    }
}

impl Active {
    /// The file that shows this state; a function of the state alone.
    pub fn render(&self) -> RunState {
        let (mut tasks, mut stated) = (TaskLists::default(), Vec::new());
        for task in self.listed() {
            let id = TaskId::known(task.id);
            let named: Vec<TaskId> = task.stated().map(TaskId::known).collect();
            if !named.is_empty() {
                stated.push((id.clone(), named));
            }
            tasks.of_mut(task.status()).push(id);
        }
        let dependencies = Ordered::of_distinct(stated);
        RunState { tasks, dependencies, ..self.render_around(true) }
    }

    /// The file with empty lists wherever it lists tasks.
    pub fn render_without_tasks(&self) -> RunState {
        self.render_around(false)
    }

    /// The tasks as the file lists them, from the graph alone: no task itself is looked at.
    pub fn listed(&self) -> impl ExactSizeIterator<Item = ListedTask<'_>> {
        let graph = &self.graph;
        (0..graph.task_count()).map(move |position| ListedTask {
            id: graph.id_text(position),
            position,
            graph,
        })
    }

    /// The ids of one phase's tasks, as they stand in the file.
    pub fn listed_in(&self, phase: u32) -> impl Iterator<Item = &str> {
        self.graph.tasks_of(phase).iter().map(|position| self.graph.id_text(*position as usize))
    }

    /// Everything but the lists of tasks and what they depend on.
    fn render_around(&self, has_lists: bool) -> RunState {
        let count = |status| self.count(status) as u64;
        RunState {
            version: "2.0".into(),
            mode: Some(self.settings().mode),
            project: self.plan().project.clone(),
            execution: Execution {
                current_phase: self.current_phase(),
                worktree: self.worktree(),
                started_at: self.started_at().into(),
                last_updated: self.updated_at().into(),
            },
            tasks: TaskLists::default(),
            dependencies: Ordered::default(),
            checkpoints: self
                .phases()
                .filter_map(|(number, stage)| {
                    Some((format!("phase_{number}"), self.checkpoint(number, stage, has_lists)?))
                })
                .collect(),
            metrics: Metrics {
                total_tasks: self.plan().tasks.len() as u64,
                completed_count: count(TaskStatus::Completed),
                failed_count: count(TaskStatus::Failed),
                average_task_time_seconds: self.average_task_seconds(),
            },
            config: WindowConfig {
                max_parallel: self.settings().max_parallel,
                retry_limit: self.settings().retry_limit,
                slack_webhook_url: self.settings().slack_webhook_url.as_deref().and_then(reference),
            },
        }
    }

    fn checkpoint(
        &self,
        number: u32,
        stage: &PhaseStage,
        has_lists: bool,
    ) -> Option<PhaseCheckpoint> {
        let progress = self.progress(number);
        let so_far = Some(format!("{}/{}", progress.completed, progress.total));
        match stage {
            PhaseStage::Waiting => None,
            PhaseStage::Open { since } | PhaseStage::Ending { since, .. } => {
                Some(PhaseCheckpoint {
                    started_at: Some((*since).into()),
                    progress: so_far,
                    ..PhaseCheckpoint::default()
                })
            }
            PhaseStage::Closed { since, at, merge_commit, merged_elsewhere } => {
                let is_complete = progress.completed == progress.total;
                Some(PhaseCheckpoint {
                    started_at: Some((*since).into()),
                    completed_at: is_complete.then_some((*at).into()),
                    tasks_count: u32::try_from(progress.total).ok(),
                    tasks: Some(match has_lists {
                        true => self.listed_in(number).map(TaskId::known).collect(),
                        false => Vec::new(),
                    }),
                    progress: if is_complete { None } else { so_far },
                    merged: Some(merge_commit.is_some() || *merged_elsewhere),
                    merge_commit: merge_commit
                        .as_ref()
                        .map(|commit| commit.chars().take(7).collect()),
                })
            }
        }
    }
}

/// A task as the file lists it.
#[derive(Debug)]
pub struct ListedTask<'a> {
    pub id: &'a str,
    position: usize,
    graph: &'a Graph,
}

impl<'a> ListedTask<'a> {
    pub fn status(&self) -> TaskStatus {
        self.graph.status(self.position)
    }

    /// The ids that it names as its dependencies.
    pub fn stated(&self) -> impl Iterator<Item = &'a str> {
        let graph = self.graph;
        graph.stated(self.position).map(move |at| graph.id_text(at))
    }
}

impl Document for RunState {
    const KIND: Kind = Kind::RunState;

    /// A file that contradicts itself is read all the same:
    /// completed wins over failed over in progress, the rest is derived.
    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        if !(self.version == "2.0" || self.version.starts_with("1.")) {
            findings.push(
                Diagnostic::error(
                    "unknown_version",
                    format!("version {} is not known", self.version),
                )
                .path("version")
                .expected("\"2.0\""),
            );
        }
        if self.version.starts_with("1.") {
            let message = format!("version {} is read as mode `normal`", self.version);
            findings.push(Diagnostic::warning("old_version", message).path("version"));
        }
        self.check_lists(&mut findings);
        self.check_merged(&mut findings);
        let settled = self.settled();
        let counted = [
            ("completed_count", self.metrics.completed_count, TaskStatus::Completed),
            ("failed_count", self.metrics.failed_count, TaskStatus::Failed),
        ];
        for (field, said, status) in counted {
            let found = settled.values().filter(|each| **each == status).count() as u64;
            if said != found {
                let message =
                    format!("`{field}` is {said}, but {found} tasks are {status}; counted again");
                findings.push(
                    Diagnostic::warning("wrong_count", message).path(format!("metrics.{field}")),
                );
            }
        }
        findings
    }
}

impl RunState {
    fn check_lists(&self, findings: &mut Vec<Diagnostic>) {
        let mut first: HashMap<&TaskId, TaskStatus> = HashMap::new();
        let strongest_first = [
            TaskStatus::Completed,
            TaskStatus::Failed,
            TaskStatus::InProgress,
            TaskStatus::Ready,
            TaskStatus::Blocked,
            TaskStatus::Pending,
        ];
        for status in strongest_first {
            for (at, id) in self.tasks.of(status).iter().enumerate() {
                if let Some(winner) = first.get(id) {
                    let message =
                        format!("{id} is in `{status}` and in `{winner}`; read as {winner}");
                    findings.push(
                        Diagnostic::warning("contradiction", message)
                            .path(format!("tasks.{status}[{at}]")),
                    );
                } else {
                    first.insert(id, status);
                }
            }
        }
    }

    /// Work that was merged is completed, whatever the lists say.
    fn check_merged(&self, findings: &mut Vec<Diagnostic>) {
        let listed: HashSet<&TaskId> = self.tasks.completed.iter().collect();
        for (key, phase) in self.checkpoints.iter().filter(|(_, phase)| phase.is_merged()) {
            for (at, id) in phase.tasks.iter().flatten().enumerate() {
                if !listed.contains(id) {
                    let message = format!(
                        "{id} was merged with {key} but is not in `completed`; read as completed"
                    );
                    findings.push(
                        Diagnostic::warning("contradiction", message)
                            .path(format!("checkpoints.{key}.tasks[{at}]")),
                    );
                }
            }
        }
    }

    /// What each task is after contradictions are settled; only what the graph cannot tell.
    pub fn settled(&self) -> HashMap<TaskId, TaskStatus> {
        let mut settled = HashMap::new();
        for status in [TaskStatus::InProgress, TaskStatus::Failed, TaskStatus::Completed] {
            settled.extend(self.tasks.of(status).iter().map(|id| (id.clone(), status)));
        }
        let merged = self.checkpoints.values().filter(|phase| phase.is_merged());
        let merged = merged.flat_map(|phase| phase.tasks.iter().flatten());
        settled.extend(merged.map(|id| (id.clone(), TaskStatus::Completed)));
        settled
    }

    pub fn settings(&self, defaults: &Settings) -> Settings {
        let mode = if self.version.starts_with("1.") { Some(Mode::Normal) } else { self.mode };
        Settings {
            mode: mode.unwrap_or(defaults.mode),
            max_parallel: self.config.max_parallel,
            retry_limit: self.config.retry_limit,
            slack_webhook_url: self.config.slack_webhook_url.as_deref().and_then(reference),
            ..defaults.clone()
        }
    }

    /// What the file says of times and merged phases; `time` tells when a stamp was.
    pub fn before(&self, time: impl Fn(&Stamp) -> Time) -> Before {
        let started_at = time(&self.execution.started_at);
        let phase = |(key, phase): (&String, &PhaseCheckpoint)| {
            let number: u32 = key.strip_prefix("phase_")?.parse().ok()?;
            let since = phase.started_at.as_ref().map_or(started_at, &time);
            let is_over = phase.merged.is_some() || phase.completed_at.is_some();
            if !is_over {
                return Some((number, PhaseStage::Open { since }));
            }
            let end = phase.completed_at.as_ref().unwrap_or(&self.execution.last_updated);
            let (at, merge_commit) = (time(end), phase.merge_commit.clone());
            let merged_elsewhere = phase.merged == Some(true) && merge_commit.is_none();
            Some((number, PhaseStage::Closed { since, at, merge_commit, merged_elsewhere }))
        };
        let seconds = self.metrics.average_task_time_seconds;
        Before {
            started_at: Some(started_at),
            task_seconds: (seconds > 0).then_some(seconds),
            phases: self.checkpoints.iter().filter_map(phase).collect(),
        }
    }

    /// A plan from the file alone, for a project whose TASKS.md is gone.
    pub fn to_plan(&self) -> Result<Plan, Vec<crate::run::PlanError>> {
        let mut phase_of: HashMap<&TaskId, u32> = HashMap::new();
        for (key, phase) in self.checkpoints.iter() {
            let number = key.strip_prefix("phase_").and_then(|number| number.parse().ok());
            for id in phase.tasks.iter().flatten() {
                phase_of.extend(number.map(|number| (id, number)));
            }
        }
        let mut seen = HashSet::new();
        let listed = TaskStatus::ALL.into_iter().flat_map(|status| self.tasks.of(status));
        let merged = self.checkpoints.values().flat_map(|phase| phase.tasks.iter().flatten());
        let tasks = listed
            .chain(merged)
            .filter(|id| seen.insert((*id).clone()))
            .map(|id| PlannedTask {
                id: id.clone(),
                title: id.to_string(),
                phase: phase_of.get(id).copied().unwrap_or_else(|| phase_number(id)),
                depends: Depends::On(self.dependencies.get(id).cloned().unwrap_or_default()),
                ticked: false,
                priority: Priority::default(),
                line: 0,
                details: None,
            })
            .collect();
        Plan::new(self.project.clone(), BTreeMap::new(), tasks)
    }

    /// How much differs; used to find the rendering that an edit came from.
    pub fn difference(&self, other: &Self) -> usize {
        let (mine, others) = (self.settled(), other.settled());
        let changed = mine.iter().filter(|(id, status)| others.get(*id) != Some(*status)).count();
        let gone = others.keys().filter(|id| !mine.contains_key(*id)).count();
        let fields = [
            self.mode != other.mode,
            self.project != other.project,
            self.execution.current_phase != other.execution.current_phase,
            self.execution.started_at != other.execution.started_at,
            self.execution.last_updated != other.execution.last_updated,
            self.dependencies != other.dependencies,
            self.checkpoints != other.checkpoints,
            self.config != other.config,
        ];
        changed + gone + fields.into_iter().filter(|differs| *differs).count()
    }
}

/// The phase that an id names: `T1.3` is of phase 1, `P2-R1-T1` of phase 2.
pub(super) fn phase_number(id: &TaskId) -> u32 {
    let digits = id.as_str().trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(0)
}

/// Translates the difference between a rendering and an edited file into commands.
///
/// An empty list: nothing that matters was changed. An error: every reason why the edit cannot be
/// taken over.
pub fn translate(
    base: &RunState,
    edited: &RunState,
    settings: &Settings,
) -> Result<Vec<Command>, Vec<Rejected>> {
    let mut refusals = refused_fields(base, edited);
    let mut commands = Vec::new();
    let (before, after) = (base.settled(), edited.settled());
    let known: HashSet<&TaskId> =
        TaskStatus::ALL.into_iter().flat_map(|status| base.tasks.of(status)).collect();
    let mut ids: Vec<&TaskId> = before.keys().chain(after.keys()).collect();
    ids.sort();
    ids.dedup();
    for id in ids {
        if !known.contains(id) {
            refusals.push(Rejected::rule(
                Code::EditRefused,
                format!("tasks: {id} is not a task of this run"),
            ));
            continue;
        }
        match translate_task(id, before.get(id).copied(), after.get(id).copied()) {
            Ok(command) => commands.extend(command),
            Err(reason) => refusals.push(reason),
        }
    }
    // What is reopened or started comes after what is finished, so that order cannot matter.
    commands.sort_by_key(|command| match command {
        Command::Satisfy { .. } | Command::Done { .. } => 0,
        Command::Fail { .. } | Command::Skip { .. } => 1,
        Command::Retry { .. } => 2,
        _ => 3,
    });
    let wanted = edited.settings(settings);
    if edited.config != base.config || edited.mode != base.mode {
        commands.push(Command::Configure { settings: wanted });
    }
    if refusals.is_empty() { Ok(commands) } else { Err(refusals) }
}

fn refused_fields(base: &RunState, edited: &RunState) -> Vec<Rejected> {
    let mut refusals = Vec::new();
    let mut refuse = |differs: bool, reason: &str| {
        if differs {
            refusals.push(Rejected::rule(Code::EditRefused, reason));
        }
    };
    refuse(base.project != edited.project, "project: it is the name in TASKS.md");
    refuse(
        base.execution.current_phase != edited.execution.current_phase,
        "execution.current_phase: it follows from the tasks",
    );
    refuse(
        base.execution.started_at != edited.execution.started_at
            || base.execution.worktree != edited.execution.worktree,
        "execution: started_at and worktree are what the journal says",
    );
    refuse(base.dependencies != edited.dependencies, "dependencies: change them in TASKS.md");
    refuse(
        base.checkpoints != edited.checkpoints,
        "checkpoints: a phase is merged by Waypost, not by an edit",
    );
    refusals
}

/// What a task's move from one list to another asks for. `None` stands for the derived lists.
fn translate_task(
    id: &TaskId,
    before: Option<TaskStatus>,
    after: Option<TaskStatus>,
) -> Result<Option<Command>, Rejected> {
    use TaskStatus as S;
    let id = id.clone();
    Ok(match (before, after) {
        (before, after) if before == after => None,
        (_, Some(S::Completed)) => Some(Command::Satisfy { id }),
        (Some(S::InProgress), Some(S::Failed)) => {
            let text = "failed by an edit of the state file".to_owned();
            let class = crate::retry::FailureClass::Critical;
            let failure = Failure { text, class, ..Failure::default() };
            Some(Command::Fail { id, attempt: None, failure })
        }
        (None, Some(S::Failed)) => Some(Command::Skip { id }),
        (Some(S::Failed), None) => Some(Command::Retry { id }),
        (None, Some(S::InProgress)) => Some(Command::Start { id }),
        (Some(S::Completed), _) => {
            let message = format!("tasks: {id} is completed and is not done again");
            return Err(Rejected::rule(Code::EditRefused, message));
        }
        (Some(S::InProgress), None) => {
            let message = format!("tasks: {id} is in progress, and an edit does not give it up");
            return Err(Rejected::rule(Code::EditRefused, message).next(NextStep::FailTask { id }));
        }
        (Some(S::Failed), Some(S::InProgress)) => {
            let message = format!("tasks: {id} has failed; it is retried before it is started");
            return Err(Rejected::rule(Code::EditRefused, message).next(NextStep::RetryTask { id }));
        }
        (from, to) => {
            let message = format!("tasks: {id} from {from:?} to {to:?} is no legal step");
            return Err(Rejected::rule(Code::EditRefused, message));
        }
    })
}
