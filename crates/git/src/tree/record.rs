//! What git keeps of a linked work tree, `.git/worktrees/ID`, and our mark in there.
//!
//! The mark says that a tree is ready, or how far its removal has come. It is out of the tree, and
//! goes with git's own record of it. A tree without a mark has never been worked in.

use super::{index::IndexFile, name};
use crate::error::GitError;
use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};
use waypost_model::time::Time;
use waypost_store::file;

/// The name of our mark.
pub(crate) const MARK: &str = "waypost";
/// What git's lock on a tree of ours says first.
pub(crate) const REASON: &str = "waypost: ";
/// Files here are a line or a few; what is larger is not git's.
const SIZE_MAX: u64 = 64 << 10;
/// A log grows by a line with each commit.
const LOG_SIZE_MAX: u64 = 64 << 20;
/// How many commits of a log are asked about, the newest first.
const LOG_MAX: usize = 100;

/// Git's record of one linked work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeRecord {
    pub(crate) folder: PathBuf,
}

/// Our mark in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeMark {
    pub(crate) made: Time,
    /// The commit that the tree began with.
    pub(crate) base: String,
    pub(crate) stage: TreeStage,
}

/// Where a tree is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeStage {
    /// An attempt may work in it.
    Ready,
    /// Its folder had vanished and is being filled again.
    Remaking,
    /// It may stand in the trash under this name, and is not given up yet.
    Away(String),
    /// Nothing would be lost any more: what remains of it is to be removed, and its branch if it is
    /// still at this commit.
    Leaving { trash: String, branch: Option<String> },
}

impl TreeRecord {
    /// Git's record of the tree at `path`; none if there is no such tree.
    pub(crate) fn find(common: &Path, path: &Path) -> Result<Option<Self>, GitError> {
        let all = common.join("worktrees");
        if let Some(name) = path.file_name() {
            let first = Self { folder: all.join(name) };
            if first.path()?.as_deref() == Some(path) {
                return Ok(Some(first));
            }
        }
        let mut every = Self::all(common)?.into_iter();
        Ok(every.find(|(_, of)| of == path).map(|(record, _)| record))
    }

    /// All records with the trees that they are of.
    pub(crate) fn all(common: &Path) -> Result<Vec<(Self, PathBuf)>, GitError> {
        let entries = match fs::read_dir(common.join("worktrees")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(GitError::file("read", &common.join("worktrees"), error)),
        };
        let mut found = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let record = Self { folder: entry.path() };
            if let Some(path) = record.path()? {
                found.push((record, path));
            }
        }
        found.sort_by(|(_, one), (_, other)| one.cmp(other));
        Ok(found)
    }

    /// The tree that this is about.
    pub(crate) fn path(&self) -> Result<Option<PathBuf>, GitError> {
        let Some(text) = self.read("gitdir", SIZE_MAX)? else { return Ok(None) };
        let text = text.trim_ascii_end().to_vec();
        let dot_git = self.folder.join(std::ffi::OsString::from_vec(text));
        Ok(dot_git.parent().map(Path::to_owned))
    }

    /// Whether git's lock on the tree is ours.
    pub(crate) fn is_locked_by_us(&self) -> bool {
        let reason = self.read("locked", SIZE_MAX).ok().flatten().unwrap_or_default();
        reason.starts_with(REASON.as_bytes())
    }

    pub(crate) fn mark(&self) -> Result<Option<TreeMark>, GitError> {
        let text = self.read(MARK, SIZE_MAX)?;
        Ok(text.and_then(|text| TreeMark::parse(&String::from_utf8_lossy(&text))))
    }

    pub(super) fn set_mark(&self, mark: &TreeMark) -> Result<(), GitError> {
        let text = mark.to_string();
        Ok(file::replace_volatile(&self.folder.join(MARK), text.as_bytes(), file::PRIVATE)?)
    }

    /// The index as it is.
    pub(super) fn index(&self) -> Result<Option<IndexFile>, GitError> {
        const INDEX_SIZE_MAX: u64 = 1 << 30;
        // Should it be written meanwhile, a time that is too early only means a closer look.
        let written = self.index_path().symlink_metadata().and_then(|it| it.modified());
        let bytes = self.read("index", INDEX_SIZE_MAX)?;
        Ok(bytes.zip(written.ok()).map(|(bytes, written)| IndexFile { bytes, written }))
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// Commits that only this tree may know: of its log, and of whatever it was in the middle of.
    pub(super) fn heads(&self, common: &Path, branch: &str) -> Result<Vec<String>, GitError> {
        let mut found = BTreeSet::new();
        let branch_log = common.join("logs/refs/heads").join(branch);
        for log in [self.folder.join("logs/HEAD"), branch_log] {
            let text = read(&log, LOG_SIZE_MAX)?.unwrap_or_default();
            let newest = text.rsplit(|byte| *byte == b'\n').take(LOG_MAX + 1);
            found.extend(
                newest.flat_map(|line| line.splitn(3, |byte| *byte == b' ')).filter_map(oid),
            );
        }
        let mut files: Vec<PathBuf> = ["rebase-merge", "rebase-apply"]
            .iter()
            .flat_map(|step| ["orig-head", "autostash", "onto", "stopped-sha"].map(|it| (step, it)))
            .map(|(step, it)| self.folder.join(step).join(it))
            .collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok) {
            let name = entry.file_name();
            let is_head = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
            if name.as_bytes().iter().all(is_head) && name != "AUTO_MERGE" {
                files.push(entry.path());
            }
        }
        collect_files(&self.folder.join("refs"), &mut files);
        for path in files {
            let text = read(&path, SIZE_MAX).ok().flatten().unwrap_or_default();
            let first = |line: &[u8]| oid(line.split(|byte| byte.is_ascii_whitespace()).next()?);
            found.extend(text.split(|byte| *byte == b'\n').take(LOG_MAX).filter_map(first));
        }
        found.retain(|oid| oid.bytes().any(|byte| byte != b'0'));
        Ok(found.into_iter().collect())
    }

    fn read(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, GitError> {
        read(&self.folder.join(name), max)
    }
}

