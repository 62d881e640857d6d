//! What can be said to an entry of the inbox: the verbs, which kinds take which, and what a person
//! has said as a closed type.
//!
//! The journal holds a reply as a verb, a text and comments; a plain answer has no verb, so that the
//! answers of earlier versions are read as they are. The value of a secret is never part of a reply.

use super::{Entry, Question, QuestionKind, comment::LineComment};
use crate::{
    code::Code,
    id::EntryId,
    machine::Rejected,
    next::{BadStep, NextStep},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The longest text of a reply, in bytes: what an agent is told in one message.
pub const REPLY_BYTES_MAX: usize = 100 * 1024;

/// The most comments on lines in one reply.
pub const COMMENTS_MAX: usize = 500;

/// What a person does with an entry.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReplyVerb {
    /// Say something: one of the choices, or any text.
    #[default]
    Answer,
    /// Give a value, which goes past the journal.
    Provide,
    /// Say no, or that there will be no answer.
    Decline,
    Approve,
    /// Ask for changes.
    Changes,
    /// Let it be tried again.
    Retry,
    /// Take it as it is.
    Accept,
    /// Let it fail.
    Fail,
}

impl ReplyVerb {
    pub const ALL: [Self; 8] = [
        Self::Answer,
        Self::Provide,
        Self::Decline,
        Self::Approve,
        Self::Changes,
        Self::Retry,
        Self::Accept,
        Self::Fail,
    ];

    /// The verb as it is typed, the same as serde's.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Provide => "provide",
            Self::Decline => "decline",
            Self::Approve => "approve",
            Self::Changes => "changes",
            Self::Retry => "retry",
            Self::Accept => "accept",
            Self::Fail => "fail",
        }
    }
}

impl fmt::Display for ReplyVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for ReplyVerb {
    type Err = BadStep;

    fn from_str(word: &str) -> Result<Self, BadStep> {
        Self::ALL.into_iter().find(|verb| verb.word() == word).ok_or(BadStep)
    }
}

/// What was said to an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ReplyParts", into = "ReplyParts")]
pub enum Reply {
    /// Where there are choices, one of them, in the words in which it was offered.
    Answer(String),
    /// The value is in the vault, under the name that was asked for.
    Provide,
    /// Why, which may be empty.
    Decline(String),
    Approve,
    Changes {
        text: String,
        comments: Vec<LineComment>,
    },
    /// What to do otherwise this time, which may be empty.
    Retry(String),
    /// A remark, which may be empty.
    Accept(String),
    /// Why, which may be empty.
    Fail(String),
}

impl Reply {
    /// A reply with this verb. What a verb has no use for is dropped.
    pub fn new(verb: ReplyVerb, text: impl Into<String>) -> Self {
        ReplyParts { verb, text: text.into(), comments: Vec::new() }.into()
    }

    pub fn answer(text: impl Into<String>) -> Self {
        Self::Answer(text.into())
    }

    pub const fn verb(&self) -> ReplyVerb {
        match self {
            Self::Answer(_) => ReplyVerb::Answer,
            Self::Provide => ReplyVerb::Provide,
            Self::Decline(_) => ReplyVerb::Decline,
            Self::Approve => ReplyVerb::Approve,
            Self::Changes { .. } => ReplyVerb::Changes,
            Self::Retry(_) => ReplyVerb::Retry,
            Self::Accept(_) => ReplyVerb::Accept,
            Self::Fail(_) => ReplyVerb::Fail,
        }
    }

    /// What was written with it; may be empty.
    pub fn text(&self) -> &str {
        match self {
            Self::Provide | Self::Approve => "",
            Self::Changes { text, .. }
            | Self::Answer(text)
            | Self::Decline(text)
            | Self::Retry(text)
            | Self::Accept(text)
            | Self::Fail(text) => text,
        }
    }

    pub fn comments(&self) -> &[LineComment] {
        match self {
            Self::Changes { comments, .. } => comments,
            _ => &[],
        }
    }

    /// The reply as a text for one who understands texts only, such as an agent that asked.
    pub fn told(&self) -> String {
        let text = self.text();
        match self {
            Self::Answer(text) => text.clone(),
            Self::Decline(_) if text.is_empty() => "There will be no answer.".to_owned(),
            Self::Decline(_) => format!("There will be no answer: {text}"),
            _ if text.is_empty() => self.verb().word().to_owned(),
            _ => format!("{}: {text}", self.verb()),
        }
    }

