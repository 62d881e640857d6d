//! Retiring a work tree: moved aside, inspected, kept in a snapshot if need be, removed.

use super::{
    Trees,
    inspection::{InspectedTree, inspect, only_here},
    make::{TreeCondition, clear_remains, condition, guard_folder},
    name, nested, processes,
    record::{TreeMark, TreeRecord, TreeStage},
    snapshot::{Closeness, is_still, keep, keep_commits, refill, until_kept},
    trash::{delete_soon, fresh_trash, move_from_trash, move_to_trash, trash_path},
};
use crate::error::{GitError, Hindrance};
use std::fs;
use waypost_store::file;

/// Git's records of trees that are gone, to be deleted.
pub(super) const GONE: &str = "trees/gone";

/// How often a tree is looked at again that changes while it is looked at.
const LOOKS_MAX: usize = 3;

/// What came of retiring a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retirement {
    /// It is gone, and its branch; what was nowhere else is under this ref.
    Removed { snapshot: Option<String> },
    /// Processes are in it; nothing has changed.
    InUse { processes: Vec<(u32, String)> },
    /// It has something that cannot be kept in a snapshot; nothing has changed.
    Refused { reason: String },
    /// There is no such tree.
    Gone,
}

impl Retirement {
    /// Why the tree is still there, where it is.
    pub fn why_kept(&self) -> Option<String> {
        match self {
            Self::Removed { .. } | Self::Gone => None,
            Self::Refused { reason } => Some(reason.clone()),
            Self::InUse { processes } => {
                let who = processes.iter().map(|(pid, name)| format!("{name} ({pid})"));
                Some(format!("{} is in it", who.collect::<Vec<_>>().join(", ")))
            }
        }
    }
}

/// What a look at a tree that is to go came to.
enum Secured {
    Safe { snapshot: Option<String>, branch: Option<String> },
    Refused(String),
}

/// Keeps in a snapshot what would be lost, makes sure of it, and removes tree and branch.
pub fn retire(trees: &Trees, name: &str, why: &str) -> Result<Retirement, GitError> {
    remove(trees, name, why, Strays::Refuse)
}

/// As `retire`; repositories inside the tree are lost with it.
pub fn retire_with_strays(trees: &Trees, name: &str, why: &str) -> Result<Retirement, GitError> {
    remove(trees, name, why, Strays::Lose)
}

fn remove(trees: &Trees, name: &str, why: &str, strays: Strays) -> Result<Retirement, GitError> {
    name::check(name)?;
    let (trees, _turn) = trees.turn(name)?;
    guard_folder(&trees)?;
    let standing = match condition(&trees, name)? {
        // Its index may have something that no commit has.
        TreeCondition::Missing(..) => refill(&trees, name)?,
        standing => standing,
    };
    match standing {
        TreeCondition::Ready(record, mark) => {
            let trash = fresh_trash(&trees, name)?;
            let folder = trash_path(&trees, &trash);
            let subject = InspectedTree { name: name.to_owned(), record, mark, folder };
            take_away(&trees, &subject, trash, why, strays)
        }
        TreeCondition::Nothing => {
            // Git may have made an empty folder and no more.
            let _none = fs::remove_dir(trees.path(name));
            drop_branch(&trees, name, why)
        }
        TreeCondition::Partial | TreeCondition::Missing(..) => {
            clear_remains(&trees, name)?;
            drop_branch(&trees, name, why)
        }
    }
}

fn take_away(
    trees: &Trees,
    subject: &InspectedTree,
    trash: String,
    why: &str,
    strays: Strays,
) -> Result<Retirement, GitError> {
    let InspectedTree { name, record, mark, folder } = subject;
    let path = trees.path(name);
    let processes = processes::in_folder(&path);
    if !processes.is_empty() {
        return Ok(Retirement::InUse { processes });
    }
    record.set_mark(&TreeMark { stage: TreeStage::Away(trash.clone()), ..mark.clone() })?;
    move_to_trash(trees, &path, &trash)?;
    let back = || {
        move_from_trash(trees, &trash, &path)?;
        record.set_mark(&TreeMark { stage: TreeStage::Ready, ..mark.clone() })
    };
    let processes = processes::in_folder(folder);
    if !processes.is_empty() {
        back()?;
        return Ok(Retirement::InUse { processes });
    }
    let secured =
        until_kept(trees, subject, |closeness| secure(trees, subject, (why, closeness), strays));
    match secured {
        Ok(Secured::Safe { snapshot, branch }) => {
            let leaving = TreeStage::Leaving { trash, branch };
            let mark = TreeMark { stage: leaving, ..mark.clone() };
            record.set_mark(&mark)?;
            finish_removal(trees, name, record, &mark)?;
            Ok(Retirement::Removed { snapshot })
        }
        Ok(Secured::Refused(reason)) => back().map(|()| Retirement::Refused { reason }),
        Err(error) => {
            back()?;
            Err(error)
        }
    }
}

