//! A window that is gone, or is no file any more, or cannot be written.

use super::{Case, Who::Agent, settled, table};
use crate::{
    harness::{Project, RUN, TASKS, WORKFLOW},
    other::Other,
};
use insta::assert_snapshot;
use serde_json::json;
use std::{fs, os::unix::fs as unix_fs, path::Path};

/// A project with both windows.
fn both() -> Project {
    let project = Project::implementing();
    project.write("TASKS.md", TASKS);
    project.must("run start T0.1");
    project
}

#[test]
fn a_window_that_is_gone_is_shown_again() {
    let cases = [
        Case {
            name: "both files removed",
            by: Agent,
            edit: |it| {
                fs::remove_file(it.path(WORKFLOW)).unwrap();
                fs::remove_file(it.path(RUN)).unwrap();
            },
        },
        Case {
            name: "both folders removed",
            by: Agent,
            edit: |it| {
                fs::remove_dir_all(it.path(".develop-workflow")).unwrap();
                fs::remove_dir_all(it.path(".claude")).unwrap();
            },
        },
        Case {
            name: "moved away",
            by: Agent,
            edit: |it| fs::rename(it.path(WORKFLOW), it.path("state.json")).unwrap(),
        },
    ];
    assert_snapshot!("gone", table(both, &cases));
}

/// Leaves of both windows what a power cut may leave of a file that was not synced.
fn cut(project: &Project, keep: usize, zeros: usize) {
    for name in [WORKFLOW, RUN] {
        let mut bytes = fs::read(project.path(name)).unwrap();
        bytes.truncate(keep);
        bytes.extend(std::iter::repeat_n(0, zeros));
        fs::write(project.path(name), bytes).unwrap();
    }
}

#[test]
fn a_window_that_a_power_cut_has_cut_short_is_gone_and_no_edit() {
    let cases = [
        Case { name: "empty", by: Agent, edit: |it| cut(it, 0, 0) },
        Case { name: "zeros", by: Agent, edit: |it| cut(it, 0, 300) },
        Case { name: "the beginning", by: Agent, edit: |it| cut(it, 100, 0) },
        Case { name: "the beginning, then zeros", by: Agent, edit: |it| cut(it, 100, 300) },
    ];
    assert_snapshot!("cut_short", table(both, &cases));
}

#[test]
fn two_edits_at_once_are_taken_up_each_by_itself() {
    let cases = [
        Case {
            name: "a step in the workflow, and counts in the run",
            by: Agent,
            edit: |it| {
                it.edit(RUN, |state| state["metrics"]["failed_count"] = json!(7));
                it.edit(WORKFLOW, |state| {
                    state["checkpoints"]["cp-2"] =
                        json!({ "status": "in_progress", "iteration": 1 });
                });
            },
        },
        Case {
            name: "a forged gate in the workflow, and a completion in the run",
            by: Agent,
            edit: |it| {
                it.move_task("T0.2", "ready", "completed");
                it.edit(WORKFLOW, |state| state["gates"]["re_review_clean"] = json!(true));
            },
        },
    ];
    assert_snapshot!("both", table(both, &cases));
}

/// Puts something in the place of a window that is no file.
fn put(path: &Path, what: &str, project: &Project) {
    fs::rename(path, project.path("aside.json")).unwrap();
    match what {
        "a link" => unix_fs::symlink(project.path("aside.json"), path).unwrap(),
        "a link to nothing" => unix_fs::symlink("/nowhere/at/all", path).unwrap(),
        "a folder" => fs::create_dir(path).unwrap(),
        _ => {
            let made = project.command("mkfifo", &project.root).arg(path).output().unwrap();
            assert!(made.status.success());
        }
    }
}

fn remove(path: &Path) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_no_file_is_left_alone_and_the_work_goes_on() {
    let mut told = Vec::new();
    for what in ["a link", "a link to nothing", "a folder", "a FIFO"] {
        for (window, line) in [(WORKFLOW, "develop checkpoint fail cp-1"), (RUN, "run start T0.2")]
        {
            let project = both();
            let path = project.path(window);
            put(&path, what, &project);
            let aside = project.read("aside.json");
            let ran = project.must(&format!("--quiet {line}"));
            let again = project.must("--quiet status");
            // What stands in the way stays in the way, and so does the warning.
            assert_eq!(again.stderr, ran.stderr, "{what} at {window}");
            assert_eq!(project.read("aside.json"), aside, "{what} at {window} was followed");
            told.push(format!("## {what} at {window}\n{}", project.redact(&ran.stderr)));
            remove(&path);
            project.must("status");
            let state = settled(&project);
            assert!(state.contains("cp-1 in_progress 2") || state.contains("T0.1 T0.2"), "{state}");
        }
    }
    assert_snapshot!("no_file", told.join("\n"));
}

#[test]
fn a_folder_that_is_a_file_is_left_alone_too() {
    let project = both();
    let folder = project.path(".develop-workflow");
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "mine\n").unwrap();
    let ran = project.must("--quiet develop checkpoint fail cp-1");
    assert_snapshot!("folder_is_a_file", project.redact(&ran.stderr));
    assert_eq!(fs::read_to_string(&folder).unwrap(), "mine\n");
    fs::remove_file(&folder).unwrap();
    project.must("status");
    assert!(settled(&project).contains("cp-1 in_progress 2"));
}

#[test]
fn a_window_that_cannot_be_written_is_shown_at_the_next_load() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = both();
    let Some(other) = Other::owning(&project) else { return };
    other.give(&project.base());
    let folder = project.path(".develop-workflow");
    let allow = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    let before = project.read(WORKFLOW);
    allow(0o555);
    let ran = other.run(&project, "--quiet develop checkpoint fail cp-1");
    assert_eq!(ran.code, 0, "{ran}");
    assert_snapshot!("read_only", project.redact(&ran.stderr));
    assert_eq!(project.read(WORKFLOW), before);
    allow(0o755);
    let ran = other.run(&project, "--quiet status");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(project.window(WORKFLOW)["checkpoints"]["cp-1"]["iteration"], json!(2));
}

#[test]
fn permissions_of_a_window_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = both();
    let path = project.path(WORKFLOW);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    project.must("develop checkpoint fail cp-1");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
