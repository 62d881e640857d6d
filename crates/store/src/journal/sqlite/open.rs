//! Opening and creating a journal, with every check that is cheap enough to make each time.

use super::{
    SqliteJournal,
    failure::failed,
    schema::{self, APPLICATION_ID},
    session::{self, Session},
    view::SqliteView,
};
use crate::{
    error::StoreError,
    file::{self, make_private_folder},
    journal::{Birth, Check, Mode, backend::Reading as _},
    lock::FileLock,
};
use rusqlite::{Connection, OpenFlags, config::DbConfig};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_model::{
    layout::state::{JOURNAL, JOURNAL_LOG, JOURNAL_SESSIONS, JOURNAL_TURN},
    time::Time,
};

/// The first version without the write-ahead-log reset bug that could corrupt a database.
const LIBRARY_VERSION_MIN: i32 = 3_051_003;
/// How long a foreign program may hold the database; our own wait for the lock's turn instead.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// After a crash a journal up to this size (400,000 entries) is checked as a whole. It takes about
/// 5 ms for each MiB, so a third of a second at most; larger ones are left to `doctor`.
const QUICK_CHECK_SIZE_MAX: u64 = 64 << 20;
/// The log is cut back to this after a burst, so that it does not keep its greatest size.
const LOG_SIZE_KEPT: u64 = 16 << 20;
/// A log up to this size is left behind at closing: writing it back costs four syncs, and reading
/// it at the next opening costs a quarter of a millisecond.
const LOG_SIZE_LEFT: u64 = 256 << 10;
/// What a connection may keep of the journal in memory: the ends of its tables, which is where it is written
/// and read, take a tenth of that. All else would only fill up in a host that lives for long.
const CACHE_KB: u32 = 1_000;
/// All statements of a session stay prepared.
const STATEMENTS_KEPT: usize = 64;

impl SqliteJournal {
    /// Opens the journal in the folder `state`.
    pub(super) fn open(state: &Path, mode: Mode<'_>) -> Result<Self, StoreError> {
        refuse_old_library()?;
        let path = path_in(state);
        if let Mode::Create(birth) = mode {
            make_private_folder(state)?;
            refuse_network(state)?;
            create_if_missing(&path, birth)?;
        }
        examine(&path)?;
        refuse_network(state)?;
        match mode {
            Mode::ReadOnly => Self::open_to_read(path),
            Mode::ReadWrite | Mode::Create(_) => Self::open_to_write(path),
        }
    }

    fn open_to_read(path: PathBuf) -> Result<Self, StoreError> {
        let db = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        if schema::version(&db, &path)? < schema::known() {
            // What is read has the current shape, so the journal is brought up to date first.
            drop(Self::open_to_write(path.clone())?);
        }
        let past = session::last_seq(&session_path(&path))?;
        let journal = Self::from_parts(db, path)?;
        let last_seq = journal.last_seq()?;
        refuse_lost(&journal.path, last_seq, past)?;
        Ok(journal)
    }

    fn open_to_write(path: PathBuf) -> Result<Self, StoreError> {
        let turn = FileLock::acquire(&lock_path(&path))?;
        // In an empty log there is no commit yet, so its name need not have outlasted a power cut.
        let is_log_new = size_of(&log_path(&path))? == 0;
        let mut db = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if schema::version(&db, &path)? < schema::known() {
            schema::migrate(&mut db, &path)?;
        }
        use_log(&db, &path)?;
        if is_log_new {
            file::sync_parent(&path)?;
        }
        let (session, past) = Session::begin(&session_path(&path))?;
        let mut journal = Self::from_parts(db, path)?;
        let last_seq = journal.last_seq()?;
        refuse_lost(&journal.path, last_seq, past.last_seq)?;
        if !past.orderly {
            journal.check = check_after_crash(&journal.db, &journal.path)?;
        }
        // Only from here on is leaving noted as orderly.
        journal.session = Some(session);
        drop(turn);
        Ok(journal)
    }

