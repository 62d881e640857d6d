//! Retiring trees: nothing is lost, and no process is surprised.

use super::{NAME, Repository, conflict, git, write};
use crate::tree::{Retirement, retire, settle, stage, take_snapshot};
use std::{fs, os::unix::fs::MetadataExt as _, path::Path, thread, time::Duration};

const SNAPSHOT: &str = "refs/waypost/snapshots/phase-1-cart--T1.1-1/1";

fn kept(snapshot: &str) -> Retirement {
    Retirement::Removed { snapshot: Some(snapshot.to_owned()) }
}

#[test]
fn a_tree_with_nothing_to_lose_leaves_nothing_behind() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    write(&path.join("x.log"), "ignored");
    write(&path.join(".claude/settings.local.json"), "{}");
    assert_eq!(retire(&trees, NAME, "test").unwrap(), Retirement::Removed { snapshot: None });
    assert_eq!(repository.state(), "worktree .\nrefs/heads/main");
    settle(&trees);
    assert!(!repository.root.join("worktree").exists());
    assert_eq!(retire(&trees, NAME, "test").unwrap(), Retirement::Gone);
}

#[test]
fn work_that_was_joined_needs_no_snapshot() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    write(&path.join("c.txt"), "c");
    git(&path, "add -A");
    git(&path, "commit -q -m work");
    repository.git(&format!("merge -q --no-ff -m join {NAME}"));
    assert_eq!(retire(&trees, NAME, "test").unwrap(), Retirement::Removed { snapshot: None });
}

/// A tree in which a file was changed within the second in which git wrote it, to the same length:
/// by its dates and its size it is as git knows it.
fn changed_at_once() -> (Repository, crate::tree::Trees) {
    loop {
        let repository = Repository::new();
        let (trees, path) = repository.made();
        let second = |file: &Path| file.metadata().unwrap().ctime();
        let written = second(&path.join("a.txt"));
        write(&path.join("a.txt"), "two\n");
        let index = repository.root.join(".git/worktrees/phase-1-cart--T1.1-1/index");
        if second(&path.join("a.txt")) == written && second(&index) == written {
            // Whatever is written after this is of another second.
            let probe = repository.root.join(".git/probe");
            write(&probe, "");
            while second(&probe) == written {
                thread::sleep(Duration::from_millis(10));
                write(&probe, "");
            }
            return (repository, trees);
        }
    }
}

#[test]
fn a_change_in_the_second_of_the_checkout_is_kept() {
    let (repository, trees) = changed_at_once();
    assert_eq!(retire(&trees, NAME, "test").unwrap(), kept(SNAPSHOT));
    assert_eq!(repository.git(&format!("show {SNAPSHOT}:a.txt")), "two");
}

#[test]
fn a_change_in_the_second_of_the_checkout_is_staged() {
    for line in ["status", "update-index --assume-unchanged b.txt"] {
        let (repository, trees) = changed_at_once();
        let path = repository.root.join(NAME);
        // Git of an agent writes no index only to look.
        git(&path, &format!("--no-optional-locks {line}"));
        assert_eq!(stage(&trees, NAME).unwrap(), Vec::<String>::new());
        assert_eq!(git(&path, "diff --cached --name-only"), "a.txt", "{line}");
    }
}

