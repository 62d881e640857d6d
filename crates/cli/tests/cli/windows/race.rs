//! Edits that land while commands are at work: none is ever lost.

use super::{refused, settled};
use crate::harness::{Project, WORKFLOW};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// Commands that run while another process keeps editing.
const COMMANDS: usize = 50;

/// More checkpoints than edits, so that no two edits ask for the same.
const CHECKPOINTS: usize = 200;

/// Edits the window again and again, each time when the edit before is not in place any more:
/// two steps of checkpoints, then a forgery. Returns how many edits were made.
fn keep_editing(project: &Project, is_over: &AtomicBool) -> usize {
    for count in 0..CHECKPOINTS {
        let mut state = project.window(WORKFLOW);
        if is_forgery(count) {
            state["feature"] = json!(format!("Forgery {count}"));
        } else {
            let row = json!({ "status": "in_progress", "iteration": 1 });
            state["checkpoints"][format!("edit-{count}")] = row;
        }
        let edit = serde_json::to_string_pretty(&state).unwrap();
        project.save(WORKFLOW, &edit);
        while project.read(WORKFLOW) == edit {
            if is_over.load(Ordering::SeqCst) {
                return count + 1;
            }
            thread::yield_now();
        }
    }
    CHECKPOINTS
}

fn is_forgery(count: usize) -> bool {
    count % 3 == 2
}

#[test]
fn no_edit_is_lost_that_lands_during_a_command() {
    let project = Project::git();
    project.write("review.md", "Blocking: 0\n");
    project.write("waypost.toml", "[workflow]\nmax_iterations = 1000000\n");
    let ids: Vec<String> = (0..CHECKPOINTS).map(|it| format!("--checkpoint edit-{it}")).collect();
    for line in [
        "develop start Race",
        &format!("develop advance --checkpoint cp-1 {}", ids.join(" ")),
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
        "develop checkpoint start cp-1",
    ] {
        project.must(line);
    }
    let is_over = AtomicBool::new(false);
    let edits = thread::scope(|scope| {
        let editor = scope.spawn(|| keep_editing(&project, &is_over));
        for _ in 0..COMMANDS {
            project.must("--quiet develop checkpoint fail cp-1");
        }
        is_over.store(true, Ordering::SeqCst);
        editor.join().unwrap()
    });
    // Takes up what is still in place.
    project.must("status");
    assert!(edits > 5, "{edits} edits prove little");
    let log = project.log();
    let ids = |kind: &str| -> BTreeSet<String> {
        let entries = log.iter().filter(|entry| entry["kind"] == kind);
        entries.map(|entry| entry["body"]["id"].as_str().unwrap().to_owned()).collect()
    };
    let mut started = ids("checkpoint_started");
    started.remove("cp-1");
    let want = |is: fn(usize) -> bool, word: &str| -> BTreeSet<String> {
        (0..edits).filter(|it| is(*it)).map(|it| format!("{word}{it}")).collect()
    };
    assert_eq!(started, want(|it| !is_forgery(it), "edit-"));
    let kept: BTreeSet<String> = refused(&project)
        .iter()
        .map(|text| serde_json::from_str::<Value>(text).unwrap()["feature"].clone())
        .map(|feature| feature.as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kept, want(is_forgery, "Forgery "));
    let failed = log.iter().filter(|entry| entry["kind"] == "checkpoint_failed").count();
    assert_eq!(failed, COMMANDS);
    settled(&project);
}
