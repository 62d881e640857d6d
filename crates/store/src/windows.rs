//! What is kept of a window, in bytes: earlier renderings, refused edits, and how we left the file.
//!
//! A rendering is announced before it is put in place, so a file that equals one of ours is always
//! known as such. When the next one takes its place, the file itself moves in here: nothing is written
//! twice. The newest renderings are kept whole, because an edit is understood by its difference from
//! one of them; of the older ones only the hashes are. Each can be made again from the journal.
//!
//! Deliberately not here: what a rendering means, and when to make one. Callers of one window
//! take turns under its lock.

use crate::{
    error::StoreError,
    file::{self, Mark, Untouched, make_private_folder},
    hash,
    lock::FileLock,
    place::Place,
};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::{
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};
use waypost_model::{layout, time::Time};

/// Renderings that are kept whole.
const RENDERINGS_KEPT: usize = 32;
/// Hashes of renderings that are remembered; then the oldest fifth is forgotten at once.
const HASHES_KEPT: usize = 10_000;
/// A line of the hashes' file: 64 digits, of either hash, and a line end.
const HASH_LINE_LENGTH: usize = 65;
/// Lines that are made at once, for hashes to come.
const FREE_LINES: usize = 256;
/// A line in which there is no hash yet.
const FREE_LINE: &str = "----------------------------------------------------------------";
/// Refused files that are kept, of all windows together.
const REFUSED_KEPT: usize = 100;
/// More than any state file.
const RENDERING_SIZE_MAX: u64 = 64 << 20;
const STAMP_SIZE_MAX: u64 = 4 << 10;

/// What is kept of one window.
#[derive(Clone, Debug)]
pub struct WindowArchive {
    name: String,
    /// `<state>/windows`.
    shelf: PathBuf,
    /// `<state>/refused`.
    refused: PathBuf,
}

/// An earlier rendering that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRendering {
    /// The version of the stream that it shows.
    pub version: u64,
    pub hash: String,
}

/// The window's file as we left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowStamp {
    pub version: u64,
    pub hash: String,
    pub mark: Mark,
}

