//! Notices: what a person is told who is not looking.
//!
//! A machine says what happened in its own words; to whom it goes, and what must not be in it, is
//! the engine's to see to. Texts hold titles and failures that others have written, at full
//! length: the sender takes secrets out first and shortens them afterwards.

use crate::{
    id::TaskId,
    next::{self, NextStep},
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that a person may want to know at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub kind: NoticeKind,
    /// One line.
    pub title: String,
    /// What more there is to say; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    pub at: Time,
    /// What to do about it, in this order.
    #[serde(
        default,
        deserialize_with = "next::known_steps",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub next: Vec<NextStep>,
}

/// What a notice is about; each kind has a switch of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A run has begun.
    Start,
    /// A task has failed for good; a try that is followed by another is none.
    TaskFailed,
    /// A phase has ended, with or without failures in it.
    PhaseDone,
    /// Something waits in the inbox.
    NeedsYou,
    /// A question was not answered in time, and its default was taken.
    DefaultTaken,
    /// Nothing is left to do.
    AllDone,
    /// A run stands still because of the machine, or goes on after that.
    RunStalled,
    /// A run in the background has ended before its tasks.
    RunStopped,
    /// The engine of a run has died, as another process has found.
    EngineLost,
}

impl NoticeKind {
    pub const ALL: [Self; 9] = [
        Self::Start,
        Self::TaskFailed,
        Self::PhaseDone,
        Self::NeedsYou,
        Self::DefaultTaken,
        Self::AllDone,
        Self::RunStalled,
        Self::RunStopped,
        Self::EngineLost,
    ];

    /// The kind's word on the wire, the same as serde's.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::TaskFailed => "task_failed",
            Self::PhaseDone => "phase_done",
            Self::NeedsYou => "needs_you",
            Self::DefaultTaken => "default_taken",
            Self::AllDone => "all_done",
            Self::RunStalled => "run_stalled",
            Self::RunStopped => "run_stopped",
            Self::EngineLost => "engine_lost",
        }
    }
}

impl fmt::Display for NoticeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Notice {
    pub fn new(kind: NoticeKind, title: impl Into<String>, at: Time) -> Self {
        let (title, text, next) = (title.into(), String::new(), Vec::new());
        Self { kind, title, text, task: None, phase: None, at, next }
    }

    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    pub fn next(mut self, step: NextStep) -> Self {
        self.next.push(step);
        self
    }

    pub fn task(mut self, id: TaskId) -> Self {
        self.task = Some(id);
        self
    }

    pub fn phase(mut self, phase: u32) -> Self {
        self.phase = Some(phase);
        self
    }
}
