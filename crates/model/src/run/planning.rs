//! What begins a run, and what becomes of it when TASKS.md changes.

use crate::{
    actor::Actor,
    evidence::Evidence,
    id::TaskId,
    machine::{Decision, Rejected},
    run::{
        Active, Command, Event, FailReason, PhaseStage, Plan, Settings,
        state::{Core, Stage, Task},
        trail::Usage,
    },
    time::Time,
};
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) fn begin(
    found: Option<&Active>,
    plan: &Plan,
    settings: &Settings,
) -> Result<Decision<Event>, Rejected> {
    if found.is_some_and(|active| !active.is_over()) {
        return Err(Rejected::rule("a run is under way")
            .next("waypost run --resume, or --rebuild-state by a person"));
    }
    needs_tasks(plan)?;
    let ticked = plan
        .tasks
        .iter()
        .filter(|task| task.ticked)
        .map(|task| completed_event(&task.id, Evidence::Box));
    let begun = Event::Begun { plan: plan.clone(), settings: settings.clone() };
    Ok(Decision::events([begun].into_iter().chain(ticked)))
}

pub(super) fn adopt(
    found: Option<&Active>,
    command: &Command,
    by: &Actor,
) -> Result<Decision<Event>, Rejected> {
    let Command::Adopt { plan, settings, completed, failed } = command else {
        return Err(Rejected::rule("not an adoption"));
    };
    if !by.is_person() {
        return Err(Rejected::reserved("adopting a state file"));
    }
    let mut events = begin(found, plan, settings)?.events;
    let ticked = plan.tasks.iter().filter(|task| task.ticked).map(|task| &task.id);
    // What is not in the plan, or was already said, leads to no event; completed wins over failed.
    let mut said: HashSet<&TaskId> = ticked.collect();
    let planned: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    for id in completed {
        if planned.contains(id) && said.insert(id) {
            events.push(completed_event(id, Evidence::Forced));
        }
    }
    for id in failed {
        if planned.contains(id) && said.insert(id) {
            let (reason, text) = (FailReason::Forced, "failed in the adopted file".to_owned());
            events.push(Event::TaskFailed { id: id.clone(), reason, text });
        }
    }
    Ok(Decision::events(events))
}

/// A task that counts as completed without an attempt of ours.
pub(super) fn completed_event(id: &TaskId, evidence: Evidence) -> Event {
    Event::TaskCompleted { id: id.clone(), evidence, commit: None }
}

fn needs_tasks(plan: &Plan) -> Result<(), Rejected> {
    if plan.tasks.is_empty() {
        return Err(Rejected::rule("the plan has no task").next("waypost validate TASKS.md"));
    }
    Ok(())
}

impl Active {
    pub(super) fn replan(&self, plan: &Plan) -> Result<Decision<Event>, Rejected> {
        needs_tasks(plan)?;
        let kept: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
        let lost = self.running().find(|view| !kept.contains(&view.planned.id));
        match lost {
            Some(view) => Err(Rejected::rule(format!(
                "{} is in progress but no longer in the plan",
                view.planned.id
            ))
            .next(format!("waypost run fail {}", view.planned.id))),
            None => Ok(self.replace_plan(plan)),
        }
    }

    fn replace_plan(&self, plan: &Plan) -> Decision<Event> {
        if plan.is_same_work(&self.core.plan) {
            return Decision::nothing();
        }
        let replanned = Decision::events([Event::Replanned { plan: plan.clone() }]);
        self.settle_missing(plan).into_iter().fold(replanned, Decision::with)
    }

    pub(super) fn rebuild(
        &self,
        plan: &Plan,
        completed: &[(TaskId, Evidence)],
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("rebuilding the state"));
        }
        needs_tasks(plan)?;
        let replaced = self.replace_plan(plan);
        let mut decision = Decision { effects: replaced.effects, ..self.interrupt() };
        decision.events.extend(replaced.events);
        let mut done: HashMap<&TaskId, Evidence> =
            completed.iter().map(|(id, evidence)| (id, evidence.clone())).collect();
        for task in plan.tasks.iter() {
            let ticked = task.ticked.then_some(Evidence::Box);
            if let Some(evidence) = done.remove(&task.id).or(ticked)
                && !self.is_completed(&task.id)
            {
                decision.events.push(completed_event(&task.id, evidence));
            }
        }
        Ok(decision)
    }

    /// Whether a task was ever completed, also one that the present plan leaves out.
    fn is_completed(&self, id: &TaskId) -> bool {
        let here = self.graph.position(id).and_then(|at| self.core.tasks.get(at));
        let task = here.or_else(|| self.core.away.get(id));
        task.is_some_and(|task| matches!(task.stage, Stage::Completed(_)))
    }

    /// The same run over another plan; tasks keep what they have by id, also while they are away.
    pub(super) fn replanned(self, plan: Plan) -> Self {
        let ids = self.core.plan.tasks.iter().map(|task| task.id.clone());
        let mut known: BTreeMap<TaskId, Task> = self.core.away;
        known.extend(ids.zip(self.core.tasks));
        let tasks =
            plan.tasks.iter().map(|task| known.remove(&task.id).unwrap_or_default()).collect();
        known.retain(|_, task| *task != Task::default());
        known.values_mut().for_each(Task::forget_questions);
        let mut phases = self.core.phases;
        phases.retain(|number, _| plan.phases.contains_key(number));
        for number in plan.phases.keys() {
            phases.entry(*number).or_insert(PhaseStage::Waiting);
        }
        Self::new(Core { plan, tasks, phases, away: known, ..self.core })
    }
}

impl Core {
    pub(super) fn new(plan: Plan, settings: Settings, at: Time) -> Self {
        Self {
            settings,
            started_at: at,
            updated_at: at,
            current_phase: plan.phases.keys().next().copied().unwrap_or(0),
            phases: plan.phases.keys().map(|number| (*number, PhaseStage::Waiting)).collect(),
            tasks: vec![Task::default(); plan.tasks.len()],
            away: BTreeMap::new(),
            usage: Usage::default(),
            bases: BTreeMap::new(),
            plan,
        }
    }
}
