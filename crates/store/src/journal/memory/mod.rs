//! A journal in memory, for simulations and tests: the same rules, nothing on disk.
//!
//! What is committed is one value that is never changed, so a view is a reference to it. A
//! transaction works on a copy, which shares all entries, and puts it in the place of the old one.
//! Any number of threads may have the journal open; writers take turns as processes do on disk.
//!
//! Deliberately not here: damage. There are no checksums, and nothing to be found by verifying.

mod chunks;
mod contents;
mod listings;

use super::{
    backend::{Fill, JournalStore, OpenJournal, Reading, Writing},
    changes::Changes,
    entry::{Append, Appended, Birth, DocumentNote, Mode, NewEffect, Snapshot, SnapshotKey},
    journals::{Backup, JournalFile},
    listing::NewListing,
    open::Check,
};
use crate::{
    error::StoreError,
    lock::{EngineLease, HeldLease, Owner},
};
use contents::Contents;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use waypost_model::{id::StreamName, time::Time};

/// As many as the store on disk keeps.
const BACKUPS_KEPT: usize = 5;

/// The journal of one place, kept in memory; a clone is the same journal.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

/// How the next commit fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFault {
    /// Nothing has happened.
    Refused,
    /// Everything has happened, and the answer is lost.
    AnswerLost,
    /// Whether it has happened cannot be asked either.
    Unreachable,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    kept: Mutex<Kept>,
    /// Held by a transaction from its beginning to its end.
    turn: Mutex<()>,
}

#[derive(Debug, Default)]
struct Kept {
    journal: Option<Committed>,
    /// Oldest first.
    backups: Vec<(Backup, Committed)>,
    /// How often the journal is open to be written.
    open_count: usize,
    holder: Option<Owner>,
    fault: Option<CommitFault>,
}

#[derive(Clone, Debug)]
struct Committed {
    birth: Birth,
    contents: Contents,
    /// How many transactions were committed.
    commits: u64,
}

/// For what a panic cannot leave half-changed: each change is one assignment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryStore {
    /// A new store without a journal; what is kept beside the journal is in `folder`.
    pub fn at(folder: &Path) -> Self {
        let (kept, turn) = (Mutex::default(), Mutex::default());
        Self { shared: Arc::new(Shared { folder: folder.to_owned(), kept, turn }) }
    }

    /// Makes the next commit fail in a certain way.
    pub fn fail_next_commit(&self, fault: CommitFault) {
        locked(&self.shared.kept).fault = Some(fault);
    }
}

impl Shared {
    fn missing(&self) -> StoreError {
        StoreError::Missing { path: self.folder.join("journal") }
    }

    fn committed(&self) -> Result<Committed, StoreError> {
        locked(&self.kept).journal.clone().ok_or_else(|| self.missing())
    }

    /// Refuses while a process has the journal open.
    fn closed(&self) -> Result<MutexGuard<'_, Kept>, StoreError> {
        let kept = locked(&self.kept);
        match kept.open_count {
            0 => Ok(kept),
            _ => Err(StoreError::Busy { what: "the journal".into(), holder: None }),
        }
    }
}

