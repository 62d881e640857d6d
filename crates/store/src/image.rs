//! The file of an image: the parts of a machine's state, so that a process need not load all of it.
//!
//! A cache beside the journal, written without a sync. It begins with all parts; what changes is added
//! at the end, as a record of its own, and counts from there on. Every record has a key, by which
//! its reader can tell for which state it holds, and a checksum: a record that was not written to its
//! end, and everything behind it, is as good as not there.

use crate::{error::StoreError, file, lock::FileLock};
use std::{collections::BTreeMap, ops::Range, os::unix::fs::FileExt as _, path::Path};
use waypost_model::image::{Image, PartKey};

/// More than the image of a million tasks.
const SIZE_MAX: u64 = 1 << 30;

/// What the file begins with; another format has another word.
const MAGIC: &[u8; 16] = b"state image v 1\n";

/// Length of the body, its checksum, length of the key, number of parts.
const HEADER_SIZE: usize = 24;

/// Where in a header the checksum stands.
const CHECKSUM_AT: usize = 8;

/// Kind, number and length of a part.
const ENTRY_SIZE: usize = 12;

/// So much may be added to an image before it is written whole again, beside as much again as it began with.
const ADDED_MAX: u64 = 1 << 20;

/// An image that was read.
#[derive(Debug)]
pub struct ReadImage {
    /// For which state it holds.
    pub key: Vec<u8>,
    pub image: Image,
    pub end: ImageEnd,
}

/// How far an image goes, as its last reader or writer knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageEnd {
    /// Where its first record ends, which has all parts.
    whole: u64,
    /// Where its last record begins.
    last: u64,
    /// The checksum of that one. Two images of a run may well be of the same length.
    checksum: u64,
    end: u64,
}

impl ImageEnd {
    /// Whether it should be written whole rather than added to.
    pub fn is_long(self) -> bool {
        self.end > 2 * self.whole + ADDED_MAX
    }
}

/// Reads the image at `path`; none if there is none that could be used.
pub fn read(path: &Path) -> Result<Option<ReadImage>, StoreError> {
    let bytes = file::read_beginning_with(path, MAGIC, SIZE_MAX)?;
    Ok(bytes.and_then(understand))
}

fn understand(bytes: Vec<u8>) -> Option<ReadImage> {
    if !bytes.starts_with(MAGIC) {
        return None;
    }
    let mut parts = BTreeMap::new();
    let mut at = MAGIC.len();
    let mut found: Option<(Range<usize>, ImageEnd)> = None;
    while let Some(record) = Record::find(&bytes, at) {
        let (last, end, checksum) = (at as u64, record.end as u64, record.checksum);
        let whole = found.map_or(end, |(_, before)| before.whole);
        found = Some((record.key, ImageEnd { whole, last, checksum, end }));
        parts.extend(record.parts);
        at = record.end;
    }
    let (key, end) = found?;
    let key = bytes[key].to_vec();
    Some(ReadImage { key, image: Image::new(bytes, parts)?, end })
}

/// Puts an image with these parts in the place of what is there.
pub fn replace(
    path: &Path,
    key: &[u8],
    parts: &[(PartKey, Vec<u8>)],
) -> Result<ImageEnd, StoreError> {
    let (record, checksum) = record(key, parts);
    let bytes = [MAGIC.as_slice(), &record].concat();
    file::replace_volatile(path, &bytes, file::PRIVATE)?;
    let (last, end) = (MAGIC.len() as u64, bytes.len() as u64);
    Ok(ImageEnd { whole: end, last, checksum, end })
}

/// Adds parts to an image that ends as it is known to end; none if it does not any more, or another
/// process writes to it just now.
pub fn add(
    path: &Path,
    known: ImageEnd,
    key: &[u8],
    parts: &[(PartKey, Vec<u8>)],
) -> Result<Option<ImageEnd>, StoreError> {
    let Some(lock) = FileLock::try_acquire(path)? else { return Ok(None) };
    let failed = |error| StoreError::file("write", path, error);
    let length = lock.file().metadata().map_err(failed)?.len();
    let mut header = [0; HEADER_SIZE];
    if length != known.end
        || lock.file().read_exact_at(&mut header, known.last).is_err()
        || number_64(&header, CHECKSUM_AT) != Some(known.checksum)
    {
        return Ok(None);
    }
    let (record, checksum) = record(key, parts);
    lock.file().write_all_at(&record, known.end).map_err(failed)?;
    let end = known.end + record.len() as u64;
    Ok(Some(ImageEnd { last: known.end, checksum, end, ..known }))
}

/// Where the pieces of a record are.
struct Record {
    key: Range<usize>,
    parts: Vec<(PartKey, Range<usize>)>,
    checksum: u64,
    end: usize,
}

