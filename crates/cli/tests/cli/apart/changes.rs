//! What tasks have changed: shown, taken out, compared, and found again.

use super::{RUN, at, dirt, ends_well, ground, head, is_tidy, run, task, with};
use crate::{
    execute::{begin, status, wait_for},
    harness::{Project, RUN as RUN_WINDOW},
    terminal::no_person_is_here,
};
use std::fs;

const LAY: &str = "run: `echo laid >> ground.txt`";
const RAIN: &str = "run: `echo rain >> other.txt`";

fn two() -> Project {
    with(&ground(&[task("T1.1", &[LAY]), task("T1.2", &[RAIN])]))
}

/// Takes away everything that is known of the run but its branch.
fn forget(project: &Project) {
    for folder in [project.journal(), project.path(".claude"), project.home()] {
        fs::remove_dir_all(folder).unwrap();
    }
    fs::create_dir(project.home()).unwrap();
}

#[test]
fn a_difference_is_shown_wherever_the_work_is() {
    let slow = "run: `echo half > half.txt; touch ../../../begun; until test -e ../../../go; do sleep 0.05; done; echo rest >> half.txt; exit 3`";
    let again = task("T1.2", &[slow]);
    let project = with(&ground(&[task("T1.1", &[LAY]), again]));
    let mut engine = begin(&project, "run --isolation task --retry-limit 0");
    wait_for("the task", || project.base().join("begun").exists());
    let running = project.must("run diff T1.2").stdout;
    assert!(running.contains("+half") && !running.contains("+rest"), "{running}");
    fs::write(project.base().join("go"), "").unwrap();
    engine.wait().unwrap();
    let failed = project.must("run diff T1.2").stdout;
    assert!(failed.contains("+half") && failed.contains("+rest"), "{failed}");
    let merged = project.must("run diff T1.1").stdout;
    assert!(merged.contains("+laid") && !merged.contains("half"), "{merged}");
    // Another person's difference is not the task's.
    project.write("other.txt", "changed\n");
    project.git_command("commit -qam theirs");
    assert_eq!(project.must("run diff T1.2").stdout, failed);
    // What is kept of a work tree tells as well.
    if !no_person_is_here() {
        project.person_must("worktree prune --older-than 0 --force");
        assert!(!project.path("worktree").exists());
        assert_eq!(project.must("run diff T1.2").stdout, failed);
    }
    let unknown = project.run("run diff T9.9");
    assert!(unknown.code != 0 && unknown.stderr.contains("no task T9.9"), "{unknown}");
}

#[test]
fn a_merged_task_is_taken_out_and_what_stood_on_it_waits() {
    let after = "\n## Phase 2: Cart\n\n- [ ] T2.1: Fails\n  - run: `false`\n  - depends: T1.1\n\n\
                 - [ ] T2.2: Waits\n  - run: `true`\n  - depends: T2.1, T1.1\n";
    let project =
        with(&format!("{}{after}", ground(&[task("T1.1", &[LAY]), task("T1.2", &[RAIN])])));
    run(&project, RUN, 1, &[]);
    project.write("note.txt", "mine\n");
    project.must("run revert T1.1");
    assert_eq!(
        (project.read("ground.txt"), project.read("other.txt")),
        ("earth\n".into(), "sky\nrain\n".into())
    );
    assert_eq!(dirt(&project), "?? note.txt\n");
    let text = project.read("TASKS.md");
    assert!(text.contains("- [ ] T1.1") && text.contains("- [x] T1.2"), "{text}");
    assert_eq!(
        (status(&project, "T1.1"), status(&project, "T1.2")),
        ("failed".into(), "completed".into())
    );
    assert_eq!(status(&project, "T2.2"), "blocked");
    // A second time there is nothing to take out.
    let before = head(&project, "main");
    let events = project.log().len();
    project.must("run revert T1.1");
    assert_eq!((head(&project, "main"), project.log().len()), (before, events));
    // It may be done again.
    project.must("run retry T1.1");
    project.run("run --resume");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(status(&project, "T1.1"), "completed");
}

#[test]
fn a_task_of_an_open_phase_is_taken_out_of_the_phase() {
    let project = two();
    project.write("waypost.toml", "[run]\nchecks = ['! grep -q laid ground.txt']\n");
    let before = head(&project, "main");
    run(&project, RUN, 1, &["did not pass"]);
    project.must("run revert T1.1");
    assert_eq!(head(&project, "main"), before);
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 1, "T1.1 counts as failed: {ran}");
    assert_eq!(
        (project.read("ground.txt"), project.read("other.txt")),
        ("earth\n".into(), "sky\nrain\n".into())
    );
    let text = project.read("TASKS.md");
    assert!(text.contains("- [ ] T1.1") && text.contains("- [x] T1.2"), "{text}");
}

#[test]
fn what_others_have_built_on_is_not_taken_out() {
    let project = two();
    ends_well(&project, RUN);
    project.write("ground.txt", "earth\nlaid and built on\n");
    project.git_command("commit -qam built");
    let before = head(&project, "main");
    let held = project.run("run revert T1.1");
    assert_ne!(held.code, 0);
    assert!(held.stderr.contains("has changed the same files: ground.txt"), "{held}");
    assert_eq!(
        (head(&project, "main"), status(&project, "T1.1")),
        (before.clone(), "completed".into())
    );
    // Neither is anything that is not committed.
    project.write("other.txt", "mine\n");
    let held = project.run("run revert T1.2");
    assert!(held.code != 0 && held.stderr.contains("other.txt"), "{held}");
    assert_eq!((head(&project, "main"), project.read("other.txt")), (before, "mine\n".into()));
}

