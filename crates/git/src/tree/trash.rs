//! The trash: folders of trees that are being removed, or have been and are not deleted yet.
//!
//! A tree goes there in one step, so that no process finds half of it. It comes back the same way as
//! long as it is not given up. What no tree's mark names any more may be deleted by any process.

use super::{
    Trees,
    make::{condition, is_free, make_folder, unusable},
    name,
    record::{TreeRecord, TreeStage},
    retire::GONE,
};
use crate::error::GitError;
use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::mpsc,
    thread::{self, JoinHandle},
};
use waypost_store::file;

const TRASH: &str = "worktree/.trash";

/// The thread that deletes folders, one after another.
#[derive(Debug)]
pub(crate) struct Emptying {
    folders: mpsc::Sender<PathBuf>,
    thread: JoinHandle<()>,
}

pub(super) fn trash_path(trees: &Trees, trash: &str) -> PathBuf {
    trees.root().join(TRASH).join(trash)
}

/// A name in the trash that is free. The caller has the turn of the tree.
pub(super) fn fresh_trash(trees: &Trees, tree: &str) -> Result<String, GitError> {
    make_folder(&trees.root().join(TRASH))?;
    let first = trees.now().millis();
    let names = (first..).map(|number| format!("{}.{number}", name::short(tree)));
    let mut free = names.filter(|name| trash_path(trees, name).symlink_metadata().is_err());
    Ok(free.next().expect("there are more numbers than folders"))
}

pub(super) fn move_to_trash(trees: &Trees, path: &Path, trash: &str) -> Result<(), GitError> {
    Ok(file::rename(path, &trash_path(trees, trash))?)
}

/// Moves a tree out of the trash to its place; `false`: it is not in there.
pub(super) fn move_from_trash(trees: &Trees, trash: &str, path: &Path) -> Result<bool, GitError> {
    let from = trash_path(trees, trash);
    if from.symlink_metadata().is_err() || !is_free(path)? {
        return Ok(false);
    }
    file::rename(&from, path)?;
    Ok(true)
}

/// Has a folder of the trash deleted while others go on.
pub(super) fn delete_soon(trees: &Trees, trash: &str) {
    let path = trash_path(trees, trash);
    let mut emptying = trees.emptying();
    let emptying = emptying.get_or_insert_with(|| {
        let (folders, given) = mpsc::channel::<PathBuf>();
        // What cannot be deleted stays in the trash, where the next sweep finds it.
        let delete_all = move || given.iter().for_each(|folder| drop(delete(&folder)));
        Emptying { folders, thread: thread::spawn(delete_all) }
    });
    // A thread that is gone leaves the folder for the next sweep.
    let _left = emptying.folders.send(path);
}

/// Waits until everything that was to be deleted is.
pub fn settle(trees: &Trees) {
    let emptying = trees.emptying().take();
    if let Some(Emptying { folders, thread }) = emptying {
        drop(folders);
        // What it could not delete is found by the next sweep.
        let _left = thread.join();
    }
    // Only folders that have nothing in them go.
    let folders = [trees.root().join(TRASH), trees.root().join(name::FOLDER)];
    folders.iter().for_each(|folder| drop(fs::remove_dir(folder)));
}

/// Finishes what a process that was killed has left: trees on their way out go on or come back,
/// and what no tree needs in the trash is deleted. Returns how many folders that were.
pub fn sweep(trees: &Trees) -> Result<usize, GitError> {
    let trash = trees.root().join(TRASH);
    // Looked at before the marks: a tree's mark is set before its folder comes here.
    let listed: Vec<String> = fs::read_dir(&trash)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let mut needed = Vec::new();
    for (record, path) in TreeRecord::all(trees.common())? {
        let Some(name) = trees.name_of(&path) else { continue };
        if let Some(TreeStage::Away(_) | TreeStage::Leaving { .. }) =
            record.mark()?.map(|it| it.stage)
        {
            let (trees, _turn) = trees.turn(&name)?;
            condition(&trees, &name)?;
            if let Some(TreeStage::Away(trash)) = record.mark()?.map(|it| it.stage) {
                needed.push(trash);
            }
        }
    }
    // No tree refers to these, and another process that is deleting one finds it gone.
    let _left = fs::remove_dir_all(trees.state().join(GONE));
    let listed: Vec<String> = listed.into_iter().filter(|it| !needed.contains(it)).collect();
    let there = listed.iter().filter(|it| trash_path(trees, it).symlink_metadata().is_ok());
    let count = there.clone().count();
    there.for_each(|it| delete_soon(trees, it));
    Ok(count)
}

/// Deletes a folder and all in it; links are not followed.
fn delete(folder: &Path) -> Result<(), GitError> {
    let deleted = match fs::remove_dir_all(folder) {
        // Some tools take the right to write from the folders they fill.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(folder);
            fs::remove_dir_all(folder)
        }
        deleted => deleted,
    };
    match deleted {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(folder, error)),
        _ => Ok(()),
    }
}

/// Gives the user all rights to folders below, which are his.
fn open_up(folder: &Path) {
    let all = fs::Permissions::from_mode(0o700);
    // A folder that is not ours to change keeps its content in the trash.
    let _kept = fs::set_permissions(folder, all);
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
