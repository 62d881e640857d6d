//! What a plan wants to know of the disk, so that plans can be tested without one.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// What stands at a path itself; a link is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File,
    Link,
    /// A socket, a pipe, a device.
    Other,
}

/// The part of a disk that a plan looks at.
pub trait Disk {
    /// What stands at a path; none if nothing does.
    fn kind(&self, path: &Path) -> Option<Kind>;
    /// The names in a folder; none if it cannot be read.
    fn names(&self, folder: &Path) -> Vec<OsString>;
    /// Where a path really leads, if it leads to something.
    fn real(&self, path: &Path) -> Option<PathBuf>;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn kind(&self, path: &Path) -> Option<Kind> {
        let found = path.symlink_metadata().ok()?.file_type();
        Some(match found {
            it if it.is_dir() => Kind::Folder,
            it if it.is_file() => Kind::File,
            it if it.is_symlink() => Kind::Link,
            _ => Kind::Other,
        })
    }

    fn names(&self, folder: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}
