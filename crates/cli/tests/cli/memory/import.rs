//! `waypost import`: tasks of Task Master and of Backlog.md, into a TASKS.md that can be run.

use crate::harness::Project;
use serde_json::Value;
use std::{fs, path::Path};

/// Files that Task Master 0.43.1 and Backlog.md 1.52.0 have written.
const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/fixtures/import");

const TASK_MASTER: &str = r#"{"master": {"tasks": [
    {"id": 1, "title": "Cart", "status": "done", "dependencies": [], "priority": "high"},
    {"id": 2, "title": "Pay", "status": "review", "dependencies": [1], "details": "by card"}
], "metadata": {}}}"#;

#[test]
fn a_list_of_task_master_can_be_run() {
    let project = Project::git();
    project.write(".taskmaster/tasks/tasks.json", TASK_MASTER);
    let looked = project.must("import .taskmaster/tasks/tasks.json --dry-run");
    assert!(looked.stdout.contains("### [x] T1.1: Cart"), "{looked}");
    assert!(!project.path("TASKS.md").exists());
    let taken = project.json("import .taskmaster/tasks/tasks.json");
    assert_eq!((&taken["tasks"], &taken["file"]), (&2.into(), &"TASKS.md".into()));
    let said = taken["remarks"].to_string();
    assert!(said.contains("review") && said.contains("metadata"), "{said}");
    project.must("validate TASKS.md");
    assert_eq!(project.json("run next")[0]["id"], "T1.2");
    // What is there is left alone.
    let again = project.run("import .taskmaster/tasks/tasks.json");
    assert_eq!(again.code, 3, "{again}");
    project.must("import .taskmaster/tasks/tasks.json --to docs/OTHER.md");
    assert_eq!(project.read(".taskmaster/tasks/tasks.json"), TASK_MASTER);
}

#[test]
fn an_open_subtask_of_a_done_task_stays_open_and_that_is_said() {
    let project = Project::git();
    let tasks = r#"{"master": {"tasks": [{"id": 1, "title": "Cart", "status": "done", "subtasks": [
        {"id": 1, "title": "Wheels", "status": "done"}, {"id": 2, "title": "Brakes", "status": "pending"}]}]}}"#;
    project.write("tasks.json", tasks);
    let taken = project.json("import tasks.json");
    let said = taken["remarks"].to_string();
    assert!(said.contains("1.2 is open although 1 is done: it stays open"), "{said}");
    project.must("validate TASKS.md");
    assert_eq!(project.json("run next")[0]["id"], "T1.1.2");
}

#[test]
fn a_backlog_can_be_run() {
    let project = Project::git();
    project.write(
        "backlog/tasks/task-1 - Cart.md",
        "---\nid: task-1\ntitle: Cart\nstatus: To Do\npriority: low\n---\n\n## Description\n\nA cart.\n",
    );
    project.write(
        "backlog/tasks/task-2 - Pay.md",
        "---\nid: task-2\ntitle: Pay\nstatus: To Do\ndependencies: [task-1]\n---\n\ntext\n",
    );
    project.write("backlog/docs/how.md", "# How\n");
    let taken = project.must("import backlog");
    assert!(taken.stderr.contains("docs/how.md"), "{taken}");
    project.must("validate TASKS.md");
    let next = project.json("run next");
    assert_eq!((next.as_array().map(Vec::len), &next[0]["id"]), (Some(1), &"T1.1".into()));
    assert!(project.read("TASKS.md").contains("> A cart."));
}

#[test]
fn what_cannot_be_taken_over_is_told() {
    let project = Project::git();
    project.write("bad.json", "{");
    for (line, code) in [("import bad.json", 2), ("import missing.json", 2), ("import .", 2)] {
        let ran = project.run(line);
        assert_eq!(ran.code, code, "{line}\n{ran}");
    }
    assert!(!project.path("TASKS.md").exists());
}

/// The texts of all fields of a value, but for those that only say how it is stored.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(text.lines().map(|line| line.trim().to_owned())),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => {
            let is_told = |name: &str| !["dependencies", "parentId", "metadata"].contains(&name);
            let fields = fields.iter().filter(|(name, _)| is_told(name));
            fields.for_each(|(_, value)| texts(value, found));
        }
        _ => {}
    }
}

