//! The work trees of a project's runs: made, inspected, retired, brought back.
//!
//! A tree has one name: its folder below the project's root, and its branch. Whatever is in a tree
//! and nowhere else is kept in a snapshot, a commit under `refs/waypost/snapshots`, before the tree
//! is removed; and no tree is removed while a process is in it. Every step may be the last one of a
//! process that is killed: the next call finds how far it came and goes on from there.
//!
//! Git is told by variables which repository and which tree it works on. What an agent writes into
//! its tree's `.git` leads it nowhere else.
//!
//! Deliberately not here: when a tree is made or retired, and everything about merging.

mod bring_back;
mod copied_files;
mod files;
mod index;
mod inspection;
mod leftovers;
mod list;
mod locks;
mod lost_objects;
mod make;
pub mod name;
mod nested;
mod outputs;
pub(crate) mod processes;
mod prune;
mod record;
mod replica;
mod retire;
mod shared_folders;
mod snapshot;
mod staging;
mod trash;

pub use bring_back::{BroughtBack, bring_back};
pub use files::files_of;
pub(crate) use leftovers::{Leftovers, keep_leftovers, restore_paths, take_out};
pub use list::{
    Snapshot, TreeEntry, earlier, list, list_snapshots, lone_branches, names, size, traces,
};
pub use locks::{begin_work, end_work, release_locks};
pub(crate) use lost_objects::{base_of, rebuild};
pub(crate) use make::foresee;
pub use make::{MadeTree, make};
pub use outputs::{IgnoredOutputs, ignored_outputs, keep_outputs};
pub use prune::{PruneOrder, Pruned, delete_snapshot, free_bytes, has_space, prune, snapshot_size};
pub(crate) use record::{MARK, REASON, TreeMark, TreeRecord, TreeStage};
pub use replica::{Replica, replicate};
pub use retire::{Retirement, retire, retire_with_strays};
pub(crate) use snapshot::known;
pub use snapshot::take_snapshot;
pub(crate) use staging::{stage, stage_among_others};
pub(crate) use trash::Emptying;
pub use trash::{settle, sweep};

pub use crate::trees::{Trees, TreesPlace};

#[cfg(test)]
pub(crate) mod tests;

#[cfg(test)]
pub(crate) use tests::{Moment, end_if_cut, trees_of};
