//! What `init` made here, so that `doctor` misses what is gone and `--remove` knows whose folders
//! are whose.
//!
//! Kept beside the journal. Nothing else depends on it: without it, hooks are still found and taken
//! out by their own marks, and folders stay.

use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use waypost_model::code::Code;
use waypost_store::file;

const NAME: &str = "setup.json";

/// More than the paths of any number of work trees that a person has.
const SIZE_MAX: u64 = 1 << 20;

/// The files that hold a hook of ours and the folders that were made for them, in all work trees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    pub(super) files: BTreeSet<PathBuf>,
    pub(super) folders: BTreeSet<PathBuf>,
}

impl Record {
    /// What was noted; nothing if that cannot be read.
    pub(super) fn load(project: &Project) -> Self {
        let bytes = file::read_bounded(&path(project), SIZE_MAX).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Notes a file that has a hook of ours in it now.
    pub(super) fn note_file(project: &Project, path: &Path) -> Result<(), EngineError> {
        Self::change(project, |record| {
            record.files.insert(path.to_owned());
        })
    }

    /// Notes the folders that writing a file is going to make.
    pub(super) fn note_folders(project: &Project, path: &Path) -> Result<(), EngineError> {
        let missing = path.ancestors().skip(1).take_while(|folder| !folder.exists());
        Self::change(project, |record| record.folders.extend(missing.map(Path::to_owned)))
    }

    fn change(project: &Project, change: impl FnOnce(&mut Self)) -> Result<(), EngineError> {
        let before = Self::load(project);
        let mut after = before.clone();
        change(&mut after);
        if after == before { Ok(()) } else { after.save(project) }
    }

    pub(super) fn save(&self, project: &Project) -> Result<(), EngineError> {
        let path = path(project);
        if !project.place().state.is_dir() {
            return Ok(());
        }
        if *self == Self::default() {
            return Ok(file::remove(&path)?);
        }
        let text = serde_json::to_vec_pretty(self)
            .map_err(|error| Problem::new(Code::Bug, "cannot note what was made").because(error))?;
        Ok(file::replace(&path, &text, file::PRIVATE)?)
    }
}

fn path(project: &Project) -> PathBuf {
    project.place().state.join(NAME)
}
