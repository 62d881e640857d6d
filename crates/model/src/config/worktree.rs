//! `[worktree]`: the work trees in which tasks of a run are worked on.

use crate::diagnostic::Diagnostic;
use crate::layout::{STATE_OUTSIDE_GIT, window::WORKFLOW_FOLDER};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[worktree]`: the work trees of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorktreeConfig {
    /// A command that makes a new work tree ready, such as `npm ci`; empty: none.
    pub setup: String,
    /// Folders of the project that every work tree shares, such as `node_modules`: a link leads to
    /// them.
    pub share: Vec<String>,
    /// Files that a task leaves and git ignores, as patterns of `.gitignore`: they are copied into the
    /// project's folder when the task's work is joined, and every new work tree begins with them.
    pub keep: Vec<String>,
    /// After so many days the work tree of a failed task is removed, its work kept in a snapshot; 0 is never.
    pub keep_days: u32,
    /// After so many days a snapshot may be deleted; 0 is never.
    pub snapshot_days: u32,
    /// No work tree is made while less than this is free on the disk, in megabytes.
    pub min_free_mb: u64,
}

impl Default for WorktreeConfig {
    fn default() -> Self {
        Self {
            setup: String::new(),
            share: Vec::new(),
            keep: Vec::new(),
            keep_days: 7,
            snapshot_days: 30,
            min_free_mb: 1_024,
        }
    }
}

impl WorktreeConfig {
    /// The setup command, if there is one.
    pub fn setup(&self) -> Option<&str> {
        Some(self.setup.trim()).filter(|setup| !setup.is_empty())
    }

    /// Findings about folders that cannot be shared, and patterns that match nothing.
    pub(super) fn check(&self) -> Vec<Diagnostic> {
        let wrong = self.share.iter().filter(|folder| !is_plain(folder));
        let finding = |folder: &String| {
            Diagnostic::error("out_of_range", format!("`worktree.share` has `{folder}`"))
                .path("worktree.share")
                .expected("folders below the project, such as node_modules")
        };
        let is_odd =
            |pattern: &&String| pattern.trim().is_empty() || pattern.contains(char::is_control);
        let odd = |pattern: &String| {
            Diagnostic::error("out_of_range", format!("`worktree.keep` has `{pattern}`"))
                .path("worktree.keep")
                .expected("patterns as in .gitignore, such as /dist/")
        };
        wrong.map(finding).chain(self.keep.iter().filter(is_odd).map(odd)).collect()
    }
}

/// Whether a folder is below the project by its name alone, and not git's or ours.
fn is_plain(folder: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    let is_taken = |first: &str| {
        ["worktree", STATE_OUTSIDE_GIT, WORKFLOW_FOLDER].contains(&first)
            || first.eq_ignore_ascii_case(".git")
    };
    let is_odd = |c: char| c.is_control() || "\\*?[!#".contains(c);
    folder.split('/').all(is_name)
        && !is_taken(folder.split('/').next().unwrap_or_default())
        && !folder.contains(is_odd)
        && folder.trim() == folder
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn only_folders_below_the_project_are_shared() {
        for folder in ["node_modules", "target", "web/node_modules", ".venv", "my cache"] {
            assert!(is_plain(folder), "{folder}");
        }
        for folder in [
            "",
            "/",
            "/tmp",
            "..",
            "a/../..",
            "a//b",
            "a/",
            ".",
            ".git",
            ".GIT/hooks",
            "worktree/x",
            "a\nb",
            "*",
            "!a",
            "#a",
            " a",
            ".waypost",
        ] {
            assert!(!is_plain(folder), "{folder:?}");
        }
    }
}
