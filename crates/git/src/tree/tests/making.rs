//! Making trees: names, what is put in, and what was there before.

use super::{NAME, Repository, git, write};
use crate::tree::{make, retire, settle};
use std::{cell::Cell, fs, os::unix::fs::symlink, thread};

#[test]
fn a_tree_is_a_folder_and_a_branch_of_one_name() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    assert_eq!(path, repository.root.join(NAME));
    assert_eq!(git(&path, "symbolic-ref --short HEAD"), NAME);
    assert_eq!(git(&path, "rev-parse HEAD"), repository.head());
    assert_eq!(git(&path, "status --porcelain"), "");
    assert_eq!(repository.git("status --porcelain"), "");
    let listed = repository.git("worktree list --porcelain");
    assert!(listed.contains(&format!("locked waypost: {NAME}")), "{listed}");
    write(&path.join("new.txt"), "mine");
    let again = make(&trees, NAME, "main").unwrap();
    assert!(!again.is_new && path.join("new.txt").exists());
}

#[test]
fn trees_can_be_made_and_removed_by_many_at_once() {
    let repository = Repository::new();
    let head = repository.head();
    let make_some = |one: usize| {
        // Each stands for a process: no two share what a handle remembers.
        let trees = repository.trees();
        for round in 1..=6 {
            let name = format!("worktree/phase-1-cart--T1.{one}-{round}");
            make(&trees, &name, &head).unwrap();
            if round % 2 == 0 {
                retire(&trees, &name, "done with it").unwrap();
            }
        }
    };
    thread::scope(|scope| {
        let make_some = &make_some;
        for one in 1..=6 {
            scope.spawn(move || make_some(one));
        }
    });
    let listed = repository.git("worktree list --porcelain");
    assert_eq!(listed.matches("locked waypost").count(), 18, "{listed}");
}

/// Git fails where it meets the record of a tree that another git has begun to write.
#[test]
fn git_changes_its_list_of_trees_for_one_at_a_time() {
    let repository = Repository::new();
    let trees = repository.trees();
    let record = repository.root.join(".git/worktrees").join("phase-1-cart--T1.1-1");
    let begun = repository.root.join(".git/waypost/trees/making");
    thread::scope(|scope| {
        let making = trees
            .with_list(|| {
                let making = scope.spawn(|| make(&repository.trees(), NAME, "main"));
                while fs::read_dir(&begun).is_ok_and(|it| it.count() == 0) || !begun.exists() {
                    thread::yield_now();
                }
                assert!(!record.exists(), "it did not wait");
                Ok(making)
            })
            .unwrap();
        assert!(making.join().unwrap().unwrap().is_new);
    });
    assert!(record.exists());
}

#[test]
fn a_record_that_a_person_s_git_is_writing_is_waited_for() {
    let repository = Repository::new();
    let trees = repository.trees();
    let record = repository.root.join(".git/worktrees/other");
    write(&record.join("HEAD"), "ref: refs/heads/other\n");
    write(&record.join("gitdir"), "/elsewhere/.git\n");
    write(&record.join("commondir"), "");
    let error = make(&trees, NAME, "main").unwrap_err();
    assert!(error.is_half_record(), "{error}");
    let tries = Cell::new(0);
    let made = trees.with_list(|| {
        tries.set(tries.get() + 1);
        if tries.get() == 3 {
            write(&record.join("commondir"), "../..\n");
        }
        trees.git()?.text(&["worktree", "list"])
    });
    assert!(made.is_ok() && tries.get() == 3, "{made:?} at try {}", tries.get());
}

#[test]
fn odd_names_and_commits_are_refused() {
    let repository = Repository::new();
    let trees = repository.trees();
    for (name, base) in [
        ("../x", "main"),
        ("worktree/../phase-1", "main"),
        ("worktree/phase-1/x", "main"),
        ("--force", "main"),
        (NAME, "--detach"),
        (NAME, "main..x"),
        (NAME, "@{-1}"),
        (NAME, "no-such-branch"),
    ] {
        assert!(make(&trees, name, base).is_err(), "{name} {base}");
    }
    assert_eq!(repository.state(), "worktree .\nrefs/heads/main");
}

#[test]
fn a_folder_that_is_not_ours_is_not_touched() {
    let repository = Repository::new();
    let trees = repository.trees();
    repository.write(&format!("{NAME}/mine.txt"), "mine");
    let error = make(&trees, NAME, "main").unwrap_err().to_string();
    assert!(error.contains("is in the way"), "{error}");
    fs::remove_dir_all(repository.root.join(NAME)).unwrap();
    repository.git(&format!("worktree add -q {NAME}"));
    let error = make(&trees, NAME, "main").unwrap_err().to_string();
    assert!(error.contains("did not make"), "{error}");
    let error = retire(&trees, NAME, "test").unwrap_err().to_string();
    assert!(error.contains("did not make"), "{error}");
}

#[test]
fn a_link_in_place_of_the_folder_is_refused() {
    let repository = Repository::new();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), repository.root.join("worktree")).unwrap();
    let error = make(&repository.trees(), NAME, "main").unwrap_err().to_string();
    assert!(error.contains("is not a folder"), "{error}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_tree_deleted_by_hand_is_made_again_as_it_was_committed_and_staged() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    write(&path.join("c.txt"), "committed");
    git(&path, "add c.txt");
    git(&path, "commit -q -m work");
    write(&path.join("d.txt"), "staged");
    git(&path, "add d.txt");
    let head = git(&path, "rev-parse HEAD");
    fs::remove_dir_all(&path).unwrap();
    assert!(make(&trees, NAME, "main").unwrap().is_new);
    assert_eq!(git(&path, "rev-parse HEAD"), head);
    assert_eq!(fs::read_to_string(path.join("c.txt")).unwrap(), "committed");
    assert_eq!(fs::read_to_string(path.join("d.txt")).unwrap(), "staged");
    assert_eq!(git(&path, "status --porcelain"), "A  d.txt");
}

