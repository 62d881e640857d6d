//! How a run stands: what each task and phase is doing, and what follows from the graph.
//!
//! Only what the graph cannot tell is stored (`Run::core`); whether a task is pending, ready or
//! blocked is derived and kept up to date by counters, so a change costs as much as the task has
//! dependents, whatever the size of the run.

use crate::{
    evidence::Evidence,
    id::TaskId,
    image::Counts,
    machine::{Asked, Machine as _, Rejected},
    paged::{Counted, Paged},
    run::{
        Command, Plan, PlannedTask,
        graph::{Graph, Standing},
        sequence::{Away, Past, RunBrief},
        trail::{Budget, Trail, Usage},
    },
    time::Time,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// The run of one repository: none yet, or one that is under way or over.
#[derive(Debug, Default)]
pub struct Run {
    pub(super) active: Option<Active>,
}

/// A run with everything derived from it.
#[derive(Debug)]
pub struct Active {
    pub(super) core: Core,
    pub(super) graph: Graph,
    /// Whether no image was taken since its plan was made.
    pub(super) is_new: bool,
}

/// What is stored of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Core {
    /// The first run of a repository is 1; each later one counts on.
    #[serde(default = "first")]
    pub number: u32,
    pub plan: Plan,
    pub settings: Settings,
    pub started_at: Time,
    pub updated_at: Time,
    pub current_phase: u32,
    pub phases: BTreeMap<u32, PhaseStage>,
    /// By position in the plan.
    pub tasks: Paged<Task>,
    /// Tasks that a later plan of this run left out: should they come back, a completed one that
    /// still says the same is not done again, and attempts go on counting.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub away: BTreeMap<TaskId, Away>,
    /// What earlier runs left of each task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub past: BTreeMap<TaskId, Past>,
    /// The runs before this one, the first first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<RunBrief>,
    /// What all agents have used up.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// Phases that have a branch and a work tree of their own, with the commit they were made from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bases: BTreeMap<u32, String>,
    /// What a person has allowed for all of the run.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub permits: BTreeSet<String>,
}

/// How a run behaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub mode: Mode,
    /// How many tasks may be in progress at once; 0 is no limit.
    pub max_parallel: u32,
    /// Retries after a task's first try.
    pub retry_limit: u32,
    /// Passes over one task in ralph mode.
    pub max_iterations: u32,
    /// Ends a task early when the same error comes up this often in a row, in attempts that were
    /// told of it; 0 is never.
    pub same_error_limit: u32,
    pub isolation: Isolation,
    /// The branch that the work of phases is merged into; none where the project folder itself is
    /// worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Which Slack webhook is configured, as far as it may be shown: `env:NAME`.
    pub slack_webhook_url: Option<String>,
    /// Who works on tasks that name no agent and have no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What all model agents together may spend.
    #[serde(default, skip_serializing_if = "Budget::is_unset")]
    pub budget: Budget,
    /// The line by which an agent says in ralph mode that its task is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_promise: Option<String>,
}

/// What happens between tasks and phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Stops at each phase end and asks.
    Normal,
    /// Never asks.
    #[default]
    UltraThin,
    /// Repeats each task until its verification passes.
    Ralph,
}

/// Where the work of a task happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the project folder itself.
    #[default]
    None,
    /// In one worktree per phase.
    Phase,
    /// In a worktree per attempt.
    Task,
    /// No engine and no agent has worked yet; decided when the first one starts.
    Undecided,
}

impl Isolation {
    /// Whether work is done in work trees of the run's own, and merged from there.
    pub fn has_trees(self) -> bool {
        match self {
            Self::Phase | Self::Task => true,
            Self::None | Self::Undecided => false,
        }
    }
}

/// One task of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Task {
    pub stage: Stage,
    /// How often it was started; only grows, and fences off an attempt that comes late.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// How many of those were in earlier runs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts_before: u32,
    /// How many were retries of the present round.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// The attempt whose work tree is its own: one that goes on in the same conversation goes on
    /// in the same place. 0: none has one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tree: u32,
    /// Wall time of all its attempts.
    #[serde(default, skip_serializing_if = "is_zero_u64")]
    pub spent_ms: u64,
    /// The last failure and how often it came in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Box<LastFailure>>,
    /// What model agents left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trail: Option<Box<Trail>>,
}

