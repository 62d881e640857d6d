//! What each event does to the state.

use super::{
    history::History,
    state::{KeptTask, Memory},
    words::{Amendment, Event, StepDraft},
};
use crate::{
    document::{
        MemoryTaskId,
        memory::{Issue, MemoryTaskStatus, Step, StepError, StepStatus},
    },
    retry::FailureClass,
    time::Time,
};

pub(super) fn apply(memory: &mut Memory, event: &Event, at: Time) {
    match event {
        Event::Opened => {
            memory.is_open = true;
            memory.updated_at = at;
        }
        Event::TakenOver { state, history } => {
            let found = Memory::of_files(state, history);
            // What was recorded and noted before anything was shown stays.
            let (current, pending, updated_at) = (found.current, found.pending, found.updated_at);
            let mut all = found.history;
            memory.history.entries.iter().for_each(|entry| all.add(entry, at));
            all.sources = std::mem::take(&mut memory.history.sources);
            memory.numbers.extend(found.numbers);
            *memory = Memory {
                is_open: true,
                current,
                pending,
                history: all,
                updated_at: if state.last_updated.is_some() { updated_at } else { at },
                ..std::mem::take(memory)
            };
        }
        Event::Restored { state, history } => {
            if let Some(state) = state {
                memory.replace_tasks(state);
                memory.updated_at = at;
            }
            if let Some(history) = history {
                memory.history = History::of(history);
            }
            memory.is_open = true;
        }
        Event::TaskMade { id, task } => {
            memory.count_id(id);
            let kept = KeptTask::new(task.as_ref().clone(), None);
            match &mut memory.current {
                None => memory.current = Some(kept),
                Some(_) => memory.pending.push(kept),
            }
            memory.is_open = true;
            memory.updated_at = at;
        }
        Event::TaskEnded { id, entry } => {
            memory.take_out(id, at);
            memory.history.add(entry, at);
        }
        Event::TaskDropped { id } => memory.take_out(id, at),
        Event::Recorded { id, source, entry } => {
            memory.count_id(id);
            memory.history.record(source, entry, at);
        }
        Event::Noted { .. } => memory.keep_note(event, at),
        Event::DocumentNoted { file, hash } => {
            memory.documents.insert(file.clone(), hash.clone());
        }
        Event::Pruned => memory.history.retain(at),
        _ => apply_to_task(memory, event, at),
    }
}

impl Memory {
    /// A task leaves; the oldest that waits takes the place of the current one.
    fn take_out(&mut self, id: &MemoryTaskId, at: Time) {
        self.pending.retain(|kept| kept.task.id != *id);
        if self.current.as_ref().is_some_and(|kept| kept.task.id == *id) {
            self.current = (!self.pending.is_empty()).then(|| self.pending.remove(0));
        }
        self.updated_at = at;
    }
}

/// Events about one task that stays.
fn apply_to_task(memory: &mut Memory, event: &Event, at: Time) {
    let (Event::TaskStarted { id }
    | Event::TaskPaused { id }
    | Event::TaskResumed { id }
    | Event::TaskFailed { id, .. }
    | Event::TaskRecovered { id, .. }
    | Event::TaskAmended { id, .. }
    | Event::ReplanCalled { id, .. }
    | Event::Replanned { id }
    | Event::StepAdded { id, .. }
    | Event::StepChanged { id, .. }
    | Event::StepRemoved { id, .. }
    | Event::StepStarted { id, .. }
    | Event::StepCompleted { id, .. }
    | Event::OutputSet { id, .. }
    | Event::StepFailed { id, .. }
    | Event::StepRetried { id, .. }
    | Event::StepEscalated { id, .. }) = event
    else {
        return;
    };
    memory.updated_at = at;
    let Some(kept) = memory.task_mut(id) else { return };
    kept.apply(event, at);
    kept.task.updated_at = Some(at.into());
    kept.point_at_current_step();
}

impl KeptTask {
    fn apply(&mut self, event: &Event, at: Time) {
        match event {
            Event::TaskStarted { .. } => {
                self.task.status = MemoryTaskStatus::InProgress;
                if self.started.is_none() {
                    self.started = Some(at);
                    self.task.started_at = Some(at.into());
                }
            }
            Event::TaskPaused { .. } => self.task.status = MemoryTaskStatus::Paused,
            Event::TaskResumed { .. } => self.task.status = MemoryTaskStatus::InProgress,
            Event::TaskFailed { message, .. } => {
                self.task.status = MemoryTaskStatus::Failed;
                self.add_issue(None, "task", message);
            }
            Event::TaskRecovered { how, .. } => {
                self.task.status = MemoryTaskStatus::InProgress;
                let how = if how.is_empty() { "recovered" } else { how };
                self.resolve(None, how, at);
            }
            Event::TaskAmended { amendment, .. } => self.amended(amendment),
            Event::ReplanCalled { cause, .. } => self.replan = Some(*cause),
            Event::Replanned { .. } => {
                let stays = |step: &Step| {
                    matches!(step.status, StepStatus::Completed | StepStatus::InProgress)
                };
                self.task.plan.steps.retain(stays);
                let steps = &self.task.plan.steps;
                self.clocks.retain(|id, _| steps.iter().any(|step| step.id == *id));
                self.forget_steps_of_issues();
                self.replan = None;
            }
            Event::StepAdded { step, .. } => {
                self.highest_step = self.highest_step.max(step.id);
                self.task.plan.steps.push(step.as_ref().clone());
            }
            Event::StepChanged { step, to, .. } => self.change_step(*step, to),
            Event::StepRemoved { step, .. } => {
                self.task.plan.steps.retain(|it| it.id != *step);
                self.clocks.remove(step);
                self.forget_steps_of_issues();
            }
            _ => self.apply_to_step(event, at),
        }
    }

