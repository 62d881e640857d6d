//! The hashes of everything that a window has shown, and how far a power cut cannot take them away.
//!
//! A hash is written before what it names is put in place, so as long as the machine runs, all are there.
//! They are synced many at once: one sync takes longer than all else that a command does. A mark says up to
//! which version they were, and those of the versions after it may be missing after a power cut. These are
//! few, and what they name can be made again from the journal.

use crate::{
    error::StoreError,
    file::{self, Mark},
};
use rustix::fs::OFlags;
use std::{
    fs::File,
    ops::Range,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// Hashes of renderings that are remembered; then the oldest fifth is forgotten at once.
pub(super) const HASHES_KEPT: usize = 10_000;
/// A line of the hashes' file: 64 digits, of either hash, and a line end.
pub(super) const LINE_LENGTH: usize = 65;
/// Lines that are made at once, for hashes to come.
pub(super) const FREE_LINES: usize = 256;
/// A line in which there is no hash yet.
pub(super) const FREE_LINE: &str =
    "----------------------------------------------------------------";
/// The versions from a mark on whose hashes need not be synced. So many renderings are made again at most
/// before a file counts as an edit: a tenth of a second where each shows ten thousand tasks.
pub(super) const UNSYNCED_MAX: u64 = 64;
const MARK_SIZE_MAX: u64 = 64;

/// The hashes of one window.
#[derive(Clone, Debug)]
pub(super) struct ShownHashes {
    pub(super) lines: PathBuf,
    pub(super) mark: PathBuf,
}

impl ShownHashes {
    /// The hashes that are known, oldest first.
    pub(super) fn all(&self) -> Result<Vec<String>, StoreError> {
        let max = (HASHES_KEPT * LINE_LENGTH * 2) as u64;
        let bytes = file::read_bounded(&self.lines, max)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        // A line that a crash cut short names nothing.
        let whole = text.lines().filter(|line| line.len() + 1 == LINE_LENGTH && *line != FREE_LINE);
        Ok(whole.map(str::to_owned).collect())
    }

    /// Notes the hash of what is about to be shown for a version.
    pub(super) fn note(&self, version: u64, hash: &str) -> Result<(), StoreError> {
        let file = self.write(hash)?;
        if self.marked()?.is_some_and(|mark| unsynced_after(mark).contains(&version)) {
            return Ok(());
        }
        file.sync_data().map_err(|e| StoreError::file("sync", &self.lines, e))?;
        file::replace(&self.mark, format!("{version}\n").as_bytes(), file::PRIVATE)
    }

    /// The versions whose hashes a power cut may have taken away, none of them newer than `head`.
    pub(super) fn unsure(&self, head: u64) -> Result<Range<u64>, StoreError> {
        let unsynced = match self.marked()? {
            Some(mark) => unsynced_after(mark),
            // All were synced, by a program that knows no marks.
            None if Mark::of(&self.mark)?.is_none() => 0..0,
            None => head.saturating_sub(UNSYNCED_MAX)..head + 1,
        };
        Ok(unsynced.start..unsynced.end.min(head.saturating_add(1)))
    }

    /// Writes a hash into a line that is there already, because a file that grows takes ten times as long
    /// to sync.
    fn write(&self, hash: &str) -> Result<File, StoreError> {
        let line_length = LINE_LENGTH as u64;
        let size = Mark::of(&self.lines)?.map_or(0, |mark| mark.size);
        let mut free = None;
        if size > 0 && size % line_length == 0 {
            let file = open(&self.lines)?;
            free = free_line(&file, &self.lines, size / line_length)?.map(|at| (file, at));
        }
        let (file, at) = match free {
            Some(found) => found,
            None => {
                let lines = self.make_room()?;
                (open(&self.lines)?, lines - FREE_LINES as u64)
            }
        };
        let written = file.write_all_at(format!("{hash}\n").as_bytes(), at * line_length);
        written.map_err(|e| StoreError::file("write", &self.lines, e))?;
        Ok(file)
    }

    /// Adds free lines behind the newest hashes; says how many lines there are then.
    fn make_room(&self) -> Result<u64, StoreError> {
        let mut lines = self.all()?;
        if lines.len() >= HASHES_KEPT {
            lines.drain(..lines.len() - HASHES_KEPT / 5 * 4);
        }
        lines.extend(std::iter::repeat_n(FREE_LINE.to_owned(), FREE_LINES));
        let text = lines.join("\n") + "\n";
        file::replace(&self.lines, text.as_bytes(), file::PRIVATE)?;
        Ok(lines.len() as u64)
    }

    /// The version at the mark; none if there is no mark that can be read.
    fn marked(&self) -> Result<Option<u64>, StoreError> {
        let bytes = file::read_bounded(&self.mark, MARK_SIZE_MAX)?.unwrap_or_default();
        Ok(str::from_utf8(&bytes).ok().and_then(|text| text.trim_ascii().parse().ok()))
    }
}

/// The versions whose hashes are not synced where there is a mark at this one.
fn unsynced_after(mark: u64) -> Range<u64> {
    mark..mark.saturating_add(UNSYNCED_MAX)
}

/// The first free line among the last ones, of so many; none if all are taken.
fn free_line(file: &File, path: &Path, lines: u64) -> Result<Option<u64>, StoreError> {
    let first = lines.saturating_sub(FREE_LINES as u64);
    let mut bytes = vec![0; usize::try_from(lines - first).unwrap_or(0) * LINE_LENGTH];
    let read = file.read_exact_at(&mut bytes, first * LINE_LENGTH as u64);
    read.map_err(|e| StoreError::file("read", path, e))?;
    let mut found = bytes.chunks_exact(LINE_LENGTH).zip(first..);
    let is_free = |line: &[u8]| line.strip_suffix(b"\n") == Some(FREE_LINE.as_bytes());
    Ok(found.find(|(line, _)| is_free(line)).map(|(_, at)| at))
}

fn open(path: &Path) -> Result<File, StoreError> {
    // Whatever else stands there is refused before it is opened.
    file::regular_stat(path)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    options.open(path).map_err(|e| StoreError::file("open", path, e))
}
