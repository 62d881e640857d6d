//! Packs of our own: what is in them, what is not, and that many become one.

use super::{Repository, git, write};
use crate::{
    merge::{BranchKind, Committed, Join, PhaseBranch, Stamp, commit_attempt, join, open_phase},
    packs::tidy,
    tree::{Trees, make, retire},
};
use std::{fs, path::Path};

const PHASE: &str = "worktree/phase-1-cart";

fn phase() -> PhaseBranch {
    PhaseBranch {
        kind: BranchKind::Phase,
        number: 1,
        name: PHASE.into(),
        target: "main".into(),
        is_shared: false,
    }
}

/// A task is worked on and joined.
fn work(repository: &Repository, trees: &Trees, number: usize) {
    let stamp =
        Stamp { id: format!("T1.{number}").parse().unwrap(), attempt: 1, title: "cart".into() };
    let name = format!("{PHASE}--T1.{number}-1");
    make(trees, &name, PHASE).unwrap();
    write(&repository.root.join(&name).join(format!("deep/{number}.txt")), &number.to_string());
    let committed = commit_attempt(trees, &name, &phase(), &stamp, &[]).unwrap();
    let Committed::At { commit, .. } = committed else { panic!("{committed:?}") };
    let joined = join(trees, &phase(), &commit, &stamp, "done").unwrap();
    assert!(matches!(joined, Join::Done { .. }), "{joined:?}");
    retire(trees, &name, "joined").unwrap();
}

fn packs(root: &Path) -> usize {
    let entries = fs::read_dir(root.join(".git/objects/pack")).unwrap();
    entries
        .filter(|it| it.as_ref().unwrap().path().extension().is_some_and(|it| it == "pack"))
        .count()
}

fn loose(repository: &Repository) -> String {
    let counted = repository.git("count-objects");
    counted.split(' ').next().unwrap().to_owned()
}

#[test]
fn what_tasks_leave_is_packed_and_nothing_else_is_touched() {
    let repository = Repository::new();
    let trees = repository.trees();
    // Of no ref and no index: the user's own affair.
    repository.write("dangling", "a person's\n");
    let dangling = repository.git("hash-object -w dangling");
    fs::remove_file(repository.root.join("dangling")).unwrap();
    let before = loose(&repository);
    open_phase(&trees, &phase()).unwrap();
    for number in 1..=20 {
        work(&repository, &trees, number);
    }
    assert_eq!(loose(&repository), before, "what was there stays, what we wrote is packed");
    assert_eq!(packs(&repository.root), 40);
    let tidied = tidy(&trees).unwrap();
    assert_eq!((tidied.packs, packs(&repository.root)), (40, 1));
    assert_eq!(tidy(&trees).unwrap().packs, 0, "there is nothing more to do");
    for number in 1..=20 {
        assert_eq!(repository.git(&format!("show {PHASE}:deep/{number}.txt")), number.to_string());
    }
    assert_eq!(repository.git(&format!("cat-file -p {dangling}")), "a person's");
    assert_eq!(repository.git("fsck --no-dangling"), "");
    let left = fs::read_dir(repository.root.join(".git/objects/pack")).unwrap();
    let kept =
        left.filter(|it| it.as_ref().unwrap().path().extension().is_some_and(|it| it == "keep"));
    assert_eq!(kept.count(), 0, "nothing is kept from the user's git for good");
    repository.git("gc -q --prune=now");
    assert_eq!(repository.git(&format!("show {PHASE}:deep/7.txt")), "7");
    git(&repository.root, "fsck --no-dangling");
}

#[test]
fn packs_are_left_alone_while_the_user_s_git_clears_up() {
    let repository = Repository::new();
    let trees = repository.trees();
    open_phase(&trees, &phase()).unwrap();
    (1..=16).for_each(|number| work(&repository, &trees, number));
    write(&repository.root.join(".git/gc.pid"), "1 elsewhere");
    assert_eq!(tidy(&trees).unwrap().packs, 0);
    fs::remove_file(repository.root.join(".git/gc.pid")).unwrap();
    // What the user's git has taken into an index over many packs is no longer ours.
    repository.git("multi-pack-index write");
    assert_eq!(tidy(&trees).unwrap().packs, 0);
    assert_eq!(packs(&repository.root), 32);
    assert_eq!(repository.git("fsck --no-dangling"), "");
}