    fn trimmed(self) -> Self {
        let ReplyParts { verb, text, comments } = self.into();
        ReplyParts { verb, text: text.trim().to_owned(), comments }.into()
    }
}

/// A reply as the journal holds it.
#[derive(Debug, Serialize, Deserialize)]
struct ReplyParts {
    #[serde(default, skip_serializing_if = "is_answer")]
    verb: ReplyVerb,
    #[serde(default)]
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    comments: Vec<LineComment>,
}

fn is_answer(verb: &ReplyVerb) -> bool {
    *verb == ReplyVerb::Answer
}

impl From<Reply> for ReplyParts {
    fn from(reply: Reply) -> Self {
        let (verb, text) = (reply.verb(), reply.text().to_owned());
        let comments = match reply {
            Reply::Changes { comments, .. } => comments,
            _ => Vec::new(),
        };
        Self { verb, text, comments }
    }
}

impl From<ReplyParts> for Reply {
    fn from(ReplyParts { verb, text, comments }: ReplyParts) -> Self {
        match verb {
            ReplyVerb::Answer => Self::Answer(text),
            ReplyVerb::Provide => Self::Provide,
            ReplyVerb::Decline => Self::Decline(text),
            ReplyVerb::Approve => Self::Approve,
            ReplyVerb::Changes => Self::Changes { text, comments },
            ReplyVerb::Retry => Self::Retry(text),
            ReplyVerb::Accept => Self::Accept(text),
            ReplyVerb::Fail => Self::Fail(text),
        }
    }
}

/// A verb that a kind of question takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offer {
    verb: ReplyVerb,
    /// The choices that it stands for: the first one that the question has.
    choices: &'static [&'static str],
    /// When it is told as it is.
    plain: Plain,
}

/// When a verb reaches the machine that asked as it is, not as one of the choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plain {
    Always,
    WithChoices,
    WithoutChoices,
    Never,
}

const fn plain(verb: ReplyVerb) -> Offer {
    Offer { verb, choices: &[], plain: Plain::Always }
}

const fn choice(verb: ReplyVerb, choices: &'static [&'static str]) -> Offer {
    Offer { verb, choices, plain: Plain::Never }
}

const fn when(verb: ReplyVerb, choices: &'static [&'static str], plain: Plain) -> Offer {
    Offer { verb, choices, plain }
}

impl QuestionKind {
    /// The table of kinds and verbs; `docs/inbox.md` shows it.
    const fn offers(self) -> &'static [Offer] {
        use ReplyVerb::{Accept, Answer, Approve, Changes, Decline, Fail, Provide, Retry};
        match self {
            Self::AgentQuestion => const { &[plain(Answer), plain(Decline)] },
            Self::Value => const { &[plain(Provide), plain(Decline)] },
            Self::Permission => {
                const { &[plain(Answer), choice(Approve, &["allow"]), choice(Decline, &["deny"])] }
            }
            Self::Review => const { &[plain(Approve), plain(Changes)] },
            // Some are asked with words of their own, of which these verbs mean some.
            Self::Escalation => {
                const {
                    &[
                        when(Answer, &[], Plain::WithChoices),
                        when(Retry, &["reopen", "resume"], Plain::WithoutChoices),
                        when(Accept, &["go on without it"], Plain::WithoutChoices),
                        when(Fail, &["fail", "cancel"], Plain::WithoutChoices),
                    ]
                }
            }
            Self::MalformedBlock => const { &[plain(Answer), plain(Accept)] },
            Self::RefusedEdit => const { &[plain(Answer), choice(Accept, &["seen"])] },
            Self::HeldMerge => const { &[plain(Retry)] },
            Self::Gate => {
                const { &[plain(Answer), choice(Approve, &["confirm"]), choice(Decline, &["decline"])] }
            }
            // Earlier versions asked about held merges under this kind, without choices.
            Self::PhaseEnd => {
                const {
                    &[
                        plain(Answer),
                        choice(Approve, &["continue"]),
                        when(Retry, &[], Plain::WithoutChoices),
                    ]
                }
            }
            Self::WaitingEdit => {
                const { &[plain(Answer), choice(Accept, &["accept"]), choice(Decline, &["decline"])] }
            }
            Self::Unavailable => const { &[plain(Answer), choice(Retry, &["try again"])] },
        }
    }
}

impl<S> Question<S> {
    /// The verbs that this question takes, the most usual first.
    pub fn verbs(&self) -> Vec<ReplyVerb> {
        let offers = self.kind.offers().iter();
        offers.filter(|offer| self.reading(offer).is_some()).map(|offer| offer.verb).collect()
    }

