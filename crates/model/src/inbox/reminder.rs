//! How a person who is not looking hears of a question: once when it is asked, and again when it
//! has waited for a day and for two.
//!
//! Notices are sent for every machine but the workflow, whose questions are put to a person who is
//! there: an agent works with a person, or waits.

use super::{Entry, Event, Inbox, Otherwise, Question, QuestionKind, ReplyVerb, Topic};
use crate::{
    actor::Actor,
    code::Code,
    id::EntryId,
    machine::{Asked, Decision, Effect, Machine as _, Rejected},
    next::NextStep,
    notice::{Notice, NoticeKind},
    time::Time,
    workflow::Workflow,
};
use std::time::Duration;

/// How long a question waits before the person is told again.
const REMIND_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// How often; who has not come after two days will not come for a third notice.
const REMINDERS_MAX: u32 = 2;

/// What is told when a question is asked, and when it will be told again.
pub(super) fn first(id: &EntryId, question: &Question, now: Time) -> Vec<Effect> {
    let Some(notice) = notice(id, question, now) else { return Vec::new() };
    let timer = question.is_reminded().then(|| timer(id, now.plus(REMIND_AFTER)));
    [Effect::Notify(notice)].into_iter().chain(timer).collect()
}

impl Question {
    /// A refused edit and a block that cannot be read want to be seen, nothing more.
    fn is_reminded(&self) -> bool {
        !matches!(self.kind, QuestionKind::RefusedEdit | QuestionKind::MalformedBlock)
    }

    /// Whether a person who is not looking is told of it.
    fn is_told(&self) -> bool {
        self.subject.read().is_some_and(|(asker, _)| asker.kind() != Workflow::KIND)
    }
}

impl Entry {
    /// Ends its timers.
    pub(super) fn ended(&self) -> Vec<Effect> {
        self.without_reminder().into_iter().chain(self.without_deadline()).collect()
    }

    fn without_reminder(&self) -> Option<Effect> {
        let has_timer = self.question.is_told() && self.question.is_reminded();
        let is_set = has_timer && self.reminders < REMINDERS_MAX;
        is_set.then(|| Effect::CancelTimer { topic: topic(&self.id) })
    }
}

impl Inbox {
    pub(super) fn remind(
        &self,
        id: &EntryId,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        if *asked.by != Actor::Waypost {
            return Err(Rejected::rule(Code::WaypostOnly, "reminders are sent by Waypost alone")
                .next(NextStep::ShowInbox));
        }
        let Some(entry) = self.entry(id).filter(|entry| entry.reminders < REMINDERS_MAX) else {
            return Ok(Decision::nothing());
        };
        let notice = notice(id, &entry.question, asked.now).map(|notice| {
            let title = format!("still waits for you: {}", notice.title);
            Effect::Notify(Notice { title, ..notice })
        });
        // After a pause of the program the next one is not sent at once.
        let next =
            (entry.reminders + 1 < REMINDERS_MAX).then(|| timer(id, asked.now.plus(REMIND_AFTER)));
        let reminded = Decision::events([Event::Reminded { id: id.clone() }]);
        Ok(notice.into_iter().chain(next).fold(reminded, Decision::with))
    }
}

/// What a timer of the inbox is about.
pub(super) fn read(topic: &Topic) -> Option<EntryId> {
    topic.as_str().strip_prefix("reminder/")?.parse().ok()
}

fn topic(id: &EntryId) -> Topic {
    Topic::new(format!("reminder/{id}"))
}

fn timer(id: &EntryId, at: Time) -> Effect {
    Effect::SetTimer { topic: topic(id), at }
}

/// That a machine needs a person.
fn notice(id: &EntryId, question: &Question, at: Time) -> Option<Notice> {
    let notice = about(question, Notice::new(NoticeKind::NeedsYou, &question.title, at))?;
    let mut text = question.text.trim().to_owned();
    if let Some(otherwise) = &question.otherwise {
        text = format!("{text}\n{}", otherwise.in_words(at)).trim_start().to_owned();
    }
    let notice = notice.text(text).next(NextStep::ShowEntry { id: id.clone() });
    // Where choices are named, the other verbs only stand for some of them.
    let verbs = question.verbs();
    let told = match verbs.contains(&ReplyVerb::Answer) {
        true => &[ReplyVerb::Answer],
        false => verbs.as_slice(),
    };
    Some(told.iter().map(|verb| question.step(id, *verb)).fold(notice, Notice::next))
}

/// That a default was taken because no person has answered.
pub(super) fn default_taken(entry: &Entry, at: Time) -> Option<Effect> {
    let Entry { id, question, .. } = entry;
    let otherwise = question.otherwise.as_ref()?;
    let title = format!("answered for you: {}", question.title);
    let notice = about(question, Notice::new(NoticeKind::DefaultTaken, title, at))?;
    let text =
        format!("No person has answered {id} in time; taken: {}.", otherwise.reply_in_words());
    Some(Effect::Notify(notice.text(text)))
}

impl Otherwise {
    /// What is taken, and when.
    fn in_words(&self, now: Time) -> String {
        format!("Without an answer by {}: {}.", now.plus(self.wait()), self.reply_in_words())
    }

    /// What is taken, as a person would type it.
    pub fn reply_in_words(&self) -> String {
        match self.reply.text() {
            "" => format!("`{}`", self.reply.verb()),
            text => format!("`{} {text}`", self.reply.verb()),
        }
    }
}

/// A notice with the task or the phase that the question is about; none if no person is told of it.
fn about(question: &Question, notice: Notice) -> Option<Notice> {
    let (_, topic) = question.subject.read().filter(|_| question.is_told())?;
    let mut words = topic.as_str().split('/');
    Some(match (words.next(), words.next()) {
        (Some("task"), Some(task)) => Notice { task: task.parse().ok(), ..notice },
        (Some("phase"), Some(phase)) => Notice { phase: phase.parse().ok(), ..notice },
        _ => notice,
    })
}