impl JournalStore for MemoryStore {
    fn open(&self, mode: Mode<'_>) -> Result<Box<dyn OpenJournal>, StoreError> {
        let mut kept = locked(&self.shared.kept);
        if let (Mode::Create(birth), None) = (mode, &kept.journal) {
            let (birth, contents) = (birth.clone(), Contents::default());
            kept.journal = Some(Committed { birth, contents, commits: 0 });
        }
        let journal = kept.journal.as_ref().ok_or_else(|| self.shared.missing())?;
        let birth = journal.birth.clone();
        let can_write = !matches!(mode, Mode::ReadOnly);
        kept.open_count += usize::from(can_write);
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(MemoryJournal { shared, birth, can_write, own_commits: 0 }))
    }

    fn path(&self) -> PathBuf {
        self.shared.folder.join("journal")
    }

    fn lost(&self, what: &str) -> StoreError {
        StoreError::corrupt(&self.path(), what)
    }

    fn size(&self) -> Result<u64, StoreError> {
        Ok(locked(&self.shared.kept).journal.as_ref().map_or(0, |it| it.contents.size()))
    }

    fn files(&self) -> Vec<JournalFile> {
        Vec::new()
    }

    fn backups(&self) -> Result<Vec<Backup>, StoreError> {
        let kept = locked(&self.shared.kept);
        Ok(kept.backups.iter().rev().map(|(backup, _)| backup.clone()).collect())
    }

    fn restore(&self, from: &Path) -> Result<Option<PathBuf>, StoreError> {
        let mut kept = self.shared.closed()?;
        let copy = kept.backups.iter().find(|(backup, _)| backup.path == from);
        let copy = copy.ok_or_else(|| StoreError::Missing { path: from.to_owned() })?.1.clone();
        kept.journal = Some(copy);
        Ok(None)
    }

    fn put_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        self.shared.closed()?.journal = None;
        Ok(None)
    }

    fn changes(&self) -> Changes {
        Changes::untold()
    }

    fn lease(&self, owner: &Owner) -> Result<EngineLease, StoreError> {
        let holder = &mut locked(&self.shared.kept).holder;
        if let Some(holder) = holder {
            return Err(StoreError::engine_busy(Some(holder.clone())));
        }
        *holder = Some(owner.clone());
        let held = MemoryLease { shared: Arc::clone(&self.shared) };
        Ok(EngineLease::over(Box::new(held), owner, &self.shared.folder))
    }

    fn lease_holder(&self) -> Result<Option<Owner>, StoreError> {
        Ok(locked(&self.shared.kept).holder.clone())
    }
}

#[derive(Debug)]
struct MemoryLease {
    shared: Arc<Shared>,
}

impl HeldLease for MemoryLease {
    fn still_holds(&self) -> bool {
        true
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        locked(&self.shared.kept).holder = None;
    }
}

#[derive(Debug)]
struct MemoryJournal {
    shared: Arc<Shared>,
    birth: Birth,
    can_write: bool,
    own_commits: u64,
}

impl OpenJournal for MemoryJournal {
    fn birth(&self) -> &Birth {
        &self.birth
    }

    fn check(&self) -> Check {
        Check::NotNeeded
    }

    fn folder(&self) -> &Path {
        &self.shared.folder
    }

    fn view(&mut self) -> Result<Box<dyn Reading + '_>, StoreError> {
        Ok(Box::new(self.shared.committed()?.contents))
    }

    fn transaction(&mut self) -> Result<Box<dyn Writing + '_>, StoreError> {
        let Self { shared, can_write, own_commits, .. } = self;
        if !*can_write {
            let source = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
            return Err(StoreError::file("write to", &shared.folder.join("journal"), source));
        }
        let turn = locked(&shared.turn);
        let contents = shared.committed()?.contents;
        let fault = None;
        Ok(Box::new(MemoryTransaction { shared, own_commits, contents, fault, _turn: turn }))
    }

    fn data_version(&self) -> Result<u64, StoreError> {
        Ok(self.shared.committed()?.commits - self.own_commits)
    }

    fn verify(&mut self) -> Result<(), StoreError> {
        self.shared.committed().map(drop)
    }

    fn back_up(&mut self) -> Result<Backup, StoreError> {
        let committed = self.shared.committed()?;
        let seq = committed.contents.last_seq()?;
        let path = self.shared.folder.join(format!("backups/journal-{seq:012}"));
        // There is no clock in here; it is at least as old as what is in it.
        let made = committed.contents.last_at().or(Some(committed.birth.at));
        let backup = Backup { path, seq, made };
        let backups = &mut locked(&self.shared.kept).backups;
        backups.retain(|(it, _)| it.seq != seq);
        backups.push((backup.clone(), committed));
        backups.sort_by_key(|(it, _)| it.seq);
        backups.drain(..backups.len().saturating_sub(BACKUPS_KEPT));
        Ok(backup)
    }
}