    /// The next step that says this to the entry with this question.
    pub(super) fn step(&self, id: &EntryId, verb: ReplyVerb) -> NextStep {
        let id = id.clone();
        match verb {
            ReplyVerb::Answer => NextStep::AnswerEntry { id, answers: self.answers() },
            verb => NextStep::ReplyToEntry { id, verb },
        }
    }

    /// How an offer reaches the machine that asked, if it does.
    fn reading(&self, offer: &Offer) -> Option<Reading> {
        let has = |word: &&&str| self.choices.iter().any(|choice| choice == **word);
        match (offer.choices.iter().find(has), offer.plain) {
            (Some(word), _) => Some(Reading::Choice(word)),
            (_, Plain::Always) => Some(Reading::Plain),
            (_, Plain::WithChoices) if !self.choices.is_empty() => Some(Reading::Plain),
            (_, Plain::WithoutChoices) if self.choices.is_empty() => Some(Reading::Plain),
            _ => None,
        }
    }
}

enum Reading {
    Plain,
    Choice(&'static str),
}

impl Entry {
    /// A reply as the machine that asked is told it, or why it is none to this entry.
    pub fn read(&self, reply: Reply) -> Result<Reply, Rejected> {
        let verb = reply.verb();
        let offer = self.question.kind.offers().iter().find(|offer| offer.verb == verb);
        let Some(reading) = offer.and_then(|offer| self.question.reading(offer)) else {
            return Err(self.wrong_verb(verb));
        };
        let reply = reply.trimmed();
        self.check_size(&reply)?;
        match (reading, reply) {
            // An agent is told why it may not.
            (Reading::Choice(word), Reply::Decline(why))
                if self.question.kind == QuestionKind::Permission && !why.is_empty() =>
            {
                Ok(Reply::Answer(format!("{word}: {why}")))
            }
            (Reading::Choice(word), _) => Ok(Reply::answer(word)),
            (Reading::Plain, Reply::Answer(text)) => Ok(Reply::Answer(self.pick(&text)?)),
            (Reading::Plain, Reply::Changes { text, .. }) if text.is_empty() => {
                let message = "a request for changes needs a text that says what to change";
                Err(Rejected::rule(Code::AnswerMissing, message).next(self.step(verb)))
            }
            (Reading::Plain, reply) => Ok(reply),
        }
    }

    /// What was written with a verb that the machine which asked is told as a choice, and is not in that.
    pub(super) fn remark(&self, given: &Reply, read: &Reply) -> String {
        let text = given.text().trim();
        match given.verb() != read.verb() && !read.text().ends_with(text) {
            true => text.to_owned(),
            false => String::new(),
        }
    }

    /// The next step that says this to the entry.
    pub fn step(&self, verb: ReplyVerb) -> NextStep {
        self.question.step(&self.id, verb)
    }

    fn wrong_verb(&self, verb: ReplyVerb) -> Rejected {
        let verbs = self.question.verbs();
        let words: Vec<&str> = verbs.iter().map(|verb| verb.word()).collect();
        let (id, kind) = (&self.id, self.question.kind);
        let message = format!("{id} ({kind}) does not take `{verb}`, but {}", words.join(" or "));
        let refused = Rejected::rule(Code::VerbUnfit, message);
        verbs.into_iter().fold(refused, |refused, verb| refused.next(self.step(verb)))
    }

    fn check_size(&self, reply: &Reply) -> Result<(), Rejected> {
        let comments = reply.comments();
        let bytes: usize = comments.iter().map(|it| it.file.len() + it.text.len()).sum();
        let message = if reply.text().len() + bytes > REPLY_BYTES_MAX {
            format!("a reply has at most {REPLY_BYTES_MAX} bytes")
        } else if comments.len() > COMMENTS_MAX {
            format!("a reply has at most {COMMENTS_MAX} comments")
        } else {
            return Ok(());
        };
        let step = NextStep::ShowEntry { id: self.id.clone() };
        Err(Rejected::unknown(Code::AnswerTooLong, message).next(step))
    }

    /// Matches an answer to the choices: exactly, then without regard to case; what is only close is
    /// suggested, not taken.
    fn pick(&self, text: &str) -> Result<String, Rejected> {
        let choices = &self.question.choices;
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
            Some(choice) => rejected
                .next(NextStep::AnswerEntry { id: self.id.clone(), answers: choice.clone() }),
            None => rejected,
        })
    }
}
