//! Where the workspaces of tasks are, and what they are made of.

use super::folder::TaskFolder;
use crate::{
    error::{EngineError, Problem},
    project::ProjectSetup,
};
use std::{
    fs,
    path::{Path, PathBuf},
};
use waypost_git::workspace::{Workspace, hide_data};
use waypost_model::{
    code::Code,
    document::ServerTaskId,
    layout::data,
    next::NextStep,
    task::{TaskFile, TaskWorkspace, WorkspaceKind},
};
use waypost_store::file;

/// The data folder of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkspacesHome {
    path: PathBuf,
}

impl WorkspacesHome {
    /// The one that is named, else the project's own.
    pub(crate) fn of(setup: &ProjectSetup, named: Option<&Path>) -> Self {
        let own = || setup.place.project_root().join(data::FOLDER);
        Self { path: named.map_or_else(own, Path::to_owned) }
    }

    fn workspaces(&self) -> PathBuf {
        self.path.join(data::WORKSPACES)
    }

    /// Makes it, and has it say whose workspaces are in there.
    pub(crate) fn make(&self, setup: &ProjectSetup) -> Result<(), EngineError> {
        let root = setup.place.project_root();
        let all = self.workspaces();
        file::make_private_folder(&all)?;
        let canonical = all.canonicalize();
        let all =
            canonical.map_err(|error| Problem::system("cannot use the data folder", error))?;
        // A project that is moved takes the workspaces in it along.
        let way = match all.strip_prefix(&root) {
            Ok(below) => below.components().map(|_| "..").collect::<Vec<_>>().join("/"),
            Err(_) => root.to_string_lossy().into_owned(),
        };
        let owner = all.join(data::OWNER);
        match file::read_bounded(&owner, 64 << 10)? {
            Some(found) if found == way.as_bytes() => {}
            Some(_) => {
                let message = format!("{} has workspaces of another project", all.display());
                return Err(Problem::new(Code::DataFolderTaken, message)
                    .hint("name another data folder")
                    .into());
            }
            None => file::replace(&owner, way.as_bytes(), file::SHARED)?,
        }
        if let Some(common) = &setup.place.git_common
            && self.path == root.join(data::FOLDER)
        {
            hide_data(common)?;
        }
        Ok(())
    }

    /// The tasks that have a workspace here.
    pub(super) fn tasks(&self) -> Vec<ServerTaskId> {
        let entries = fs::read_dir(self.workspaces()).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let ids = folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut ids: Vec<ServerTaskId> = ids.collect();
        ids.sort();
        ids
    }

    /// The workspace of a task of which nothing else is known any more; none: it has none here.
    pub(super) fn left_by(&self, setup: &ProjectSetup, id: &ServerTaskId) -> Option<Workspace> {
        let folder = self.workspaces().join(id.as_str());
        let folder = folder.canonicalize().ok()?;
        let is_tree = folder.join(".git").is_file();
        let kind = if is_tree { WorkspaceKind::Tree } else { WorkspaceKind::Own };
        let folder = folder.to_string_lossy().into_owned();
        Some(workspace_of(setup, id, &TaskWorkspace { kind, folder, base: None }))
    }

    /// The workspace that a task is to have.
    pub(super) fn plan(
        &self,
        setup: &ProjectSetup,
        id: &ServerTaskId,
        kind: WorkspaceKind,
    ) -> Result<TaskWorkspace, EngineError> {
        if kind == WorkspaceKind::Tree && setup.place.git_common.is_none() {
            let message = "a task of this type works in a work tree of the project, and that is no \
                           repository";
            return Err(Problem::new(Code::RepositoryNeeded, message)
                .next(NextStep::RunGit { words: "init".into() })
                .into());
        }
        let all = self.workspaces();
        let all = all.canonicalize().unwrap_or(all);
        let folder = all.join(id.as_str()).to_string_lossy().into_owned();
        Ok(TaskWorkspace { kind, folder, base: None })
    }
}

/// Where a workspace is now. One below the project moves with it, and its record has the path that it had.
fn folder_of(setup: &ProjectSetup, id: &ServerTaskId, planned: &TaskWorkspace) -> PathBuf {
    let recorded = PathBuf::from(&planned.folder);
    let below = Path::new(data::FOLDER).join(data::WORKSPACES).join(id.as_str());
    if !recorded.ends_with(&below) {
        return recorded;
    }
    let own = setup.place.project_root().join(below);
    let own = own.canonicalize().unwrap_or(own);
    if own.exists() || !recorded.exists() { own } else { recorded }
}

/// A task with its workspace where that is now.
pub(crate) fn as_it_lies(setup: &ProjectSetup, mut file: TaskFile) -> TaskFile {
    if let Some(planned) = &mut file.workspace {
        planned.folder = folder_of(setup, &file.id, planned).to_string_lossy().into_owned();
    }
    file
}

/// A workspace as git sees it.
pub(super) fn workspace_of(
    setup: &ProjectSetup,
    id: &ServerTaskId,
    planned: &TaskWorkspace,
) -> Workspace {
    let common = setup.place.git_common.clone();
    Workspace {
        task: id.to_string(),
        folder: folder_of(setup, id, planned),
        scratch: TaskFolder::of(setup, id).scratch(),
        state: setup.place.state.clone(),
        common: common.filter(|_| planned.kind == WorkspaceKind::Tree),
    }
}
