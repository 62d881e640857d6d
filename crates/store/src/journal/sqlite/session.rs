//! Who has the journal open, and whether the last one closed it properly.
//!
//! Every writing process shares a lock on `journal.open` for as long as it has the journal open.
//! One that finds itself alone writes there that it is open; the last one to leave writes that it
//! is closed, with the number of the last entry. Neither is synced: after a restart of the machine
//! the text proves nothing, so the boot is part of it, and the first opening after it counts as
//! one after a crash. A process that dies while others go on using the journal leaves no trace.

use crate::{
    error::StoreError,
    file,
    lock::{FileLock, boot_id},
};
use serde::{Deserialize, Serialize};
use std::{os::unix::fs::FileExt as _, path::Path};

const MARKER_SIZE_MAX: u64 = 4 << 10;

/// A writing process's stay in the journal.
#[derive(Debug)]
pub(super) struct Session {
    /// Shared with all other sessions.
    lock: FileLock,
}

/// How the journal was left by those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Past {
    /// Others have it open now, or the last one closed it since the machine was started.
    pub(super) orderly: bool,
    /// The journal has had this many entries; with fewer, some are gone.
    pub(super) last_seq: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    boot_id: String,
    open: bool,
    last_seq: u64,
}

impl Session {
    /// Enters; the caller holds the journal's lock, so no process enters or leaves meanwhile.
    pub(super) fn begin(path: &Path) -> Result<(Self, Past), StoreError> {
        let alone = FileLock::try_acquire(path)?;
        let marker = read(path)?;
        let last_seq = marker.as_ref().map_or(0, |marker| marker.last_seq);
        let orderly = match &alone {
            None => true,
            Some(lock) => {
                let boot_id = boot_id();
                let orderly = marker.is_some_and(|it| !it.open && it.boot_id == boot_id);
                write(lock, &Marker { boot_id: boot_id.to_owned(), open: true, last_seq })?;
                orderly
            }
        };
        drop(alone);
        let shared = FileLock::try_acquire_shared(path)?;
        let lock =
            shared.ok_or_else(|| StoreError::Busy { what: "the journal".into(), holder: None })?;
        Ok((Self { lock }, Past { orderly, last_seq }))
    }

    /// Leaves; the last one tidies up and says so. What fails only costs a check next time.
    pub(super) fn end(self, turn: &Path, last_seq: Option<u64>, tidy: impl FnOnce()) {
        let path = self.lock.path().to_owned();
        // The holder of the lock has the journal open: then we are not the last.
        let Ok(Some(_turn)) = FileLock::try_acquire(turn) else { return };
        drop(self.lock);
        if let (Ok(Some(lock)), Some(last_seq)) = (FileLock::try_acquire(&path), last_seq) {
            tidy();
            let boot_id = boot_id().to_owned();
            drop(write(&lock, &Marker { boot_id, open: false, last_seq }));
        }
    }
}

/// How many entries the journal has had when it was last closed; with fewer, some are gone.
pub(super) fn last_seq(path: &Path) -> Result<u64, StoreError> {
    Ok(read(path)?.map_or(0, |marker| marker.last_seq))
}

/// Notes that a journal with this last entry was put in place and no process has it open.
pub(super) fn reset(path: &Path, last_seq: u64) -> Result<(), StoreError> {
    let Some(lock) = FileLock::try_acquire(path)? else {
        return Err(StoreError::Busy { what: "the journal".into(), holder: None });
    };
    write(&lock, &Marker { boot_id: boot_id().to_owned(), open: false, last_seq })
}

/// The first value in the file: behind it may stand the end of a longer, older one.
fn read(path: &Path) -> Result<Option<Marker>, StoreError> {
    let bytes = file::read_bounded(path, MARKER_SIZE_MAX)?.unwrap_or_default();
    Ok(serde_json::Deserializer::from_slice(&bytes).into_iter().next().and_then(Result::ok))
}

/// Overwrites first and cuts after: on a full disk the space that it has is enough.
fn write(lock: &FileLock, marker: &Marker) -> Result<(), StoreError> {
    let text = serde_json::to_vec(marker).expect("a marker is plain data");
    let written = lock.file().write_all_at(&text, 0);
    let cut = written.and_then(|()| lock.file().set_len(text.len() as u64));
    cut.map_err(|e| StoreError::file("write", lock.path(), e))
}
