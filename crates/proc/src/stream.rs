//! What a child that is spoken with writes on its stdout: all of it, byte by byte, in a file.
//!
//! Unlike a log it has no gaps. What the disk does not take waits in memory; a reader that starts
//! at the child stops doing so until it is written, so that no more than one piece ever waits. What
//! goes beyond the limit is not written but counted, and is a reason to end the child.

use crate::capture::{self, Before};
use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

#[derive(Debug)]
pub(crate) struct Stream {
    file: File,
    limit: u64,
    /// How much of it is in the file.
    written: u64,
    /// What follows: not in the file yet.
    waiting: Vec<u8>,
    /// Bytes beyond the limit.
    excess: u64,
}

impl Stream {
    /// Makes the file; there must be none.
    pub(crate) fn create(path: &Path, limit: u64) -> io::Result<Self> {
        let file = capture::create(path, Before::Kept)?;
        Ok(Self { file, limit, written: 0, waiting: Vec::new(), excess: 0 })
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let room = self.limit - self.written - self.waiting.len() as u64;
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let (kept, beyond) = bytes.split_at(bytes.len().min(room));
        self.excess += beyond.len() as u64;
        let done = if self.flush() { self.write(kept) } else { 0 };
        self.waiting.extend_from_slice(&kept[done..]);
    }

    /// Whether all of it is in the file now.
    pub(crate) fn flush(&mut self) -> bool {
        if !self.waiting.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            let done = self.write(&waiting);
            self.waiting = waiting[done..].to_vec();
        }
        self.is_written()
    }

    /// As much as the disk takes.
    fn write(&mut self, bytes: &[u8]) -> usize {
        let mut done = 0;
        while done < bytes.len() {
            match self.file.write_at(&bytes[done..], self.written) {
                Ok(0) => break,
                Ok(count) => {
                    done += count;
                    self.written += count as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        done
    }

    pub(crate) fn is_written(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes beyond the limit.
    pub(crate) fn excess(&self) -> u64 {
        self.excess
    }

    /// Bytes that came.
    pub(crate) fn output(&self) -> u64 {
        self.written + self.waiting.len() as u64 + self.excess
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn what_the_disk_does_not_take_waits_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/stream");
        let mut stream = Stream::create(&path, 1 << 20).unwrap();
        stream.take(b"one ");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let file = std::mem::replace(&mut stream.file, full);
        stream.take(b"two ");
        stream.take(b"three ");
        assert!(!stream.flush());
        assert_eq!(stream.output(), 14);
        stream.file = file;
        stream.take(b"four");
        assert!(stream.is_written());
        assert_eq!(fs::read(&path).unwrap(), b"one two three four");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_beyond_the_limit_is_counted_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stream");
        let mut stream = Stream::create(&path, 5).unwrap();
        stream.take(b"12345");
        assert_eq!(stream.excess(), 0);
        stream.take(b"67");
        stream.take(b"8");
        assert_eq!((stream.excess(), stream.output()), (3, 8));
        assert_eq!(fs::read(&path).unwrap(), b"12345");
    }

    #[test]
    fn what_is_there_already_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        drop(Stream::create(&at("stream"), 9).unwrap());
        std::os::unix::fs::symlink(at("target"), at("link")).unwrap();
        for name in ["stream", "link", ""] {
            assert!(Stream::create(&at(name), 9).is_err(), "{name}");
        }
        assert!(!at("target").exists());
    }
}
