//! Where a project's journal is kept, whatever keeps it.

use super::{
    Journal, backend::JournalStore, changes::Changes, entry::Mode, memory::MemoryStore,
    sqlite::SqliteStore,
};
use crate::{
    error::StoreError,
    lock::{EngineLease, Owner},
    place::Place,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use waypost_model::time::Time;

/// The journal of one project, opened from here as often as needed; cheap to clone.
#[derive(Clone, Debug)]
pub struct Journals {
    store: Arc<dyn JournalStore>,
}

/// A copy of the journal as it was after entry `seq`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    pub path: PathBuf,
    pub seq: u64,
    /// When it was made, as far as that is known.
    pub made: Option<Time>,
}

/// A file by which a process that cannot open the journal sees that it is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalFile {
    pub path: PathBuf,
    /// Whether each commit changes the file; if not, only its being there counts.
    pub changes: bool,
}

impl Journals {
    /// The journal on disk in the folder of `place`.
    pub fn of(place: &Place) -> Self {
        Self::over(SqliteStore::at(&place.state))
    }

    /// A journal that ends with the last clone of this; for simulations and tests.
    pub fn in_memory(place: &Place) -> Self {
        Self::over(MemoryStore::at(&place.state))
    }

    pub fn over(store: impl JournalStore + 'static) -> Self {
        Self { store: Arc::new(store) }
    }

    pub fn open(&self, mode: Mode<'_>) -> Result<Journal, StoreError> {
        self.store.open(mode).map(Journal::over)
    }

    /// What messages call the journal.
    pub fn path(&self) -> PathBuf {
        self.store.path()
    }

    /// That it has fewer entries than it is known to have had: `what` says how that is known.
    pub fn lost(&self, what: &str) -> StoreError {
        self.store.lost(what)
    }

    /// How many bytes a copy of it would have; 0 if there is none.
    pub fn size(&self) -> Result<u64, StoreError> {
        self.store.size()
    }

    /// The files by which another process can tell that the journal has changed.
    pub fn files(&self) -> Vec<JournalFile> {
        self.store.files()
    }

    /// The copies of the journal, newest first.
    pub fn backups(&self) -> Result<Vec<Backup>, StoreError> {
        self.store.backups()
    }

    /// Puts the copy at `from` in the place of the journal, which is kept beside it.
    ///
    /// Returns where the old journal is now, if there was one. The copy is checked first; no
    /// process may have the journal open.
    pub fn restore(&self, from: &Path) -> Result<Option<PathBuf>, StoreError> {
        self.store.restore(from)
    }

    /// Takes a journal that is gone or damaged out of its place, so that a new one can be made.
    ///
    /// Returns where it is now, if anything of it was left. What is noted of it is dropped too: a
    /// new journal would lack its entries.
    pub fn put_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        self.store.put_aside()
    }

    /// What tells of commits of other processes from now on.
    pub fn changes(&self) -> Changes {
        self.store.changes()
    }

    /// Takes the right to act for the project; where another engine has it, `Busy` says which.
    pub fn lease(&self, owner: &Owner) -> Result<EngineLease, StoreError> {
        self.store.lease(owner)
    }

    /// Which process acts for the project; `None`: no process does. An engine that has just begun may not
    /// have written its name yet: then `Busy`.
    pub fn lease_holder(&self) -> Result<Option<Owner>, StoreError> {
        self.store.lease_holder()
    }
}
