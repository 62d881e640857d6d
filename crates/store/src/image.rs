//! The file of an image: the parts of a machine's state, so that a process need not load all of it.
//!
//! A cache beside the journal, written without a sync. It begins with all parts; what changes is added
//! at the end, as a record of its own, and counts from there on. Every record has a key, by which
//! its reader can tell for which state it holds, and a table of its parts, with a checksum; each part has
//! one as well, and is read when it is looked at. A record that was not written to its end, and everything
//! behind it, is as good as not there. Only a power cut can leave a hole in what was written, so a file
//! from before the last start of the machine is read whole before it is believed.

use crate::{error::StoreError, file, lock, lock::FileLock};
use std::{
    collections::BTreeMap,
    fs::File,
    ops::Range,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};
use waypost_model::image::{Counts, Image, Part, PartFile, PartKey, PartPlace};

/// What the file begins with; another format has another word.
const MAGIC: &[u8; 16] = b"state image v 2\n";

/// Behind it stands during which run of the machine it was begun.
const BOOT_SIZE: usize = 40;

/// Where the first record begins.
const START: u64 = (MAGIC.len() + BOOT_SIZE) as u64;

/// Length of the record behind its header, checksum of key and table, length of the key, number of parts.
const HEADER_SIZE: usize = 24;

/// Where in a header the checksum stands.
const CHECKSUM_AT: usize = 8;

/// Kind, number, length, checksum and counts of a part.
const ENTRY_SIZE: usize = 44;

/// Most records have a header, a key and a table of this length at most.
const FRONT_SIZE: usize = 1_024;

/// So much may be added to an image before it is written whole again, beside a quarter of what it began with:
/// what was added is looked through by every reader.
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
        self.end > self.whole + self.whole / 4 + ADDED_MAX
    }
}

/// An image that is being read.
#[derive(Debug)]
struct ImageFile {
    file: File,
    path: PathBuf,
}

impl PartFile for ImageFile {
    fn read(&self, place: &PartPlace) -> Option<Vec<u8>> {
        let mut bytes = vec![0; place.length];
        self.file.read_exact_at(&mut bytes, place.at).ok()?;
        (checksum(&bytes) == place.checksum).then_some(bytes)
    }

    fn lost(&self) -> ! {
        drop(file::remove(&self.path));
        panic!("{} is damaged and was removed; give the command again", self.path.display())
    }
}

/// Reads the image at `path`; none if there is none that could be used.
pub fn read(path: &Path) -> Result<Option<ReadImage>, StoreError> {
    let Some(file) = file::open_regular(path)? else { return Ok(None) };
    Ok(understand(ImageFile { file, path: path.to_owned() }, &boot()))
}

fn understand(file: ImageFile, boot: &[u8; BOOT_SIZE]) -> Option<ReadImage> {
    let length = file.file.metadata().ok()?.len();
    let mut start = [0; START as usize];
    file.file.read_exact_at(&mut start, 0).ok()?;
    let (magic, begun) = start.split_at(MAGIC.len());
    if magic != MAGIC {
        return None;
    }
    let (mut parts, mut at) = (BTreeMap::new(), START);
    let mut found: Option<(Vec<u8>, ImageEnd)> = None;
    while let Some(record) = Record::find(&file.file, at, length) {
        let (last, end, checksum) = (at, record.end, record.checksum);
        let whole = found.map_or(end, |(_, before)| before.whole);
        found = Some((record.key, ImageEnd { whole, last, checksum, end }));
        parts.extend(record.parts);
        at = record.end;
    }
    let (key, end) = found?;
    let image = Image::new(Arc::new(file), parts);
    // Where the system does not tell one start from another, any of them may have been the last.
    let is_of_this_start = begun == boot && *boot != [b' '; BOOT_SIZE];
    let is_sound = is_of_this_start || image.is_sound();
    is_sound.then_some(ReadImage { key, image, end })
}

/// Puts an image with these parts in the place of what is there.
pub fn replace(path: &Path, key: &[u8], parts: &[Part]) -> Result<ImageEnd, StoreError> {
    let Front { bytes, checksum, end } = front(key, parts);
    let boot = boot();
    // Never all of it once more in one piece: of a large run it is the largest thing that there is.
    let own = [MAGIC.as_slice(), &boot, &bytes];
    let pieces: Vec<&[u8]> =
        own.into_iter().chain(parts.iter().map(|part| part.bytes.as_slice())).collect();
    file::replace_cache_by_pieces(path, &pieces, file::PRIVATE)?;
    let end = START + end;
    Ok(ImageEnd { whole: end, last: START, checksum, end })
}

