//! Which names at the top level of a git folder are carried over.

use super::Role;
use std::ffi::OsStr;
use waypost_model::workflow::Rights;

/// What happens to a file of the top level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes in, and comes out as the call has left it.
    Carried,
    /// It goes in and cannot be changed there.
    Shown,
    /// As shown, without credentials.
    Configuration,
    /// It does not go in.
    Left,
}

/// Folders of a rebase, a cherry-pick or a revert that is not finished.
pub(super) const UNFINISHED: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];

/// Files that a commit, a merge or a checkout leaves at the top level of a work tree's folder. None of
/// them makes git run anything.
const OF_COMMITS: &[&str] = &[
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "SQUASH_MSG",
    "COMMIT_EDITMSG",
    "TAG_EDITMSG",
    "NOTES_EDITMSG",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
];

/// Files that all work trees share.
const OF_REPOSITORIES: &[&str] = &["packed-refs", "shallow"];

pub(super) fn unfinished(name: &OsStr) -> Option<&'static str> {
    UNFINISHED.iter().copied().find(|known| name == *known)
}

/// Whether a name is the index, or a part of a split one.
pub(super) fn is_index(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_part = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    name == "index" || name.strip_prefix("sharedindex.").is_some_and(is_part)
}

/// Whether a file is one of those that git puts into each new repository, to be read by people.
pub(super) fn is_sample(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".sample")
}

pub(super) fn fate(name: &OsStr, role: Role, rights: Rights) -> Fate {
    let Some(text) = name.to_str() else { return Fate::Left };
    let open = |is_open: bool| if is_open { Fate::Carried } else { Fate::Shown };
    match text {
        "config" | "config.worktree" => Fate::Configuration,
        "commondir" | "gitdir" => Fate::Shown,
        _ if text.ends_with(".lock") => Fate::Left,
        _ if is_index(name) => open(role != Role::Shared),
        _ if OF_REPOSITORIES.contains(&text) => open(rights.commit && role != Role::Linked),
        _ if OF_COMMITS.contains(&text) => open(rights.commit && role != Role::Shared),
        _ => Fate::Left,
    }
}
