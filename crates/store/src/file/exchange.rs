//! Replacing a file that others may be writing, without losing what they wrote.
//!
//! The new content and the file that stands there trade places in one step, so whatever was
//! there at that very instant comes back to the caller. Until the caller has dealt with it, it
//! stays on disk under a name that `leftovers` finds again after a crash.
//!
//! Callers of one path take turns under a lock of theirs: `leftovers` and `sweep` cannot tell a
//! dead process's temporary from one that is in use. Where the file system cannot exchange, the
//! old file gets a second name before it is replaced; an edit that arrives by rename in the
//! microseconds between those two steps is lost there, one that writes in place is not.

use super::{
    Mark, PRIVATE, SHARED, list, make_parent, open_regular, parent, read_bounded, read_open,
    regular_stat, remove, replace_cache, sync_parent,
    temp::{Temp, fresh_name, place_new, prefix},
};
use crate::{error::StoreError, hash};
use rustix::{
    fs::{CWD, Mode, RenameFlags},
    io::Errno,
};
use std::path::{Path, PathBuf};

/// More than any state file; a larger one is no rendering and no edit of one.
const DISPLACED_SIZE_MAX: u64 = 64 << 20;
/// The target appeared or vanished between two steps this often: another process fights for it.
const PUT_ATTEMPTS: usize = 100;
/// A writer that has the displaced file open may still be writing; it is read until it is still.
const READ_ATTEMPTS: usize = 3;
const SWAP: &str = "swap-";

/// What came of an exchange.
#[derive(Debug)]
#[must_use]
pub struct Exchanged {
    /// What stood there before; `None`: nothing.
    pub displaced: Option<Displaced>,
    /// Tells our file from a later edit; `None`: it was edited before we could look.
    pub mark: Option<Mark>,
}

/// What came of putting a rendering in place.
#[derive(Debug)]
#[must_use]
pub struct Shown {
    /// What stood there before; `None`: nothing.
    pub displaced: Option<Aside>,
    /// Tells our file from a later edit; `None`: it was edited before we could look.
    pub mark: Option<Mark>,
}

/// A file that a rendering has taken the place of.
#[derive(Debug)]
#[must_use]
pub enum Aside {
    /// The one that was expected, untouched; it is on disk until it is moved or discarded.
    Expected(Untouched),
    Other(Displaced),
}

/// A file whose content is known without reading it.
#[derive(Debug)]
#[must_use]
pub struct Untouched(PathBuf);

impl Untouched {
    /// Gives it another name, in place of what stands there; on another file system it is copied.
    pub fn move_to(self, to: &Path) -> Result<(), StoreError> {
        if regular_stat(to)?.is_some() {
            // In the place of another file it would be written out at once by some file systems.
            remove(to)?;
        }
        match rustix::fs::rename(&self.0, to) {
            Err(Errno::XDEV) => {
                let bytes = read_bounded(&self.0, DISPLACED_SIZE_MAX)?.unwrap_or_default();
                replace_cache(to, &bytes, PRIVATE)?;
                self.discard();
                Ok(())
            }
            moved => moved.map_err(|e| StoreError::file("rename to", to, e)),
        }
    }

