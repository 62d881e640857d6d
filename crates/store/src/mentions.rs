//! Which entries of a journal are about what: an index beside it, so that asking for a few does not read all.
//!
//! A cache in a database of its own. Readers bring it up to date before they ask, as far as they need; it
//! says up to which entry of which journal it goes, and one that does not fit, or is damaged, is
//! made again.
//!
//! Deliberately not here: what an entry is about. The caller tells.

use crate::{
    error::StoreError,
    file,
    journal::{Cursor, Recorded, View},
};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_model::layout;

/// Entries that are read at once; a page of them is committed together.
const PAGE: usize = 1_000;

/// Another process may be bringing it up to date.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Raised when the same entries are to be found under other names; what is there is made again.
const FORMAT: u32 = 2;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS mention(
        name TEXT NOT NULL,
        seq  INTEGER NOT NULL,
        PRIMARY KEY(name, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS extent(
        one     INTEGER PRIMARY KEY CHECK (one = 1),
        journal TEXT NOT NULL,
        seq     INTEGER NOT NULL,
        at      INTEGER NOT NULL
    ) STRICT;
";

/// An index that goes up to the end of what was there when it was opened.
#[derive(Debug)]
pub struct Mentions {
    db: Connection,
    path: PathBuf,
}

/// Up to which entry of which journal an index goes. The time tells an entry from the one with the same
/// number in a journal that was restored from a backup and went another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) journal: String,
    pub(crate) seq: u64,
    pub(crate) at: i64,
}

impl Mentions {
    /// The index of the journal in `folder`, with every entry of `view` under the names that `names` tells.
    pub fn up_to_date(
        folder: &Path,
        journal: &str,
        view: &View<'_>,
        names: impl Fn(&Recorded) -> Vec<String>,
    ) -> Result<Self, StoreError> {
        let path = folder.join(layout::state::MENTIONS);
        match Self::try_up_to_date(&path, journal, view, &names) {
            Err(StoreError::Corrupt { .. }) => {
                remove(&path)?;
                Self::try_up_to_date(&path, journal, view, &names)
            }
            tried => tried,
        }
    }

    fn try_up_to_date(
        path: &Path,
        journal: &str,
        view: &View<'_>,
        names: &impl Fn(&Recorded) -> Vec<String>,
    ) -> Result<Self, StoreError> {
        let mut mentions = Self::open(path)?;
        let known = mentions.extent()?;
        let start = match known {
            None => Cursor::START,
            Some(extent) if extent.fits(journal, view)? => Cursor::after(extent.seq),
            Some(_) => {
                drop(mentions);
                remove(path)?;
                mentions = Self::open(path)?;
                Cursor::START
            }
        };
        mentions.read_on(journal, view, start, names)?;
        Ok(mentions)
    }

    fn open(path: &Path) -> Result<Self, StoreError> {
        file::regular_stat(path)?;
        let failed = |error| failed(path, &error);
        let db = Connection::open(path).map_err(failed)?;
        db.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        db.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        db.pragma_update(None, "synchronous", "normal").map_err(failed)?;
        let format: u32 =
            db.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        if format != FORMAT {
            let detail = format!("it has format {format}");
            if format != 0 {
                return Err(StoreError::Corrupt { path: path.to_owned(), detail });
            }
            db.execute_batch(TABLES).map_err(failed)?;
            db.pragma_update(None, "user_version", FORMAT).map_err(failed)?;
        }
        Ok(Self { db, path: path.to_owned() })
    }

    fn extent(&self) -> Result<Option<Extent>, StoreError> {
        let sql = "SELECT journal, seq, at FROM extent";
        let read = self.db.query_row(sql, [], |row| {
            Ok(Extent { journal: row.get(0)?, seq: row.get(1)?, at: row.get(2)? })
        });
        read.optional().map_err(|error| failed(&self.path, &error))
    }

    /// Adds what comes after `after`. Two processes may do so at once: the same rows come of it.
    fn read_on(
        &mut self,
        journal: &str,
        view: &View<'_>,
        mut after: Cursor,
        names: &impl Fn(&Recorded) -> Vec<String>,
    ) -> Result<(), StoreError> {
        loop {
            let page = view.feed(after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.cursor();
            let extent = Extent::up_to(journal, last);
            let rows: Vec<(String, u64)> = page
                .iter()
                .flat_map(|entry| names(entry).into_iter().map(|name| (name, entry.seq)))
                .collect();
            let is_last = page.len() < PAGE;
            self.add(&rows, &extent).map_err(|error| failed(&self.path, &error))?;
            if is_last {
                return Ok(());
            }
        }
    }

    fn add(&mut self, rows: &[(String, u64)], extent: &Extent) -> Result<(), rusqlite::Error> {
        let tx = self.db.transaction()?;
        {
            let sql = "INSERT OR IGNORE INTO mention(name, seq) VALUES (?1, ?2)";
            let mut insert = tx.prepare_cached(sql)?;
            for (name, seq) in rows {
                insert.execute(params![name, seq])?;
            }
            // Another process may have come further meanwhile: what it has added stays.
            let sql = "INSERT INTO extent(one, journal, seq, at) VALUES (1, ?1, ?2, ?3)
                       ON CONFLICT(one) DO UPDATE SET journal = ?1, seq = ?2, at = ?3
                       WHERE seq < ?2 OR journal <> ?1";
            tx.execute(sql, params![extent.journal, extent.seq, extent.at])?;
        }
        tx.commit()
    }

    /// At most `limit` entries about `name` up to `until`, the newest first, each by its end in the feed.
    pub fn of(&self, name: &str, until: Cursor, limit: usize) -> Result<Vec<Cursor>, StoreError> {
        let failed = |error| failed(&self.path, &error);
        let sql = "SELECT seq FROM mention WHERE name = ?1 AND seq <= ?2
                   ORDER BY seq DESC LIMIT ?3";
        let mut query = self.db.prepare_cached(sql).map_err(failed)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let until = i64::try_from(until.seq()).unwrap_or(i64::MAX);
        let end_of = |row: &rusqlite::Row<'_>| row.get(0).map(Cursor::after);
        let rows = query.query_map(params![name, until, limit], end_of);
        rows.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
    }
}

impl Extent {
    /// Up to and with an entry.
    pub(crate) fn up_to(journal: &str, last: &Recorded) -> Self {
        Self { journal: journal.to_owned(), seq: last.seq, at: last.at.millis() }
    }

    /// Whether the journal has the entry up to which this goes.
    pub(crate) fn fits(&self, journal: &str, view: &View<'_>) -> Result<bool, StoreError> {
        let last = view.feed_until(Cursor::after(self.seq), 1)?;
        let is_same = |entry: &Recorded| entry.seq == self.seq && entry.at.millis() == self.at;
        Ok(self.journal == journal && last.first().is_some_and(is_same))
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    ["-wal", "-shm", ""].iter().try_for_each(|end| file::remove(&file::with_suffix(path, end)))
}

fn failed(path: &Path, error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            StoreError::Corrupt { path: path.to_owned(), detail: error.to_string() }
        }
        _ => StoreError::Database { action: "read the index of", detail: error.to_string() },
    }
}

#[cfg(test)]
mod tests;