/// What a task did last, beyond what the graph says about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// Waits: for its dependencies, its phase, a retry's delay or a start.
    #[default]
    Open,
    /// An attempt is under way.
    Running { since: Time },
    /// Final: it is never started again, unless its work was taken out.
    /// Behind a pointer, so that the many tasks that only wait have no room for it.
    Completed(Box<Completion>),
    /// Out of tries, or taken out; `retry` opens it again.
    Failed { reason: FailReason },
}

/// What a completed task has to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Completion {
    pub evidence: Evidence,
    /// What brought its work into its phase's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Box<str>>,
}

/// Why a task counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
    /// Every retry was used.
    Exhausted,
    /// The same error kept coming.
    SameError,
    /// Another try could not help.
    Hopeless,
    /// Taken out by `run skip`.
    Skipped,
    /// Set by an edit of the state file.
    Forced,
    /// Completed, and its work taken out again by `run revert`.
    Reverted,
}

impl fmt::Display for FailReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exhausted => "every retry was used",
            Self::SameError => "the same error kept coming",
            Self::Hopeless => "another try could not help",
            Self::Skipped => "skipped",
            Self::Forced => "set in the state file",
            Self::Reverted => "its work was taken out",
        })
    }
}

/// What the last failed attempt left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastFailure {
    pub text: String,
    /// Exit code and last lines, digits and paths aside.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// How often this signature came in a row.
    pub in_a_row: u32,
    /// The earliest time for the next attempt.
    pub not_before: Time,
    /// Which attempt it was; 0 where an older journal did not say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
}

/// Where a phase is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStage {
    /// Not reached.
    Waiting,
    /// Its tasks may run.
    Open { since: Time },
    /// Its tasks are settled; its end is not.
    Ending { since: Time, step: EndStep, merge_commit: Option<String> },
    Closed {
        since: Time,
        at: Time,
        merge_commit: Option<String>,
        /// An adopted file said that it was merged, and not by which commit.
        #[serde(default, skip_serializing_if = "is_false")]
        merged_elsewhere: bool,
    },
}

/// What a phase's end waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStep {
    /// Checks and the merge.
    Joining,
    /// Those failed; a person has to fix it.
    Stopped,
    /// A person's word, in normal mode.
    Approval,
}

/// The six states that the seed's file shows.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Pending,
    Ready,
    InProgress,
    Completed,
    Failed,
    Blocked,
}

impl TaskStatus {
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Ready,
        Self::InProgress,
        Self::Completed,
        Self::Failed,
        Self::Blocked,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::UltraThin => "ultra-thin",
            Self::Ralph => "ralph",
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            max_parallel: 0,
            retry_limit: 10,
            max_iterations: 50,
            same_error_limit: 3,
            isolation: Isolation::default(),
            target: None,
            slack_webhook_url: None,
            agent: None,
            budget: Budget::Unset,
            completion_promise: None,
        }
    }
}

/// A task as readers see it.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    pub planned: &'a PlannedTask,
    pub status: TaskStatus,
    /// In all runs.
    pub attempts: u32,
    /// In earlier runs.
    pub attempts_before: u32,
    pub retries: u32,
    pub since: Option<Time>,
    pub evidence: Option<&'a Evidence>,
    pub reason: Option<FailReason>,
    pub last_failure: Option<&'a LastFailure>,
    pub trail: Option<&'a Trail>,
    /// The attempt whose work tree is the task's.
    pub tree: Option<u32>,
    /// What brought its work into its phase's branch.
    pub commit: Option<&'a str>,
}

impl Run {
    /// Before the first run.
    pub const fn none() -> Self {
        Self { active: None }
    }

    /// A run as it would begin with these commands now, without a journal behind it.
    pub fn imagine<'a>(
        commands: impl IntoIterator<Item = &'a Command>,
        asked: &Asked<'_>,
    ) -> Result<Self, Rejected> {
        Self::none().imagine_next(commands, asked)
    }

    /// This run as it would be after these commands.
    pub fn imagine_next<'a>(
        &self,
        commands: impl IntoIterator<Item = &'a Command>,
        asked: &Asked<'_>,
    ) -> Result<Self, Rejected> {
        let core = self.active.as_ref().map(|active| active.core.clone());
        let mut run = Self { active: core.map(Active::new) };
        for command in commands {
            run.take(command, asked)?;
            while let Some(next) = run.follow_up() {
                run.take(&next, asked)?;
            }
        }
        Ok(run)
    }

    fn take(&mut self, command: &Command, asked: &Asked<'_>) -> Result<(), Rejected> {
        for event in self.decide(command, asked)?.events {
            self.apply(&event, asked.now);
        }
        Ok(())
    }

    /// The run, if there is one.
    pub fn active(&self) -> Option<&Active> {
        self.active.as_ref()
    }
}

