//! The inbox: everything that waits for a person, in one list.
//!
//! Other machines put questions here through `Effect::Ask`, in the transaction of the event that
//! caused them, and take them back through `Effect::Settle`. An answer is recorded here first; what
//! it means to the machine that asked is for that machine to say (`Machine::answered`), and is
//! carried out in the same transaction.

use crate::{
    actor::Actor,
    code::Code,
    id::EntryId,
    machine::{Asked, Decision, Machine, Rejected},
    next::NextStep,
    time::Time,
};
use serde::{Deserialize, Serialize};

mod closed;
mod comment;
mod deadline;
mod material;
mod question;
mod reminder;
mod reply;
mod subject;
#[cfg(test)]
mod tests;

pub use closed::{ClosedEntry, Closing};
pub use comment::{BadComment, LineComment};
pub use material::{
    DIFF_BYTES_MAX, Material, PhaseReview, REMARK_BYTES_MAX, REVIEW_LINES_MAX, ReviewedDiff,
    ReviewedFile, VerificationFinding, WantedKind, WantedValue,
};
pub use question::{OPTIONAL_WAIT, Otherwise, Question, QuestionKind};
pub use reply::{COMMENTS_MAX, REPLY_BYTES_MAX, Reply, ReplyVerb};
pub use subject::{Subject, Topic};

/// What waits for a person; what was answered is in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    asked: u32,
    open: Vec<Entry>,
    /// The last entries that are over, so that a person who comes late is told what became of them.
    closed: closed::Closed,
}

/// One open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub id: EntryId,
    pub since: Time,
    pub question: Question,
    /// How often it was worded, from 1. An answer to an earlier wording is refused.
    pub version: u32,
    /// When its default is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// How often the person was reminded of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reminders: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Entry {
    fn new(id: EntryId, at: Time, question: Question) -> Self {
        let deadline = question.deadline(at);
        Self { id, since: at, question, version: 1, deadline, reminders: 0 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// By a machine of ours.
    Ask(Question),
    /// By a machine of ours: it was settled elsewhere.
    Settle { subject: Subject },
    /// By a person, for this version of the entry if one is named.
    Answer { id: EntryId, reply: Reply, version: Option<u32> },
    /// By Waypost: it has waited for long.
    Remind { id: EntryId },
    /// By Waypost: its deadline has come.
    TakeDefault { id: EntryId },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Asked {
        id: EntryId,
        question: Question,
    },
    /// Asked once more about a subject that was still open.
    Reworded {
        id: EntryId,
        question: Question,
    },
    Answered {
        id: EntryId,
        by: Actor,
        #[serde(flatten)]
        reply: Reply,
        /// What the person wrote beside a choice.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        remark: String,
    },
    Settled {
        id: EntryId,
    },
    /// It has waited for long, and the person was told again.
    Reminded {
        id: EntryId,
    },
}

impl Inbox {
    pub fn open(&self) -> &[Entry] {
        &self.open
    }

    pub fn entry(&self, id: &EntryId) -> Option<&Entry> {
        self.open.iter().find(|entry| entry.id == *id)
    }

    /// The open question about `subject`.
    pub fn about(&self, subject: &Subject) -> Option<&Entry> {
        self.open.iter().find(|entry| entry.question.subject == *subject)
    }

    fn next_id(&self) -> EntryId {
        format!("q{}", self.asked + 1).parse().expect("q and a counted number is an inbox id")
    }

    /// The open entry of this id, or what became of it.
    pub fn find(&self, id: &EntryId) -> Result<&Entry, Rejected> {
        if let Some(entry) = self.entry(id) {
            return Ok(entry);
        }
        let number = id.as_str().trim_start_matches('q').parse::<u32>().ok();
        if number.is_some_and(|number| number <= self.asked) {
            let message = match self.closed.find(id) {
                Some(closed) => format!("{id} is not waiting any more: {closed}"),
                None => format!("{id} is not waiting any more"),
            };
            return Err(Rejected::outdated(Code::EntryOver, message).next(NextStep::ShowInbox));
        }
        let message = format!("{id} is not waiting in the inbox");
        Err(Rejected::unknown(Code::EntryUnknown, message).next(NextStep::ShowInbox))
    }

    /// The entry that a reply is for, and the reply as the machine that asked is told it.
    pub fn read_reply(
        &self,
        id: &EntryId,
        reply: Reply,
        version: Option<u32>,
    ) -> Result<(&Entry, Reply), Rejected> {
        let entry = self.find(id)?;
        if version.is_some_and(|version| version != entry.version) {
            return Err(entry.reworded());
        }
        Ok((entry, entry.read(reply)?))
    }

    fn answer(
        &self,
        id: &EntryId,
        (reply, version): (&Reply, Option<u32>),
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("answering the inbox"));
        }
        let (entry, read) = self.read_reply(id, reply.clone(), version)?;
        let remark = entry.remark(reply, &read);
        let answered = Event::Answered { id: id.clone(), by: by.clone(), reply: read, remark };
        Ok(entry.ended().into_iter().fold(Decision::events([answered]), Decision::with))
    }

    fn ask(&self, question: &Question, now: Time) -> Decision<Event> {
        match self.about(&question.subject) {
            Some(entry) if entry.question == *question => Decision::nothing(),
            Some(entry) => {
                let (id, had) = (entry.id.clone(), entry.deadline.is_some());
                let timer = deadline::timer(&id, (question, had), now);
                let question = question.clone();
                let reworded = Decision::events([Event::Reworded { id, question }]);
                timer.into_iter().fold(reworded, Decision::with)
            }
            None => {
                let (id, question) = (self.next_id(), question.clone());
                let told = reminder::first(&id, &question, now);
                let timer = deadline::timer(&id, (&question, false), now);
                let asked = Decision::events([Event::Asked { id, question }]);
                told.into_iter().chain(timer).fold(asked, Decision::with)
            }
        }
    }
}

