//! Isolation `phase`: all tasks of a phase in its one work tree.

use super::{at, ends_well, ground, run, snapshots, task, with};

const PHASE_RUN: &str = "run --isolation phase --retry-limit 0";

#[test]
fn tasks_work_one_at_a_time() {
    let alone = "run: `mkdir lock && sleep 0.1 && rmdir lock && echo $WAYPOST_TASK >> ground.txt`";
    let tasks = ["T1.1", "T1.2", "T1.3"].map(|id| task(id, &[alone]));
    let project = with(&ground(&tasks));
    ends_well(&project, PHASE_RUN);
    assert_eq!(project.read("ground.txt").lines().count(), 4);
    let log = project.git_command("log --format=%s --grep=^Waypost-Evidence: main");
    assert_eq!(log.lines().count(), 3, "a commit for each: {log}");
}

#[test]
fn tasks_whose_files_are_others_work_side_by_side() {
    // Each waits for the other one to begin.
    let both = "touch ../../../$WAYPOST_TASK; until test -e ../../../T1.1 -a -e ../../../T1.2; do sleep 0.05; done";
    let work = |file: &str| [format!("run: `{both}; echo x > {file}`"), format!("files: {file}")];
    let tasks = [("T1.1", "a.txt"), ("T1.2", "b.txt")]
        .map(|(id, file)| task(id, &work(file).each_ref().map(String::as_str)));
    let project = with(&ground(&tasks));
    ends_well(&project, PHASE_RUN);
    for (id, file) in [("T1.1", "a.txt"), ("T1.2", "b.txt")] {
        let commit =
            project.git_command(&format!("log -1 --format=%H --grep=^Waypost-Task:.{id} main"));
        let files = project.git_command(&format!("show --format= --name-only {}", commit.trim()));
        assert_eq!(files, format!("{file}\n"));
    }
}

#[test]
fn only_declared_files_are_committed() {
    let project = with(&ground(&[task(
        "T1.1",
        &[
            "run: `echo laid >> ground.txt; echo x > stray.txt; echo y >> other.txt`",
            "files: ground.txt",
        ],
    )]));
    run(&project, PHASE_RUN, 0, &[]);
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(at(&project, "main", "other.txt"), "sky\n");
    assert!(!project.path("stray.txt").exists());
    let kept = snapshots(&project);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(at(&project, &kept[0], "stray.txt"), "x\n");
    assert_eq!(at(&project, &kept[0], "other.txt"), "sky\ny\n");
}

#[test]
fn what_a_failed_task_left_is_kept_and_not_merged() {
    let tasks = [
        task(
            "T1.1",
            &[
                "run: `echo half > half.txt; echo bad >> other.txt; exit 3`",
                "files: half.txt, other.txt",
            ],
        ),
        task("T1.2", &["run: `echo laid >> ground.txt`", "files: ground.txt"]),
    ];
    let project = with(&ground(&tasks));
    run(&project, PHASE_RUN, 1, &["exit code 3"]);
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(project.read("other.txt"), "sky\n");
    assert!(!project.path("half.txt").exists());
    let kept = snapshots(&project);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(at(&project, &kept[0], "half.txt"), "half\n");
}

#[test]
fn a_failed_task_leaves_nothing_to_those_that_declare_nothing() {
    let tasks = [
        task("T1.1", &["run: `echo half > half.txt; exit 3`", "priority: high"]),
        task("T1.2", &["run: `echo laid >> ground.txt`"]),
    ];
    let project = with(&ground(&tasks));
    run(&project, PHASE_RUN, 1, &["exit code 3"]);
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert!(!project.path("half.txt").exists(), "T1.2 did not make it");
}

#[test]
fn commits_of_a_task_are_its_own() {
    let work = "run: `echo laid >> ground.txt; git commit -qam mine`";
    let project =
        with(&ground(&[task("T1.1", &[work]), task("T1.2", &["run: `echo more >> other.txt`"])]));
    ends_well(&project, PHASE_RUN);
    let log = project.git_command("log --topo-order --format=%s --no-merges main");
    assert!(
        log.contains("mine") && log.contains("T1.1: Do T1.1") && log.contains("T1.2: Do T1.2"),
        "{log}"
    );
}
