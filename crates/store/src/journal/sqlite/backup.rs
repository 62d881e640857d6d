//! Copies of the journal, and how one takes the place of a damaged journal.
//!
//! A copy is made by the database itself from a consistent view: copying the file would miss what
//! is still in the log. No process is held up meanwhile.

use super::{
    SqliteJournal,
    failure::failed,
    open::{lock_path, log_path, path_in, quick_check, session_path},
    schema, session,
    view::SqliteView,
};
use crate::{
    error::StoreError,
    file::{self, Mark, make_private_folder},
    journal::{Backup, backend::Reading as _},
    lock::FileLock,
};
use rusqlite::{Connection, OpenFlags, backup::StepResult};
use std::path::{Path, PathBuf};
use waypost_model::{layout, time::Time};

/// Older copies are removed.
const BACKUPS_KEPT: usize = 5;

impl SqliteJournal {
    /// Copies the journal into its folder of backups and removes the oldest of them.
    pub(super) fn keep_copy(&self) -> Result<Backup, StoreError> {
        let folder = folder_of(&self.path);
        make_private_folder(&folder)?;
        let seq = self.last_seq()?;
        let path = folder.join(format!("journal-{seq:012}.db"));
        self.copy_into(&path)?;
        let all = list(&folder)?;
        for old in all.iter().skip(BACKUPS_KEPT) {
            file::remove(&old.path)?;
        }
        let made = made_at(&path);
        Ok(Backup { path, seq, made })
    }

    /// Copies the journal to `to`, replacing what is there.
    fn copy_into(&self, to: &Path) -> Result<(), StoreError> {
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

/// The copies of the journal in the folder `state`, newest first.
pub(super) fn backups(state: &Path) -> Result<Vec<Backup>, StoreError> {
    list(&folder_of(&path_in(state)))
}

/// Puts the copy at `from` in the place of the journal in `state`, which is kept beside it.
pub(super) fn restore(state: &Path, from: &Path) -> Result<Option<PathBuf>, StoreError> {
    let path = path_in(state);
    let _turn = turn_while_closed(state)?;
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

/// Takes a journal that is gone or damaged out of its place, with what is noted of it.
pub(super) fn put_aside(state: &Path) -> Result<Option<PathBuf>, StoreError> {
    let path = path_in(state);
    let _turn = turn_while_closed(state)?;
    let kept = put_damaged_aside(&path)?;
    file::remove(&session_path(&path))?;
    Ok(kept)
}

/// The turn to write, if no process has the journal open.
fn turn_while_closed(state: &Path) -> Result<FileLock, StoreError> {
    let path = path_in(state);
    make_private_folder(state)?;
    let turn = FileLock::acquire(&lock_path(&path))?;
    let busy = || StoreError::Busy { what: "the journal".into(), holder: None };
    drop(FileLock::try_acquire(&session_path(&path))?.ok_or_else(busy)?);
    Ok(turn)
}

/// Reads every page and every entry of a copy; returns the number of its last entry.
fn check_copy(copy: &Path) -> Result<u64, StoreError> {
    // Not read-only: closing such a connection would leave its log behind.
    let db = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(failed("open", copy))?;
    schema::version(&db, copy)?;
    quick_check(&db, copy)?;
    let view = SqliteView::begin(&db, copy)?;
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
    journal.with_file_name(layout::state::BACKUPS)
}

fn list(folder: &Path) -> Result<Vec<Backup>, StoreError> {
    let names = file::list(folder)?;
    let found = names.into_iter().rev().filter_map(|name| {
        let seq = name.strip_prefix("journal-")?.strip_suffix(".db")?.parse().ok()?;
        let path = folder.join(name);
        let made = made_at(&path);
        Some(Backup { path, seq, made })
    });
    Ok(found.collect())
}

fn made_at(copy: &Path) -> Option<Time> {
    let mark = Mark::of(copy).ok().flatten()?;
    i64::try_from(mark.ctime_ns / 1_000_000).ok().map(Time::from_millis)
}
