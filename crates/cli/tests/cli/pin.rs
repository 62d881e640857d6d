//! The PIN: set by a person at a terminal, and typed for what opens a gate.

use crate::{
    harness::{BINARY, PIN, Project, Ran, WORKFLOW},
    terminal::no_person_is_here,
};
use std::{fs, path::PathBuf};

fn file(project: &Project) -> PathBuf {
    project.home().join(".local/state/waypost/pin")
}

/// A feature whose first gate waits for a person's word.
fn waiting() -> Project {
    let project = Project::git();
    project.write("waypost.toml", "[workflow.gates.review_clean_pass]\nhuman = true\n");
    project.must("develop start Chat");
    project.must("develop advance --checkpoint cp-1");
    project
}

/// Types keys at a line; all that is printed is in `stdout`.
fn typing(project: &Project, line: &str, keys: &str) -> Ran {
    project.at_keyboard(&format!("{BINARY} {line}"), keys)
}

fn is_open(project: &Project) -> bool {
    project.window(WORKFLOW)["gates"]["review_clean_pass"] == true
}

const PASS: &str = "develop gate pass review_clean_pass --yes";

#[test]
fn a_persons_word_opens_a_gate_with_the_pin_only() {
    if no_person_is_here() {
        return;
    }
    let project = waiting();
    for keys in ["1357\n", "\n", "\x04"] {
        let ran = typing(&project, PASS, keys);
        assert_eq!((ran.code, is_open(&project)), (3, false), "{keys:?}: {ran}");
    }
    let ran = typing(&project, PASS, &format!("{PIN}\n"));
    assert_eq!((ran.code, is_open(&project)), (0, true), "{ran}");
}

#[test]
fn so_does_an_answer_in_the_inbox_and_a_suspension() {
    if no_person_is_here() {
        return;
    }
    let project = waiting();
    let asked = project.run("develop gate pass review_clean_pass");
    assert_eq!(asked.code, 3, "{asked}");
    let ran = typing(&project, "inbox answer q1 confirm", "1357\n");
    assert_eq!((ran.code, is_open(&project)), (3, false), "{ran}");
    let ran = typing(&project, "inbox answer q1 confirm", &format!("{PIN}\n"));
    assert_eq!((ran.code, is_open(&project)), (0, true), "{ran}");
    let ran = typing(&project, "develop suspend --reason lunch", "1357\n");
    assert_eq!(ran.code, 3, "{ran}");
    assert_eq!(project.json("develop status")["suspended"], serde_json::Value::Null);
    // What closes something needs none.
    let ran = typing(&project, "develop gate reset review_clean_pass", "");
    assert_eq!((ran.code, is_open(&project)), (0, false), "{ran}");
}

#[test]
fn without_a_pin_a_gate_waits_for_one() {
    if no_person_is_here() {
        return;
    }
    let project = waiting();
    fs::remove_file(file(&project)).unwrap();
    let ran = typing(&project, PASS, &format!("{PIN}\n"));
    assert_eq!((ran.code, is_open(&project)), (3, false), "{ran}");
    assert!(ran.stdout.contains("none is set") && ran.stdout.contains("waypost pin"), "{ran}");
    let ran = typing(&project, "pin", "97531\n97531\n");
    assert_eq!(ran.code, 0, "{ran}");
    let ran = typing(&project, PASS, "97531\n");
    assert_eq!((ran.code, is_open(&project)), (0, true), "{ran}");
}

#[test]
fn an_agent_sets_no_pin_and_a_change_needs_the_old_one() {
    let project = waiting();
    let before = fs::read(file(&project)).unwrap();
    assert_eq!(project.run("pin").code, 3);
    if no_person_is_here() {
        return;
    }
    for keys in ["1357\n97531\n97531\n", &format!("{PIN}\n97531\n97530\n"), "\n"] {
        let ran = typing(&project, "pin", keys);
        assert_ne!(ran.code, 0, "{keys:?}: {ran}");
        let kept: serde_json::Value =
            serde_json::from_slice(&fs::read(file(&project)).unwrap()).unwrap();
        let first: serde_json::Value = serde_json::from_slice(&before).unwrap();
        assert_eq!(kept["hash"], first["hash"], "{keys:?}");
    }
    let ran = typing(&project, "pin", &format!("{PIN}\n97531\n97531\n"));
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(typing(&project, PASS, &format!("{PIN}\n")).code, 3);
    assert_eq!(typing(&project, PASS, "97531\n").code, 0);
}

#[test]
fn another_state_folder_brings_no_other_pin() {
    if no_person_is_here() {
        return;
    }
    let project = waiting();
    let forged = project.base().join("forged/waypost");
    fs::create_dir_all(&forged).unwrap();
    let line = format!("XDG_STATE_HOME={} {BINARY} {PASS}", forged.parent().unwrap().display());
    project.at_keyboard(&line, "1357\n");
    assert!(!is_open(&project));
}

#[test]
fn init_offers_to_set_one_at_a_terminal() {
    if no_person_is_here() {
        return;
    }
    let project = Project::git();
    fs::remove_file(file(&project)).unwrap();
    project.must("init --no-agents");
    assert!(!file(&project).exists(), "without a terminal none is set");
    let ran = typing(&project, "init --no-agents", "\n");
    assert_eq!((ran.code, file(&project).exists()), (0, false), "{ran}");
    let ran = typing(&project, "init --no-agents", "97531\n97531\n");
    assert_eq!((ran.code, file(&project).exists()), (0, true), "{ran}");
}
