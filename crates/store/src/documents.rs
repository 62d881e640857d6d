//! Documents that are truth as a file: written whole, backed up, never over an edit made meanwhile.
//!
//! A save names the content that it was made from. If the file holds anything else, even for a
//! moment before the replacement, the save is refused and that content stays in place.
//!
//! Deliberately not here: whether the bytes are valid, and the note in the journal.

use crate::{
    error::StoreError,
    file::{self, make_private_folder},
    hash,
    lock::FileLock,
    place::Place,
};
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};
use waypost_model::{layout, time::Time};

/// Backups that are kept of one document.
const BACKUPS_KEPT: usize = 20;
/// How often an edit of another program may land between reading and writing.
const ROUNDS_MAX: u32 = 20;
/// More than any document.
const DOCUMENT_SIZE_MAX: u64 = 64 << 20;

/// A document and where its earlier contents go.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    pub place: &'a Place,
    pub path: &'a Path,
    pub backups: &'a Path,
}

/// What a save did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    pub hash: String,
    /// Where the content before it is now, if there was one.
    pub backup: Option<PathBuf>,
}

/// What a restoration did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub hash: String,
    /// The backup that took the document's place.
    pub from: PathBuf,
    /// Where the damaged content is now, if there was one.
    pub damaged: Option<PathBuf>,
}

