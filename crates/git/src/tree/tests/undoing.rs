//! Bringing trees back, and staging what is in them.

use super::{NAME, Repository, conflict, git, write};
use crate::tree::{Retirement, bring_back, retire, stage, take_snapshot};
use std::fs;

/// What can be told of a tree from outside.
fn portrait(path: &std::path::Path) -> [String; 5] {
    [
        git(path, "status --porcelain=v2 --branch"),
        git(path, "diff HEAD"),
        git(path, "diff --cached HEAD"),
        git(path, "ls-files --stage"),
        git(path, "ls-files --others --exclude-standard"),
    ]
}

#[test]
fn a_tree_comes_back_as_it_was() {
    type Deed = fn(&std::path::Path);
    let table: [(&str, Deed); 8] = [
        ("untracked", |path| write(&path.join("new/x.txt"), "x")),
        ("changed and deleted", |path| {
            write(&path.join("a.txt"), "changed\n");
            fs::remove_file(path.join("b.txt")).unwrap();
        }),
        ("committed", |path| drop(git(path, "commit -q --allow-empty -m work"))),
        ("all staged", |path| {
            write(&path.join("a.txt"), "staged\n");
            git(path, "add -A");
        }),
        ("staged and changed again", |path| {
            write(&path.join("a.txt"), "staged\n");
            git(path, "add -A");
            write(&path.join("a.txt"), "worked on\n");
            write(&path.join("c.txt"), "announced\n");
            git(path, "add --intent-to-add c.txt");
        }),
        ("detached", |path| {
            git(path, "checkout -q --detach");
            git(path, "commit -q --allow-empty -m work");
            write(&path.join("x.txt"), "x");
        }),
        ("before a first commit", |path| {
            git(path, "checkout -q --orphan fresh");
            write(&path.join("x.txt"), "x");
        }),
        ("on another branch", |path| {
            git(path, "checkout -q -b feature");
            git(path, "commit -q --allow-empty -m work");
            write(&path.join("x.txt"), "x");
        }),
    ];
    for (what, deed) in table {
        let repository = Repository::new();
        let (trees, path) = repository.made();
        deed(&path);
        let is_unborn = what == "before a first commit";
        let before = (!is_unborn).then(|| portrait(&path));
        let retired = retire(&trees, NAME, what).unwrap();
        let Retirement::Removed { snapshot: Some(snapshot) } = retired else {
            panic!("{what}: {retired:?}");
        };
        assert!(!path.exists(), "{what}");
        let back = bring_back(&trees, NAME, None).unwrap();
        assert_eq!((back.path, back.snapshot), (path.clone(), Some(snapshot)), "{what}");
        match before {
            Some(before) => assert_eq!(portrait(&path), before, "{what}"),
            None => {
                assert_eq!(git(&path, "symbolic-ref --short HEAD"), "fresh");
                assert!(git(&path, "status --porcelain").contains("?? x.txt"));
            }
        }
        assert!(bring_back(&trees, NAME, None).is_err(), "{what}: it is there already");
        let again = retire(&trees, NAME, what).unwrap();
        assert!(matches!(again, Retirement::Removed { snapshot: Some(_) }), "{what}: {again:?}");
    }
}

#[test]
fn an_unresolved_merge_comes_back_unresolved() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    conflict(&repository, &path);
    let before = git(&path, "ls-files --unmerged");
    retire(&trees, NAME, "test").unwrap();
    bring_back(&trees, NAME, None).unwrap();
    assert_eq!(git(&path, "ls-files --unmerged"), before);
    assert!(fs::read_to_string(path.join("a.txt")).unwrap().contains("<<<<<<<"));
}

#[test]
fn a_branch_that_was_made_meanwhile_is_not_moved() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    git(&path, "commit -q --allow-empty -m work");
    retire(&trees, NAME, "test").unwrap();
    repository.git(&format!("branch {NAME}"));
    let error = bring_back(&trees, NAME, None).unwrap_err().to_string();
    assert!(error.contains("at another commit"), "{error}");
    assert_eq!(repository.git(&format!("rev-parse {NAME}")), repository.head());
    assert!(!path.exists());
}

#[test]
fn an_earlier_snapshot_can_be_named() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    for text in ["first", "second"] {
        write(&path.join("x.txt"), text);
        take_snapshot(&trees, NAME, "test").unwrap().unwrap();
    }
    retire(&trees, NAME, "test").unwrap();
    assert!(bring_back(&trees, NAME, Some(9)).is_err());
    bring_back(&trees, NAME, Some(1)).unwrap();
    assert_eq!(fs::read_to_string(path.join("x.txt")).unwrap(), "first");
}

#[test]
fn everything_that_is_work_is_staged() {
    let repository = Repository::new();
    let (trees, path) = repository.made();
    assert_eq!(stage(&trees, NAME).unwrap(), Vec::<String>::new());
    assert_eq!(git(&path, "status --porcelain"), "");
    git(&path, "update-index --assume-unchanged a.txt");
    write(&path.join("a.txt"), "hidden\n");
    fs::remove_file(path.join("b.txt")).unwrap();
    write(&path.join("new.txt"), "new");
    write(&path.join("x.log"), "ignored");
    write(&path.join(".claude/settings.local.json"), "{}");
    let inner = path.join("inner");
    fs::create_dir(&inner).unwrap();
    git(&inner, "init -q -b main .");
    git(&inner, "-c user.name=a -c user.email=a@b commit -q --allow-empty -m x");
    assert_eq!(stage(&trees, NAME).unwrap(), ["inner"]);
    let staged = git(&path, "diff --cached --name-status HEAD");
    assert_eq!(staged, "M\ta.txt\nD\tb.txt\nA\tnew.txt");
}
