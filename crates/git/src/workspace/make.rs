//! Making a workspace, and removing it.

use super::Workspace;
use crate::{
    command::{ForeignPrograms, Git, exclude, is_safe_ref},
    error::{GitError, Mistake},
    trees::with_list,
};
use std::{fs, io, path::Path};
use waypost_model::layout;
use waypost_store::file;

impl Workspace {
    /// Makes it, or what is missing of it: an empty repository, or a work tree of the project's at
    /// `base` with a branch of its own. One that is there stays as it is. Says whether it is new.
    pub fn make(&self, base: &str) -> Result<bool, GitError> {
        let _turn = self.turn()?;
        match &self.common {
            None => self.make_repository(),
            Some(common) => self.make_tree(common, base),
        }
    }

    fn make_repository(&self) -> Result<bool, GitError> {
        if self.git_dir().is_ok() {
            return Ok(false);
        }
        let is_new = self.folder.symlink_metadata().is_err();
        make_folder(&self.folder)?;
        let git = Git::at(&self.folder).variable("GIT_DIR", self.folder.join(".git"));
        // Nothing of the user's templates: hooks in there would be run by a person's git.
        git.text(&["init", "--quiet", "--template=", "--initial-branch=main"])?;
        Ok(is_new)
    }

    fn make_tree(&self, common: &Path, base: &str) -> Result<bool, GitError> {
        if !is_safe_ref(base) {
            return Err(Mistake::CommitName { name: base.to_owned() }.into());
        }
        let is_there = self.folder.join(".git").symlink_metadata().is_ok();
        if is_there && self.tree_record(common)?.is_some() {
            return Ok(false);
        }
        let branch = self.branch();
        let all = self.folder.parent().unwrap_or(&self.folder);
        make_folder(all)?;
        let git = Git::at(all).variable("GIT_DIR", common);
        let git = git.clone().without(&ForeignPrograms::read(&git)?).durable();
        let known = format!("refs/heads/{branch}");
        let has_branch = git.try_text(&["rev-parse", "--verify", "--quiet", &known])?.is_some();
        let folder = self.folder.to_string_lossy();
        // A record whose folder is gone is taken over.
        let mut words = vec!["worktree", "add", "--force", "--quiet"];
        match has_branch {
            true => words.extend([&*folder, &branch]),
            false => words.extend(["-b", &branch, &folder, base]),
        }
        with_list(&self.state, || git.text(&words))?;
        Ok(!has_branch)
    }

    /// Removes its files, and its checkpoints. The branch of a work tree stays: a person has to say
    /// what becomes of that work.
    pub fn remove(&self) -> Result<(), GitError> {
        let _turn = self.turn()?;
        if let Some(common) = &self.common {
            self.forget_refs(&|_| false)?;
            delete(&self.folder)?;
            let git = Git::at(common).variable("GIT_DIR", common);
            with_list(&self.state, || git.text(&["worktree", "prune"]))?;
        }
        delete(&self.folder)?;
        file::remove(&self.index())?;
        Ok(())
    }
}

/// Has a data folder in a project kept out of git's sight.
pub fn hide_data(common: &Path) -> Result<(), GitError> {
    exclude::add(&common.join("info/exclude"), &[format!("/{}/", layout::data::FOLDER)])
}

fn make_folder(folder: &Path) -> Result<(), GitError> {
    fs::create_dir_all(folder).map_err(|error| GitError::file("make", folder, error))
}

fn delete(folder: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::file("delete", folder, error))
        }
        _ => Ok(()),
    }
}
