//! Work trees, snapshots and merges: everything that Waypost does with git.
//!
//! Knows repositories, trees and branches, and of a run no more than plain values of the model. When
//! something is done, and what follows from it, is the engine's business. Everything here may be
//! done twice, and may be cut off at any point: the next call finds how far it came.
//!
//! *Absent:* a clock (the time is handed in), the journal, agents.

mod command;
mod content;
mod durable;
mod error;
mod kept;
pub mod mend;
pub mod merge;
pub mod packs;
pub mod publish;
pub mod record;
pub mod tree;
mod trees;
pub mod workspace;

pub use command::{Git, Hold, VERSION_MIN, VERSION_TO_REVERT, exclude, version};
pub use content::{Leaving, changed_since, content, content_of_tree, filters, git_at, stray};
pub use error::{Absence, GitError, Hindrance, Mistake, Refusal, Remedy};
pub use kept::{KeptContent, keep_content};
pub use merge::{
    BranchKind, Committed, Join, Land, Landing, Occupant, Outlook, PhaseBranch, Reverted, Stamp,
    name_some,
};
pub use tree::{IgnoredOutputs, PruneOrder, Pruned, Retirement, TreeEntry, name, size};
pub use trees::{Trees, TreesPlace};