/// Adds parts to an image that ends as it is known to end; none if it does not any more, another process
/// writes to it just now, or it is from before the last start of the machine.
pub fn add(
    path: &Path,
    known: ImageEnd,
    key: &[u8],
    parts: &[Part],
) -> Result<Option<ImageEnd>, StoreError> {
    let Some(lock) = FileLock::try_acquire(path)? else { return Ok(None) };
    let failed = |error| StoreError::file("write", path, error);
    let length = lock.file().metadata().map_err(failed)?.len();
    let (mut header, mut begun) = ([0; HEADER_SIZE], [0; BOOT_SIZE]);
    if length != known.end
        || lock.file().read_exact_at(&mut begun, MAGIC.len() as u64).is_err()
        || begun != boot()
        || lock.file().read_exact_at(&mut header, known.last).is_err()
        || number_64(&header, CHECKSUM_AT) != Some(known.checksum)
    {
        return Ok(None);
    }
    let Front { mut bytes, checksum, end } = front(key, parts);
    parts.iter().for_each(|part| bytes.extend_from_slice(&part.bytes));
    lock.file().write_all_at(&bytes, known.end).map_err(failed)?;
    let end = known.end + end;
    Ok(Some(ImageEnd { last: known.end, checksum, end, ..known }))
}

/// During which run of the machine something is written.
fn boot() -> [u8; BOOT_SIZE] {
    let mut boot = [b' '; BOOT_SIZE];
    boot.iter_mut().zip(lock::boot_id().bytes()).for_each(|(to, from)| *to = from);
    boot
}

/// Where the pieces of a record are.
struct Record {
    key: Vec<u8>,
    parts: Vec<(PartKey, PartPlace)>,
    checksum: u64,
    end: u64,
}

impl Record {
    /// The record at `at`; none if there is no whole one.
    fn find(file: &File, at: u64, length: u64) -> Option<Self> {
        let left = usize::try_from(length.checked_sub(at)?).unwrap_or(usize::MAX);
        let mut front = vec![0; left.min(FRONT_SIZE)];
        file.read_exact_at(&mut front, at).ok()?;
        let body_length = number_64(&front, 0)?;
        let (key_length, count) =
            (number_32(&front, 16)? as usize, number_32(&front, 20)? as usize);
        let start = HEADER_SIZE.checked_add(key_length)?;
        let table = start..start.checked_add(count.checked_mul(ENTRY_SIZE)?)?;
        let end = at.checked_add(HEADER_SIZE as u64)?.checked_add(body_length)?;
        if end > length || table.end > left {
            return None;
        }
        let read = front.len();
        if read < table.end {
            front.resize(table.end, 0);
            file.read_exact_at(&mut front[read..], at + read as u64).ok()?;
        }
        let checksum = checksum(&front[HEADER_SIZE..table.end]);
        let parts = places(&front, table, at, end)?;
        let is_whole = Some(checksum) == number_64(&front, CHECKSUM_AT);
        let key = front[HEADER_SIZE..start].to_vec();
        is_whole.then_some(Self { key, parts, checksum, end })
    }
}

/// Where the parts of a record are, by its table; they stand behind it and end where the record does.
fn places(
    front: &[u8],
    table: Range<usize>,
    at: u64,
    end: u64,
) -> Option<Vec<(PartKey, PartPlace)>> {
    let mut next = at + table.end as u64;
    let mut parts = Vec::with_capacity(table.len() / ENTRY_SIZE);
    for entry in front[table].chunks_exact(ENTRY_SIZE) {
        let key = PartKey { kind: number_32(entry, 0)?, number: number_32(entry, 4)? };
        let length = number_32(entry, 8)? as usize;
        let counts: Counts = [number_64(entry, 20)?, number_64(entry, 28)?, number_64(entry, 36)?];
        parts.push((key, PartPlace { at: next, length, checksum: number_64(entry, 12)?, counts }));
        next = next.checked_add(length as u64)?;
    }
    (next == end).then_some(parts)
}

/// What a record has before its parts.
struct Front {
    bytes: Vec<u8>,
    checksum: u64,
    /// Where the record ends, counted from its beginning.
    end: u64,
}

