//! What is asked of a keeper, and what it tells: the words that engine and keeper share.
//!
//! All of it is also what stands in the spool; a serde name here is a format.

use crate::octets;
use serde::{Deserialize, Serialize};
use std::{ffi::OsString, path::PathBuf, time::Duration};
use waypost_model::layout;
use waypost_redact::Secret;

/// The variable by which everything below a keeper can be recognised.
pub const KEEPER_VARIABLE: &str = layout::variable::KEEPER;
/// The variable that says which child of its keeper a process belongs to.
pub const CHILD_VARIABLE: &str = layout::variable::CHILD;
/// How much of what was said to a child the keeper holds until the child takes it.
pub const INPUT_SIZE_MAX: usize = 16 << 20;

/// One child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Unique in its keeper's life, as `T1.3#2` is.
    pub id: String,
    pub program: Program,
    /// Where it works; absolute.
    #[serde(with = "octets::path")]
    pub folder: PathBuf,
    /// All of its environment; the keeper adds [`KEEPER_VARIABLE`] and [`CHILD_VARIABLE`].
    pub environment: Vec<(String, String)>,
    /// Where stdout and stderr go together; made at its first byte, absolute.
    #[serde(with = "octets::path")]
    pub log: PathBuf,
    pub limits: Limits,
    /// How it is spoken with; `None`: its input is empty, and both outputs go to the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub talk: Option<Talk>,
    /// What its output must not show, in any usual spelling: a mark takes its place before the first
    /// byte is written anywhere. Keepers that do not know this word take nothing out.
    #[serde(with = "octets::secrets", default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Secret>,
}

/// A conversation with a child.
///
/// The keeper holds its input open for as long as it lives, with or without a client, and writes
/// its stdout into a file that any process may read from the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Talk {
    /// Where stdout goes, whole and byte by byte but for secrets, line by line; made before the child starts, where nothing may
    /// be yet, absolute. stderr goes to the log.
    ///
    /// While the disk does not take it, the child is not read from, and its end is not told.
    #[serde(with = "octets::path")]
    pub stream: PathBuf,
    /// A child that writes more than this is stopped ([`How::Flooded`]); what is beyond it is
    /// counted as dropped.
    pub stream_size: u64,
    /// What it hears first; at most [`INPUT_SIZE_MAX`].
    #[serde(with = "octets::bytes", default, skip_serializing_if = "Vec::is_empty")]
    pub opening: Vec<u8>,
    /// Whether its input ends behind that.
    #[serde(default)]
    pub is_all: bool,
}

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// A program, looked for in the child's own `PATH`, and its arguments.
    #[serde(with = "octets::words")]
    Argv(Vec<OsString>),
    /// A text for `sh -c`; started without the shell where that is the same.
    Shell(String),
}

/// What a child may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From start to end, pauses not counted.
    pub time: Option<Duration>,
    /// Without any output, and without being spoken to; pauses not counted.
    pub stall: Option<Duration>,
    /// From the request to stop until what is left is killed.
    pub grace: Duration,
    /// How much of the output the log keeps: the beginning and a rolling end.
    pub log_size: u64,
    /// Set right after the start; the first instructions of a program run without it.
    pub open_files: Option<u64>,
    /// Counts all processes of the user, as the operating system does; not enforced for root.
    pub processes: Option<u64>,
    /// Whether it gets a control group of its own where one can be made (version 2, writable):
    /// then a pause freezes also what signals would miss. Making one is work at every start.
    #[serde(default)]
    pub cgroup: bool,
    /// What holds until the engine says otherwise; `None`: it needs no engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
}

/// What a child may do from now on without a further word of its engine. Each word takes the place
/// of the one before. All of it is measured while the machine is awake, pauses not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// How long it goes on; then it is stopped ([`Stop::Lapsed`]).
    pub span: Duration,
    /// Whether it is over as soon as no engine is connected.
    #[serde(default)]
    pub is_tied: bool,
    /// What is left of its time; `None`: no limit, or one that stands still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
    /// How long it may be silent, as in [`Limits::stall`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: None,
            stall: None,
            grace: Duration::from_secs(10),
            log_size: 16 << 20,
            open_files: None,
            processes: None,
            cgroup: false,
            lease: None,
        }
    }
}

/// Why a child is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A client asked for it.
    Asked,
    /// It ran for too long.
    TimedOut,
    /// It said nothing for too long.
    Stalled,
    /// It wrote more than [`Talk::stream_size`].
    Flooded,
    /// It left more than [`INPUT_SIZE_MAX`] of what was said to it unread.
    Deaf,
    /// No engine has renewed its [`Lease`], or the folder of its keeper is gone.
    Lapsed,
}

/// What a keeper tells, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// It runs. `start` is in clock ticks since boot and makes `pid` unique.
    Started { id: String, pid: u32, start: u64 },
    /// It and everything below it is gone.
    Ended { id: String, ended: Ended },
    /// It was never started.
    Refused { id: String, why: Refusal },
}

impl Report {
    pub fn id(&self) -> &str {
        match self {
            Self::Started { id, .. } | Self::Ended { id, .. } | Self::Refused { id, .. } => id,
        }
    }
}

/// Why a child was not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The machine has no process, memory or file left for it; later it may.
    Busy { detail: String },
    /// Trying again would not help: no such program, no such folder.
    Impossible { detail: String },
    /// It was stopped, or its engine went away, before its turn came.
    Withdrawn,
}

/// How a child came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub how: How,
    /// The last 8 KB of its output; of its stderr, if it is spoken with.
    #[serde(with = "octets::bytes", default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<u8>,
    /// Bytes that it wrote, stdout and stderr together, with marks in place of secrets.
    pub output: u64,
    /// Bytes of these that neither the log nor the stream has.
    pub dropped: u64,
    pub duration_ms: u64,
    /// Processes that it left running when it ended by itself, and that were stopped then.
    #[serde(default)]
    pub left: u32,
    /// Whether SIGKILL was needed.
    #[serde(default)]
    pub forced: bool,
    /// Processes that not even SIGKILL ended in time: another user's, or stuck in the kernel.
    #[serde(default)]
    pub survivors: u32,
    /// Whether it was stopped because it had no engine any more ([`Stop::Lapsed`]). Engines that do
    /// not know this word see one that was stopped.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lapsed: bool,
    /// How much of its stream was there when it was stopped: what it says after that may be due to
    /// the end of what it has started. `None`: it ended by itself, or is not spoken with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What ended a child's first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    TimedOut,
    Stalled,
    Stopped,
    Flooded,
    Deaf,
}

impl From<Stop> for How {
    fn from(why: Stop) -> Self {
        match why {
            Stop::Asked | Stop::Lapsed => Self::Stopped,
            Stop::TimedOut => Self::TimedOut,
            Stop::Stalled => Self::Stalled,
            Stop::Flooded => Self::Flooded,
            Stop::Deaf => Self::Deaf,
        }
    }
}