impl Document<'_> {
    /// The content and its hash; `None`: there is no file.
    pub fn load(&self) -> Result<Option<(Vec<u8>, String)>, StoreError> {
        let bytes = file::read_bounded(self.path, DOCUMENT_SIZE_MAX)?;
        Ok(bytes.map(|bytes| {
            let hash = hash::sha256_hex(&bytes);
            (bytes, hash)
        }))
    }

    /// Writes `bytes` if the file still has the hash `expected`; `None`: if there is none.
    pub fn save(
        &self,
        bytes: &[u8],
        expected: Option<&str>,
        at: Time,
    ) -> Result<Saved, StoreError> {
        let _turn = self.take_turn()?;
        self.rescue_leftovers(at)?;
        let old = self.load()?;
        let found = old.as_ref().map(|(_, hash)| hash.as_str());
        if found != expected {
            let (expected, found) = (expected.map(str::to_owned), found.map(str::to_owned));
            return Err(StoreError::Changed { path: self.path.to_owned(), expected, found });
        }
        let backup = match &old {
            Some((old, _)) => Some(self.back_up_once(old, at)?),
            None => None,
        };
        if let Some(displaced) = file::exchange_expecting(self.path, bytes, expected)? {
            displaced.discard();
        }
        self.keep_newest(bytes)?;
        Ok(Saved { hash: hash::sha256_hex(bytes), backup })
    }

    /// Changes the content while no other process of ours does; nothing is written where `change`
    /// leaves it as it is. An edit of another program that lands meanwhile is changed in its turn.
    pub fn update<E: From<StoreError>>(
        &self,
        at: Time,
        mut change: impl FnMut(Option<&[u8]>) -> Result<Vec<u8>, E>,
    ) -> Result<Option<Saved>, E> {
        let _turn = self.take_turn()?;
        self.rescue_leftovers(at)?;
        for round in 1.. {
            let old = self.load()?;
            let bytes = change(old.as_ref().map(|(bytes, _)| bytes.as_slice()))?;
            let backup = match &old {
                Some((old, _)) if *old == bytes => return Ok(None),
                Some((old, _)) => Some(self.back_up_once(old, at)?),
                None => None,
            };
            let expected = old.as_ref().map(|(_, hash)| hash.as_str());
            match file::exchange_expecting(self.path, &bytes, expected) {
                Ok(displaced) => {
                    displaced.map(file::Displaced::discard);
                    self.keep_newest(&bytes)?;
                    return Ok(Some(Saved { hash: hash::sha256_hex(&bytes), backup }));
                }
                Err(StoreError::Changed { .. }) if round < ROUNDS_MAX => {}
                Err(error) => return Err(error.into()),
            }
        }
        unreachable!("rounds are bounded")
    }

    /// Keeps the present content among the backups; none if there is no file.
    pub fn keep_backup(&self, at: Time) -> Result<Option<PathBuf>, StoreError> {
        let _turn = self.take_turn()?;
        match self.load()? {
            Some((bytes, _)) => self.back_up(&bytes, at).map(Some),
            None => Ok(None),
        }
    }

    /// Keeps the present content among the backups, unless it is the newest of them already.
    pub fn keep_version(&self, at: Time) -> Result<(), StoreError> {
        let _turn = self.take_turn()?;
        match self.load()? {
            Some((bytes, _)) => self.back_up_once(&bytes, at).map(drop),
            None => Ok(()),
        }
    }

    /// Moves a damaged file out of the way, to a name beside it.
    pub fn put_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        let _turn = self.take_turn()?;
        if file::stat(self.path)?.is_none() {
            return Ok(None);
        }
        let name = file::name_for_damaged(self.path)?;
        file::rename(self.path, &name)?;
        Ok(Some(name))
    }

    /// Puts the newest backup that `is_good` in place; the damaged file is kept beside it.
    pub fn restore(&self, is_good: impl Fn(&[u8]) -> bool) -> Result<Restored, StoreError> {
        let _turn = self.take_turn()?;
        let mut good = None;
        for from in self.candidates()? {
            let bytes = file::read_bounded(&from, DOCUMENT_SIZE_MAX)?;
            if let Some(bytes) = bytes.filter(|bytes| is_good(bytes)) {
                good = Some((from, bytes));
                break;
            }
        }
        let Some((from, bytes)) = good else {
            return Err(StoreError::Missing { path: self.backups.to_owned() });
        };
        let mut damaged = None;
        if file::stat(self.path)?.is_some() {
            let name = file::name_for_damaged(self.path)?;
            file::rename(self.path, &name)?;
            damaged = Some(name);
        }
        file::replace(self.path, &bytes, file::SHARED)?;
        Ok(Restored { hash: hash::sha256_hex(&bytes), from, damaged })
    }

    /// The backups of this document, newest first.
    pub fn backups(&self) -> Result<Vec<PathBuf>, StoreError> {
        let (stem, extension) = self.name_parts();
        // Sorted by time and then by number; names alone would put `Z-2` before `Z`.
        let dated = |name: &String| {
            let rest = name.strip_prefix(&stem)?.strip_prefix('.')?;
            let time = rest.strip_suffix(&extension)?;
            let (time, number) = time.split_once('-').unwrap_or((time, "1"));
            let is_time = time.len() == 16 && time.ends_with('Z') && time.as_bytes()[8] == b'T';
            let number: u32 = number.parse().ok()?;
            is_time.then(|| (time.to_owned(), number, self.backups.join(name)))
        };
        let mut found: Vec<_> = file::list(self.backups)?.iter().filter_map(dated).collect();
        found.sort_unstable_by(|one, other| other.cmp(one));
        Ok(found.into_iter().map(|(_, _, path)| path).collect())
    }

    /// Our processes save one document one after another.
    fn take_turn(&self) -> Result<FileLock, StoreError> {
        let lock = self.side_file("lock");
        make_private_folder(lock.parent().unwrap_or(&lock))?;
        FileLock::acquire(&lock)
    }

    /// A file of ours beside the journal that belongs to this document.
    fn side_file(&self, extension: &str) -> PathBuf {
        let name = hash::short_hex(self.path.as_os_str().as_bytes());
        let folder = self.place.state.join(layout::state::DOCUMENTS);
        folder.join(format!("{name}.{extension}"))
    }

    /// Keeps what was written last: backups have only what was there before.
    fn keep_newest(&self, bytes: &[u8]) -> Result<(), StoreError> {
        file::replace_volatile(&self.side_file("newest"), bytes, file::PRIVATE)
    }

    /// What may take the place of a damaged file, the newest first.
    fn candidates(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut found = self.backups()?;
        let newest = self.side_file("newest");
        let mark_of =
            |path: &Path| Ok::<_, StoreError>(file::Mark::of(path)?.map(|it| it.mtime_ns));
        let written = mark_of(&newest)?;
        let backed_up = found.first().map(|path| mark_of(path)).transpose()?.flatten();
        if written.is_some() {
            // A person may have kept a backup of an edit that was made since.
            let place = usize::from(backed_up > written);
            found.insert(place, newest);
        }
        Ok(found)
    }

    /// After a crash inside a save: what was displaced and is in no backup becomes one.
    fn rescue_leftovers(&self, at: Time) -> Result<(), StoreError> {
        file::sweep(self.path)?;
        file::clear_remains(self.backups);
        for left in file::leftovers(self.path)? {
            let is_kept = |path: &PathBuf| {
                let kept = file::read_bounded(path, DOCUMENT_SIZE_MAX);
                kept.is_ok_and(|kept| kept.as_deref() == Some(left.bytes()))
            };
            if !self.backups()?.iter().any(is_kept) {
                self.back_up(left.bytes(), at)?;
            }
            left.discard();
        }
        Ok(())
    }

    /// The newest backup where it has these bytes, else a new one.
    fn back_up_once(&self, bytes: &[u8], at: Time) -> Result<PathBuf, StoreError> {
        if let Some(newest) = self.backups()?.into_iter().next()
            && file::read_bounded(&newest, DOCUMENT_SIZE_MAX)?.as_deref() == Some(bytes)
        {
            return Ok(newest);
        }
        self.back_up(bytes, at)
    }

    /// Keeps `bytes` as `NAME.20260216T100000Z.EXTENSION`, with a number if that is taken.
    fn back_up(&self, bytes: &[u8], at: Time) -> Result<PathBuf, StoreError> {
        let (stem, extension) = self.name_parts();
        let time = at.to_string().replace(['-', ':'], "");
        for number in 1.. {
            let number = if number == 1 { String::new() } else { format!("-{number}") };
            let path = self.backups.join(format!("{stem}.{time}{number}{extension}"));
            if file::create_new(&path, bytes, file::SHARED)? {
                for old in self.backups()?.iter().skip(BACKUPS_KEPT) {
                    file::remove(old)?;
                }
                return Ok(path);
            }
        }
        unreachable!("numbers do not end")
    }

    /// The file's name and its extension with the dot, which may be empty.
    fn name_parts(&self) -> (String, String) {
        let text = |part: Option<&OsStr>| {
            part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let extension = text(self.path.extension());
        let dot = if extension.is_empty() { "" } else { "." };
        (text(self.path.file_stem()), format!("{dot}{extension}"))
    }
}

#[cfg(test)]
mod tests;
