//! Every layout of a repository that git makes, and none at all.
#![expect(clippy::disallowed_methods, reason = "tests lay out repositories by hand")]

use super::*;
use std::fs;
use tempfile::TempDir;

/// Makes folders (`a/`) and files (`a=text`) below a fresh folder.
fn lay_out(entries: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for entry in entries {
        match entry.split_once('=') {
            Some((path, text)) => {
                fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
                fs::write(top.join(path), text.replace("TOP", top.to_str().unwrap())).unwrap();
            }
            None => fs::create_dir_all(top.join(entry)).unwrap(),
        }
    }
    (folder, top)
}

/// What is found from `start`: root, journal's folder, tree.
#[track_caller]
fn check(entries: &[&str], start: &str, root: &str, state: &str, tree: &str) {
    let (_folder, top) = lay_out(entries);
    let place = Place::find(&top.join(start)).unwrap();
    let found = (place.root, place.state, place.tree.to_string());
    assert_eq!(found, (top.join(root), top.join(state), tree.to_owned()));
}

const REPOSITORY: [&str; 3] = ["p/.git/HEAD=ref: refs/heads/main", "p/.git/objects", "p/.git/refs"];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    [&REPOSITORY[..], more].concat()
}

#[test]
fn a_repository_is_found_from_below() {
    check(&with(&["p/a/b"]), "p/a/b", "p/", "p/.git/waypost", "main");
    check(&with(&["p/.git/hooks"]), "p/.git/hooks", "p", "p/.git/waypost", "main");
}

#[test]
fn work_trees_share_their_journal() {
    for target in ["gitdir: TOP/p/.git/worktrees/side\n", "gitdir: ../p/.git/worktrees/side"] {
        let gitfile = format!("side/.git={target}");
        let entries = [
            &with(&["p/.git/worktrees/side/commondir=../..\n", "side/src"])[..],
            &[gitfile.as_str()],
        ]
        .concat();
        check(&entries, "side/src", "side", "p/.git/waypost", "side");
    }
}

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let entries = with(&["p/.git/modules/sub/HEAD=x", "p/sub/.git=gitdir: ../.git/modules/sub"]);
    check(&entries, "p/sub", "p/sub", "p/.git/modules/sub/waypost", "main");
}

#[test]
fn a_bare_repository_stands_for_its_root() {
    let bare = ["b.git/HEAD=x", "b.git/objects", "b.git/refs/heads"];
    check(&bare, "b.git/refs/heads", "b.git", "b.git/waypost", "main");
}

#[test]
fn outside_git_the_nearest_journal_counts() {
    check(&["a/.waypost", "a/b/c"], "a/b/c", "a", "a/.waypost", "main");
    check(&["a/b"], "a/b", "a/b", "a/b/.waypost", "main");
    // A folder that is merely called `.git` is no repository.
    check(&["a/.git/x", "a/b"], "a/b", "a/b", "a/b/.waypost", "main");
}

#[test]
fn a_work_tree_that_leads_nowhere_is_an_error() {
    let (_folder, top) = lay_out(&["side/.git=gitdir: /nowhere/at/all"]);
    let error = Place::find(&top.join("side")).unwrap_err();
    assert_eq!(error.to_string(), "/nowhere/at/all does not exist");
}

