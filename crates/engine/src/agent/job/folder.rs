//! The folder of a job: the streams and logs of its processes, and its keepers.

use crate::{error::EngineError, project::Project};
use std::path::{Path, PathBuf};
use waypost_model::{
    job::EarlierJob,
    layout::{self, state::JOBS},
};
use waypost_store::file;

/// The largest record of an earlier version that is read.
const RECORD_SIZE_MAX: u64 = 1 << 20;

/// The folder of a job: for each process `N.log` and its stream.
#[derive(Clone, Debug)]
pub(super) struct JobFolder {
    path: PathBuf,
}

impl JobFolder {
    /// The folder of a job of this work tree.
    pub(super) fn of(project: &Project, name: &str) -> Self {
        let name = format!("{}.{name}", project.setup.place.tree.as_str());
        Self { path: project.setup.place.state.join(JOBS).join(name) }
    }

    /// The jobs of this work tree that have a folder.
    pub(super) fn names(project: &Project) -> Vec<String> {
        let start = format!("{}.", project.setup.place.tree.as_str());
        let folder = project.setup.place.state.join(JOBS);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix(&start)?.to_owned()))
            .collect()
    }

    /// The folder of a job, made if it is not there.
    pub(super) fn make(project: &Project, name: &str) -> Result<Self, EngineError> {
        let folder = Self::of(project, name);
        file::make_private_folder(&project.setup.place.state.join(JOBS))?;
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

    /// Where the fences of all attempts and jobs are, and how the names of this job's begin.
    fn fences(&self) -> Option<(PathBuf, String)> {
        let name = self.path.file_name()?.to_str()?;
        let state = self.path.parent()?.parent()?;
        Some((state.join(layout::state::FENCES), format!("{name}.")))
    }

    /// Says that a process is the live one, at the `attempt` that it knows of itself. Returns the file
    /// that the hook looks at.
    pub(super) fn raise_fence(&self, process: u32, attempt: u32) -> Result<PathBuf, EngineError> {
        let (folder, start) = self.fences().expect("a job's folder is below the journal's");
        let path = folder.join(format!("{start}{process}"));
        file::replace(&path, attempt.to_string().as_bytes(), file::PRIVATE)?;
        Ok(path)
    }

    /// No process of it is the live one any more.
    pub(super) fn lower_fences(&self) -> Result<(), EngineError> {
        let Some((folder, start)) = self.fences() else { return Ok(()) };
        let is_ours = |name: &String| {
            name.strip_prefix(&start).is_some_and(|number| number.parse::<u32>().is_ok())
        };
        for name in file::list(&folder)?.into_iter().filter(is_ours) {
            file::remove(&folder.join(name))?;
        }
        Ok(())
    }

    fn record(&self) -> PathBuf {
        self.path.join("record.json")
    }

    /// What an earlier version has kept of a job that is not over, if it did. It counted what a
    /// process used up when the next one began.
    pub(super) fn earlier(&self) -> Result<Option<EarlierJob>, EngineError> {
        let bytes = file::read_bounded(&self.record(), RECORD_SIZE_MAX)?;
        let kept = bytes.and_then(|bytes| serde_json::from_slice::<EarlierJob>(&bytes).ok());
        Ok(kept.map(|job| EarlierJob { accounted: job.process.saturating_sub(1), ..job }))
    }

    /// It is in the journal now, or over.
    pub(super) fn forget_earlier(&self) -> Result<(), EngineError> {
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
