//! Folders that all work trees share: links to those of the project's root.

use super::{Trees, make::unusable};
use crate::error::GitError;
use std::{fs, io, os::unix::fs::symlink, path::Path};

/// Links the shared folders into a tree. What git has put there under such a name stays.
pub(super) fn link(trees: &Trees, tree: &Path) -> Result<(), GitError> {
    for folder in &trees.config().share {
        let (from, to) = (trees.source().join(folder), tree.join(folder));
        if to.symlink_metadata().is_ok() || !is_straight(tree, folder) {
            continue;
        }
        fs::create_dir_all(&from).map_err(|error| unusable(&from, error))?;
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| unusable(parent, error))?;
        }
        match symlink(&from, &to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(unusable(&to, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether no part of the way to a folder is a link that git has put there.
fn is_straight(tree: &Path, folder: &str) -> bool {
    let way = Path::new(folder).ancestors().skip(1);
    way.filter(|part| !part.as_os_str().is_empty()).all(|part| !tree.join(part).is_symlink())
}
