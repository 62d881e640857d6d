//! Cut short after every call of git, and begun again: nothing is lost, nothing is left over.
//!
//! Git is the only thing that takes long here, so a process is most likely killed while it runs:
//! before a call has done anything, or after it has done everything and no process heard of it.

use super::{NAME, Repository, git, write};
use crate::{
    error::GitError,
    merge::{
        BranchKind, Occupant, PhaseBranch, Stamp, close_phase, enter, has_phase, leave, open_phase,
    },
    tree::{Retirement, Trees, bring_back, make, retire, settle, sweep},
};
use std::{
    cell::Cell,
    fs,
    panic::{self, AssertUnwindSafe},
    path::Path,
};

/// The most calls of git that one operation makes.
const CALLS_MAX: usize = 60;

thread_local! {
    static LEFT: Cell<Option<(usize, Moment)>> = const { Cell::new(None) };
}

/// When in a call the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    After,
}

/// Called around every call of git in tests: ends the thread's work in the call that does not
/// return, as a kill would.
pub(crate) fn end_if_cut(moment: Moment) {
    if moment == Moment::Before {
        super::cleared::go_on();
    }
    let is_cut = LEFT.with(|left| match left.get() {
        Some((0, at)) => at == moment,
        Some((count, at)) if moment == Moment::After => {
            left.set(Some((count - 1, at)));
            false
        }
        _ => false,
    });
    if is_cut {
        panic::resume_unwind(Box::new("killed"));
    }
}

/// Runs something that is cut short at its `calls`th call of git; `true`: it came to its end.
fn cut(calls: usize, moment: Moment, deed: impl FnOnce() -> bool) -> bool {
    LEFT.with(|left| left.set(Some((calls, moment))));
    let ended = panic::catch_unwind(AssertUnwindSafe(deed));
    LEFT.with(|left| left.set(None));
    ended.is_ok_and(|is_done| {
        assert!(is_done, "it failed by itself");
        true
    })
}

/// Work of every kind in a tree.
fn work_in(path: &Path) {
    git(path, "commit -q --allow-empty -m work");
    write(&path.join("a.txt"), "staged\n");
    git(path, "add a.txt");
    write(&path.join("a.txt"), "worked on\n");
    write(&path.join("new.txt"), "new");
}

/// Tries an operation again and again with new `Trees`, cut short at every point in turn.
fn check<T>(
    begin: impl Fn(&Repository),
    deed: impl Fn(&Trees) -> Result<T, GitError>,
    end: impl Fn(&Repository),
) {
    for moment in [Moment::Before, Moment::After] {
        for calls in 0..CALLS_MAX {
            let repository = Repository::new();
            begin(&repository);
            let is_whole = cut(calls, moment, || deed(&repository.trees()).is_ok());
            let trees = repository.trees();
            sweep(&trees).unwrap();
            if !is_whole && let Err(error) = deed(&trees) {
                panic!("{moment:?} {calls}: {error}");
            }
            settle(&trees);
            end(&repository);
            assert!(!repository.root.join("worktree/.trash").exists(), "{moment:?} {calls}");
            if is_whole {
                break;
            }
            assert!(calls + 1 < CALLS_MAX, "it never ends");
        }
    }
}

#[test]
fn making_goes_on() {
    check(
        |_| (),
        |trees| make(trees, NAME, "main"),
        |repository| {
            let state =
                format!("worktree .\nworktree ./{NAME}\nrefs/heads/main\nrefs/heads/{NAME}");
            assert_eq!(repository.state(), state);
            assert_eq!(git(&repository.root.join(NAME), "status --porcelain"), "");
        },
    );
}

