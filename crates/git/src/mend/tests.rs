//! Damage of every kind, one at a time, in a repository with a phase under way: it is found, rebuilt,
//! and then there is nothing more to find.

#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use super::{Cure, Damage, RecordedPhase, RecordedWork, examine, mend, restore_branches};
use crate::{
    merge::{BranchKind, Join, PhaseBranch, Stamp, commit_attempt, join, open_phase},
    tree::{
        Trees, make,
        tests::{Repository, git, write},
    },
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const PHASE: &str = "worktree/phase-1-cart";
const ATTEMPT: &str = "worktree/phase-1-cart--T1.2-1";

/// A repository with a phase to which one task is joined, and another one in progress.
struct Site {
    repository: Repository,
    recorded: RecordedWork,
    joined: String,
}

fn stamp(id: &str) -> Stamp {
    Stamp { id: id.parse().unwrap(), attempt: 1, title: "Work".into() }
}

impl Site {
    fn new() -> Self {
        let repository = Repository::new();
        let trees = repository.trees();
        let branch = PhaseBranch {
            kind: BranchKind::Phase,
            number: 1,
            name: PHASE.into(),
            target: "main".into(),
            is_shared: false,
        };
        let base = open_phase(&trees, &branch).unwrap();
        let first = format!("{PHASE}--T1.1-1");
        let path = make(&trees, &first, &base).unwrap().path;
        write(&path.join("first"), "T1.1\n");
        let done = stamp("T1.1");
        let crate::merge::Committed::At { commit, .. } =
            commit_attempt(&trees, &first, &branch, &done, &[]).unwrap()
        else {
            panic!("it is committed")
        };
        let Join::Done { commit: joined } =
            join(&trees, &branch, &commit, &done, "exit 0").unwrap()
        else {
            panic!("it is joined")
        };
        crate::tree::retire(&trees, &first, "joined").unwrap();
        make(&trees, ATTEMPT, PHASE).unwrap();
        write(&trees.path(ATTEMPT).join("begun"), "T1.2\n");
        let recorded = RecordedWork {
            phases: vec![RecordedPhase {
                branch,
                base: Some(base),
                joined: vec![(done.id, joined.clone())],
                attempts: BTreeMap::from([("T1.1".into(), 1), ("T1.2".into(), 1)]),
            }],
            target: Some("main".into()),
            landed: Vec::new(),
        };
        crate::tree::settle(&trees);
        Self { repository, recorded, joined }
    }

    /// One that can be put back to how it was made, which takes less than to make another.
    fn saved() -> Self {
        let site = Self::new();
        copy(&site.repository.root, &site.saved_at());
        site
    }

    fn put_back(&self) {
        fs::remove_dir_all(&self.repository.root).unwrap();
        copy(&self.saved_at(), &self.repository.root);
    }

    fn saved_at(&self) -> PathBuf {
        self.repository.root.with_file_name("saved")
    }

    fn trees(&self) -> Trees {
        self.repository.trees()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.repository.root.join(name)
    }

    fn empty(&self, name: &str) {
        drop(fs::File::create(self.path(name)).unwrap());
    }

    /// Takes every object out of its pack.
    fn unpack(&self) {
        let packs = self.path(".git/objects/pack");
        for entry in fs::read_dir(&packs).unwrap() {
            let path = entry.unwrap().path();
            let aside = self.path(".git").join(path.file_name().unwrap());
            fs::rename(&path, &aside).unwrap();
            if aside.extension().is_some_and(|it| it == "pack") {
                let mut unpack = Command::new("git");
                unpack.args(["unpack-objects", "-q"]).current_dir(&self.repository.root);
                unpack.stdin(fs::File::open(&aside).unwrap());
                assert!(unpack.status().unwrap().success());
            }
        }
    }

    fn remove(&self, name: &str) {
        match self.path(name) {
            path if path.is_dir() => fs::remove_dir_all(path).unwrap(),
            path => fs::remove_file(path).unwrap(),
        }
    }

    /// What must hold when all is rebuilt.
    fn assert_whole(&self, what: &str) {
        let root = &self.repository.root;
        assert_eq!(examine(&self.trees(), &self.recorded).unwrap(), [], "{what}");
        assert_eq!(git(root, &format!("rev-parse {PHASE}")), self.joined, "{what}");
        let listed = git(root, "worktree list --porcelain");
        assert_eq!(listed.matches("worktree /").count(), 3, "{what}: {listed}");
        assert_eq!(git(root, "symbolic-ref HEAD"), "refs/heads/main", "{what}");
        assert_eq!(git(root, "status --porcelain"), "", "{what}");
        let attempt = root.join(ATTEMPT);
        assert_eq!(git(&attempt, "status --porcelain"), "?? begun", "{what}");
        assert_eq!(fs::read_to_string(attempt.join("begun")).unwrap(), "T1.2\n", "{what}");
        let head = git(&attempt, "symbolic-ref HEAD");
        assert_eq!(head, format!("refs/heads/{ATTEMPT}"), "{what}");
        git(root, "fsck --no-dangling");
        // It can be worked in, and removed like any other.
        let retired = crate::tree::retire(&self.trees(), ATTEMPT, "test").unwrap();
        assert!(
            matches!(retired, crate::tree::Retirement::Removed { snapshot: Some(_) }),
            "{what}"
        );
    }
}

/// Copies a folder with the dates of its files.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

/// Does some damage; a look finds it and changes nothing, and mending makes up for it.
fn check(what: &str, damage: impl Fn(&Site)) {
    thread_local! {
        static SITE: Site = Site::saved();
    }
    SITE.with(|site| {
        site.put_back();
        check_on(site, what, &damage);
    });
}

fn check_on(site: &Site, what: &str, damage: &dyn Fn(&Site)) {
    damage(site);
    let seen = examine(&site.trees(), &site.recorded).unwrap();
    assert!(!seen.is_empty(), "{what} is found");
    assert_eq!(examine(&site.trees(), &site.recorded).unwrap(), seen, "{what}: a look");
    let is_rebuilt = |damage: &Damage| matches!(damage.cure, Cure::Rebuilt(_));
    let rebuilt = mend(&site.trees(), &site.recorded).unwrap();
    assert!(rebuilt.iter().all(is_rebuilt), "{what}: {rebuilt:#?}");
    site.assert_whole(what);
}

#[test]
fn nothing_is_found_where_nothing_is_damaged() {
    let site = Site::new();
    assert_eq!(mend(&site.trees(), &site.recorded).unwrap(), []);
    assert!(!site.path(".git/waypost/aside").exists());
    site.assert_whole("nothing");
}

#[test]
fn files_without_a_byte_are_written_again() {
    let record = ".git/worktrees/phase-1-cart--T1.2-1";
    for name in ["gitdir", "commondir", "HEAD", "locked", "waypost", "index"] {
        check(name, |site| site.empty(&format!("{record}/{name}")));
        check(&format!("{name} of the phase"), |site| {
            site.empty(&format!(".git/worktrees/phase-1-cart/{name}"));
        });
    }
    check("all of a record", |site| {
        for name in ["gitdir", "commondir", "HEAD", "locked", "waypost", "index"] {
            site.empty(&format!("{record}/{name}"));
        }
        site.empty(&format!("{ATTEMPT}/.git"));
    });
    check(".git", |site| site.empty(&format!("{ATTEMPT}/.git")));
    check("an attempt's branch", |site| site.empty(&format!(".git/refs/heads/{ATTEMPT}")));
    check("a phase's branch", |site| site.empty(&format!(".git/refs/heads/{PHASE}")));
    check("a marker", |site| site.empty(".git/refs/waypost/phases/1"));
    check("the branch and its log", |site| {
        site.empty(&format!(".git/refs/heads/{PHASE}"));
        site.remove(".git/logs");
    });
    check("the target", |site| site.empty(".git/refs/heads/main"));
}

#[test]
fn what_was_deleted_is_made_again() {
    check("all records", |site| site.remove(".git/worktrees"));
    check("the branch of the phase", |site| {
        site.remove(&format!(".git/refs/heads/{PHASE}"));
    });
    check("all refs of ours", |site| {
        site.remove(".git/refs/waypost");
        site.remove(".git/refs/heads/worktree");
    });
    check("an index", |site| site.remove(".git/worktrees/phase-1-cart--T1.2-1/index"));
}

/// While tasks are at work nothing else may be touched.
#[test]
fn a_branch_that_is_gone_is_made_again_and_nothing_else() {
    let site = Site::new();
    site.repository.git(&format!("update-ref -d refs/heads/{PHASE}"));
    site.empty(&format!("{ATTEMPT}/.git"));
    let restored = restore_branches(&site.trees(), &site.recorded).unwrap();
    let [Damage { what, cure: Cure::Rebuilt(how) }] = &*restored else { panic!("{restored:?}") };
    assert_eq!(*what, format!("refs/heads/{PHASE} is gone"));
    assert_eq!(*how, format!("at {}, with everything that was recorded as joined", site.joined));
    assert_eq!(site.repository.git(&format!("rev-parse {PHASE}")), site.joined);
    assert_eq!(fs::read(site.path(ATTEMPT).join(".git")).unwrap(), b"");
    assert_eq!(restore_branches(&site.trees(), &site.recorded).unwrap(), []);
}

#[test]
fn a_branch_that_is_behind_what_was_recorded_follows() {
    check("behind", |site| {
        let base = site.recorded.phases[0].base.clone().unwrap();
        site.repository.git(&format!("update-ref refs/heads/{PHASE} {base}"));
    });
}

#[test]
fn the_repository_itself_is_usable_again() {
    check("HEAD", |site| site.empty(".git/HEAD"));
    check("index", |site| site.empty(".git/index"));
    check("half an index", |site| {
        let index = fs::File::options().write(true).open(site.path(".git/index")).unwrap();
        index.set_len(index.metadata().unwrap().len() / 2).unwrap();
    });
}

#[test]
fn objects_that_were_cut_short_are_put_aside() {
    check("unreachable", |site| {
        write(&site.path("stray"), "never committed\n");
        let blob = site.repository.git("hash-object -w stray");
        site.remove("stray");
        empty_object(site, &blob);
    });
    check("staged", |site| {
        let tree = site.path(ATTEMPT);
        git(&tree, "add begun");
        empty_object(site, &git(&tree, "rev-parse :begun"));
    });
    check("an attempt's own commit", |site| {
        let tree = site.path(ATTEMPT);
        git(&tree, "add begun");
        git(&tree, "-c user.name=A -c user.email=a@example.org commit -q -m own");
        empty_object(site, &git(&tree, "rev-parse HEAD:begun"));
        git(&tree, "-c user.name=A -c user.email=a@example.org commit -q --allow-empty -m more");
    });
}

fn empty_object(site: &Site, oid: &str) {
    let name = format!(".git/objects/{}/{}", &oid[..2], &oid[2..]);
    site.remove(&name);
    site.empty(&name);
}

#[test]
fn recorded_work_that_is_gone_is_named_with_what_to_do() {
    let site = Site::new();
    let name = format!(".git/objects/{}/{}", &site.joined[..2], &site.joined[2..]);
    site.unpack();
    site.remove(&name);
    let found = mend(&site.trees(), &site.recorded).unwrap();
    let lost: Vec<&Damage> =
        found.iter().filter(|damage| matches!(damage.cure, Cure::Lost(_))).collect();
    assert!(
        lost.iter().any(|it| it.what.contains("T1.1") && it.what.contains(&site.joined)),
        "{found:#?}"
    );
}

#[test]
fn a_project_that_was_moved_takes_its_trees_along() {
    let site = Site::new();
    let old = site.repository.root.clone();
    let new = old.with_file_name("moved");
    waypost_store::file::rename(&old, &new).unwrap();
    let trees = crate::tree::trees_of(&new, &site.repository.config);
    assert!(!examine(&trees, &site.recorded).unwrap().is_empty());
    mend(&trees, &site.recorded).unwrap();
    assert_eq!(examine(&trees, &site.recorded).unwrap(), []);
    assert_eq!(git(&new.join(ATTEMPT), "status --porcelain"), "?? begun");
    let listed = git(&new, "worktree list --porcelain");
    assert!(!listed.contains(&format!("{}/", old.display())), "{listed}");
    waypost_store::file::rename(&new, &old).unwrap();
}

#[test]
fn a_tree_of_another_repository_is_not_taken_in() {
    let site = Site::new();
    site.remove(".git/worktrees");
    let other = RecordedWork { target: Some("main".into()), ..RecordedWork::default() };
    assert_eq!(mend(&site.trees(), &other).unwrap(), []);
    assert!(!site.path(".git/worktrees").exists());
}

#[test]
fn trees_and_folders_of_others_stay_as_they_are() {
    let site = Site::new();
    let folder: &Path = &site.path("worktree/phase-9-mine");
    write(&folder.join("notes"), "mine\n");
    site.repository.git("worktree add -q ../phase-1-cart--other");
    let before = fs::read(site.path(".git/worktrees/phase-1-cart--other/gitdir")).unwrap();
    assert_eq!(mend(&site.trees(), &site.recorded).unwrap(), []);
    assert_eq!(fs::read_to_string(folder.join("notes")).unwrap(), "mine\n");
    let after = fs::read(site.path(".git/worktrees/phase-1-cart--other/gitdir")).unwrap();
    assert_eq!(before, after);
}
