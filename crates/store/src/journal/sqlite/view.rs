//! Reading from the database: one read transaction, every entry checked against its sum.

use super::{
    chain::{self, Sum},
    failure::failed,
};
use crate::{
    error::StoreError,
    journal::{
        Cursor, DocumentNote, EventRef, ListedStream, ListingCount, ListingQuery, OpenEffect,
        Recorded, Snapshot, StreamHead,
        backend::{Reading, Visit},
    },
};
use rusqlite::{Connection, OptionalExtension as _, Row, params, types::Type};
use std::{collections::HashMap, ops::ControlFlow, path::Path};
use waypost_model::{id::StreamName, time::Time};

/// A look at the database inside a transaction.
#[derive(Debug)]
pub(super) struct SqliteView<'a> {
    db: &'a Connection,
    path: &'a Path,
    /// Whether the read transaction is ours to end.
    begun: bool,
}

/// A stream as the database knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamRow {
    pub(super) id: i64,
    pub(super) head: u64,
    pub(super) sum: Sum,
}

impl Reading for SqliteView<'_> {
    fn head(&self, stream: &StreamName) -> Result<u64, StoreError> {
        Ok(self.stream(stream)?.map_or(0, |row| row.head))
    }

    fn streams(&self) -> Result<Vec<StreamHead>, StoreError> {
        let sql = "SELECT name, head FROM stream ORDER BY name";
        self.collect(sql, [], |row| Ok(StreamHead { name: parsed(row, 0)?, head: row.get(1)? }))
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        let sql = "SELECT ifnull(max(seq), 0) FROM event";
        Ok(self.first(sql, [], |row| row.get(0))?.unwrap_or(0))
    }

    fn walk(
        &self,
        stream: &StreamName,
        after: u64,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let failed = failed("read", self.path);
        let Some(row) = self.stream(stream)? else { return Ok(()) };
        let lost = || self.without_end(stream);
        let Some(mut previous) = self.sum_of(row.id, stream, after)? else {
            return if row.head <= after { Ok(()) } else { Err(lost()) };
        };
        let sql = "SELECT seq, stream_seq, at, actor, format, kind, body, sum FROM event
                   WHERE stream = ?1 AND stream_seq > ?2 ORDER BY stream_seq";
        let mut statement = self.db.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params![row.id, after]).map_err(failed)?;
        let mut last = after;
        while let Some(row) = rows.next().map_err(failed)? {
            let (event, sum) = event_of(row).map_err(|detail| undecodable(row, detail))?;
            verify(&event, last, &previous, &sum)?;
            if visit(event).is_break() {
                return Ok(());
            }
            (previous, last) = (sum, event.stream_seq);
        }
        let is_whole =
            if last == after { row.head <= after } else { last == row.head && previous == row.sum };
        if is_whole { Ok(()) } else { Err(lost()) }
    }

    fn end(&self) -> Result<Cursor, StoreError> {
        Ok(Cursor::after(self.last_seq()?))
    }

    fn feed(&self, after: Cursor, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let found = self.entries_after(after.seq(), limit)?;
        if found.is_empty() && after.seq() > self.last_seq()? {
            return Err(StoreError::Ahead { cursor: after });
        }
        Ok(found)
    }

    fn feed_until(&self, until: Cursor, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        // Entries are numbered without gaps, so the journal can be read from its end.
        let end = until.seq().min(self.last_seq()?);
        let start = end.saturating_sub(limit as u64);
        self.entries_after(start, usize::try_from(end - start).unwrap_or(limit))
    }

    fn snapshot_before(
        &self,
        stream: &StreamName,
        stream_seq: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        let sql = "SELECT stream_seq, format, body FROM snapshot
                   WHERE stream = (SELECT id FROM stream WHERE name = ?1) AND stream_seq < ?2
                   ORDER BY stream_seq DESC LIMIT 1";
        let before = i64::try_from(stream_seq).unwrap_or(i64::MAX);
        self.first(sql, params![stream.as_str(), before], |row| {
            Ok(Snapshot { stream_seq: row.get(0)?, format: row.get(1)?, body: row.get(2)? })
        })
    }

    fn open_effects_of(&self, kind: &str, limit: usize) -> Result<Vec<OpenEffect>, StoreError> {
        let sql = "SELECT effect.id, key, stream.name, stream_seq, kind, body, due
                   FROM effect INDEXED BY effect_open JOIN stream ON stream.id = effect.stream
                   WHERE done_at IS NULL AND kind = ?1
                   ORDER BY effect.id LIMIT ?2";
        self.collect(sql, params![kind, as_limit(limit)], effect_of)
    }

    fn due_effects(
        &self,
        kind: &str,
        now: Time,
        limit: usize,
    ) -> Result<Vec<OpenEffect>, StoreError> {
        let sql = "SELECT effect.id, key, stream.name, stream_seq, kind, body, due
                   FROM effect INDEXED BY effect_open JOIN stream ON stream.id = effect.stream
                   WHERE done_at IS NULL AND due <= ?2 AND kind = ?1
                   ORDER BY due, effect.id LIMIT ?3";
        self.collect(sql, params![kind, now.millis(), as_limit(limit)], effect_of)
    }

    fn next_due(&self, kind: &str) -> Result<Option<Time>, StoreError> {
        let sql = "SELECT due FROM effect INDEXED BY effect_open
                   WHERE done_at IS NULL AND due IS NOT NULL AND kind = ?1
                   ORDER BY due LIMIT 1";
        let due: Option<Option<i64>> = self.first(sql, [kind], |row| row.get(0))?;
        Ok(due.flatten().map(Time::from_millis))
    }

    fn listings(&self, query: &ListingQuery<'_>) -> Result<Vec<ListedStream>, StoreError> {
        self.find_listings(query)
    }

    fn listing_counts(&self, kind: &str) -> Result<Vec<ListingCount>, StoreError> {
        self.count_listings(kind)
    }

    fn document(&self, path: &str) -> Result<Option<DocumentNote>, StoreError> {
        let sql = "SELECT path, hash, at, actor, seq FROM document
                   WHERE path = ?1 ORDER BY id DESC LIMIT 1";
        self.first(sql, [path], |row| {
            Ok(DocumentNote {
                path: row.get(0)?,
                hash: row.get(1)?,
                at: Time::from_millis(row.get(2)?),
                actor: parsed(row, 3)?,
                seq: row.get(4)?,
            })
        })
    }
}

