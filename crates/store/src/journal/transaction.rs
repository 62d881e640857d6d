//! Writing: events, effects, snapshots and notes that land together or not at all.

use super::{
    backend::Writing,
    entry::{Append, Appended, DocumentNote, NewEffect, Snapshot, SnapshotKey},
    view::View,
};
use crate::error::StoreError;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use waypost_model::{id::StreamName, time::Time};

/// How much of a state is written at once: many pages, so that finding the place costs nothing.
const STATE_PART: usize = 64 << 10;

/// An open transaction; dropped without `commit`, it leaves no trace.
#[derive(Debug)]
pub struct Transaction<'a> {
    writing: Box<dyn Writing + 'a>,
    /// A write failed half-way; what is there must not be committed.
    is_broken: bool,
}

impl<'a> Transaction<'a> {
    pub(super) fn over(writing: Box<dyn Writing + 'a>) -> Self {
        Self { writing, is_broken: false }
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
        let appended = self.writing.append(append);
        self.noted(appended)
    }

    /// Queues work for the outside; returns how much of it was not there already.
    pub fn queue(&mut self, effects: &[NewEffect<'_>]) -> Result<usize, StoreError> {
        let done = self.writing.queue(effects);
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

    /// Makes everything durable; only after this may anybody be told.
    pub fn commit(mut self) -> Result<(), StoreError> {
        if self.is_broken {
            let detail = "an earlier write of this transaction failed".into();
            return Err(StoreError::Database { action: "commit", detail });
        }
        self.writing.commit()
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
