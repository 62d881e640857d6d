//! The inbox, permissions and notices as data.

use crate::spelling::{self, Step};
use schemars::JsonSchema;
use serde::Serialize;
use waypost_engine::{Permit, Trial, Waiting, WaitingEntry};
use waypost_model::{
    id::EntryId,
    inbox::{LineComment, PhaseReview, QuestionKind, ReplyVerb, Subject, WantedValue},
};

/// Something that waits for a person.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EntryReport<'a> {
    pub(crate) id: &'a EntryId,
    pub(crate) since: String,
    pub(crate) kind: QuestionKind,
    /// What it is about.
    #[schemars(with = "String")]
    pub(crate) subject: &'a Subject,
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
    /// The possible answers; none: any text.
    pub(crate) choices: &'a [String],
    pub(crate) next: Vec<Step<'a>>,
    /// How often it was worded; an answer may name the version that it is given for.
    pub(crate) version: u32,
    /// The verbs that it takes, the most usual first.
    pub(crate) verbs: Vec<ReplyVerb>,
    /// How many tasks wait for its answer, directly or not.
    pub(crate) holds: usize,
    /// Whether only a person's answer lets the work go on.
    pub(crate) required: bool,
    /// What is taken without an answer; null: it waits.
    pub(crate) default: Option<DefaultReply<'a>>,
    /// The value that is wanted; null: none.
    pub(crate) value: Option<&'a WantedValue>,
    /// What is to be reviewed; null: nothing.
    pub(crate) review: Option<&'a PhaseReview>,
}

/// What is taken when no person answers in time.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DefaultReply<'a> {
    pub(crate) verb: ReplyVerb,
    pub(crate) text: &'a str,
    pub(crate) at: String,
}

impl<'a> From<&'a WaitingEntry> for EntryReport<'a> {
    fn from(WaitingEntry { entry, holds }: &'a WaitingEntry) -> Self {
        let otherwise = entry.question.otherwise.as_ref().zip(entry.deadline);
        Self {
            id: &entry.id,
            since: entry.since.to_string(),
            kind: entry.question.kind,
            subject: &entry.question.subject,
            title: &entry.question.title,
            text: &entry.question.text,
            choices: &entry.question.choices,
            next: spelling::data(&entry.question.next),
            version: entry.version,
            verbs: entry.question.verbs(),
            holds: *holds,
            required: entry.question.is_required,
            default: otherwise.map(|(otherwise, at)| DefaultReply {
                verb: otherwise.reply.verb(),
                text: otherwise.reply.text(),
                at: at.to_string(),
            }),
            value: entry.question.wanted_value(),
            review: entry.question.phase_review(),
        }
    }
}

/// An entry that was answered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered<'a> {
    pub(crate) answered: &'a EntryId,
    pub(crate) verb: ReplyVerb,
    pub(crate) text: &'a str,
    /// Comments on lines, of a request for changes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) comments: &'a [LineComment],
}

/// Something that agents may do without asking.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PermitReport<'a> {
    pub(crate) id: &'a str,
    pub(crate) what: &'a str,
    pub(crate) by: &'a str,
    pub(crate) at: &'a str,
}

impl<'a> From<&'a Permit> for PermitReport<'a> {
    fn from(permit: &'a Permit) -> Self {
        Self { id: &permit.id, what: &permit.what, by: &permit.by, at: &permit.at }
    }
}

/// A permission that was taken back.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Revoked<'a> {
    pub(crate) revoked: PermitReport<'a>,
}

/// Notices that could not be delivered to a target yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NoticesWaiting<'a> {
    pub(crate) target: &'a str,
    pub(crate) count: usize,
    /// Why the oldest waits; empty if it was not tried.
    pub(crate) why: &'a str,
}

impl<'a> From<&'a Waiting> for NoticesWaiting<'a> {
    fn from(waiting: &'a Waiting) -> Self {
        Self { target: &waiting.target, count: waiting.count, why: &waiting.why }
    }
}

/// What came of a notice that was sent as a test.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TrialReport<'a> {
    pub(crate) target: &'a str,
    /// The key that configures it.
    pub(crate) key: &'a str,
    pub(crate) arrived: bool,
    pub(crate) why: Option<&'a str>,
}

impl<'a> From<&'a Trial> for TrialReport<'a> {
    fn from(trial: &'a Trial) -> Self {
        let why = trial.result.as_ref().err().map(String::as_str);
        Self { target: &trial.target, key: &trial.key, arrived: why.is_none(), why }
    }
}
