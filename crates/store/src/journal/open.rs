//! A journal that is open.

use super::{
    backend::OpenJournal,
    entry::Mode,
    journals::{Backup, Journals},
    transaction::Transaction,
    view::View,
};
use crate::{error::StoreError, place::Place};
use std::path::Path;
use waypost_model::time::Time;

/// An open journal, used by one thread at a time.
#[derive(Debug)]
pub struct Journal {
    open: Box<dyn OpenJournal>,
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
    /// Opens the journal on disk of `place`.
    pub fn open(place: &Place, mode: Mode<'_>) -> Result<Self, StoreError> {
        Journals::of(place).open(mode)
    }

    pub(super) fn over(open: Box<dyn OpenJournal>) -> Self {
        Self { open }
    }

    /// The name it was given at its creation; it tells it from a later one at the same place.
    pub fn id(&self) -> &str {
        &self.open.birth().journal_id
    }

    pub fn created(&self) -> Time {
        self.open.birth().at
    }

    /// The folder of everything that is kept beside it.
    pub fn folder(&self) -> &Path {
        self.open.folder()
    }

    pub fn check(&self) -> Check {
        self.open.check()
    }

    /// Begins to write: waits for its turn, then holds off all other writers until it is dropped.
    ///
    /// A thread has one transaction at a time: with a second journal open it would wait for
    /// itself.
    pub fn transaction(&mut self) -> Result<Transaction<'_>, StoreError> {
        self.open.transaction().map(Transaction::over)
    }

    /// Begins to read: all reads through it see the same instant.
    pub fn view(&mut self) -> Result<View<'_>, StoreError> {
        self.open.view().map(View::over)
    }

    /// A number that changes when another process has committed since it was last asked for.
    pub fn data_version(&self) -> Result<u64, StoreError> {
        self.open.data_version()
    }

    /// Reads every page and every entry, and says what is wrong; three seconds for a million.
    pub fn verify(&mut self) -> Result<(), StoreError> {
        self.open.verify()
    }

    /// Keeps a copy of the journal among its backups and removes the oldest of them.
    pub fn back_up(&mut self) -> Result<Backup, StoreError> {
        self.open.back_up()
    }
}
