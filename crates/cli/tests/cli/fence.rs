//! Attempts that are over: whatever still runs of them may look, and changes nothing.

use crate::{
    harness::{BINARY, Project, RUN, Ran, WORKFLOW, words},
    terminal::no_person_is_here,
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

/// A run whose T1.1 is in its second attempt, with a workflow beside it.
fn second_attempt() -> Project {
    let project = Project::running();
    for line in ["run retry T1.1", "run start T1.1", "develop start Chat"] {
        project.must(line);
    }
    project
}

/// Runs a line below an attempt.
fn below(project: &Project, task: &str, attempt: &str, line: &str) -> Ran {
    let mut command = project.command(BINARY, &project.root);
    command.env("WAYPOST_TASK", task).env("WAYPOST_ATTEMPT", attempt);
    command.args(words(line)).output().unwrap().into()
}

/// What a late attempt must not change.
fn standing(project: &Project) -> (usize, Vec<Option<String>>) {
    let read = |name: &str| fs::read_to_string(project.path(name)).ok();
    (project.log().len(), [RUN, WORKFLOW, ".git/info/exclude"].map(read).to_vec())
}

#[test]
fn a_late_attempt_changes_nothing_by_any_command() {
    let project = second_attempt();
    project.write("review.md", "Blocking: 0\n");
    let lines = [
        "run start T1.3",
        "run done T1.1",
        "run done T1.1 --attempt 2",
        "run fail T1.1",
        "run fail T1.3 --attempt 1",
        "run retry T1.1",
        "run skip T1.3",
        "run --resume",
        "develop start 'Another'",
        "develop advance --checkpoint cp-1",
        "develop back",
        "develop gate pass review_clean_pass --report review.md",
        "develop gate reset review_clean_pass",
        "develop checkpoint start cp-1",
        "develop checkpoint pass cp-1",
        "develop resume --continue",
        "inbox answer q1 seen",
        "init",
        "memory init",
        "memory task new Other",
        "memory context set shared_data.topic 1",
        "memory agent helper set cache.x 1",
        "memory note Rest --kind lesson",
        "memory prune",
        "knowledge add pitfall 'look out'",
        "knowledge learn",
        "session start",
        "task new Sweep",
    ];
    let before = standing(&project);
    let want = "error: STALE_ATTEMPT: attempt 1 of T1.1 is over: attempt 2 works on it; nothing \
                was changed\n\nhint: stop here; reading is still allowed\n";
    for line in lines {
        let ran = below(&project, "T1.1", "1", line);
        // `resume` says first what it found.
        assert!(ran.code == 4 && ran.stderr.ends_with(want), "{line}\n{ran}");
        assert_eq!(ran.stdout, "", "{line}");
        assert_eq!(standing(&project), before, "{line}");
    }
    fs::write(project.path(".git/info/exclude"), "").unwrap();
    let mended = below(&project, "T1.1", "1", "doctor --fix");
    assert!(mended.code == 4 && mended.stderr.ends_with(want), "{mended}");
    assert_eq!(project.read(".git/info/exclude"), "");
    let resolved = below(&project, "T1.1", "1", "resolve");
    assert_eq!((resolved.code, resolved.stdout.as_str()), (4, "ERROR:STALE_ATTEMPT\n"));
    let told = below(&project, "T1.1", "1", "--json run done T1.1").stderr;
    let told: Value = serde_json::from_str(&told).unwrap();
    let message = "attempt 1 of T1.1 is over: attempt 2 works on it; nothing was changed";
    let want = json!({ "v": 1, "type": "error", "error": {
        "code": 4,
        "kind": "STALE_ATTEMPT",
        "message": message,
        "causes": [],
        "hints": ["stop here; reading is still allowed"],
        "next": null,
        "next_steps": [],
        "files": [],
    }});
    assert_eq!(told, want);
}

#[test]
fn a_late_attempt_may_look() {
    let project = second_attempt();
    let before = standing(&project);
    for line in [
        "status",
        "run status",
        "run next",
        "run --dry-run",
        "why T1.1",
        "log",
        "inbox",
        "develop status",
        "doctor",
        "config show",
    ] {
        let ran = below(&project, "T1.1", "1", line);
        assert_eq!(ran.code, 0, "{line}\n{ran}");
    }
    assert_eq!(standing(&project), before);
}

#[test]
fn a_late_attempt_leaves_an_edit_to_the_next_command() {
    let project = second_attempt();
    let before = project.log().len();
    project.move_task("T1.3", "ready", "completed");
    let edited = project.read(RUN);
    assert_eq!(below(&project, "T1.1", "1", "status").code, 0);
    assert_eq!((project.read(RUN), before), (edited, project.log_quietly("T1.1", "1").len()));
    let ran = project.must("status");
    assert!(ran.stderr.contains("waits in the inbox for a person"), "{ran}");
}

#[test]
fn an_attempt_is_over_in_every_way_that_a_task_can_end() {
    let project = second_attempt();
    let mut told = vec![
        below(&project, "T1.1", "3", "run done T1.1"),
        below(&project, "T9.9", "1", "run start T1.3"),
        below(&project, "T1.3", "1", "run start T1.3"),
        below(&project, "T0.1", "1", "run done T0.1"),
        below(&project, "no id", "x", "run start T1.3"),
    ];
    let fresh = Project::with_tasks();
    told.push(below(&fresh, "T0.1", "1", "run start T0.1"));
    assert!(!fresh.journal().exists(), "no journal is made for it");
    assert!(told.iter().all(|ran| ran.code == 4));
    let told: Vec<&str> = told.iter().filter_map(|ran| ran.stderr.lines().next()).collect();
    assert_snapshot!(told.join("\n"), @"
    error: STALE_ATTEMPT: attempt 3 of T1.1 is over: attempt 2 works on it; nothing was changed
    error: STALE_ATTEMPT: attempt 1 of T9.9 is over: it is not in this run; nothing was changed
    error: STALE_ATTEMPT: attempt 1 of T1.3 is over: the task is ready; nothing was changed
    error: STALE_ATTEMPT: attempt 1 of T0.1 is over: the task is completed; nothing was changed
    error: STALE_ATTEMPT: attempt x of no id is over: it is not in this run; nothing was changed
    error: STALE_ATTEMPT: attempt 1 of T0.1 is over: it is not in this run; nothing was changed
    ");
}

#[test]
fn the_live_attempt_is_known_by_its_environment() {
    let project = second_attempt();
    let other = below(&project, "T1.1", "2", "run done T1.1 --attempt 1");
    assert_eq!(other.code, 3, "{other}");
    assert_snapshot!(other.stderr, @"error: attempt 2 of T1.1 does not speak for attempt 1");
    // What it says of another task is not said by that task's attempt.
    below(&project, "T1.1", "2", "run start T1.3");
    let ran = below(&project, "T1.1", "2", "run done T1.3");
    assert_eq!(ran.code, 0, "{ran}");
    let ran = below(&project, "T1.1", "2", "run done T1.1");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(below(&project, "T1.1", "2", "run done T1.1").code, 4, "it is over now");
}

#[test]
fn an_attempt_of_another_project_is_none_here() {
    let project = second_attempt();
    let mut command = project.command(BINARY, &project.root);
    command.env("WAYPOST_TASK", "T1.1").env("WAYPOST_ATTEMPT", "1");
    command.env("WAYPOST_FENCE", "/elsewhere/.git/waypost/fences/T1.1");
    let ran: Ran = command.args(words("run start T1.3")).output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn a_person_below_an_attempt_that_is_over_is_told_too() {
    if no_person_is_here() {
        return;
    }
    let project =
        second_attempt().variable("WAYPOST_TASK", "T1.1").variable("WAYPOST_ATTEMPT", "1");
    assert_eq!(project.as_person("run start T1.3").code, 4);
}

#[test]
fn of_two_attempts_that_race_one_is_heard() {
    let project = Project::with_tasks();
    project.must("run start T0.1");
    // Whichever comes first, the older one is never recorded after the newer one was begun.
    let late = || below(&project, "T0.1", "1", "run done T0.1");
    std::thread::scope(|scope| {
        let done = scope.spawn(late);
        let failed = scope.spawn(|| project.run("run fail T0.1 --class transient"));
        let (done, failed) = (done.join().unwrap(), failed.join().unwrap());
        assert_eq!([done.code, failed.code].iter().filter(|code| **code == 0).count(), 1);
    });
    let kinds: Vec<Value> = project.log().iter().map(|entry| entry["kind"].clone()).collect();
    let ends = kinds.iter().filter(|kind| **kind == "task_completed" || **kind == "attempt_failed");
    assert_eq!(ends.count(), 1, "{kinds:?}");
}

impl Project {
    /// Every event of the journal, as an attempt reads it.
    fn log_quietly(&self, task: &str, attempt: &str) -> Vec<Value> {
        let lines = below(self, task, attempt, "--json log -n 1000000").stdout;
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