impl Inbox {
    fn close(&mut self, id: &EntryId, how: Closing, at: Time) {
        self.open.retain(|entry| entry.id != *id);
        self.closed.note(ClosedEntry { id: id.clone(), how, at });
    }
}

impl Entry {
    /// Why an answer to another version of it is refused, with what it says now.
    fn reworded(&self) -> Rejected {
        let Self { id, version, question, .. } = self;
        let message = format!(
            "{id} was reworded and has version {version} now: {}\n{}",
            question.title,
            question.text.trim()
        );
        let shown = NextStep::ShowEntry { id: id.clone() };
        Rejected::outdated(Code::EntryReworded, message).next(shown)
    }
}

impl Machine for Inbox {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "inbox";
    const FORMAT: u32 = 5;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        Ok(match command {
            Command::Ask(question) => self.ask(question, asked.now),
            Command::Settle { subject } => match self.about(subject) {
                Some(entry) => {
                    let settled = Decision::events([Event::Settled { id: entry.id.clone() }]);
                    entry.ended().into_iter().fold(settled, Decision::with)
                }
                None => Decision::nothing(),
            },
            Command::Answer { id, reply, version } => {
                self.answer(id, (reply, *version), asked.by)?
            }
            Command::Remind { id } => self.remind(id, asked)?,
            Command::TakeDefault { id } => self.take_default(id, asked)?,
        })
    }

    fn apply(&mut self, event: &Event, at: Time) {
        match event {
            Event::Asked { id, question } => {
                self.asked += 1;
                self.open.push(Entry::new(id.clone(), at, question.clone()));
            }
            Event::Reworded { id, question } => {
                for entry in self.open.iter_mut().filter(|entry| entry.id == *id) {
                    entry.question = question.clone();
                    entry.version += 1;
                    entry.deadline = question.deadline(at);
                }
            }
            Event::Answered { id, by, reply, .. } => {
                self.close(id, Closing::Answered { by: by.clone(), verb: reply.verb() }, at);
            }
            Event::Settled { id } => self.close(id, Closing::Settled, at),
            Event::Reminded { id } => {
                let reminded = self.open.iter_mut().filter(|entry| entry.id == *id);
                reminded.for_each(|entry| entry.reminders += 1);
            }
        }
    }

    fn due(&self, topic: &Topic) -> Option<Command> {
        let reminder = reminder::read(topic).map(|id| Command::Remind { id });
        reminder.or_else(|| deadline::read(topic).map(|id| Command::TakeDefault { id }))
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Asked { .. } => "asked",
            Event::Reworded { .. } => "reworded",
            Event::Answered { .. } => "answered",
            Event::Settled { .. } => "settled",
            Event::Reminded { .. } => "reminded",
        }
    }
}
