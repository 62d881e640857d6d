//! Isolation `phase`: all tasks of a phase in its one work tree.

use super::{at, ends_well, ground, run, snapshots, task, with};
use crate::harness::{BINARY, Project, USER_CONFIG};
use serde_json::{Value, json};
use std::fs;

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

/// A repository with an agent `alice` that follows a script.
fn with_alice(tasks: &str, script: &Value) -> Project {
    let project = with(tasks);
    let file = project.base().join("script.json");
    fs::write(&file, script.to_string()).unwrap();
    let sessions = project.base().join("sessions");
    project.write(
        USER_CONFIG,
        &format!(
            "[agents.alice]\nadapter = \"claude\"\ncommand = [\"{BINARY}\", \"sim\", \"agent\", \
             \"--speak\", \"claude\", \"--script\", \"{}\", \"--sessions\", \"{}\", \"--\"]\n",
            file.display(),
            sessions.display()
        ),
    );
    project
}

/// Alice meets a limit in the middle of her work, and goes on in the same conversation.
fn limited(before: &Value, after: &Value) -> Value {
    let steps = |own: &Value, last: Value| {
        let mut steps = own.as_array().unwrap().clone();
        steps.push(last);
        json!({ "steps": steps })
    };
    let limit = json!({"limit": {"resets_in_s": 1}});
    json!({"version": 1, "tasks": {
        "T1.1": [steps(before, limit), steps(after, json!({"done": "did it"}))]
    }})
}

fn write(file: &str, text: &str) -> Value {
    json!({"write": {"file": file, "text": text}})
}

const ALICE_RUN: &str = "run --isolation phase --retry-limit 0 --no-budget";

#[test]
fn what_a_failed_task_left_is_not_merged_with_one_that_goes_on() {
    let rubbish = task("T1.2", &["run: `echo x > rubbish.txt; exit 3`"]);
    let script = limited(&json!([write("half.txt", "half\n")]), &json!([write("b.txt", "b\n")]));
    let tasks = ground(&[task("T1.1", &["agent: alice"]), rubbish]);
    let project = with_alice(&tasks, &script);
    run(&project, ALICE_RUN, 1, &["exit code 3"]);
    assert_eq!(project.git_command("ls-tree --name-only main rubbish.txt"), "");
    assert!(!project.path("rubbish.txt").exists());
    assert_eq!(at(&project, "main", "half.txt"), "half\n", "it got back its own");
    assert_eq!(at(&project, "main", "b.txt"), "b\n");
    let kept = snapshots(&project);
    assert!(kept.contains(&"refs/waypost/snapshots/phase-1-ground--T1.2-1/1".into()), "{kept:?}");
    assert_eq!(
        at(&project, "refs/waypost/snapshots/phase-1-ground--T1.2-1/1", "rubbish.txt"),
        "x\n"
    );
    assert_eq!(project.git_command("for-each-ref refs/waypost/shared"), "");
}

#[test]
fn what_an_attempt_gets_back_does_not_undo_the_work_of_others() {
    let other = task("T1.2", &["run: `echo theirs >> other.txt; rm ground.txt`"]);
    let before = json!([write("half.txt", "half\n"), {"run": "mkdir deep; echo x > deep/x"}]);
    let script = limited(&before, &json!([{"run": "cat other.txt > seen.txt"}]));
    let project = with_alice(&ground(&[task("T1.1", &["agent: alice"]), other]), &script);
    run(&project, ALICE_RUN, 0, &[]);
    assert_eq!(at(&project, "main", "other.txt"), "sky\ntheirs\n");
    assert_eq!(at(&project, "main", "seen.txt"), "sky\ntheirs\n");
    assert_eq!(at(&project, "main", "deep/x"), "x\n");
    assert_eq!(project.git_command("ls-tree --name-only main ground.txt"), "");
    let log = project.git_command("log -1 --format=%H --grep=^Waypost-Task:.T1.1 main");
    let files = project.git_command(&format!("show --format= --name-only {}", log.trim()));
    assert_eq!(files, "deep/x\nhalf.txt\nseen.txt\n");
}

