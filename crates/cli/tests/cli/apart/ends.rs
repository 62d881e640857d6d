//! Ends of phases, and tasks that get in each other's way.

use super::{PHASE, RUN, at, ends_well, git_in, ground, head, is_held, run, snapshots, task, with};
use crate::agents::bodies;
use std::fs;

/// Appends its id to `same.txt` when the other one has begun as well.
const BOTH: &str = "run: `touch ../../../$WAYPOST_TASK; until test -e ../../../T1.1 -a -e ../../../T1.2; \
                    do sleep 0.05; done; echo $WAYPOST_TASK >> same.txt`";

#[test]
fn one_of_two_that_conflict_is_done_again_on_top_of_the_other() {
    let project = with(&ground(&[task("T1.1", &[BOTH]), task("T1.2", &[BOTH])]));
    let ran = ends_well(&project, "run --isolation task --retry-limit 1");
    let again =
        "it conflicts with what was joined meanwhile, in same.txt; it is done again on top of that";
    assert_eq!(ran.stderr.matches(again).count(), 1, "{ran}");
    let mut lines: Vec<String> = project.read("same.txt").lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["T1.1", "T1.2"]);
    assert_eq!(bodies(&project, "attempt_failed").len(), 1);
    let kept = snapshots(&project);
    assert!(kept.len() <= 1, "what conflicted may be kept: {kept:?}");
}

/// One task, and what has to hold at the end of its phase.
fn checked(checks: &str) -> crate::harness::Project {
    let project = with(&ground(&[task("T1.1", &["run: `echo laid >> ground.txt`"])]));
    project.write("waypost.toml", &format!("[run]\nchecks = [{checks}]\n"));
    project.git_command("add .");
    project.git_command("commit -qm checks");
    project
}

#[test]
fn a_check_that_does_not_pass_holds_the_phase_until_it_is_mended_there() {
    for isolation in ["task", "phase"] {
        let project = checked(
            "'grep -q laid ground.txt', 'echo report > report.txt; test -e mended || { echo not mended; false; }'",
        );
        let before = head(&project, "main");
        let line = format!("run --isolation {isolation}");
        let says = [
            "did not pass in worktree/phase-1-ground: exit code 1: not mended",
            "waypost run --resume",
        ];
        run(&project, &line, 1, &says);
        is_held(&project, &before);
        let phase = project.path(PHASE);
        assert_eq!(
            git_in(&project, &phase, &["status", "--porcelain"]),
            "",
            "what the check wrote is gone"
        );
        fs::write(phase.join("mended"), "").unwrap();
        git_in(&project, &phase, &["add", "."]);
        git_in(&project, &phase, &["commit", "-qm", "mended"]);
        run(&project, "run --resume", 0, &[]);
        assert!(project.path("mended").exists() && !project.path("report.txt").exists());
        assert_eq!(bodies(&project, "task_started").len(), 1, "no task was done again");
        assert!(!project.path("worktree").exists());
    }
}

#[test]
fn what_was_mended_and_not_committed_is_not_thrown_away() {
    let project = checked("'test -e mended'");
    run(&project, RUN, 1, &[]);
    let phase = project.path(PHASE);
    fs::write(phase.join("mended"), "by hand\n").unwrap();
    run(&project, "run --resume", 1, &["mended", "commit"]);
    assert_eq!(fs::read_to_string(phase.join("mended")).unwrap(), "by hand\n");
    git_in(&project, &phase, &["add", "."]);
    git_in(&project, &phase, &["commit", "-qm", "mended"]);
    ends_well(&project, "run --resume");
    assert_eq!(project.read("mended"), "by hand\n");
}

#[test]
fn a_held_phase_may_be_worked_on_again() {
    let project = checked("'test -e second.txt'");
    run(&project, RUN, 1, &[]);
    let text = project.read("TASKS.md");
    project.write("TASKS.md", &format!("{text}{}", task("T1.2", &["run: `echo x > second.txt`"])));
    project.git_command("commit -qam second");
    ends_well(&project, "run --resume");
    assert_eq!(project.read("second.txt"), "x\n");
    assert_eq!(snapshots(&project), [""; 0]);
}

#[test]
fn what_is_done_of_a_phase_is_merged_when_the_rest_has_failed() {
    let tasks = [
        task("T1.1", &["run: `echo laid >> ground.txt`"]),
        task("T1.2", &["run: `echo half > half.txt; exit 3`"]),
    ];
    let later =
        "\n## Phase 2: Cart\n\n- [ ] T2.1: Go on\n  - run: `echo on > on.txt`\n  - depends: T1.1\n";
    let project = with(&format!("{}{later}", ground(&tasks)));
    let ran = run(&project, RUN, 1, &[]);
    assert_eq!(at(&project, "main", "ground.txt"), "earth\nlaid\n", "{ran}");
    assert_eq!(project.read("on.txt"), "on\n");
    assert!(!project.path("half.txt").exists());
    let checkpoint = &project.window(crate::harness::RUN)["checkpoints"]["phase_1"];
    assert_eq!((&checkpoint["merged"], &checkpoint["progress"]), (&true.into(), &"1/2".into()));
    let diff = project.must("run diff T1.2").stdout;
    assert!(diff.contains("+half"), "{diff}");
}
