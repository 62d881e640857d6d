//! Edits of `.develop-workflow/state.json`.

use super::{Case, Who, let_a_second_begin, refused, settled, table};
use crate::{
    harness::{Project, WORKFLOW},
    terminal::no_person_is_here,
};
use Who::{Agent, Person};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

fn row(project: &Project, id: &str, status: &str, iteration: u32) {
    project.edit(WORKFLOW, |state| {
        state["checkpoints"][id] = json!({ "status": status, "iteration": iteration });
    });
}

fn field(project: &Project, field: &str, value: Value) {
    project.edit(WORKFLOW, |state| state[field] = value);
}

#[test]
fn steps_of_checkpoints_are_taken_up() {
    let cases = [
        Case { name: "cp-2 is started", by: Agent, edit: |it| row(it, "cp-2", "in_progress", 1) },
        Case { name: "cp-1 failed once", by: Agent, edit: |it| row(it, "cp-1", "in_progress", 2) },
        Case { name: "cp-1 failed twice", by: Agent, edit: |it| row(it, "cp-1", "in_progress", 3) },
        Case { name: "cp-1 is escalated", by: Agent, edit: |it| row(it, "cp-1", "escalated", 1) },
        Case {
            name: "two checkpoints at once",
            by: Agent,
            edit: |it| {
                row(it, "cp-1", "in_progress", 2);
                row(it, "cp-2", "in_progress", 1);
            },
        },
        Case {
            name: "saved in place, keys in another order, with other line ends",
            by: Agent,
            edit: |it| {
                row(it, "cp-2", "in_progress", 1);
                it.write(WORKFLOW, &it.read(WORKFLOW).replace('\n', "\r\n"));
            },
        },
    ];
    assert_snapshot!("workflow_taken_up", table(Project::implementing, &cases));
}

#[test]
fn what_needs_evidence_is_refused_whoever_wrote_it() {
    if no_person_is_here() {
        return;
    }
    let forge_gate: fn(&Project) =
        |it| it.replace(WORKFLOW, "\"architect_verified\": false", "\"architect_verified\": true");
    let forge_phase: fn(&Project) = |it| field(it, "phase", json!("PR"));
    let forge_pass: fn(&Project) = |it| row(it, "cp-1", "passed", 1);
    let cases = [
        Case { name: "a gate is forged", by: Agent, edit: forge_gate },
        Case { name: "a gate is forged", by: Person, edit: forge_gate },
        Case { name: "the phase is forged", by: Agent, edit: forge_phase },
        Case { name: "the phase is forged", by: Person, edit: forge_phase },
        Case { name: "a pass is forged", by: Agent, edit: forge_pass },
        Case { name: "a pass is forged", by: Person, edit: forge_pass },
        Case {
            name: "everything is forged at once",
            by: Person,
            edit: |it| {
                field(it, "phase", json!("DONE"));
                let gates = ["review_clean_pass", "architect_verified", "re_review_clean"];
                field(it, "gates", gates.iter().map(|gate| (*gate, true)).collect());
                row(it, "cp-1", "passed", 1);
            },
        },
    ];
    assert_snapshot!("workflow_forged", table(Project::implementing, &cases));
}

#[test]
fn what_is_no_step_is_refused_as_a_whole() {
    let cases = [
        Case {
            name: "a legal step beside a forged gate",
            by: Agent,
            edit: |it| {
                row(it, "cp-2", "in_progress", 1);
                it.edit(WORKFLOW, |state| state["gates"]["re_review_clean"] = json!(true));
            },
        },
        Case {
            name: "a gate is closed",
            by: Agent,
            edit: |it| {
                it.edit(WORKFLOW, |state| state["gates"]["review_clean_pass"] = json!(false));
            },
        },
        Case { name: "the strategy", by: Agent, edit: |it| field(it, "strategy", json!("direct")) },
        Case { name: "the feature", by: Agent, edit: |it| field(it, "feature", json!("Other")) },
        Case {
            name: "the beginning",
            by: Agent,
            edit: |it| field(it, "started_at", json!("2020-01-01T00:00:00Z")),
        },
        Case { name: "a new checkpoint", by: Agent, edit: |it| row(it, "cp-4", "pending", 0) },
        Case {
            name: "a checkpoint less",
            by: Agent,
            edit: |it| {
                it.edit(WORKFLOW, |state| {
                    state["checkpoints"].as_object_mut().unwrap().remove("cp-3");
                });
            },
        },
        Case {
            name: "a step back",
            by: Agent,
            edit: |it| {
                let_a_second_begin();
                it.must("--quiet develop checkpoint fail cp-1");
                row(it, "cp-1", "in_progress", 1);
            },
        },
        Case { name: "past the limit", by: Agent, edit: |it| row(it, "cp-1", "in_progress", 9) },
        Case { name: "a contradiction", by: Agent, edit: |it| row(it, "cp-2", "pending", 2) },
        Case { name: "an unknown field", by: Agent, edit: |it| field(it, "note", json!("hi")) },
        Case {
            name: "a text for a gate",
            by: Agent,
            edit: |it| {
                it.edit(WORKFLOW, |state| state["gates"]["re_review_clean"] = json!("true"));
            },
        },
        Case {
            name: "half a file",
            by: Agent,
            edit: |it| it.write(WORKFLOW, &it.read(WORKFLOW)[..80]),
        },
        Case { name: "no JSON", by: Agent, edit: |it| it.write(WORKFLOW, "phase: PR\n") },
        Case {
            name: "bytes that are no text",
            by: Agent,
            edit: |it| {
                fs::write(it.path(WORKFLOW), [0xff, 0xfe, 0x00, 0x7b]).unwrap();
            },
        },
    ];
    assert_snapshot!("workflow_refused", table(Project::implementing, &cases));
}

