//! A replica: the content of a work tree in a folder of its own, to run something at exactly that content.
//!
//! It is no work tree of git's and has no branch; nothing in it is work. It stands where work trees are, with what the
//! project says that those need, and is removed when it has served.

use super::{
    Trees,
    make::{furnish, guard_folder, unusable},
    name,
};
use crate::{content, error::GitError};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use waypost_store::{file, lock::FileLock, place::Place};

/// Begins the names of replicas among work trees.
const PREFIX: &str = "replica-";

/// The process that makes a replica has this; there is one at a time.
const TURN: &str = "replica.lock";

/// A replica; removed when it is dropped.
#[derive(Debug)]
pub struct Replica {
    pub folder: PathBuf,
    /// The content that it has, as git names it.
    pub tree: String,
    _turn: FileLock,
}

/// Makes a replica of the work tree at `place`; none outside git. Those that a process left that was killed are
/// removed first.
pub fn replicate(trees: &Trees, place: &Place, label: &str) -> Result<Option<Replica>, GitError> {
    file::make_private_folder(trees.state())?;
    let turn = FileLock::acquire(&trees.state().join(TURN))?;
    guard_folder(trees)?;
    trees.exclude()?;
    sweep(&trees.root().join(name::FOLDER));
    let folder = trees.path(name::FOLDER).join(format!("{PREFIX}{label}"));
    fs::create_dir_all(&folder).map_err(|error| unusable(&folder, error))?;
    let made = content::check_out(place, &folder).and_then(|tree| {
        furnish(trees, &folder)?;
        Ok(tree)
    });
    match made {
        Ok(Some(tree)) => Ok(Some(Replica { folder, tree, _turn: turn })),
        other => {
            remove(&folder);
            other.map(|_| None)
        }
    }
}

fn sweep(trees: &Path) {
    let entries = fs::read_dir(trees).into_iter().flatten().flatten();
    let is_ours = |it: &fs::DirEntry| it.file_name().to_string_lossy().starts_with(PREFIX);
    entries.filter(is_ours).for_each(|it| remove(&it.path()));
}

/// What cannot be removed now costs space only, and goes next time.
fn remove(folder: &Path) {
    let _kept: io::Result<()> = fs::remove_dir_all(folder);
}

impl Drop for Replica {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}
