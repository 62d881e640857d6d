//! Where things go that do not verify: a folder beside the journal, as they were.

use super::Mender;
use crate::error::GitError;
use std::{fs, path::Path};
use waypost_store::file;

/// Below the journal's folder, with the time of the mending.
const ASIDE: &str = "aside";

impl Mender<'_> {
    /// Moves something out of the way.
    pub(super) fn put_aside(&self, path: &Path) -> Result<(), GitError> {
        let root = self.trees.root();
        let common = self.trees.common();
        let name = path.strip_prefix(common).or_else(|_| path.strip_prefix(root)).unwrap_or(path);
        let folder = self.trees.state().join(ASIDE);
        let first = self.trees.now().millis();
        let mut places = (first..).map(|time| folder.join(time.to_string()).join(name));
        let place = places.find(|place| place.symlink_metadata().is_err());
        let place = place.expect("there are more times than files");
        file::make_private_folder(place.parent().unwrap_or(&folder))?;
        match file::rename(path, &place) {
            // The repository may be on another disk than its work trees.
            Err(_) if path.is_file() => {
                fs::copy(path, &place).map_err(|error| GitError::file("copy", path, error))?;
                Ok(file::remove(path)?)
            }
            moved => Ok(moved?),
        }
    }
}
