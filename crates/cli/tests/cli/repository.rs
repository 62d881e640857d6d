//! `waypost doctor` on a repository that was damaged, moved or made again beside its journal.

use crate::{harness::Project, terminal::no_person_is_here};
use std::{fs, path::Path};

const PHASE: &str = "worktree/phase-1-cart";
const ATTEMPT: &str = "phase-1-cart--T1.2-1";

/// A run that is over: one task is merged, and one has failed in its tree.
fn failed() -> Project {
    let project = Project::git();
    project.write(
        "TASKS.md",
        "# Plan\n\n## Phase 1: Cart\n\n- [ ] T1.1: First\n  - run: `echo 1 > one`\n\
         - [ ] T1.2: Second\n  - depends: T1.1\n  - run: `echo 2 > two; test -e ../../go`\n",
    );
    project.git_command("add TASKS.md");
    project.git_command("commit -q -m tasks");
    let ran = project.run("run --isolation task --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(project.path("worktree").join(ATTEMPT).join("two").exists(), "{ran}");
    project
}

/// A run with one task that is joined, and one that a session works on in its tree.
fn session() -> Project {
    let project = Project::git();
    project.write("waypost.toml", "[run]\nisolation = \"task\"\n");
    project.write(
        "TASKS.md",
        "# Plan\n\n## Phase 1: Cart\n\n- [ ] T1.1: First\n- [ ] T1.2: Second\n  - depends: T1.1\n",
    );
    project.git_command("add .");
    project.git_command("commit -q -m tasks");
    project.must("run start T1.1");
    project.write("worktree/phase-1-cart--T1.1-1/one", "1\n");
    project.must("run done T1.1");
    project.must("run start T1.2");
    project.write(&format!("worktree/{ATTEMPT}/two"), "2\n");
    project.must("doctor");
    project
}

/// Does some damage: doctor names it, changes nothing, fixes it when it is asked to, and the run
/// goes on to its end.
fn check(what: &str, named: &str, damage: impl FnOnce(&Project)) {
    let project = session();
    damage(&project);
    let seen = project.run("doctor");
    assert_eq!(seen.code, 1, "{what}: {seen}");
    assert!(seen.stdout.contains("bad  repository"), "{what}: {seen}");
    assert!(seen.stdout.contains(named), "{what}: {seen}");
    assert_eq!(project.run("doctor").stdout, seen.stdout, "{what}: a look changes nothing");
    let fixed = project.run("doctor --fix");
    assert_eq!(fixed.code, 0, "{what}: {fixed}");
    project.must("run done T1.2");
    assert_eq!(project.read("one"), "1\n", "{what}");
    assert_eq!(project.read("two"), "2\n", "{what}");
    project.must("doctor");
}

fn empty(project: &Project, name: &str) {
    fs::File::create(project.path(name)).unwrap();
}

#[test]
fn doctor_rebuilds_what_is_gone_or_empty() {
    check("records", "git's record of", |project| {
        fs::remove_dir_all(project.path(".git/worktrees")).unwrap();
    });
    check("HEAD", "HEAD names no branch", |project| empty(project, ".git/HEAD"));
    check("index", ".git/index cannot be read", |project| {
        project.write(".git/index", "nothing");
    });
    check("refs", "refs/waypost/phases/1 is gone", |project| {
        fs::remove_dir_all(project.path(".git/refs/waypost")).unwrap();
    });
}

#[test]
fn doctor_rebuilds_the_branch_of_a_phase() {
    let head = format!("refs/heads/{PHASE}");
    check("gone", &format!("{head} is gone"), |project| {
        project.git_command(&format!("update-ref -d {head}"));
    });
    check("empty", &format!("{head} says nothing"), |project| {
        empty(project, &format!(".git/{head}"));
    });
}

#[test]
fn doctor_names_recorded_work_that_is_gone() {
    let project = session();
    let commit = project.git_command(&format!("rev-parse {PHASE}"));
    let commit = commit.trim();
    // What Waypost commits is in packs; one object of it goes.
    let unpack = "mkdir packs && mv .git/objects/pack/* packs/ && \
                  for pack in packs/*.pack; do git unpack-objects -q < $pack; done; rm -rf packs";
    let status = project.command("sh", &project.path("")).args(["-c", unpack]).status();
    assert!(status.unwrap().success());
    fs::remove_file(project.path(&format!(".git/objects/{}/{}", &commit[..2], &commit[2..])))
        .unwrap();
    let seen = project.run("doctor --fix");
    assert_eq!(seen.code, 1, "{seen}");
    assert!(
        seen.stdout
            .contains(&format!("the work of T1.1 is gone from the repository: commit {commit}")),
        "{seen}"
    );
    assert!(seen.stdout.contains("git fetch"), "{seen}");
}

#[test]
fn a_project_that_was_moved_is_followed() {
    let project = failed();
    let root = project.path("");
    let moved = root.with_file_name("moved");
    fs::rename(&root, &moved).unwrap();
    fs::write(moved.join("go"), "").unwrap();
    let retried = project.run_in(&moved, "run retry T1.2");
    assert_eq!(retried.code, 0, "{retried}");
    let resumed = project.run_in(&moved, "run --resume");
    assert_eq!(resumed.code, 0, "{resumed}");
    assert_eq!(fs::read_to_string(moved.join("two")).unwrap(), "2\n");
    let looked = project.run_in(&moved, "doctor");
    assert_eq!(looked.code, 0, "{looked}");
    // It is missed where it is now.
    fs::remove_dir_all(moved.join(".git/waypost")).unwrap();
    let missed = project.run_in(&moved, "status");
    assert_eq!(missed.code, 5, "{missed}");
}

#[test]
fn a_repository_that_was_made_again_is_another() {
    if no_person_is_here() {
        return;
    }
    let project = failed();
    for name in [".git", "worktree", ".claude"] {
        fs::remove_dir_all(project.path(name)).unwrap();
    }
    project.git_command("init -q -b main .");
    project.git_command("add TASKS.md");
    project.git_command("commit -q -m anew");
    let seen = project.run("doctor");
    assert_eq!(seen.code, 1, "{seen}");
    assert!(seen.stdout.contains("this repository was made again"), "{seen}");
    project.write("go", "");
    // An agent could have made it again to be rid of a gate.
    let refused = project.run("run --isolation task");
    assert_eq!(refused.code, 5, "{refused}");
    let ran = project.person_must("status");
    assert!(ran.stderr.contains("this repository was made again"), "{ran}");
    project.person_must("run --isolation task");
    let begun = project.log().iter().filter(|it| it["kind"] == "task_completed").count();
    assert_eq!(begun, 2, "nothing of the old run is in it");
    assert!(!project.must("status").stderr.contains("made again"));
}

#[test]
fn a_journal_that_came_with_the_files_is_not_believed() {
    let made = Project::plain();
    made.must("develop start Chat");
    let other = Project::plain();
    for from in ["shop/.waypost", "shop/.develop-workflow"] {
        copy(&made.base().join(from), &other.base().join(from));
    }
    let ran = other.run("develop status");
    assert!(ran.code != 0 && ran.stderr.contains("it came with the files"), "{ran}");
    assert!(ran.stderr.contains("waypost adopt"), "{ran}");
    let refused = other.run("adopt .waypost/journal.db");
    assert_eq!(refused.code, 3, "an agent cannot vouch for it: {refused}");
    assert_eq!(other.run("develop status").code, ran.code);
    // One that was moved is known.
    let moved = made.base().join("elsewhere");
    fs::rename(&made.root, &moved).unwrap();
    let ran = made.run_in(&moved, "develop status");
    assert_eq!(ran.code, 0, "{ran}");
    if no_person_is_here() {
        return;
    }
    let ran = other.as_person("adopt .waypost/journal.db");
    assert_eq!(ran.code, 0, "{ran}");
    other.must("develop status");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}
