//! Workspaces of tasks: made, kept in checkpoints, put back as they were, and removed.
//!
//! A workspace is a repository of its own or a work tree of the project's. What an agent has done to
//! its `.git` must not lead git elsewhere: the folders are named outright, and one that is not as it
//! was made is refused. A checkpoint is a commit under `refs/waypost/tasks`; it costs what has changed.
//! The index for it is ours and outside of the workspace.

mod checkpoint;
mod contents;
mod make;
mod restore;
#[cfg(test)]
mod tests;

pub use checkpoint::{ASIDE, KeepOrder, Kept, Omission, Omitted};
pub use contents::ContentFile;
pub use make::hide_data;

use crate::{
    command::{ForeignPrograms, Git, is_safe_ref},
    content::git_at,
    error::{Absence, GitError, Hindrance, Mistake},
    tree::TreeRecord,
    trees::NO_NAME,
};
use std::path::{Path, PathBuf};
use waypost_store::{file, lock::FileLock};

/// Where the checkpoints of tasks are.
const REFS: &str = "refs/waypost/tasks";

/// The workspace of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Names the task in refs and branches.
    pub task: String,
    /// Its files.
    pub folder: PathBuf,
    /// Ours, for what git needs beside it.
    pub scratch: PathBuf,
    /// Ours, for the whole project.
    pub state: PathBuf,
    /// The project's repository, where it is a work tree of that.
    pub common: Option<PathBuf>,
}

impl Workspace {
    /// The ref of one of its checkpoints.
    pub fn reference(&self, checkpoint: &str) -> Result<String, GitError> {
        let name = format!("{REFS}/{}/{checkpoint}", self.task);
        match is_safe_ref(&name) {
            true => Ok(name),
            false => Err(Mistake::CommitName { name }.into()),
        }
    }

    /// The branch of one that is a work tree of the project's.
    pub fn branch(&self) -> String {
        format!("waypost/{}", self.task)
    }

    /// Git in it, running nothing that the workspace configures, and led nowhere else.
    pub(crate) fn git(&self) -> Result<Git, GitError> {
        let git_dir = self.git_dir()?;
        let common = self.common.clone().unwrap_or_else(|| git_dir.clone());
        let git = git_at(&self.folder)?
            .variable("GIT_DIR", git_dir)
            .variable("GIT_COMMON_DIR", common)
            .setting("core.autocrlf=false");
        let git = NO_NAME.into_iter().fold(git, |git, (name, value)| git.variable(name, value));
        Ok(git.clone().without(&ForeignPrograms::read(&git)?).durable())
    }

    /// The folder of git for it, if that is as it was made.
    fn git_dir(&self) -> Result<PathBuf, GitError> {
        if let Some(common) = &self.common {
            let record = self.tree_record(common)?;
            let record = record.ok_or_else(|| Absence::Tree { path: self.folder.clone() })?;
            return Ok(record.folder);
        }
        let git = self.folder.join(".git");
        let is_own = |name: &str, is_folder: bool| {
            let found = git.join(name).symlink_metadata();
            found.is_ok_and(|it| if is_folder { it.is_dir() } else { it.is_file() })
        };
        let is_whole = is_own(".", true) && is_own("refs", true) && is_own("objects", true);
        match is_whole && is_own("HEAD", false) && !git.is_symlink() {
            true => Ok(git),
            false => Err(Hindrance::Replaced { path: git }.into()),
        }
    }

    /// Git's record of it where it is a work tree. The record of one that was moved together with the
    /// project has the path that it had, and its `.git` leads to where the repository was: both follow.
    fn tree_record(&self, common: &Path) -> Result<Option<TreeRecord>, GitError> {
        if let Some(found) = TreeRecord::find(common, &self.folder)? {
            return Ok(Some(found));
        }
        let Some(name) = self.folder.file_name() else { return Ok(None) };
        let record = TreeRecord { folder: common.join("worktrees").join(name) };
        let before = record.path()?.filter(|it| it.file_name() == Some(name) && !it.exists());
        let git = self.folder.join(".git");
        if before.is_none() || !git.is_file() {
            return Ok(None);
        }
        let here = format!("{}\n", git.display());
        file::replace(&record.folder.join("gitdir"), here.as_bytes(), file::SHARED)?;
        let there = format!("gitdir: {}\n", record.folder.display());
        file::replace(&git, there.as_bytes(), file::SHARED)?;
        TreeRecord::find(common, &self.folder)
    }

    /// Waits until no other process is at work with its checkpoints.
    fn turn(&self) -> Result<FileLock, GitError> {
        file::make_private_folder(&self.scratch)?;
        let turn = FileLock::acquire(&self.scratch.join("lock"))?;
        // What a git that was killed has left would keep every later one from working.
        file::remove(&self.scratch.join("index.lock"))?;
        Ok(turn)
    }

    fn index(&self) -> PathBuf {
        self.scratch.join("index")
    }
}
