//! What is remembered of a job: which conversation it is in, and what that has cost.
//!
//! Written before each process is started, so that the next process goes on in the same
//! conversation. What was said in it is in the streams beside the record.

use crate::{error::EngineError, project::Project};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use waypost_model::{id::EntryId, run::Usage};
use waypost_store::file;

/// Where jobs are, beside the journal; named as earlier versions did, so that theirs are found.
const FOLDER: &str = "errands";

const FORMAT: u32 = 1;
const SIZE_MAX: u64 = 1 << 20;

/// How a job stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct JobRecord {
    v: u32,
    /// What it is about. Another key is another job.
    pub(super) key: String,
    /// The agent's name.
    pub(super) agent: String,
    /// The conversation, where its name is known before anything was said.
    #[serde(default)]
    pub(super) conversation: Option<String>,
    /// The number of the newest process.
    pub(super) process: u32,
    /// How much of the conversation's usage, as its program counts it, is in `spent`.
    #[serde(default)]
    pub(super) counted: Usage,
    /// What all processes before the newest one used up.
    #[serde(default)]
    pub(super) spent: Usage,
    /// Questions that were put to a person, by their keys.
    #[serde(default)]
    pub(super) asked: BTreeMap<String, EntryId>,
}

/// The folder of a job: `record.json`, and for each process `N.log` and its stream.
#[derive(Clone, Debug)]
pub(super) struct JobFolder {
    path: PathBuf,
}

impl JobFolder {
    /// The folder of a job of this work tree.
    pub(super) fn of(project: &Project, name: &str) -> Self {
        let name = format!("{}.{name}", project.place.tree.as_str());
        Self { path: project.place.state.join(FOLDER).join(name) }
    }

    /// The same, made if it is not there.
    pub(super) fn make(project: &Project, name: &str) -> Result<Self, EngineError> {
        let folder = Self::of(project, name);
        file::make_private_folder(&project.place.state.join(FOLDER))?;
        file::make_private_folder(&folder.path)?;
        Ok(folder)
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    pub(super) fn keepers(&self) -> PathBuf {
        self.path.join("keepers")
    }

    pub(super) fn log(&self, process: u32) -> PathBuf {
        self.path.join(format!("{process}.log"))
    }

    fn record(&self) -> PathBuf {
        self.path.join("record.json")
    }

    /// The record; one that cannot be read is as good as none: the job is begun again.
    pub(super) fn load(&self) -> Result<Option<JobRecord>, EngineError> {
        let bytes = file::read_bounded(&self.record(), SIZE_MAX)?;
        let record = bytes.and_then(|bytes| serde_json::from_slice::<JobRecord>(&bytes).ok());
        Ok(record.filter(|record| record.v == FORMAT))
    }

    pub(super) fn save(&self, record: &JobRecord) -> Result<(), EngineError> {
        let bytes = serde_json::to_vec(record).expect("a record is plain data");
        Ok(file::replace(&self.record(), &bytes, file::PRIVATE)?)
    }

    pub(super) fn forget(&self) -> Result<(), EngineError> {
        Ok(file::remove_durably(&self.record())?)
    }

    /// A number that no log in here has: they are kept, and never written over.
    pub(super) fn next_process(&self) -> Result<u32, EngineError> {
        let number = |name: &String| Path::new(name).file_stem()?.to_str()?.parse::<u32>().ok();
        // `3.claude.jsonl` has two endings.
        let stem = |name: String| name.split('.').next().unwrap_or_default().to_owned();
        let numbers = file::list(&self.path)?.into_iter().map(stem);
        Ok(numbers.filter_map(|name| number(&name)).max().unwrap_or(0) + 1)
    }
}

impl JobRecord {
    pub(super) fn new(key: &str, agent: &str) -> Self {
        Self { v: FORMAT, key: key.to_owned(), agent: agent.to_owned(), ..Self::default() }
    }
}
