//! Repositories inside a work tree: whether they hold work that exists nowhere else.
//!
//! A snapshot has of another repository at most the name of a commit. One that is clean and has
//! nothing but what its remotes have can be cloned again; any other keeps its tree from being
//! removed. What is ignored is not looked at, here as everywhere.

use super::{
    Trees,
    inspection::{InspectedTree, Inspection},
};
use crate::{
    command::{ForeignPrograms, Git},
    error::GitError,
};
use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};
use waypost_store::file;

/// Repositories in repositories; deeper ones are not looked into, and count as work.
const DEPTH_MAX: usize = 4;

/// A `.git` that is a file has one line.
const GITFILE_SIZE_MAX: u64 = 64 << 10;

/// What a repository inside a tree would take with it, in words.
pub(super) fn unsaved(
    trees: &Trees,
    subject: &InspectedTree,
    seen: &Inspection,
) -> Result<Option<String>, GitError> {
    let InspectedTree { record, folder, .. } = subject;
    let links = seen.links.iter().map(|(path, _)| path);
    for path in seen.nested.iter().chain(links) {
        let repository = folder.join(OsStr::from_bytes(path));
        if !is_repository(&repository) {
            continue;
        }
        let home = trees.path(&subject.name).join(OsStr::from_bytes(path));
        if let Some(what) = unsaved_in(&Nested { folder: repository, home }, DEPTH_MAX)? {
            return Ok(Some(told(&String::from_utf8_lossy(path), what)));
        }
    }
    // Of submodules whose folders are gone, git keeps the repositories.
    for repository in modules(&record.folder.join("modules")) {
        // Its configuration names a work tree that is not there.
        let git = Git::at(trees.root())
            .variable("GIT_DIR", &*repository)
            .variable("GIT_WORK_TREE", &*repository);
        let git = git.clone().without(&ForeignPrograms::read(&git)?);
        if let Some(what) = unsaved_commits(&git)? {
            let name = repository.strip_prefix(&record.folder).unwrap_or(&repository);
            return Ok(Some(told(&name.display().to_string(), what)));
        }
    }
    Ok(None)
}

fn told(path: &str, what: &str) -> String {
    format!("the repository {path} in it has {what}")
}

/// Whether a folder has a repository of its own.
pub(super) fn is_repository(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// A repository inside a tree.
pub(super) struct Nested {
    /// Where it is now: its tree may have been moved aside.
    pub(super) folder: PathBuf,
    /// Where it is while its tree is in its place. A submodule's way to its repository begins there.
    pub(super) home: PathBuf,
}

impl Nested {
    /// The commit that it has checked out.
    pub(super) fn head(&self) -> Result<Option<String>, GitError> {
        self.git()?.try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])
    }

    /// Git in it, running nothing of its own either.
    fn git(&self) -> Result<Git, GitError> {
        let folder = &self.folder;
        let ceiling = folder.parent().unwrap_or(folder);
        let git = Git::at(folder)
            .variable("GIT_CEILING_DIRECTORIES", ceiling)
            .variable("GIT_WORK_TREE", folder);
        let git = match self.git_dir() {
            Some(elsewhere) => git.variable("GIT_DIR", elsewhere),
            None => git,
        };
        Ok(git.clone().without(&ForeignPrograms::read(&git)?))
    }

    /// The repository, where `.git` is a file that tells a way to it.
    fn git_dir(&self) -> Option<PathBuf> {
        let text = file::read_bounded(&self.folder.join(".git"), GITFILE_SIZE_MAX).ok()??;
        let way = text.strip_prefix(b"gitdir:")?.trim_ascii();
        let way = Path::new(OsStr::from_bytes(way)).to_owned();
        way.is_relative().then(|| straight(&self.home.join(way)))
    }

    fn inner(&self, path: &[u8]) -> Self {
        let path = OsStr::from_bytes(path);
        Self { folder: self.folder.join(path), home: self.home.join(path) }
    }
}

/// A path without `..`: what it leads through need not be there.
fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(straight.pop()),
            part => straight.push(part),
        }
    }
    straight
}

fn unsaved_in(nested: &Nested, depth: usize) -> Result<Option<&'static str>, GitError> {
    let git = nested.git()?;
    let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    let Some(printed) = git.try_bytes(&status)? else {
        return Ok(Some("something that git cannot seen at"));
    };
    let mut inner: Vec<Nested> = Vec::new();
    for record in printed.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        match record {
            [b'?', b'?', b' ', path @ .., b'/'] => inner.push(nested.inner(path)),
            _ => return Ok(Some("changes that are not committed")),
        }
    }
    if let Some(what) = unsaved_commits(&git)? {
        return Ok(Some(what));
    }
    let listed = git.try_bytes(&["ls-files", "--stage", "-z"])?.unwrap_or_default();
    let links = listed.split(|byte| *byte == 0).filter(|record| record.starts_with(b"160000 "));
    let paths = links.filter_map(|record| record.splitn(2, |byte| *byte == b'\t').nth(1));
    inner.extend(paths.map(|path| nested.inner(path)));
    for repository in inner.into_iter().filter(|it| is_repository(&it.folder)) {
        let Some(depth) = depth.checked_sub(1) else {
            return Ok(Some("other repositories in it"));
        };
        if let Some(what) = unsaved_in(&repository, depth)? {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// Commits, stashes among them, that no remote is known to have.
fn unsaved_commits(git: &Git) -> Result<Option<&'static str>, GitError> {
    let list = ["rev-list", "--max-count=1", "--all", "--reflog", "--not", "--remotes"];
    match git.try_text(&list)? {
        Some(listed) if listed.is_empty() => Ok(None),
        Some(_) => Ok(Some("commits that no remote has")),
        None => Ok(Some("commits that git cannot seen at")),
    }
}

/// The repositories of submodules below a folder.
fn modules(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if path.join("HEAD").symlink_metadata().is_ok() && path.join("objects").is_dir() {
            found.extend(modules(&path.join("modules")));
            found.push(path);
        } else {
            found.extend(modules(&path));
        }
    }
    found
}
