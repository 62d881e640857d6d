//! Writing to the database.

use super::{
    chain,
    failure::failed,
    schema,
    view::{SqliteView, StreamRow},
};
use crate::{
    error::StoreError,
    journal::{
        Append, Appended, DocumentNote, EventRef, NewEffect, NewListing, SnapshotKey,
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

impl SqliteTransaction<'_> {
    /// Puts a row into the outbox by one of the statements for that; the stream has one by then.
    fn put_effect(&mut self, put: &str, effect: &NewEffect<'_>) -> Result<usize, StoreError> {
        if self.view.stream(effect.stream)?.is_none() {
            self.open_stream(effect.stream)?;
        }
        let NewEffect { key, stream, stream_seq, kind, body, due } = *effect;
        let due = due.map(Time::millis);
        self.run(put, params![key, stream.as_str(), stream_seq, kind, body, due])
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
            queued += self.put_effect(put, effect)?;
        }
        Ok(queued)
    }

    fn queue_again(&mut self, effect: &NewEffect<'_>) -> Result<(), StoreError> {
        let put = "INSERT INTO effect(key, stream, stream_seq, kind, body, due)
                   SELECT ?1, id, ?3, ?4, ?5, ?6 FROM stream WHERE name = ?2
                   ON CONFLICT(key) DO UPDATE SET
                       stream = excluded.stream, stream_seq = excluded.stream_seq,
                       kind = excluded.kind, body = excluded.body, due = excluded.due,
                       done_at = NULL";
        self.put_effect(put, effect).map(drop)
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

    fn mark_kind_done(&mut self, kind: &str, at: Time) -> Result<usize, StoreError> {
        let sql = "UPDATE effect INDEXED BY effect_open SET done_at = ?2
                   WHERE kind = ?1 AND done_at IS NULL";
        self.run(sql, params![kind, at.millis()])
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

    fn list(
        &mut self,
        stream: &StreamName,
        listing: Option<&NewListing<'_>>,
    ) -> Result<(), StoreError> {
        let name = stream.as_str();
        let Some(NewListing { state, rank, since, is_hidden, text, body }) = listing.copied()
        else {
            return self.run("DELETE FROM listing WHERE name = ?1", [name]).map(drop);
        };
        let put = "INSERT OR REPLACE INTO listing
                   (name, kind, state, rank, since, is_hidden, text, body)
                   VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let (kind, since) = (stream.kind(), since.millis());
        self.run(put, params![name, kind, state, rank, since, is_hidden, text, body]).map(drop)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.run("COMMIT", [])?;
        self.open = false;
        Ok(())
    }

    fn committed_head(&mut self, stream: &StreamName) -> Result<u64, StoreError> {
        self.end();
        SqliteView::begin(self.db, self.path)?.head(stream)
    }

    /// A transaction whose sync failed is in the log all the same. No process that runs sees it, but
    /// the next one that finds the journal closed takes it for committed. So it is overwritten: the
    /// sums in the log follow from each other, and what is left of it behind our own end is void.
    fn rule_out(&mut self) -> Result<(), StoreError> {
        self.end();
        // A row that is given the value it has is not written; this number always is.
        let touched = self.db.pragma_update(None, "user_version", schema::known());
        touched.map_err(failed("write to", self.path))
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{
        Birth, Mode, NewEvent, Transaction,
        sqlite::{SqliteJournal, open::log_path},
    };
    use rusqlite::{Error, ffi};
    use std::{borrow::Cow, fs};
    use waypost_model::actor::Actor;

    const NOW: Time = Time::from_millis(0);

    fn journal(folder: &Path) -> SqliteJournal {
        let birth = Birth { journal_id: "j1".into(), at: NOW };
        SqliteJournal::open(folder, Mode::Create(&birth)).unwrap()
    }

    fn begin(journal: &SqliteJournal) -> SqliteTransaction<'_> {
        let turn = FileLock::acquire(&journal.path.with_file_name("turn")).unwrap();
        SqliteTransaction::begin(&journal.db, &journal.path, turn).unwrap()
    }

    fn append(journal: &mut SqliteJournal, seen: u64) -> Result<(), StoreError> {
        let (stream, actor) = ("run".parse().unwrap(), Actor::Waypost);
        let events = vec![NewEvent { kind: "noted", format: 1, body: Cow::Borrowed("{}") }];
        let mut transaction = Transaction::over(Box::new(begin(journal)));
        transaction.append(Append { stream: &stream, seen, actor: &actor, at: NOW, events })?;
        transaction.commit()
    }

    fn disk_error() -> Error {
        Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR), None)
    }

    #[test]
    fn a_commit_that_failed_after_it_was_durable_has_happened() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        // As when the database cannot move its log into the main file right after the commit.
        journal.db.wal_hook(Some(|_: &mut _, _| Err(disk_error()))).unwrap();
        let bare = journal.db.pragma_update(None, "user_version", schema::known());
        assert!(bare.is_err(), "the hook makes the commit fail");
        append(&mut journal, 0).unwrap();
        append(&mut journal, 1).unwrap();
        assert_eq!(journal.last_seq().unwrap(), 2);
    }

    #[test]
    fn a_commit_that_was_refused_has_not_happened() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        append(&mut journal, 0).unwrap();
        let mut refusals = [true, false].into_iter();
        journal.db.commit_hook(Some(move || refusals.next().unwrap_or(false))).unwrap();
        let error = append(&mut journal, 1).unwrap_err();
        assert!(matches!(error, StoreError::Database { .. }), "{error}");
        assert_eq!(journal.last_seq().unwrap(), 1);
        append(&mut journal, 1).unwrap();
    }

    #[test]
    fn what_cannot_be_made_sure_of_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        journal.db.commit_hook(Some(|| true)).unwrap();
        let error = append(&mut journal, 0).unwrap_err();
        assert!(matches!(error, StoreError::CommitUnknown { .. }), "{error}");
        assert!(!error.is_conflict(), "it must not be tried again without a look");
    }

    #[test]
    fn a_transaction_that_was_not_synced_does_not_come_up_later() {
        for (is_ruled_out, expected) in [(false, 2), (true, 1)] {
            let [source, folder] = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let mut original = journal(source.path());
            append(&mut original, 0).unwrap();
            let log = log_path(&original.path);
            for file in [&original.path, &log] {
                fs::copy(file, folder.path().join(file.file_name().unwrap())).unwrap();
            }
            let journal = SqliteJournal::open(folder.path(), Mode::ReadWrite).unwrap();
            assert_eq!(journal.last_seq().unwrap(), 1);
            // The second transaction is in the log, and this process was told that it failed.
            append(&mut original, 1).unwrap();
            fs::copy(&log, log_path(&journal.path)).unwrap();
            assert_eq!(journal.last_seq().unwrap(), 1);
            if is_ruled_out {
                begin(&journal).rule_out().unwrap();
            }
            drop(journal);
            let journal = SqliteJournal::open(folder.path(), Mode::ReadWrite).unwrap();
            assert_eq!(journal.last_seq().unwrap(), expected, "ruled out: {is_ruled_out}");
        }
    }
}
