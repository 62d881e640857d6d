//! Where a project's things are: the work tree, the repository behind it, the journal's folder.
//!
//! Found by reading files only: no git process is started, and neither `GIT_DIR` nor git's
//! configuration is looked at. A submodule is a repository of its own. A bare repository has no
//! work tree; its own folder stands for the root, so that a journal can be read there.
//!
//! The workspace of a task belongs to the project whose task it is, although it may be a repository
//! of its own, and so does everything in it. The folder that has the workspaces says which project
//! that is; no agent at work in one of them can write there.

use crate::{error::StoreError, file, hash};
use rustix::io::Errno;
use std::{
    ffi::OsStr,
    fmt,
    fs::{FileType, Metadata},
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};
use waypost_model::layout;

const GITFILE_SIZE_MAX: u64 = 64 << 10;
/// Tree names go into stream names, which are at most 64 bytes with their kind.
const TREE_NAME_LENGTH_MAX: usize = 48;

/// Begins the name of a workspace; no name of git's has a `~`.
const WORKSPACE: &str = "task~";

/// Where a project's things are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The top of the work tree.
    pub root: PathBuf,
    /// The repository that all work trees of the project share; `None` outside git.
    pub git_common: Option<PathBuf>,
    /// The journal's folder: shared by all work trees, out of reach of `git clean`.
    pub state: PathBuf,
    pub tree: TreeName,
}

/// A work tree's name that stays the same while it exists: `main`, or as git registered it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeName(String);

impl TreeName {
    pub fn main() -> Self {
        Self("main".into())
    }

    /// A linked work tree; git's names contain no `~`, so these never meet `main` or each other.
    fn linked(name: &str) -> Self {
        if name == "main" {
            return Self("main~".into());
        }
        if name.len() <= TREE_NAME_LENGTH_MAX {
            return Self(name.to_owned());
        }
        let cut = (0..=31).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
        Self(format!("{}~{}", &name[..cut], hash::short_hex(name.as_bytes())))
    }

    /// The workspace of the task `id`.
    fn workspace(id: &str) -> Self {
        let name = format!("{WORKSPACE}{id}");
        if name.len() <= TREE_NAME_LENGTH_MAX {
            return Self(name);
        }
        let cut = (0..=31).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
        Self(format!("{}~{}", &name[..cut], hash::short_hex(name.as_bytes())))
    }