impl Active {
    pub(super) fn new(core: Core) -> Self {
        let mut graph = Graph::new(&core.plan);
        for (position, task) in core.tasks.iter().enumerate() {
            if task.stage != Stage::Open {
                graph.set(position, task.stage.standing());
            }
        }
        graph.set_current(core.current_phase, core.current_is_open());
        Self { core, graph, is_new: true }
    }

    /// Which run of the repository it is, from 1.
    pub fn number(&self) -> u32 {
        self.core.number
    }

    pub fn plan(&self) -> &Plan {
        &self.core.plan
    }

    pub fn settings(&self) -> &Settings {
        &self.core.settings
    }

    pub fn started_at(&self) -> Time {
        self.core.started_at
    }

    pub fn updated_at(&self) -> Time {
        self.core.updated_at
    }

    pub fn current_phase(&self) -> u32 {
        self.core.current_phase
    }

    pub fn phases(&self) -> impl Iterator<Item = (u32, &PhaseStage)> {
        self.core.phases.iter().map(|(number, stage)| (*number, stage))
    }

    pub fn phase(&self, number: u32) -> Option<&PhaseStage> {
        self.core.phases.get(&number)
    }

    /// Whether nothing is left to do: everything is done, failed or cut off by a failure.
    pub fn is_over(&self) -> bool {
        let is_closed = |stage: &PhaseStage| matches!(stage, PhaseStage::Closed { .. });
        self.core.phases.values().all(is_closed) && self.graph.first_unsettled().is_none()
    }

