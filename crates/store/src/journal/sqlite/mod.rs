//! The embedded store: a SQLite database in the journal's folder.

mod backup;
mod chain;
mod changes;
mod failure;
mod open;
mod schema;
mod session;
mod transaction;
mod view;

pub use backup::{Backup, backups, put_aside, restore};
pub use changes::Changes;
pub use transaction::Transaction;
pub use view::View;

use crate::{error::StoreError, lock::FileLock};
use failure::failed;
use rusqlite::Connection;
use session::Session;
use std::path::{Path, PathBuf};
use waypost_model::time::Time;

/// An open journal: one connection, used by one thread at a time.
#[derive(Debug)]
pub struct Journal {
    db: Connection,
    path: PathBuf,
    id: String,
    created: Time,
    check: Check,
    /// `None`: opened to read only.
    session: Option<Session>,
}

/// What opening found out about the journal's soundness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The last process closed it properly since the machine was started.
    NotNeeded,
    /// The last process died, or this is the first use since the machine was started.
    Sound,
    /// As before, but it is too large to be read as a whole each time; `doctor` does that.
    TooLarge,
}

impl Journal {
    /// The name it was given at its creation; it tells it from a later one at the same place.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder that it is in.
    pub fn folder(&self) -> &Path {
        self.path.parent().expect("a journal is a file in a folder")
    }

    pub fn created(&self) -> Time {
        self.created
    }

    pub fn check(&self) -> Check {
        self.check
    }

    /// Begins to write: waits for its turn, then holds off all other writers until it is dropped.
    ///
    /// A thread has one transaction at a time: with a second journal open it would wait for
    /// itself.
    pub fn transaction(&mut self) -> Result<Transaction<'_>, StoreError> {
        let turn = FileLock::acquire(&lock_path(&self.path))?;
        Transaction::begin(&self.db, &self.path, turn)
    }

    /// Begins to read: all reads through it see the same instant.
    pub fn view(&mut self) -> Result<View<'_>, StoreError> {
        View::begin(&self.db, &self.path)
    }

    /// A number that changes when another process has committed since it was last asked for.
    pub fn data_version(&self) -> Result<u64, StoreError> {
        let failed = failed("ask for changes in", &self.path);
        let mut statement = self.db.prepare_cached("PRAGMA data_version").map_err(failed)?;
        statement.query_row([], |row| row.get(0)).map_err(failed)
    }

    /// Reads every page and every entry, and says what is wrong; three seconds for a million.
    pub fn verify(&mut self) -> Result<(), StoreError> {
        open::quick_check(&self.db, &self.path)?;
        self.view()?.verify_streams()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let last: Option<u64> = self.view().and_then(|view| view.last_seq()).ok();
            let turn = lock_path(&self.path);
            session.end(&turn, last, || open::shorten_log(&self.db, &self.path));
        }
    }
}

/// The side file whose lock is held while a transaction is open.
fn lock_path(journal: &Path) -> PathBuf {
    journal.with_file_name("journal.lock")
}
