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
};
use std::{
    fmt::Debug,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};
use waypost_model::layout;

/// More than any owner's text; what is longer was not written by us.
const OWNER_SIZE_MAX: u64 = 64 << 10;
/// The lock was free or merely looked at this often, but never ours: another process looks in a
/// loop.
const PROBE_ATTEMPTS: usize = 1_000;

/// The right to act for a project, held until dropped.
#[derive(Debug)]
pub struct EngineLease {
    held: Box<dyn HeldLease>,
    owner: Owner,
    folder: PathBuf,
    /// The engine that had it before and did not give it back.
    left_by: Option<Owner>,
}

/// What a store keeps for the holder of a lease; dropped, it gives the lease back.
pub trait HeldLease: Debug + Send {
    /// Whether no other process can have the lease.
    fn still_holds(&self) -> bool;
}

impl EngineLease {
    pub(crate) fn over(held: Box<dyn HeldLease>, owner: &Owner, folder: &Path) -> Self {
        Self { held, owner: owner.clone(), folder: folder.to_owned(), left_by: None }
    }

    /// Whether a second engine cannot start.
    pub fn still_holds(&self) -> bool {
        self.held.still_holds()
    }

    /// The process that holds it, as others are told.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The engine that had it before and has ended without giving it back: it was killed, or the
    /// machine went down with it.
    pub fn left_by(&self) -> Option<&Owner> {
        self.left_by.as_ref()
    }

    /// The folder of everything that is kept beside the journal.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The lease of the embedded store.
#[derive(Debug)]
pub(crate) struct FileLease {
    lock: FileLock,
}

impl FileLease {
    pub(crate) fn acquire(folder: &Path, owner: &Owner) -> Result<EngineLease, StoreError> {
        make_private_folder(folder)?;
        let path = path_in(folder);
        for _ in 0..PROBE_ATTEMPTS {
            if let Some(lock) = FileLock::try_acquire(&path)? {
                let left_by = read_owner(&path)?;
                write_owner(&lock, owner)?;
                let lease = EngineLease::over(Box::new(Self { lock }), owner, folder);
                return Ok(EngineLease { left_by, ..lease });
            }
            // A process that only looks shares the lock for an instant; an engine does not share. One
            // without a name is about to write it, or to let go.
            let owner = match FileLock::try_acquire_shared(&path)? {
                Some(_) => None,
                None => read_owner(&path)?,
            };
            if owner.is_some() {
                return Err(StoreError::engine_busy(owner));
            }
            std::thread::yield_now();
        }
        Err(StoreError::engine_busy(read_owner(&path)?))
    }

    pub(crate) fn holder(folder: &Path) -> Result<Option<Owner>, StoreError> {
        let path = path_in(folder);
        for _ in 0..PROBE_ATTEMPTS {
            if file::stat(&path)?.is_none() || FileLock::try_acquire_shared(&path)?.is_some() {
                return Ok(None);
            }
            if let Some(owner) = read_owner(&path)? {
                return Ok(Some(owner));
            }
            // It is about to write its name, or to let go.
            std::thread::yield_now();
        }
        Err(super::busy(&path))
    }
}

impl HeldLease for FileLease {
    /// A second engine could start once the lock's file is removed under us.
    fn still_holds(&self) -> bool {
        self.lock.still_holds()
    }
}

impl Drop for FileLease {
    /// Without a name in it, it was given back.
    fn drop(&mut self) {
        // A name that stays only makes the next engine look.
        let _stays = self.lock.file().set_len(0);
    }
}

fn path_in(folder: &Path) -> PathBuf {
    folder.join(layout::state::ENGINE_LEASE)
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
