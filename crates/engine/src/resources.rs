//! What Waypost needs of the machine: whether the disks of a project take what is written, and whether the machine
//! gives processes and files. A look is cheap; a probe tries.

use crate::project::Project;
use rustix::fs::{StatVfs, StatVfsMountFlags, stat, statvfs};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};
use waypost_git::{Git, GitError};
use waypost_model::{layout, trouble::Trouble};
use waypost_store::{file, trouble_of};

/// A commit of what an attempt did makes some dozens of files; fewer than these are as good as none.
const INODES_MIN: u64 = 64;

/// As many files as starting a child takes, with some to spare.
const FILES_TRIED: usize = 16;

/// What is written to see whether a disk takes it: a page, which needs room of its own.
const PROBE_SIZE: usize = 4_096;

/// The disks of a project, and how much has to be free there.
#[derive(Clone, Debug)]
pub(crate) struct Resources {
    state: PathBuf,
    root: PathBuf,
    /// A folder on each disk.
    disks: Vec<PathBuf>,
    min_free: u64,
}

impl Resources {
    pub(crate) fn of(project: &Project) -> Self {
        let place = &project.setup.place;
        let (state, root) = (place.state.clone(), project.root().to_owned());
        let mut seen = Vec::new();
        let mut disks = vec![state.clone(), root.clone()];
        disks.extend(project.setup.trees_home());
        // Those that cannot be told apart are all looked at.
        disks.retain(|folder| match stat(folder) {
            Ok(found) if seen.contains(&found.st_dev) => false,
            Ok(found) => {
                seen.push(found.st_dev);
                true
            }
            Err(_) => true,
        });
        let min_free_mb = project.configuration().values.worktree.min_free_mb;
        Self { state, root, disks, min_free: min_free_mb.saturating_mul(1 << 20) }
    }

    /// Which trouble the disks are in, as far as they tell without being tried.
    pub(crate) fn look(&self) -> Option<(Trouble, String)> {
        self.disks.iter().find_map(|folder| judge(folder, statvfs(folder).ok()?, self.min_free))
    }

    /// Whether processes and files are to be had, found out by trying; which not, and why.
    pub(crate) fn shortage(&self) -> Option<(Trouble, String)> {
        if let Err(error) = try_files() {
            return Some((trouble_of(&error)?, error.to_string()));
        }
        let error = self.try_process().err()?;
        let trouble = error.trouble().filter(|trouble| trouble.is_shortage())?;
        Some((trouble, error.to_string()))
    }

    fn try_process(&self) -> Result<(), GitError> {
        Git::at(&self.root).try_text(&["--version"]).map(drop)
    }

    /// Whether a trouble seems to be gone.
    pub(crate) fn is_clear_of(&self, trouble: Trouble) -> bool {
        match trouble {
            Trouble::NoSpace | Trouble::NoInodes | Trouble::ReadOnly | Trouble::DiskError => {
                self.look().is_none() && self.takes_a_file()
            }
            Trouble::NoProcesses | Trouble::NoMemory => self.try_process().is_ok(),
            Trouble::NoFiles => try_files().is_ok(),
            // Only the next work can tell.
            Trouble::GitDied | Trouble::KeeperDied | Trouble::Repository => true,
        }
    }

    /// Whether there is a project to work on at all.
    pub(crate) fn is_there(&self) -> bool {
        !matches!(stat(&self.state), Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR))
    }

    /// Whether something can be written beside the journal, however little is free.
    pub(crate) fn takes_a_file(&self) -> bool {
        let probe = self.state.join(layout::state::PROBE);
        let written = file::replace(&probe, &[0; PROBE_SIZE], file::PRIVATE);
        // What is left of a try that failed is replaced by the next one.
        let removed = file::remove(&probe);
        written.and(removed).is_ok()
    }
}

/// Opens as many files as starting a child takes.
fn try_files() -> io::Result<()> {
    let files: io::Result<Vec<File>> = (0..FILES_TRIED).map(|_| File::open("/dev/null")).collect();
    files.map(drop)
}

fn judge(folder: &Path, found: StatVfs, min_free: u64) -> Option<(Trouble, String)> {
    let place = folder.display();
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    match () {
        () if found.f_flag.contains(StatVfsMountFlags::RDONLY) => {
            Some((Trouble::ReadOnly, format!("{place} cannot be written")))
        }
        () if free < min_free || free == 0 => {
            let free_mb = free >> 20;
            let wanted_mb = min_free >> 20;
            let why = format!(
                "the disk is nearly full: {free_mb} MB are free at {place}, and {wanted_mb} have \
                 to be (`worktree.min_free_mb`)"
            );
            Some((Trouble::NoSpace, why))
        }
        // Some file systems do not count files.
        () if found.f_files > 0 && found.f_favail < INODES_MIN => {
            let why = format!("{} more files can be made at {place}", found.f_favail);
            Some((Trouble::NoInodes, why))
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(free: u64, files: (u64, u64), is_read_only: bool) -> StatVfs {
        let flags =
            if is_read_only { StatVfsMountFlags::RDONLY } else { StatVfsMountFlags::empty() };
        StatVfs {
            f_bsize: 4_096,
            f_frsize: 1 << 20,
            f_blocks: 1_000,
            f_bfree: free,
            f_bavail: free,
            f_files: files.0,
            f_ffree: files.1,
            f_favail: files.1,
            f_fsid: 0,
            f_flag: flags,
            f_namemax: 255,
        }
    }

    #[test]
    fn a_disk_is_judged_by_what_is_left() {
        let table = [
            (disk(100, (1_000, 500), false), None),
            (disk(9, (1_000, 500), false), Some(Trouble::NoSpace)),
            (disk(100, (1_000, 63), false), Some(Trouble::NoInodes)),
            (disk(100, (0, 0), false), None),
            (disk(9, (1_000, 0), true), Some(Trouble::ReadOnly)),
        ];
        for (found, want) in table {
            let judged = judge(Path::new("/p"), found, 10 << 20);
            assert_eq!(judged.map(|(trouble, _)| trouble), want);
        }
        let full = judge(Path::new("/p"), disk(0, (0, 0), false), 0);
        assert_eq!(full.map(|(trouble, _)| trouble), Some(Trouble::NoSpace), "whatever is set");
    }
}
