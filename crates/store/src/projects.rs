//! The user's list of projects that have a journal, kept apart from the projects themselves.
//!
//! A journal that was deleted with its folder is missed only because it is on this list. The list
//! is a safety net and no truth: if it cannot be written, that is a warning for the caller to give.

use crate::{
    error::StoreError,
    file::{self, make_private_folder},
    hash,
    place::Place,
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};
use waypost_model::layout;

const ENTRY_SIZE_MAX: u64 = 64 << 10;
const ENTRY_VERSION: u32 = 1;

/// The list in one user's state folder.
#[derive(Clone, Debug)]
pub struct Projects {
    folder: PathBuf,
}

/// A project that has or had a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    version: u32,
    /// The folder of the journal.
    pub path: PathBuf,
    pub journal_id: String,
    /// Which repository it was in, as long as the file system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
}

impl Remembered {
    /// Whether `place` is another repository than the one that had the journal: made again at the same
    /// path, so that the journal went with the old one.
    pub fn is_of_another(&self, place: &Place) -> bool {
        let now = identity(place);
        self.repository.is_some() && now.is_some() && self.repository != now
    }
}

impl Projects {
    /// The list below `state_home`: `$XDG_STATE_HOME`, or `~/.local/state`.
    pub fn below(state_home: &Path) -> Self {
        Self { folder: state_home.join(layout::user_state::PROJECTS) }
    }

    /// Notes that `place` has a journal; writes only what is not known yet.
    pub fn remember(&self, place: &Place, journal_id: &str) -> Result<(), StoreError> {
        let path = place.state.clone();
        let (journal_id, repository) = (journal_id.to_owned(), identity(place));
        let entry = Remembered { version: ENTRY_VERSION, path, journal_id, repository };
        if self.recall(place)?.as_ref() == Some(&entry) {
            return Ok(());
        }
        make_private_folder(&self.folder)?;
        let text = serde_json::to_vec(&entry).map_err(|e| StoreError::Database {
            action: "remember the project",
            detail: e.to_string(),
        })?;
        file::replace(&self.path_of(place), &text, file::PRIVATE)
    }

    /// What is known about the journal of `place`.
    pub fn recall(&self, place: &Place) -> Result<Option<Remembered>, StoreError> {
        let path = self.path_of(place);
        let Some(bytes) = file::read_bounded(&path, ENTRY_SIZE_MAX)? else { return Ok(None) };
        let entry = serde_json::from_slice(&bytes);
        entry.map(Some).map_err(|e| StoreError::corrupt(&path, e.to_string()))
    }

    /// Whether a journal of this name was ever seen, wherever it stood.
    pub fn knows(&self, journal_id: &str) -> bool {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut known = entries.filter_map(|entry| {
            let bytes = file::read_bounded(&entry.path(), ENTRY_SIZE_MAX).ok()??;
            serde_json::from_slice::<Remembered>(&bytes).ok()
        });
        known.any(|known| known.journal_id == journal_id)
    }

    /// Takes `place` off the list; a person has said that its journal is not missed.
    pub fn forget(&self, place: &Place) -> Result<(), StoreError> {
        file::remove(&self.path_of(place))
    }

    /// What it means that `place` has no journal: it never had one, or it has vanished.
    pub fn missing(&self, place: &Place) -> StoreError {
        match self.recall(place) {
            Ok(None) => StoreError::Missing { path: place.state.clone() },
            Ok(Some(known)) => {
                StoreError::Vanished { project: place.root.clone(), journal_id: known.journal_id }
            }
            Err(error) => error,
        }
    }

    fn path_of(&self, place: &Place) -> PathBuf {
        let name = hash::short_hex(place.state.as_os_str().as_bytes());
        self.folder.join(format!("{name}.json"))
    }
}

/// Tells a repository from another one that was made later at the same path: the file system's number of
/// its folder, and when that was made.
fn identity(place: &Place) -> Option<String> {
    let found = place.git_common.as_ref()?.symlink_metadata().ok()?;
    let made = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}-{}", found.ino(), made.as_nanos()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests play the part of a careless user")]
mod tests {
    use super::*;
    use crate::place::TreeName;

    #[test]
    fn a_vanished_journal_is_told_from_one_that_never_was() {
        let home = tempfile::tempdir().unwrap();
        let projects = Projects::below(home.path());
        let place = |name: &str| Place {
            root: PathBuf::from(name),
            git_common: None,
            state: PathBuf::from(name).join(".waypost"),
            tree: TreeName::main(),
        };
        let (one, other) = (place("/one"), place("/other"));
        projects.remember(&one, "j1").unwrap();
        projects.remember(&one, "j1").unwrap();
        assert_eq!(projects.missing(&one).to_string(), "the journal of /one has vanished");
        assert_eq!(projects.missing(&other).to_string(), "/other/.waypost does not exist");
        let (path, journal_id) = (one.state.clone(), "j2".into());
        let known = Remembered { version: 1, path, journal_id, repository: None };
        projects.remember(&one, "j2").unwrap();
        assert_eq!(projects.recall(&one).unwrap(), Some(known));

        // An entry of an earlier version says nothing of the repository.
        let text = r#"{"version":1,"path":"/one/.waypost","journal_id":"j2"}"#;
        fs::write(projects.path_of(&one), text).unwrap();
        assert!(!projects.recall(&one).unwrap().unwrap().is_of_another(&one));

        fs::write(projects.path_of(&one), "{").unwrap();
        assert!(matches!(projects.missing(&one), StoreError::Corrupt { .. }));
        projects.forget(&one).unwrap();
        assert_eq!(projects.recall(&one).unwrap(), None);
    }

    #[test]
    fn a_repository_that_was_made_again_is_another() {
        let home = tempfile::tempdir().unwrap();
        let (projects, git) = (Projects::below(home.path()), home.path().join("shop/.git"));
        let place = Place {
            root: home.path().join("shop"),
            git_common: Some(git.clone()),
            state: git.join("waypost"),
            tree: TreeName::main(),
        };
        fs::create_dir_all(&git).unwrap();
        projects.remember(&place, "j1").unwrap();
        let known = projects.recall(&place).unwrap().unwrap();
        assert!(!known.is_of_another(&place));
        assert!(matches!(projects.missing(&place), StoreError::Vanished { .. }));
        fs::remove_dir_all(&git).unwrap();
        fs::create_dir_all(&git).unwrap();
        // Some file systems do not tell when a folder was made: there it is not known.
        if known.repository.is_some() {
            assert!(known.is_of_another(&place));
        }
    }
}
