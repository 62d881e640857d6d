//! Temporary files beside their target, with names that say whose they are.
//!
//! `.{name}.waypost-new-{pid}-{n}` is being written or was never put in place: it may be removed
//! by the holder of the target's lock. `.{name}.waypost-swap-{hash}-{pid}-{n}` takes part in an
//! exchange; `hash` is of the bytes that we wrote, so a file whose content has another hash was
//! displaced from the target and belongs to its writer.

use super::{Mark, parent};
use crate::error::StoreError;
use rustix::{
    fs::{CWD, Mode, OFlags, RenameFlags, Timespec, Timestamps},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{BufWriter, Write as _},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Names longer than this are cut in the temporary's name: file systems allow 255 bytes.
const NAME_LENGTH_MAX: usize = 160;
/// Each attempt has a fresh number, so failing this often means that names are being taken away.
const NAME_ATTEMPTS: usize = 100;

/// How much of several pieces is gathered before it is written.
const PIECES_BUFFER: usize = 64 << 10;

const SECOND: i128 = 1_000_000_000;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A file that is removed when dropped unless it was put in place.
#[derive(Debug)]
pub(super) struct Temp {
    path: PathBuf,
    file: File,
    armed: bool,
}

impl Temp {
    /// Makes a temporary for `target` that holds `bytes`, durably.
    pub(super) fn durable(target: &Path, bytes: &[u8], mode: u32) -> Result<Self, StoreError> {
        let temp = Self::written(target, bytes, mode)?;
        temp.sync()?;
        Ok(temp)
    }

    /// Makes a temporary for `target` that holds `bytes` as long as the power stays on.
    pub(super) fn written(target: &Path, bytes: &[u8], mode: u32) -> Result<Self, StoreError> {
        Self::written_by_pieces(target, &[bytes], mode)
    }

    /// The same with a content that is not in one piece in memory.
    pub(super) fn written_by_pieces(
        target: &Path,
        pieces: &[&[u8]],
        mode: u32,
    ) -> Result<Self, StoreError> {
        let mut temp = Self::create(target, mode)?;
        let written = match pieces {
            [only] => temp.file.write_all(only),
            pieces => {
                let mut writer = BufWriter::with_capacity(PIECES_BUFFER, &temp.file);
                let written = pieces.iter().try_for_each(|piece| writer.write_all(piece));
                written.and_then(|()| writer.flush())
            }
        };
        written.map_err(|e| StoreError::file("write", &temp.path, e))?;
        Ok(temp)
    }

    fn create(target: &Path, mode: u32) -> Result<Self, StoreError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mut path = fresh_name(target, "new");
        for _ in 0..NAME_ATTEMPTS {
            match rustix::fs::open(&path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(mode)) {
                Ok(fd) => return Ok(Self { path, file: File::from(fd), armed: true }),
                Err(Errno::EXIST) => path = fresh_name(target, "new"),
                Err(e) => return Err(StoreError::file("create", &path, e)),
            }
        }
        Err(StoreError::file("create", &path, Errno::EXIST))
    }

    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_all().map_err(|e| StoreError::file("sync", &self.path, e))
    }

    /// Gives it the permissions of the file that it will stand in for.
    pub(super) fn set_mode(&self, mode: Mode) -> Result<(), StoreError> {
        rustix::fs::fchmod(&self.file, mode)
            .map_err(|e| StoreError::file("set the permissions of", &self.path, e))
    }

    /// Sets a modification time that no write from now on can produce, and returns it.
    ///
    /// The kernel's clock ticks every few milliseconds, so an edit right after ours could carry
    /// the same time; one nanosecond before our own write is a time that has passed.
    pub(super) fn set_past_time(&self) -> Result<i128, StoreError> {
        let past = Mark::of_open(&self.file, &self.path)?.mtime_ns - 1;
        let seconds = i64::try_from(past.div_euclid(SECOND)).unwrap_or(0);
        let nanos = i64::try_from(past.rem_euclid(SECOND)).unwrap_or(0);
        let spec = Timespec { tv_sec: seconds, tv_nsec: nanos };
        let times = Timestamps { last_access: spec, last_modification: spec };
        rustix::fs::futimens(&self.file, &times)
            .map_err(|e| StoreError::file("set the time of", &self.path, e))?;
        // A coarse file system rounds; what it made of it is what later looks will see.
        Ok(Mark::of_open(&self.file, &self.path)?.mtime_ns)
    }

    /// Puts it at `to`, whatever stands there; on failure it is removed.
    pub(super) fn rename_to(mut self, to: &Path) -> Result<(), StoreError> {
        rustix::fs::rename(&self.path, to).map_err(|e| StoreError::file("rename to", to, e))?;
        self.armed = false;
        Ok(())
    }

    /// Puts it at `to`, whatever stands there, by trading places with that and removing it.
    ///
    /// A rename in the place of another file makes some file systems write the new one out at once,
    /// which takes ten times as long as all else. Both are one step to a process that looks.
    pub(super) fn trade_to(mut self, to: &Path) -> Result<(), StoreError> {
        let traded = trade_or_rename(&self.path, to);
        self.armed = false;
        traded.map_err(|e| StoreError::file("replace", to, e))
    }

    /// Puts it at `to` unless something stands there.
    pub(super) fn create_at(mut self, to: &Path) -> Result<bool, StoreError> {
        match place_new(&self.path, to) {
            Ok(()) => {
                self.armed = false;
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(e) => Err(StoreError::file("create", to, e)),
        }
    }

    /// Takes the name under which it takes part in an exchange.
    pub(super) fn enter_exchange(&mut self, swap: PathBuf) -> Result<(), StoreError> {
        place_new(&self.path, &swap).map_err(|e| StoreError::file("rename to", &swap, e))?;
        self.path = swap;
        Ok(())
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves what stands at its name as it is; it may belong to another process by now.
    pub(super) fn disarm(&mut self) {
        self.armed = false;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if self.armed {
            // What cannot be removed now is swept at the next load.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Moves `from` to `to`, whatever stands there; nothing is left of either at `from`.
pub(super) fn trade_or_rename(from: &Path, to: &Path) -> Result<(), Errno> {
    let trade = || rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE);
    let moved = match trade() {
        // What cannot be removed is a folder that was put there just now: it stands there again.
        Ok(()) => rustix::fs::unlink(from).or_else(|error| trade().and(Err(error))),
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rustix::fs::rename(from, to)
        }
        other => other,
    };
    if moved.is_err() {
        let _gone_or_swept_later = rustix::fs::unlink(from);
    }
    moved
}

/// Moves `from` to `to` where nothing stands; links where the file system cannot rename so.
pub(super) fn place_new(from: &Path, to: &Path) -> Result<(), Errno> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rustix::fs::link(from, to)?;
            rustix::fs::unlink(from)
        }
        done => done,
    }
}

/// A name beside `target` that this process has not used.
pub(super) fn fresh_name(target: &Path, kind: &str) -> PathBuf {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = prefix(target);
    name.push(format!("{kind}-{}-{number}", std::process::id()));
    parent(target).join(name)
}

/// What the names of all temporaries of `target` start with.
pub(super) fn prefix(target: &Path) -> OsString {
    let name = target.file_name().map_or(&b""[..], OsStr::as_bytes);
    let mut prefix = vec![b'.'];
    prefix.extend_from_slice(&name[..name.len().min(NAME_LENGTH_MAX)]);
    prefix.extend_from_slice(b".waypost-");
    OsString::from_vec(prefix)
}
