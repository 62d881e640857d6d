//! A child's output on its way to its log: all of it while it is short, else the beginning and a
//! rolling end. The pipe is always emptied; what is not kept is counted.
//!
//! While a long log is being written, its file is sparse: the end stands at its true place and the
//! middle is a hole, so it can be followed as any other. When the child has ended, the end moves
//! up to the beginning, with a line between them that says what is missing.

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// What a report shows of the output.
pub(crate) const TAIL_SIZE: usize = 8 << 10;
/// Less would not hold a beginning, an end and what is said between them.
const LOG_SIZE_MIN: u64 = 64 << 10;
/// Holes are made of whole blocks.
const BLOCK: u64 = 4 << 10;

#[derive(Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    file: Option<File>,
    limit: u64,
    /// Where the file ends.
    end: u64,
    /// Where the hole after the beginning ends; the beginning's own end if there is none.
    hole_end: u64,
    /// Whether this file system can make holes; else only the beginning is kept.
    has_holes: bool,
    output: u64,
    /// Bytes that the disk did not take.
    lost: u64,
    tail: Vec<u8>,
}

/// What is left of a capture when it is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Captured {
    pub(crate) tail: Vec<u8>,
    pub(crate) output: u64,
    pub(crate) dropped: u64,
}

impl Capture {
    pub(crate) fn new(path: PathBuf, limit: u64) -> Self {
        let limit = limit.max(LOG_SIZE_MIN);
        Self {
            path,
            file: None,
            limit,
            end: 0,
            hole_end: head(limit),
            has_holes: true,
            output: 0,
            lost: 0,
            tail: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.output += bytes.len() as u64;
        remember(&mut self.tail, bytes);
        let kept = if self.has_holes {
            bytes
        } else {
            let room = head(self.limit).saturating_sub(self.end);
            &bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))]
        };
        self.lost += (bytes.len() - kept.len()) as u64;
        if !kept.is_empty() && self.write(kept).is_err() {
            self.lost += kept.len() as u64;
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(create(&self.path, Before::Emptied)?),
        };
        // A write that failed in the middle is written over by the next one.
        file.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        if self.end.saturating_sub(self.hole_end) > self.limit / 2 {
            self.make_hole();
        }
        Ok(())
    }

    fn make_hole(&mut self) {
        let Some(file) = &self.file else { return };
        let end = (self.end - self.limit / 4) / BLOCK * BLOCK;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(file, flags, self.hole_end, end - self.hole_end) {
            Ok(()) => self.hole_end = end,
            Err(_) => {
                let head = head(self.limit);
                self.has_holes = false;
                self.lost += self.end - head;
                self.hole_end = head;
                if file.set_len(head).is_ok() {
                    self.end = head;
                }
            }
        }
    }

    /// Puts the file into its final shape.
    pub(crate) fn finish(mut self) -> Captured {
        let holes = self.hole_end - head(self.limit);
        let mut dropped = holes + self.lost;
        if !self.has_holes {
            dropped -= self.appendix().len() as u64;
        }
        if let Some(file) = self.file.take()
            && dropped > 0
        {
            // The log is worth less than the end of its child: if this fails, a hole stays in it.
            let _unfinished = self.close_up(&file, dropped);
        }
        Captured { tail: self.tail, output: self.output, dropped }
    }

    /// Without holes, what of the lost bytes is still in memory.
    fn appendix(&self) -> &[u8] {
        let lost = usize::try_from(self.lost).unwrap_or(usize::MAX);
        &self.tail[self.tail.len() - lost.min(self.tail.len())..]
    }

    fn close_up(&self, file: &File, dropped: u64) -> io::Result<()> {
        let note = format!("\n[waypost: {dropped} bytes are missing here]\n");
        if self.hole_end == head(self.limit) {
            file.write_all_at(note.as_bytes(), self.end)?;
            let from = self.end + note.len() as u64;
            return if self.has_holes { Ok(()) } else { file.write_all_at(self.appendix(), from) };
        }
        let mut to = head(self.limit);
        file.write_all_at(note.as_bytes(), to)?;
        to += note.len() as u64;
        let (mut from, mut piece) = (self.hole_end, vec![0; 64 << 10]);
        while from < self.end {
            let count = file.read_at(&mut piece, from)?;
            if count == 0 {
                break;
            }
            file.write_all_at(&piece[..count], to)?;
            (from, to) = (from + count as u64, to + count as u64);
        }
        file.set_len(to)
    }
}

/// How much of the beginning is kept; whole blocks, because a hole begins there.
fn head(limit: u64) -> u64 {
    limit / 2 / BLOCK * BLOCK
}

