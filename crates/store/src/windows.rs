//! What is kept of a window, in bytes: earlier renderings, refused edits, and how we left the file.
//!
//! A rendering is announced before it is put in place, so a file that equals one of ours is always
//! known as such (`hashes`). When the next one takes its place, the file itself moves in here: nothing
//! is written twice. The newest renderings are kept whole, because an edit is understood by its difference from
//! one of them; of the older ones only the hashes are. Each can be made again from the journal.
//!
//! Deliberately not here: what a rendering means, and when to make one. Callers of one window
//! take turns under its lock.

mod hashes;

use crate::{
    error::StoreError,
    file::{self, Mark, Untouched, make_private_folder},
    hash,
    lock::FileLock,
    place::Place,
};
use hashes::ShownHashes;
use serde::{Deserialize, Serialize};
use std::{
    ops::Range,
    path::{Path, PathBuf},
};
use waypost_model::{layout, time::Time};

/// Renderings that are kept whole.
const RENDERINGS_KEPT: usize = 32;
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
            // Its bytes may be lost in a power cut; they can be made again. So can its hash, as long as it
            // is known which versions to look at: what shows a known state is never taken for an edit.
            file::replace_cache(&path, bytes, file::PRIVATE)?;
            self.hashes().note(rendering.version, &rendering.hash)?;
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
        let (mut known, kept) = (self.hashes().all()?, self.kept()?);
        known.extend(kept.into_iter().map(|rendering| rendering.hash));
        let knows = |hash: String| known.contains(&hash);
        // Earlier versions named renderings by the other hash.
        Ok(knows(hash::blake3_hex(bytes)) || knows(hash::sha256_hex(bytes)))
    }

    /// The versions that may have been shown without being remembered, because the power was cut; `head` is
    /// the newest version.
    pub fn unsure(&self, head: u64) -> Result<Range<u64>, StoreError> {
        self.hashes().unsure(head)
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
        file::replace_cache(&self.stamp_path(), &text, file::PRIVATE)
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

    fn hashes(&self) -> ShownHashes {
        let beside = |kind: &str| self.shelf.join(format!("{}.{kind}", self.name));
        ShownHashes { lines: beside("hashes"), mark: beside("synced") }
    }

    fn path_of(&self, rendering: &KeptRendering) -> PathBuf {
        self.folder().join(format!("{:012}-{}.json", rendering.version, rendering.hash))
    }
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
