//! Work trees and conversations as data.

use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use waypost_engine::WorkTree;

/// The work trees of runs and of sessions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TreeList<'a> {
    pub(crate) trees: Vec<TreeReport<'a>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TreeReport<'a> {
    /// The folder below the project, and the branch.
    pub(crate) name: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) phase: Option<u32>,
    /// The request of a session that it is for.
    pub(crate) request: Option<&'a str>,
    pub(crate) task: Option<&'a str>,
    pub(crate) attempt: Option<u32>,
    pub(crate) state: &'static str,
    /// The branch that is checked out; none: a detached head.
    pub(crate) branch: Option<&'a str>,
    pub(crate) head: Option<&'a str>,
    pub(crate) dirty: bool,
    pub(crate) size_bytes: u64,
    pub(crate) used_at: Option<String>,
    pub(crate) processes: Vec<TreeProcess<'a>>,
    /// The refs of its snapshots, the oldest first.
    pub(crate) snapshots: &'a [String],
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TreeProcess<'a> {
    pub(crate) pid: u32,
    pub(crate) program: &'a str,
}

impl<'a> From<&'a WorkTree> for TreeReport<'a> {
    fn from(tree: &'a WorkTree) -> Self {
        let processes = tree.processes.iter();
        Self {
            name: &tree.name,
            path: &tree.path,
            phase: tree.phase,
            request: tree.request.as_deref(),
            task: tree.task.as_deref(),
            attempt: tree.attempt,
            state: tree.state.as_str(),
            branch: tree.branch.as_deref(),
            head: tree.head.as_deref(),
            dirty: tree.is_dirty,
            size_bytes: tree.size_bytes,
            used_at: tree.used_at.map(|at| at.to_string()),
            processes: processes.map(|(pid, program)| TreeProcess { pid: *pid, program }).collect(),
            snapshots: &tree.snapshots,
        }
    }
}

/// A work tree that was brought back.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UndoneTree<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: &'a Path,
    /// The snapshot that it is made from; none: only its folder was gone.
    pub(crate) snapshot: Option<&'a str>,
}

/// What was cleared up.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PruneReport<'a> {
    pub(crate) removed: Vec<PrunedTree<'a>>,
    pub(crate) stayed: Vec<StayedTree<'a>>,
    pub(crate) deleted_snapshots: &'a [String],
    /// How many folders of trees that had been removed earlier are deleted now.
    pub(crate) swept: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PrunedTree<'a> {
    pub(crate) name: &'a str,
    pub(crate) snapshot: Option<&'a str>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StayedTree<'a> {
    pub(crate) name: &'a str,
    pub(crate) reason: &'a str,
}

/// How the conversation of a task is opened.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OpenedReport<'a> {
    /// The task, of a run or of the server.
    pub(crate) id: String,
    pub(crate) agent: &'a str,
    pub(crate) command: &'a [String],
    pub(crate) folder: &'a Path,
}
