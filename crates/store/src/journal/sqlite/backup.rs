//! Copies of the journal, and how one takes the place of a damaged journal.
//!
//! A copy is made by the database itself from a consistent view: copying the file would miss what
//! is still in the log. Nobody is held up meanwhile.

use super::{
    Journal,
    failure::failed,
    lock_path,
    open::{log_path, path_in, quick_check, session_path},
    schema, session,
    view::View,
};
use crate::{
    error::StoreError,
    file::{self, make_private_folder},
    lock::FileLock,
    place::Place,
};
use rusqlite::{Connection, OpenFlags, backup::StepResult};
use std::path::{Path, PathBuf};

/// Older copies are removed.
const BACKUPS_KEPT: usize = 5;

/// A copy of the journal as it was after entry `seq`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    pub path: PathBuf,
    pub seq: u64,
}

impl Journal {
    /// Copies the journal into its folder of backups and removes the oldest of them.
    pub fn back_up(&mut self) -> Result<Backup, StoreError> {
        let folder = folder_of(&self.path);
        make_private_folder(&folder)?;
        let seq = self.view()?.last_seq()?;
        let path = folder.join(format!("journal-{seq:012}.db"));
        self.back_up_to(&path)?;
        let all = list(&folder)?;
        for old in all.iter().skip(BACKUPS_KEPT) {
            file::remove(&old.path)?;
        }
        Ok(Backup { path, seq })
    }

    /// Copies the journal to `to`, replacing what is there.
    pub fn back_up_to(&mut self, to: &Path) -> Result<(), StoreError> {
        file::sweep(to)?;
        let temp = file::create_empty(to, file::PRIVATE)?;
        let done = self.copy_to(&temp).and_then(|()| file::sync(&temp));
        let done = done.and_then(|()| file::rename(&temp, to));
        if done.is_err() {
            file::remove(&temp)?;
        }
        done
    }

    fn copy_to(&self, temp: &Path) -> Result<(), StoreError> {
        let failed = failed("copy to", temp);
        let mut copy =
            Connection::open_with_flags(temp, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
        copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
            .map_err(failed)?;
        let work = rusqlite::backup::Backup::new(&self.db, &mut copy).map_err(failed)?;
        // All pages in one step: in several, every commit of another process would start it over.
        let step = work.step(-1).map_err(failed)?;
        drop(work);
        if step != StepResult::Done {
            return Err(StoreError::Busy { what: "the journal".into(), holder: None });
        }
        copy.close().map_err(|(_, error)| failed(error))
    }
}

/// The copies of a project's journal, newest first.
pub fn backups(place: &Place) -> Result<Vec<Backup>, StoreError> {
    list(&folder_of(&path_in(&place.state)))
}

/// Puts the copy at `from` in the place of the journal, which is kept beside it.
///
/// Returns where the old journal is now, if there was one. The copy is checked first; nobody may
/// have the journal open.
pub fn restore(place: &Place, from: &Path) -> Result<Option<PathBuf>, StoreError> {
    let path = path_in(&place.state);
    make_private_folder(&place.state)?;
    let _turn = FileLock::acquire(&lock_path(&path))?;
    let busy = || StoreError::Busy { what: "the journal".into(), holder: None };
    drop(FileLock::try_acquire(&session_path(&path))?.ok_or_else(busy)?);
    file::sweep(&path)?;
    let temp = file::copy_to_temp(from, &path, file::PRIVATE)?;
    let put = check_copy(&temp).and_then(|last_seq| {
        let kept = put_damaged_aside(&path)?;
        file::rename(&temp, &path)?;
        session::reset(&session_path(&path), last_seq)?;
        Ok(kept)
    });
    if put.is_err() {
        file::remove(&temp)?;
    }
    put
}

/// Puts a journal that is gone or damaged aside for good, so that a new one can be made.
///
/// Returns where it is now, if anything of it was left. What is noted of it is dropped too: a new
/// journal would lack its entries.
pub fn put_aside(place: &Place) -> Result<Option<PathBuf>, StoreError> {
    let path = path_in(&place.state);
    make_private_folder(&place.state)?;
    let _turn = FileLock::acquire(&lock_path(&path))?;
    let busy = || StoreError::Busy { what: "the journal".into(), holder: None };
    drop(FileLock::try_acquire(&session_path(&path))?.ok_or_else(busy)?);
    let kept = put_damaged_aside(&path)?;
    file::remove(&session_path(&path))?;
    Ok(kept)
}

/// Reads every page and every entry of a copy; returns the number of its last entry.
fn check_copy(copy: &Path) -> Result<u64, StoreError> {
    // Not read-only: closing such a connection would leave its log behind.
    let db = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(failed("open", copy))?;
    schema::version(&db, copy)?;
    quick_check(&db, copy)?;
    let view = View::begin(&db, copy)?;
    view.verify_streams()?;
    view.last_seq()
}

/// The log goes first: left beside another journal it would be replayed into it.
fn put_damaged_aside(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let kept = file::name_for_damaged(path)?;
    let log = log_path(path);
    if file::stat(&log)?.is_some() {
        file::rename(&log, &file::with_suffix(&kept, "-wal"))?;
    }
    file::remove(&file::with_suffix(path, "-shm"))?;
    if file::stat(path)?.is_none() {
        return Ok(None);
    }
    file::rename(path, &kept)?;
    Ok(Some(kept))
}

fn folder_of(journal: &Path) -> PathBuf {
    journal.with_file_name("backups")
}

fn list(folder: &Path) -> Result<Vec<Backup>, StoreError> {
    let names = file::list(folder)?;
    let found = names.into_iter().rev().filter_map(|name| {
        let seq = name.strip_prefix("journal-")?.strip_suffix(".db")?.parse().ok()?;
        Some(Backup { path: folder.join(name), seq })
    });
    Ok(found.collect())
}
