//! The lock that git processes of one engine live under.
//!
//! An engine may be killed while its git goes on. Each git has the lock's file as its input and
//! keeps the lock by that, so the process that takes the lock next knows that the last one has
//! ended.

use crate::error::GitError;
use std::{path::Path, process::Stdio, sync::Arc};
use waypost_store::{file, lock::FileLock};

/// Held by one engine and the git processes that it started.
#[derive(Clone, Debug)]
pub struct Hold(Arc<FileLock>);

impl Hold {
    /// Waits until the git processes of the holder before are gone.
    pub fn acquire(state: &Path) -> Result<Self, GitError> {
        file::make_private_folder(state)?;
        Ok(Self::of(FileLock::acquire(&state.join("git.lock"))?))
    }

    /// Takes it if no process has it.
    pub fn try_acquire(state: &Path) -> Result<Option<Self>, GitError> {
        file::make_private_folder(state)?;
        Ok(FileLock::try_acquire(&state.join("git.lock"))?.map(Self::of))
    }

    /// The same for another lock than the engine's.
    pub fn of(lock: FileLock) -> Self {
        Self(Arc::new(lock))
    }

    /// The input of a process that is to hold the lock as well; there is nothing to read from it.
    pub(super) fn input(&self) -> Result<Stdio, GitError> {
        Ok(Stdio::from(self.0.try_clone_file()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process that stands for git")]
    fn a_process_that_outlives_its_engine_keeps_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let hold = Hold::acquire(folder.path()).unwrap();
        let mut sleep = std::process::Command::new("sleep");
        let mut child = sleep.arg("600").stdin(hold.input().unwrap()).spawn().unwrap();
        // The command holds a copy of its own.
        drop((hold, sleep));
        assert!(Hold::try_acquire(folder.path()).unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(Hold::try_acquire(folder.path()).unwrap().is_some());
    }
}
