//! The inbox: everything that waits for a person, in one list.
//!
//! Other machines put questions here through `Effect::Ask`, in the transaction of the event that
//! caused them, and take them back through `Effect::Settle`. An answer is recorded here first; what
//! it means to the machine that asked is for that machine to say (`Machine::answered`), and is
//! carried out in the same transaction.

use crate::{
    actor::Actor,
    code::Code,
    id::{EntryId, StreamName},
    machine::{Asked, Decision, Machine, Rejected},
    next::{self, NextStep},
    time::Time,
};
use serde::{Deserialize, Serialize};

mod reminder;
mod subject;
#[cfg(test)]
mod tests;

pub use subject::{Subject, Topic};

/// What is asked, before it has an id. A machine only says the topic; which machine it is, is added
/// on the way to the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question<S = Subject> {
    pub kind: QuestionKind,
    /// What it is about. Asking again about the same subject replaces the text.
    pub subject: S,
    /// One line for the list.
    pub title: String,
    /// Everything a person needs in order to answer.
    pub text: String,
    /// The answers that mean something; empty: any text.
    pub choices: Vec<String>,
    /// What leads on beside an answer, or after it.
    #[serde(
        default,
        deserialize_with = "next::known_steps",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub next: Vec<NextStep>,
}

impl Question<Topic> {
    /// The question of the machine whose stream this is.
    pub fn asked_by(self, stream: &StreamName) -> Question {
        let Self { kind, subject, title, text, choices, next } = self;
        let subject = Subject::of(stream, &subject);
        Question { kind, subject, title, text, choices, next }
    }
}

/// Why a person is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// A checkpoint is out of retries.
    Escalation,
    /// A gate wants a person's word.
    Gate,
    /// A phase has ended and the run waits to go on.
    PhaseEnd,
    /// An edit of a window waits for a person to take it over.
    WaitingEdit,
    /// An edit of a window was refused; nothing but attention is asked for.
    RefusedEdit,
    /// An agent wants to do something that it may not do without being allowed to.
    Permission,
    /// An agent wants to know something.
    AgentQuestion,
    /// An agent's account cannot be used: the service, the sign-in or the credit.
    Unavailable,
}

/// What waits for a person; what was answered is in the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    asked: u32,
    open: Vec<Entry>,
}

/// One open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub id: EntryId,
    pub since: Time,
    pub question: Question,
    /// How often the person was reminded of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reminders: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// By a machine of ours.
    Ask(Question),
    /// By a machine of ours: it was settled elsewhere.
    Settle { subject: Subject },
    /// By a person.
    Answer { id: EntryId, text: String },
    /// By Waypost: it has waited for long.
    Remind { id: EntryId },
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
        text: String,
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

    fn answer(&self, id: &EntryId, text: &str, by: &Actor) -> Result<Event, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("answering the inbox"));
        }
        let (_, text) = self.read_answer(id, text)?;
        Ok(Event::Answered { id: id.clone(), by: by.clone(), text })
    }

    /// The question that a text answers, and the answer in the question's own words.
    pub fn read_answer(&self, id: &EntryId, text: &str) -> Result<(&Entry, String), Rejected> {
        let Some(entry) = self.entry(id) else {
            let message = format!("{id} is not waiting in the inbox");
            return Err(Rejected::unknown(Code::EntryUnknown, message).next(NextStep::ShowInbox));
        };
        Ok((entry, pick(entry, text)?))
    }
}

/// Matches an answer to the choices: exactly, then without regard to case; what is only close is
/// suggested, not taken.
fn pick(entry: &Entry, text: &str) -> Result<String, Rejected> {
    let (choices, text) = (&entry.question.choices, text.trim());
    if text.is_empty() {
        return Err(Rejected::rule(Code::AnswerMissing, "an answer needs a text"));
    }
    if choices.is_empty() {
        return Ok(text.to_owned());
    }
    let exact = choices.iter().find(|choice| *choice == text);
    let same = |choice: &&String| choice.to_lowercase() == text.to_lowercase();
    if let Some(choice) = exact.or_else(|| choices.iter().find(same)) {
        return Ok(choice.clone());
    }
    let close = choices.iter().find(|choice| {
        let (choice, text) = (choice.to_lowercase(), text.to_lowercase());
        choice.starts_with(&text) || text.starts_with(&choice)
    });
    let message = format!("`{text}` is not one of: {}", choices.join(", "));
    let rejected = Rejected::rule(Code::AnswerUnknown, message);
    Err(match close {
        Some(choice) => {
            rejected.next(NextStep::AnswerEntry { id: entry.id.clone(), answers: choice.clone() })
        }
        None => rejected,
    })
}

impl Machine for Inbox {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "inbox";
    const FORMAT: u32 = 4;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        Ok(match command {
            Command::Ask(question) => match self.about(&question.subject) {
                Some(entry) if entry.question == *question => Decision::nothing(),
                Some(entry) => {
                    let (id, question) = (entry.id.clone(), question.clone());
                    Decision::events([Event::Reworded { id, question }])
                }
                None => {
                    let (id, question) = (self.next_id(), question.clone());
                    let told = reminder::first(&id, &question, asked.now);
                    let asked = Decision::events([Event::Asked { id, question }]);
                    told.into_iter().fold(asked, Decision::with)
                }
            },
            Command::Settle { subject } => match self.about(subject) {
                Some(entry) => {
                    let settled = Decision::events([Event::Settled { id: entry.id.clone() }]);
                    entry.cancelled().into_iter().fold(settled, Decision::with)
                }
                None => Decision::nothing(),
            },
            Command::Answer { id, text } => {
                let answered = Decision::events([self.answer(id, text, asked.by)?]);
                let cancelled = self.entry(id).and_then(Entry::cancelled);
                cancelled.into_iter().fold(answered, Decision::with)
            }
            Command::Remind { id } => self.remind(id, asked)?,
        })
    }

    fn apply(&mut self, event: &Event, at: Time) {
        match event {
            Event::Asked { id, question } => {
                self.asked += 1;
                let (id, question) = (id.clone(), question.clone());
                self.open.push(Entry { id, since: at, question, reminders: 0 });
            }
            Event::Reworded { id, question } => {
                for entry in self.open.iter_mut().filter(|entry| entry.id == *id) {
                    entry.question = question.clone();
                }
            }
            Event::Answered { id, .. } | Event::Settled { id } => {
                self.open.retain(|entry| entry.id != *id);
            }
            Event::Reminded { id } => {
                let reminded = self.open.iter_mut().filter(|entry| entry.id == *id);
                reminded.for_each(|entry| entry.reminders += 1);
            }
        }
    }

    fn due(&self, topic: &Topic) -> Option<Command> {
        reminder::read(topic).map(|id| Command::Remind { id })
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
