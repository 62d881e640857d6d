//! Turns errors of the database library into ours, by what the caller can do about them.

use crate::error::StoreError;
use rusqlite::{Error, ErrorCode, ffi};
use std::{io, path::Path};

/// Classifies an error of doing `action` with the journal at `path`.
pub(super) fn failed<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl Fn(Error) -> StoreError + Copy + 'a {
    move |error| classify(action, path, error)
}

fn classify(action: &'static str, path: &Path, error: Error) -> StoreError {
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    let file = path.to_owned();
    match error.sqlite_error_code() {
        // Growing the shared index is the one place where a full disk is called something else.
        _ if extended == ffi::SQLITE_IOERR_SHMSIZE => full(path, error),
        Some(ErrorCode::DiskFull) => full(path, error),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { what: "the journal".into(), holder: None }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { path: file, detail: error.to_string() }
        }
        Some(ErrorCode::SystemIoFailure) if is_damage(extended) => {
            StoreError::Corrupt { path: file, detail: error.to_string() }
        }
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied,
        ) => StoreError::File { action, path: file, source: io::Error::other(error) },
        _ => StoreError::Database { action, detail: error.to_string() },
    }
}

fn is_damage(extended: i32) -> bool {
    matches!(extended, ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS)
}

fn full(path: &Path, error: Error) -> StoreError {
    StoreError::Full {
        path: path.to_owned(),
        source: io::Error::new(io::ErrorKind::StorageFull, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_the_caller_can_do() {
        let table = [
            (ffi::SQLITE_FULL, "no space left to write /j"),
            (ffi::SQLITE_IOERR_SHMSIZE, "no space left to write /j"),
            (ffi::SQLITE_BUSY, "the journal is in use"),
            (ffi::SQLITE_LOCKED, "the journal is in use"),
            (ffi::SQLITE_CORRUPT, "/j is damaged"),
            (ffi::SQLITE_NOTADB, "/j is damaged"),
            (ffi::SQLITE_IOERR_SHORT_READ, "/j is damaged"),
            (ffi::SQLITE_IOERR_WRITE, "cannot read /j"),
            (ffi::SQLITE_READONLY, "cannot read /j"),
            (ffi::SQLITE_CANTOPEN, "cannot read /j"),
            (ffi::SQLITE_CONSTRAINT, "cannot read: "),
        ];
        for (code, expected) in table {
            let error = Error::SqliteFailure(ffi::Error::new(code), None);
            let ours = failed("read", Path::new("/j"))(error).to_string();
            assert!(ours.starts_with(expected), "{code}: {ours}");
        }
    }
}