    fn from_parts(db: Connection, path: PathBuf) -> Result<Self, StoreError> {
        let view = SqliteView::begin(&db, &path)?;
        let missing = |what| StoreError::corrupt(&path, format!("it has no {what}"));
        let journal_id = view.meta("journal_id")?.ok_or_else(|| missing("id"))?;
        let created = view.meta("created")?.and_then(|text| text.parse().ok());
        let at = Time::from_millis(created.ok_or_else(|| missing("time of creation"))?);
        drop(view);
        let birth = Birth { journal_id, at };
        Ok(Self { db, path, birth, check: Check::NotNeeded, session: None })
    }

    pub(super) fn last_seq(&self) -> Result<u64, StoreError> {
        SqliteView::begin(&self.db, &self.path)?.last_seq()
    }
}

/// Refuses a journal that has fewer entries than it had.
fn refuse_lost(path: &Path, last_seq: u64, past: u64) -> Result<(), StoreError> {
    if last_seq >= past {
        return Ok(());
    }
    Err(lost(path, &format!("entries {} to {past} are gone", last_seq + 1)))
}

/// That entries are gone from the journal at `path`; its log is what people remove.
pub(super) fn lost(path: &Path, what: &str) -> StoreError {
    StoreError::corrupt(path, format!("{what}; was `{JOURNAL_LOG}` removed?"))
}

pub(super) fn path_in(state: &Path) -> PathBuf {
    state.join(JOURNAL)
}

pub(super) fn session_path(journal: &Path) -> PathBuf {
    journal.with_file_name(JOURNAL_SESSIONS)
}

/// The side file whose lock is held while a transaction is open.
pub(super) fn lock_path(journal: &Path) -> PathBuf {
    journal.with_file_name(JOURNAL_TURN)
}

/// The write-ahead log: committed entries that are not in the main file yet.
pub(super) fn log_path(journal: &Path) -> PathBuf {
    journal.with_file_name(JOURNAL_LOG)
}

/// Reads every page and says what is wrong with the first bad one.
pub(super) fn quick_check(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failed("check", path);
    let found: String =
        db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if found == "ok" { Ok(()) } else { Err(StoreError::corrupt(path, found)) }
}

/// The size of a file, 0 if there is none.
pub(super) fn size_of(path: &Path) -> Result<u64, StoreError> {
    Ok(file::Mark::of(path)?.map_or(0, |mark| mark.size))
}

fn check_after_crash(db: &Connection, path: &Path) -> Result<Check, StoreError> {
    if size_of(path)? + size_of(&log_path(path))? > QUICK_CHECK_SIZE_MAX {
        return Ok(Check::TooLarge);
    }
    quick_check(db, path).map(|()| Check::Sound)
}

fn refuse_old_library() -> Result<(), StoreError> {
    let found = rusqlite::version();
    if rusqlite::version_number() >= LIBRARY_VERSION_MIN {
        return Ok(());
    }
    let detail = format!("version {found} can corrupt a journal; 3.51.3 or later is needed");
    Err(StoreError::Database { action: "use the linked SQLite", detail })
}

/// Refuses what SQLite would take for an empty database and fill.
fn examine(path: &Path) -> Result<(), StoreError> {
    // Through another name an agent could write it from where this one cannot be written.
    if path.parent().is_some_and(Path::is_symlink) {
        return Err(StoreError::corrupt(path, "a link stands in the place of its folder"));
    }
    match file::regular_stat(path)? {
        None if size_of(&log_path(path))? > 0 => Err(StoreError::corrupt(
            path,
            format!("it is gone, but its log `{JOURNAL_LOG}` is there"),
        )),
        None => Err(StoreError::Missing { path: path.to_owned() }),
        Some(stat) if stat.st_size == 0 => Err(StoreError::corrupt(path, "it is empty")),
        Some(stat) if stat.st_nlink > 1 => refuse_links(path),
        Some(_) => refuse_links(&log_path(path)),
    }
}

/// Refuses a file of the journal that has a second name: by that one it can be written where no wall
/// protects it.
fn refuse_links(path: &Path) -> Result<(), StoreError> {
    let has_links = || -> Result<bool, StoreError> {
        Ok(file::regular_stat(path)?.is_some_and(|stat| stat.st_nlink > 1))
    };
    if !has_links()? {
        return Ok(());
    }
    // A journal that is just being made may have two names until it is there.
    let turn = FileLock::acquire(&lock_path(path))?;
    let is_refused = has_links();
    drop(turn);
    match is_refused? {
        true => Err(StoreError::corrupt(path, "it has more than one name (a hard link)")),
        false => Ok(()),
    }
}