fn remember(tail: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() >= TAIL_SIZE {
        tail.clear();
        tail.extend_from_slice(&bytes[bytes.len() - TAIL_SIZE..]);
        return;
    }
    let excess = (tail.len() + bytes.len()).saturating_sub(TAIL_SIZE);
    tail.drain(..excess);
    tail.extend_from_slice(bytes);
}

/// What becomes of a file that stands where one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Emptied,
    /// Nothing: then none is made.
    Kept,
}

/// Makes a folder, and the one above it. What is above these is the project's: it is not made again where it was
/// deleted while its processes went on.
fn make_two(folder: &Path) -> io::Result<()> {
    let make = |folder: &Path| match DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    };
    match (make(folder), folder.parent()) {
        (Err(e), Some(above)) if e.kind() == io::ErrorKind::NotFound => {
            make(above)?;
            make(folder)
        }
        (made, _) => made,
    }
}

/// Makes a file for output; a link or a pipe that stands there is not written through.
pub(crate) fn create(path: &Path, before: Before) -> io::Result<File> {
    let open = || {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        options.create_new(before == Before::Kept);
        options.custom_flags(flags).open(path)
    };
    let file = match (open(), path.parent()) {
        (Err(e), Some(folder)) if e.kind() == io::ErrorKind::NotFound => {
            make_two(folder)?;
            open()?
        }
        (opened, _) => opened?,
    };
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("not a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn numbered(length: usize) -> Vec<u8> {
        (0..).flat_map(|n: u32| format!("{n}\n").into_bytes()).take(length).collect()
    }

    fn captured(bytes: &[u8], cuts: &[usize], has_holes: bool) -> (Captured, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.log");
        let mut capture = Capture::new(path.clone(), LOG_SIZE_MIN);
        capture.has_holes = has_holes;
        let mut rest = bytes;
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            capture.take(piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        (capture.finish(), fs::read(path).unwrap_or_default())
    }

    #[test]
    fn what_is_above_its_folder_and_the_next_is_not_made() {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("shop/.git/waypost");
        assert!(create(&state.join("logs/T1.1/1.log"), Before::Emptied).is_err());
        assert!(!base.path().join("shop").exists());
        fs::create_dir_all(&state).unwrap();
        create(&state.join("logs/T1.1/1.log"), Before::Emptied).unwrap();
        create(&state.join("logs/T1.1/1.log"), Before::Emptied).unwrap();
        assert!(state.join("logs/T1.1/1.log").is_file());
    }

    #[test]
    fn no_output_makes_no_file() {
        let (got, log) = captured(b"", &[1], true);
        assert_eq!(got, Captured { tail: Vec::new(), output: 0, dropped: 0 });
        assert_eq!(log, b"");
    }

    #[test]
    fn a_long_log_keeps_its_beginning_and_its_end() {
        let bytes = numbered(1_000_000);
        for has_holes in [true, false] {
            let (got, log) = captured(&bytes, &[60_000], has_holes);
            assert_eq!(got.output, 1_000_000);
            assert_eq!(got.tail, &bytes[bytes.len() - TAIL_SIZE..]);
            assert!(log.len() as u64 <= LOG_SIZE_MIN + 64, "{}", log.len());
            let note = format!("\n[waypost: {} bytes are missing here]\n", got.dropped);
            let at = log.windows(note.len()).position(|part| part == note.as_bytes()).unwrap();
            let (before, after) = (&log[..at], &log[at + note.len()..]);
            assert_eq!(before, &bytes[..before.len()]);
            assert_eq!(after, &bytes[bytes.len() - after.len()..]);
            assert!(after.len() >= TAIL_SIZE);
        }
    }

    #[test]
    fn a_link_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("log"), folder.path().join("target"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut capture = Capture::new(link, LOG_SIZE_MIN);
        capture.take(b"text");
        let want = Captured { tail: b"text".to_vec(), output: 4, dropped: 4 };
        assert_eq!(capture.finish(), want);
        assert!(!target.exists());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_fits_is_kept_byte_by_byte(
            bytes in prop::collection::vec(any::<u8>(), 0..40_000),
            cuts in prop::collection::vec(1usize..20_000, 1..9),
        ) {
            let (got, log) = captured(&bytes, &cuts, true);
            prop_assert_eq!(&log, &bytes);
            prop_assert_eq!(got.dropped, 0);
            prop_assert_eq!(&got.tail, &bytes[bytes.len().saturating_sub(TAIL_SIZE)..]);
        }
    }
}