impl<'a> SqliteView<'a> {
    pub(super) fn begin(db: &'a Connection, path: &'a Path) -> Result<Self, StoreError> {
        let begin = db.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([]));
        begin.map_err(failed("read", path))?;
        Ok(Self { db, path, begun: true })
    }

    /// A look from inside a transaction, at what it has written so far.
    pub(super) fn inside(db: &'a Connection, path: &'a Path) -> Self {
        Self { db, path, begun: false }
    }

    fn entries_after(&self, after_seq: u64, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let failed = failed("read", self.path);
        let sql = "SELECT seq, stream_seq, at, actor, format, kind, body, sum, stream
                   FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params![after_seq, as_limit(limit)]).map_err(failed)?;
        let mut found = Vec::new();
        let mut known: HashMap<i64, (StreamName, u64, Sum)> = HashMap::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let (event, sum) = event_of(row).map_err(|detail| undecodable(row, detail))?;
            let id = row.get(8).map_err(failed)?;
            let (name, before, previous) = match known.remove(&id) {
                Some(known) => known,
                None => self.known_before(id, event.stream_seq)?,
            };
            verify(&event, before, &previous, &sum)?;
            found.push(event.to_recorded(&name)?);
            known.insert(id, (name, event.stream_seq, sum));
        }
        Ok(found)
    }

    /// Reads every entry of every stream.
    pub(super) fn verify_streams(&self) -> Result<(), StoreError> {
        let go_on = &mut |_: EventRef<'_>| ControlFlow::Continue(());
        self.streams()?.iter().try_for_each(|stream| self.walk(&stream.name, 0, go_on))
    }

    pub(super) fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.first("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0))
    }

    pub(super) fn stream(&self, name: &StreamName) -> Result<Option<StreamRow>, StoreError> {
        let sql = "SELECT id, head, sum FROM stream WHERE name = ?1";
        self.first(sql, [name.as_str()], |row| {
            Ok(StreamRow { id: row.get(0)?, head: row.get(1)?, sum: row.get(2)? })
        })
    }

    /// Both that an append needs to know, in one question.
    pub(super) fn stream_and_last_seq(
        &self,
        name: &StreamName,
    ) -> Result<Option<(StreamRow, u64)>, StoreError> {
        let sql = "SELECT id, head, sum, (SELECT ifnull(max(seq), 0) FROM event)
                   FROM stream WHERE name = ?1";
        self.first(sql, [name.as_str()], |row| {
            let stream = StreamRow { id: row.get(0)?, head: row.get(1)?, sum: row.get(2)? };
            Ok((stream, row.get(3)?))
        })
    }

    fn without_end(&self, stream: &StreamName) -> StoreError {
        StoreError::corrupt(self.path, format!("the last entries of {stream} are gone"))
    }

    /// The sum of a stream's event; that of event 0 stands before the first one.
    fn sum_of(&self, id: i64, name: &StreamName, seq: u64) -> Result<Option<Sum>, StoreError> {
        if seq == 0 {
            return Ok(Some(chain::start(name)));
        }
        let sql = "SELECT sum FROM event WHERE stream = ?1 AND stream_seq = ?2";
        self.first(sql, params![id, seq], |row| row.get(0))
    }

    fn known_before(&self, id: i64, seq: u64) -> Result<(StreamName, u64, Sum), StoreError> {
        let gone = || StoreError::corrupt(self.path, format!("stream {id} is gone"));
        let sql = "SELECT name FROM stream WHERE id = ?1";
        let name = self.first(sql, [id], |row| parsed(row, 0))?.ok_or_else(gone)?;
        let before = seq.saturating_sub(1);
        let sum = self.sum_of(id, &name, before)?.ok_or_else(gone)?;
        Ok((name, before, sum))
    }

    pub(super) fn first<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.db.prepare_cached(sql).map_err(failed("read", self.path))?;
        statement.query_row(values, read).optional().map_err(|e| self.unreadable(e))
    }

    pub(super) fn collect<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.db.prepare_cached(sql).map_err(failed("read", self.path))?;
        let rows = statement.query_map(values, read).map_err(failed("read", self.path))?;
        rows.collect::<Result<_, _>>().map_err(|e| self.unreadable(e))
    }

    /// A value of the wrong shape is damage: the tables are strict and only we write them.
    fn unreadable(&self, error: rusqlite::Error) -> StoreError {
        use rusqlite::Error as E;
        match error {
            E::FromSqlConversionFailure(..)
            | E::InvalidColumnType(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..) => StoreError::corrupt(self.path, error.to_string()),
            other => failed("read", self.path)(other),
        }
    }
}

