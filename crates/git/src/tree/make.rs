//! Making a work tree, and finding out how far an earlier making or removal came.

use super::{
    Trees, copied_files,
    inspection::only_here,
    name, outputs,
    record::{self, REASON, TreeMark, TreeRecord, TreeStage},
    retire::{finish_removal, forget_record},
    shared_folders,
    snapshot::keep_commits,
    trash::{delete_soon, fresh_trash, move_from_trash, move_to_trash},
};
use crate::{
    command::{self, Git},
    error::{Absence, GitError, Hindrance, Mistake},
};
use rustix::fs::{Access, access};
use std::{
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};
use waypost_store::file;

/// A work tree that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeTree {
    pub path: PathBuf,
    /// It has just been made, or made again: nothing that a setup command does is in it.
    pub is_new: bool,
}

/// How a tree stands before something is done about it.
#[derive(Debug)]
pub(super) enum TreeCondition {
    Nothing,
    Ready(TreeRecord, TreeMark),
    /// The folder is gone or half filled; git still knows the tree.
    Missing(TreeRecord, TreeMark),
    /// It was never ready.
    Partial,
}

/// Makes a work tree with a branch of the same name at `base`, locked, ready to work in.
///
/// One that is there is kept as it is. One whose folder was deleted is made again from
/// its index and its branch; a branch that is there without a tree is taken up, unless `base`
/// has all of it.
pub fn make(trees: &Trees, name: &str, base: &str) -> Result<MadeTree, GitError> {
    name::check(name)?;
    if !command::is_safe_ref(base) {
        return Err(Mistake::CommitName { name: base.to_owned() }.into());
    }
    let (trees, _turn) = trees.turn(name)?;
    guard_folder(&trees)?;
    trees.exclude()?;
    let path = trees.path(name);
    match condition(&trees, name)? {
        TreeCondition::Ready(..) => return Ok(MadeTree { path, is_new: false }),
        TreeCondition::Missing(record, mark) if remake(&trees, &path, &record, &mark)? => {
            return Ok(MadeTree { path, is_new: true });
        }
        TreeCondition::Missing(..) | TreeCondition::Partial => clear_remains(&trees, name)?,
        TreeCondition::Nothing => {}
    }
    note_making(&trees, name)?;
    if let Err(error) = trees.with_list(|| add_tree(&trees, name, base)) {
        if !matches!(error, GitError::Killed { .. }) {
            forget_making(&trees, name)?;
        }
        return Err(error);
    }
    let record = trees.record(name)?;
    let record = record.ok_or_else(|| Absence::Record { name: name.to_owned() })?;
    make_full(&record)?;
    let git = trees.git_of(&record, &path)?;
    if let Err(error) = git.text(&["reset", "--hard", "--quiet"]) {
        if !matches!(error, GitError::Killed { .. }) {
            clear_remains(&trees, name)?;
        }
        return Err(error);
    }
    let base = match resolved(base) {
        true => base.to_owned(),
        false => git.text(&["rev-parse", "--verify", "HEAD"])?,
    };
    furnish(&trees, &path)?;
    record.set_mark(&TreeMark { made: trees.now(), base, stage: TreeStage::Ready })?;
    forget_making(&trees, name)?;
    Ok(MadeTree { path, is_new: true })
}

/// Notes that git is making a tree. Should that fail, git takes away what it made, and killed
/// at that it may leave anything but the lock that would tell whose it is.
fn note_making(trees: &Trees, name: &str) -> Result<(), GitError> {
    Ok(file::replace_volatile(&making_note(trees, name), b"", file::PRIVATE)?)
}

fn forget_making(trees: &Trees, name: &str) -> Result<(), GitError> {
    Ok(file::remove(&making_note(trees, name))?)
}

fn making_note(trees: &Trees, name: &str) -> PathBuf {
    trees.state().join("trees/making").join(name::short(name))
}

/// Refuses to work below a link or a file.
pub(super) fn guard_folder(trees: &Trees) -> Result<(), GitError> {
    let folder = trees.root().join(name::FOLDER);
    match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Hindrance::NoFolder { path: folder }.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_folder(&folder),
        Err(error) => Err(unusable(&folder, error)),
    }
}