#[test]
fn everything_that_only_the_tree_has_is_in_the_snapshot() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    // Only the log of the tree knows this one.
    write(&path.join("gone.txt"), "reset");
    git(&path, "add -A");
    git(&path, "commit -q -m reset");
    let reset = git(&path, "rev-parse HEAD");
    git(&path, "reset -q --hard HEAD~1");
    // A detached head, one step on.
    git(&path, "checkout -q --detach");
    git(&path, "commit -q --allow-empty -m detached");
    let head = git(&path, "rev-parse HEAD");
    git(&path, "update-ref refs/worktree/mine HEAD");
    // Staged, then changed again; untracked; deleted.
    write(&path.join("a.txt"), "staged\n");
    git(&path, "add a.txt");
    write(&path.join("a.txt"), "worked on\n");
    write(&path.join("new/file.txt"), "new");
    fs::remove_file(path.join("b.txt")).unwrap();

    assert_eq!(retire(&trees, NAME, "it failed\nbadly").unwrap(), kept(SNAPSHOT));
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let ignored = file(".gitignore", "*.log\nsecret/\nnode_modules/");
    assert_eq!(
        repository.files(SNAPSHOT),
        [ignored, file("a.txt", "worked on"), file("new/file.txt", "new")]
    );
    let parents = repository.git(&format!("show -s --format=%P {SNAPSHOT}"));
    let parents: Vec<&str> = parents.split(' ').collect();
    assert_eq!(parents[0], head);
    assert_eq!(repository.git(&format!("show {}:a.txt", parents[1])), "staged");
    assert_eq!(parents[2..], [&*reset]);
    let message = repository.git(&format!("show -s --format=%B {SNAPSHOT}"));
    assert!(message.contains("\nit failed badly\n"), "{message}");
    assert_eq!(repository.state(), format!("worktree .\nrefs/heads/main\n{SNAPSHOT}"));
    repository.git("fsck --strict --no-dangling");
}

#[test]
fn a_stash_outlives_the_tree() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    write(&path.join("a.txt"), "stashed\n");
    git(&path, "stash");
    assert_eq!(retire(&trees, NAME, "test").unwrap(), Retirement::Removed { snapshot: None });
    assert_eq!(repository.git("show stash@{0}:a.txt"), "stashed");
}

#[test]
fn changes_that_git_was_told_not_to_see_are_kept() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    git(&path, "update-index --assume-unchanged a.txt");
    git(&path, "update-index --skip-worktree b.txt");
    write(&path.join("a.txt"), "hidden\n");
    write(&path.join("b.txt"), "hidden too\n");
    assert_eq!(git(&path, "status --porcelain"), "");
    assert_eq!(retire(&trees, NAME, "test").unwrap(), kept(SNAPSHOT));
    assert_eq!(repository.git(&format!("show {SNAPSHOT}:a.txt")), "hidden");
    assert_eq!(repository.git(&format!("show {SNAPSHOT}:b.txt")), "hidden too");
}

#[test]
fn marks_without_changes_are_nothing_to_keep() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    git(&path, "update-index --assume-unchanged a.txt");
    git(&path, "update-index --index-version 4");
    git(&path, "update-index --skip-worktree b.txt");
    assert_eq!(retire(&trees, NAME, "test").unwrap(), Retirement::Removed { snapshot: None });
}

#[test]
fn an_unresolved_merge_is_kept_with_all_versions() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    conflict(&repository, &path);
    assert_eq!(retire(&trees, NAME, "test").unwrap(), kept(SNAPSHOT));
    let content = repository.git(&format!("show {SNAPSHOT}:a.txt"));
    assert!(content.contains("<<<<<<<"), "{content}");
    let stage = |n: u32| repository.git(&format!("show {SNAPSHOT}^2:.waypost-stages/{n}/a.txt"));
    assert_eq!((stage(1), stage(2), stage(3)), ("one".into(), "ours".into(), "theirs".into()));
}

#[test]
fn a_broken_index_or_a_split_one_loses_nothing() {
    for harm in ["broken", "split"] {
        let repository = Repository::new();
        let (trees, path) = repository.made();
        write(&path.join("a.txt"), "work\n");
        match harm {
            "split" => drop(git(&path, "update-index --split-index")),
            _ => write(&path_of_admin(&repository, &path).join("index"), "DIRC broken"),
        }
        assert_eq!(retire(&trees, NAME, "test").unwrap(), kept(SNAPSHOT), "{harm}");
        assert_eq!(repository.git(&format!("show {SNAPSHOT}:a.txt")), "work", "{harm}");
        assert_eq!(repository.git(&format!("show {SNAPSHOT}:b.txt")), "two", "{harm}");
    }
}