    pub fn tasks(&self) -> impl Iterator<Item = TaskView<'_>> {
        (0..self.core.tasks.len()).map(|position| self.view(position))
    }

    /// The tasks of a phase that are not completed; the others are not looked at.
    pub fn unfinished_in(&self, phase: u32) -> impl Iterator<Item = TaskView<'_>> {
        let tasks = self.graph.tasks_of(phase).iter().map(|position| *position as usize);
        let unfinished = tasks.filter(|at| self.graph.status(*at) != TaskStatus::Completed);
        unfinished.map(|position| self.view(position))
    }

    /// The tasks that are parked, or were and have not been started since.
    pub fn parked(&self) -> impl Iterator<Item = TaskView<'_>> {
        let pages = self.graph.ready().filter(|at| self.core.tasks.counts_around(*at)[2] > 0);
        let tasks = pages.map(|position| self.view(position));
        tasks.filter(|view| view.trail.is_some_and(|trail| trail.parked.is_some()))
    }

    pub fn task(&self, id: &TaskId) -> Option<TaskView<'_>> {
        self.graph.position(id).map(|position| self.view(position))
    }

    /// Tasks that may be started now, the most urgent first, then as they stand in the file.
    pub fn ready(&self) -> impl Iterator<Item = TaskView<'_>> {
        self.graph.ready().map(|position| self.view(position))
    }

    /// What all agents of the run have used up.
    pub fn usage(&self) -> &Usage {
        &self.core.usage
    }

    /// What the tasks of one phase have cost, in millionths of a dollar.
    pub fn spent_in(&self, phase: u32) -> u64 {
        let views = self.graph.tasks_of(phase).iter().map(|at| self.view(*at as usize));
        views.filter_map(|view| view.trail).map(|trail| trail.usage.cost_micros).sum()
    }

    /// Whether the delay of a retry or a limit still holds the task.
    pub fn is_delayed(&self, id: &TaskId, now: Time) -> bool {
        let not_before = self.task(id).and_then(|view| view.not_before());
        not_before.is_some_and(|not_before| not_before > now)
    }

    pub fn count(&self, status: TaskStatus) -> usize {
        self.graph.count(status)
    }

    /// Total, completed, failed and blocked tasks of one phase.
    pub fn progress(&self, phase: u32) -> Progress {
        self.graph.progress(phase)
    }

    pub fn status(&self, position: usize) -> TaskStatus {
        self.graph.status(position)
    }

    pub(super) fn view(&self, position: usize) -> TaskView<'_> {
        let task = &self.core.tasks[position];
        TaskView {
            planned: &self.core.plan.tasks[position],
            status: self.graph.status(position),
            attempts: task.attempts,
            attempts_before: task.attempts_before,
            retries: task.retries,
            since: match task.stage {
                Stage::Running { since } => Some(since),
                _ => None,
            },
            evidence: match &task.stage {
                Stage::Completed(completion) => Some(&completion.evidence),
                _ => None,
            },
            reason: match task.stage {
                Stage::Failed { reason } => Some(reason),
                _ => None,
            },
            last_failure: task.last_failure.as_deref(),
            trail: task.trail.as_deref(),
            tree: (task.tree > 0).then_some(task.tree),
            commit: match &task.stage {
                Stage::Completed(completion) => completion.commit.as_deref(),
                _ => None,
            },
        }
    }

    /// Mean wall time of completed tasks over all their attempts, in whole seconds. Tasks that were
    /// never started took no time and say nothing about the others.
    pub fn average_task_seconds(&self) -> u64 {
        let [count, sum, _] = self.core.tasks.counts();
        if count == 0 { 0 } else { (sum + count * 500) / (count * 1_000) }
    }

    /// What waits for this task, directly.
    pub fn dependents(&self, id: &TaskId) -> Vec<&TaskId> {
        let Some(position) = self.graph.position(id) else { return Vec::new() };
        self.graph.dependents(position).map(|at| &self.core.plan.tasks[at].id).collect()
    }

    /// The ids of a phase's tasks of one status, without a look at the tasks themselves.
    pub fn ids_of(&self, phase: u32, status: TaskStatus) -> impl Iterator<Item = TaskId> {
        let tasks = self.graph.tasks_of(phase).iter().map(|position| *position as usize);
        let found = tasks.filter(move |position| self.status(*position) == status);
        found.map(|position| self.graph.id(position))
    }

    /// The tasks of one status, as they stand in the file.
    pub fn tasks_with(&self, status: TaskStatus) -> impl Iterator<Item = TaskView<'_>> {
        // Most runs have few or none of these: a count is cheaper than a look at every task.
        let count = self.count(status);
        let found = if count == 0 { None } else { Some(self.graph.with(status)) };
        found.into_iter().flatten().take(count).map(|position| self.view(position))
    }
}

/// How far a phase is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub total: usize,
    pub completed: usize,
    pub failed: usize,
    pub blocked: usize,
}

impl Progress {
    /// Whether nothing in the phase can change any more by itself.
    pub fn is_settled(self) -> bool {
        self.completed + self.failed + self.blocked == self.total
    }
}

/// How many tasks were completed and timed, how long these took, and how many are parked.
impl Counted for Task {
    fn counts(&self) -> Counts {
        let is_done = matches!(self.stage, Stage::Completed(_));
        let was_timed = self.attempts > self.attempts_before || self.spent_ms > 0;
        let is_parked = self.trail.as_ref().is_some_and(|trail| trail.parked.is_some());
        let is_counted = is_done && was_timed;
        [is_counted.into(), if is_counted { self.spent_ms } else { 0 }, is_parked.into()]
    }
}

impl Core {
    pub(super) fn current_is_open(&self) -> bool {
        matches!(self.phases.get(&self.current_phase), Some(PhaseStage::Open { .. }))
    }
}

impl Stage {
    pub(super) fn standing(&self) -> Standing {
        match self {
            Self::Open => Standing::Open,
            Self::Running { .. } => Standing::Running,
            Self::Completed(_) => Standing::Completed,
            Self::Failed { .. } => Standing::Failed,
        }
    }
}

/// Only the core is stored; the graph is built from it again.
impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.active.as_ref().map(|active| &active.core).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let core = Option::<Core>::deserialize(deserializer)?;
        if core.as_ref().is_some_and(|core| core.tasks.len() != core.plan.tasks.len()) {
            return Err(serde::de::Error::custom("a run's tasks do not match its plan"));
        }
        Ok(Self { active: core.map(Active::new) })
    }
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(super) fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero_u64(value: &u64) -> bool {
    *value == 0
}
