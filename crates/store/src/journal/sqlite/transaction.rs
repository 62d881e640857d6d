//! Writing to the database.

use super::{
    chain,
    failure::failed,
    view::{SqliteView, StreamRow},
};
use crate::{
    error::StoreError,
    journal::{
        Append, Appended, DocumentNote, EventRef, NewEffect, SnapshotKey,
        backend::{Fill, Reading, Writing},
    },
    lock::FileLock,
};
use rusqlite::{Connection, MAIN_DB, ToSql, blob::ZeroBlob, params};
use std::path::Path;
use waypost_model::{id::StreamName, time::Time};

/// How many snapshots of a stream are kept: the newest, and one in case that cannot be used.
const SNAPSHOTS_KEPT: u32 = 2;

/// A transaction of the database, in its turn.
#[derive(Debug)]
pub(super) struct SqliteTransaction<'a> {
    db: &'a Connection,
    path: &'a Path,
    view: SqliteView<'a>,
    open: bool,
    /// Held until the database has let go, so that the next in turn finds it free.
    _turn: FileLock,
}

impl<'a> SqliteTransaction<'a> {
    pub(super) fn begin(
        db: &'a Connection,
        path: &'a Path,
        turn: FileLock,
    ) -> Result<Self, StoreError> {
        let begin = db.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([]));
        begin.map_err(failed("write to", path))?;
        let view = SqliteView::inside(db, path);
        Ok(Self { db, path, view, open: true, _turn: turn })
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
        done.map_err(failed("write to", self.path))
    }

    /// Rolls back what is still open; after some errors the database has done so by itself.
    fn end(&mut self) {
        if self.open && !self.db.is_autocommit() {
            drop(self.db.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([])));
        }
        self.open = false;
    }
}

impl Writing for SqliteTransaction<'_> {
    fn view(&self) -> &dyn Reading {
        &self.view
    }

    fn append(&mut self, append: Append<'_>) -> Result<Appended, StoreError> {
        let stream = append.stream;
        let (found, mut seq) = match self.view.stream_and_last_seq(stream)? {
            Some((row, seq)) => (Some(row), seq),
            None => (None, self.view.last_seq()?),
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
        let mut put = self.db.prepare_cached(put).map_err(failed("write to", self.path))?;
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
            bound.and_then(|()| put.raw_execute()).map_err(failed("write to", self.path))?;
        }
        self.run(
            "UPDATE stream SET head = ?2, sum = ?3 WHERE id = ?1",
            params![row.id, row.head, row.sum],
        )?;
        Ok(Appended { last_seq: seq, head: row.head })
    }

    fn queue(&mut self, effects: &[NewEffect<'_>]) -> Result<usize, StoreError> {
        let put = "INSERT INTO effect(key, stream, stream_seq, kind, body, due)
                   SELECT ?1, id, ?3, ?4, ?5, ?6 FROM stream WHERE name = ?2
                   ON CONFLICT(key) DO NOTHING";
        let mut queued = 0;
        for effect in effects {
            if self.view.stream(effect.stream)?.is_none() {
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

    fn mark_effect_done(&mut self, id: u64, at: Time) -> Result<bool, StoreError> {
        let sql = "UPDATE effect SET done_at = ?2 WHERE id = ?1 AND done_at IS NULL";
        Ok(self.run(sql, params![id, at.millis()])? > 0)
    }

    fn postpone_effect(&mut self, id: u64, due: Time, body: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE effect SET due = ?2, body = ?3 WHERE id = ?1 AND done_at IS NULL";
        Ok(self.run(sql, params![id, due.millis(), body])? > 0)
    }

    fn mark_key_done(&mut self, key: &str, at: Time) -> Result<bool, StoreError> {
        let sql = "UPDATE effect SET done_at = ?2 WHERE key = ?1 AND done_at IS NULL";
        Ok(self.run(sql, params![key, at.millis()])? > 0)
    }

    fn save_snapshot(
        &mut self,
        key: &SnapshotKey<'_>,
        size: u64,
        fill: &mut Fill<'_>,
    ) -> Result<(), StoreError> {
        let SnapshotKey { stream, stream_seq, format } = *key;
        let head = self.view.head(stream)?;
        if stream_seq == 0 || stream_seq > head {
            return Err(StoreError::Moved { stream: stream.clone(), seen: stream_seq, head });
        }
        let name = stream.as_str();
        let put = "INSERT OR REPLACE INTO snapshot(stream, stream_seq, format, body)
                   SELECT id, ?2, ?3, ?4 FROM stream WHERE name = ?1";
        self.run(put, params![name, stream_seq, format, ZeroBlob(size)])?;
        let row = self.db.last_insert_rowid();
        let blob = self.db.blob_open(MAIN_DB, "snapshot", "body", row, false);
        let mut blob = blob.map_err(failed("write to", self.path))?;
        fill(&mut blob).map_err(|error| StoreError::Database {
            action: "write to the journal",
            detail: error.to_string(),
        })?;
        drop(blob);
        let prune = "DELETE FROM snapshot
                     WHERE stream = (SELECT id FROM stream WHERE name = ?1) AND stream_seq NOT IN (
                         SELECT stream_seq FROM snapshot
                         WHERE stream = (SELECT id FROM stream WHERE name = ?1)
                         ORDER BY stream_seq DESC LIMIT ?2)";
        self.run(prune, params![name, SNAPSHOTS_KEPT]).map(drop)
    }

    fn note_document(&mut self, note: &DocumentNote) -> Result<(), StoreError> {
        let put = "INSERT INTO document(path, hash, at, actor, seq) VALUES(?1, ?2, ?3, ?4, ?5)";
        let actor = note.actor.to_string();
        self.run(put, params![note.path, note.hash, note.at.millis(), actor, note.seq])?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.run("COMMIT", [])?;
        self.open = false;
        Ok(())
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        self.end();
    }
}