#[test]
fn what_others_have_changed_since_is_not_overwritten_by_what_an_attempt_had() {
    let other = task("T1.2", &["run: `echo theirs > other.txt`"]);
    let script = limited(&json!([write("other.txt", "alice\n")]), &json!([write("b.txt", "b\n")]));
    let project = with_alice(&ground(&[task("T1.1", &["agent: alice"]), other]), &script);
    let ran =
        run(&project, ALICE_RUN, 0, &["goes on without what it had done before", "other.txt"]);
    assert_eq!(at(&project, "main", "other.txt"), "theirs\n", "{ran}");
    assert_eq!(at(&project, "main", "b.txt"), "b\n");
    let kept = "refs/waypost/snapshots/phase-1-ground--T1.1-1/1";
    assert_eq!(at(&project, kept, "other.txt"), "alice\n");
}

#[test]
fn what_a_failed_task_committed_is_not_merged() {
    let tasks = [
        task("T1.1", &["run: `echo x > rubbish.txt; git add -A; git commit -qm mine; exit 3`"]),
        task("T1.2", &["run: `echo laid >> ground.txt`"]),
    ];
    let project = with(&ground(&tasks));
    run(&project, PHASE_RUN, 1, &["exit code 3"]);
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(project.git_command("ls-tree --name-only main rubbish.txt"), "");
    assert!(!project.git_command("log --format=%s main").contains("mine"));
    let kept = "refs/waypost/snapshots/phase-1-ground--T1.1-1/1";
    assert_eq!(project.git_command(&format!("log -1 --format=%s {kept}^")), "mine\n");
}

#[test]
fn a_task_beside_others_leaves_nothing_of_its_files() {
    // T1.2 fails while T1.1 is at work, and T1.3 has the files of T1.2 after that.
    let wait = "until test -e ../../../go; do sleep 0.05; done";
    let tasks = [
        task(
            "T1.1",
            &[&format!("run: `{wait}; echo a > a.txt`"), "files: a.txt", "priority: high"],
        ),
        task(
            "T1.2",
            &[
                "run: `mkdir b; echo x > b/rubbish.txt; git add b; git commit -qm mine; exit 3`",
                "files: b/",
            ],
        ),
        task(
            "T1.3",
            &["run: `mkdir -p b/c; echo b > b/c/b.txt; touch ../../../go`", "files: b/**"],
        ),
    ];
    let project = with(&ground(&tasks));
    run(&project, PHASE_RUN, 1, &["exit code 3"]);
    let files = project.git_command("ls-tree -r --name-only main a.txt b");
    assert_eq!(files, "a.txt\nb/c/b.txt\n");
    assert!(!project.git_command("log --format=%s main").contains("mine"));
    let kept = snapshots(&project);
    let its = kept.iter().rfind(|it| it.contains("T1.2-1")).expect("it is kept");
    assert_eq!(at(&project, its, "b/rubbish.txt"), "x\n");
}

#[test]
fn a_task_on_another_branch_moves_that_branch_nowhere() {
    let tasks = [
        task(
            "T1.1",
            &[
                "run: `git switch -qc aside; echo x > rubbish.txt; git add -A; git commit -qm aside; echo y > loose.txt; exit 3`",
            ],
        ),
        task("T1.2", &["run: `echo laid >> ground.txt`"]),
    ];
    let project = with(&ground(&tasks));
    run(&project, PHASE_RUN, 1, &["exit code 3"]);
    assert_eq!(project.read("ground.txt"), "earth\nlaid\n");
    assert_eq!(project.git_command("ls-tree --name-only main rubbish.txt loose.txt"), "");
    assert_eq!(project.git_command("log -1 --format=%s aside"), "aside\n");
    assert_eq!(at(&project, "refs/waypost/snapshots/phase-1-ground--T1.1-1/1", "loose.txt"), "y\n");
}

#[test]
fn what_a_failed_task_had_ignored_is_kept_before_it_goes() {
    let hide = "run: `echo build/ >> .gitignore; mkdir build; echo long > build/work.txt; exit 3`";
    let tasks = [task("T1.1", &[hide]), task("T1.2", &["run: `echo laid >> ground.txt`"])];
    let project = with(&ground(&tasks));
    project.write(".gitignore", "*.log\n");
    project.git_command("add .gitignore");
    project.git_command("commit -qm rules");
    run(&project, PHASE_RUN, 1, &["exit code 3"]);
    assert_eq!(project.git_command("ls-tree -r --name-only main build"), "");
    let kept = snapshots(&project);
    let is_kept = |name: &String| {
        project.git_command(&format!("ls-tree -r --name-only {name} build")) == "build/work.txt\n"
    };
    assert!(kept.iter().any(is_kept), "{kept:?}");
}
