//! Putting a workspace back as it was at a checkpoint.

use super::{Workspace, checkpoint::head};
use crate::{
    command::{Git, is_safe_ref},
    error::{Absence, GitError},
};
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};
use waypost_store::{StoreError, file};

/// What the message of a checkpoint says about the branch.
const HEAD: &str = "Waypost-Head: ";

/// What the commit is called that a workspace is put back to where there is no checkpoint.
const BEGINNING: &str = "The beginning of a workspace";

/// Below the folder that is ours: files that no checkpoint holds and that stood in the way of one.
const LEFT_OUT: &str = "left-out";

impl Workspace {
    /// Makes its files, its branch and its index what they were at a checkpoint. What git ignores
    /// stays. May be done again; what is only here has to be kept before. What was left out then, because it is
    /// too large or holds a secret, is moved into a folder of ours, which is returned.
    pub fn restore(&self, commit: &str) -> Result<Option<PathBuf>, GitError> {
        let _turn = self.turn()?;
        let git = self.git()?;
        let wanted = format!("{commit}^{{commit}}");
        let known =
            git.try_text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])?;
        let Some(commit) = known else {
            return Err(Absence::Snapshot { reference: commit.to_owned() }.into());
        };
        let own = git.clone().variable("GIT_INDEX_FILE", self.index());
        if !self.index().exists() {
            own.text(&["read-tree", head(&git)?.as_deref().unwrap_or("--empty")])?;
        }
        let left_out = self.move_left_out(&own, &commit)?;
        let before = own.bytes(&["ls-files", "-z", "--cached"])?;
        let kept = git.bytes(&["ls-tree", "-r", "-z", "--name-only", &commit])?;
        let kept: BTreeSet<&[u8]> = kept.split(|byte| *byte == 0).collect();
        for path in before.split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
            if !kept.contains(path) {
                self.drop_file(path)?;
            }
        }
        file::remove(&self.index())?;
        own.text(&["read-tree", &commit])?;
        own.text(&["checkout-index", "--all", "--force", "--quiet"])?;
        self.restore_head(&git, &commit)?;
        Ok(left_out)
    }

    /// Moves what the index does not know out of the workspace: the newest checkpoint has left it out.
    fn move_left_out(&self, own: &Git, commit: &str) -> Result<Option<PathBuf>, GitError> {
        let others = own.bytes(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        let mut others = others
            .split(|byte| *byte == 0)
            // Other repositories are not in a checkpoint, and stay.
            .filter(|path| !path.is_empty() && !path.ends_with(b"/"))
            .peekable();
        if others.peek().is_none() {
            return Ok(None);
        }
        let all = self.scratch.join(LEFT_OUT);
        let short = &commit[..commit.len().min(12)];
        let names = (1..).map(|number| all.join(format!("{short}-{number}")));
        let is_free = |folder: &PathBuf| folder.symlink_metadata().is_err();
        let folder = names.into_iter().find(is_free).expect("numbers do not end");
        for path in others {
            let to = folder.join(OsStr::from_bytes(path));
            let above = to.parent().unwrap_or(&folder);
            fs::create_dir_all(above).map_err(|error| GitError::file("make", above, error))?;
            move_file(&self.folder.join(OsStr::from_bytes(path)), &to)?;
            self.drop_file(path)?;
        }
        Ok(Some(folder))
    }

    /// Makes it what it was when it began: with the files of a commit, or with none. What is only here
    /// has to be kept before.
    pub fn begin_again(&self, base: Option<&str>) -> Result<Option<PathBuf>, GitError> {
        let git = self.git()?;
        // A checkpoint stands on top of what was checked out.
        let beginning = match base {
            Some(base) => {
                let tree = git.text(&["rev-parse", "--verify", &format!("{base}^{{tree}}")])?;
                git.text(&["commit-tree", "-m", BEGINNING, "-p", base, &tree])?
            }
            None => {
                let empty = git.text(&["mktree"])?;
                git.text(&["commit-tree", "-m", BEGINNING, &empty])?
            }
        };
        self.restore(&beginning)
    }

    fn drop_file(&self, path: &[u8]) -> Result<(), GitError> {
        let path = self.folder.join(OsStr::from_bytes(path));
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(GitError::file("remove", &path, error)),
        }
        // Folders that it leaves empty go as well, as they do with git.
        let above = path.ancestors().skip(1).take_while(|it| *it != self.folder);
        for folder in above {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The branch and the index as they were.
    fn restore_head(&self, git: &Git, commit: &str) -> Result<(), GitError> {
        let message = git.text(&["log", "-1", "--format=%B", commit])?;
        let branch = message.lines().find_map(|line| line.strip_prefix(HEAD));
        let branch = branch.filter(|it| it.starts_with("refs/heads/") && is_safe_ref(it));
        let parent = git.try_text(&["rev-parse", "--verify", "--quiet", &format!("{commit}^")])?;
        // A work tree of the project's stays on its own branch: others may be checked out elsewhere.
        if let Some(branch) = branch.filter(|_| self.common.is_none()) {
            git.text(&["symbolic-ref", "HEAD", branch])?;
        }
        match (&parent, head(git)?) {
            (Some(parent), now) if now.as_ref() != Some(parent) => {
                git.text(&["update-ref", "HEAD", parent])?;
            }
            (None, Some(now)) if self.common.is_none() => {
                let branch = branch.unwrap_or("HEAD");
                git.text(&["update-ref", "-d", branch, &now])?;
            }
            _ => {}
        }
        git.text(&["read-tree", parent.as_deref().unwrap_or("--empty")]).map(drop)
    }

    /// Begins with what another workspace of the same kind had at a checkpoint.
    pub fn begin_from(&self, other: &Self, commit: &str) -> Result<(), GitError> {
        if self.common.is_none() {
            self.borrow_objects(other)?;
        }
        self.restore(commit).map(drop)
    }

    /// Takes over the objects of another repository: by reading, not by a protocol, none of which
    /// is allowed here.
    fn borrow_objects(&self, other: &Self) -> Result<(), GitError> {
        let (from, to) = (other.git_dir()?.join("objects"), self.git_dir()?.join("objects"));
        copy_folder(&from, &to, 3)
    }
}

/// Copies what is missing; objects of git never change.
fn copy_folder(from: &Path, to: &Path, depth: u32) -> Result<(), GitError> {
    fs::create_dir_all(to).map_err(|error| GitError::file("make", to, error))?;
    let entries = fs::read_dir(from).map_err(|error| GitError::file("read", from, error))?;
    for entry in entries.flatten() {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 && entry.file_name() != "info" => {
                copy_folder(&path, &copy, depth - 1)?;
            }
            Ok(kind) if kind.is_file() && copy.symlink_metadata().is_err() => {
                fs::copy(&path, &copy).map_err(|error| GitError::file("copy", &path, error))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Moves a file, also to another disk; one that is gone meanwhile is not there to be moved.
fn move_file(from: &Path, to: &Path) -> Result<(), GitError> {
    let failed = match file::rename(from, to) {
        Err(StoreError::File { source, .. }) => source,
        moved => return Ok(moved?),
    };
    match failed.kind() {
        io::ErrorKind::CrossesDevices => match fs::copy(from, to) {
            Err(error) if !is_gone(&error) => Err(GitError::file("copy", from, error)),
            _ => Ok(()),
        },
        _ if is_gone(&failed) => Ok(()),
        _ => Err(GitError::file("move", from, failed)),
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
