//! Checkpoints and going back to one; tasks that others wait for.

use super::{
    ask,
    checkpoint::{CheckpointTaken, TaskCheckpoint, surplus},
    event::{Event, MoveFacts},
    item::{ItemKey, ItemWant, OpenItem},
    state::{LostCause, TaskFile},
    topic::TaskTopic,
};
use crate::{
    actor::Actor,
    code::Code,
    document::{
        ServerTaskId,
        server::{AgentStatus, ServerTaskStatus, Trigger},
    },
    inbox::OPTIONAL_WAIT,
    machine::{Decision, Effect, Rejected},
    next::NextStep,
    time::Time,
};

impl TaskFile {
    pub(super) fn keep(&self, taken: &CheckpointTaken, now: Time) -> Decision<Event> {
        if self.workspace.is_none() {
            return Decision::nothing();
        }
        let plan = self.attempt.as_ref().map(|it| &it.plan);
        let open = self.items.keys().map(ToString::to_string);
        let checkpoint = TaskCheckpoint {
            id: self.checkpoint_count + 1,
            at: now,
            taken: taken.clone(),
            task: self.status,
            agent: self.agent,
            phase: self.phase,
            attempt: self.attempt_number(),
            conversation: self.trail.conversation.as_ref().map(|it| it.id.clone()),
            values: plan.map(|it| it.values.clone()).unwrap_or_default(),
            open: open.chain(self.trail.asked.iter().cloned()).collect(),
            items: self.items.clone(),
        };
        let ids = surplus(&self.checkpoints);
        let pruned = (!ids.is_empty()).then_some(Event::CheckpointsPruned { ids });
        Decision::events([Event::Checkpointed { checkpoint }].into_iter().chain(pruned))
    }

    pub(super) fn restore(&self, id: u32, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("going back to a checkpoint"));
        }
        if !self.is_alive() {
            let step = NextStep::RetryServedTask { task: self.id.clone() };
            let refused = self.unfit("restored", "it is not being worked on");
            let has_failed = self.status == ServerTaskStatus::Failed;
            return Err(if has_failed { refused.next(step) } else { refused });
        }
        let found = self.checkpoint(id).filter(|it| it.taken.commit.is_some());
        let Some(checkpoint) = found else {
            let message = format!("{} has no checkpoint {id} to go back to", self.id);
            let step = NextStep::ListTaskCheckpoints { task: self.id.clone() };
            return Err(Rejected::unknown(Code::CheckpointUnknown, message).next(step));
        };
        let is_in_review = self.status == ServerTaskStatus::Review;
        let stays = matches!(self.agent, AgentStatus::Running | AgentStatus::Idle);
        let moved = Event::Moved {
            task: is_in_review.then_some(ServerTaskStatus::InProgress),
            agent: (!stays).then_some(AgentStatus::Running),
            trigger: Trigger::Recovered,
            facts: MoveFacts { phase: checkpoint.phase, ..MoveFacts::default() },
        };
        let restored = Event::Restored { checkpoint: id, by: by.clone() };
        let again = self
            .asked_at(checkpoint)
            .map(|(key, item)| Effect::Ask(ask::item(&self.id, *key, (&item.want, OPTIONAL_WAIT))));
        let settled = self.settled_all(Decision::events([restored, moved]));
        Ok(again.fold(settled, Decision::with))
    }

    /// What its agent waited for at a checkpoint, but for values that it has by now.
    pub(super) fn asked_at<'a>(
        &'a self,
        checkpoint: &'a TaskCheckpoint,
    ) -> impl Iterator<Item = (&'a ItemKey, &'a OpenItem)> {
        checkpoint.items.iter().filter(|(_, item)| match &item.want {
            ItemWant::Value(value) => !self.values.contains(&value.name),
            ItemWant::Answer(_) => true,
        })
    }

    pub(super) fn lose_dependency(&self, task: &ServerTaskId, cause: LostCause) -> Decision<Event> {
        let waits = matches!(self.status, ServerTaskStatus::Draft | ServerTaskStatus::Pending);
        let is_named = self.fields.dependencies.contains(task);
        if !waits || !is_named || self.lost.get(task) == Some(&cause) {
            return Decision::nothing();
        }
        let ask = Effect::Ask(ask::dependency(&self.id, task, cause));
        Decision::events([Event::DependencyLost { task: task.clone(), cause }]).with(ask)
    }

    pub(super) fn drop_dependency(
        &self,
        task: &ServerTaskId,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("going on without a dependency"));
        }
        let waits = matches!(self.status, ServerTaskStatus::Draft | ServerTaskStatus::Pending);
        if !waits || !self.fields.dependencies.contains(task) {
            return Ok(Decision::nothing());
        }
        let topic = TaskTopic::Dependency(task.clone()).into();
        let event = Event::DependencyDropped { task: task.clone() };
        Ok(Decision::events([event]).with(Effect::Settle { topic }))
    }
}
