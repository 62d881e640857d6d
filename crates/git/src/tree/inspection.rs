//! A look at a work tree: what would be lost with it.
//!
//! Two calls of git where there is nothing: one that compares files, index and commit, and one that
//! asks whether another branch has the commits. Waypost's own files do not count.

use super::{
    Trees, index, name,
    record::{TreeMark, TreeRecord},
    snapshot::REFS,
};
use crate::error::GitError;
use std::path::PathBuf;

/// A tree that is looked at.
#[derive(Clone, Debug)]
pub(super) struct InspectedTree {
    pub(super) name: String,
    pub(super) record: TreeRecord,
    pub(super) mark: TreeMark,
    /// Where its folder stands now.
    pub(super) folder: PathBuf,
}

impl InspectedTree {
    /// The bytes of an object's name in this repository.
    pub(super) fn oid_length(&self) -> usize {
        self.mark.base.len() / 2
    }
}

/// What belongs to Waypost and its windows, and is no work.
pub(super) const OWN: [&str; 4] = [
    ":(exclude,top).develop-workflow",
    ":(exclude,top).claude/orchestrate-state.json",
    ":(exclude,top).claude/settings.local.json",
    ":(exclude,top).waypost",
];

/// Everything in a tree that is not Waypost's own.
const WORK: [&str; 5] = [".", OWN[0], OWN[1], OWN[2], OWN[3]];

/// Branches of attempts: those go as well, so what only they have counts as kept nowhere.
const ATTEMPTS: &str = "--exclude=worktree/phase-*--*";

/// How a tree was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inspection {
    /// The commit that is checked out; none before a first one.
    pub(super) commit: Option<String>,
    /// The branch that is checked out; none: the head is detached.
    pub(super) branch: Option<String>,
    /// Where the tree's own branch is.
    pub(super) own_branch: Option<String>,
    /// Files are not as in the commit, or git was told not to look at them.
    pub(super) is_changed: bool,
    /// Git was told not to look at some files.
    pub(super) has_blinkers: bool,
    /// The index is not as the commit.
    pub(super) is_staged: bool,
    /// Folders with a repository of their own that git does not track.
    pub(super) nested: Vec<Vec<u8>>,
    /// Folders with a repository of their own that git tracks by its commit.
    pub(super) links: Vec<(Vec<u8>, String)>,
    /// Commits that no other ref has.
    pub(super) lost: Vec<String>,
}

impl Inspection {
    pub(super) fn has_something_to_lose(&self) -> bool {
        self.is_changed || !self.lost.is_empty()
    }
}

/// Looks at a tree.
pub(super) fn inspect(trees: &Trees, subject: &InspectedTree) -> Result<Inspection, GitError> {
    let InspectedTree { name, record, .. } = subject;
    let mut seen = inspect_files(trees, subject)?;
    seen.own_branch = match &seen.branch {
        Some(branch) if branch == name => seen.commit.clone(),
        _ => trees.branch_at(name)?,
    };
    let mut heads = record.heads(trees.common(), name)?;
    heads.extend(seen.commit.iter().chain(&seen.own_branch).cloned());
    heads.sort();
    heads.dedup();
    seen.lost = only_here(trees, name, &heads)?;
    Ok(seen)
}