/// Finds out how a tree stands; what an earlier removal has left undone is done first.
pub(super) fn condition(trees: &Trees, name: &str) -> Result<TreeCondition, GitError> {
    let path = trees.path(name);
    let Some(record) = trees.record(name)? else {
        if let Some(begun) = record::begun(trees.common(), name) {
            fs::remove_dir_all(&begun).map_err(|error| unusable(&begun, error))?;
        }
        refuse_foreign(trees, name, None)?;
        let is_free = is_free(&path)?;
        return Ok(if is_free { TreeCondition::Nothing } else { TreeCondition::Partial });
    };
    let Some(mark) = record.mark()? else {
        refuse_foreign(trees, name, Some(&record))?;
        return Ok(TreeCondition::Partial);
    };
    let is_there = path.join(".git").symlink_metadata().is_ok();
    match &mark.stage {
        TreeStage::Ready | TreeStage::Away(_) if is_there => Ok(TreeCondition::Ready(record, mark)),
        TreeStage::Away(trash) if move_from_trash(trees, trash, &path)? => {
            Ok(TreeCondition::Ready(record, mark))
        }
        TreeStage::Ready | TreeStage::Remaking | TreeStage::Away(_) => {
            Ok(TreeCondition::Missing(record, mark))
        }
        TreeStage::Leaving { .. } => {
            finish_removal(trees, name, &record, &mark)?;
            Ok(TreeCondition::Nothing)
        }
    }
}

/// Refuses to touch what stands in the place of a tree and is not ours.
fn refuse_foreign(trees: &Trees, name: &str, record: Option<&TreeRecord>) -> Result<(), GitError> {
    let path = trees.path(name);
    // The place was free when a making was noted, and only the run was let in since.
    let is_noted = making_note(trees, name).exists();
    match record {
        None if is_noted || is_free(&path)? => Ok(()),
        None => Err(Hindrance::ForeignFolder { path }.into()),
        Some(record) if is_noted || record.is_locked_by_us() || record.mark()?.is_some() => Ok(()),
        Some(_) => Err(Hindrance::ForeignTree { path, name: name.to_owned() }.into()),
    }
}

/// Says what would keep a tree from being made, by looking alone: something that is not ours stands
/// in its place, or nothing can be written there.
pub(crate) fn foresee(trees: &Trees, name: &str) -> Result<(), GitError> {
    let folder = trees.root().join(name::FOLDER);
    let nearest = match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => folder,
        Ok(_) => return Err(Hindrance::NoFolder { path: folder }.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => trees.root().to_owned(),
        Err(error) => return Err(unusable(&folder, error)),
    };
    let common = trees.common();
    for place in [nearest, common.to_owned(), common.join("objects")] {
        access(&place, Access::WRITE_OK)
            .map_err(|error| GitError::file("write to", &place, io::Error::from(error)))?;
    }
    refuse_foreign(trees, name, trees.record(name)?.as_ref())
}

/// Fills a tree again whose folder has vanished; `false`: its branch has vanished as well.
pub(super) fn remake(
    trees: &Trees,
    path: &Path,
    record: &TreeRecord,
    mark: &TreeMark,
) -> Result<bool, GitError> {
    let git = trees.git_of(record, trees.root())?.variable("GIT_WORK_TREE", path);
    if git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])?.is_none() {
        return Ok(false);
    }
    if !is_free(path)? && path.join(".git").symlink_metadata().is_err() {
        return Err(Hindrance::Replaced { path: path.to_owned() }.into());
    }
    record.set_mark(&TreeMark { stage: TreeStage::Remaking, ..mark.clone() })?;
    make_folder(path)?;
    let pointer = [b"gitdir: ", record.folder.as_os_str().as_bytes(), b"\n"].concat();
    file::replace_volatile(&path.join(".git"), &pointer, file::SHARED)?;
    let git = trees.git_of(record, path)?;
    if git.try_text(&["checkout-index", "--all", "--force", "--quiet"])?.is_none() {
        git.text(&["reset", "--hard", "--quiet"])?;
    }
    furnish(trees, path)?;
    record.set_mark(&TreeMark { stage: TreeStage::Ready, ..mark.clone() })?;
    Ok(true)
}

