//! The tables, and how an older journal becomes a current one.
//!
//! A migration, once released, is never edited: the next one follows it. All that are missing run
//! in one transaction, so that a journal has one version or another and never a mixture.

use super::failure::failed;
use crate::error::StoreError;
use rusqlite::Connection;
use std::path::Path;

/// Marks the file as ours: `WAYP`.
pub(super) const APPLICATION_ID: u32 = 0x5741_5950;

/// What leads from each version to the next; the journal's version is how many were applied.
const MIGRATIONS: &[&str] = &[FIRST, LISTINGS];

/// `event.seq` is given explicitly and never reused, since entries are never deleted. Events have
/// one index only: the fewer pages a commit touches, the less there is to sync.
const FIRST: &str = "
    CREATE TABLE meta(
        key   TEXT PRIMARY KEY NOT NULL,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE stream(
        id   INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        head INTEGER NOT NULL,
        sum  BLOB NOT NULL
    ) STRICT;

    CREATE TABLE event(
        seq        INTEGER PRIMARY KEY,
        stream     INTEGER NOT NULL REFERENCES stream(id),
        stream_seq INTEGER NOT NULL,
        at         INTEGER NOT NULL,
        actor      TEXT NOT NULL,
        format     INTEGER NOT NULL,
        kind       TEXT NOT NULL,
        body       TEXT NOT NULL,
        sum        BLOB NOT NULL,
        UNIQUE(stream, stream_seq)
    ) STRICT;
    CREATE TRIGGER event_is_not_changed BEFORE UPDATE ON event
        BEGIN SELECT RAISE(ABORT, 'journal entries are never changed'); END;
    CREATE TRIGGER event_is_not_removed BEFORE DELETE ON event
        BEGIN SELECT RAISE(ABORT, 'journal entries are never removed'); END;

    CREATE TABLE snapshot(
        stream     INTEGER NOT NULL REFERENCES stream(id),
        stream_seq INTEGER NOT NULL,
        format     INTEGER NOT NULL,
        body       BLOB NOT NULL,
        PRIMARY KEY(stream, stream_seq)
    ) STRICT;

    CREATE TABLE effect(
        id         INTEGER PRIMARY KEY,
        key        TEXT NOT NULL UNIQUE,
        stream     INTEGER NOT NULL REFERENCES stream(id),
        stream_seq INTEGER NOT NULL,
        kind       TEXT NOT NULL,
        body       TEXT NOT NULL,
        due        INTEGER,
        done_at    INTEGER
    ) STRICT;
    CREATE INDEX effect_open ON effect(due, id) WHERE done_at IS NULL;

    CREATE TABLE document(
        id    INTEGER PRIMARY KEY,
        path  TEXT NOT NULL,
        hash  TEXT NOT NULL,
        at    INTEGER NOT NULL,
        actor TEXT NOT NULL,
        seq   INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX document_path ON document(path, id);
";

/// Rows by which streams are listed. Both indexes end with the name, which is the key of the table: so
/// each order is read from one of them, and counting does not touch the rows.
const LISTINGS: &str = "
    CREATE TABLE listing(
        name      TEXT PRIMARY KEY NOT NULL,
        kind      TEXT NOT NULL,
        state     TEXT NOT NULL,
        rank      INTEGER NOT NULL,
        since     INTEGER NOT NULL,
        is_hidden INTEGER NOT NULL,
        text      TEXT NOT NULL,
        body      TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX listing_newest ON listing(kind, is_hidden, since);
    CREATE INDEX listing_queue ON listing(kind, is_hidden, state, rank DESC, since);
";

/// The version that this program writes.
pub(super) const fn known() -> u32 {
    MIGRATIONS.len() as u32
}

/// The version of the journal in `db`; refuses one of another or of a newer program.
pub(super) fn version(db: &Connection, path: &Path) -> Result<u32, StoreError> {
    let failed = failed("read the version of", path);
    let read = |pragma| db.query_row(pragma, [], |row| row.get::<_, u32>(0)).map_err(failed);
    if read("PRAGMA application_id")? != APPLICATION_ID {
        return Err(StoreError::corrupt(path, "it is not a journal of waypost"));
    }
    let found = read("PRAGMA user_version")?;
    if found > known() {
        return Err(StoreError::Newer { found, known: known() });
    }
    Ok(found)
}

/// Applies what is missing since `from`, inside the caller's transaction.
pub(super) fn apply_since(db: &Connection, path: &Path, from: u32) -> Result<(), StoreError> {
    let failed = failed("bring up to date", path);
    for step in MIGRATIONS.iter().skip(from as usize) {
        db.execute_batch(step).map_err(failed)?;
    }
    db.pragma_update(None, "user_version", known()).map_err(failed)
}

/// Brings an older journal up to date; another process may have done it in the meantime.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failed("bring up to date", path);
    let change = rusqlite::TransactionBehavior::Immediate;
    let change = db.transaction_with_behavior(change).map_err(failed)?;
    let found = version(&change, path)?;
    if found < known() {
        apply_since(&change, path, found)?;
    }
    change.commit().map_err(failed)
}
