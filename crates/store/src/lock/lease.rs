//! The engine lease: the right to act for a project. Its holder performs effects and starts
//! processes; any other process may commit, and no more.
//!
//! In the embedded store it is an operating system lock on a side file: it ends with the process,
//! however that ends, and cannot expire under a process that lives. What can happen is that the
//! file is removed by hand; the holder asks `still_holds` before it relies on being alone.

use super::{FileLock, Owner};
use crate::{
    error::StoreError,
    file::{self, make_private_folder},
    place::Place,
};
use std::{
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// More than any owner's text; what is longer was not written by us.
const OWNER_SIZE_MAX: u64 = 64 << 10;
/// The lock was free or merely looked at this often, but never ours: another process looks in a
/// loop.
const PROBE_ATTEMPTS: usize = 1_000;

/// The right to act for a project, held until dropped.
#[derive(Debug)]
pub struct EngineLease {
    lock: FileLock,
    owner: Owner,
    state: PathBuf,
}

impl EngineLease {
    /// Takes the lease in the name of `owner`; where another engine has it, `Busy` says which.
    pub fn acquire(place: &Place, owner: &Owner) -> Result<Self, StoreError> {
        make_private_folder(&place.state)?;
        let path = path_in(&place.state);
        for _ in 0..PROBE_ATTEMPTS {
            if let Some(lock) = FileLock::try_acquire(&path)? {
                write_owner(&lock, owner)?;
                let (owner, state) = (owner.clone(), place.state.clone());
                return Ok(Self { lock, owner, state });
            }
            // A process that only looks shares the lock for an instant; an engine does not share.
            if FileLock::try_acquire_shared(&path)?.is_none() {
                break;
            }
            std::thread::yield_now();
        }
        let holder = read_owner(&path)?.map(Box::new);
        Err(StoreError::Busy { what: "the engine of this project".into(), holder })
    }

    /// Which process acts for this project; `None`: no process does.
    ///
    /// An engine that has just begun may not have written its name yet: then `Busy`.
    pub fn holder(place: &Place) -> Result<Option<Owner>, StoreError> {
        let path = path_in(&place.state);
        if file::stat(&path)?.is_none() || FileLock::try_acquire_shared(&path)?.is_some() {
            return Ok(None);
        }
        match read_owner(&path)? {
            Some(owner) => Ok(Some(owner)),
            None => Err(super::busy(&path)),
        }
    }

    /// Whether a second engine cannot start: it can once the lock's file is removed under us.
    pub fn still_holds(&self) -> bool {
        self.lock.still_holds()
    }

    /// The process that holds it, as others are told.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn state(&self) -> &Path {
        &self.state
    }
}

fn path_in(state: &Path) -> PathBuf {
    state.join("engine.lock")
}

/// Overwrites first and cuts after, so that a reader never finds the file empty.
fn write_owner(lock: &FileLock, owner: &Owner) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec(owner).expect("an owner is plain data");
    text.push(b'\n');
    let written = lock.file().write_all_at(&text, 0);
    let cut = written.and_then(|()| lock.file().set_len(text.len() as u64));
    cut.map_err(|e| StoreError::file("write", lock.path(), e))
}

/// The first value in the file: behind it may stand the end of a longer, older one.
fn read_owner(path: &Path) -> Result<Option<Owner>, StoreError> {
    let bytes = file::read_bounded(path, OWNER_SIZE_MAX)?.unwrap_or_default();
    Ok(serde_json::Deserializer::from_slice(&bytes).into_iter().next().and_then(Result::ok))
}
