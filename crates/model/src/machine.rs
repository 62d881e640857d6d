//! What every state machine has in common: it decides, and it applies what was decided.
//!
//! `decide` reads the state and never clones it; `apply` is the only way to change it. Whatever a
//! rule needs from outside (who asks, what time it is, what a check showed) is handed in.

use crate::{
    actor::Actor,
    answer::{Answer, Consequence, OutsideFacts},
    code::{Class, Code},
    image::{Codec, Image, TakenParts},
    inbox::{Question, Topic},
    listing::Listing,
    next::NextStep,
    time::Time,
};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt;

/// A state machine whose events are its only history.
pub trait Machine: Serialize + DeserializeOwned + fmt::Debug + Send + 'static {
    type Command: fmt::Debug + Send + Sync + 'static;
    type Event: Serialize + DeserializeOwned + fmt::Debug;

    /// The kind of stream its events are in; stable, it is part of the journal's format.
    const KIND: &'static str;
    /// The format of its events and snapshots; raised when an older program could not read them.
    const FORMAT: u32;
    /// Whether machines of its kind are listed: whenever one has changed, its row is written.
    const IS_LISTED: bool = false;

    /// The state before the first event.
    fn start() -> Self;

    /// Decides what `command` means now; changes nothing.
    fn decide(
        &self,
        command: &Self::Command,
        asked: &Asked<'_>,
    ) -> Result<Decision<Self::Event>, Rejected>;

    /// Takes over one event. Total: what was once decided can always be applied.
    fn apply(&mut self, event: &Self::Event, at: Time);

    /// The event's word in the journal, the same as serde's.
    fn event_kind(event: &Self::Event) -> &'static str;

    /// What follows by itself from the present state; decided in the same transaction.
    fn follow_up(&self) -> Option<Self::Command> {
        None
    }

    /// What an answer to one of its questions means to it. Whether a person may give it is decided
    /// with the commands that come of it.
    fn answered<F: OutsideFacts>(
        &self,
        _answer: &Answer<'_>,
        _facts: &F,
    ) -> Result<Consequence<Self::Command>, F::Error> {
        Ok(Consequence::nothing())
    }

    /// How many tasks wait behind one of its questions; none if it has no tasks, or no such question.
    fn holds(&self, _topic: &Topic) -> Option<usize> {
        None
    }

    /// What it wants to do now that the time of a timer has come; none if there is no reason any
    /// more. Decided as a command of Waypost, in the transaction that ends the timer.
    fn due(&self, _topic: &Topic) -> Option<Self::Command> {
        None
    }

    /// Its state as parts for an image: all of them, or those that have changed since they were
    /// taken last. None for a machine that is always read whole.
    fn take_image<C: Codec>(&mut self, _all: bool) -> Option<TakenParts> {
        None
    }

    /// The state that an image has; none if it is no image of such a machine.
    fn of_image<C: Codec>(_image: &Image) -> Option<Self> {
        None
    }

    /// How it stands in the list of its kind; none if it is not in it.
    fn listing<C: Codec>(&self) -> Option<Listing> {
        None
    }

    /// How many rows a snapshot has, so that the cost of taking one is spread over enough events.
    fn size(&self) -> usize {
        1
    }
}

/// The circumstances of a command.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub by: &'a Actor,
    pub now: Time,
}

/// What a command leads to: facts for the journal, and work for after they are durable.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<E> {
    pub events: Vec<E>,
    pub effects: Vec<Effect>,
}

impl<E> Decision<E> {
    /// The command is fine and changes nothing: late or repeated.
    pub fn nothing() -> Self {
        Self { events: Vec::new(), effects: Vec::new() }
    }

    pub fn events(events: impl IntoIterator<Item = E>) -> Self {
        Self { events: events.into_iter().collect(), effects: Vec::new() }
    }

    pub fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }
}

/// What follows from events and is not one. `Ask`, `Settle`, `Account` and `Remember` reach their
/// machine in the same transaction; notices and timers are rows of the outbox, which the host performs.
///
/// What can be told from the state at any time (a phase that waits to be joined, the earliest time
/// of a next try) is no effect: the executor looks at the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A person is needed.
    Ask(Question<Topic>),
    /// What was asked about `topic` needs no answer any more.
    Settle { topic: Topic },
    /// Something became of an account: the accounts are told in the same transaction.
    Account(crate::accounts::Command),
    /// Something has ended that the memory's history gets an entry for, in the same transaction.
    Remember(Box<crate::memory::FinishedWork>),
    /// Send a notice to a person who is not looking, if that is wanted.
    Notify(crate::notice::Notice),
    /// At this time the machine is asked what is due (`Machine::due`), once, also if no program was
    /// running then. It takes the place of the timer that the topic may have.
    SetTimer { topic: Topic, at: Time },
    /// The timer of the topic is not wanted any more.
    CancelTimer { topic: Topic },
}

/// Why a command was refused: a value, not a failure. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Rejected {
    pub cause: Cause,
    /// What programs match on.
    pub code: Code,
    /// One line that an agent can act on: what is missing.
    pub message: String,
    /// What leads on from here, the most useful first; any one of them.
    pub next: Vec<NextStep>,
}

/// What kind of refusal it is; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A rule of the machine stands against it.
    Rule,
    /// Only a person may do this.
    Reserved,
    /// It comes from an attempt that is not the current one.
    Fenced,
    /// It comes from below an attempt that is over, whatever it is about.
    Stale,
    /// It is about something that has changed since.
    Outdated,
    /// It names something that does not exist.
    Unknown,
    /// It should not have been asked at all: a fault of ours.
    Bug,
}

impl Cause {
    pub fn class(self) -> Class {
        match self {
            Self::Rule | Self::Reserved => Class::Refused,
            Self::Fenced | Self::Stale | Self::Outdated => Class::Locked,
            Self::Unknown => Class::BadInput,
            Self::Bug => Class::Bug,
        }
    }
}

impl Rejected {
    fn new(cause: Cause, code: Code, message: impl Into<String>) -> Self {
        debug_assert_eq!(code.class(), cause.class(), "{code} is of another class");
        Self { cause, code, message: message.into(), next: Vec::new() }
    }

    pub fn rule(code: Code, message: impl Into<String>) -> Self {
        Self::new(Cause::Rule, code, message)
    }

    pub fn reserved(what: &str) -> Self {
        let message = format!("{what} is reserved for a person at a terminal");
        Self::new(Cause::Reserved, Code::Reserved, message)
    }

    pub fn fenced(message: impl Into<String>) -> Self {
        Self::new(Cause::Fenced, Code::FencedAttempt, message)
    }

    pub fn stale(message: impl Into<String>) -> Self {
        Self::new(Cause::Stale, Code::StaleAttempt, message)
    }

    pub fn outdated(code: Code, message: impl Into<String>) -> Self {
        Self::new(Cause::Outdated, code, message)
    }

    pub fn unknown(code: Code, message: impl Into<String>) -> Self {
        Self::new(Cause::Unknown, code, message)
    }

    /// A command reached a function that is for another one: a fault of ours.
    pub(crate) fn misrouted(what: &str) -> Self {
        Self::new(Cause::Bug, Code::Bug, format!("this is no {what}"))
    }

    pub fn next(mut self, step: NextStep) -> Self {
        self.next.push(step);
        self
    }
}
