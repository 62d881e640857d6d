//! What can be done with a task.
//!
//! ```text
//! [none] → pending → in_progress → completed
//!                              ↘ failed → recover → in_progress
//!                              ↘ paused → resume  → in_progress
//!                              ↘ cancelled
//! ```
//!
//! Cancelling is also possible from pending, paused and failed; a failed task is closed when it is not
//! to recover. One task is current; a paused or failed one stays so.

use super::{
    state::{KeptTask, Memory},
    topic::MemoryTopic,
    words::{Amendment, Ending, Event, TaskAct},
};
use crate::{
    code::Code,
    document::{
        MemoryTaskId,
        memory::{MemoryTaskStatus as Status, StepStatus, TaskResult},
    },
    inbox::Topic,
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
};

impl Memory {
    pub(super) fn act_on_task(
        &self,
        id: Option<&MemoryTaskId>,
        act: &TaskAct,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let kept = self.find(id)?;
        let id = kept.task.id.clone();
        match (act, kept.task.status) {
            (TaskAct::Start, Status::Pending) => {
                self.is_current(kept)?;
                Ok(Decision::events([Event::TaskStarted { id }]))
            }
            (TaskAct::Pause, Status::InProgress) => {
                Ok(Decision::events([Event::TaskPaused { id }]))
            }
            (TaskAct::Resume, Status::Paused) => Ok(Decision::events([Event::TaskResumed { id }])),
            (TaskAct::Fail { message }, Status::InProgress) => {
                if message.trim().is_empty() {
                    return Err(Rejected::rule(Code::ReasonMissing, "it has to be said why"));
                }
                let message = message.trim().to_owned();
                Ok(Decision::events([Event::TaskFailed { id, message }]))
            }
            (TaskAct::Recover { how }, Status::Failed) => {
                Ok(Decision::events([Event::TaskRecovered { id, how: how.trim().to_owned() }]))
            }
            (TaskAct::Cancel { ending }, Status::Completed | Status::Cancelled) => {
                // A file may have been taken over with a task that has ended and is still there.
                Ok(kept.ended(TaskResult::Cancelled, ending, asked))
            }
            (TaskAct::Cancel { ending }, _) => Ok(kept.ended(TaskResult::Cancelled, ending, asked)),
            (TaskAct::Close { ending }, Status::Failed) => {
                Ok(kept.ended(TaskResult::Failure, ending, asked))
            }
            (TaskAct::Complete { partial, ending }, Status::InProgress | Status::Completed) => {
                kept.complete(*partial, ending, asked)
            }
            (TaskAct::Replan, _) => kept.replan_now(asked),
            (TaskAct::Amend { amendment }, _) => kept.amend(amendment),
            // Repeated, or late: it is so already.
            (TaskAct::Start | TaskAct::Resume | TaskAct::Recover { .. }, Status::InProgress)
            | (TaskAct::Pause, Status::Paused)
            | (TaskAct::Fail { .. }, Status::Failed) => Ok(Decision::nothing()),
            (act, status) => Err(kept.out_of_place(act, status)),
        }
    }

    /// Only the current task is worked on.
    fn is_current(&self, kept: &KeptTask) -> Result<(), Rejected> {
        match &self.current {
            Some(current) if current.task.id != kept.task.id => {
                let (id, other) = (&kept.task.id, &current.task.id);
                let status = current.task.status.as_str();
                let message = format!("{id} waits for {other}, which is current and {status}");
                Err(Rejected::rule(Code::CurrentTaskFirst, message).next(NextStep::ShowMemory))
            }
            _ => Ok(()),
        }
    }
}

impl KeptTask {
    fn complete(
        &self,
        partial: bool,
        ending: &Ending,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let open: Vec<String> = self.open_steps().map(|step| step.id.to_string()).collect();
        if open.is_empty() {
            return Ok(self.ended(TaskResult::Success, ending, asked));
        }
        if partial {
            return Ok(self.ended(TaskResult::Partial, ending, asked));
        }
        let steps = if open.len() == 1 { "step" } else { "steps" };
        let message = format!("{steps} {} of {} not completed", open.join(", "), self.task.id);
        let next = self.task.plan.current_step.map(|number| NextStep::ShowStep { number });
        let rejected = Rejected::rule(Code::StepsOpen, message);
        let rejected = next.into_iter().fold(rejected, Rejected::next);
        Err(rejected.next(NextStep::CompletePartially))
    }