#[test]
fn evidence_is_stale_when_its_commit_is_gone() {
    let project = two();
    ends_well(&project, RUN);
    assert_eq!(project.run("run --verify").code, 0);
    project.git_command("reset -q --hard HEAD~1");
    let found = project.run("run --verify");
    assert_eq!(found.code, 1, "{found}");
    for what in [
        "T1.1 was merged by",
        "phase 1 was merged by",
        "which main does not have: its evidence is stale",
    ] {
        assert!(found.stdout.contains(what), "{found}");
    }
    assert_eq!(status(&project, "T1.1"), "completed", "nothing was changed");
    // What is told next leads to its being done again.
    let why = project.must("why T1.1").stdout;
    assert!(why.contains("which main does not have") && why.contains("run revert T1.1"), "{why}");
    for line in ["revert T1.1", "revert T1.2", "retry T1.1", "retry T1.2"] {
        project.must(&format!("run {line}"));
    }
    ends_well(&project, "run --resume");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(project.run("run --verify").code, 0);
}

/// How many processes of git `run --verify` starts in a run of so many tasks.
fn git_calls_to_verify(count: usize) -> usize {
    let step = |number| format!("run: `echo {number} > {number}.txt`");
    let tasks: Vec<String> =
        (0..count).map(|number| task(&format!("T1.{number}"), &[&step(number)])).collect();
    let project = with(&ground(&tasks));
    ends_well(&project, RUN);
    let calls = project.base().join("calls");
    let path = "PATH=/usr/local/bin:/usr/bin:/bin";
    let git = format!("echo call >> '{}'\n{path} exec git \"$@\"", calls.display());
    project.program("git", &git);
    let found = project.run("run --verify");
    assert_eq!((found.code, found.stdout.as_str()), (0, ""), "{found}");
    let made = fs::read_to_string(&calls).unwrap().lines().count();
    project.git_command("reset -q --hard HEAD~1");
    let found = project.run("run --verify");
    assert_eq!(found.stdout.matches("its evidence is stale").count(), count + 1, "{found}");
    made
}

#[test]
fn comparing_with_git_costs_the_same_calls_whatever_the_number_of_tasks() {
    assert_eq!(git_calls_to_verify(6), git_calls_to_verify(12));
}

#[test]
fn the_state_is_rebuilt_from_the_commits() {
    if no_person_is_here() {
        return;
    }
    // What a terminal would obey is not in the commits.
    let tasks = ground(&[task("T1.1", &[LAY]), task("T1.2", &[RAIN])]);
    let project = with(&tasks.replace("Do T1.1", "Do \u{1b}[31mT1.1\u{202e}"));
    ends_well(&project, RUN);
    // Boxes alone would tell as well.
    project.write("TASKS.md", &project.read("TASKS.md").replace("[x]", "[ ]"));
    project.git_command("commit -qam unticked");
    let merged = |project: &Project| {
        let phase = project.window(RUN_WINDOW)["checkpoints"]["phase_1"].clone();
        (phase["merged"].clone(), phase["merge_commit"].clone(), phase["completed_at"].clone())
    };
    let before = merged(&project);
    assert_eq!(before.0, true, "{before:?}");
    forget(&project);
    let ran = project.person_must("run --isolation task --rebuild-state");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n", "nothing was done twice: {ran}");
    let after = merged(&project);
    assert_eq!((&after.0, &after.1), (&before.0, &before.1), "the merge is known by its commit");
    assert!(after.2.is_string(), "and its time: {after:?}");
    let why = project.must("why T1.1").stdout;
    assert!(why.contains("merged by"), "{why}");
    is_tidy(&project);
}

#[test]
fn a_reverted_task_is_not_rebuilt_as_done() {
    if no_person_is_here() {
        return;
    }
    let project = two();
    ends_well(&project, RUN);
    project.must("run revert T1.1");
    forget(&project);
    project.person_must("run --isolation task --rebuild-state");
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n", "it was done again");
    assert_eq!(at(&project, "main", "other.txt"), "sky\nrain\n");
}

#[test]
fn a_second_run_does_what_was_added() {
    let project = two();
    ends_well(&project, RUN);
    let added = "\n## Phase 2: Cart\n\n- [ ] T2.1: Pay\n  - run: `echo paid > paid.txt`\n";
    let text = project.read("TASKS.md");
    project.write(
        "TASKS.md",
        &format!("{text}{}{added}", task("T1.3", &["run: `echo more >> ground.txt`"])),
    );
    project.git_command("commit -qam added");
    ends_well(&project, RUN);
    assert_eq!(
        (project.read("ground.txt"), project.read("paid.txt")),
        ("earth\nlaid\nmore\n".into(), "paid\n".into())
    );
    let tasks = project.git_command("log --format=%s --grep=^Waypost-Evidence: main");
    let mut tasks: Vec<&str> = tasks.lines().collect();
    tasks.sort_unstable();
    assert_eq!(tasks, ["T1.1: Do T1.1", "T1.2: Do T1.2", "T1.3: Do T1.3", "T2.1: Pay"]);
    assert!(!project.read("TASKS.md").contains("[ ]"));
}