fn front(key: &[u8], parts: &[Part]) -> Front {
    let size: usize = parts.iter().map(|part| part.bytes.len()).sum();
    let front = HEADER_SIZE + key.len() + parts.len() * ENTRY_SIZE;
    let mut record = Vec::with_capacity(front);
    record.resize(HEADER_SIZE, 0);
    record.extend_from_slice(key);
    for Part { key, counts, bytes } in parts {
        for number in [key.kind, key.number, length(bytes)] {
            record.extend_from_slice(&number.to_le_bytes());
        }
        for number in [checksum(bytes), counts[0], counts[1], counts[2]] {
            record.extend_from_slice(&number.to_le_bytes());
        }
    }
    let checksum = checksum(&record[HEADER_SIZE..]);
    let count = u32::try_from(parts.len()).expect("an image has fewer than 2^32 parts");
    let body_length = (record.len() - HEADER_SIZE + size) as u64;
    record[..8].copy_from_slice(&body_length.to_le_bytes());
    record[CHECKSUM_AT..16].copy_from_slice(&checksum.to_le_bytes());
    record[16..20].copy_from_slice(&length(key).to_le_bytes());
    record[20..HEADER_SIZE].copy_from_slice(&count.to_le_bytes());
    Front { end: (front + size) as u64, bytes: record, checksum }
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
#[expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]
mod tests {
    use super::*;
    use std::fs;

    fn part(kind: u32, number: u32, text: &str) -> Part {
        let counts = [text.len() as u64, 0, 7];
        Part { key: PartKey { kind, number }, counts, bytes: text.as_bytes().to_vec() }
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.image");
        (folder, path)
    }

    fn text(read: &ReadImage, kind: u32, number: u32) -> String {
        String::from_utf8(read.image.part(kind, number).unwrap()).unwrap()
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

    /// What is found where a file has these bytes: the key, and whether all that it names can be read.
    fn found(path: &Path, bytes: &[u8], boot: &[u8; BOOT_SIZE]) -> Option<(Vec<u8>, bool)> {
        fs::write(path, bytes).unwrap();
        let file = ImageFile { file: File::open(path).unwrap(), path: path.to_owned() };
        understand(file, boot).map(|it| (it.key, it.image.is_sound()))
    }

    #[test]
    fn a_file_that_is_cut_off_is_read_up_to_there_or_not_at_all() {
        let (_folder, path) = place();
        let known = replace(&path, b"k1", &[part(1, 0, "one"), part(2, 0, "x")]).unwrap();
        add(&path, known, b"k2", &[part(1, 0, "two")]).unwrap().unwrap();
        let bytes = fs::read(&path).unwrap();
        let first = usize::try_from(known.end).unwrap();
        for cut in 0..bytes.len() {
            let want = (cut >= first).then(|| (b"k1".to_vec(), true));
            assert_eq!(found(&path, &bytes[..cut], &boot()), want, "{cut}");
        }
        assert_eq!(found(&path, &bytes, &boot()), Some((b"k2".to_vec(), true)));
    }

    #[test]
    fn a_file_that_was_changed_anywhere_is_not_believed() {
        let (_folder, path) = place();
        let known = replace(&path, b"k1", &[part(1, 0, "one"), part(2, 0, "x")]).unwrap();
        add(&path, known, b"k2", &[part(1, 0, "two"), part(2, 0, "y")]).unwrap().unwrap();
        let bytes = fs::read(&path).unwrap();
        let first = usize::try_from(known.end).unwrap();
        let other_boot = [b'-'; BOOT_SIZE];
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            // A part that was changed is found when it is looked at; after a power cut, before that.
            match found(&path, &changed, &boot()) {
                None => assert!(at < first, "{at}"),
                Some((key, is_sound)) if key == b"k1" => assert!(is_sound && at >= first, "{at}"),
                Some((key, is_sound)) => {
                    let is_replaced = at < first;
                    assert!(key == b"k2" && is_sound == is_replaced, "{at}");
                }
            }
            let after_cut = found(&path, &changed, &other_boot);
            assert!(after_cut.is_none_or(|(_, is_sound)| is_sound), "{at}");
        }
    }

    #[test]
    fn nothing_is_added_to_an_image_from_before_the_last_start() {
        let (_folder, path) = place();
        let known = replace(&path, b"k1", &[part(1, 0, "one")]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[MAGIC.len()] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(add(&path, known, b"k2", &[part(1, 0, "two")]).unwrap(), None);
        assert_eq!(text(&read(&path).unwrap().unwrap(), 1, 0), "one");
    }

    #[test]
    #[should_panic(expected = "is damaged and was removed; give the command again")]
    fn a_part_that_is_lost_takes_its_image_with_it() {
        let (_folder, path) = place();
        replace(&path, b"k1", &[part(1, 0, "one")]).unwrap();
        let file = ImageFile { file: File::open(&path).unwrap(), path: path.clone() };
        let lost = std::panic::catch_unwind(|| file.lost());
        assert!(!path.exists());
        lost.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
    }
}