#[test]
fn retiring_goes_on() {
    check(
        |repository| {
            let (_, path) = repository.made();
            work_in(&path);
        },
        |trees| match retire(trees, NAME, "test") {
            Ok(stays @ (Retirement::InUse { .. } | Retirement::Refused { .. })) => {
                panic!("{stays:?}")
            }
            retired => retired,
        },
        |repository| {
            let snapshot = "refs/waypost/snapshots/phase-1-cart--T1.1-1/1";
            assert_eq!(repository.state(), format!("worktree .\nrefs/heads/main\n{snapshot}"));
            assert_eq!(repository.git(&format!("show {snapshot}:a.txt")), "worked on");
            assert_eq!(repository.git(&format!("show {snapshot}:new.txt")), "new");
            assert_eq!(repository.git(&format!("show {snapshot}^2:a.txt")), "staged");
            assert_eq!(repository.git(&format!("show -s --format=%s {snapshot}^1")), "work");
        },
    );
}

#[test]
fn bringing_back_goes_on() {
    check(
        |repository| {
            let (trees, path) = repository.made();
            work_in(&path);
            retire(&trees, NAME, "test").unwrap();
            settle(&trees);
        },
        |trees| bring_back(trees, NAME, None),
        |repository| {
            let path = repository.root.join(NAME);
            assert_eq!(git(&path, "status --porcelain"), "MM a.txt\n?? new.txt");
            assert_eq!(git(&path, "symbolic-ref --short HEAD"), NAME);
            assert_eq!(git(&path, "show -s --format=%s"), "work");
            assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "worked on\n");
        },
    );
}

const PHASE: &str = "worktree/phase-1-cart";

/// An attempt at T1.1 that has the work tree of its phase for itself.
fn occupant(attempt: u32) -> Occupant {
    let (name, target) = (PHASE.to_owned(), "main".to_owned());
    Occupant {
        phase: PhaseBranch { kind: BranchKind::Phase, number: 1, name, target, is_shared: true },
        stamp: Stamp { id: "T1.1".parse().unwrap(), attempt, title: "cart".into() },
        files: Vec::new(),
        is_alone: true,
    }
}

/// An attempt that is at work in the tree of its phase.
fn enter_and_work(repository: &Repository) {
    let trees = repository.trees();
    open_phase(&trees, &occupant(1).phase).unwrap();
    enter(&trees, &occupant(1), false).unwrap();
    work_in(&repository.root.join(PHASE));
}

#[test]
fn leaving_a_shared_tree_goes_on() {
    check(
        enter_and_work,
        |trees| leave(trees, &occupant(1), "it failed"),
        |repository| {
            let path = repository.root.join(PHASE);
            assert_eq!(git(&path, "status --porcelain"), "");
            assert_eq!(git(&path, "rev-parse HEAD"), repository.head());
            let left = "refs/waypost/shared/1/left/T1.1";
            assert_eq!(repository.git(&format!("show {left}:a.txt")), "worked on", "all of it");
            assert_eq!(repository.git(&format!("show {left}:new.txt")), "new");
            assert_eq!(repository.git("for-each-ref refs/waypost/shared/1/begun"), "");
        },
    );
}

#[test]
fn going_on_in_a_shared_tree_goes_on() {
    check(
        |repository| {
            enter_and_work(repository);
            leave(&repository.trees(), &occupant(1), "it was interrupted").unwrap();
        },
        |trees| enter(trees, &occupant(2), true),
        |repository| {
            let path = repository.root.join(PHASE);
            assert_eq!(fs::read_to_string(path.join("a.txt")).unwrap(), "worked on\n");
            assert_eq!(fs::read_to_string(path.join("new.txt")).unwrap(), "new");
            assert_eq!(git(&path, "rev-parse HEAD"), repository.head());
        },
    );
}

/// Closes the phase if there is something of it, as an engine does that comes after a crash.
#[test]
fn closing_a_shared_phase_goes_on() {
    check(
        enter_and_work,
        |trees| match has_phase(trees, &occupant(1).phase)? {
            true => close_phase(trees, &occupant(1).phase),
            false => Ok(()),
        },
        |repository| {
            let refs = "for-each-ref refs/heads/worktree refs/waypost/phases refs/waypost/shared";
            assert_eq!(repository.git(refs), "");
            assert!(!repository.root.join(PHASE).exists());
        },
    );
}
