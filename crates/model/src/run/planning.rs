//! What begins a run, and what becomes of it when TASKS.md changes.

use crate::{
    actor::Actor,
    code::Code,
    evidence::Evidence,
    id::TaskId,
    machine::{Decision, Rejected},
    next::NextStep,
    paged::Paged,
    run::{
        Active, Before, Command, Earlier, Event, FailReason, PhaseStage, Plan, PlannedTask,
        Settings,
        sequence::Away,
        state::{Core, Stage, Task},
        trail::Usage,
    },
    time::Time,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(super) fn begin(
    found: Option<&Active>,
    plan: &Plan,
    settings: &Settings,
) -> Result<Decision<Event>, Rejected> {
    if let Some(active) = found.filter(|active| !active.is_over()) {
        let number = active.number();
        return Err(Rejected::rule(Code::RunUnfinished, format!("run {number} is not finished"))
            .next(NextStep::ResumeRun)
            .next(NextStep::RebuildRun));
    }
    begun(found, plan, settings, Earlier::Counts)
}

/// Begins the next run; one that is not finished is given up, unless it has work that is not merged.
pub(super) fn begin_new(
    found: Option<&Active>,
    plan: &Plan,
    settings: &Settings,
    earlier: Earlier,
) -> Result<Decision<Event>, Rejected> {
    let Some(active) = found.filter(|active| !active.is_over()) else {
        return begun(found, plan, settings, earlier);
    };
    active.has_nothing_unmerged()?;
    let next = begun(found, plan, settings, earlier)?;
    let mut given_up = active.interrupt();
    given_up.events.extend(next.events);
    let effects = active.settle_phases();
    Ok(effects.into_iter().fold(given_up, Decision::with))
}

fn begun(
    found: Option<&Active>,
    plan: &Plan,
    settings: &Settings,
    earlier: Earlier,
) -> Result<Decision<Event>, Rejected> {
    needs_tasks(plan)?;
    let begun = Event::Begun { plan: plan.clone(), settings: settings.clone() };
    let done = match found {
        Some(active) => active.carried_over(plan, earlier),
        None => {
            let ticked = plan.tasks.iter().filter(|task| task.ticked);
            ticked.map(|task| completed_event(&task.id, Evidence::Box)).collect()
        }
    };
    Ok(Decision::events([begun].into_iter().chain(done)))
}

pub(super) fn adopt(
    found: Option<&Active>,
    command: &Command,
    by: &Actor,
) -> Result<Decision<Event>, Rejected> {
    let Command::Adopt { plan, settings, completed, failed, before } = command else {
        return Err(Rejected::misrouted("adoption"));
    };
    if !by.is_person() {
        return Err(Rejected::reserved("adopting a state file"));
    }
    let mut events = begin(found, plan, settings)?.events;
    let done = |event: &Event| match event {
        Event::TaskCompleted { id, .. } => Some(id.clone()),
        _ => None,
    };
    // What is not in the plan, or was already said, leads to no event; completed wins over failed.
    let mut said: HashSet<TaskId> = events.iter().filter_map(done).collect();
    let planned: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    for id in completed {
        if planned.contains(id) && said.insert(id.clone()) {
            events.push(completed_event(id, Evidence::Forced));
        }
    }
    for id in failed {
        if planned.contains(id) && said.insert(id.clone()) {
            let (reason, text) = (FailReason::Forced, "failed in the adopted file".to_owned());
            events.push(Event::TaskFailed { id: id.clone(), reason, text });
        }
    }
    events.extend(restored(before));
    Ok(Decision::events(events))
}

fn restored(before: &Before) -> Option<Event> {
    (*before != Before::default()).then(|| Event::Restored { before: before.clone() })
}

/// A task that counts as completed without an attempt of ours.
pub(super) fn completed_event(id: &TaskId, evidence: Evidence) -> Event {
    let commit = match &evidence {
        Evidence::Merged { commit } => Some(commit.clone()),
        _ => None,
    };
    Event::TaskCompleted { id: id.clone(), evidence, commit }
}

fn needs_tasks(plan: &Plan) -> Result<(), Rejected> {
    if plan.tasks.is_empty() {
        return Err(Rejected::rule(Code::PlanEmpty, "the plan has no task")
            .next(NextStep::ValidateFile { file: "TASKS.md".into() }));
    }
    Ok(())
}

impl Active {
    pub(super) fn replan(&self, plan: &Plan, keep_done: bool) -> Result<Decision<Event>, Rejected> {
        needs_tasks(plan)?;
        if !keep_done {
            self.keeps_its_word(plan)?;
        }
        let kept: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
        let lost = self.running().find(|view| !kept.contains(&view.planned.id));
        match lost {
            Some(view) => Err(Rejected::rule(
                Code::PlanLacksTask,
                format!("{} is in progress but no longer in the plan", view.planned.id),
            )
            .next(NextStep::FailTask { id: view.planned.id.clone() })),
            None => Ok(self.replace_plan(plan)),
        }
    }

    /// Refuses a plan in which a task that is completed says something else.
    fn keeps_its_word(&self, plan: &Plan) -> Result<(), Rejected> {
        const NAMED_MAX: usize = 5;
        let redefined = self.redefined(plan);
        let names: Vec<&str> = redefined.iter().take(NAMED_MAX).map(TaskId::as_str).collect();
        let more = redefined.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = match redefined.len() {
            0 => return Ok(()),
            1 => format!("{} is completed in run {} and says", names[0], self.number()),
            _ => {
                format!("{}{more} are completed in run {} and say", names.join(", "), self.number())
            }
        };
        Err(Rejected::rule(Code::PlanReworded, format!("{message} something else now"))
            .next(NextStep::BeginKeepingDone)
            .next(NextStep::BeginAfresh))
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
        (completed, before): (&[(TaskId, Evidence)], &Before),
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
        let mut before = before.clone();
        // What the journal says of a phase is more than its commits do.
        before
            .phases
            .retain(|number, _| !matches!(self.phase(*number), Some(PhaseStage::Closed { .. })));
        decision.events.extend(restored(&before));
        Ok(decision)
    }

    /// Whether a task was ever completed, also one that the present plan leaves out.
    fn is_completed(&self, id: &TaskId) -> bool {
        let here = self.graph.position(id).and_then(|at| self.core.tasks.get(at));
        let task = here.or_else(|| self.core.away.get(id).map(|away| &away.task));
        task.is_some_and(|task| matches!(task.stage, Stage::Completed(_)))
    }

    /// The same run over another plan; tasks keep what they have by id, also while they are away.
    pub(super) fn replanned(self, plan: Plan) -> Self {
        let mut known = self.core.away;
        for (planned, task) in self.core.plan.tasks.iter().zip(self.core.tasks.into_values()) {
            known.insert(planned.id.clone(), Away { task, says: planned.wording() });
        }
        let past = &self.core.past;
        let task = |planned: &PlannedTask| match known.remove(&planned.id) {
            Some(away) => away.task,
            None => Task::after(past.get(&planned.id).map_or(0, |past| past.attempts)),
        };
        let tasks = plan.tasks.iter().map(task).collect();
        known.retain(|_, away| away.task != Task::default());
        known.values_mut().for_each(|away| away.task.forget_questions());
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
            number: 1,
            settings,
            started_at: at,
            updated_at: at,
            current_phase: plan.phases.keys().next().copied().unwrap_or(0),
            phases: plan.phases.keys().map(|number| (*number, PhaseStage::Waiting)).collect(),
            tasks: Paged::repeat(Task::default(), plan.tasks.len()),
            away: BTreeMap::new(),
            past: BTreeMap::new(),
            earlier: Vec::new(),
            usage: Usage::default(),
            bases: BTreeMap::new(),
            permits: BTreeSet::new(),
            plan,
        }
    }
}
