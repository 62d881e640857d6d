//! What a plan wants to know of the disk, so that plans can be tested without one.

use std::{
    ffi::OsString,
    fs, io,
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

impl From<fs::FileType> for Kind {
    fn from(found: fs::FileType) -> Self {
        match found {
            it if it.is_dir() => Self::Folder,
            it if it.is_file() => Self::File,
            it if it.is_symlink() => Self::Link,
            _ => Self::Other,
        }
    }
}

/// The part of a disk that a plan looks at.
pub trait Disk {
    /// What stands at a path; none if nothing does.
    fn kind(&self, path: &Path) -> Option<Kind>;
    /// The names in a folder; none if it cannot be read.
    fn names(&self, folder: &Path) -> Vec<OsString>;
    /// The same, each with what stands there.
    fn entries(&self, folder: &Path) -> Vec<(OsString, Kind)> {
        let names = self.names(folder).into_iter();
        names.filter_map(|name| Some((name.clone(), self.kind(&folder.join(name))?))).collect()
    }
    /// Where a path really leads, if it leads to something.
    fn real(&self, path: &Path) -> Option<PathBuf>;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn kind(&self, path: &Path) -> Option<Kind> {
        path.symlink_metadata().ok().map(|found| found.file_type().into())
    }

    fn names(&self, folder: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect()
    }

    fn entries(&self, folder: &Path) -> Vec<(OsString, Kind)> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let entry = |entry: fs::DirEntry| Some((entry.file_name(), entry.file_type().ok()?.into()));
        entries.filter_map(entry).collect()
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }
}

/// Makes a folder, and the one above it. What is above these is the project's: it is not made again where it was
/// deleted.
pub(crate) fn make_two(folder: &Path) -> io::Result<()> {
    let make = |folder: &Path| match fs::create_dir(folder) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_that_is_gone_is_not_made_again() {
        let base = tempfile::tempdir().unwrap();
        let state = base.path().join("shop/.git/waypost");
        assert!(make_two(&state.join("views")).is_err());
        assert!(!base.path().join("shop").exists());
        fs::create_dir(base.path().join("shop")).unwrap();
        assert!(make_two(&state.join("views")).is_err());
        assert!(!base.path().join("shop/.git").exists());
        fs::create_dir(base.path().join("shop/.git")).unwrap();
        make_two(&state.join("views")).unwrap();
        make_two(&state.join("views")).unwrap();
        assert!(state.join("views").is_dir());
    }
}
