//! Real agents in work trees of their own: what each did is committed, proven and merged.

use crate::{
    program::{Agent, wait_for},
    stage::{Stage, done, until},
};
use serde_json::{Value, json};
use std::path::Path;

const TASKS: [&str; 3] = ["T1.1", "T1.2", "T1.3"];

fn tree(task: &str) -> String {
    format!("worktree/phase-1-ground--{task}-1")
}

/// Each task writes a file of its own into its own work tree, and ends when there is a file `go`.
fn three(agent: Agent) -> Option<Stage> {
    let task = |id: &str| {
        format!(
            "- [ ] {id}: Write {id}\n  - agent: {}\n  - depends: none\n  - files: {id}.txt\n  \
             - verify: `grep -q {id} {id}.txt && git diff --quiet HEAD`\n",
            agent.name()
        )
    };
    let tasks = format!("## Phase 1: Ground\n\n{}", TASKS.map(task).concat());
    Stage::new(agent, &tasks, |site| {
        let turns = |task: &'static str| {
            let written = agent.write_in(site, &tree(task), &format!("{task}.txt"), task);
            // An interrupted Claude puts an excuse of its own between the answers.
            let last = until(site, "go", done(task));
            (task, json!([written, last.clone(), last]))
        };
        TASKS.map(turns).into()
    })
}

fn check_merged(stage: &Stage) {
    let git = |line: &str| stage.site.git(line);
    for task in TASKS {
        assert_eq!(git(&format!("show main:{task}.txt")).trim_end(), task);
        let merges = format!("log main --merges --format=%H --grep=^Waypost-Task:.{task}$");
        assert_eq!(git(&merges).lines().count(), 1, "{task}");
        let evidence: Vec<Value> = stage.events("task_completed");
        let completed = evidence.iter().find(|it| it["id"] == task).unwrap();
        assert_eq!(completed["evidence"]["kind"], "check");
        // What was verified is what was merged.
        let merge = completed["commit"].as_str().unwrap();
        let work = git(&format!("rev-parse {merge}^2"));
        assert_eq!(completed["evidence"]["tree"], work.trim_end());
    }
    assert_eq!(git("show main:TASKS.md").matches("[x]").count(), 3);
    assert_eq!(git("worktree list").lines().count(), 1);
    assert_eq!(git("for-each-ref refs/heads/worktree refs/waypost/phases"), "");
    let status = git("status --porcelain");
    assert!(!status.contains("T1."), "{status}");
}

fn check_together(agent: Agent) {
    let Some(stage) = three(agent) else { return };
    let engine = stage.begin("run --no-budget --isolation task");
    for task in TASKS {
        stage.wait_for_turn(task, 1);
    }
    // All three at once, each in its own place, and nothing of it in the project.
    for task in TASKS {
        assert_eq!(stage.site.read(&format!("{}/{task}.txt", tree(task))).trim_end(), task);
        assert!(!Path::new(&stage.site.path(&format!("{task}.txt"))).exists());
    }
    stage.site.write("go", "");
    let ran = engine.end();
    assert_eq!(ran.code, Some(0), "{ran}");
    check_merged(&stage);
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn three_claudes_work_at_once_in_trees_of_their_own_and_are_merged() {
    check_together(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn three_codexes_work_at_once_in_trees_of_their_own_and_are_merged() {
    check_together(Agent::Codex);
}

fn check_killed(agent: Agent) {
    let Some(stage) = three(agent) else { return };
    let engine = stage.begin("run --no-budget --isolation task");
    for task in TASKS {
        stage.wait_for_turn(task, 1);
    }
    engine.kill();
    stage.kill_all();
    let engine = stage.begin("run --resume");
    wait_for("every task's second attempt", || {
        (stage.tasks("task_started").len() == 6).then_some(())
    });
    stage.site.write("go", "");
    let ran = engine.end();
    assert_eq!(ran.code, Some(0), "{ran}");
    for task in TASKS {
        assert_eq!(stage.conversations(task).len(), 1, "{task} goes on in the same conversation");
    }
    check_merged(&stage);
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn killed_claudes_go_on_in_their_trees_and_are_merged_once() {
    check_killed(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn killed_codexes_go_on_in_their_trees_and_are_merged_once() {
    check_killed(Agent::Codex);
}
