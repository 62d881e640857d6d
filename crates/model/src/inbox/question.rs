//! What is asked: the kinds, and what each question says beside its text.

use super::{
    Reply, Subject, Topic,
    material::{Material, PhaseReview, WantedValue},
};
use crate::{
    id::StreamName,
    next::{self, NextStep},
};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// How long an optional question waits for a person before its default is taken.
pub const OPTIONAL_WAIT: Duration = Duration::from_secs(30 * 60);

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
    /// Whether only a person's answer lets the work go on.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub is_required: bool,
    /// What is taken when no person has answered for so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Otherwise>,
    #[serde(default, skip_serializing_if = "Material::is_nothing")]
    pub material: Material,
}

fn yes() -> bool {
    true
}

fn is_yes(is: &bool) -> bool {
    *is
}

/// The reply that is taken by itself, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Otherwise {
    pub reply: Reply,
    /// Milliseconds after it was asked or reworded.
    pub after_ms: u64,
}

impl Otherwise {
    pub fn wait(&self) -> Duration {
        Duration::from_millis(self.after_ms)
    }
}

impl<S> Question<S> {
    /// A required question that any text answers.
    pub fn new(
        kind: QuestionKind,
        subject: S,
        title: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            subject,
            title: title.into(),
            text: text.into(),
            choices: Vec::new(),
            next: Vec::new(),
            is_required: true,
            otherwise: None,
            material: Material::Nothing,
        }
    }

    pub fn choices<C: Into<String>>(mut self, choices: impl IntoIterator<Item = C>) -> Self {
        self.choices = choices.into_iter().map(Into::into).collect();
        self
    }

    pub fn next(mut self, step: NextStep) -> Self {
        self.next.push(step);
        self
    }

    /// It need not be answered: after `OPTIONAL_WAIT` the default is taken, or that there will be no
    /// answer.
    pub fn optional(mut self, default: Option<Reply>) -> Self {
        self.is_required = false;
        let default = default.unwrap_or_else(|| Reply::Decline(String::new()));
        self.otherwise(default, OPTIONAL_WAIT)
    }

    /// After so long this reply is taken.
    pub fn otherwise(mut self, reply: Reply, after: Duration) -> Self {
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.otherwise = Some(Otherwise { reply, after_ms });
        self
    }

    pub fn value(mut self, value: WantedValue) -> Self {
        self.material = Material::Value(value);
        self
    }

    pub fn review(mut self, review: PhaseReview) -> Self {
        self.material = Material::Review(Box::new(review));
        self
    }

    /// The value that is wanted, if one is.
    pub fn wanted_value(&self) -> Option<&WantedValue> {
        match &self.material {
            Material::Value(value) => Some(value),
            _ => None,
        }
    }

    pub fn phase_review(&self) -> Option<&PhaseReview> {
        match &self.material {
            Material::Review(review) => Some(review),
            _ => None,
        }
    }

    /// The answers as they are shown in a command line.
    pub(super) fn answers(&self) -> String {
        match self.choices.is_empty() {
            true => "TEXT".to_owned(),
            false => self.choices.join("|"),
        }
    }
}

impl Question<Topic> {
    /// The question of the machine whose stream this is, within the bounds of the journal.
    pub fn asked_by(self, stream: &StreamName) -> Question {
        let Self { kind, subject, title, text, choices, next, is_required, otherwise, material } =
            self;
        let subject = Subject::of(stream, &subject);
        let material = material.bounded();
        Question { kind, subject, title, text, choices, next, is_required, otherwise, material }
    }
}

/// Why a person is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// A checkpoint is out of retries, or a phase of a task out of reworks.
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
    /// An agent lacks a value: a key, a path, the address of a service.
    Value,
    /// A phase of a task waits to be approved.
    Review,
    /// An agent has written a block that cannot be read; nothing came of it.
    MalformedBlock,
    /// The work of a phase could not be merged.
    HeldMerge,
}

impl QuestionKind {
    pub const ALL: [Self; 12] = [
        Self::AgentQuestion,
        Self::Value,
        Self::Permission,
        Self::Review,
        Self::Escalation,
        Self::MalformedBlock,
        Self::RefusedEdit,
        Self::HeldMerge,
        Self::Gate,
        Self::PhaseEnd,
        Self::WaitingEdit,
        Self::Unavailable,
    ];

    /// The kind's word on the wire, the same as serde's.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Escalation => "escalation",
            Self::Gate => "gate",
            Self::PhaseEnd => "phase_end",
            Self::WaitingEdit => "waiting_edit",
            Self::RefusedEdit => "refused_edit",
            Self::Permission => "permission",
            Self::AgentQuestion => "agent_question",
            Self::Unavailable => "unavailable",
            Self::Value => "value",
            Self::Review => "review",
            Self::MalformedBlock => "malformed_block",
            Self::HeldMerge => "held_merge",
        }
    }
}

/// In words for a sentence or a column.
impl fmt::Display for QuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Escalation => "escalation",
            Self::Gate => "gate",
            Self::PhaseEnd => "end of a phase",
            Self::WaitingEdit => "waiting edit",
            Self::RefusedEdit => "refused edit",
            Self::Permission => "permission",
            Self::AgentQuestion => "question",
            Self::Unavailable => "unavailable",
            Self::Value => "value",
            Self::Review => "review",
            Self::MalformedBlock => "malformed block",
            Self::HeldMerge => "held merge",
        })
    }
}