impl TreeMark {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let made = lines.next()?.strip_prefix("made ")?.parse().ok()?;
        let base = lines.next()?.strip_prefix("base ")?.to_owned();
        let stage = match lines.next()?.split_once(' ') {
            Some(("stage", "ready")) => TreeStage::Ready,
            Some(("stage", "remaking")) => TreeStage::Remaking,
            Some(("away", trash)) if is_plain(trash) => TreeStage::Away(trash.to_owned()),
            Some(("leaving", rest)) => {
                let (branch, trash) = rest.split_once(' ').filter(|(_, it)| is_plain(it))?;
                let branch = oid(branch.as_bytes());
                TreeStage::Leaving { trash: trash.to_owned(), branch }
            }
            _ => return None,
        };
        Some(Self { made: Time::from_millis(made), base, stage })
    }
}

impl std::fmt::Display for TreeMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "made {}\nbase {}", self.made.millis(), self.base)?;
        match &self.stage {
            TreeStage::Ready => writeln!(f, "stage ready"),
            TreeStage::Remaking => writeln!(f, "stage remaking"),
            TreeStage::Away(trash) => writeln!(f, "away {trash}"),
            TreeStage::Leaving { trash, branch } => {
                writeln!(f, "leaving {} {trash}", branch.as_deref().unwrap_or("-"))
            }
        }
    }
}

/// Whether a name in a mark stays in the trash.
fn is_plain(trash: &str) -> bool {
    !trash.contains('/') && !matches!(trash, "" | "." | "..")
}

/// The record's folder of a tree that git has only begun to make: it says of which tree nowhere.
pub(super) fn begun(common: &Path, tree: &str) -> Option<PathBuf> {
    let folder = common.join("worktrees").join(name::short(tree));
    let is_begun = folder.is_dir() && !has_gitdir(&folder);
    is_begun.then_some(folder)
}

/// The names of trees that git has only begun to make.
pub(super) fn all_begun(common: &Path) -> Vec<String> {
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let trees = names.map(|it| format!("{}/{it}", name::FOLDER));
    trees.filter(|tree| name::is_name(tree) && begun(common, tree).is_some()).collect()
}

/// Whether a record says where its tree is.
fn has_gitdir(record: &Path) -> bool {
    record.join("gitdir").symlink_metadata().is_ok_and(|found| found.len() > 0)
}

/// The name of an object, if this is one.
fn oid(text: &[u8]) -> Option<String> {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_oid = matches!(text.len(), 40 | 64) && text.iter().all(is_hex);
    is_oid.then(|| String::from_utf8_lossy(text).into_owned())
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    const FILES_MAX: usize = 1_000;
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect_files(&entry.path(), files),
            Ok(kind) if kind.is_file() && files.len() < FILES_MAX => files.push(entry.path()),
            _ => {}
        }
    }
}

fn read(path: &Path, max: u64) -> Result<Option<Vec<u8>>, GitError> {
    match file::read_bounded(path, max) {
        Ok(found) => Ok(found),
        Err(waypost_store::StoreError::File { source, .. })
            if source.kind() == io::ErrorKind::NotADirectory =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
