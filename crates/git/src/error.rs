//! What can go wrong with git and work trees; each variant is something the caller can act on.
//!
//! What a person can do about it is a value, `Remedy`: the faces spell it.

use crate::command::VERSION_MIN;
use std::{
    io,
    path::{Path, PathBuf},
};
use waypost_model::{code::Code, trouble::Trouble};
use waypost_store::{StoreError, trouble_of};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// A file of ours or another process stands against it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system does not let us at something.
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    /// Git cannot be started.
    #[error("cannot run git")]
    Unavailable { source: io::Error },
    /// A git of ours was killed in the middle of its work. Everything here may be done again.
    #[error("`git {command}` was killed")]
    Killed { command: String },
    /// Git ended with another code than 0.
    #[error("`git {command}` failed: {said}")]
    Failed { command: String, said: String },
    /// A rule stands against it; nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It can be done when something else is out of the way or has come to rest.
    #[error(transparent)]
    Held(#[from] Hindrance),
    /// Something is not there that has to be.
    #[error(transparent)]
    Missing(#[from] Absence),
    /// What was asked for makes no sense.
    #[error(transparent)]
    BadInput(#[from] Mistake),
}

/// Which rule stands against it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("{name} is there already")]
    TreeIsThere { name: String },
    #[error("git still knows {name}, whose folder is gone")]
    FolderIsGone { name: String },
    #[error("a branch {name} is there, at another commit")]
    BranchIsElsewhere { name: String },
    #[error("there is a branch {name} that this run did not make")]
    ForeignBranch { name: String },
    /// A branch stands where branches need a folder.
    #[error("there is a branch {name}: git cannot have {wanted} beside it")]
    BranchAsFolder { name: String, wanted: String },
    #[error("the branch {name} is gone")]
    TargetIsGone { name: String },
}

/// What is in the way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hindrance {
    #[error("{} is not a folder", path.display())]
    NoFolder { path: PathBuf },
    #[error("{} is in the way: it is no work tree of this repository", path.display())]
    ForeignFolder { path: PathBuf },
    #[error("{} is a work tree that Waypost did not make", path.display())]
    ForeignTree { path: PathBuf, name: String },
    #[error("{} was emptied, and something else is in it", path.display())]
    Replaced { path: PathBuf },
    #[error("{name} changes while it is looked at")]
    Changing { name: String },
    #[error("the branch {name} is being moved all the time")]
    Moving { name: String },
    #[error(
        "{name} has changes that are not committed: {files}; commit them there, or take them back"
    )]
    Uncommitted { name: String, files: String },
    #[error(
        "the repository {name} within this one has no commit yet, so that git cannot say what is in it; commit \
         there, have git ignore it, or delete its .git"
    )]
    NoCommit { name: String },
    #[error("another git has deleted what was just written, again and again")]
    Clearing,
}

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    #[error("the branch {name} is gone")]
    Branch { name: String },
    #[error("{} is no work tree of this repository", path.display())]
    Tree { path: PathBuf },
    #[error("git made {name} and does not know it any more")]
    Record { name: String },
    #[error("git does not show the branch {name}")]
    Shown { name: String },
    #[error("{reference} is not what was kept")]
    Snapshot { reference: String },
}

/// What makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    #[error("`{name}` is no name of a work tree")]
    TreeName { name: String },
    #[error("`{name}` is no name of a commit")]
    CommitName { name: String },
    #[error("there is no work tree {name}")]
    UnknownTree { name: String },
    #[error("there is no such snapshot of {name}")]
    UnknownSnapshot { name: String },
    #[error("{file} matches {count} files; at most {max} are copied")]
    TooManyFiles { file: &'static str, count: usize, max: usize },
    #[error("git's filter `{name}` has an odd name")]
    FilterName { name: String },
    #[error(
        "git's content filter `{name}` would run outside of the wall, so nothing is staged or committed from \
         here; a person does it"
    )]
    Filtered { name: String },
    #[error("{} is not Unicode text", path.display())]
    NotText { path: PathBuf },
}

/// What a person can do about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Do the same again.
    TryAgain,
    /// Install a git of at least this version.
    InstallGit {
        version: (u32, u32),
    },
    MakeSpace,
    /// Look at which work trees there are.
    ListTrees,
    /// Bring a work tree back as it was last.
    BringBack {
        tree: String,
    },
    RenameBranch {
        name: String,
    },
    MakeBranch {
        name: String,
    },
    /// Move something that stands where work trees are made.
    MoveAway,
    MoveAwayOrDelete,
    /// Have git remove a work tree that is not ours.
    RemoveTree {
        name: String,
    },
    /// End the processes that write into a work tree.
    EndWriters,
    /// Find out who moves a branch, then let the run go on.
    ResumeRun,
    CheckRepository,
    /// Share folders instead of copying what is in them.
    ShareFolders,
}

impl GitError {
    pub(crate) fn file(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::File { action, path: path.to_owned(), source: source.into() }
    }