#[test]
fn a_branch_without_a_tree_is_taken_up_unless_the_base_has_it() {
    let repository = Repository::new();
    let trees = repository.trees();
    repository.git(&format!("branch {NAME}"));
    repository.git("commit -q --allow-empty -m later");
    make(&trees, NAME, "main").unwrap();
    assert_eq!(git(&trees.path(NAME), "rev-parse HEAD"), repository.head());

    let other = "worktree/phase-1-cart--T1.1-2";
    repository.git(&format!("checkout -q -b {other}"));
    repository.git("commit -q --allow-empty -m work");
    let work = repository.head();
    repository.git("checkout -q main");
    make(&trees, other, "main").unwrap();
    assert_eq!(git(&trees.path(other), "rev-parse HEAD"), work);
}

#[test]
fn a_making_that_was_cut_short_is_made_again() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    let admin = repository.root.join(".git/worktrees").join(path.file_name().unwrap());
    // Never ready: our mark comes last.
    fs::remove_file(admin.join("waypost")).unwrap();
    fs::remove_file(path.join("a.txt")).unwrap();
    assert!(make(&trees, NAME, "main").unwrap().is_new);
    assert!(path.join("a.txt").exists());
    // Git had only begun its record.
    retire(&trees, NAME, "test").unwrap();
    fs::create_dir_all(&admin).unwrap();
    assert!(make(&trees, NAME, "main").unwrap().is_new);
    assert!(admin.join("gitdir").exists());
    assert_eq!(git(&path, "status --porcelain"), "");
}

#[test]
fn what_worktreeinclude_matches_and_git_ignores_is_copied() {
    let repository = Repository::new();
    repository.write(".worktreeinclude", "*.log\n/secret/\nb.txt\nplain.txt\n!x.log\n");
    repository.write("one.log", "1");
    repository.write("x.log", "excepted");
    repository.write("deep/er/two.log", "2");
    repository.write("secret/key", "k");
    repository.write("plain.txt", "not ignored");
    repository.write("node_modules/p", "not included");
    repository.write("outside.txt", "elsewhere");
    symlink("/etc/passwd", repository.root.join("link.log")).unwrap();
    symlink("/etc", repository.root.join("secret/etc")).unwrap();
    let (_, path) = repository.made();
    let read = |name: &str| fs::read_to_string(path.join(name)).ok();
    assert_eq!(read("one.log").as_deref(), Some("1"));
    assert_eq!(read("deep/er/two.log").as_deref(), Some("2"));
    assert_eq!(read("secret/key").as_deref(), Some("k"));
    for absent in ["x.log", "plain.txt", "node_modules", "link.log", "secret/etc", "outside.txt"] {
        assert!(path.join(absent).symlink_metadata().is_err(), "{absent}");
    }
    assert_eq!(git(&path, "status --porcelain"), "");
}

#[test]
fn nothing_is_copied_through_a_link_that_is_tracked() {
    let repository = Repository::new();
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), repository.root.join("secret")).unwrap();
    repository.git("add -f secret");
    repository.git("commit -q -m link");
    fs::remove_file(repository.root.join("secret")).unwrap();
    repository.write("secret/key", "k");
    repository.write(".worktreeinclude", "/secret/\n");
    repository.made();
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn shared_folders_are_links_that_git_does_not_see() {
    let mut repository = Repository::new();
    repository.config.share = ["node_modules", "a/cache", "lib"].map(str::to_owned).to_vec();
    repository.write("lib/x.txt", "tracked");
    repository.git("add -A");
    repository.git("commit -q -m more");
    let (trees, path) = repository.made();
    for name in ["node_modules", "a/cache"] {
        assert_eq!(fs::read_link(path.join(name)).unwrap(), repository.root.join(name));
        assert!(repository.root.join(name).is_dir());
    }
    assert!(path.join("lib").symlink_metadata().unwrap().is_dir());
    assert_eq!(git(&path, "status --porcelain"), "");
    write(&path.join("node_modules/p"), "p");
    retire(&trees, NAME, "test").unwrap();
    settle(&trees);
    assert!(repository.root.join("node_modules/p").exists());
}

/// A user who has checked out only a part of the project.
#[test]
fn a_tree_has_all_files_also_where_the_checkout_has_not() {
    for cone in ["--cone", "--no-cone"] {
        let repository = Repository::new();
        repository.write("docs/a.md", "a");
        repository.write("src/x.rs", "x");
        repository.git("add -A");
        repository.git("commit -q -m more");
        repository.git(&format!("sparse-checkout set {cone} src"));
        assert!(!repository.root.join("docs").exists());
        let (trees, path) = repository.made();
        write(&path.join("docs/made.md"), "made");
        git(&path, "add docs/made.md");
        git(&path, "commit -q -m made");
        let next = "worktree/phase-1-cart--T1.2-1";
        make(&trees, next, NAME).unwrap();
        let next = repository.root.join(next);
        for name in ["docs/a.md", "docs/made.md", "src/x.rs"] {
            assert!(next.join(name).exists(), "{cone}: {name}");
        }
        // Their git does not hide them again.
        git(&next, "checkout -q HEAD~1");
        git(&next, "checkout -q -");
        assert!(next.join("docs/made.md").exists(), "{cone}");
        assert_eq!(git(&next, "status --porcelain"), "");
        assert!(!repository.root.join("docs").exists(), "the checkout stays as it is");
        assert_eq!(repository.git("status --porcelain"), "");
    }
}
