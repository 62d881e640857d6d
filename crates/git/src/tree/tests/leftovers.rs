//! What a making or a removal leaves that was cut off: it is found, known for ours and retired.

use super::{NAME, Repository, write};
use crate::tree::{make, retire, settle, sweep, traces};
use std::fs;

const SHORT: &str = "phase-1-cart--T1.1-1";

/// Retires what `left` has left, then makes the tree, and retires that.
fn check(left: impl Fn(&Repository)) {
    let repository = Repository::new();
    left(&repository);
    let trees = repository.trees();
    sweep(&trees).unwrap();
    assert_eq!(traces(&trees).unwrap().into_iter().collect::<Vec<_>>(), [NAME]);
    retire(&trees, NAME, "test").unwrap();
    assert_nothing_left(&repository);
    // No engine may have been there to put it away before the tree is wanted.
    left(&repository);
    assert!(make(&trees, NAME, "main").unwrap().is_new);
    retire(&trees, NAME, "test").unwrap();
    assert_nothing_left(&repository);
}

fn assert_nothing_left(repository: &Repository) {
    let trees = repository.trees();
    sweep(&trees).unwrap();
    settle(&trees);
    assert_eq!(repository.state(), "worktree .\nrefs/heads/main");
    assert_eq!(traces(&trees).unwrap().len(), 0);
    let common = repository.root.join(".git");
    assert!(!repository.root.join("worktree").exists());
    for folder in ["worktrees", "waypost/trees/making", "waypost/trees/gone"] {
        let left = fs::read_dir(common.join(folder));
        assert_eq!(left.into_iter().flatten().count(), 0, "{folder}");
    }
}

#[test]
fn a_branch_is_all_that_was_made() {
    check(|repository| drop(repository.git(&format!("branch {NAME}"))));
}

#[test]
fn a_folder_is_all_that_was_made() {
    check(|repository| fs::create_dir_all(repository.root.join(NAME)).unwrap());
}

#[test]
fn a_record_was_begun() {
    check(|repository| write(&record(repository, "locked"), "waypost: x"));
    check(|repository| write(&record(repository, "gitdir"), ""));
}

#[test]
fn a_tree_was_never_ready() {
    check(never_ready);
}

#[test]
fn a_folder_vanished_that_was_never_ready() {
    check(|repository| {
        never_ready(repository);
        fs::remove_dir_all(repository.root.join(NAME)).unwrap();
    });
}

#[test]
fn git_was_taking_back_what_it_made() {
    check(|repository| {
        never_ready(repository);
        write(&repository.root.join(".git/waypost/trees/making").join(SHORT), "");
        fs::remove_file(record(repository, "locked")).unwrap();
        fs::remove_file(record(repository, "HEAD")).unwrap();
    });
    check(|repository| {
        never_ready(repository);
        write(&repository.root.join(".git/waypost/trees/making").join(SHORT), "");
        fs::remove_dir_all(repository.root.join(".git/worktrees").join(SHORT)).unwrap();
        fs::remove_file(repository.root.join(NAME).join(".git")).unwrap();
    });
}

#[test]
fn what_is_in_the_way_of_a_tree_is_not_taken_for_ours() {
    let repository = Repository::new();
    let trees = repository.trees();
    repository.git("branch worktree");
    assert!(make(&trees, NAME, "main").is_err(), "git cannot make a branch below another");
    write(&repository.root.join(NAME).join("users.txt"), "mine");
    assert!(make(&trees, NAME, "main").is_err());
    assert!(retire(&trees, NAME, "test").is_err());
    assert!(repository.root.join(NAME).join("users.txt").exists());
}

#[test]
fn a_record_was_on_its_way_out() {
    let repository = Repository::new();
    write(&repository.root.join(".git/waypost/trees/gone").join(SHORT).join("HEAD"), "x");
    assert_nothing_left(&repository);
}

fn never_ready(repository: &Repository) {
    let mut words = vec!["worktree", "add", "-q", "--lock", "--reason"];
    let reason = format!("waypost:{NAME}");
    words.extend([reason.as_str(), "-b", NAME, NAME]);
    repository.git(&words.join(" "));
    write(&record(repository, "locked"), &format!("waypost: {NAME}"));
}

fn record(repository: &Repository, file: &str) -> std::path::PathBuf {
    repository.root.join(".git/worktrees").join(SHORT).join(file)
}