/// Makes sure that nothing is lost with a tree.
fn secure(
    trees: &Trees,
    subject: &InspectedTree,
    (why, closeness): (&str, Closeness),
    strays: Strays,
) -> Result<Secured, GitError> {
    for _ in 0..LOOKS_MAX {
        let seen = inspect(trees, subject)?;
        if strays == Strays::Refuse
            && let Some(reason) = nested::unsaved(trees, subject, &seen)?
        {
            return Ok(Secured::Refused(reason));
        }
        let branch = seen.own_branch.clone();
        if !seen.has_something_to_lose() {
            return Ok(Secured::Safe { snapshot: None, branch });
        }
        let kept = keep(trees, subject, &seen, (why, closeness))?;
        if is_still(trees, subject, &seen, &kept)? {
            return Ok(Secured::Safe { snapshot: kept.reference, branch });
        }
    }
    Err(Hindrance::Changing { name: subject.name.clone() }.into())
}

/// Removes what remains of a tree that has nothing to lose.
pub(super) fn finish_removal(
    trees: &Trees,
    name: &str,
    record: &TreeRecord,
    mark: &TreeMark,
) -> Result<(), GitError> {
    let TreeStage::Leaving { trash, branch } = &mark.stage else { return Ok(()) };
    if let Some(commit) = branch {
        delete_branch(trees, name, commit)?;
    }
    forget_record(trees, record)?;
    delete_soon(trees, trash);
    Ok(())
}

/// Has git know a tree no more. Its record goes in one step, with our mark in it: of half a
/// record it could not be told any more whose it was.
pub(super) fn forget_record(trees: &Trees, record: &TreeRecord) -> Result<(), GitError> {
    let gone = trees.state().join(GONE);
    file::make_private_folder(&gone)?;
    let name = record.folder.file_name().unwrap_or_default();
    let number = trees.now().millis();
    let to = gone.join(format!("{}.{number}", name.to_string_lossy()));
    trees.with_list(|| {
        if record.folder.symlink_metadata().is_ok() {
            file::rename(&record.folder, &to)?;
        }
        // Git has no folder without records either.
        let _is_in_use = fs::remove_dir(trees.common().join("worktrees"));
        Ok(())
    })?;
    // Whatever stays is deleted by the next sweep.
    let _left = fs::remove_dir_all(&to);
    Ok(())
}

/// Deletes the branch of a tree unless it was moved meanwhile.
fn delete_branch(trees: &Trees, name: &str, commit: &str) -> Result<(), GitError> {
    let branch = format!("refs/heads/{name}");
    let git = trees.git()?;
    git.try_text(&["update-ref", "-d", &branch, commit])?;
    let config = fs::read(trees.common().join("config")).unwrap_or_default();
    let section = format!("[branch \"{name}\"]");
    if config.windows(section.len()).any(|part| part == section.as_bytes()) {
        git.try_text(&["config", "--local", "--remove-section", &format!("branch.{name}")])?;
    }
    Ok(())
}

/// Retires a branch whose tree is gone.
fn drop_branch(trees: &Trees, name: &str, why: &str) -> Result<Retirement, GitError> {
    let Some(commit) = trees.branch_at(name)? else { return Ok(Retirement::Gone) };
    let is_lost = !only_here(trees, name, std::slice::from_ref(&commit))?.is_empty();
    let snapshot = match is_lost {
        true => Some(keep_commits(trees, name, why, &commit, &[])?),
        false => None,
    };
    delete_branch(trees, name, &commit)?;
    Ok(Retirement::Removed { snapshot })
}

/// What becomes of repositories inside a tree that have work of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strays {
    Refuse,
    Lose,
}