#[test]
fn what_says_the_same_is_no_edit() {
    let cases = [
        Case {
            name: "other line ends",
            by: Agent,
            edit: |it| it.write(WORKFLOW, &it.read(WORKFLOW).replace('\n', "\r\n")),
        },
        Case { name: "keys in another order", by: Agent, edit: |it| it.edit(WORKFLOW, |_| {}) },
        Case {
            name: "no white space",
            by: Agent,
            edit: |it| it.save(WORKFLOW, &it.window(WORKFLOW).to_string()),
        },
        Case {
            name: "another time of the last change",
            by: Agent,
            edit: |it| field(it, "updated_at", json!("2030-01-01T00:00:00+09:00")),
        },
        Case {
            name: "saved without a change",
            by: Agent,
            edit: |it| it.save(WORKFLOW, &it.read(WORKFLOW)),
        },
        Case { name: "touched", by: Agent, edit: |it| it.write(WORKFLOW, &it.read(WORKFLOW)) },
    ];
    assert_snapshot!("workflow_same", table(Project::implementing, &cases));
}

#[test]
fn an_escalated_checkpoint_is_reopened_by_a_person_only() {
    if no_person_is_here() {
        return;
    }
    fn escalated() -> Project {
        let project = Project::implementing();
        let_a_second_begin();
        project.must("--quiet develop checkpoint escalate cp-1");
        project
    }
    let reopen: fn(&Project) = |it| row(it, "cp-1", "in_progress", 1);
    let cases = [
        Case { name: "cp-1 is reopened", by: Agent, edit: reopen },
        Case { name: "cp-1 is reopened", by: Person, edit: reopen },
    ];
    assert_snapshot!("workflow_reopened", table(escalated, &cases));
}

#[test]
fn of_a_stale_write_only_its_own_change_is_taken_up() {
    let cases = [Case {
        name: "cp-3 is started in a copy from before cp-2 was",
        by: Agent,
        edit: |it| {
            let stale = it.read(WORKFLOW);
            it.must("--quiet develop checkpoint start cp-2");
            it.must("--quiet develop checkpoint fail cp-1");
            it.save(WORKFLOW, &stale);
            row(it, "cp-3", "in_progress", 1);
        },
    }];
    // The events of cp-2 and cp-1 are those of the commands, the last one is the edit's.
    assert_snapshot!("workflow_stale", table(Project::implementing, &cases));
}

#[test]
fn an_earlier_rendering_is_not_an_edit() {
    let cases = [
        Case {
            name: "the file from before cp-1 failed is put back",
            by: Agent,
            edit: |it| {
                let earlier = it.read(WORKFLOW);
                it.must("--quiet develop checkpoint fail cp-1");
                it.save(WORKFLOW, &earlier);
            },
        },
        Case {
            name: "the same, with its keys in another order",
            by: Agent,
            edit: |it| {
                let earlier = it.read(WORKFLOW);
                it.must("--quiet develop checkpoint fail cp-1");
                it.save(WORKFLOW, &earlier);
                it.edit(WORKFLOW, |_| {});
            },
        },
    ];
    assert_snapshot!("workflow_earlier", table(Project::implementing, &cases));
}

#[test]
fn a_refused_file_is_kept_byte_by_byte() {
    let project = Project::implementing();
    let mut edits = Vec::new();
    for feature in ["One", "Two", "Two"] {
        field(&project, "feature", json!(feature));
        edits.push(project.read(WORKFLOW));
        project.must("status");
    }
    edits.sort();
    let mut kept = refused(&project);
    kept.sort();
    assert_eq!(kept, edits);
    // One entry in the inbox asks for attention, not one per edit.
    assert_eq!(project.json("inbox").as_array().map(Vec::len), Some(1));
    settled(&project);
}