impl WindowArchive {
    /// The archive of the window `name`, which consists of letters, digits, `-`, `.`, `_`, `~`.
    pub fn of(place: &Place, name: &str) -> Self {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        let is_name = !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain);
        // Names of work trees go in here, and git allows more in them than we do.
        let name = if is_name { name.to_owned() } else { hash::short_hex(name.as_bytes()) };
        let shelf = place.state.join(layout::state::WINDOWS);
        Self { name, shelf, refused: place.state.join(layout::state::REFUSED_EDITS) }
    }

    /// Waits for our turn at this window.
    pub fn lock(&self) -> Result<FileLock, StoreError> {
        make_private_folder(&self.shelf)?;
        FileLock::acquire(&self.shelf.join(format!("{}.lock", self.name)))
    }

    /// Notes a rendering that is about to be put in place, without its bytes.
    pub fn announce(&self, rendering: &KeptRendering) -> Result<(), StoreError> {
        self.keep(rendering, &[])
    }

    /// Keeps a rendering with its bytes.
    pub fn keep(&self, rendering: &KeptRendering, bytes: &[u8]) -> Result<(), StoreError> {
        make_private_folder(&self.folder())?;
        let path = self.path_of(rendering);
        if file::stat(&path)?.is_none() {
            // Its bytes may be lost in a power cut; they can be made again. Its hash may not: what shows
            // a known state is never taken for an edit.
            file::replace_volatile(&path, bytes, file::PRIVATE)?;
            self.note_hash(&rendering.hash)?;
            for old in self.kept()?.iter().skip(RENDERINGS_KEPT) {
                file::remove(&self.path_of(old))?;
            }
        }
        Ok(())
    }

    /// Takes in the file that showed a rendering until now, and gives it a second name if one is wanted.
    pub fn take_in(
        &self,
        rendering: &KeptRendering,
        shown: Untouched,
        second: Option<&Path>,
    ) -> Result<(), StoreError> {
        let path = self.path_of(rendering);
        shown.move_to(&path)?;
        second.map_or(Ok(()), |second| file::link_volatile(&path, second, RENDERING_SIZE_MAX))
    }

    /// The renderings that can be loaded, newest first.
    pub fn kept(&self) -> Result<Vec<KeptRendering>, StoreError> {
        let names = file::list(&self.folder())?;
        Ok(names.iter().rev().filter_map(|name| KeptRendering::from_file_name(name)).collect())
    }

    /// Loads a kept rendering; none if it is still shown, damaged or gone.
    pub fn load(&self, rendering: &KeptRendering) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = file::read_bounded(&self.path_of(rendering), RENDERING_SIZE_MAX)?;
        Ok(bytes.filter(|bytes| rendering.is_of(bytes)))
    }

    /// Whether these bytes were ever rendered here, as far as is remembered.
    pub fn has_shown(&self, bytes: &[u8]) -> Result<bool, StoreError> {
        let (mut known, kept) = (self.hashes()?, self.kept()?);
        known.extend(kept.into_iter().map(|rendering| rendering.hash));
        let knows = |hash: String| known.contains(&hash);
        // Earlier versions named renderings by the other hash.
        Ok(knows(hash::blake3_hex(bytes)) || knows(hash::sha256_hex(bytes)))
    }

    /// Keeps a file that was refused, and says where.
    pub fn refuse(&self, bytes: &[u8], at: Time) -> Result<PathBuf, StoreError> {
        make_private_folder(&self.refused)?;
        let name = format!("{:015}-{}-{}", at.millis(), self.name, hash::short_hex(bytes));
        let path = self.refused.join(name);
        file::replace(&path, bytes, file::PRIVATE)?;
        let names = file::list(&self.refused)?;
        for old in names.iter().rev().skip(REFUSED_KEPT) {
            file::remove(&self.refused.join(old))?;
        }
        Ok(path)
    }

    /// Notes how the file was left; `mark` is what `exchange` returned.
    pub fn stamp(&self, stamp: &WindowStamp) -> Result<(), StoreError> {
        make_private_folder(&self.shelf)?;
        let text = serde_json::to_vec(stamp).expect("a stamp is plain data");
        // Lost in a power cut, it only makes the next look read the file.
        file::replace_volatile(&self.stamp_path(), &text, file::PRIVATE)
    }

    /// How the file was last left, whatever has become of it since.
    pub fn last_stamp(&self) -> Result<Option<WindowStamp>, StoreError> {
        let bytes = file::read_bounded(&self.stamp_path(), STAMP_SIZE_MAX)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).ok())
    }

    /// The stamp if the file at `path` is untouched since; costs one `stat` of it.
    pub fn untouched(&self, path: &Path) -> Result<Option<WindowStamp>, StoreError> {
        let now = Mark::of(path)?;
        Ok(self.last_stamp()?.filter(|stamp| Some(stamp.mark) == now))
    }

    fn folder(&self) -> PathBuf {
        self.shelf.join(&self.name)
    }

    fn stamp_path(&self) -> PathBuf {
        self.shelf.join(format!("{}.stamp", self.name))
    }

    fn hashes_path(&self) -> PathBuf {
        self.shelf.join(format!("{}.hashes", self.name))
    }

    fn path_of(&self, rendering: &KeptRendering) -> PathBuf {
        self.folder().join(format!("{:012}-{}.json", rendering.version, rendering.hash))
    }

    fn hashes(&self) -> Result<Vec<String>, StoreError> {
        let max = (HASHES_KEPT * HASH_LINE_LENGTH * 2) as u64;
        let bytes = file::read_bounded(&self.hashes_path(), max)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        // A line that a crash cut short names nothing.
        let whole =
            text.lines().filter(|line| line.len() + 1 == HASH_LINE_LENGTH && *line != FREE_LINE);
        Ok(whole.map(str::to_owned).collect())
    }

    /// Notes a hash, durably: in a line that is there already, because a file that grows takes ten
    /// times as long to sync.
    fn note_hash(&self, hash: &str) -> Result<(), StoreError> {
        let path = self.hashes_path();
        let line_length = HASH_LINE_LENGTH as u64;
        let size = Mark::of(&path)?.map_or(0, |mark| mark.size);
        let mut at = None;
        if size % line_length == 0 {
            at = free_line(&path, size / line_length)?;
        }
        let lines = match at {
            Some(_) => size / line_length,
            None => self.make_room()?,
        };
        let at = at.unwrap_or(lines - FREE_LINES as u64);
        let failed = |e| StoreError::file("write", &path, e);
        let file = open_hashes(&path)?;
        file.write_all_at(format!("{hash}\n").as_bytes(), at * line_length).map_err(failed)?;
        file.sync_data().map_err(failed)
    }

    /// Adds free lines behind the newest hashes; says how many lines there are then.
    fn make_room(&self) -> Result<u64, StoreError> {
        let mut lines = self.hashes()?;
        if lines.len() >= HASHES_KEPT {
            lines.drain(..lines.len() - HASHES_KEPT / 5 * 4);
        }
        lines.extend(std::iter::repeat_n(FREE_LINE.to_owned(), FREE_LINES));
        let text = lines.join("\n") + "\n";
        file::replace(&self.hashes_path(), text.as_bytes(), file::PRIVATE)?;
        Ok(lines.len() as u64)
    }
}

