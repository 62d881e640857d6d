//! `waypost memory`: its commands, edits of its files, damage, many processes, and what finished work
//! leaves in the history. `docs/memory.md` tells the same.

mod bridges;
mod commands;
mod damage;
mod documents;
mod edits;
mod examples;
mod import;
mod known;

use crate::harness::Project;
use serde_json::Value;

pub(crate) const STATE: &str = ".claude/memory/task-state.json";
pub(crate) const HISTORY: &str = ".claude/memory/task-history.json";
pub(crate) const CONTEXT: &str = ".claude/memory/shared-context.json";

/// A task in progress with three steps, of which the second waits for the first.
fn at_work() -> Project {
    let project = Project::git();
    for line in [
        "memory task new Cart --goal 'Sell things' --criterion 'It sells'",
        "memory step add Design",
        "memory step add Build --after 1",
        "memory step add Test",
        "memory task start",
    ] {
        project.must(line);
    }
    project
}

/// The current task as its file shows it.
fn current(project: &Project) -> Value {
    project.window(STATE)["current_task"].clone()
}

/// The statuses of its steps.
fn statuses(project: &Project) -> Vec<String> {
    let task = current(project);
    let steps = task["plan"]["steps"].as_array().unwrap();
    steps.iter().map(|step| step["status"].as_str().unwrap().to_owned()).collect()
}