impl Drop for MemoryJournal {
    fn drop(&mut self) {
        locked(&self.shared.kept).open_count -= usize::from(self.can_write);
    }
}

#[derive(Debug)]
struct MemoryTransaction<'a> {
    shared: &'a Shared,
    own_commits: &'a mut u64,
    contents: Contents,
    /// How the commit has failed.
    fault: Option<CommitFault>,
    _turn: MutexGuard<'a, ()>,
}

impl Writing for MemoryTransaction<'_> {
    fn view(&self) -> &dyn Reading {
        &self.contents
    }

    fn append(&mut self, append: Append<'_>) -> Result<Appended, StoreError> {
        self.contents.change().append(append)
    }

    fn queue(&mut self, effects: &[NewEffect<'_>]) -> Result<usize, StoreError> {
        Ok(effects.iter().filter(|effect| self.contents.change().queue(effect)).count())
    }

    fn queue_again(&mut self, effect: &NewEffect<'_>) -> Result<(), StoreError> {
        self.contents.change().queue_again(effect);
        Ok(())
    }

    fn mark_effect_done(&mut self, id: u64, _at: Time) -> Result<bool, StoreError> {
        Ok(self.contents.change().mark_effect_done(id))
    }

    fn postpone_effect(&mut self, id: u64, due: Time, body: &str) -> Result<bool, StoreError> {
        Ok(self.contents.change().postpone_effect(id, due, body))
    }

    fn mark_key_done(&mut self, key: &str, _at: Time) -> Result<bool, StoreError> {
        Ok(self.contents.change().mark_key_done(key))
    }

    fn mark_kind_done(&mut self, kind: &str, _at: Time) -> Result<usize, StoreError> {
        Ok(self.contents.change().mark_kind_done(kind))
    }

    fn save_snapshot(
        &mut self,
        key: &SnapshotKey<'_>,
        size: u64,
        fill: &mut Fill<'_>,
    ) -> Result<(), StoreError> {
        let mut body = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        fill(&mut body).map_err(|error| StoreError::Database {
            action: "write to the journal",
            detail: error.to_string(),
        })?;
        let SnapshotKey { stream, stream_seq, format } = *key;
        self.contents.change().save_snapshot(stream, Snapshot { stream_seq, format, body })
    }

    fn note_document(&mut self, note: &DocumentNote) -> Result<(), StoreError> {
        self.contents.change().note_document(note);
        Ok(())
    }

    fn list(
        &mut self,
        stream: &StreamName,
        listing: Option<&NewListing<'_>>,
    ) -> Result<(), StoreError> {
        self.contents.change().listings.put(stream, listing);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let mut kept = locked(&self.shared.kept);
        self.fault = kept.fault.take();
        if matches!(self.fault, None | Some(CommitFault::AnswerLost)) {
            let journal = kept.journal.as_mut().ok_or_else(|| self.shared.missing())?;
            journal.contents = self.contents.clone();
            journal.commits += 1;
            *self.own_commits += 1;
        }
        self.fault.map_or(Ok(()), |_| Err(self.unreachable("commit to")))
    }

    fn committed_head(&mut self, stream: &StreamName) -> Result<u64, StoreError> {
        self.ask()?;
        self.shared.committed()?.contents.head(stream)
    }

    fn rule_out(&mut self) -> Result<(), StoreError> {
        self.ask()
    }
}

impl MemoryTransaction<'_> {
    fn unreachable(&self, action: &'static str) -> StoreError {
        let source = io::Error::from(io::ErrorKind::TimedOut);
        StoreError::file(action, &self.shared.folder.join("journal"), source)
    }

    fn ask(&self) -> Result<(), StoreError> {
        match self.fault {
            Some(CommitFault::Unreachable) => Err(self.unreachable("read")),
            _ => Ok(()),
        }
    }
}
