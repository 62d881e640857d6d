//! What is taken when no person answers in time.
//!
//! A question with a default has a deadline from the moment it was asked or reworded, and a timer. At
//! the deadline the default is recorded as an answer of Waypost's; what it means to the machine that
//! asked is carried out in the same transaction. A person who is quicker than the timer counts, also
//! after the deadline.

use super::{Entry, Event, Inbox, Question, Topic, reminder};
use crate::{
    actor::Actor,
    code::Code,
    id::EntryId,
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
    time::Time,
};

impl Question {
    /// Until when a question that is asked at this time waits for a person.
    pub(super) fn deadline(&self, at: Time) -> Option<Time> {
        self.otherwise.as_ref().map(|it| at.plus(it.wait()))
    }
}

/// The timer of a question that is asked or reworded now, or the end of the one that it had.
pub(super) fn timer(id: &EntryId, (question, had): (&Question, bool), now: Time) -> Option<Effect> {
    match question.deadline(now) {
        Some(at) => Some(Effect::SetTimer { topic: topic(id), at }),
        None => had.then(|| Effect::CancelTimer { topic: topic(id) }),
    }
}

impl Entry {
    /// Ends the timer of its deadline.
    pub(super) fn without_deadline(&self) -> Option<Effect> {
        self.deadline.map(|_| Effect::CancelTimer { topic: topic(&self.id) })
    }
}

impl Inbox {
    /// The entry whose default is taken at this time, if there is one.
    pub fn due_entry(&self, topic: &Topic, now: Time) -> Option<&Entry> {
        let entry = self.entry(&read(topic)?)?;
        entry.deadline.filter(|deadline| *deadline <= now).map(|_| entry)
    }

    pub(super) fn take_default(
        &self,
        id: &EntryId,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        if *asked.by != Actor::Waypost {
            let message = "defaults are taken by Waypost alone";
            return Err(Rejected::rule(Code::WaypostOnly, message).next(NextStep::ShowInbox));
        }
        let entry = self.find(id)?;
        let due = entry.deadline.filter(|deadline| *deadline <= asked.now);
        let (Some(otherwise), Some(_)) = (&entry.question.otherwise, due) else {
            let message = format!("{id} still waits for a person");
            return Err(Rejected::rule(Code::NotAsked, message).next(NextStep::ShowInbox));
        };
        let (id, by, reply) = (id.clone(), Actor::Waypost, otherwise.reply.clone());
        let notice = reminder::default_taken(entry, asked.now);
        let taken = Decision::events([Event::Answered { id, by, reply, remark: String::new() }]);
        Ok(entry.ended().into_iter().chain(notice).fold(taken, Decision::with))
    }
}

/// What a timer for a deadline is about.
pub(super) fn read(topic: &Topic) -> Option<EntryId> {
    topic.as_str().strip_prefix("deadline/")?.parse().ok()
}

fn topic(id: &EntryId) -> Topic {
    Topic::new(format!("deadline/{id}"))
}
