//! Writing: events, effects, snapshots and notes that land together or not at all.

use super::{
    backend::Writing,
    entry::{Append, Appended, DocumentNote, NewEffect, Snapshot, SnapshotKey},
    listing::NewListing,
    view::View,
};
use crate::error::StoreError;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Write},
};
use waypost_model::{id::StreamName, time::Time};

/// How much of a state is written at once: many pages, so that finding the place costs nothing.
const STATE_PART: usize = 64 << 10;

/// An open transaction; dropped without `commit`, it leaves no trace.
#[derive(Debug)]
pub struct Transaction<'a> {
    writing: Box<dyn Writing + 'a>,
    /// The versions that the streams have once this has happened.
    heads: BTreeMap<StreamName, u64>,
    /// A write failed half-way; what is there must not be committed.
    is_broken: bool,
}

impl<'a> Transaction<'a> {
    pub(super) fn over(writing: Box<dyn Writing + 'a>) -> Self {
        Self { writing, heads: BTreeMap::new(), is_broken: false }
    }

    /// Looks at the journal as it is with what this transaction has written so far.
    pub fn view(&self) -> View<'_> {
        View::inside(self.writing.view())
    }

    /// The version of `stream`: the number of its events, 0 if it has none.
    pub fn head(&self, stream: &StreamName) -> Result<u64, StoreError> {
        self.writing.view().head(stream)
    }

    /// Records events if the stream is still at the version that was decided on.
    pub fn append(&mut self, append: Append<'_>) -> Result<Appended, StoreError> {
        let (stream, adds) = (append.stream, !append.events.is_empty());
        let appended = self.writing.append(append);
        let appended = self.noted(appended)?;
        if adds {
            self.heads.insert(stream.clone(), appended.head);
        }
        Ok(appended)
    }

    /// Queues work for the outside; returns how much of it was not there already.
    pub fn queue(&mut self, effects: &[NewEffect<'_>]) -> Result<usize, StoreError> {
        let done = self.writing.queue(effects);
        self.noted(done)
    }

    /// Queues work under a key that may have been used before: whatever became of that, this takes
    /// its place.
    pub fn queue_again(&mut self, effect: &NewEffect<'_>) -> Result<(), StoreError> {
        let done = self.writing.queue_again(effect);
        self.noted(done)
    }

    /// Notes that an effect was performed; `false`: it was already, or there is none.
    pub fn mark_effect_done(&mut self, id: u64, at: Time) -> Result<bool, StoreError> {
        let done = self.writing.mark_effect_done(id, at);
        self.noted(done)
    }

    /// Puts an effect off until `due`, with what was learnt in trying it; `false`: as above.
    pub fn postpone_effect(&mut self, id: u64, due: Time, body: &str) -> Result<bool, StoreError> {
        let done = self.writing.postpone_effect(id, due, body);
        self.noted(done)
    }

    /// Notes that the work with this key is done or no longer wanted; `false`: as above.
    pub fn mark_key_done(&mut self, key: &str, at: Time) -> Result<bool, StoreError> {
        let done = self.writing.mark_key_done(key, at);
        self.noted(done)
    }

    /// Notes of all work of a kind that it is done or no longer wanted; returns how much was open.
    pub fn mark_kind_done(&mut self, kind: &str, at: Time) -> Result<usize, StoreError> {
        let done = self.writing.mark_kind_done(kind, at);
        self.noted(done)
    }

    /// Keeps the state of `stream` after some of its events; only the newest two stay.
    pub fn save_snapshot(
        &mut self,
        stream: &StreamName,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let Snapshot { stream_seq, format, ref body } = *snapshot;
        let key = SnapshotKey { stream, stream_seq, format };
        let size = body.len() as u64;
        let saved = self.writing.save_snapshot(&key, size, &mut |out| out.write_all(body));
        self.noted(saved)
    }

    /// As `save_snapshot`, with `state` as JSON, which is never in memory as a whole: a large state
    /// is an even larger text, and a database would make two more copies of it.
    pub fn save_state(
        &mut self,
        stream: &StreamName,
        (stream_seq, format): (u64, u32),
        state: &impl Serialize,
    ) -> Result<(), StoreError> {
        let mut size = Counter(0);
        serde_json::to_writer(&mut size, state).expect("states are plain data");
        let key = SnapshotKey { stream, stream_seq, format };
        let saved = self.writing.save_snapshot(&key, size.0, &mut |out| {
            let mut out = BufWriter::with_capacity(STATE_PART, out);
            serde_json::to_writer(&mut out, state).map_err(io::Error::from)?;
            out.flush()
        });
        self.noted(saved)
    }

    /// Notes who wrote a document, and with what content.
    pub fn note_document(&mut self, note: &DocumentNote) -> Result<(), StoreError> {
        let done = self.writing.note_document(note);
        self.noted(done)
    }

    /// Keeps a row by which a stream is listed, or none any more.
    pub fn list(
        &mut self,
        stream: &StreamName,
        listing: Option<&NewListing<'_>>,
    ) -> Result<(), StoreError> {
        let done = self.writing.list(stream, listing);
        self.noted(done)
    }

    /// Makes everything durable; only after this may it be told.
    ///
    /// A commit that fails may have happened all the same: a database can write everything and then
    /// fail at something else, and a connection can break before the answer comes. So the versions
    /// are read again. As expected: it has happened, and the failure is of no concern. Otherwise it
    /// has not, and the store makes sure that it does not come up later. Only where that cannot be
    /// learnt or made sure of either, the outcome is `CommitUnknown`.
    pub fn commit(mut self) -> Result<(), StoreError> {
        if self.is_broken {
            let detail = "an earlier write of this transaction failed".into();
            return Err(StoreError::Database { action: "commit", detail });
        }
        match self.writing.commit() {
            Err(cause) => self.settle(cause),
            Ok(()) => Ok(()),
        }
    }

    fn settle(&mut self, cause: StoreError) -> Result<(), StoreError> {
        match self.has_happened() {
            Ok(true) => Ok(()),
            Ok(false) if self.writing.rule_out().is_ok() => Err(cause),
            // What found no space or no turn was not written to its end.
            _ if matches!(cause, StoreError::Full { .. } | StoreError::Busy { .. }) => Err(cause),
            _ => Err(StoreError::CommitUnknown { cause: Box::new(cause) }),
        }
    }

    /// Without events there is nothing to tell by: then it counts as not done, because what is left
    /// (effects, notes, snapshots) may be done again.
    fn has_happened(&mut self) -> Result<bool, StoreError> {
        for (stream, expected) in &self.heads {
            if self.writing.committed_head(stream)? != *expected {
                return Ok(false);
            }
        }
        Ok(!self.heads.is_empty())
    }

    /// A stream that has moved was only looked at; every other failure may have left half a step.
    fn noted<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.is_broken |= done.as_ref().is_err_and(|error| !error.is_conflict());
        done
    }
}

