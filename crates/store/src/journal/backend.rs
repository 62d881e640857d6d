//! The seam below the journal: what a store has to be able to do.
//!
//! `Journal`, `View` and `Transaction` are all that the rest of Waypost sees; each of them stands
//! on one of these traits. SQLite and a journal in memory implement them, and one suite of tests
//! (`tests/store/conformance.rs`) holds both to the same answers.
//!
//! What a caller can rely on whatever the store is decided above the seam, once: how a stream is
//! read as values, and what an unknown commit means. Below it is what a store does better by
//! itself: finding, ordering, checking, excluding.
//!
//! Calls are made once for each operation. Where many events are read, the caller's closure is
//! called for each with what the store holds; nothing is copied on the way.

use super::{
    changes::Changes,
    cursor::Cursor,
    entry::{
        Append, Appended, Birth, DocumentNote, EventRef, Mode, NewEffect, OpenEffect, Recorded,
        Snapshot, SnapshotKey, StreamHead,
    },
    journals::{Backup, JournalFile},
    listing::{ListedStream, ListingCount, ListingQuery, NewListing},
    open::Check,
};
use crate::{
    error::StoreError,
    lock::{EngineLease, Owner},
};
use std::{
    fmt::Debug,
    io::{self, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use waypost_model::{id::StreamName, time::Time};

/// Where one project's journal is kept.
pub trait JournalStore: Debug + Send + Sync {
    /// Opens the journal; it may be open any number of times.
    fn open(&self, mode: Mode<'_>) -> Result<Box<dyn OpenJournal>, StoreError>;

    /// What messages call the journal.
    fn path(&self) -> PathBuf;

    /// That entries are gone which were there; says what may have become of them.
    fn lost(&self, what: &str) -> StoreError;

    /// How many bytes a copy of it would have; 0 if there is none.
    fn size(&self) -> Result<u64, StoreError>;

    /// The files by which another process can tell that the journal has changed.
    fn files(&self) -> Vec<JournalFile>;

    /// The copies of the journal, newest first.
    fn backups(&self) -> Result<Vec<Backup>, StoreError>;

    /// Puts a copy in the place of the journal; see `Journals::restore`.
    fn restore(&self, from: &Path) -> Result<Option<PathBuf>, StoreError>;

    /// Takes the journal out of its place; see `Journals::put_aside`.
    fn put_aside(&self) -> Result<Option<PathBuf>, StoreError>;

    /// What tells of commits of other processes.
    fn changes(&self) -> Changes;

    /// Takes the right to act for the project; see `EngineLease`.
    fn lease(&self, owner: &Owner) -> Result<EngineLease, StoreError>;

    /// Which process has that right.
    fn lease_holder(&self) -> Result<Option<Owner>, StoreError>;
}

/// A journal that is open, for one thread at a time.
pub trait OpenJournal: Debug + Send {
    /// What it was told at its creation.
    fn birth(&self) -> &Birth;

    fn check(&self) -> Check;

    /// The folder of everything that is kept beside the journal.
    fn folder(&self) -> &Path;

    fn view(&mut self) -> Result<Box<dyn Reading + '_>, StoreError>;

    /// Waits for its turn; until what it returns is dropped, no other can write.
    fn transaction(&mut self) -> Result<Box<dyn Writing + '_>, StoreError>;

    /// Changes when another than this one has committed.
    fn data_version(&self) -> Result<u64, StoreError>;

    fn verify(&mut self) -> Result<(), StoreError>;

    fn back_up(&mut self) -> Result<Backup, StoreError>;
}

/// What is called for each event of a stream.
pub type Visit<'v> = dyn FnMut(EventRef<'_>) -> ControlFlow<()> + 'v;

/// What writes the bytes of a snapshot.
pub type Fill<'f> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'f;

/// One instant of a journal; the meaning of each question is told at `View`.
pub trait Reading: Debug {
    fn head(&self, stream: &StreamName) -> Result<u64, StoreError>;

    fn streams(&self) -> Result<Vec<StreamHead>, StoreError>;

    fn last_seq(&self) -> Result<u64, StoreError>;

    /// Visits the events of `stream` after its event `after` until the visitor breaks; when it
    /// does not, all that the stream should have were there.
    fn walk(
        &self,
        stream: &StreamName,
        after: u64,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError>;

    fn end(&self) -> Result<Cursor, StoreError>;

    fn feed(&self, after: Cursor, limit: usize) -> Result<Vec<Recorded>, StoreError>;

    fn feed_until(&self, until: Cursor, limit: usize) -> Result<Vec<Recorded>, StoreError>;

    fn snapshot_before(
        &self,
        stream: &StreamName,
        stream_seq: u64,
    ) -> Result<Option<Snapshot>, StoreError>;

    fn open_effects_of(&self, kind: &str, limit: usize) -> Result<Vec<OpenEffect>, StoreError>;

    fn due_effects(
        &self,
        kind: &str,
        now: Time,
        limit: usize,
    ) -> Result<Vec<OpenEffect>, StoreError>;

    fn next_due(&self, kind: &str) -> Result<Option<Time>, StoreError>;

    fn document(&self, path: &str) -> Result<Option<DocumentNote>, StoreError>;

    fn listings(&self, query: &ListingQuery<'_>) -> Result<Vec<ListedStream>, StoreError>;

    fn listing_counts(&self, kind: &str) -> Result<Vec<ListingCount>, StoreError>;
}

/// A transaction; the meaning of each step is told at `Transaction`. Dropped, it leaves no trace.
pub trait Writing: Debug {
    /// The journal with what this transaction has written so far.
    fn view(&self) -> &dyn Reading;

    fn append(&mut self, append: Append<'_>) -> Result<Appended, StoreError>;

    fn queue(&mut self, effects: &[NewEffect<'_>]) -> Result<usize, StoreError>;

    fn queue_again(&mut self, effect: &NewEffect<'_>) -> Result<(), StoreError>;

    fn mark_effect_done(&mut self, id: u64, at: Time) -> Result<bool, StoreError>;

    fn postpone_effect(&mut self, id: u64, due: Time, body: &str) -> Result<bool, StoreError>;

    fn mark_key_done(&mut self, key: &str, at: Time) -> Result<bool, StoreError>;

    fn mark_kind_done(&mut self, kind: &str, at: Time) -> Result<usize, StoreError>;

    /// Keeps a state of exactly `size` bytes, which `fill` writes.
    fn save_snapshot(
        &mut self,
        key: &SnapshotKey<'_>,
        size: u64,
        fill: &mut Fill<'_>,
    ) -> Result<(), StoreError>;

    fn note_document(&mut self, note: &DocumentNote) -> Result<(), StoreError>;

    /// Keeps a row for a stream, or none any more.
    fn list(
        &mut self,
        stream: &StreamName,
        listing: Option<&NewListing<'_>>,
    ) -> Result<(), StoreError>;

    /// Makes everything durable. After an error only the two questions below may be asked.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// The version of `stream` for all readers, after a `commit` that failed.
    fn committed_head(&mut self, stream: &StreamName) -> Result<u64, StoreError>;

    /// Makes sure that a commit which failed and is not there does not come to be there later.
    fn rule_out(&mut self) -> Result<(), StoreError>;
}
