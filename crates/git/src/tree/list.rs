//! What there is: trees of ours, and snapshots.

use super::{
    Trees,
    inspection::{InspectedTree, inspect},
    name, processes,
    record::{self, TreeRecord, TreeStage},
    snapshot::REFS,
};
use crate::error::GitError;
use std::{collections::BTreeSet, fs, io, path::Path};
use waypost_model::{id::TaskId, run::TREES, time::Time};
use waypost_store::file;

/// A work tree of ours as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub name: String,
    /// The branch that is checked out; none: a detached head.
    pub branch: Option<String>,
    pub head: Option<String>,
    /// Its folder is where it should be.
    pub is_there: bool,
    /// Something in it is not committed.
    pub is_dirty: bool,
    /// Something of it is nowhere else.
    pub is_needed: bool,
    pub made: Option<Time>,
    /// When git last wrote down something about it.
    pub used: Option<Time>,
    pub processes: Vec<(u32, String)>,
}

/// A snapshot of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub reference: String,
    /// The tree that it is of.
    pub name: String,
    pub number: u64,
    pub commit: String,
    pub at: Time,
}

/// The trees that are ours, by name.
pub fn list(trees: &Trees) -> Result<Vec<TreeEntry>, GitError> {
    let mut found = Vec::new();
    for (record, path) in TreeRecord::all(trees.common())? {
        let Some(name) = trees.name_of(&path) else { continue };
        let mark = record.mark()?;
        if mark.is_none() && !record.is_locked_by_us() {
            continue;
        }
        let used = ["index", "logs/HEAD", "HEAD"].map(|file| changed(&record.folder.join(file)));
        let mut entry = TreeEntry {
            name: name.clone(),
            branch: None,
            head: None,
            is_there: path.join(".git").symlink_metadata().is_ok(),
            is_dirty: false,
            is_needed: true,
            made: mark.as_ref().map(|mark| mark.made),
            used: used.into_iter().flatten().max(),
            processes: processes::in_folder(&path),
        };
        match mark {
            Some(mark) if entry.is_there && mark.stage == TreeStage::Ready => {
                let seen = inspect(trees, &InspectedTree { name, record, mark, folder: path })?;
                entry.is_needed = seen.has_something_to_lose() || !seen.nested.is_empty();
                entry.is_dirty = seen.is_changed;
                (entry.branch, entry.head) = (seen.branch, seen.commit);
            }
            // It was never ready: no attempt has worked in it.
            None => entry.is_needed = false,
            Some(_) => {}
        }
        found.push(entry);
    }
    Ok(found)
}

/// The names of everything that is a tree of ours or was to become one: folders, git's
/// records, and branches of attempts that have neither.
pub fn traces(trees: &Trees) -> Result<BTreeSet<String>, GitError> {
    let mut found: BTreeSet<String> = names(trees)?.into_iter().collect();
    let records = TreeRecord::all(trees.common())?.into_iter();
    found.extend(records.filter_map(|(_, path)| trees.name_of(&path)));
    found.extend(record::all_begun(trees.common()));
    found.extend(lone_branches(trees)?);
    Ok(found)
}

/// Branches of attempts that have no tree.
pub fn lone_branches(trees: &Trees) -> Result<Vec<String>, GitError> {
    let list = ["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/worktree"];
    let listed = trees.git()?.text(&list)?;
    let is_attempt = |name: &&str| name::is_name(name) && name::attempt(name).is_some();
    let mut lone = Vec::new();
    for name in listed.lines().filter(is_attempt) {
        if trees.record(name)?.is_none() {
            lone.push(name.to_owned());
        }
    }
    Ok(lone)
}

/// The names of all folders and branches that are work trees of ours, or were.
pub fn names(trees: &Trees) -> Result<BTreeSet<String>, GitError> {
    let folder = trees.root().join(TREES);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => Some(entries),
        // The making of a work tree says what is in the way.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            None
        }
        Err(error) => return Err(GitError::file("read", &folder, error)),
    };
    let folders = entries.into_iter().flatten().flatten();
    let folders = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let list = ["for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/worktree/"];
    let branches = trees.git()?.text(&list)?;
    let names = folders.chain(branches.lines().map(str::to_owned));
    let ours = names.filter(|name| name::is_short(name));
    Ok(ours.map(|name| format!("{TREES}/{name}")).collect())
}

/// Work trees of other attempts at a task than the one that is called `name`.
pub fn earlier(
    trees: &Trees,
    phase: &str,
    id: &TaskId,
    name: &str,
) -> Result<Vec<String>, GitError> {
    let start = format!("{phase}--{id}-");
    if name.strip_prefix(&start) == Some("1") {
        return Ok(Vec::new());
    }
    let is_other = |it: &String| {
        let number = it.strip_prefix(&start).filter(|_| it != name);
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    Ok(names(trees)?.into_iter().filter(is_other).collect())
}

/// All snapshots, by tree, the oldest first.
pub fn list_snapshots(trees: &Trees) -> Result<Vec<Snapshot>, GitError> {
    let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
    let listed = trees.git()?.text(&["for-each-ref", "--sort=version:refname", format, REFS])?;
    let parse = |line: &str| {
        let mut words = line.split(' ');
        let reference = words.next()?.to_owned();
        let (tree, number) = reference.strip_prefix(REFS)?.strip_prefix('/')?.split_once('/')?;
        let (name, number) = (format!("{}/{tree}", name::FOLDER), number.parse().ok()?);
        let commit = words.next()?.to_owned();
        let at = Time::from_millis(words.next()?.parse::<i64>().ok()?.saturating_mul(1_000));
        Some(Snapshot { reference, name, number, commit, at })
    };
    Ok(listed.lines().filter_map(parse).collect())
}

/// The space that a folder takes, links not followed.
pub fn size(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()) + found.blocks() * 512,
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    });
    sizes.sum()
}

/// When a file was last written.
fn changed(path: &Path) -> Option<Time> {
    let mark = file::Mark::of(path).ok().flatten()?;
    Some(Time::from_millis(i64::try_from(mark.mtime_ns / 1_000_000).ok()?))
}
