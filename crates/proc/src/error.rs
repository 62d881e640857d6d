//! What can go wrong with a keeper. A child's failure is never an error here: it is a report.

use std::{
    io,
    path::{Path, PathBuf},
};
use waypost_model::code::Code;

#[derive(Debug, thiserror::Error)]
pub enum ProcError {
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    /// The keeper's program did not become a keeper.
    #[error("cannot start a keeper with `{program}`: {detail}")]
    Start { program: String, detail: String },
    /// It was killed, or another engine has taken it over; [`crate::find`] tells.
    #[error("the keeper {id} does not answer any more")]
    Gone { id: String },
    /// Another process serves or cleans up this folder.
    #[error("{} is in use by another process", path.display())]
    Busy { path: PathBuf },
    /// Started by another version of this program; it ends when its children have.
    #[error("the keeper {id} speaks version {found}, this program speaks {known}")]
    OtherVersion { id: String, found: u32, known: u32 },
    /// More than a keeper holds for a child; nothing of it was sent.
    #[error("{size} bytes are too many to be said, {max} is the most")]
    TooLong { size: usize, max: usize },
    #[error("{detail}")]
    Protocol { detail: String },
    /// Not even SIGKILL ended them in time: another user's, or stuck in the kernel.
    #[error("{count} processes of the keeper {id} cannot be killed")]
    Survivors { id: String, count: usize },
    #[error("cannot {action}")]
    System { action: &'static str, source: io::Error },
}

impl ProcError {
    /// What programs match on.
    pub fn code(&self) -> Code {
        match self {
            Self::File { .. } => Code::FileFailed,
            Self::Start { .. } => Code::CannotStart,
            Self::Gone { .. } | Self::Protocol { .. } => Code::KeeperGone,
            Self::Busy { .. } => Code::Busy,
            Self::OtherVersion { .. } => Code::OtherVersion,
            Self::TooLong { .. } => Code::MessageTooLong,
            Self::Survivors { .. } => Code::ProcessesLeft,
            Self::System { .. } => Code::SystemFailed,
        }
    }

    pub(crate) fn file(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::File { action, path: path.to_owned(), source: source.into() }
    }

    pub(crate) fn system(action: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { action, source: source.into() }
    }

    pub(crate) fn protocol(detail: impl Into<String>) -> Self {
        Self::Protocol { detail: detail.into() }
    }
}