impl Record {
    /// The record at `at`; none if there is no whole one.
    fn find(bytes: &[u8], at: usize) -> Option<Self> {
        let header = bytes.get(at..at.checked_add(HEADER_SIZE)?)?;
        let body_length = usize::try_from(number_64(header, 0)?).ok()?;
        let (key_length, count) =
            (number_32(header, 16)? as usize, number_32(header, 20)? as usize);
        let start = at + HEADER_SIZE;
        let end = start.checked_add(body_length)?;
        let body = bytes.get(start..end)?;
        let checksum = checksum(body);
        if checksum != number_64(header, CHECKSUM_AT)? {
            return None;
        }
        let mut next = key_length.checked_add(count.checked_mul(ENTRY_SIZE)?)?;
        let entries = body.get(key_length..next)?;
        let mut parts = Vec::with_capacity(count);
        for entry in entries.chunks_exact(ENTRY_SIZE) {
            let key = PartKey { kind: number_32(entry, 0)?, number: number_32(entry, 4)? };
            let behind = next.checked_add(number_32(entry, 8)? as usize)?;
            parts.push((key, start + next..start + behind));
            next = behind;
        }
        (next == body_length).then_some(Self {
            key: start..start + key_length,
            parts,
            checksum,
            end,
        })
    }
}

/// A record, and its checksum.
fn record(key: &[u8], parts: &[(PartKey, Vec<u8>)]) -> (Vec<u8>, u64) {
    let mut body = key.to_vec();
    for (part, bytes) in parts {
        for number in [part.kind, part.number, length(bytes)] {
            body.extend_from_slice(&number.to_le_bytes());
        }
    }
    parts.iter().for_each(|(_, bytes)| body.extend_from_slice(bytes));
    let count = u32::try_from(parts.len()).expect("an image has fewer than 2^32 parts");
    let checksum = checksum(&body);
    let mut record = Vec::with_capacity(HEADER_SIZE + body.len());
    record.extend_from_slice(&(body.len() as u64).to_le_bytes());
    record.extend_from_slice(&checksum.to_le_bytes());
    record.extend_from_slice(&length(key).to_le_bytes());
    record.extend_from_slice(&count.to_le_bytes());
    record.extend(body);
    (record, checksum)
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a part has less than 4 GiB")
}

fn number_32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn number_64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Tells what was written from what was not; no defence against an intruder, who could as well write
/// to the journal. Four sums over every fourth word, because they are made at the same time.
fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let mut sums = [1u64, 2, 3, 4];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = step(*sum, u64::from_le_bytes(*word));
        }
    }
    let rest = rest.iter().fold(bytes.len() as u64, |sum, byte| step(sum, u64::from(*byte)));
    sums.into_iter().fold(rest, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::PathBuf};

    fn part(kind: u32, number: u32, text: &str) -> (PartKey, Vec<u8>) {
        (PartKey { kind, number }, text.as_bytes().to_vec())
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.image");
        (folder, path)
    }

    fn text(read: &ReadImage, kind: u32, number: u32) -> String {
        String::from_utf8(read.image.part(kind, number).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn what_is_added_counts_and_the_rest_stays() {
        let (_folder, path) = place();
        assert!(read(&path).unwrap().is_none());
        let end = replace(&path, b"k1", &[part(1, 0, "head"), part(2, 0, "a"), part(2, 1, "b")]);
        let end = add(&path, end.unwrap(), b"k2", &[part(1, 0, "other"), part(2, 1, "c")]).unwrap();
        let found = read(&path).unwrap().unwrap();
        assert_eq!((found.key.as_slice(), Some(found.end)), (&b"k2"[..], end));
        let texts = [text(&found, 1, 0), text(&found, 2, 0), text(&found, 2, 1)];
        assert_eq!(texts, ["other", "a", "c"]);
        assert!(found.image.part(3, 0).is_none());
    }

    #[test]
    fn nothing_is_added_behind_what_another_process_has_added() {
        let (_folder, path) = place();
        let known = replace(&path, b"k1", &[part(1, 0, "one")]).unwrap();
        add(&path, known, b"k2", &[part(1, 0, "two")]).unwrap().unwrap();
        assert_eq!(add(&path, known, b"k3", &[part(1, 0, "three")]).unwrap(), None);
        assert_eq!(text(&read(&path).unwrap().unwrap(), 1, 0), "two");
    }

    #[test]
    fn nothing_is_added_to_another_image_of_the_same_length() {
        let (_folder, path) = place();
        let known = replace(&path, b"k1", &[part(1, 0, "one"), part(2, 0, "x")]).unwrap();
        let other = replace(&path, b"k3", &[part(1, 0, "two"), part(2, 0, "y")]).unwrap();
        assert_eq!(known.end, other.end);
        assert_eq!(add(&path, known, b"k2", &[part(1, 0, "old")]).unwrap(), None);
        let found = read(&path).unwrap().unwrap();
        assert_eq!((found.key.as_slice(), text(&found, 1, 0)), (&b"k3"[..], "two".to_owned()));
        assert!(add(&path, other, b"k4", &[part(1, 0, "new")]).unwrap().is_some());
    }

    #[test]
    fn a_file_that_is_cut_off_or_changed_anywhere_is_read_up_to_there_or_not_at_all() {
        let (_folder, path) = place();
        let known = replace(&path, b"k1", &[part(1, 0, "one"), part(2, 0, "x")]).unwrap();
        add(&path, known, b"k2", &[part(1, 0, "two")]).unwrap().unwrap();
        let bytes = fs::read(&path).unwrap();
        let first = usize::try_from(known.end).unwrap();
        for cut in 0..bytes.len() {
            let found = understand(bytes[..cut].to_vec());
            assert_eq!(found.map(|it| it.key), (cut >= first).then(|| b"k1".to_vec()), "{cut}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let found = understand(changed);
            assert_eq!(found.map(|it| it.key), (at >= first).then(|| b"k1".to_vec()), "{at}");
        }
    }
}
