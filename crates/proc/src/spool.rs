//! The keeper's memory on disk: one line per fact, only ever added to.
//!
//! Not synced: it has to survive processes, not the machine, because nothing of what it tells is
//! true after a reboot. What the disk does not take waits in memory and is tried again.

use crate::{error::ProcError, spec::Report, wire};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::Path,
};

/// How much of the past is sent at a time to an engine that has just come.
const PIECE_SIZE: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct Spool {
    file: File,
    /// How much of it is in the file.
    written: u64,
    /// What follows: not in the file yet.
    waiting: Vec<u8>,
}

impl Spool {
    pub(crate) fn create(path: &Path) -> Result<Self, ProcError> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|e| ProcError::file("make", path, e))?;
        Ok(Self { file, written: 0, waiting: Vec::new() })
    }

    pub(crate) fn add(&mut self, report: &Report) {
        wire::write_line(&mut self.waiting, report);
    }

    pub(crate) fn length(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    /// How much of it is in the file.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn is_written(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Writes what waits, as far as the disk takes it. Returns what is in the file now and was
    /// not before.
    pub(crate) fn flush(&mut self) -> Vec<u8> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let mut done = 0;
        while done < self.waiting.len() {
            match self.file.write_at(&self.waiting[done..], self.written + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.written += done as u64;
        let rest = self.waiting.split_off(done);
        std::mem::replace(&mut self.waiting, rest)
    }

    /// A piece of what is in the file from `offset` on.
    pub(crate) fn read(&self, offset: u64) -> Vec<u8> {
        let length = usize::try_from(self.written.saturating_sub(offset)).unwrap_or(PIECE_SIZE);
        if length == 0 {
            return Vec::new();
        }
        let mut piece = vec![0; length.min(PIECE_SIZE)];
        let count = self.file.read_at(&mut piece, offset).unwrap_or(0);
        piece.truncate(count);
        piece
    }
}

/// What a keeper that is gone has left, up to the first line that is not whole: what follows it
/// never happened. So a child may count as interrupted that has ended, but never the reverse.
pub(crate) fn load(path: &Path) -> Result<Vec<Report>, ProcError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(ProcError::file("read", path, e)),
    }
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    Ok(lines.map_while(|line| serde_json::from_slice(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Refusal;

    fn fact(number: usize) -> Report {
        Report::Refused { id: format!("T{number}"), why: Refusal::Withdrawn }
    }

    #[test]
    fn a_line_that_was_cut_off_never_happened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let mut spool = Spool::create(&path).unwrap();
        (0..3).for_each(|number| spool.add(&fact(number)));
        let written = spool.flush();
        assert_eq!((spool.length(), spool.is_written()), (written.len() as u64, true));
        assert_eq!(spool.read(0), written);
        for (cut, want) in [(0, 3), (1, 2), (written.len() / 3, 2), (written.len(), 0)] {
            let length = (written.len() - cut) as u64;
            File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
            assert_eq!(load(&path).unwrap(), (0..want).map(fact).collect::<Vec<_>>());
            spool.file.write_all_at(&written, 0).unwrap();
        }
        spool.file.write_all_at(b"?", written.len() as u64 / 2).unwrap();
        assert_eq!(load(&path).unwrap(), [fact(0)]);
        assert_eq!(load(&folder.path().join("none")).unwrap(), []);
    }

    #[test]
    fn what_the_disk_does_not_take_waits() {
        let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let mut spool = Spool { file: full, written: 0, waiting: Vec::new() };
        spool.add(&fact(1));
        assert_eq!(spool.flush(), b"");
        assert!(!spool.is_written());
        let folder = tempfile::tempdir().unwrap();
        spool.file = Spool::create(&folder.path().join("spool")).unwrap().file;
        spool.add(&fact(2));
        drop(spool.flush());
        assert_eq!(load(&folder.path().join("spool")).unwrap(), [fact(1), fact(2)]);
    }
}
