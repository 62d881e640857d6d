//! Git's index, read as far as needed to know what a look at a tree would miss.
//!
//! Git does not look at files that are marked as assumed unchanged or as skipped, and does not look
//! into repositories inside the tree. An agent can set such marks; so before a tree is said to have
//! nothing to lose, they are looked for, and a copy of the index is freed of them.

use super::make::unusable;
use crate::error::GitError;
use std::{
    ffi::OsStr, fs::File, io::Write as _, os::unix::ffi::OsStrExt as _, path::Path,
    time::SystemTime,
};

const ASSUMED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const SKIPPED: u16 = 0x4000;
const INTENDED: u16 = 0x2000;
/// Times, device, inode, mode, owner and size, before the object's name.
const STAT_LENGTH: usize = 40;
const MODE_AT: usize = 24;
const GITLINK: u32 = 0o160_000;
const FOLDER: u32 = 0o040_000;

/// An index as it was found.
#[derive(Debug)]
pub(super) struct IndexFile {
    pub(super) bytes: Vec<u8>,
    /// Git compares the content of files that were written in the same second or later, and of no
    /// others if their dates are as noted. A copy that were any younger would hide changes.
    pub(super) written: SystemTime,
}

impl IndexFile {
    /// Writes a copy, or what was made of it.
    pub(super) fn copy_to(&self, path: &Path, bytes: &[u8]) -> Result<(), GitError> {
        let written = File::create(path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.set_modified(self.written)
        });
        written.map_err(|error| unusable(path, error))
    }
}

/// What an index has that a plain look would miss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexFindings {
    /// Files are marked so that git does not look at them.
    pub(super) has_blinkers: bool,
    /// A file was announced and never added, or a merge is not resolved.
    pub(super) is_unfinished: bool,
    /// Other repositories at paths of this tree, with the commits that are noted for them.
    pub(super) links: Vec<(Vec<u8>, String)>,
}

/// Looks through an index; none if it has a form that is not known here.
pub(super) fn read(index: &[u8], oid_length: usize) -> Option<IndexFindings> {
    let mut found = IndexFindings::default();
    walk(index, oid_length, |entry| {
        found.has_blinkers |= entry.is_hidden();
        found.is_unfinished |= entry.flags & STAGE != 0 || entry.more & INTENDED != 0;
        if entry.mode == GITLINK {
            let oid = entry.oid.iter().map(|byte| format!("{byte:02x}")).collect();
            found.links.push((entry.path.to_vec(), oid));
        }
    })?;
    Some(found)
}

/// A copy of an index in which git looks at every file that there is.
pub(super) fn without_blinkers(index: &[u8], oid_length: usize, tree: &Path) -> Option<Vec<u8>> {
    let mut copy = index.to_vec();
    let mut clear = |at: usize, bit: u16| {
        let flags = u16::from_be_bytes([copy[at], copy[at + 1]]) & !bit;
        copy[at..at + 2].copy_from_slice(&flags.to_be_bytes());
    };
    walk(index, oid_length, |entry| {
        if entry.flags & ASSUMED != 0 {
            clear(entry.flags_at, ASSUMED);
        }
        let path = tree.join(OsStr::from_bytes(entry.path));
        let is_there = || path.symlink_metadata().is_ok();
        if entry.more & SKIPPED != 0 && entry.mode != FOLDER && is_there() {
            clear(entry.flags_at + 2, SKIPPED);
        }
    })?;
    // Git takes an empty sum for one that was left out, and else looks at it only in `fsck`.
    let end = copy.len().checked_sub(oid_length)?;
    copy[end..].fill(0);
    Some(copy)
}

struct IndexEntry<'a> {
    mode: u32,
    oid: &'a [u8],
    flags: u16,
    flags_at: usize,
    /// The second flags, where there are any.
    more: u16,
    path: &'a [u8],
}

impl IndexFindings {
    /// Whether git sees everything by itself, and looks into no other repository.
    pub(super) fn is_plain(&self) -> bool {
        !self.has_blinkers && self.links.is_empty()
    }
}

impl IndexEntry<'_> {
    fn is_hidden(&self) -> bool {
        self.flags & ASSUMED != 0 || self.more & SKIPPED != 0
    }
}

/// Visits every entry. An index that is split over several files is not known here.
fn walk(index: &[u8], oid_length: usize, mut visit: impl FnMut(&IndexEntry<'_>)) -> Option<()> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_be_bytes(index.get(at..at + 2)?.try_into().ok()?));
    let version = number(4)?;
    if !index.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut path = Vec::new();
    for _ in 0..number(8)? {
        let start = at;
        let flags_at = start + STAT_LENGTH + oid_length;
        let flags = half(flags_at)?;
        at = flags_at + 2;
        let more = if flags & EXTENDED != 0 { half(at)? } else { 0 };
        at += if flags & EXTENDED != 0 { 2 } else { 0 };
        if version == 4 {
            let (strip, length) = variable_number(index.get(at..)?)?;
            at += length;
            path.truncate(path.len().checked_sub(strip)?);
        } else {
            path.clear();
        }
        let rest = index.get(at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&rest[..length]);
        at += length + 1;
        if version < 4 {
            at = start + (at - start).next_multiple_of(8);
        }
        visit(&IndexEntry {
            mode: number(start + MODE_AT)?,
            oid: &index[start + STAT_LENGTH..flags_at],
            flags,
            flags_at,
            more,
            path: &path,
        });
    }
    let end = index.len().checked_sub(oid_length)?;
    while at < end {
        if index.get(at..at + 4)? == b"link" {
            return None;
        }
        at += 8 + number(at + 4)? as usize;
    }
    (at == end).then_some(())
}

/// A number as git writes offsets: seven bits in a byte, each step one more than it says.
fn variable_number(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = usize::from(*bytes.first()? & 127);
    let mut length = 1;
    while bytes[length - 1] & 128 != 0 {
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(*bytes.get(length)? & 127);
        length += 1;
    }
    Some((value, length))
}
