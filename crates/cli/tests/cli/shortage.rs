//! A machine that has no file left to open when something fails: that may be why, so nothing has failed.

use crate::{
    agents::{bodies, left, tasks, with as with_agents},
    execute::{begin, status, wait_for, with},
    harness::Project,
};
use serde_json::{Value, json};
use std::{fs, process::Child};

/// Fewer than a try takes, and enough for what an engine does by itself.
const FILES_LEFT: usize = 9;

/// The soft limit of open files of a process, in place of the one that it has.
fn limit_files(pid: u32, soft: &str) {
    let project = Project::plain();
    let mut command = project.command("prlimit", &project.root);
    command.args(["--pid", &pid.to_string(), &format!("--nofile={soft}:")]);
    assert!(command.status().unwrap().success());
}

fn soft_limit(pid: u32) -> String {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().to_owned()
}

fn has_prlimit() -> bool {
    let project = Project::plain();
    let is_there = project.command("prlimit", &project.root).arg("--version").output().is_ok();
    if !is_there {
        println!("skipped: a machine without files: prlimit is not here");
    }
    is_there
}

/// What is at work fails while its engine has hardly a file left, and not when it has all of them again.
fn fails_without_files(project: &Project, line: &str) {
    let mut run: Child = begin(project, line);
    wait_for("the work", || project.path("begun").exists());
    let before = soft_limit(run.id());
    let open = fs::read_dir(format!("/proc/{}/fd", run.id())).unwrap().count();
    limit_files(run.id(), &(open + FILES_LEFT).to_string());
    project.write("go", "");
    wait_for("what it waits for", || {
        project.run("why T1.1").stdout.contains("Too many open files")
    });
    // It goes on saying so, also between two tries.
    let why = project.must("why T1.1").stdout;
    assert!(!why.contains("is ready"), "{why}");
    assert_ne!(status(project, "T1.1"), "failed");
    limit_files(run.id(), &before);
    assert!(run.wait().unwrap().success());
    assert_eq!(status(project, "T1.1"), "completed");
    assert_eq!(bodies(project, "attempt_parked").len(), 1);
    for kind in ["attempt_failed", "task_failed"] {
        assert_eq!(bodies(project, kind), Vec::<Value>::new(), "{kind}");
    }
    assert!(left(project).is_empty());
}

/// As a shell says it whose own fork has failed.
const FAILS_ONCE: &str = "test -e begun && exit 0; touch begun; until test -e go; do sleep 0.05; done; \
                          echo \"fork: Resource temporarily unavailable\"; exit 254";

#[test]
fn a_command_that_fails_where_no_file_can_be_opened_has_not_failed() {
    if !has_prlimit() {
        return;
    }
    let task = |run: &str, verify: &str| {
        with(&format!(
            "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Only\n  - run: `{run}`\n  - verify: `{verify}`\n"
        ))
    };
    for project in [task(FAILS_ONCE, "true"), task("true", FAILS_ONCE)] {
        fails_without_files(&project, "run --retry-limit 0");
    }
}

#[test]
fn an_agent_that_fails_where_no_file_can_be_opened_has_not_failed() {
    if !has_prlimit() {
        return;
    }
    let fails = json!([
        {"run": "touch begun; until test -e go; do sleep 0.05; done"},
        {"say": "FAIL:T1.1:fork: Resource temporarily unavailable"}
    ]);
    let works = json!([{"tool": "Read", "input": "x"}, {"done": "now"}]);
    let script = json!({"version": 1, "default": [{"steps": fails}, {"steps": works}]});
    let project = with_agents(&tasks(&["T1.1"]), &script);
    fails_without_files(&project, "run --no-budget --retry-limit 0");
}
