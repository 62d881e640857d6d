//! Why a wall could not be built.

use std::{io, path::PathBuf};

/// Why a call was not made. None of these lets it run without its wall.
#[derive(Debug, thiserror::Error)]
pub enum WallError {
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot start {program}")]
    Start { program: String, source: io::Error },
    #[error("Landlock refused its rules")]
    Landlock(#[source] landlock::RulesetError),
    #[error("the system did not take the walled process: {0}")]
    System(#[from] io::Error),
}

impl WallError {
    pub fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}