    fn apply_to_step(&mut self, event: &Event, at: Time) {
        match event {
            Event::StepStarted { step, .. } => self.begin(*step, at),
            Event::StepCompleted { step, output, artifacts, .. } => {
                if let Some(found) = self.step_mut(*step) {
                    found.status = StepStatus::Completed;
                    found.completed_at = Some(at.into());
                    found.output = output.clone();
                    found.error = None;
                }
                self.task.artifacts.extend(artifacts.iter().cloned());
                self.clocks.remove(step);
                self.resolve(Some(*step), "completed", at);
                if self.open_steps().next().is_none() {
                    self.replan = None;
                }
            }
            Event::OutputSet { step, output, .. } => {
                if let Some(found) = self.step_mut(*step) {
                    found.output = output.clone();
                }
            }
            Event::StepFailed { step, class, message, not_before, needs, .. } => {
                self.fail_step((*step, *class), message, at);
                if let Some(found) = self.step_mut(*step) {
                    let missing: Vec<u32> = needs
                        .iter()
                        .filter(|id| !found.dependencies.contains(id))
                        .copied()
                        .collect();
                    found.dependencies.extend(missing);
                }
                let clock = self.clock_mut(*step);
                clock.not_before = *not_before;
                clock.failures += 1;
                clock.is_asked = *class == FailureClass::Resource;
            }
            Event::StepRetried { step, agent, afresh, .. } => {
                if let Some(found) = self.step_mut(*step) {
                    found.retries = if *afresh { 0 } else { found.retries + 1 };
                    if agent.is_some() {
                        found.agent.clone_from(agent);
                    }
                }
                let clock = self.clock_mut(*step);
                clock.is_asked = false;
                clock.failures = if *afresh { 0 } else { clock.failures };
                self.begin(*step, at);
            }
            Event::StepEscalated { step, .. } => {
                if let Some(found) = self.step_mut(*step) {
                    found.status = StepStatus::Escalated;
                }
                let clock = self.clock_mut(*step);
                clock.not_before = None;
                clock.is_asked = true;
            }
            _ => {}
        }
    }

    /// A try at a step begins.
    fn begin(&mut self, step: u32, at: Time) {
        if let Some(found) = self.step_mut(step) {
            found.status = StepStatus::InProgress;
            found.started_at = Some(at.into());
        }
        let clock = self.clock_mut(step);
        clock.started = Some(at);
        clock.not_before = None;
    }

    fn fail_step(&mut self, (step, class): (u32, FailureClass), message: &str, at: Time) {
        let word = class.as_str();
        if let Some(found) = self.step_mut(step) {
            found.status = StepStatus::Failed;
            found.error = Some(StepError {
                class: word.to_owned(),
                message: message.to_owned(),
                timestamp: Some(at.into()),
                retries: found.retries,
            });
        }
        self.add_issue(Some(step), word, message);
    }

    fn add_issue(&mut self, step_id: Option<u32>, class: &str, message: &str) {
        self.task.issues.push(Issue {
            step_id,
            class: class.to_owned(),
            message: message.to_owned(),
            resolution: None,
            resolved: false,
            resolved_at: None,
        });
    }

    /// Issues of a step, or of the task itself, are no longer open.
    fn resolve(&mut self, step: Option<u32>, how: &str, at: Time) {
        let open = self.task.issues.iter_mut().filter(|it| it.step_id == step && !it.resolved);
        for issue in open {
            issue.resolved = true;
            issue.resolution = Some(how.to_owned());
            issue.resolved_at = Some(at.into());
        }
    }

    /// Issues of steps that are gone stay as issues of the task.
    fn forget_steps_of_issues(&mut self) {
        let steps = &self.task.plan.steps;
        let is_gone = |id: u32| !steps.iter().any(|step| step.id == id);
        for issue in &mut self.task.issues {
            issue.step_id.take_if(|id| is_gone(*id));
        }
    }

    fn amended(&mut self, amendment: &Amendment) {
        let Amendment { name, goal, success_criteria, orchestrator, context, artifacts, issues } =
            amendment.clone();
        let task = &mut self.task;
        task.name = name.unwrap_or_else(|| std::mem::take(&mut task.name));
        task.plan.goal = goal.unwrap_or_else(|| std::mem::take(&mut task.plan.goal));
        let criteria = &mut task.plan.success_criteria;
        *criteria = success_criteria.unwrap_or_else(|| std::mem::take(criteria));
        task.orchestrator = orchestrator.unwrap_or_else(|| std::mem::take(&mut task.orchestrator));
        task.context = context.unwrap_or_else(|| std::mem::take(&mut task.context));
        task.artifacts = artifacts.unwrap_or_else(|| std::mem::take(&mut task.artifacts));
        task.issues = issues.unwrap_or_else(|| std::mem::take(&mut task.issues));
    }

    fn change_step(&mut self, step: u32, to: &StepDraft) {
        let Some(found) = self.step_mut(step) else { return };
        found.name = to.name.trim().to_owned();
        found.agent.clone_from(&to.agent);
        found.cluster.clone_from(&to.cluster);
        found.dependencies.clone_from(&to.dependencies);
        found.expected_seconds = to.expected_seconds;
    }
}