/// Counts what is written to it.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Birth, CommitFault, Journals, MemoryStore, Mode, NewEvent};
    use waypost_model::actor::Actor;

    const NOW: Time = Time::from_millis(0);

    /// Commits once with a fault, and says how that ended and how many events there are.
    fn commit_with(fault: CommitFault, events: &[&'static str]) -> (String, u64) {
        let store = MemoryStore::at("/nowhere".as_ref());
        let birth = Birth { journal_id: "j1".into(), at: NOW };
        let mut journal = Journals::over(store.clone()).open(Mode::Create(&birth)).unwrap();
        let (stream, actor) = ("run".parse().unwrap(), Actor::Waypost);
        let event =
            |body: &&'static str| NewEvent { kind: "noted", format: 1, body: (*body).into() };
        let events = events.iter().map(event).collect();
        let mut transaction = journal.transaction().unwrap();
        let append = Append { stream: &stream, seen: 0, actor: &actor, at: NOW, events };
        transaction.append(append).unwrap();
        store.fail_next_commit(fault);
        let ended = transaction.commit();
        let head = journal.view().unwrap().head(&stream).unwrap();
        (ended.map_or_else(|error| error.to_string(), |()| "done".into()), head)
    }

    #[test]
    fn a_commit_without_an_answer_is_judged_by_the_versions() {
        let failed = "cannot commit to /nowhere/journal";
        let unknown = "it is not known whether the last change was recorded";
        let table: [(CommitFault, &[&'static str], (&str, u64)); 4] = [
            (CommitFault::AnswerLost, &["a", "b"], ("done", 2)),
            (CommitFault::Refused, &["a"], (failed, 0)),
            (CommitFault::Unreachable, &["a"], (unknown, 0)),
            // Nothing tells whether it has happened, and it may be done again.
            (CommitFault::AnswerLost, &[], (failed, 0)),
        ];
        for (fault, events, (ended, head)) in table {
            let expected = (ended.to_owned(), head);
            assert_eq!(commit_with(fault, events), expected, "{fault:?} {events:?}");
        }
    }
}