/// Refuses file systems on which processes of two machines could not see each other's locks.
///
/// 9p is among them because memory shared between processes is not reliable there. FUSE is not:
/// it is behind many local folders too, and cannot be told apart.
fn refuse_network(state: &Path) -> Result<(), StoreError> {
    let found = rustix::fs::statfs(state).map_err(|e| StoreError::file("look at", state, e))?;
    let file_system = match u32::try_from(found.f_type).unwrap_or(0) {
        0x6969 => "NFS",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "SMB",
        0x0102_1997 => "9p",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        _ => return Ok(()),
    };
    Err(StoreError::Unsuitable { path: state.to_owned(), file_system })
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let failed = failed("open", path);
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(failed)?;
    db.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(failed)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    // Without it a kept statement is planned again whenever it is given another value.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    refuse_cut(&db, path)?;
    db.execute_batch(&format!(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA mmap_size = 0;
         PRAGMA cache_size = -{CACHE_KB};
         PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON;",
    ))
    .map_err(failed)?;
    Ok(db)
}

/// Refuses a file that ends inside a page: the database would take the rest for zeros.
///
/// With a log beside it, the page may just be on its way from there.
fn refuse_cut(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let page_size: u64 =
        db.query_row("PRAGMA page_size", [], |row| row.get(0)).map_err(failed("open", path))?;
    if size_of(path)? % page_size != 0 && size_of(&log_path(path))? == 0 {
        return Err(StoreError::corrupt(path, "its end is missing"));
    }
    Ok(())
}

fn use_log(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = failed("open", path);
    let set = "PRAGMA journal_mode = WAL";
    let mode: String = db.query_row(set, [], |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        let detail = format!("this folder allows only `{mode}`");
        return Err(StoreError::Database { action: "use a write-ahead log", detail });
    }
    db.pragma_update(None, "journal_size_limit", LOG_SIZE_KEPT).map_err(failed)
}

/// Writes a large log back and empties it, so that the next opening need not read it.
///
/// What fails here costs only time later: the log is part of the journal.
pub(super) fn shorten_log(db: &Connection, path: &Path) {
    if size_of(&log_path(path)).is_ok_and(|size| size > LOG_SIZE_LEFT) {
        drop(db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    }
}

/// Makes a complete journal under another name and moves it into place, so that there is never
/// an empty one; what is left of an interrupted attempt is removed.
fn create_if_missing(path: &Path, birth: &Birth) -> Result<(), StoreError> {
    if file::stat(path)?.is_some() {
        return Ok(());
    }
    let turn = FileLock::acquire(&lock_path(path))?;
    if file::stat(path)?.is_some() || size_of(&log_path(path))? > 0 {
        return Ok(());
    }
    file::sweep(path)?;
    let temp = file::create_empty(path, file::PRIVATE)?;
    let made = build(&temp, birth).and_then(|()| file::sync(&temp));
    let made = made.and_then(|()| file::move_new(&temp, path));
    if !matches!(made, Ok(true)) {
        file::remove(&temp)?;
    }
    drop(turn);
    made.map(|_| ())
}

fn build(temp: &Path, birth: &Birth) -> Result<(), StoreError> {
    let failed = failed("create", temp);
    let mut db =
        Connection::open_with_flags(temp, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    db.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;").map_err(failed)?;
    let change = db.transaction().map_err(failed)?;
    change.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    schema::apply_since(&change, temp, 0)?;
    let created = birth.at.millis().to_string();
    for (key, value) in [("journal_id", &birth.journal_id), ("created", &created)] {
        let put = "INSERT INTO meta(key, value) VALUES(?1, ?2)";
        change.execute(put, [key, value]).map_err(failed)?;
    }
    change.commit().map_err(failed)?;
    use_log(&db, temp)?;
    db.close().map_err(|(_, error)| failed(error))
}
