//! Signals with their places in a stream, what they have to be to count, and their order.
//!
//! All of it is the same for a process that reads a stream for the second time, but for the order of what
//! came within one moment; that is why a signal is known by its place.

use super::signal::{Malformed, Severity, Signal};
use crate::stream::{Placed, Said};
use std::time::Duration;
use waypost_model::time::Time;

/// What comes within this time of each other came together.
pub const WINDOW: Duration = Duration::from_millis(100);

/// A signal and where it stands in its stream, in bytes: by that it is told from all others.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    pub offset: u64,
    pub signal: Signal,
}

/// Gives each signal of a stream its place. Several in one line of it follow each other byte by byte; no line
/// has more signals than bytes.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where the last one was said, and how many were said there.
    last: Option<(u64, u64)>,
}

impl Places {
    /// The signals in something that was said.
    pub fn spoken(&mut self, placed: &Placed) -> Vec<Spoken> {
        let Said::Text(text) = &placed.said else { return Vec::new() };
        let signals = super::read(text).into_iter();
        signals.map(|signal| Spoken { offset: self.next(placed.offset), signal }).collect()
    }

    fn next(&mut self, offset: u64) -> u64 {
        let count = self.last.filter(|(last, _)| *last == offset).map_or(0, |(_, count)| count);
        self.last = Some((offset, count + 1));
        offset + count
    }
}

/// What the end of a phase has to say to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The phase that is worked on; none: the work has no phases.
    pub phase: Option<u32>,
    /// What has to stand in the line, so that a text which was copied from elsewhere is none.
    pub nonce: Option<String>,
}

impl Expected {
    /// The line that ends the phase, or the work without phases.
    pub fn line(&self) -> String {
        let nonce = self.nonce.as_ref().map(|nonce| format!(" {nonce}")).unwrap_or_default();
        match self.phase {
            Some(phase) => format!("=== PHASE {phase} COMPLETE{nonce} ==="),
            None => format!("=== CUSTOM TASK COMPLETE{nonce} ==="),
        }
    }

    /// The signal if it counts; the end of something else, or without the nonce, is malformed.
    pub fn judged(&self, signal: Signal) -> Signal {
        let (block, nonce, wrong) = match &signal {
            Signal::PhaseComplete { phase, nonce, .. } if self.phase == Some(*phase) => {
                ("PHASE COMPLETE", nonce, None)
            }
            Signal::PhaseComplete { phase, nonce, .. } => {
                let why = match self.phase {
                    Some(present) => {
                        format!("phase {present} is being worked on, not phase {phase}")
                    }
                    None => "this work has no phases".to_owned(),
                };
                ("PHASE COMPLETE", nonce, Some(why))
            }
            Signal::CustomComplete { nonce } => {
                let why = self.phase.map(|phase| format!("phase {phase} is being worked on"));
                ("CUSTOM TASK COMPLETE", nonce, why)
            }
            _ => return signal,
        };
        let needed = self.nonce.as_ref();
        let wrong = wrong.or_else(|| match (needed, nonce) {
            (None, _) => None,
            (Some(needed), Some(said)) if said == needed => None,
            (Some(_), None) => Some("the word that was given for it is missing".to_owned()),
            (Some(_), Some(_)) => {
                Some("it has another word than the one that was given".to_owned())
            }
        });
        match wrong {
            None => signal,
            Some(why) => {
                let why = format!("{why}; the line is `{}`", self.line());
                Signal::Malformed(Malformed { block: block.to_owned(), why, text: String::new() })
            }
        }
    }
}

/// Signals that came together, until the moment is over.
#[derive(Clone, Debug, Default)]
pub struct Window {
    since: Option<Time>,
    held: Vec<Spoken>,
}

impl Window {
    /// Takes what has just been said.
    pub fn take(&mut self, spoken: impl IntoIterator<Item = Spoken>, now: Time) {
        self.held.extend(spoken);
        if !self.held.is_empty() {
            self.since.get_or_insert(now);
        }
    }

    /// When the moment is over; none: nothing has been said.
    pub fn due(&self) -> Option<Time> {
        self.since.map(|since| since.plus(WINDOW))
    }

    /// What was said in a moment that is over, in order: errors, ends, requests, questions, and what was not
    /// understood. A fatal error drops the rest.
    pub fn ready(&mut self, now: Time) -> Vec<Spoken> {
        match self.due() {
            // A clock that was set back ends the moment as well.
            Some(due) if now >= due || self.since.is_some_and(|since| now < since) => self.close(),
            _ => Vec::new(),
        }
    }

    /// The same of a moment that nothing can be added to, because the process has ended.
    pub fn close(&mut self) -> Vec<Spoken> {
        self.since = None;
        let mut spoken = std::mem::take(&mut self.held);
        spoken.sort_by_key(|it| (it.signal.rank(), it.offset));
        if let Some(at) = spoken.iter().position(|it| it.signal.is_fatal()) {
            spoken.truncate(at + 1);
        }
        spoken
    }
}

impl Signal {
    pub(super) fn is_fatal(&self) -> bool {
        matches!(self, Self::Problem(problem) if problem.severity == Severity::Fatal)
    }
}

impl Malformed {
    /// What the agent is told about it, so that it can say it again.
    pub fn reply(&self) -> String {
        let Self { block, why, .. } = self;
        let form = match block.as_str() {
            "DEPENDENCY_REQUEST" => {
                "[DEPENDENCY_REQUEST]\ntype: api_key | env_variable | service | file | permission | \
                 package\nname: NAME\ndescription: what it is for\nrequired: true | false\n\
                 [/DEPENDENCY_REQUEST]"
            }
            "USER_QUESTION" => {
                "[USER_QUESTION]\ncategory: business | clarification | choice | confirmation\n\
                 question: the question\noptions:\n- one\n- another\nrequired: true | false\n\
                 [/USER_QUESTION]"
            }
            "ERROR" => {
                "[ERROR]\ntype: recoverable | fatal\nmessage: what happened\nrecovery: pause_and_retry \
                 | checkpoint_and_fail | notify_user\n[/ERROR]"
            }
            "VERIFICATION_RESULT" => "=== VERIFICATION_RESULT ===\n{ … one JSON object … }",
            _ => "",
        };
        let told =
            format!("What you wrote as {block} was not understood, and nothing was done: {why}.");
        match form {
            "" => told,
            form => format!(
                "{told}\n\nWrite it again, each line by itself and outside of code:\n\n{form}"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
