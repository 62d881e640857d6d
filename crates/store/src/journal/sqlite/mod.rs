//! The embedded store: a SQLite database in the journal's folder.
//!
//! Each entry carries a checksum over itself and the entry before it in its stream. Any process
//! may commit; it takes a blocking lock on a side file first, because the database's own way of
//! waiting starves one of many writers.

mod backup;
mod chain;
mod failure;
mod listing;
mod open;
mod schema;
mod session;
mod transaction;
mod view;

use super::{
    backend::{JournalStore, OpenJournal, Reading, Writing},
    changes::Changes,
    entry::{Birth, Mode},
    journals::{Backup, JournalFile},
    open::Check,
};
use crate::{
    error::StoreError,
    lock::{EngineLease, FileLease, FileLock, Owner},
};
use failure::failed;
use rusqlite::Connection;
use session::Session;
use std::path::{Path, PathBuf};
use transaction::SqliteTransaction;
use view::SqliteView;

/// The journal in one folder, on disk.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    folder: PathBuf,
}

impl SqliteStore {
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }
}

impl JournalStore for SqliteStore {
    fn open(&self, mode: Mode<'_>) -> Result<Box<dyn OpenJournal>, StoreError> {
        Ok(Box::new(SqliteJournal::open(&self.folder, mode)?))
    }

    fn path(&self) -> PathBuf {
        open::path_in(&self.folder)
    }

    fn lost(&self, what: &str) -> StoreError {
        open::lost(&self.path(), what)
    }

    fn size(&self) -> Result<u64, StoreError> {
        open::size_of(&self.path())
    }

    /// Every commit writes to the log; of the database itself only its being there matters.
    fn files(&self) -> Vec<JournalFile> {
        let path = self.path();
        let log = open::log_path(&path);
        vec![JournalFile { path, changes: false }, JournalFile { path: log, changes: true }]
    }

    fn backups(&self) -> Result<Vec<Backup>, StoreError> {
        backup::backups(&self.folder)
    }

    fn restore(&self, from: &Path) -> Result<Option<PathBuf>, StoreError> {
        backup::restore(&self.folder, from)
    }

    fn put_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        backup::put_aside(&self.folder)
    }

    fn changes(&self) -> Changes {
        Changes::in_folder(&self.folder)
    }

    fn lease(&self, owner: &Owner) -> Result<EngineLease, StoreError> {
        FileLease::acquire(&self.folder, owner)
    }

    fn lease_holder(&self) -> Result<Option<Owner>, StoreError> {
        FileLease::holder(&self.folder)
    }
}

/// One connection, used by one thread at a time.
#[derive(Debug)]
struct SqliteJournal {
    db: Connection,
    path: PathBuf,
    birth: Birth,
    check: Check,
    /// `None`: opened to read only.
    session: Option<Session>,
}

impl OpenJournal for SqliteJournal {
    fn birth(&self) -> &Birth {
        &self.birth
    }

    fn check(&self) -> Check {
        self.check
    }

    fn folder(&self) -> &Path {
        self.path.parent().expect("a journal is a file in a folder")
    }

    fn view(&mut self) -> Result<Box<dyn Reading + '_>, StoreError> {
        Ok(Box::new(SqliteView::begin(&self.db, &self.path)?))
    }

    fn transaction(&mut self) -> Result<Box<dyn Writing + '_>, StoreError> {
        let turn = FileLock::acquire(&open::lock_path(&self.path))?;
        Ok(Box::new(SqliteTransaction::begin(&self.db, &self.path, turn)?))
    }

    fn data_version(&self) -> Result<u64, StoreError> {
        let failed = failed("ask for changes in", &self.path);
        let mut statement = self.db.prepare_cached("PRAGMA data_version").map_err(failed)?;
        statement.query_row([], |row| row.get(0)).map_err(failed)
    }

    fn verify(&mut self) -> Result<(), StoreError> {
        open::quick_check(&self.db, &self.path)?;
        SqliteView::begin(&self.db, &self.path)?.verify_streams()
    }

    fn back_up(&mut self) -> Result<Backup, StoreError> {
        self.keep_copy()
    }
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let last: Option<u64> = self.last_seq().ok();
            let turn = open::lock_path(&self.path);
            session.end(&turn, last, || open::shorten_log(&self.db, &self.path));
        }
    }
}
