//! What a person has allowed agents for good, kept in the user's own state and not in the project.
//!
//! A folder for each project, a file for each permission: two that are given at once do not get in
//! each other's way, and one is taken back by removing its file.

use crate::{
    error::StoreError,
    file::{self, make_private_folder},
    hash,
    place::Place,
};
use serde::{Deserialize, Serialize};
use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};
use waypost_model::layout;

const PERMIT_SIZE_MAX: u64 = 64 << 10;
const PERMIT_VERSION: u32 = 1;

/// What one user allows agents in one project.
#[derive(Clone, Debug)]
pub struct Permits {
    folder: PathBuf,
}

/// Something that agents may do without asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    version: u32,
    /// Names what is allowed, and the file.
    pub id: String,
    /// The same for people.
    pub what: String,
    /// Who allowed it.
    pub by: String,
    /// When, as a time that people read.
    pub at: String,
    /// The project, so that a person who looks into the folder knows it.
    pub project: PathBuf,
}

impl Permits {
    /// Those of `place` below `state_home`: `$XDG_STATE_HOME`, or `~/.local/state`.
    pub fn below(state_home: &Path, place: &Place) -> Self {
        let name = hash::short_hex(place.state.as_os_str().as_bytes());
        Self { folder: state_home.join(layout::user_state::PERMITS).join(name) }
    }

    /// Allows something; what is allowed already stays as it is.
    pub fn add(
        &self,
        id: &str,
        what: &str,
        by: (&str, &str),
        project: &Path,
    ) -> Result<(), StoreError> {
        let permit = Permit {
            version: PERMIT_VERSION,
            id: id.to_owned(),
            what: what.to_owned(),
            by: by.0.to_owned(),
            at: by.1.to_owned(),
            project: project.to_owned(),
        };
        let path = self.path_of(id)?;
        make_private_folder(&self.folder)?;
        let text = serde_json::to_vec_pretty(&permit).map_err(|error| StoreError::Database {
            action: "keep the permission",
            detail: error.to_string(),
        })?;
        file::create_new(&path, &text, file::PRIVATE)?;
        Ok(())
    }

    /// All of them, by their ids.
    pub fn list(&self) -> Result<Vec<Permit>, StoreError> {
        let names = file::list(&self.folder)?;
        let ids = names.iter().filter_map(|name| name.strip_suffix(".json"));
        let mut permits = Vec::new();
        for id in ids {
            permits.extend(self.find(id)?);
        }
        permits.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(permits)
    }

    /// The permission of this id. A file that says something else allows nothing.
    pub fn find(&self, id: &str) -> Result<Option<Permit>, StoreError> {
        let path = self.path_of(id)?;
        let Some(bytes) = file::read_bounded(&path, PERMIT_SIZE_MAX)? else { return Ok(None) };
        let permit: Permit = serde_json::from_slice(&bytes)
            .map_err(|error| StoreError::corrupt(&path, error.to_string()))?;
        Ok(Some(permit).filter(|it| it.id == id && it.version == PERMIT_VERSION))
    }

    /// Takes a permission back.
    pub fn remove(&self, id: &str) -> Result<(), StoreError> {
        file::remove_durably(&self.path_of(id)?)
    }

    /// The file of an id, which is a hash and nothing else.
    fn path_of(&self, id: &str) -> Result<PathBuf, StoreError> {
        let is_hash = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let path = self.folder.join(format!("{id}.json"));
        match is_hash {
            true => Ok(path),
            false => Err(StoreError::corrupt(&path, "not the id of a permission".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::TreeName;

    fn place(name: &str) -> Place {
        Place {
            root: PathBuf::from(name),
            git_common: None,
            state: PathBuf::from(name).join(".waypost"),
            tree: TreeName::main(),
        }
    }

    #[test]
    fn what_is_allowed_in_one_project_is_not_in_another_and_can_be_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let (one, other) = (place("/one"), place("/other"));
        let permits = Permits::below(home.path(), &one);
        assert_eq!(permits.list().unwrap(), []);
        for _ in 0..2 {
            let by = ("mina", "2026-11-16T10:00:00Z");
            permits.add("abc1", "git tag x", by, &one.root).unwrap();
        }
        let [permit] = permits.list().unwrap().try_into().unwrap();
        assert_eq!((permit.id.as_str(), permit.what.as_str()), ("abc1", "git tag x"));
        assert_eq!(Permits::below(home.path(), &other).find("abc1").unwrap(), None);
        assert!(permits.find("../abc1").is_err(), "an id names no other file");
        permits.remove("abc1").unwrap();
        assert_eq!(permits.find("abc1").unwrap(), None);
    }
}
