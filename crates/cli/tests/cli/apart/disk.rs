//! A disk that is nearly full: nothing is begun, nothing has failed, and what is not needed makes room. And what a
//! disk or a task has done to an index: it is rebuilt.

use super::{RUN, ground, run, snapshots, task, with};
use crate::execute::{begin, status, wait_for};

/// More than any disk has.
const FULL: &str = "[worktree]\nmin_free_mb = 1000000000000\n";

#[test]
fn a_full_disk_lets_tasks_wait_and_puts_away_what_nobody_works_in() {
    let tasks = ground(&[
        task("T1.1", &["run: `echo half > half.txt; exit 1`"]),
        task("T1.2", &["run: `echo whole > whole.txt`"]),
    ]);
    let walls = task("T2.1", &["run: `echo more > more.txt`"]);
    let project = with(&format!("{tasks}\n## Phase 2: Walls\n\n{walls}"));
    run(&project, &format!("{RUN} --phase 1"), 1, &["T1.1 failed"]);
    assert!(project.path("worktree/phase-1-ground--T1.1-1/half.txt").exists(), "kept to look at");
    project.write("waypost.toml", FULL);
    let mut engine = begin(&project, "run --resume");
    // What is not needed makes room first; as that does not help, a person is asked, once.
    wait_for("an entry in the inbox", || {
        project.run("inbox").stdout.contains("the run waits: no space on the disk")
    });
    wait_for("a task that is ready, and has to wait", || {
        let why = project.run("why T2.1");
        status(&project, "T2.1") == "ready" && why.stdout.contains("the disk is nearly full")
    });
    assert!(!project.path("worktree/phase-1-ground--T1.1-1").exists(), "it made room");
    assert_eq!(snapshots(&project), ["refs/waypost/snapshots/phase-1-ground--T1.1-1/1"]);
    project.must("run stop");
    engine.wait().unwrap();
    project.write("waypost.toml", "");
    run(&project, "run --resume", 1, &["T2.1 completed"]);
    assert_eq!(project.git_command("show main:more.txt"), "more\n");
}

#[test]
fn an_index_that_was_damaged_at_work_is_rebuilt_by_the_engine_itself() {
    let project = with(&ground(&[
        task("T1.1", &["run: `echo one > one.txt; : > \"$(git rev-parse --git-dir)/index\"`"]),
        task("T1.2", &["run: `echo two > two.txt`"]),
    ]));
    run(&project, RUN, 0, &["read again from the commit", "T1.1 completed"]);
    assert_eq!(project.git_command("show main:one.txt main:two.txt"), "one\ntwo\n");
    assert_eq!(project.git_command("fsck --no-progress"), "");
}

/// What an index names is gone, as after a disk that was full: nothing can be committed from it.
#[test]
fn a_staged_object_that_was_lost_at_work_is_written_again_from_its_file() {
    let lose = "echo one > one.txt; git add one.txt; hash=$(git rev-parse :one.txt); \
                rm -f \"$(git rev-parse --git-common-dir)/objects/$(echo $hash | cut -c1-2)/$(echo $hash | cut -c3-)\"; \
                ! git cat-file -e $hash";
    let project = with(&ground(&[
        task("T1.1", &[&format!("run: `{lose}`")]),
        task("T1.2", &["run: `echo two > two.txt`"]),
    ]));
    run(&project, RUN, 0, &["T1.1 completed", "T1.2 completed"]);
    assert_eq!(project.git_command("show main:one.txt main:two.txt"), "one\ntwo\n");
    assert_eq!(project.git_command("fsck --no-progress"), "");
}
