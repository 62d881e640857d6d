//! A person's `git gc --prune=now` beside us: begun at any call of git, and done at that one or later.
//!
//! It first finds out what is reachable and then deletes all else, also what was written meanwhile.
//! Both halves are played here, so that every interval between them can be tried.

use super::{NAME, Repository, git, write};
use crate::{
    error::GitError,
    merge::{
        BranchKind, Committed, Join, Land, Landing, Occupant, PhaseBranch, Stamp, close_phase,
        commit_attempt, commit_shared, enter, join, land, leave, open_phase, settle_phase,
    },
    tree::{Retirement, Trees, make, retire, settle},
};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The most calls of git that one operation makes.
const CALLS_MAX: usize = 80;

/// How many calls of ours a clearing takes, and at every how many-th call one begins.
const LENGTHS: [(usize, usize); 3] = [(0, 2), (1, 3), (4, 5)];

/// A clearing that is under way, or will be.
struct Clearing {
    root: PathBuf,
    /// Calls until it begins, and from then on until it deletes.
    begins: usize,
    lasts: usize,
    /// What it has found, from its beginning on.
    found: Option<Found>,
}

/// What a clearing goes by.
struct Found {
    reachable: BTreeSet<String>,
    /// Packs that it replaces.
    packs: Vec<PathBuf>,
}

thread_local! {
    static CLEARING: RefCell<Option<Clearing>> = const { RefCell::new(None) };
}

/// Called before every call of git in tests.
pub(super) fn go_on() {
    let Some(mut clearing) = CLEARING.with(RefCell::take) else { return };
    let is_over = clearing.go_on();
    CLEARING.with(|it| it.replace((!is_over).then_some(clearing)));
}

impl Clearing {
    /// Goes on by one call; `true`: it has come to its end.
    fn go_on(&mut self) -> bool {
        if self.begins > 0 {
            self.begins -= 1;
            return false;
        }
        let found = self.found.get_or_insert_with(|| find(&self.root));
        if self.lasts > 0 {
            self.lasts -= 1;
            return false;
        }
        clear(&self.root, found);
        true
    }
}

/// What git finds when it begins to clear.
fn find(root: &Path) -> Found {
    // Heads, logs and indexes of all work trees count.
    let list = "rev-list --objects --all --reflog --indexed-objects --no-object-names";
    let reachable = git(root, list).lines().map(str::to_owned).collect();
    let entries = fs::read_dir(root.join(".git/objects/pack")).unwrap();
    let packs = entries.map(|entry| entry.unwrap().path());
    let is_taken = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "pack") && !path.with_extension("keep").exists()
    };
    Found { reachable, packs: packs.filter(is_taken).collect() }
}

