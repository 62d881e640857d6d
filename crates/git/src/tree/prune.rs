//! Clearing up: trees that no attempt works in are retired by age and by need of space, and old
//! snapshots are deleted.

use super::{
    Trees,
    list::{Snapshot, TreeEntry, list, list_snapshots, lone_branches},
    retire::{Retirement, retire, retire_with_strays},
    trash::{settle, sweep},
};
use crate::error::GitError;
use std::time::Duration;
use waypost_model::time::Time;

/// What is to be cleared up.
#[derive(Clone, Debug, Default)]
pub struct PruneOrder {
    /// Trees that were not used for so long; none: by need alone.
    pub older_than: Option<Duration>,
    /// Trees are retired, the oldest first, until so many bytes are free.
    pub need: Option<u64>,
    /// Snapshots that are older than this; none: they stay.
    pub snapshots_older_than: Option<Duration>,
    /// Trees go even if repositories inside are lost with them.
    pub loses_strays: bool,
}

/// What was cleared up, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Trees that are gone, each with the snapshot that was made of it.
    pub removed: Vec<(String, Option<String>)>,
    /// Trees that stay, each with the reason.
    pub stayed: Vec<(String, String)>,
    /// Snapshots that are gone.
    pub deleted: Vec<String>,
    /// Folders of trees that had been removed earlier and are deleted now.
    pub swept: usize,
}

/// Clears up; trees that `is_working` names are not touched.
pub fn prune(
    trees: &Trees,
    order: &PruneOrder,
    is_working: impl Fn(&str) -> bool,
    now: Time,
) -> Result<Pruned, GitError> {
    let mut pruned = Pruned { swept: sweep(trees)?, ..Pruned::default() };
    let mut entries = list(trees)?;
    entries.retain(|tree| !is_working(&tree.name));
    entries.sort_by_key(used);
    let lone = lone_branches(trees)?.into_iter().filter(|name| !is_working(name));
    for name in lone {
        prune_one(trees, &name, order, &mut pruned)?;
    }
    for tree in &entries {
        let age = used(tree).map(|used| now.since(used));
        let is_old = order.older_than.is_some_and(|limit| age.is_none_or(|age| age >= limit));
        if is_old || !tree.is_there || lacks(trees, order)? {
            prune_one(trees, &tree.name, order, &mut pruned)?;
        }
    }
    if let Some(limit) = order.snapshots_older_than {
        delete_snapshots(trees, limit, now, &mut pruned)?;
    }
    settle(trees);
    Ok(pruned)
}

/// Whether less is free than is needed.
fn lacks(trees: &Trees, order: &PruneOrder) -> Result<bool, GitError> {
    let Some(need) = order.need else { return Ok(false) };
    // What is on its way out counts.
    settle(trees);
    Ok(free_bytes(trees)? < need)
}

fn prune_one(
    trees: &Trees,
    name: &str,
    order: &PruneOrder,
    pruned: &mut Pruned,
) -> Result<(), GitError> {
    let why = "cleared up";
    let retired = match order.loses_strays {
        true => retire_with_strays(trees, name, why),
        false => retire(trees, name, why),
    };
    match retired {
        Ok(Retirement::Removed { snapshot }) => pruned.removed.push((name.to_owned(), snapshot)),
        Ok(retired) => {
            let stayed = retired.why_kept().map(|why| (name.to_owned(), why));
            pruned.stayed.extend(stayed);
        }
        // One that cannot be retired does not keep the others.
        Err(error) => pruned.stayed.push((name.to_owned(), error.to_string())),
    }
    Ok(())
}

fn delete_snapshots(
    trees: &Trees,
    limit: Duration,
    now: Time,
    pruned: &mut Pruned,
) -> Result<(), GitError> {
    for snapshot in list_snapshots(trees)? {
        if now.since(snapshot.at) >= limit && delete_snapshot(trees, &snapshot)? {
            pruned.deleted.push(snapshot.reference);
        }
    }
    Ok(())
}

/// Deletes a snapshot, unless it is another one by now. Says whether it is gone.
pub fn delete_snapshot(trees: &Trees, snapshot: &Snapshot) -> Result<bool, GitError> {
    let delete = ["update-ref", "-d", &snapshot.reference, &snapshot.commit];
    Ok(trees.git()?.try_text(&delete)?.is_some())
}

/// What a snapshot takes on the disk that no branch and no tag has.
pub fn snapshot_size(trees: &Trees, snapshot: &Snapshot) -> Result<u64, GitError> {
    let walk = ["rev-list", "--objects", "--disk-usage", &snapshot.commit];
    let others = ["--not", "--branches", "--remotes", "--tags"];
    let printed = trees.git()?.try_text(&[&walk[..], &others].concat())?;
    Ok(printed.and_then(|printed| printed.parse().ok()).unwrap_or_default())
}

/// Whether the disk has room for another tree.
pub fn has_space(trees: &Trees) -> Result<bool, GitError> {
    Ok(free_bytes(trees)? >= trees.config().min_free_mb.saturating_mul(1 << 20))
}

/// What is free where trees are made.
pub fn free_bytes(trees: &Trees) -> Result<u64, GitError> {
    let root = trees.root();
    let found = rustix::fs::statvfs(root)
        .map_err(|error| GitError::file("tell what is free at", root, error))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// When a tree was last used, as far as git knows.
fn used(tree: &TreeEntry) -> Option<Time> {
    tree.used.max(tree.made)
}
