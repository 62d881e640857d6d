//! Writing: events, effects, snapshots and notes that land together or not at all.

use super::{
    chain,
    failure::failed,
    view::{StreamRow, View},
};
use crate::{
    error::StoreError,
    journal::entry::{Append, Appended, DocumentNote, EventRef, NewEffect, Snapshot},
    lock::FileLock,
};
use rusqlite::{Connection, MAIN_DB, ToSql, blob::ZeroBlob, params};
use serde::Serialize;
use std::{
    cell::Cell,
    io::{self, BufWriter, Write},
    path::Path,
};
use waypost_model::{id::StreamName, time::Time};

/// How many snapshots of a stream are kept: the newest, and one in case that cannot be used.
const SNAPSHOTS_KEPT: u32 = 2;

/// How much of a state is written at once: many pages, so that finding the place costs nothing.
const STATE_PART: usize = 64 << 10;

/// An open transaction; dropped without `commit`, it leaves no trace.
#[derive(Debug)]
pub struct Transaction<'a> {
    db: &'a Connection,
    path: &'a Path,
    open: bool,
    /// A write failed half-way; what is there must not be committed.
    broken: Cell<bool>,
    /// Held until the database has let go, so that the next in turn finds it free.
    _turn: FileLock,
}

impl<'a> Transaction<'a> {
    pub(super) fn begin(
        db: &'a Connection,
        path: &'a Path,
        turn: FileLock,
    ) -> Result<Self, StoreError> {
        let begin = db.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([]));
        begin.map_err(failed("write to", path))?;
        Ok(Self { db, path, open: true, broken: Cell::new(false), _turn: turn })
    }

    /// Looks at the journal as it is with what this transaction has written so far.
    pub fn view(&self) -> View<'_> {
        View::inside(self.db, self.path)
    }

    /// The version of `stream`: the number of its events, 0 if it has none.
    pub fn head(&self, stream: &StreamName) -> Result<u64, StoreError> {
        self.view().head(stream)
    }

    /// Records events if the stream is still at the version that was decided on.
    pub fn append(&mut self, append: Append<'_>) -> Result<Appended, StoreError> {
        let stream = append.stream;
        let (found, mut seq) = match self.view().stream_and_last_seq(stream)? {
            Some((row, seq)) => (Some(row), seq),
            None => (None, self.view().last_seq()?),
        };
        let head = found.map_or(0, |row| row.head);
        if head != append.seen {
            return Err(StoreError::Moved { stream: stream.clone(), seen: append.seen, head });
        }
        if append.events.is_empty() {
            return Ok(Appended { last_seq: seq, head });
        }
        let mut row = match found {
            Some(row) => row,
            None => self.open_stream(stream)?,
        };
        let actor = append.actor.to_string();
        let put = "INSERT INTO event(seq, stream, stream_seq, at, actor, format, kind, body, sum)
                   VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let mut put = self.db.prepare_cached(put).map_err(|error| self.note_failure(error))?;
        for event in append.events {
            seq += 1;
            row.head += 1;
            let entry = EventRef {
                seq,
                stream_seq: row.head,
                at: append.at,
                actor: &actor,
                format: event.format,
                kind: event.kind,
                body: &event.body,
            };
            row.sum = chain::link(&row.sum, &entry);
            let (at, format) = (entry.at.millis(), entry.format);
            let values: [&dyn ToSql; 9] = [
                &seq,
                &row.id,
                &row.head,
                &at,
                &actor,
                &format,
                &event.kind,
                &event.body,
                &row.sum,
            ];
            let bound =
                values.iter().zip(1..).try_for_each(|(v, at)| put.raw_bind_parameter(at, v));
            // The database has its own copy of the body now, and makes another one next.
            drop(event);
            bound.and_then(|()| put.raw_execute()).map_err(|error| self.note_failure(error))?;
        }
        self.run(
            "UPDATE stream SET head = ?2, sum = ?3 WHERE id = ?1",
            params![row.id, row.head, row.sum],
        )?;
        Ok(Appended { last_seq: seq, head: row.head })
    }

    /// Queues work for the outside; returns how much of it was not there already.
    pub fn queue(&mut self, effects: &[NewEffect<'_>]) -> Result<usize, StoreError> {
        let put = "INSERT INTO effect(key, stream, stream_seq, kind, body, due)
                   SELECT ?1, id, ?3, ?4, ?5, ?6 FROM stream WHERE name = ?2
                   ON CONFLICT(key) DO NOTHING";
        let mut queued = 0;
        for effect in effects {
            if self.view().stream(effect.stream)?.is_none() {
                self.open_stream(effect.stream)?;
            }
            let due = effect.due.map(Time::millis);
            queued += self.run(
                put,
                params![
                    effect.key,
                    effect.stream.as_str(),
                    effect.stream_seq,
                    effect.kind,
                    effect.body,
                    due
                ],
            )?;
        }
        Ok(queued)
    }

    /// Notes that an effect was performed; `false`: it was already, or there is none.
    pub fn mark_effect_done(&mut self, id: u64, at: Time) -> Result<bool, StoreError> {
        let sql = "UPDATE effect SET done_at = ?2 WHERE id = ?1 AND done_at IS NULL";
        Ok(self.run(sql, params![id, at.millis()])? > 0)
    }

    /// Puts an effect off until `due`, with what was learnt in trying it; `false`: as above.
    pub fn postpone_effect(&mut self, id: u64, due: Time, body: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE effect SET due = ?2, body = ?3 WHERE id = ?1 AND done_at IS NULL";
        Ok(self.run(sql, params![id, due.millis(), body])? > 0)
    }

    /// Notes that the work with this key is done or no longer wanted; `false`: as above.
    pub fn mark_key_done(&mut self, key: &str, at: Time) -> Result<bool, StoreError> {
        let sql = "UPDATE effect SET done_at = ?2 WHERE key = ?1 AND done_at IS NULL";
        Ok(self.run(sql, params![key, at.millis()])? > 0)
    }

    /// Keeps the state of `stream` after some of its events; only the newest two stay.
    pub fn save_snapshot(
        &mut self,
        stream: &StreamName,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let Snapshot { stream_seq, format, ref body } = *snapshot;
        self.put_snapshot(stream, (stream_seq, format), body)
    }

    /// As `save_snapshot`, with `state` as JSON, which is never in memory as a whole: a large state
    /// is an even larger text, and the database would make two more copies of it.
    pub fn save_state(
        &mut self,
        stream: &StreamName,
        (stream_seq, format): (u64, u32),
        state: &impl Serialize,
    ) -> Result<(), StoreError> {
        let plain = "states are plain data";
        let mut size = Counter(0);
        serde_json::to_writer(&mut size, state).expect(plain);
        self.put_snapshot(stream, (stream_seq, format), &ZeroBlob(size.0))?;
        let row = self.db.last_insert_rowid();
        let blob = self.db.blob_open(MAIN_DB, "snapshot", "body", row, false);
        let blob = blob.map_err(|error| self.note_failure(error))?;
        let mut out = BufWriter::with_capacity(STATE_PART, blob);
        let written = serde_json::to_writer(&mut out, state).map_err(io::Error::from);
        written.and_then(|()| out.flush()).map_err(|error| {
            self.broken.set(true);
            StoreError::Database { action: "write to", detail: error.to_string() }
        })
    }

    fn put_snapshot(
        &self,
        stream: &StreamName,
        (stream_seq, format): (u64, u32),
        body: &dyn ToSql,
    ) -> Result<(), StoreError> {
        let head = self.head(stream)?;
        if stream_seq == 0 || stream_seq > head {
            return Err(StoreError::Moved { stream: stream.clone(), seen: stream_seq, head });
        }
        let name = stream.as_str();
        let put = "INSERT OR REPLACE INTO snapshot(stream, stream_seq, format, body)
                   SELECT id, ?2, ?3, ?4 FROM stream WHERE name = ?1";
        self.run(put, params![name, stream_seq, format, body])?;
        let prune = "DELETE FROM snapshot
                     WHERE stream = (SELECT id FROM stream WHERE name = ?1) AND stream_seq NOT IN (
                         SELECT stream_seq FROM snapshot
                         WHERE stream = (SELECT id FROM stream WHERE name = ?1)
                         ORDER BY stream_seq DESC LIMIT ?2)";
        self.run(prune, params![name, SNAPSHOTS_KEPT])?;
        Ok(())
    }

    /// Notes who wrote a document, and with what content.
    pub fn note_document(&mut self, note: &DocumentNote) -> Result<(), StoreError> {
        let put = "INSERT INTO document(path, hash, at, actor, seq) VALUES(?1, ?2, ?3, ?4, ?5)";
        let actor = note.actor.to_string();
        self.run(put, params![note.path, note.hash, note.at.millis(), actor, note.seq])?;
        Ok(())
    }

    /// Makes everything durable; only after this may anybody be told.
    pub fn commit(mut self) -> Result<(), StoreError> {
        if self.broken.get() {
            let detail = "an earlier write of this transaction failed".into();
            return Err(StoreError::Database { action: "commit", detail });
        }
        self.run("COMMIT", [])?;
        self.open = false;
        Ok(())
    }

    fn open_stream(&self, name: &StreamName) -> Result<StreamRow, StoreError> {
        let sum = chain::start(name);
        let put = "INSERT INTO stream(name, head, sum) VALUES(?1, 0, ?2)";
        self.run(put, params![name.as_str(), sum])?;
        Ok(StreamRow { id: self.db.last_insert_rowid(), head: 0, sum })
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize, StoreError> {
        let prepared = self.db.prepare_cached(sql);
        let done = prepared.and_then(|mut statement| statement.execute(values));
        done.map_err(|error| self.note_failure(error))
    }

    fn note_failure(&self, error: rusqlite::Error) -> StoreError {
        self.broken.set(true);
        failed("write to", self.path)(error)
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // After some errors the database has rolled back by itself.
        if self.open && !self.db.is_autocommit() {
            drop(self.db.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([])));
        }
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