/// Words for which a TASKS.md has a box or a field.
fn has_a_place(text: &str) -> bool {
    ["", "done", "pending", "medium", "high", "low"].contains(&text)
}

#[test]
fn nothing_of_a_file_that_task_master_wrote_is_lost() {
    let project = Project::git();
    let file = format!("{REAL}/taskmaster/tasks/tasks.json");
    let taken = project.json(&format!("import {REAL}/taskmaster"));
    let (written, read) = (project.read("TASKS.md"), fs::read_to_string(file).unwrap());
    let mut wanted = Vec::new();
    texts(&serde_json::from_str(&read).unwrap(), &mut wanted);
    for text in wanted.iter().filter(|text| !has_a_place(text)) {
        assert!(written.contains(text.as_str()), "`{text}` is lost:\n{written}");
    }
    project.must("validate TASKS.md");
    let said = taken["remarks"].to_string();
    for remark in ["2.2 was `review`", "5 was `deferred`", "6 was `blocked`", "T1.3 is not to be"] {
        assert!(said.contains(remark), "{remark} is not in {said}");
    }
    // What was done is done, and what waited waits for the same.
    let ready = project.json("run next");
    let ready: Vec<&str> =
        ready.as_array().unwrap().iter().filter_map(|task| task["id"].as_str()).collect();
    assert_eq!(ready, ["T1.2.2", "T1.5"], "{written}");
    for (id, depends) in [
        ("T1.2.2", vec!["T1.1", "T1.2.1"]),
        ("T1.2.3", vec!["T1.1", "T1.2.1", "T1.2.2"]),
        ("T1.2", vec!["T1.1", "T1.2.1", "T1.2.2", "T1.2.3"]),
        ("T1.6", vec!["T1.2", "T1.2.1", "T1.4"]),
        ("T2.2", vec!["T2.1"]),
    ] {
        assert_eq!(depends_of(&written, id), depends, "{id}\n{written}");
    }
}

fn depends_of<'a>(written: &'a str, id: &str) -> Vec<&'a str> {
    let at = written.find(&format!("] {id}: ")).unwrap();
    let line = written[at..].lines().find_map(|line| line.strip_prefix("- depends: ")).unwrap();
    let mut ids: Vec<&str> = line.split(", ").collect();
    ids.sort_unstable();
    ids
}

#[test]
fn nothing_of_a_folder_that_backlog_wrote_is_lost() {
    let project = Project::git();
    let taken = project.json(&format!("import {REAL}/backlog"));
    let written = project.read("TASKS.md");
    for shelf in ["tasks", "completed", "drafts", "archive/tasks"] {
        for entry in fs::read_dir(Path::new(REAL).join("backlog").join(shelf)).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let (_, body) = text.split_once("\n---\n").unwrap();
            let title = text.lines().find_map(|line| line.strip_prefix("title: ")).unwrap();
            for line in body.lines().chain([title.trim_matches('\'')]) {
                assert!(written.contains(line), "{}: `{line}` is lost", path.display());
            }
        }
    }
    for field in
        ["created_date", "due_date", "2026-12-01", "ground", "m-0", "docs/pay.md", "feature"]
    {
        assert!(written.contains(field), "{field} is lost:\n{written}");
    }
    project.must("validate TASKS.md");
    let said = taken["remarks"].to_string();
    for remark in [
        "DRAFT-1 is not to be done",
        "TASK-5 is not to be done",
        "TASK-1 was `In Progress`",
        "TASK-2 has 2 assignees",
        "config.yml",
        "docs/doc-1",
        "decisions/decision-1",
        "milestones/m-0",
    ] {
        assert!(said.contains(remark), "{remark} is not in {said}");
    }
    for (id, depends) in [
        ("T1.1", vec!["none"]),
        ("T1.2", vec!["T1.1", "T1.2.1", "T1.2.2"]),
        ("T1.2.1", vec!["T1.1"]),
        ("T1.2.2", vec!["T1.1", "T1.2.1"]),
        ("T1.3", vec!["T1.2.2"]),
    ] {
        assert_eq!(depends_of(&written, id), depends, "{id}\n{written}");
    }
    assert!(written.contains("[x] T1.4: ") && written.contains("[x] T1.6: "), "{written}");
}