    /// Removes it. If it cannot be removed it is found again as a leftover, which is harmless.
    pub fn discard(self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// A file that stood at the target; it stays on disk until it is discarded.
#[derive(Debug)]
#[must_use]
pub struct Displaced {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Displaced {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes it from disk: the caller has recorded what it meant.
    ///
    /// If it cannot be removed it is found again as a leftover, which is harmless.
    pub fn discard(self) -> Vec<u8> {
        drop(std::fs::remove_file(&self.path));
        self.bytes
    }

    fn load(path: PathBuf) -> Result<Self, StoreError> {
        for _ in 0..READ_ATTEMPTS {
            let Some(file) = open_regular(&path)? else {
                return Err(StoreError::Missing { path });
            };
            let before = Mark::of_open(&file, &path)?;
            let bytes = read_open(&file, &path, DISPLACED_SIZE_MAX)?;
            if Mark::of_open(&file, &path)? == before {
                return Ok(Self { path, bytes });
            }
        }
        Err(StoreError::Busy { what: path.display().to_string(), holder: None })
    }
}

/// How a file is put in the place of another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Exchange,
    Link,
    Rename,
}

impl Way {
    /// The next best way, if `error` says that the file system does not know this one.
    fn instead(self, error: Errno) -> Result<Self, Errno> {
        match (self, error) {
            (Self::Exchange, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(Self::Link),
            (Self::Link, Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP | Errno::MLINK) => {
                Ok(Self::Rename)
            }
            _ => Err(error),
        }
    }
}

/// Puts `bytes` at `path` and hands out what stood there, with its permissions kept.
pub fn exchange(path: &Path, bytes: &[u8]) -> Result<Exchanged, StoreError> {
    exchange_by(path, bytes, Way::Exchange)
}

pub(super) fn exchange_by(path: &Path, bytes: &[u8], way: Way) -> Result<Exchanged, StoreError> {
    let content = Content { bytes, name: hash::shortened(&hash::blake3_hex(bytes)) };
    let (held, mark) = trade(path, &content, way, Lasting::Durable)?;
    let displaced = held.map(|held| load_or_put_back(held, path, bytes)).transpose()?;
    Ok(Exchanged { displaced, mark })
}

/// Puts a rendering at `path`, which can be made again: after a power cut it may be empty or cut
/// short. A file there that has the mark `expected` is not read. The caller knows the hash of the
/// bytes, which takes as long to find out as writing them.
pub fn show(
    path: &Path,
    (bytes, hash): (&[u8], &str),
    expected: Option<&Mark>,
) -> Result<Shown, StoreError> {
    let content = Content { bytes, name: hash::shortened(hash) };
    let (held, mark) = trade(path, &content, Way::Exchange, Lasting::Volatile)?;
    let Some(held) = held else { return Ok(Shown { displaced: None, mark }) };
    let is_expected = match (Mark::of(&held)?, expected) {
        (Some(found), Some(expected)) => found.is_same_content(expected),
        _ => false,
    };
    let aside = match is_expected {
        true => Aside::Expected(Untouched(held)),
        false => Aside::Other(load_or_put_back(held, path, bytes)?),
    };
    Ok(Shown { displaced: Some(aside), mark })
}

/// Whether a file has to be there after a power cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasting {
    Durable,
    Volatile,
}

/// What is put in place, and what it is called while it is on its way.
struct Content<'a> {
    bytes: &'a [u8],
    name: String,
}

impl Content<'_> {
    fn swap_name(&self, path: &Path) -> PathBuf {
        fresh_name(path, &format!("{SWAP}{}", self.name))
    }
}

/// Puts the content at `path`; returns where the file that stood there is now, and our own file's mark
/// unless it was edited already.
fn trade(
    path: &Path,
    content: &Content<'_>,
    way: Way,
    lasting: Lasting,
) -> Result<(Option<PathBuf>, Option<Mark>), StoreError> {
    make_parent(path)?;
    let old = regular_stat(path)?;
    let mut temp = Temp::written(path, content.bytes, SHARED)?;
    if let Some(old) = &old {
        if u64::try_from(old.st_size).unwrap_or(0) > DISPLACED_SIZE_MAX {
            return Err(StoreError::TooLarge { path: path.to_owned(), max: DISPLACED_SIZE_MAX });
        }
        temp.set_mode(Mode::from_raw_mode(old.st_mode))?;
    }
    let mtime_ns = temp.set_past_time()?;
    if lasting == Lasting::Durable {
        temp.sync()?;
    }
    temp.enter_exchange(content.swap_name(path))?;
    let swap = temp.path().to_owned();
    let held = put(&swap, path, content, way).map_err(|e| StoreError::file("replace", path, e))?;
    temp.disarm();
    if lasting == Lasting::Durable {
        sync_parent(path)?;
    }
    let mark = Some(Mark::of_open(temp.file(), path)?).filter(|mark| mark.mtime_ns == mtime_ns);
    Ok((held, mark))
}

/// Reads what was displaced; what cannot be read stands where it stood again.
fn load_or_put_back(held: PathBuf, path: &Path, bytes: &[u8]) -> Result<Displaced, StoreError> {
    Displaced::load(held.clone()).or_else(|error| {
        put_back(&held, path, bytes)?;
        Err(error)
    })
}