    /// The task is over: it goes into the history, and what it asked is settled.
    fn ended(&self, result: TaskResult, ending: &Ending, asked: &Asked<'_>) -> Decision<Event> {
        let entry = Box::new(self.entry(result, ending, asked.now));
        let ended = Decision::events([Event::TaskEnded { id: self.task.id.clone(), entry }]);
        self.settled().into_iter().fold(ended, Decision::with)
    }

    /// Steps that have begun and are at work, or are completed, stay. What waits for a person is a
    /// person's to drop.
    fn replan_now(&self, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let id = self.task.id.clone();
        let dropped = self.open_steps().filter(|step| step.status != StepStatus::InProgress);
        let escalated = self.open_steps().find(|step| step.status == StepStatus::Escalated);
        if let Some(step) = escalated.filter(|_| !asked.by.is_person()) {
            let what = format!("dropping step {}, which waits for a person,", step.id);
            return Err(Rejected::reserved(&what).next(NextStep::ShowInbox));
        }
        let dropped: Vec<u32> = dropped.map(|step| step.id).collect();
        if dropped.is_empty() && self.replan.is_none() {
            return Ok(Decision::nothing());
        }
        let settled = dropped.iter().filter(|step| self.clock(**step).is_asked);
        let settled: Vec<Effect> = settled.map(|step| self.settle(*step)).collect();
        let replanned = Decision::events([Event::Replanned { id }]);
        Ok(settled.into_iter().fold(replanned, Decision::with))
    }

    fn amend(&self, amendment: &Amendment) -> Result<Decision<Event>, Rejected> {
        if amendment.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err(Rejected::rule(Code::NameMissing, "a task needs a name"));
        }
        let unknown = amendment.issues.iter().flatten().filter_map(|issue| issue.step_id);
        if let Some(step) = unknown.clone().find(|step| self.step(*step).is_none()) {
            return Err(Rejected::unknown(Code::StepUnknown, format!("there is no step {step}")));
        }
        if *amendment == Amendment::default() {
            return Ok(Decision::nothing());
        }
        let (id, amendment) = (self.task.id.clone(), Box::new(amendment.clone()));
        Ok(Decision::events([Event::TaskAmended { id, amendment }]))
    }

    /// Questions about its steps that need no answer any more.
    pub(super) fn settled(&self) -> Vec<Effect> {
        let asked = self.clocks.iter().filter(|(_, clock)| clock.is_asked);
        asked.map(|(step, _)| self.settle(*step)).collect()
    }

    pub(super) fn settle(&self, step: u32) -> Effect {
        Effect::Settle { topic: self.topic(step) }
    }

    pub(super) fn topic(&self, step: u32) -> Topic {
        MemoryTopic::Step { task: self.task.id.clone(), step }.into()
    }

    fn out_of_place(&self, act: &TaskAct, status: Status) -> Rejected {
        let (id, status_text) = (&self.task.id, status.as_str());
        let verb = match act {
            TaskAct::Start => "started",
            TaskAct::Pause => "paused",
            TaskAct::Resume => "resumed",
            TaskAct::Fail { .. } => "failed",
            TaskAct::Recover { .. } => "recovered",
            TaskAct::Cancel { .. } => "cancelled",
            TaskAct::Close { .. } => "closed",
            TaskAct::Complete { .. } => "completed",
            TaskAct::Replan | TaskAct::Amend { .. } => "changed",
        };
        let message = format!("{id} is {status_text} and cannot be {verb}");
        Rejected::rule(Code::TaskStatus, message).next(leads_on(status))
    }

    /// Refuses what needs a task that is being worked on.
    pub(super) fn is_at_work(&self) -> Result<(), Rejected> {
        match self.task.status {
            Status::InProgress => Ok(()),
            status => {
                let message = format!("{} is {}", self.task.id, status.as_str());
                Err(Rejected::rule(Code::TaskStatus, message).next(leads_on(status)))
            }
        }
    }
}

/// What brings a task back to work, or to its end.
fn leads_on(status: Status) -> NextStep {
    match status {
        Status::Pending => NextStep::StartMemoryTask,
        Status::InProgress => NextStep::CompleteMemoryTask,
        Status::Paused => NextStep::ResumeMemoryTask,
        Status::Failed => NextStep::RecoverMemoryTask,
        Status::Completed | Status::Cancelled => NextStep::ShowMemory,
    }
}