/// Deletes what was not found: loose objects, and packs with all that is not reachable in them.
fn clear(root: &Path, found: &Found) {
    let objects = root.join(".git/objects");
    for pack in &found.packs {
        // What is reachable stays, loose here.
        let aside = objects.join("cleared.pack");
        if fs::copy(pack, &aside).is_err() {
            continue;
        }
        for extension in ["idx", "pack", "rev"] {
            let _none = fs::remove_file(pack.with_extension(extension));
        }
        unpack(root, &aside);
        fs::remove_file(&aside).unwrap();
    }
    for folder in fs::read_dir(&objects).unwrap().map(|it| it.unwrap()) {
        let start = folder.file_name().into_string().unwrap();
        if start.len() != 2 {
            continue;
        }
        for entry in fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap()) {
            let name = format!("{start}{}", entry.file_name().to_str().unwrap());
            if !found.reachable.contains(&name) {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test plays the user")]
fn unpack(root: &Path, pack: &Path) {
    let mut command = std::process::Command::new("git");
    command.args(["unpack-objects", "-q"]).current_dir(root);
    let output = command.stdin(fs::File::open(pack).unwrap()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Does something with every clearing beside it, and looks at the result.
fn check<T>(
    begin: impl Fn(&Repository),
    deed: impl Fn(&Trees) -> Result<T, GitError>,
    end: impl Fn(&Repository, T),
) {
    for (lasts, step) in LENGTHS {
        for begins in (0..CALLS_MAX).step_by(step) {
            let repository = Repository::new();
            begin(&repository);
            let trees = repository.trees();
            let (root, at) = (repository.root.clone(), format!("{lasts} calls from {begins} on"));
            CLEARING.with(|it| it.replace(Some(Clearing { root, begins, lasts, found: None })));
            let done = deed(&trees);
            let rest = CLEARING.with(RefCell::take);
            let is_beside = rest.as_ref().is_none_or(|it| it.found.is_some());
            if let Some(Clearing { root, found: Some(found), .. }) = &rest {
                clear(root, found);
            }
            settle(&trees);
            end(&repository, done.unwrap_or_else(|error| panic!("{at}: {error}")));
            let said = repository.git("fsck --connectivity-only --no-dangling");
            assert_eq!(said, "", "{at}");
            if !is_beside {
                break;
            }
            assert!(begins + step < CALLS_MAX, "it never ends");
        }
    }
}

const PHASE: &str = "worktree/phase-1-cart";

fn phase(is_shared: bool) -> PhaseBranch {
    PhaseBranch {
        kind: BranchKind::Phase,
        number: 1,
        name: PHASE.into(),
        target: "main".into(),
        is_shared,
    }
}

fn stamp() -> Stamp {
    Stamp { id: "T1.1".parse().unwrap(), attempt: 1, title: "cart".into() }
}

fn occupant() -> Occupant {
    Occupant { phase: phase(true), stamp: stamp(), files: Vec::new(), is_alone: true }
}

/// An attempt that has done its work in a tree of its own.
fn work_apart(repository: &Repository) {
    let trees = repository.trees();
    open_phase(&trees, &phase(false)).unwrap();
    make(&trees, NAME, PHASE).unwrap();
    let path = repository.root.join(NAME);
    write(&path.join("a.txt"), "worked on\n");
    write(&path.join("deep/new.txt"), "new\n");
}

fn committed(trees: &Trees) -> Result<String, GitError> {
    match commit_attempt(trees, NAME, &phase(false), &stamp(), &[])? {
        Committed::At { commit, .. } => Ok(commit),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_attempt_is_committed_beside_a_clearing() {
    check(work_apart, committed, |repository, commit| {
        assert_eq!(repository.git(&format!("show {commit}:a.txt")), "worked on");
        assert_eq!(repository.git(&format!("show {commit}:deep/new.txt")), "new");
        assert_eq!(repository.git(&format!("rev-parse {NAME}")), commit);
    });
}

/// What the agent committed by itself has lost its objects.
#[test]
fn commits_that_a_clearing_has_taken_apart_are_made_again() {
    for lost in ["HEAD^{tree}", "HEAD:a.txt", "HEAD:deep", "HEAD~1:a.txt"] {
        let repository = Repository::new();
        work_apart(&repository);
        let path = repository.root.join(NAME);
        git(&path, "add -A");
        git(&path, "commit -q -m first");
        write(&path.join("a.txt"), "again\n");
        git(&path, "commit -q -a -m second");
        let object = git(&path, &format!("rev-parse {lost}"));
        let (start, rest) = object.split_at(2);
        fs::remove_file(repository.root.join(".git/objects").join(start).join(rest)).unwrap();
        let commit = committed(&repository.trees()).unwrap();
        assert_eq!(repository.git(&format!("show {commit}:a.txt")), "again", "{lost}");
        assert_eq!(repository.git(&format!("show {commit}:deep/new.txt")), "new", "{lost}");
        repository.git(&format!("rev-list --objects --quiet {commit}"));
    }
}

#[test]
fn work_is_joined_and_landed_beside_a_clearing() {
    check(
        |repository| {
            work_apart(repository);
            // What others have joined meanwhile makes it a merge.
            let trees = repository.trees();
            let other = "worktree/phase-1-cart--T1.2-1";
            make(&trees, other, PHASE).unwrap();
            write(&repository.root.join(other).join("other.txt"), "other\n");
            let stamp = Stamp { id: "T1.2".parse().unwrap(), ..stamp() };
            let Committed::At { commit, .. } =
                commit_attempt(&trees, other, &phase(false), &stamp, &[]).unwrap()
            else {
                panic!("not committed")
            };
            join(&trees, &phase(false), &commit, &stamp, "done").unwrap();
            retire(&trees, other, "joined").unwrap();
        },
        |trees| {
            let commit = committed(trees)?;
            let joined = join(trees, &phase(false), &commit, &stamp(), "done")?;
            assert!(matches!(joined, Join::Done { .. }), "{joined:?}");
            retire(trees, NAME, "its work is joined")?;
            settle_phase(trees, &phase(false))?;
            let landing = Landing {
                phase: phase(false),
                title: "cart".into(),
                ticks: Vec::new(),
                tasks_file: None,
                joined: Vec::new(),
            };
            let landed = land(trees, &landing)?;
            assert!(matches!(landed, Land::Done { .. }), "{landed:?}");
            close_phase(trees, &phase(false))
        },
        |repository, ()| {
            for (name, text) in
                [("a.txt", "worked on"), ("deep/new.txt", "new"), ("other.txt", "other")]
            {
                assert_eq!(repository.git(&format!("show main:{name}")), text);
            }
            assert_eq!(repository.git("status --porcelain"), "");
        },
    );
}

#[test]
fn what_is_in_a_shared_tree_is_committed_beside_a_clearing() {
    check(
        |repository| {
            let trees = repository.trees();
            open_phase(&trees, &phase(true)).unwrap();
            enter(&trees, &occupant(), false).unwrap();
            write(&repository.root.join(PHASE).join("deep/new.txt"), "new\n");
        },
        |trees| commit_shared(trees, &occupant(), true, "done"),
        |repository, committed| {
            assert!(matches!(committed, Committed::At { .. }), "{committed:?}");
            assert_eq!(repository.git(&format!("show {PHASE}:deep/new.txt")), "new");
        },
    );
}

#[test]
fn what_is_left_in_a_shared_tree_is_kept_beside_a_clearing() {
    check(
        |repository| {
            let trees = repository.trees();
            open_phase(&trees, &phase(true)).unwrap();
            enter(&trees, &occupant(), false).unwrap();
            write(&repository.root.join(PHASE).join("deep/new.txt"), "new\n");
        },
        |trees| leave(trees, &occupant(), "it failed"),
        |repository, ()| {
            let left = "refs/waypost/shared/1/left/T1.1";
            assert_eq!(repository.git(&format!("show {left}:deep/new.txt")), "new");
        },
    );
}

#[test]
fn a_tree_is_retired_beside_a_clearing() {
    check(
        |repository| {
            let (_, path) = repository.made();
            write(&path.join("a.txt"), "staged\n");
            git(&path, "add a.txt");
            write(&path.join("a.txt"), "worked on\n");
            write(&path.join("deep/new.txt"), "new\n");
        },
        |trees| retire(trees, NAME, "test"),
        |repository, retired| {
            let Retirement::Removed { snapshot: Some(snapshot) } = retired else {
                panic!("{retired:?}")
            };
            assert_eq!(repository.git(&format!("show {snapshot}:a.txt")), "worked on");
            assert_eq!(repository.git(&format!("show {snapshot}:deep/new.txt")), "new");
            assert_eq!(repository.git(&format!("show {snapshot}^2:a.txt")), "staged");
        },
    );
}
