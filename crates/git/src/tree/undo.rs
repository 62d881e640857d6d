//! Bringing a work tree back from its snapshot: files, index, head and branch as they were.

use super::{
    Trees,
    admin::{Mark, REASON, Stage},
    list::Snapshot,
    make::Standing,
    name,
    snapshot::INDEX_FILE,
};
use crate::{
    error::{Absence, GitError, Mistake, Refusal},
    git::Git,
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

impl Trees {
    /// Makes a work tree at its old place of its newest snapshot, or of the one with this number.
    pub fn undo(&self, name: &str, number: Option<u64>) -> Result<BroughtBack, GitError> {
        name::check(name)?;
        let (trees, _turn) = self.turn(name)?;
        trees.guard_folder()?;
        trees.exclude()?;
        let path = trees.path(name);
        match trees.standing(name)? {
            Standing::Ready(..) => {
                return Err(Refusal::TreeIsThere { name: name.to_owned() }.into());
            }
            Standing::Missing(admin, mark) if number.is_none() => {
                if trees.remake(&path, &admin, &mark)? {
                    return Ok(BroughtBack { path, snapshot: None });
                }
                trees.clear(name)?;
            }
            Standing::Missing(..) => {
                return Err(Refusal::FolderIsGone { name: name.to_owned() }.into());
            }
            Standing::Partial => trees.clear(name)?,
            Standing::Nothing => {}
        }
        let snapshot = trees.snapshot_of(name, number)?;
        trees.restore(name, &snapshot)?;
        Ok(BroughtBack { path, snapshot: Some(snapshot.reference) })
    }

    fn snapshot_of(&self, name: &str, number: Option<u64>) -> Result<Snapshot, GitError> {
        let all = self.snapshots()?.into_iter();
        let mut fitting = all.filter(|it| it.name == name && number.is_none_or(|n| it.number == n));
        let unknown = || Mistake::UnknownSnapshot { name: name.to_owned() }.into();
        fitting.next_back().ok_or_else(unknown)
    }

    fn restore(&self, name: &str, snapshot: &Snapshot) -> Result<(), GitError> {
        let git = self.git()?.durable();
        let commit = &*snapshot.commit;
        let told = git.text(&["show", "--no-patch", "--format=%(trailers:only)", commit])?;
        let told: BTreeMap<&str, &str> = told
            .lines()
            .filter_map(|line| line.strip_prefix("Waypost-")?.split_once(": "))
            .collect();
        let of = |key: &str| told.get(key).copied().filter(|value| *value != "none");
        self.restore_branch(&git, name, of("Branch"))?;
        let reason = format!("{REASON}{name}");
        let add = ["worktree", "add", "--quiet", "--lock", "--reason", &reason];
        git.text(&[&add[..], &["--no-checkout", "--detach", name, commit]].concat())?;
        let path = self.path(name);
        let admin = self.admin(name)?;
        let admin = admin.ok_or_else(|| Absence::Record { name: name.to_owned() })?;
        let git = self.git_of(&admin, &path)?;
        let scratch = self.scratch(name)?;
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
                file::replace_volatile(&admin.folder.join("index"), &bytes, file::SHARED)?;
            }
        }
        // What differs is no failure.
        git.try_text(&["update-index", "-q", "--refresh"])?;
        self.furnish(&path)?;
        let base = of("Base").or(at).unwrap_or(commit).to_owned();
        admin.set_mark(&Mark { made: self.now(), base, stage: Stage::Ready })
    }

    /// Puts the tree's branch where it was; one that is elsewhere now is somebody's work.
    fn restore_branch(&self, git: &Git, name: &str, at: Option<&str>) -> Result<(), GitError> {
        let Some(at) = at else { return Ok(()) };
        match self.branch_at(name)? {
            Some(found) if found == at => Ok(()),
            Some(_) => Err(Refusal::BranchIsElsewhere { name: name.to_owned() }.into()),
            None => {
                let branch = format!("refs/heads/{name}");
                git.text(&["update-ref", &branch, at, &"0".repeat(at.len())]).map(drop)
            }
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
