//! A disk that is nearly full: nothing is begun, nothing has failed, and what nobody needs makes room.

use super::{RUN, ground, run, snapshots, task, with};
use crate::execute::{begin, status, wait_for};

/// More than any disk has.
const FULL: &str = "[worktree]\nmin_free_mb = 1000000000000\n";

#[test]
fn a_full_disk_lets_tasks_wait_and_puts_away_what_nobody_works_in() {
    let project = with(&ground(&[
        task("T1.1", &["run: `echo half > half.txt; exit 1`"]),
        task("T1.2", &["run: `echo whole > whole.txt`"]),
    ]));
    run(&project, RUN, 1, &["T1.1 failed"]);
    assert!(project.path("worktree/phase-1-ground--T1.1-1/half.txt").exists(), "kept to look at");
    let tasks = project.read("TASKS.md");
    project
        .write("TASKS.md", &format!("{tasks}{}", task("T1.3", &["run: `echo more > more.txt`"])));
    project.write("waypost.toml", FULL);
    let mut engine = begin(&project, "run --resume");
    // It is tried again at once when something made room, and only then it waits.
    wait_for("a task that waits for room", || {
        let log = project.log();
        let parked = log.iter().filter(|entry| entry["kind"] == "attempt_parked");
        parked.count() >= 2
    });
    wait_for("a task that is ready, and has to wait", || {
        let why = project.run("why T1.3");
        status(&project, "T1.3") == "ready" && why.stdout.contains("the disk is nearly full")
    });
    assert!(!project.path("worktree/phase-1-ground--T1.1-1").exists(), "it made room");
    assert_eq!(snapshots(&project), ["refs/waypost/snapshots/phase-1-ground--T1.1-1/1"]);
    project.must("run stop");
    engine.wait().unwrap();
    project.write("waypost.toml", "");
    project.must("run retry T1.3");
    run(&project, "run --resume", 1, &["T1.3 completed"]);
    assert_eq!(project.git_command("show main:more.txt"), "more\n");
}
