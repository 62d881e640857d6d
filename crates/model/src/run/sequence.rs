//! One run after another: what a run knows of those before it, and when the next one begins.
//!
//! All runs of a repository are in one stream. The next one keeps what earlier ones know of each
//! task: attempts go on counting, so that logs, work trees and late attempts never meet, and what
//! was completed and still says the same is not done again.

use crate::{
    evidence::Evidence,
    id::TaskId,
    run::{
        Active, Event, PhaseStage, Plan, PlannedTask, TaskStatus,
        state::{Completion, Core, Stage, Task},
        trail::Usage,
        wording::Wording,
    },
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What of earlier runs counts in a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// What is completed and still says the same stays completed.
    Counts,
    /// Everything is done again, but for boxes that a person has ticked.
    IsDoneAgain,
}

/// A run in one line, for the list of all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunBrief {
    pub number: u32,
    pub project: String,
    /// The file that its plan was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub started_at: Time,
    /// When something last happened in it.
    pub updated_at: Time,
    /// Whether nothing was left to do. A later run can begin although something was.
    pub is_over: bool,
    pub total: usize,
    pub completed: usize,
    pub failed: usize,
    pub blocked: usize,
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
}

/// A task that the present plan of a run leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Away {
    pub task: Task,
    pub says: Wording,
}

/// What earlier runs left of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Past {
    #[serde(default)]
    pub attempts: u32,
    /// Whether any run has completed it, whatever it said then: its box is then ticked by Waypost.
    #[serde(default)]
    pub was_completed: bool,
    /// What it has to show if the last run that had it has completed it, and what it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<(Wording, Box<Completion>)>,
}

impl Past {
    /// Takes in what a run that ends here knows of the task.
    fn note(&mut self, task: &Task, says: &Wording) {
        self.attempts = self.attempts.max(task.attempts);
        self.done = match &task.stage {
            Stage::Completed(completion) => Some((says.clone(), completion.clone())),
            _ => None,
        };
        // A box that a person ticked is not work that a run has completed.
        self.done.take_if(|(_, completion)| completion.evidence == Evidence::Box);
        self.was_completed |= self.done.is_some();
    }

    fn completion_of(&self, task: &PlannedTask) -> Option<&Completion> {
        let (says, completion) = self.done.as_ref()?;
        (*says == task.wording()).then_some(completion)
    }
}