fn path_of_admin(repository: &Repository, path: &Path) -> std::path::PathBuf {
    repository.root.join(".git/worktrees").join(path.file_name().unwrap())
}

#[test]
fn a_tree_with_a_process_in_it_stays() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    fs::create_dir(path.join("deep")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test plays an agent")]
    let mut child = std::process::Command::new("sleep")
        .arg("600")
        .current_dir(path.join("deep"))
        .spawn()
        .unwrap();
    let found = retire(&trees, NAME, "test").unwrap();
    let expected = Retirement::InUse { processes: vec![(child.id(), "sleep".to_owned())] };
    assert!(path.join("a.txt").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, expected);
    assert_eq!(retire(&trees, NAME, "test").unwrap(), Retirement::Removed { snapshot: None });
}

#[test]
fn a_repository_in_the_tree_with_work_of_its_own_keeps_it() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    let inner = path.join("inner");
    fs::create_dir(&inner).unwrap();
    let refused = |reason: &str| {
        let found = retire(&trees, NAME, "test").unwrap();
        let reason = format!("the repository inner in it has {reason}");
        assert_eq!(found, Retirement::Refused { reason });
        assert!(inner.join(".git").exists());
    };
    git(&inner, "init -q -b main .");
    write(&inner.join("x"), "x");
    refused("changes that are not committed");
    git(&inner, "add x");
    git(&inner, "-c user.name=a -c user.email=a@b commit -q -m x");
    refused("commits that no remote has");
    git(&inner, "update-ref refs/remotes/origin/main HEAD");
    assert_eq!(retire(&trees, NAME, "test").unwrap(), Retirement::Removed { snapshot: None });
}

#[test]
fn a_tree_deleted_by_hand_leaves_what_it_had_staged() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    write(&path.join("new.txt"), "staged");
    git(&path, "add new.txt");
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(retire(&trees, NAME, "test").unwrap(), kept(SNAPSHOT));
    assert_eq!(repository.git(&format!("show {SNAPSHOT}:new.txt")), "staged");
}

#[test]
fn a_branch_without_its_tree_is_kept_and_removed() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    git(&path, "commit -q --allow-empty -m work");
    let work = git(&path, "rev-parse HEAD");
    repository.git(&format!("worktree remove --force --force {NAME}"));
    assert_eq!(retire(&trees, NAME, "test").unwrap(), kept(SNAPSHOT));
    assert_eq!(repository.git(&format!("rev-parse {SNAPSHOT}^1")), work);
    assert_eq!(repository.state(), format!("worktree .\nrefs/heads/main\n{SNAPSHOT}"));
}

#[test]
fn what_only_the_log_knows_survives_the_loss_of_folder_and_branch() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    git(&path, "commit -q --allow-empty -m work");
    let work = git(&path, "rev-parse HEAD");
    fs::remove_dir_all(&path).unwrap();
    repository.git(&format!("update-ref -d refs/heads/{NAME}"));
    assert_eq!(retire(&trees, NAME, "test").unwrap(), Retirement::Gone);
    assert_eq!(repository.git(&format!("rev-parse {SNAPSHOT}^1")), work);
    assert_eq!(repository.state(), format!("worktree .\nrefs/heads/main\n{SNAPSHOT}"));
}

#[test]
fn the_same_is_kept_once() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    assert_eq!(take_snapshot(&trees, NAME, "test").unwrap(), None);
    write(&path.join("a.txt"), "work\n");
    for _ in 0..2 {
        assert_eq!(take_snapshot(&trees, NAME, "test").unwrap().as_deref(), Some(SNAPSHOT));
    }
    assert!(path.join("a.txt").exists());
    write(&path.join("a.txt"), "more work\n");
    let second = SNAPSHOT.replace("/1", "/2").replace("/2-cart", "/1-cart");
    assert_eq!(take_snapshot(&trees, NAME, "test").unwrap(), Some(second));
}
