//! Bringing a work tree back from its snapshot: files, index, head and branch as they were.

use super::{
    Trees,
    list::{Snapshot, list_snapshots},
    make::{TreeCondition, clear_remains, condition, furnish, guard_folder, remake},
    name,
    record::{REASON, TreeMark, TreeStage},
    snapshot::{INDEX_FILE, scratch_of},
};
use crate::{
    command::Git,
    error::{Absence, GitError, Mistake, Refusal},
};
use std::{collections::BTreeMap, path::PathBuf};
use waypost_store::file;

/// A tree that is back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BroughtBack {
    pub path: PathBuf,
    /// The snapshot it is made from; none: only its folder was gone.
    pub snapshot: Option<String>,
}

/// Makes a work tree at its old place of its newest snapshot, or of the one with this number.
pub fn bring_back(trees: &Trees, name: &str, number: Option<u64>) -> Result<BroughtBack, GitError> {
    name::check(name)?;
    let (trees, _turn) = trees.turn(name)?;
    guard_folder(&trees)?;
    trees.exclude()?;
    let path = trees.path(name);
    match condition(&trees, name)? {
        TreeCondition::Ready(..) => {
            return Err(Refusal::TreeIsThere { name: name.to_owned() }.into());
        }
        TreeCondition::Missing(record, mark) if number.is_none() => {
            if remake(&trees, &path, &record, &mark)? {
                return Ok(BroughtBack { path, snapshot: None });
            }
            clear_remains(&trees, name)?;
        }
        TreeCondition::Missing(..) => {
            return Err(Refusal::FolderIsGone { name: name.to_owned() }.into());
        }
        TreeCondition::Partial => clear_remains(&trees, name)?,
        TreeCondition::Nothing => {}
    }
    let snapshot = snapshot_of(&trees, name, number)?;
    restore(&trees, name, &snapshot)?;
    Ok(BroughtBack { path, snapshot: Some(snapshot.reference) })
}

fn snapshot_of(trees: &Trees, name: &str, number: Option<u64>) -> Result<Snapshot, GitError> {
    let all = list_snapshots(trees)?.into_iter();
    let mut fitting = all.filter(|it| it.name == name && number.is_none_or(|n| it.number == n));
    let unknown = || Mistake::UnknownSnapshot { name: name.to_owned() }.into();
    fitting.next_back().ok_or_else(unknown)
}

fn restore(trees: &Trees, name: &str, snapshot: &Snapshot) -> Result<(), GitError> {
    let git = trees.git()?.durable();
    let commit = &*snapshot.commit;
    let told = git.text(&["show", "--no-patch", "--format=%(trailers:only)", commit])?;
    let told: BTreeMap<&str, &str> =
        told.lines().filter_map(|line| line.strip_prefix("Waypost-")?.split_once(": ")).collect();
    let of = |key: &str| told.get(key).copied().filter(|value| *value != "none");
    restore_branch(trees, &git, name, of("Branch"))?;
    let reason = format!("{REASON}{name}");
    let add = ["worktree", "add", "--quiet", "--lock", "--reason", &reason];
    let add = [&add[..], &["--no-checkout", "--detach", name, commit]].concat();
    trees.with_list(|| git.text(&add))?;
    let path = trees.path(name);
    let record = trees.record(name)?;
    let record = record.ok_or_else(|| Absence::Record { name: name.to_owned() })?;
    let git = trees.git_of(&record, &path)?;
    let scratch = scratch_of(trees, name)?;
    let files = git.clone().variable("GIT_INDEX_FILE", scratch.0.join("files"));
    files.text(&["read-tree", commit])?;
    files.text(&["checkout-index", "--all", "--force", "--quiet"])?;
    let (head, at) = (of("Head").unwrap_or("detached"), of("Commit"));
    restore_head(&git, head, at)?;
    match of("Index").unwrap_or("head") {
        "head" => drop(git.text(&["read-tree", at.unwrap_or("--empty")])?),
        "tree" => drop(git.text(&["read-tree", commit])?),
        index => {
            let bytes = git.bytes(&["cat-file", "blob", &format!("{index}:{INDEX_FILE}")])?;
            file::replace_volatile(&record.folder.join("index"), &bytes, file::SHARED)?;
        }
    }
    // What differs is no failure.
    git.try_text(&["update-index", "-q", "--refresh"])?;
    furnish(trees, &path)?;
    let base = of("Base").or(at).unwrap_or(commit).to_owned();
    record.set_mark(&TreeMark { made: trees.now(), base, stage: TreeStage::Ready })
}

/// Puts the tree's branch where it was; one that is elsewhere now is a person's work.
fn restore_branch(trees: &Trees, git: &Git, name: &str, at: Option<&str>) -> Result<(), GitError> {
    let Some(at) = at else { return Ok(()) };
    match trees.branch_at(name)? {
        Some(found) if found == at => Ok(()),
        Some(_) => Err(Refusal::BranchIsElsewhere { name: name.to_owned() }.into()),
        None => {
            let branch = format!("refs/heads/{name}");
            git.text(&["update-ref", &branch, at, &"0".repeat(at.len())]).map(drop)
        }
    }
}

/// Puts the head where it was. A branch that has moved since is not checked out: it would look as if
/// the work since then had been taken back.
fn restore_head(git: &Git, head: &str, at: Option<&str>) -> Result<(), GitError> {
    let branch = format!("refs/heads/{head}");
    let found = match head {
        "detached" => None,
        _ => git.try_text(&["rev-parse", "--verify", "--quiet", &branch])?,
    };
    let is_branch = head != "detached" && found.as_deref() == at;
    match at {
        _ if is_branch => git.text(&["symbolic-ref", "HEAD", &branch]).map(drop),
        Some(at) => git.text(&["update-ref", "--no-deref", "HEAD", at]).map(drop),
        None => Ok(()),
    }
}
