//! Objects that were written and not synced: files without a byte, or cut off at a page.
//!
//! Git takes each of them for an object that is there and dies at it. Once they are out of the way
//! they are only missing, and are written again by whatever makes them again.

use super::Mender;
use crate::error::GitError;
use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

/// File systems write by pages: what they had no time to write begins at one.
const PAGE: u64 = 4096;

/// Larger ones are not read as a whole.
const READ_MAX: u64 = 64 << 20;

/// More loose objects than git ever leaves; a look at all of them takes a second or two.
const OBJECTS_MAX: usize = 1_000_000;

impl Mender<'_> {
    pub(super) fn look_at_objects(&mut self) -> Result<(), GitError> {
        let mut torn = Vec::new();
        for path in suspects(&self.trees.common().join("objects")) {
            if self.is_torn(&path)? {
                torn.push(path);
            }
        }
        let Some(first) = torn.first() else { return Ok(()) };
        let what = match torn.len() {
            1 => format!("{} is cut short", first.display()),
            count => format!("{count} objects of git are cut short, {} first", first.display()),
        };
        self.rebuilt(what, "put aside; what needs it is rebuilt without it");
        match self.is_mending() {
            true => torn.iter().try_for_each(|path| self.put_aside(path)),
            false => Ok(()),
        }
    }

    /// Whether git cannot read a loose object to its end.
    fn is_torn(&self, path: &Path) -> Result<bool, GitError> {
        let Ok(found) = path.symlink_metadata() else { return Ok(false) };
        if found.len() == 0 || !begins_well(path) {
            return Ok(true);
        }
        let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
        let folder = path.parent().and_then(name);
        let (Some(folder), Some(rest)) = (folder, name(path)) else { return Ok(false) };
        if found.len() > READ_MAX {
            return Ok(false);
        }
        let read = self.trees.git()?.try_bytes(&["cat-file", "-p", &format!("{folder}{rest}")])?;
        Ok(read.is_none())
    }
}

/// Loose objects that may be cut short, by their length and their first bytes.
fn suspects(objects: &Path) -> Vec<PathBuf> {
    let is_hex = |name: &str| name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut found = Vec::new();
    let mut seen = 0;
    for folder in entries(objects) {
        let is_fan = |name: &str| name.len() == 2 && is_hex(name);
        if !folder.file_name().and_then(|name| name.to_str()).is_some_and(is_fan) {
            continue;
        }
        for path in entries(&folder) {
            let is_object = |name: &str| matches!(name.len(), 38 | 62) && is_hex(name);
            let is_object = path.file_name().and_then(|name| name.to_str()).is_some_and(is_object);
            let Some(length) = path.symlink_metadata().ok().map(|it| it.len()) else { continue };
            if is_object && (length % PAGE == 0 || !begins_well(&path)) {
                found.push(path);
            }
            seen += 1;
            if seen > OBJECTS_MAX {
                return found;
            }
        }
    }
    found
}

/// Whether a file begins as everything does that zlib has packed.
fn begins_well(path: &Path) -> bool {
    let mut head = [0; 2];
    match File::open(path).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => head[0] & 0x0f == 8 && u16::from_be_bytes(head) % 31 == 0,
        // What cannot be read now may be readable later.
        Err(error) => error.kind() != std::io::ErrorKind::UnexpectedEof,
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|it| Some(it.ok()?.path())).collect()
}
