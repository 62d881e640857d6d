//! What is said at the socket of a host: one JSON object in each line.
//!
//! A client asks once; most requests have one answer. A client that hands a run over or watches one
//! keeps the connection: the host tells what happens, the client may wish for its end. Both sides
//! leave out what they do not know of an object; a request that a host does not know has an answer
//! of its own, so that a later version may ask an earlier one. ARCHITECTURE.md, section 9, is its
//! documentation.

use crate::{
    attendance::Haste,
    environment::Variables,
    error::{EngineError, Problem, with_causes},
    execute::{Doing, RunEnd, RunNews, RunOptions, Running, Wish},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::PathBuf;
use waypost_model::{actor::Actor, code::Code, id::TaskId, next::NextStep, run::Usage, time::Time};
use waypost_store::lock::Owner;

/// What a line says of its version. A host answers only to this one.
pub(super) const VERSION: u32 = 1;

/// A line: what is said, and in which version.
#[derive(Serialize, Deserialize)]
struct Line<T> {
    v: u32,
    #[serde(flatten)]
    said: T,
}

/// What a client asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(super) enum Request {
    /// Another process has committed: look now.
    Poke,
    Who,
    /// End the run that is at work, as `run stop` does; the answer is followed by its end.
    Stop {
        haste: Haste,
    },
    /// Carry this run, and tell what happens.
    HandOver(Box<HandOver>),
    /// Tell what happens to a run: to this guest, or to the one that is at work.
    Watch {
        guest: Option<u64>,
    },
    /// From the client that watches a run which it has handed over: what it wants of it now.
    Wish {
        wish: Wish,
    },
}

/// A run that is handed over. Who hands it over is not said: the host looks at the process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HandOver {
    /// The root of the work tree it was started in.
    pub(super) root: PathBuf,
    pub(super) environment: Variables,
    pub(super) options: RunOptions,
}

/// What a host says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(super) enum Answer {
    Heard,
    Host(HostState),
    Refused {
        #[serde(flatten)]
        why: Refusal,
    },
    /// The run is carried, or watched, from here on; under this number.
    Watching {
        guest: u64,
    },
    /// What is in no journal, and its place beside it.
    Happening {
        #[serde(flatten)]
        news: RunNews,
    },
    /// What is being worked on.
    Look {
        running: Vec<TaskAtWork>,
    },
    /// Another process wants the run to end.
    Stopping {
        haste: Haste,
    },
    /// How it ended; nothing follows.
    Over {
        end: RunEnd,
    },
    /// It could not begin or go on; nothing follows.
    Failed {
        failure: Failure,
    },
    /// The host ends, and what works on the run does not: the client goes on with it.
    Leaving,
}

/// Why a host does not do what it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub(super) enum Refusal {
    /// It is no request of this version.
    Unknown {
        speaks: u32,
    },
    /// It carries a run already.
    Runs,
    NoRun,
    /// It ends, and another process can be the host in a moment.
    Closing,
    /// The run is of another project.
    Elsewhere,
}

/// A host, as it tells of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostState {
    pub(crate) owner: Owner,
    /// Of the program.
    pub(crate) version: String,
    pub(crate) is_closing: bool,
    pub(crate) guests: Vec<GuestState>,
}

/// A guest, as its host tells of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GuestState {
    pub(crate) guest: u64,
    pub(crate) kind: GuestKind,
    pub(crate) since: Time,
    /// Who handed it over; none: the process of the host itself.
    pub(crate) from: Option<Actor>,
    /// What it knows is wished of it.
    #[serde(default)]
    pub(crate) wish: Wish,
}

/// What kind of guest it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GuestKind {
    /// A run; there is one at a time.
    Run,
    /// An agent's work that is no task of a run: a review, checkpoints.
    Job,
    /// All tasks of the server.
    Tasks,
    /// A kind of a later version.
    #[serde(other)]
    Other,
}

impl HostState {
    pub(crate) fn run(&self) -> Option<&GuestState> {
        self.guests.iter().find(|guest| guest.kind == GuestKind::Run)
    }
}

/// A task that is being worked on, for another process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskAtWork {
    id: TaskId,
    attempt: u32,
    since: Time,
    doing: Doing,
    agent: Option<AgentAtWork>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct AgentAtWork {
    name: String,
    doing: String,
    usage: Usage,
    waits: bool,
}

impl TaskAtWork {
    pub(super) fn of(running: &Running<'_>) -> Self {
        Self {
            id: running.id.clone(),
            attempt: running.attempt,
            since: running.since,
            doing: running.doing,
            agent: running.agent.map(|agent| AgentAtWork {
                name: agent.name.to_owned(),
                doing: agent.doing.to_owned(),
                usage: agent.usage,
                waits: agent.waits,
            }),
        }
    }

    pub(super) fn running(&self) -> Running<'_> {
        Running {
            id: &self.id,
            attempt: self.attempt,
            since: self.since,
            doing: self.doing,
            agent: self.agent.as_ref().map(|agent| crate::execute::AgentView {
                name: &agent.name,
                doing: &agent.doing,
                usage: agent.usage,
                waits: agent.waits,
            }),
        }
    }
}

/// An error in another process: what its own caller would have been told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failure {
    code: String,
    message: String,
    hint: Option<String>,
    #[serde(default)]
    next: Vec<NextStep>,
}

impl Failure {
    pub(super) fn of(error: &EngineError) -> Self {
        Self {
            code: error.code().as_str().to_owned(),
            message: with_causes(error),
            hint: error.hint().map(str::to_owned),
            next: error.next_steps(),
        }
    }

    pub(super) fn error(self) -> EngineError {
        let known = Code::ALL.iter().find(|code| code.as_str() == self.code);
        let code = known.copied().unwrap_or(Code::SystemFailed);
        let mut problem = Problem::new(code, self.message);
        (problem.hint, problem.next) = (self.hint, self.next);
        problem.into()
    }
}

/// Writes what is said as a line.
pub(super) fn write<T: Serialize>(said: &T) -> String {
    serde_json::to_string(&Line { v: VERSION, said }).expect("what is said is plain data")
}

/// Reads a line; none if it is nothing of this version.
pub(super) fn read<T: DeserializeOwned>(line: &str) -> Option<T> {
    let line: Line<T> = serde_json::from_str(line).ok()?;
    (line.v == VERSION).then_some(line.said)
}