impl Drop for SqliteView<'_> {
    fn drop(&mut self) {
        if self.begun {
            // There is nothing to lose in a read; if it cannot end, the next one says so.
            drop(self.db.prepare_cached("COMMIT").and_then(|mut end| end.execute([])));
        }
    }
}

pub(super) fn as_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error: T::Err| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

fn effect_of(row: &Row<'_>) -> rusqlite::Result<OpenEffect> {
    let due: Option<i64> = row.get(6)?;
    Ok(OpenEffect {
        id: row.get(0)?,
        key: row.get(1)?,
        stream: parsed(row, 2)?,
        stream_seq: row.get(3)?,
        kind: row.get(4)?,
        body: row.get(5)?,
        due: due.map(Time::from_millis),
    })
}

/// The first eight columns of a query on `event`.
fn event_of<'r>(row: &'r Row<'_>) -> rusqlite::Result<(EventRef<'r>, Sum)> {
    let event = EventRef {
        seq: row.get(0)?,
        stream_seq: row.get(1)?,
        at: Time::from_millis(row.get(2)?),
        actor: row.get_ref(3)?.as_str()?,
        format: row.get(4)?,
        kind: row.get_ref(5)?.as_str()?,
        body: row.get_ref(6)?.as_str()?,
    };
    Ok((event, row.get(7)?))
}

fn undecodable(row: &Row<'_>, error: rusqlite::Error) -> StoreError {
    StoreError::Undecodable { seq: row.get(0).unwrap_or(0), detail: error.to_string() }
}

fn verify(event: &EventRef<'_>, before: u64, previous: &Sum, sum: &Sum) -> Result<(), StoreError> {
    let detail = if event.stream_seq != before + 1 {
        format!("it follows entry {before} of its stream, but is its entry {}", event.stream_seq)
    } else if chain::link(previous, event) != *sum {
        "its checksum does not match".into()
    } else {
        return Ok(());
    };
    Err(StoreError::Undecodable { seq: event.seq, detail })
}
