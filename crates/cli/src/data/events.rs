//! What happens, as data: entries of the journal, events of a run that is watched, errors.

use super::run::RunReport;
use crate::spelling::{self, Step};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::path::Path;
use waypost_engine::{Cursor, Happening, Recorded, RunNews};
use waypost_model::{
    actor::Actor,
    diagnostic::Diagnostic,
    id::{StreamName, TaskId},
    run::ParkCause,
};

/// An entry of the journal.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LogLine<'a> {
    /// Its number in the journal.
    pub(crate) seq: u64,
    /// The place after it: `log --after` goes on from here. Opaque.
    #[schemars(with = "String")]
    pub(crate) cursor: Cursor,
    #[schemars(with = "String")]
    pub(crate) stream: &'a StreamName,
    /// Its number in the stream.
    pub(crate) stream_seq: u64,
    /// When, in UTC.
    pub(crate) at: String,
    /// Who gave the command.
    #[schemars(with = "String")]
    pub(crate) actor: &'a Actor,
    /// The event's word.
    pub(crate) kind: &'a str,
    /// What it says; its keys are the event's.
    #[schemars(with = "Value")]
    pub(crate) body: Option<&'a RawValue>,
}

/// A line about a run that is watched.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunEventLine<'a> {
    #[serde(flatten)]
    pub(crate) event: RunEvent<'a>,
    /// Its place in the journal: `log --after` goes on from here. What is in no journal (`started`,
    /// `note`) has the place after which it was said. Opaque.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub(crate) cursor: Option<Cursor>,
}

impl<'a> From<&'a RunNews> for RunEventLine<'a> {
    fn from(news: &'a RunNews) -> Self {
        Self { event: (&news.happening).into(), cursor: Some(news.cursor) }
    }
}

/// An event that is about this process, or the run as a whole.
impl<'a> From<RunEvent<'a>> for RunEventLine<'a> {
    fn from(event: RunEvent<'a>) -> Self {
        Self { event, cursor: None }
    }
}

/// Something that happens to a run while it is watched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum RunEvent<'a> {
    /// The run in the background is at work.
    Working,
    /// It goes on in the background as this process.
    Detached {
        pid: u32,
    },
    /// How it stood when the watching began.
    Watching {
        run: Box<RunReport<'a>>,
    },
    /// How it stood at the end.
    Ended {
        run: Box<RunReport<'a>>,
    },
    /// An attempt at a task has begun.
    Started {
        id: &'a TaskId,
        attempt: u32,
    },
    Completed {
        id: &'a TaskId,
    },
    /// An attempt failed, and there will be another, not before this time.
    Retried {
        id: &'a TaskId,
        reason: &'a str,
        not_before: String,
    },
    /// A task has failed for good.
    Failed {
        id: &'a TaskId,
        reason: &'a str,
    },
    /// An attempt ended without a result.
    Interrupted {
        id: &'a TaskId,
        reason: &'a str,
    },
    /// A task waits for what is not its fault; without a time, for a person.
    Parked {
        id: &'a TaskId,
        cause: ParkCause,
        reason: &'a str,
        until: Option<String>,
    },
    /// An agent waits for a person.
    Asked {
        id: &'a TaskId,
        question: &'a str,
    },
    /// A phase has ended; so many of its tasks are not done.
    PhaseClosed {
        phase: u32,
        merge_commit: Option<&'a str>,
        missing: usize,
    },
    /// Something to be known.
    Note {
        text: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        next_steps: Vec<Step<'a>>,
    },
}

impl<'a> From<&'a Happening> for RunEvent<'a> {
    fn from(happening: &'a Happening) -> Self {
        match happening {
            Happening::Started { id, attempt } => Self::Started { id, attempt: *attempt },
            Happening::Completed { id } => Self::Completed { id },
            Happening::Retried { id, text, not_before } => {
                Self::Retried { id, reason: text, not_before: not_before.to_string() }
            }
            Happening::Failed { id, text } => Self::Failed { id, reason: text },
            Happening::Interrupted { id, why } => Self::Interrupted { id, reason: why },
            Happening::Parked { id, cause, why, until } => Self::Parked {
                id,
                cause: *cause,
                reason: why,
                until: until.map(|until| until.to_string()),
            },
            Happening::Asked { id, title } => Self::Asked { id, question: title },
            Happening::PhaseClosed { phase, merge_commit, missing } => Self::PhaseClosed {
                phase: *phase,
                merge_commit: merge_commit.as_deref(),
                missing: *missing,
            },
            Happening::Note(text) => Self::Note { text: text.clone(), next_steps: Vec::new() },
            Happening::Remark(remark) => {
                let next_steps = spelling::data(&remark.next);
                Self::Note { text: spelling::line(remark), next_steps }
            }
        }
    }
}

/// What became of the wish that a run ends.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StopLine {
    pub(crate) event: StopEvent,
    /// The process that worked on it; none: it was gone.
    pub(crate) pid: Option<u32>,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopEvent {
    /// It ends when the attempt has ended that asked.
    Asked,
    Stopped,
}

/// An event of the journal, named where it explains something.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventOf<'a> {
    pub(crate) seq: u64,
    pub(crate) kind: &'a str,
    pub(crate) at: String,
    #[schemars(with = "String")]
    pub(crate) actor: &'a Actor,
}

impl<'a> From<&'a Recorded> for EventOf<'a> {
    fn from(entry: &'a Recorded) -> Self {
        Self { seq: entry.seq, kind: &entry.kind, at: entry.at.to_string(), actor: &entry.actor }
    }
}

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorLine<'a> {
    pub(crate) error: ErrorBody<'a>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorBody<'a> {
    /// The exit code.
    pub(crate) code: u8,
    /// The stable word, one of the reference's table.
    pub(crate) kind: &'static str,
    /// A sentence, with what is behind it.
    pub(crate) message: &'a str,
    /// What is behind it alone, the nearest first.
    pub(crate) causes: &'a [String],
    pub(crate) hints: &'a [String],
    /// What leads on, as a person types it.
    pub(crate) next: Option<String>,
    /// The same as values; any one of them.
    pub(crate) next_steps: Vec<Step<'a>>,
    pub(crate) files: Vec<FileFindings<'a>>,
}

/// What is wrong in a file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileFindings<'a> {
    pub(crate) file: &'a Path,
    pub(crate) findings: &'a [Diagnostic],
}
