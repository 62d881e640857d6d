//! `waypost import`: tasks of Task Master and of Backlog.md, into a TASKS.md that can be run.

use crate::harness::Project;

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
