//! The folder of a task beside the journal: what its agents' processes say, and their keepers. And the
//! fence that says which of its attempts is the live one.

use crate::{
    agent::{Leftovers, Transcript, clear, leftovers, transcript_beside},
    error::EngineError,
    fence::Fence,
    project::ProjectSetup,
    served::task_stream,
};
use std::path::PathBuf;
use waypost_model::{document::ServerTaskId, layout, time::Time};
use waypost_store::file;

/// Where the folders of tasks are, in the journal's folder.
const FOLDER: &str = layout::state::TASKS;

/// The folder of a task: for each attempt `N.log` and its stream.
#[derive(Clone, Debug)]
pub(super) struct TaskFolder {
    state: PathBuf,
    id: ServerTaskId,
}

impl TaskFolder {
    pub(super) fn of(setup: &ProjectSetup, id: &ServerTaskId) -> Self {
        Self { state: setup.place.state.clone(), id: id.clone() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.state.join(FOLDER).join(self.id.as_str())
    }

    pub(super) fn make(&self) -> Result<(), EngineError> {
        file::make_private_folder(&self.state.join(FOLDER))?;
        Ok(file::make_private_folder(&self.path())?)
    }

    pub(super) fn keepers(&self) -> PathBuf {
        self.path().join("keepers")
    }

    /// Where git keeps what it needs for the workspace.
    pub(super) fn scratch(&self) -> PathBuf {
        self.path().join("git")
    }

    /// Where what an attempt writes to stderr goes; what it says stands beside it.
    pub(super) fn log(&self, attempt: u32) -> PathBuf {
        self.path().join(format!("{attempt}.log"))
    }

    /// What a keeper calls the process of an attempt.
    pub(super) fn child(&self, attempt: u32) -> String {
        format!("{}#{attempt}", self.id)
    }

    /// The file that the hook looks at. A dot: no task of a run has one at this place of its name.
    fn fence(&self) -> PathBuf {
        self.state.join(layout::state::FENCES).join(format!("task.{}", self.id))
    }

    /// Says that an attempt is the live one. Returns the variables by which it and all below it are
    /// known.
    pub(super) fn raise_fence(&self, attempt: u32) -> Result<Vec<(String, String)>, EngineError> {
        let file = self.fence();
        file::replace(&file, attempt.to_string().as_bytes(), file::PRIVATE)?;
        let file = file.to_string_lossy().into_owned();
        let own = [
            (layout::variable::FENCE, file),
            (layout::variable::JOB, Fence::name(&task_stream(&self.id), attempt)),
            (layout::variable::ATTEMPT, attempt.to_string()),
        ];
        Ok(own.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// No attempt is the live one any more.
    pub(super) fn lower_fence(&self) -> Result<(), EngineError> {
        Ok(file::remove(&self.fence())?)
    }

    /// Takes what an earlier task of this id has left out of the way; it goes with age.
    pub(super) fn put_aside(&self, now: Time) -> Result<(), EngineError> {
        let aside = self.state.join(FOLDER).join(format!("{}.{}", self.id, now.millis()));
        match self.path().is_dir() {
            true => Ok(file::rename(&self.path(), &aside)?),
            false => Ok(()),
        }
    }

    /// Removes everything: the task is deleted.
    pub(super) fn remove(&self) -> Result<(), EngineError> {
        self.lower_fence()?;
        match std::fs::remove_dir_all(self.path()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let (action, path) = ("delete", self.path());
                Err(waypost_store::StoreError::File { action, path, source: error }.into())
            }
            _ => Ok(()),
        }
    }
}

/// The tasks that have such a folder.
pub(super) fn tasks(setup: &ProjectSetup) -> Vec<ServerTaskId> {
    let folder = setup.place.state.join(FOLDER);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Whether an attempt at a task is at work, or was when its host died.
pub(crate) fn is_at_work(setup: &ProjectSetup, id: &ServerTaskId) -> Result<bool, EngineError> {
    Ok(file::Mark::of(&TaskFolder::of(setup, id).fence())?.is_some())
}

/// Ends what a host that died has left of a task's agents, and waits until it has ended.
pub(crate) fn end_left(setup: &ProjectSetup, id: &ServerTaskId) -> Result<(), EngineError> {
    let folder = TaskFolder::of(setup, id);
    let Leftovers { left, .. } = leftovers(&folder.keepers(), None)?;
    clear(left, "")?;
    folder.lower_fence()
}

/// What an attempt at a task has left: what its agent said, if one was there, and the file with what it
/// wrote to stderr.
pub fn attempt_output(
    setup: &ProjectSetup,
    id: &ServerTaskId,
    attempt: u32,
) -> (Option<Transcript>, PathBuf) {
    let log = TaskFolder::of(setup, id).log(attempt);
    (transcript_beside(setup, &log), log)
}