/// The first free line among the last ones, as long as there are so many; none if all are taken.
fn free_line(path: &Path, lines: u64) -> Result<Option<u64>, StoreError> {
    let first = lines.saturating_sub(FREE_LINES as u64);
    let mut bytes = vec![0; usize::try_from(lines - first).unwrap_or(0) * HASH_LINE_LENGTH];
    if bytes.is_empty() {
        return Ok(None);
    }
    let read = open_hashes(path)?.read_exact_at(&mut bytes, first * HASH_LINE_LENGTH as u64);
    read.map_err(|e| StoreError::file("read", path, e))?;
    let mut found = bytes.chunks_exact(HASH_LINE_LENGTH).zip(first..);
    let is_free = |line: &[u8]| line.strip_suffix(b"\n") == Some(FREE_LINE.as_bytes());
    Ok(found.find(|(line, _)| is_free(line)).map(|(_, at)| at))
}

fn open_hashes(path: &Path) -> Result<std::fs::File, StoreError> {
    // Whatever else stands there is refused before it is opened.
    file::regular_stat(path)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    options.open(path).map_err(|e| StoreError::file("open", path, e))
}

/// Forgets the renderings of a journal that another one has taken the place of; their hashes stay
/// known, so a file that shows one of them is still told from an edit.
pub fn forget_renderings(place: &Place) -> Result<(), StoreError> {
    let shelf = place.state.join(layout::state::WINDOWS);
    for name in file::list(&shelf)?.iter().filter(|name| name.ends_with(".stamp")) {
        // Without its stamp a window is looked at, and its rendering kept, at the next command.
        file::remove(&shelf.join(name))?;
    }
    let entries = std::fs::read_dir(&shelf).into_iter().flatten().flatten();
    for folder in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        for rendering in file::list(&folder)? {
            file::remove(&folder.join(rendering))?;
        }
    }
    Ok(())
}

impl KeptRendering {
    /// `bytes` as they show that version.
    pub fn of(version: u64, bytes: &[u8]) -> Self {
        Self { version, hash: hash::blake3_hex(bytes) }
    }

    /// Whether these are its bytes. Earlier versions named them by their SHA-256.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        hash::blake3_hex(bytes) == self.hash || hash::sha256_hex(bytes) == self.hash
    }

    fn from_file_name(name: &str) -> Option<Self> {
        let (version, hash) = name.strip_suffix(".json")?.split_once('-')?;
        Some(Self { version: version.parse().ok()?, hash: hash.to_owned() })
    }
}

#[cfg(test)]
mod tests;