/// Takes away what is left of a tree that no attempt has worked in, or that has lost its folder and
/// its branch; commits that only its log knows are kept. A branch stays.
pub(super) fn clear_remains(trees: &Trees, name: &str) -> Result<(), GitError> {
    let path = trees.path(name);
    if let Some(record) =
        trees.record(name)?.filter(|record| record.mark().is_ok_and(|it| it.is_some()))
    {
        let lost = only_here(trees, name, &record.heads(trees.common(), name)?)?;
        if let Some(last) = lost.last() {
            keep_commits(trees, name, "its folder and its branch are gone", last, &lost)?;
        }
    }
    if path.symlink_metadata().is_ok() {
        let trash = fresh_trash(trees, name)?;
        move_to_trash(trees, &path, &trash)?;
        delete_soon(trees, &trash);
    }
    if let Some(record) = trees.record(name)? {
        forget_record(trees, &record)?;
    }
    forget_making(trees, name)
}

/// Has git make the tree, with no files in it: they take long, and others wait for the list of trees.
fn add_tree(trees: &Trees, name: &str, base: &str) -> Result<(), GitError> {
    let git = trees.git()?;
    let reason = format!("{REASON}{name}");
    let start = ["worktree", "add", "--no-checkout", "--quiet", "--lock", "--reason", &reason];
    let error = match git.text(&[&start[..], &["--no-track", "-b", name, name, base]].concat()) {
        Ok(_) => return Ok(()),
        Err(error @ GitError::Killed { .. }) => return Err(error),
        Err(error) => error,
    };
    let branch = format!("refs/heads/{name}");
    if git.try_text(&["rev-parse", "--verify", "--quiet", &branch])?.is_none() {
        return Err(error);
    }
    let arguments = match has(&git, base, &branch)? {
        true => [&start[..], &["--no-track", "-B", name, name, base]].concat(),
        false => [&start[..], &[name, name]].concat(),
    };
    git.text(&arguments).map(drop)
}

/// Has a tree hold all files, also where the user's checkout has only some: git gives its choice to new
/// trees, and what an earlier task made outside of it would not be there. An agent's own git finds the
/// same.
fn make_full(record: &TreeRecord) -> Result<(), GitError> {
    let chosen = record.folder.join("info/sparse-checkout");
    if chosen.symlink_metadata().is_err() {
        return Ok(());
    }
    let own = record.folder.join("config.worktree");
    if own.symlink_metadata().is_ok() {
        let path = own.to_string_lossy();
        let git = Git::at(&record.folder);
        git.text(&["config", "--file", &path, "core.sparseCheckout", "false"])?;
    }
    Ok(file::remove(&chosen)?)
}

/// Puts in what the project says that a tree needs beside what git has put there.
pub(super) fn furnish(trees: &Trees, path: &Path) -> Result<(), GitError> {
    copied_files::copy(trees, path)?;
    outputs::give(trees, path)?;
    shared_folders::link(trees, path)
}

/// Whether `commit` has everything that `branch` has.
fn has(git: &Git, commit: &str, branch: &str) -> Result<bool, GitError> {
    Ok(git.try_text(&["merge-base", "--is-ancestor", branch, commit])?.is_some())
}

/// Whether a text is the full name of a commit.
fn resolved(base: &str) -> bool {
    matches!(base.len(), 40 | 64) && base.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether nothing stands at `path`, or an empty folder.
pub(super) fn is_free(path: &Path) -> Result<bool, GitError> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            let mut entries = fs::read_dir(path).map_err(|error| unusable(path, error))?;
            Ok(entries.next().is_none())
        }
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(unusable(path, error)),
    }
}

pub(super) fn make_folder(path: &Path) -> Result<(), GitError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(unusable(path, error)),
        _ => Ok(()),
    }
}

pub(super) fn unusable(path: &Path, error: io::Error) -> GitError {
    GitError::file("use", path, error)
}