/// Looks at a tree's files, and not at its commits.
pub(super) fn inspect_files(
    trees: &Trees,
    subject: &InspectedTree,
) -> Result<Inspection, GitError> {
    let InspectedTree { record, folder, .. } = subject;
    let git = trees.git_of(record, folder)?;
    let status = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"];
    let plain = ["--no-renames", "--no-ahead-behind", "--"];
    let mut seen = match git.try_bytes(&[&status[..], &plain, &WORK].concat())? {
        Some(printed) => parse(&printed),
        // The index is at fault; a snapshot finds out what there is without it.
        None => {
            let branch = git.try_text(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
            let commit = git.try_text(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
            Inspection {
                commit,
                branch,
                is_changed: true,
                is_staged: true,
                ..Inspection::default()
            }
        }
    };
    let found = record.index()?.map(|it| index::read(&it.bytes, subject.oid_length()));
    match found {
        Some(Some(found)) => {
            seen.is_changed |= found.has_blinkers || found.is_unfinished;
            seen.has_blinkers = found.has_blinkers;
            seen.is_staged |= found.is_unfinished;
            seen.links = found.links;
        }
        Some(None) => seen.is_changed = true,
        None => {}
    }
    Ok(seen)
}

/// Those of some commits that no branch, tag or ref of ours has when this tree is gone.
pub(super) fn only_here(
    trees: &Trees,
    name: &str,
    heads: &[String],
) -> Result<Vec<String>, GitError> {
    only_here_beyond(trees, name, heads, None)
}

/// As `lost`; what `had` is made from is not lost either.
pub(super) fn only_here_beyond(
    trees: &Trees,
    name: &str,
    heads: &[String],
    had: Option<&str>,
) -> Result<Vec<String>, GitError> {
    if heads.is_empty() {
        return Ok(Vec::new());
    }
    let own = format!("--exclude={name}");
    // Its own snapshots do not count, so that the same look always finds the same.
    let kept = format!("--exclude={REFS}/{}/*", name::short(name));
    let refs = ["--branches", "--remotes", "--tags", &kept, "--glob=refs/waypost"];
    let others = [ATTEMPTS, &own].into_iter().chain(refs);
    let heads_given = heads.iter().map(String::as_str);
    let mut arguments = vec!["rev-list", "--ignore-missing"];
    arguments.extend(heads_given.chain(["--not"]).chain(had).chain(others));
    let listed = trees.git()?.text(&arguments)?;
    let mut lost: Vec<String> = listed
        .lines()
        .filter(|line| heads.iter().any(|it| it == line))
        .map(str::to_owned)
        .collect();
    lost.sort();
    Ok(lost)
}

/// Reads what `status` says.
fn parse(printed: &[u8]) -> Inspection {
    let mut seen = Inspection::default();
    for record in printed.split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(record);
        if let Some(commit) = text.strip_prefix("# branch.oid ") {
            seen.commit = (commit != "(initial)").then(|| commit.to_owned());
        } else if let Some(branch) = text.strip_prefix("# branch.head ") {
            seen.branch = (branch != "(detached)").then(|| branch.to_owned());
        } else {
            match record {
                [b'1' | b'2', b' ', staged, ..] => {
                    seen.is_changed = true;
                    seen.is_staged |= *staged != b'.';
                }
                [b'u', ..] => (seen.is_changed, seen.is_staged) = (true, true),
                // A repository of its own is not changed content of this one.
                [b'?', b' ', path @ .., b'/'] => seen.nested.push(path.to_vec()),
                [b'?', ..] => seen.is_changed = true,
                _ => {}
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::OWN_SETTINGS;
    use waypost_model::layout::{data, window};

    #[test]
    fn what_is_waypost_s_own_is_what_the_layout_names() {
        let names = [window::WORKFLOW_FOLDER, window::RUN, OWN_SETTINGS, data::FOLDER];
        assert_eq!(OWN.map(str::to_owned), names.map(|name| format!(":(exclude,top){name}")));
    }

    #[test]
    fn what_status_says_is_understood() {
        let printed = b"# branch.oid 1234\0# branch.head (detached)\0\
                        1 .M N... 100644 100644 100644 a a x y\0? new\0? nested/\0";
        assert_eq!(
            parse(printed),
            Inspection {
                commit: Some("1234".into()),
                is_changed: true,
                nested: vec![b"nested".to_vec()],
                ..Inspection::default()
            }
        );
        let clean = parse(b"# branch.oid (initial)\0# branch.head main\0");
        assert_eq!(clean, Inspection { branch: Some("main".into()), ..Inspection::default() });
    }
}