#[test]
fn tree_names_never_meet() {
    let long = "x".repeat(100);
    let names = ["side", "main", &long].map(|name| TreeName::linked(name).to_string());
    assert_eq!(names, ["side", "main~", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx~09ecb6ebc8bcefc7"]);
    assert!(names.iter().all(|name| name.len() <= TREE_NAME_LENGTH_MAX));
    assert_ne!(names[2], TreeName::linked(&"x".repeat(101)).to_string());
}

#[test]
fn work_trees_of_ours_are_known() {
    let table = [
        ("p/worktree/phase-1-core", true),
        ("p/worktree/phase-1-core--T1.1-2", true),
        ("p/worktree/other", false),
        ("phase-1", false),
    ];
    for (path, ours) in table {
        let gitfile = format!("{path}/.git=gitdir: TOP/p/.git/worktrees/t");
        let entries = [&with(&["p/.git/worktrees/t/commondir=../.."])[..], &[&gitfile]].concat();
        let (_folder, top) = lay_out(&entries);
        assert_eq!(Place::find(&top.join(path)).unwrap().is_made_by_waypost(), ours, "{path}");
    }
}

#[test]
fn work_trees_of_ours_are_known_in_bare_repositories() {
    for (path, ours) in [("b.git/worktree/phase-1-core", true), ("worktree/phase-1-core", false)] {
        let gitfile = format!("{path}/.git=gitdir: TOP/b.git/worktrees/t");
        let bare = ["b.git/HEAD=ref: refs/heads/main", "b.git/objects/", "b.git/refs/"];
        let entries = [&bare[..], &["b.git/worktrees/t/commondir=../.."], &[&gitfile]].concat();
        let (_folder, top) = lay_out(&entries);
        assert_eq!(Place::find(&top.join(path)).unwrap().is_made_by_waypost(), ours, "{path}");
    }
}

const OWNED: &str = "p/.waypost/workspaces/.project=../..";

#[test]
fn a_workspace_and_all_that_is_in_it_is_a_part_of_its_project() {
    let own =
        ["HEAD=x", "objects/", "refs/"].map(|it| format!("p/.waypost/workspaces/t1/.git/{it}"));
    let nested = ["HEAD=x", "objects/", "refs/"];
    let nested = nested.map(|it| format!("p/.waypost/workspaces/t1/lib/.git/{it}"));
    let mut entries = with(&[OWNED]);
    entries.extend(own.iter().chain(&nested).map(String::as_str));
    let root = "p/.waypost/workspaces/t1";
    for start in [root, "p/.waypost/workspaces/t1/lib", "p/.waypost/workspaces/t1/.git/refs"] {
        check(&entries, start, root, "p/.git/waypost", "task~t1");
    }
    let (_folder, top) = lay_out(&entries);
    let place = Place::find(&top.join(root)).unwrap();
    assert!(place.is_workspace() && place.is_made_by_waypost());
    assert_eq!(place.git_common, Some(top.join("p/.git")));
    assert_eq!(place.repository(), Some(top.join(root).join(".git")));
    assert_eq!(place.project_root(), top.join("p"));
    // Beside the workspaces it is the project itself.
    check(&entries, "p/.waypost", "p", "p/.git/waypost", "main");
}

#[test]
fn a_workspace_may_be_anywhere_and_its_project_may_be_no_repository() {
    let elsewhere = "data/workspaces/.project=TOP/p";
    let entries = with(&[elsewhere, "data/workspaces/t2/src/"]);
    check(&entries, "data/workspaces/t2/src", "data/workspaces/t2", "p/.git/waypost", "task~t2");
    let plain = ["p/.waypost/workspaces/.project=../..", "p/.waypost/workspaces/t3/"];
    check(
        &plain,
        "p/.waypost/workspaces/t3",
        plain[1].trim_end_matches('/'),
        "p/.waypost",
        "task~t3",
    );
    let (_folder, top) = lay_out(&plain);
    let place = Place::find(&top.join("p/.waypost/workspaces/t3")).unwrap();
    assert_eq!((place.project_root(), place.repository()), (top.join("p"), None));
}

#[test]
fn a_project_with_a_journal_is_no_workspace_of_another_one() {
    let entries = [
        "workspaces/.project=TOP/other",
        "other/",
        "workspaces/p/.git/HEAD=x",
        "workspaces/p/.git/objects/",
        "workspaces/p/.git/refs/",
        "workspaces/p/.git/waypost/journal.db=x",
    ];
    check(&entries, "workspaces/p", "workspaces/p", "workspaces/p/.git/waypost", "main");
    // Without the file that says so, a folder of that name is like any other.
    check(&entries[2..], "workspaces/p", "workspaces/p", "workspaces/p/.git/waypost", "main");
}

#[test]
fn names_of_workspaces_stay_short_and_their_own() {
    let long = TreeName::workspace(&"x".repeat(100));
    assert!(long.as_str().len() <= TREE_NAME_LENGTH_MAX && long.as_str().starts_with(WORKSPACE));
    assert_ne!(long, TreeName::workspace(&"x".repeat(101)));
}
