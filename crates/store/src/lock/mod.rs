//! Locks between processes: the operating system's, on files that exist for nothing else.
//!
//! A lock ends with its process, however that ends. Its file is never deleted by us; if a person
//! else deletes it, a waiter notices that it got a file without a name and starts over.
//!
//! There is no waiting with a deadline here: the store has no clock.

mod lease;
mod owner;
mod seed;

pub(crate) use lease::FileLease;
pub use lease::{EngineLease, HeldLease};
pub use owner::Owner;
pub(crate) use owner::boot_id;
pub use seed::{SEED_LOCK_POLL, SeedLock, SeedRequest};

use crate::{
    error::StoreError,
    file::{self, Mark},
};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// Each round means that the file was deleted while we waited for it.
const REOPEN_ATTEMPTS: usize = 100;

/// An exclusive or shared lock on a side file, held until dropped.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug)]
enum Claim {
    Wait,
    Try,
    TryShared,
}

impl FileLock {
    /// Waits until the lock is ours.
    pub fn acquire(path: &Path) -> Result<Self, StoreError> {
        Self::claim(path, Claim::Wait)?.ok_or_else(|| busy(path))
    }

    /// Takes the lock if no process has it.
    pub fn try_acquire(path: &Path) -> Result<Option<Self>, StoreError> {
        Self::claim(path, Claim::Try)
    }

    /// Takes the lock beside others that only share it.
    pub fn try_acquire_shared(path: &Path) -> Result<Option<Self>, StoreError> {
        Self::claim(path, Claim::TryShared)
    }

    /// Whether the lock's path still names the file that we hold.
    pub fn still_holds(&self) -> bool {
        let held = Mark::of_open(&self.file, &self.path);
        let named = Mark::of(&self.path);
        matches!((held, named), (Ok(held), Ok(Some(named))) if held.is_same_file(&named))
    }

    /// The open file behind the lock once more. A process with a copy holds the lock too: a child
    /// that was given one keeps it until it ends, even if this process does not live as long.
    pub fn try_clone_file(&self) -> Result<File, StoreError> {
        self.file.try_clone().map_err(|e| StoreError::file("share", &self.path, e))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn claim(path: &Path, claim: Claim) -> Result<Option<Self>, StoreError> {
        for _ in 0..REOPEN_ATTEMPTS {
            let lock = Self { file: open(path)?, path: path.to_owned() };
            if !lock.take(claim)? {
                return Ok(None);
            }
            if lock.still_holds() {
                return Ok(Some(lock));
            }
        }
        Err(busy(path))
    }

    fn take(&self, claim: Claim) -> Result<bool, StoreError> {
        loop {
            let taken = match claim {
                Claim::Wait => self.file.lock().map_err(TryLockError::Error),
                Claim::Try => self.file.try_lock(),
                Claim::TryShared => self.file.try_lock_shared(),
            };
            return match taken {
                Ok(()) => Ok(true),
                Err(TryLockError::WouldBlock) => Ok(false),
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(TryLockError::Error(e)) => Err(StoreError::file("lock", &self.path, e)),
            };
        }
    }
}

/// Opens the lock's file, making it if needed; never follows a link, never waits on a FIFO.
fn open(path: &Path) -> Result<File, StoreError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mode = Mode::from_raw_mode(file::PRIVATE);
    match rustix::fs::open(path, flags | OFlags::CLOEXEC, mode) {
        Ok(fd) => Ok(File::from(fd)),
        Err(Errno::NOENT) => Err(StoreError::Missing { path: path.to_owned() }),
        Err(e) => Err(StoreError::file("open", path, e)),
    }
}

fn busy(path: &Path) -> StoreError {
    StoreError::Busy { what: path.display().to_string(), holder: None }
}

#[cfg(test)]
mod tests;