impl Active {
    /// The runs before this one, the first first, and this one.
    pub fn runs(&self) -> impl Iterator<Item = RunBrief> + '_ {
        self.core.earlier.iter().cloned().chain([self.brief()])
    }

    fn brief(&self) -> RunBrief {
        RunBrief {
            number: self.core.number,
            project: self.core.plan.project.clone(),
            file: self.core.plan.source.as_ref().map(|source| source.path.clone()),
            started_at: self.core.started_at,
            updated_at: self.core.updated_at,
            is_over: self.is_over(),
            total: self.core.tasks.len(),
            completed: self.count(TaskStatus::Completed),
            failed: self.count(TaskStatus::Failed),
            blocked: self.count(TaskStatus::Blocked),
            usage: self.core.usage,
        }
    }

    /// The tasks of a plan that are new, or say something else than this run or an earlier one has
    /// completed or this one knows: reason enough for the next run.
    pub fn news(&self, plan: &Plan) -> Vec<TaskId> {
        let is_known = |task: &PlannedTask| {
            let here = self.graph.position(&task.id).map(|at| &self.core.plan.tasks[at]);
            here.is_some_and(|known| known.says_the_same(task))
                || self.completion_before(task).is_some()
        };
        plan.tasks.iter().filter(|task| !is_known(task)).map(|task| task.id.clone()).collect()
    }

    /// The tasks of a plan that this run has completed, and that say something else now.
    pub fn redefined(&self, plan: &Plan) -> Vec<TaskId> {
        let is_redefined = |task: &&PlannedTask| {
            let here = self.graph.position(&task.id);
            let here = here.map(|at| (&self.core.tasks[at], self.core.plan.tasks[at].wording()));
            let away = self.core.away.get(&task.id).map(|away| (&away.task, away.says.clone()));
            let Some((known, says)) = here.or(away) else { return false };
            match &known.stage {
                // What a person has ticked is as the person says.
                Stage::Completed(completion) if completion.evidence == Evidence::Box => {
                    !task.ticked && says != task.wording()
                }
                Stage::Completed(_) => says != task.wording(),
                _ => false,
            }
        };
        plan.tasks.iter().filter(is_redefined).map(|task| task.id.clone()).collect()
    }

    /// What a task that is not in the present plan has to show, if it says what was completed.
    fn completion_before(&self, task: &PlannedTask) -> Option<&Completion> {
        if self.graph.position(&task.id).is_some() {
            return None;
        }
        match self.core.away.get(&task.id) {
            Some(away) => match &away.task.stage {
                Stage::Completed(completion) => {
                    (away.says == task.wording()).then_some(completion.as_ref())
                }
                _ => None,
            },
            None => self.core.past.get(&task.id)?.completion_of(task),
        }
    }

    /// What is known of every task that this run or an earlier one had.
    fn known(&self) -> BTreeMap<TaskId, Past> {
        let mut known = self.core.past.clone();
        for (id, away) in &self.core.away {
            known.entry(id.clone()).or_default().note(&away.task, &away.says);
        }
        for (planned, task) in self.core.plan.tasks.iter().zip(self.core.tasks.iter()) {
            known.entry(planned.id.clone()).or_default().note(task, &planned.wording());
        }
        known
    }

    /// What completes tasks of the next run at its beginning: what earlier runs have done, as far
    /// as that counts, and boxes that a person has ticked.
    pub(super) fn carried_over(&self, plan: &Plan, earlier: Earlier) -> Vec<Event> {
        let known = self.known();
        let mut events = Vec::new();
        let mut is_whole: HashMap<u32, bool> = HashMap::new();
        for task in plan.tasks.iter() {
            let past = known.get(&task.id);
            let done = past.filter(|_| earlier == Earlier::Counts);
            let done = done.and_then(|past| past.completion_of(task));
            let is_ticked = task.ticked && past.is_none_or(|past| !past.was_completed);
            let (evidence, commit) = match done {
                Some(Completion { evidence, commit }) => (evidence.clone(), commit.as_deref()),
                None if is_ticked => (Evidence::Box, None),
                None => {
                    is_whole.insert(task.phase, false);
                    continue;
                }
            };
            is_whole.entry(task.phase).or_insert(true);
            let (id, commit) = (task.id.clone(), commit.map(str::to_owned));
            events.push(Event::TaskCompleted { id, evidence, commit });
        }
        let whole: BTreeSet<u32> =
            is_whole.into_iter().filter(|(_, whole)| *whole).map(|(phase, _)| phase).collect();
        events.extend(self.kept_phases(&whole));
        events
    }

    /// The tasks of a plan that are left to do where the next run begins with it.
    pub fn left_in_next<'p>(
        &self,
        plan: &'p Plan,
        earlier: Earlier,
    ) -> impl Iterator<Item = &'p PlannedTask> {
        let carried = self.carried_over(plan, earlier).into_iter();
        let done: BTreeSet<TaskId> = carried
            .filter_map(|event| match event {
                Event::TaskCompleted { id, .. } => Some(id),
                _ => None,
            })
            .collect();
        plan.tasks.iter().filter(move |task| !done.contains(&task.id))
    }

    /// A phase in which nothing is left to do stays as the run before has ended it.
    fn kept_phases(&self, whole: &BTreeSet<u32>) -> Option<Event> {
        let is_closed = |stage: &PhaseStage| matches!(stage, PhaseStage::Closed { .. });
        let phases: BTreeMap<u32, PhaseStage> = self
            .phases()
            .filter(|(number, stage)| whole.contains(number) && is_closed(stage))
            .map(|(number, stage)| (number, stage.clone()))
            .collect();
        let before = Before { phases, ..Before::default() };
        (before != Before::default()).then_some(Event::Restored { before })
    }

    /// What the next run begins with, as this one leaves it.
    pub(super) fn succeeded(self, mut core: Core) -> Core {
        core.number = self.core.number.saturating_add(1);
        core.past = self.known();
        let brief = self.brief();
        core.earlier = self.core.earlier;
        core.earlier.push(brief);
        for (planned, task) in core.plan.tasks.iter().zip(core.tasks.iter_mut()) {
            let attempts = core.past.get(&planned.id).map_or(0, |past| past.attempts);
            *task = Task::after(attempts);
        }
        core
    }
}

impl Task {
    /// A task that earlier runs have tried so often.
    pub(super) fn after(attempts: u32) -> Self {
        Self { attempts, attempts_before: attempts, ..Self::default() }
    }
}

/// What is known of a run from before its first event: from an adopted file, the commits of a
/// branch, or the run before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Before {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Mean wall time of the tasks that are completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phases: BTreeMap<u32, PhaseStage>,
}

impl Core {
    pub(super) fn restore(&mut self, before: &Before) {
        self.started_at = before.started_at.unwrap_or(self.started_at);
        for (number, stage) in &before.phases {
            if self.phases.contains_key(number) {
                self.phases.insert(*number, stage.clone());
            }
        }
        if let Some(seconds) = before.task_seconds {
            let done = |task: &&mut Task| matches!(task.stage, Stage::Completed(_));
            for task in self.tasks.iter_mut().filter(done) {
                task.spent_ms = seconds.saturating_mul(1_000);
            }
        }
    }
}
