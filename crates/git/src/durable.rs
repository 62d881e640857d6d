//! What has to survive a power cut although another program wrote it.
//!
//! Git is told to sync the objects and refs that it writes for us. But an agent's own git has written
//! some of them before, unsynced, and ours takes what is there for written. So before a ref of ours
//! makes work true, everything that it has and the other side does not is synced once more, by name.

use crate::{command::Git, error::GitError, tree::Trees};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

/// As many files are synced one by one. Beyond that one flush of the whole file system is cheaper,
/// though it writes what others have written, too.
const ONE_BY_ONE_MAX: usize = 64;

/// Syncs all objects that `commit` has, as far as `others` do not: names of commits, or options that
/// stand for some. An object that is missing is an error.
pub(crate) fn sync_objects(
    trees: &Trees,
    git: &Git,
    commit: &str,
    others: &[&str],
) -> Result<(), GitError> {
    let walk = ["rev-list", "--objects", "--no-object-names", commit, "--not"];
    let listed = git.text(&[&walk[..], others].concat())?;
    let objects = trees.common().join("objects");
    let loose = listed.lines().filter_map(|oid| {
        let (folder, name) = oid.split_at_checked(2)?;
        Some(objects.join(folder).join(name))
    });
    let loose: Vec<PathBuf> = loose.filter(|path| path.symlink_metadata().is_ok()).collect();
    sync_files(&objects, &loose)
}

/// Syncs a ref under its name, which it got by a rename.
pub(crate) fn sync_ref(trees: &Trees, name: &str) -> Result<(), GitError> {
    sync_files(trees.common(), &[trees.common().join(name)])
}

/// Syncs files below `folder`, and their names with them; what is gone needs no sync.
pub(crate) fn sync_files(folder: &Path, files: &[PathBuf]) -> Result<(), GitError> {
    if files.len() > ONE_BY_ONE_MAX {
        let opened = File::open(folder).map_err(|error| GitError::file("open", folder, error))?;
        return rustix::fs::syncfs(&opened)
            .map_err(|error| GitError::file("sync the file system of", folder, error));
    }
    for path in files {
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => {}
            _ => continue,
        }
        match File::open(path).and_then(|file| file.sync_all()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(GitError::file("sync", path, error));
            }
            _ => {}
        }
    }
    Ok(())
}