    /// Whether git met the record of a work tree that another git had begun to write.
    pub(crate) fn is_half_record(&self) -> bool {
        matches!(self, Self::Failed { said, .. }
            if said.contains("failed to read") && said.contains("/worktrees/"))
    }

    /// Whether git did not find what was written before: another git has cleared up meanwhile. Then the
    /// same can be done again.
    pub fn is_lost(&self) -> bool {
        const WORDS: [&str; 17] = [
            "bad object",
            "bad tree object",
            "invalid object",
            "invalid sha1 pointer",
            "Error building trees",
            "could not parse",
            "Could not read",
            "could not read",
            "unable to read",
            "unable to find",
            "unable to rename",
            "nonexistent object",
            "not a valid object",
            "Invalid symmetric difference",
            "is not a valid 'tree' object",
            "missing object",
            "cannot be accessed",
        ];
        match self {
            Self::Failed { said, .. } => {
                // Also the file into which git was about to write an object.
                let is_swept = said.contains("No such file or directory");
                is_swept || WORDS.iter().any(|words| said.contains(words))
            }
            Self::Held(Hindrance::Clearing) => true,
            _ => false,
        }
    }

    /// What programs match on.
    pub fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Code::DiskFull
            }
            Self::File { .. } => Code::FileFailed,
            Self::Unavailable { .. } => Code::GitMissing,
            Self::Killed { .. } | Self::Failed { .. } => Code::GitFailed,
            Self::Refused(_) => Code::TreeInTheWay,
            Self::Held(_) => Code::TreeHeld,
            Self::Missing(_) => Code::TreeGone,
            Self::BadInput(mistake) => match mistake {
                Mistake::TreeName { .. }
                | Mistake::UnknownTree { .. }
                | Mistake::UnknownSnapshot { .. } => Code::TreeUnknown,
                Mistake::CommitName { .. } => Code::CommitUnknown,
                Mistake::TooManyFiles { .. } => Code::TooManyFiles,
                Mistake::FilterName { .. } | Mistake::Filtered { .. } => Code::FilterUnknown,
                Mistake::NotText { .. } => Code::NotText,
            },
        }
    }

    /// The trouble of the machine or of the repository behind it, if there is one: then the same may
    /// work another time, and no task is to blame.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Store(error) => error.trouble(),
            Self::File { source, .. } | Self::Unavailable { source } => trouble_of(source),
            Self::Killed { .. } => Some(Trouble::GitDied),
            Self::Failed { said, .. } => Trouble::of_words(said),
            Self::Missing(
                Absence::Branch { .. } | Absence::Record { .. } | Absence::Shown { .. },
            ) => Some(Trouble::Repository),
            Self::Refused(_) | Self::Held(_) | Self::Missing(_) | Self::BadInput(_) => None,
        }
    }

    /// What a person can do about it, where that does not follow from the message.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::File { source, .. } => {
                (source.kind() == io::ErrorKind::StorageFull).then_some(Remedy::MakeSpace)
            }
            Self::Unavailable { .. } => Some(Remedy::InstallGit { version: VERSION_MIN }),
            Self::Killed { .. } => Some(Remedy::TryAgain),
            Self::Store(_) | Self::Failed { .. } => None,
            Self::Refused(refusal) => refusal.remedy(),
            Self::Held(hindrance) => hindrance.remedy(),
            Self::Missing(absence) => absence.remedy(),
            Self::BadInput(mistake) => mistake.remedy(),
        }
    }
}

impl Refusal {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::TreeIsThere { .. } => None,
            Self::FolderIsGone { name } => Some(Remedy::BringBack { tree: name.clone() }),
            Self::BranchIsElsewhere { name }
            | Self::ForeignBranch { name }
            | Self::BranchAsFolder { name, .. } => {
                Some(Remedy::RenameBranch { name: name.clone() })
            }
            Self::TargetIsGone { name } => Some(Remedy::MakeBranch { name: name.clone() }),
        }
    }
}

impl Hindrance {
    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::NoFolder { .. } => Remedy::MoveAway,
            Self::ForeignFolder { .. } | Self::Replaced { .. } => Remedy::MoveAwayOrDelete,
            Self::ForeignTree { name, .. } => Remedy::RemoveTree { name: name.clone() },
            Self::Changing { .. } => Remedy::EndWriters,
            Self::Moving { .. } | Self::Clearing => Remedy::ResumeRun,
            Self::Uncommitted { .. } | Self::NoCommit { .. } => return None,
        })
    }
}

impl Absence {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Branch { .. } => None,
            Self::Tree { .. } => Some(Remedy::ListTrees),
            Self::Record { .. } | Self::Shown { .. } | Self::Snapshot { .. } => {
                Some(Remedy::CheckRepository)
            }
        }
    }
}

impl Mistake {
    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::TreeName { .. } | Self::UnknownTree { .. } | Self::UnknownSnapshot { .. } => {
                Some(Remedy::ListTrees)
            }
            Self::TooManyFiles { .. } => Some(Remedy::ShareFolders),
            Self::CommitName { .. }
            | Self::FilterName { .. }
            | Self::Filtered { .. }
            | Self::NotText { .. } => None,
        }
    }
}