/// Puts `bytes` at `path` unless a file stands there that has another hash than `expected`.
///
/// That the file has vanished since the caller looked is no conflict.
pub(crate) fn exchange_expecting(
    path: &Path,
    bytes: &[u8],
    expected: Option<&str>,
) -> Result<Option<Displaced>, StoreError> {
    let Some(displaced) = exchange(path, bytes)?.displaced else { return Ok(None) };
    let found = hash::sha256_hex(&displaced.bytes);
    if Some(found.as_str()) == expected {
        return Ok(Some(displaced));
    }
    put_back(&displaced.path, path, bytes)?;
    let expected = expected.map(str::to_owned);
    Err(StoreError::Changed { path: path.to_owned(), expected, found: Some(found) })
}

/// Displaced files of exchanges whose process died before it had dealt with them, oldest first.
pub fn leftovers(path: &Path) -> Result<Vec<Displaced>, StoreError> {
    let mut found = Vec::new();
    for (temp, written) in temporaries(path)? {
        let Some(written) = written else { continue };
        match Displaced::load(temp) {
            Ok(displaced) if !hash::is_shortened(&displaced.bytes, &written) => {
                found.push(displaced);
            }
            Ok(_) | Err(StoreError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let age = |left: &Displaced| Mark::of(&left.path).ok().flatten().map(|mark| mark.ctime_ns);
    found.sort_by_key(age);
    Ok(found)
}

/// Removes temporaries that a dead process left and that hold only what it wrote itself.
pub fn sweep(path: &Path) -> Result<(), StoreError> {
    let found = temporaries(path)?;
    if found.is_empty() {
        return Ok(());
    }
    let kept: Vec<PathBuf> = leftovers(path)?.into_iter().map(|left| left.path).collect();
    for (temp, _) in found {
        if !kept.contains(&temp) {
            remove(&temp)?;
        }
    }
    Ok(())
}

/// All temporaries of `path`, each with the hash of our own bytes if it entered an exchange.
fn temporaries(path: &Path) -> Result<Vec<(PathBuf, Option<String>)>, StoreError> {
    let folder = parent(path);
    let prefix = prefix(path);
    let Some(prefix) = prefix.to_str() else { return Ok(Vec::new()) };
    let found = list(folder)?.into_iter().filter_map(|name| {
        let rest = name.strip_prefix(prefix)?;
        let written = rest.strip_prefix(SWAP).and_then(|rest| rest.split('-').next());
        Some((folder.join(&name), written.map(str::to_owned)))
    });
    Ok(found.collect())
}

/// Puts `swap` at `path`; returns where the file that stood there is now.
fn put(
    swap: &Path,
    path: &Path,
    content: &Content<'_>,
    mut way: Way,
) -> Result<Option<PathBuf>, Errno> {
    for _ in 0..PUT_ATTEMPTS {
        let aside = match way {
            Way::Exchange => swap.to_owned(),
            Way::Link | Way::Rename => content.swap_name(path),
        };
        let traded = match way {
            Way::Exchange => rustix::fs::renameat_with(CWD, swap, CWD, path, RenameFlags::EXCHANGE),
            Way::Link => {
                rustix::fs::link(path, &aside).and_then(|()| rustix::fs::rename(swap, path))
            }
            Way::Rename => {
                rustix::fs::rename(path, &aside).and_then(|()| rustix::fs::rename(swap, path))
            }
        };
        match traded {
            Ok(()) => return Ok(Some(aside)),
            Err(Errno::NOENT) => match place_new(swap, path) {
                Ok(()) => return Ok(None),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            },
            Err(error) => way = way.instead(error)?,
        }
    }
    Err(Errno::BUSY)
}

/// Undoes an exchange that displaced what it should not have: a link, a folder, an edit.
fn put_back(held: &Path, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let put = match rustix::fs::renameat_with(CWD, held, CWD, path, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rustix::fs::rename(held, path),
        done => done,
    };
    put.map_err(|e| StoreError::file("put back", path, e))?;
    sync_parent(path)?;
    match Displaced::load(held.to_owned()) {
        Ok(ours) if ours.bytes == bytes => remove(held),
        // An edit arrived in between; it waits as a leftover.
        _ => Ok(()),
    }
}
