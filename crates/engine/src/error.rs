//! What can go wrong for a caller of the engine; each variant has its own way out.

use std::path::PathBuf;
use waypost_git::GitError;
use waypost_model::{diagnostic::Diagnostic, machine::Rejected};
use waypost_store::{StoreError, lock::Owner};

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A rule stands against it; nothing has changed.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The disk, the journal or another process stands against it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run is at work in another process.
    #[error("already running, since {}, as process {}", owner.since, owner.pid)]
    Runs { owner: Box<Owner> },
    /// The processes of tasks cannot be kept.
    #[error(transparent)]
    Proc(#[from] waypost_proc::ProcError),
    /// A file that a person or an agent wrote cannot be used as it is.
    #[error("{} is not valid", .0.path.display())]
    Invalid(Box<InvalidFile>),
    /// What was asked for makes no sense.
    #[error("{message}")]
    BadInput { message: String, hint: Option<String> },
    /// Something is not there that has to be.
    #[error("{message}")]
    Missing { message: String, hint: Option<String> },
    /// Git, the repository or a work tree stands against it.
    #[error(transparent)]
    Git(GitError),
    /// What an agent was sent to do came to nothing.
    #[error("{message}")]
    Failed { message: String, hint: Option<String> },
    /// A command that Waypost ran as a check did not pass.
    #[error("`{command}` did not pass: {outcome}")]
    CheckFailed { command: String, outcome: String },
}

impl From<GitError> for EngineError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Store(error) => Self::Store(error),
            error => Self::Git(error),
        }
    }
}

/// A file with everything that was found wrong with it, and its text for showing where.
#[derive(Clone, Debug)]
pub struct InvalidFile {
    pub path: PathBuf,
    pub text: String,
    pub diagnostics: Vec<Diagnostic>,
}

impl EngineError {
    pub fn invalid(path: impl Into<PathBuf>, bytes: &[u8], diagnostics: Vec<Diagnostic>) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        Self::Invalid(Box::new(InvalidFile { path: path.into(), text, diagnostics }))
    }

    pub fn bad_input(message: impl Into<String>) -> Self {
        Self::BadInput { message: message.into(), hint: None }
    }

    pub fn missing(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Missing { message: message.into(), hint: Some(hint.into()) }
    }
}