    pub fn is_main(&self) -> bool {
        self.0 == "main"
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TreeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Place {
    /// Finds the project that `start` is in, as `locate` does. One whose path is no Unicode text is
    /// refused: its paths are written into files and settings, where they would become others.
    pub fn find(start: &Path) -> Result<Self, StoreError> {
        let place = Self::locate(start)?;
        let not_text = [&place.root, &place.state].into_iter().find(|path| path.to_str().is_none());
        match not_text {
            Some(path) => Err(StoreError::NotText { path: path.clone() }),
            None => Ok(place),
        }
    }

    /// Finds the project that `start` is in: the nearest repository, else the nearest folder with
    /// `.waypost`, else `start` itself.
    pub fn locate(start: &Path) -> Result<Self, StoreError> {
        let start = canonical(start)?;
        for folder in start.ancestors() {
            if let Some(place) = Self::of_workspace(folder)? {
                return Ok(place);
            }
        }
        for folder in start.ancestors() {
            if let Some(place) = Self::of_repository(folder)? {
                return Ok(place);
            }
        }
        let marked =
            start.ancestors().find(|folder| folder.join(layout::STATE_OUTSIDE_GIT).is_dir());
        Ok(Self::outside_git(marked.unwrap_or(&start)))
    }

    /// Whether this is the workspace of a task.
    pub fn is_workspace(&self) -> bool {
        self.tree.0.starts_with(WORKSPACE)
    }

    /// The repository that the files here are in: in a workspace it may be another one than the
    /// project's.
    pub fn repository(&self) -> Option<PathBuf> {
        let own = self.root.join(".git");
        match self.is_workspace() && own.is_dir() {
            true => Some(own),
            false => self.git_common.clone(),
        }
    }

    /// The root of the project that this is a part of: of the repository's own work tree, where this
    /// is a workspace, else this root.
    pub fn project_root(&self) -> PathBuf {
        let above = |path: &Path| path.parent().map(Path::to_owned);
        let home = match &self.git_common {
            _ if !self.is_workspace() => None,
            Some(git) if git.file_name().is_some_and(|name| name == ".git") => above(git),
            Some(git) => Some(git.clone()),
            None => above(&self.state),
        };
        home.unwrap_or_else(|| self.root.clone())
    }

    /// Whether Waypost made this work tree, for a phase or an attempt of a run, for a request of a session or a
    /// task of one, or for a task of the server.
    pub fn is_made_by_waypost(&self) -> bool {
        if self.is_workspace() {
            return true;
        }
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let is_ours = |name: String| name.starts_with("phase-") || name.starts_with("request-");
        let is_phase = name(&self.root).is_some_and(is_ours);
        let folder = self.root.parent().filter(|it| name(it).as_deref() == Some("worktree"));
        if self.tree.is_main() || !is_phase {
            return false;
        }
        // They are below the repository's own work tree, or in the repository where it is bare.
        let home = folder.and_then(Path::parent).map(Self::of_repository);
        let home = home.and_then(|home| home.ok().flatten());
        home.is_some_and(|home| home.tree.is_main() && home.git_common == self.git_common)
    }

    fn outside_git(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            git_common: None,
            state: root.join(layout::STATE_OUTSIDE_GIT),
            tree: TreeName::main(),
        }
    }

    fn in_git(root: &Path, common: PathBuf, tree: TreeName) -> Self {
        let state = common.join(layout::STATE_IN_GIT);
        Self { root: root.to_owned(), git_common: Some(common), state, tree }
    }

    /// The workspace that `folder` is. One with a journal of its own is a project of its own: a file
    /// beside it must not be able to put another one in that one's place.
    fn of_workspace(folder: &Path) -> Result<Option<Self>, StoreError> {
        let is_among = |it: &&Path| it.file_name() == Some(OsStr::new(layout::data::WORKSPACES));
        let (Some(id), Some(all)) = (folder.file_name(), folder.parent().filter(is_among)) else {
            return Ok(None);
        };
        let Some(way) = read_text(&all.join(layout::data::OWNER))? else { return Ok(None) };
        let own = folder.join(".git").join(layout::STATE_IN_GIT).join(layout::state::JOURNAL);
        if kind(&own)?.is_some() {
            return Ok(None);
        }
        let root = canonical(&all.join(as_path(&way)))?;
        let home = Self::of_repository(&root)?.unwrap_or_else(|| Self::outside_git(&root));
        let tree = TreeName::workspace(&id.to_string_lossy());
        Ok(Some(Self { root: folder.to_owned(), tree, ..home }))
    }

    fn of_repository(folder: &Path) -> Result<Option<Self>, StoreError> {
        let dot_git = folder.join(".git");
        if is_repository(&dot_git)? {
            return Ok(Some(Self::in_git(folder, canonical(&dot_git)?, TreeName::main())));
        }
        if kind(&dot_git)?.is_some_and(|kind| kind.is_file()) {
            return Self::of_gitfile(folder, &dot_git);
        }
        // Reached from inside: a hook runs with the repository itself as its folder.
        if is_repository(folder)? {
            let is_dot_git = folder.file_name().is_some_and(|name| name == ".git");
            let root = folder.parent().filter(|_| is_dot_git).unwrap_or(folder);
            return Ok(Some(Self::in_git(root, folder.to_owned(), TreeName::main())));
        }
        Ok(None)
    }

    /// A linked work tree or a submodule: `.git` is a file that says where the repository is.
    fn of_gitfile(folder: &Path, dot_git: &Path) -> Result<Option<Self>, StoreError> {
        let text = read_text(dot_git)?.unwrap_or_default();
        let Some(target) = text.strip_prefix(b"gitdir:") else { return Ok(None) };
        let git_dir = canonical(&folder.join(as_path(target)))?;
        let Some(common) = read_text(&git_dir.join("commondir"))? else {
            return Ok(Some(Self::in_git(folder, git_dir, TreeName::main())));
        };
        let common = canonical(&git_dir.join(as_path(&common)))?;
        let name = git_dir.file_name().unwrap_or_default().to_string_lossy();
        Ok(Some(Self::in_git(folder, common, TreeName::linked(&name))))
    }
}

/// What git itself takes for a repository: a head, objects and refs.
fn is_repository(folder: &Path) -> Result<bool, StoreError> {
    let is_folder = |name: &str| Ok(kind(&folder.join(name))?.is_some_and(|kind| kind.is_dir()));
    Ok(is_folder("objects")? && is_folder("refs")? && has_head(folder)?)
}

/// `HEAD` may be a symbolic link that leads nowhere yet.
fn has_head(folder: &Path) -> Result<bool, StoreError> {
    let path = folder.join("HEAD");
    Ok(known(&path, path.symlink_metadata())?.is_some())
}

/// What stands at `path`, links followed; `None`: nothing.
fn kind(path: &Path) -> Result<Option<FileType>, StoreError> {
    Ok(known(path, path.metadata())?.map(|found| found.file_type()))
}

/// A repository that cannot be looked at is not taken for none: its journal would be missed.
fn known(path: &Path, found: io::Result<Metadata>) -> Result<Option<Metadata>, StoreError> {
    use io::ErrorKind as Kind;
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), Kind::NotFound | Kind::NotADirectory) => Ok(None),
        Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
        Err(e) => Err(StoreError::file("look at", path, e)),
    }
}

fn read_text(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    file::read_bounded(path, GITFILE_SIZE_MAX)
}

/// Paths are bytes: git writes them as they are, with a line end behind.
fn as_path(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text.trim_ascii()))
}

fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    match path.canonicalize() {
        Ok(path) => Ok(path),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(StoreError::Missing { path: path.to_owned() })
        }
        Err(e) => Err(StoreError::file("resolve", path, e)),
    }
}

#[cfg(test)]
mod tests;
