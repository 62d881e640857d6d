//! How a task ends, and what may be done with one that is over.

use super::{
    event::{Event, MoveFacts},
    review::ClaimStage,
    state::TaskFile,
    topic::TaskTopic,
    view::task_word,
};
use crate::{
    actor::Actor,
    code::Code,
    document::{
        ServerTaskId,
        memory::TaskResult,
        server::{AgentStatus, ServerTaskStatus, Trigger},
    },
    inbox::Topic,
    layout,
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
    notice::{Notice, NoticeKind},
    time::Time,
};

/// The reason of a task that a person ended.
pub const CANCELLED: &str = "cancelled";

impl TaskFile {
    /// A refusal because of the state that the task is in.
    pub(super) fn unfit(&self, what: &str, rule: &str) -> Rejected {
        let status = task_word(self.status);
        let message = format!("{} is {status} and cannot be {what}: {rule}", self.id);
        let step = NextStep::ShowServedTask { task: self.id.clone() };
        Rejected::rule(Code::TaskStatus, message).next(step)
    }

    /// Everything about it that waits for a person or for a time: none of it matters any more.
    pub(super) fn settled_all(&self, decision: Decision<Event>) -> Decision<Event> {
        let items = self.items.keys().map(|it| TaskTopic::Item(*it).into());
        let mut topics: Vec<Topic> = items.collect();
        topics.extend(self.trail.asked.iter().map(|it| TaskTopic::Prompt(it.clone()).into()));
        topics.extend(self.review.iter().map(|it| TaskTopic::Review(it.version).into()));
        topics.extend(self.lost.keys().map(|it| TaskTopic::Dependency(it.clone()).into()));
        let escalated = self.claim.filter(|it| it.stage == ClaimStage::Escalated);
        topics.extend(escalated.map(|it| TaskTopic::Escalation(it.number).into()));
        topics.extend(self.pauses.limit.iter().map(|_| TaskTopic::Limit.into()));
        let quarantine = self.pauses.person.as_ref().filter(|it| it.by == Actor::Waypost);
        topics.extend(quarantine.map(|_| TaskTopic::Quarantine(self.attempt_number()).into()));
        topics.extend(self.is_misunderstood.then(|| TaskTopic::Malformed.into()));
        let settled = topics.into_iter().map(|topic| Effect::Settle { topic });
        let limit = self.pauses.limit.as_ref().filter(|it| it.until.is_some());
        let timer = limit.map(|_| Effect::CancelTimer { topic: TaskTopic::Limit.into() });
        settled.chain(timer).fold(decision, Decision::with)
    }

    /// The task fails, and its agent with it, if it has one.
    pub(super) fn failed(&self, trigger: Trigger, reason: &str, now: Time) -> Decision<Event> {
        let failed = Event::Failed { reason: reason.to_owned(), is_cancelled: false };
        let decision = Decision::events([failed, self.end(trigger, reason)]);
        let title = format!("{} failed: {}", self.id, self.fields.title);
        let notice = Notice::new(NoticeKind::TaskFailed, title, now)
            .text(self.failure_told(reason))
            .next(NextStep::RetryServedTask { task: self.id.clone() });
        let output = NextStep::ShowServedOutput { task: self.id.clone() };
        let notice = if self.attempt.is_some() { notice.next(output) } else { notice };
        let remembered = self.remembered(TaskResult::Failure, Some(reason), now);
        self.settled_all(decision.with(Effect::Notify(notice)).with(remembered))
    }

    /// Why it failed, and where what its last agent wrote is kept.
    fn failure_told(&self, reason: &str) -> String {
        match self.attempt_number() {
            0 => reason.to_owned(),
            _ => {
                let (folder, id) = (layout::state::TASKS, &self.id);
                format!(
                    "{reason}\nWhat its agents wrote is kept in {folder}/{id} beside the journal."
                )
            }
        }
    }

    fn end(&self, trigger: Trigger, reason: &str) -> Event {
        let (phase, reason) = (self.phase, Some(reason.to_owned()));
        let facts = MoveFacts { phase, reason, ..MoveFacts::default() };
        // Before it is assigned no agent is concerned.
        let agent = self.is_alive().then_some(AgentStatus::Failed);
        Event::Moved { task: Some(ServerTaskStatus::Failed), agent, trigger, facts }
    }

    /// The task is complete; the engine ends the agent and keeps what it left.
    pub(super) fn completed(&self, trigger: Trigger, at: Time) -> Decision<Event> {
        let facts = MoveFacts { phase: self.phase, ..MoveFacts::default() };
        let moved = Event::Moved {
            task: Some(ServerTaskStatus::Completed),
            agent: Some(AgentStatus::Completed),
            trigger,
            facts,
        };
        let title = format!("{} is completed: {}", self.id, self.fields.title);
        let notice = Notice::new(NoticeKind::AllDone, title, at)
            .next(NextStep::ShowServedTask { task: self.id.clone() });
        let decision = Decision::events([Event::Completed {}, moved]).with(Effect::Notify(notice));
        self.settled_all(decision.with(self.remembered(TaskResult::Success, None, at)))
    }

    pub(super) fn cancel(&self, why: &str, now: Time) -> Result<Decision<Event>, Rejected> {
        match self.status {
            ServerTaskStatus::Pending | ServerTaskStatus::InProgress | ServerTaskStatus::Review => {
                let reason = CANCELLED.to_owned();
                let why = if why.is_empty() { CANCELLED } else { why };
                let failed = Event::Failed { reason, is_cancelled: true };
                let decision = Decision::events([failed, self.end(Trigger::Cancel, why)]);
                let remembered = self.remembered(TaskResult::Cancelled, Some(why), now);
                Ok(self.settled_all(decision.with(remembered)))
            }
            ServerTaskStatus::Draft => Err(self.unfit("cancelled", "a draft is deleted instead")),
            ServerTaskStatus::Completed | ServerTaskStatus::Failed => {
                Err(self.unfit("cancelled", "it is over"))
            }
        }
    }

    pub(super) fn fail(&self, why: &str, now: Time) -> Decision<Event> {
        if self.is_alive() {
            self.failed(Trigger::FatalError, why, now)
        } else {
            Decision::nothing()
        }
    }

    pub(super) fn retry(&self, task: &ServerTaskId) -> Result<Decision<Event>, Rejected> {
        if self.status != ServerTaskStatus::Failed {
            return Err(self.unfit("retried", "only what has failed can be"));
        }
        let is_known = self.retried_as.as_ref() == Some(task);
        Ok(Decision::events((!is_known).then(|| Event::Retried { task: task.clone() })))
    }

    pub(super) fn archive(&self) -> Result<Decision<Event>, Rejected> {
        if !self.is_over() {
            return Err(self.unfit("archived", "only what is over can be"));
        }
        Ok(Decision::events((!self.is_archived).then_some(Event::Archived {})))
    }

    pub(super) fn delete(&self, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        if !asked.by.is_person() {
            return Err(Rejected::reserved("deleting a task"));
        }
        if !self.is_over() && self.status != ServerTaskStatus::Draft {
            let step = NextStep::CancelServedTask { task: self.id.clone() };
            return Err(self.unfit("deleted", "it has to be cancelled first").next(step));
        }
        Ok(Decision::events([Event::Deleted {}]))
    }
}
