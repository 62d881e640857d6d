//! Where a tool call happens: the work tree around a folder and the journal's folder behind it.
//!
//! Found by looking, for the ordinary layouts only. Whatever is unusual (a submodule, a folder
//! inside the repository, the workspace of a task, a journal that is not there) is left to `waypost hook`, which knows all
//! of them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};
use waypost_model::layout;

/// How much of a file that points to a repository is read.
const POINTER_SIZE_MAX: u64 = 4 << 10;

/// The longest name of a work tree that stands for itself in the journal.
const TREE_NAME_LENGTH_MAX: usize = 48;

/// A work tree with a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The top of the work tree.
    pub root: PathBuf,
    /// The repository that all its work trees share; none outside git.
    pub git_common: Option<PathBuf>,
    /// The journal's folder.
    pub state: PathBuf,
    /// The work tree's name in the journal.
    pub tree: String,
}

impl Spot {
    /// The work tree around `start`; none if there is none, or if it is not an ordinary one.
    pub fn find(start: &Path) -> Option<Self> {
        let start = start.canonicalize().ok()?;
        if start.ancestors().any(is_workspace) {
            return None;
        }
        let mut marked = None;
        for folder in start.ancestors() {
            let dot_git = folder.join(".git");
            match dot_git.symlink_metadata() {
                Ok(found) if found.is_dir() => {
                    return Self::with_journal(folder, &dot_git, "main".into());
                }
                Ok(found) if found.is_file() => return Self::linked(folder, &dot_git),
                Ok(_) => return None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
            // Inside a repository its files would be taken for a project's.
            if folder.join("HEAD").exists() && folder.join("objects").is_dir() {
                return None;
            }
            let state = folder.join(layout::STATE_OUTSIDE_GIT);
            if marked.is_none() && is_folder(&state) {
                let tree = "main".into();
                marked = Some(Self { root: folder.into(), git_common: None, state, tree });
            }
        }
        marked
    }

    fn with_journal(root: &Path, common: &Path, tree: String) -> Option<Self> {
        let state = common.join(layout::STATE_IN_GIT);
        let spot = || Self {
            root: root.into(),
            git_common: Some(common.into()),
            state: state.clone(),
            tree,
        };
        (is_folder(&state) && state.join(layout::state::JOURNAL).is_file()).then(spot)
    }

    /// A linked work tree: `.git` says where it is registered, and that where its repository is.
    fn linked(root: &Path, dot_git: &Path) -> Option<Self> {
        let registered = root.join(pointer(dot_git, "gitdir:")?).canonicalize().ok()?;
        let common = pointer(&registered.join("commondir"), "")?;
        let common = registered.join(common).canonicalize().ok()?;
        let tree = registered.file_name()?.to_str()?;
        let is_plain = tree != "main" && tree.len() <= TREE_NAME_LENGTH_MAX;
        is_plain.then(|| Self::with_journal(root, &common, tree.to_owned()))?
    }
}

/// Whether a folder is the workspace of a task.
fn is_workspace(folder: &Path) -> bool {
    let all = folder.parent().filter(|it| it.ends_with(layout::data::WORKSPACES));
    all.is_some_and(|all| all.join(layout::data::OWNER).symlink_metadata().is_ok())
}

/// Whether a folder stands there itself: a link may lead to another journal.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// The path that a small file consists of, after `start`.
fn pointer(path: &Path, start: &str) -> Option<PathBuf> {
    let is_small = path.metadata().ok()?.len() <= POINTER_SIZE_MAX;
    let text = is_small.then(|| fs::read_to_string(path).ok())??;
    Some(PathBuf::from(text.strip_prefix(start)?.trim()))
}
