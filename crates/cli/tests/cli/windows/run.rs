//! Edits of `.claude/orchestrate-state.json`.

use super::{Case, Who, let_a_second_begin, settled, table, tell};
use crate::{
    harness::{Project, RUN},
    other::Holder,
    terminal::no_person_is_here,
};
use Who::{Agent, Person};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

fn complete(project: &Project) {
    project.move_task("T1.1", "failed", "completed");
}

fn set(project: &Project, part: &str, field: &str, value: Value) {
    project.edit(RUN, |state| state[part][field] = value);
}

#[test]
fn a_person_edits_the_run() {
    if no_person_is_here() {
        return;
    }
    let cases = [
        Case { name: "failed to completed", by: Person, edit: complete },
        Case {
            name: "completed, and still in `failed`",
            by: Person,
            edit: |it| {
                it.edit(RUN, |state| state["tasks"]["completed"] = json!(["T0.1", "T0.2", "T1.1"]));
            },
        },
        Case {
            name: "blocked to completed",
            by: Person,
            edit: |it| it.move_task("T1.2", "blocked", "completed"),
        },
        Case {
            name: "ready to in_progress",
            by: Person,
            edit: |it| it.move_task("T1.3", "ready", "in_progress"),
        },
        Case {
            name: "in_progress to failed",
            by: Person,
            edit: |it| {
                it.must("run start T1.3");
                it.move_task("T1.3", "in_progress", "failed");
            },
        },
        Case {
            name: "ready to failed",
            by: Person,
            edit: |it| it.move_task("T1.3", "ready", "failed"),
        },
        Case {
            name: "failed to ready",
            by: Person,
            edit: |it| {
                let_a_second_begin();
                it.must("run start T1.3");
                it.move_task("T1.1", "failed", "ready");
            },
        },
        Case {
            name: "the limit of tasks at once",
            by: Person,
            edit: |it| {
                set(it, "config", "max_parallel", json!(2));
            },
        },
        Case {
            name: "the mode",
            by: Person,
            edit: |it| it.edit(RUN, |state| state["mode"] = json!("ralph")),
        },
    ];
    assert_snapshot!("run_by_a_person", table(Project::running, &cases));
}

#[test]
fn what_no_edit_can_do_is_refused() {
    let cases = [
        Case {
            name: "completed to ready",
            by: Agent,
            edit: |it| it.move_task("T0.1", "completed", "ready"),
        },
        Case {
            name: "completed to failed",
            by: Agent,
            edit: |it| it.move_task("T0.1", "completed", "failed"),
        },
        Case {
            name: "a task that is not there",
            by: Agent,
            edit: |it| {
                set(it, "tasks", "completed", json!(["T0.1", "T0.2", "T9.9"]));
            },
        },
        Case {
            name: "the dependencies",
            by: Agent,
            edit: |it| {
                it.edit(RUN, |state| state["dependencies"] = json!({}));
            },
        },
        Case {
            name: "a forged merge",
            by: Agent,
            edit: |it| {
                it.edit(RUN, |state| {
                    state["checkpoints"]["phase_1"] = json!({
                        "completed_at": "2026-02-16T10:00:00Z", "merged": true,
                        "tasks": ["T1.1", "T1.2", "T1.3"], "merge_commit": "abc1234",
                    });
                });
            },
        },
        Case {
            name: "the phase",
            by: Agent,
            edit: |it| set(it, "execution", "current_phase", json!(0)),
        },
        Case {
            name: "the name",
            by: Agent,
            edit: |it| it.edit(RUN, |state| state["project"] = json!("x")),
        },
        Case {
            name: "an unknown version",
            by: Agent,
            edit: |it| {
                it.edit(RUN, |state| state["version"] = json!("3.0"));
            },
        },
        Case {
            name: "a completion beside an unknown field",
            by: Agent,
            edit: |it| {
                complete(it);
                it.edit(RUN, |state| state["note"] = json!("trust me"));
            },
        },
        Case { name: "half a file", by: Agent, edit: |it| it.write(RUN, &it.read(RUN)[..200]) },
    ];
    assert_snapshot!("run_refused", table(Project::running, &cases));
}

#[test]
fn what_is_computed_is_no_edit() {
    let cases = [
        Case {
            name: "counts",
            by: Agent,
            edit: |it| set(it, "metrics", "completed_count", json!(99)),
        },
        Case {
            name: "the last change",
            by: Agent,
            edit: |it| {
                set(it, "execution", "last_updated", json!("2030-01-01T00:00:00Z"));
            },
        },
        Case {
            name: "derived lists",
            by: Agent,
            edit: |it| it.move_task("T1.2", "blocked", "ready"),
        },
        Case {
            name: "formatting",
            by: Agent,
            edit: |it| {
                it.save(RUN, &it.window(RUN).to_string().replace(',', ",\r\n"));
            },
        },
    ];
    assert_snapshot!("run_same", table(Project::running, &cases));
}

#[test]
fn an_agents_edit_waits_for_a_person() {
    let cases = [
        Case { name: "failed to completed", by: Agent, edit: complete },
        Case {
            name: "ready to in_progress",
            by: Agent,
            edit: |it| it.move_task("T1.3", "ready", "in_progress"),
        },
        Case {
            name: "the limit of tasks at once",
            by: Agent,
            edit: |it| {
                set(it, "config", "max_parallel", json!(2));
            },
        },
        Case {
            name: "the same edit twice",
            by: Agent,
            edit: |it| {
                complete(it);
                it.must("--quiet status");
                complete(it);
            },
        },
    ];
    assert_snapshot!("run_by_an_agent", table(Project::running, &cases));
}

#[test]
fn while_an_engine_is_at_work_a_persons_edit_waits_too() {
    if no_person_is_here() {
        return;
    }
    let project = Project::running();
    let Some(engine) = Holder::of_engine_lock(&project) else { return };
    let before = project.log().len();
    complete(&project);
    let ran = project.person_must("--quiet --json status");
    assert_snapshot!("run_during_a_run", tell(&project, &ran, before));
    engine.end();
}

#[test]
fn a_person_accepts_or_declines_what_waits() {
    if no_person_is_here() {
        return;
    }
    let mut told = Vec::new();
    for answer in ["accept", "decline"] {
        let project = Project::running();
        complete(&project);
        project.must("status");
        let refused = project.run(&format!("inbox answer q1 {answer}"));
        assert_eq!(refused.code, 3, "{refused}");
        let before = project.log().len();
        let ran = project.person_must(&format!("inbox answer q1 {answer}"));
        told.push(format!("## {answer}\n{}", tell(&project, &ran, before)));
    }
    assert_snapshot!("run_answered", told.join("\n"));
}

#[test]
fn what_waits_is_accepted_on_what_has_become_of_the_run() {
    if no_person_is_here() {
        return;
    }
    let project = Project::running();
    project.move_task("T1.3", "ready", "completed");
    project.must("status");
    project.must("run retry T1.1");
    project.must("run start T1.1");
    project.person_must("inbox answer q1 accept");
    assert_eq!(
        settled(&project),
        "state:  completed T0.1 T0.2 T1.3, in_progress T1.1, pending T1.2\n"
    );
}

#[test]
fn the_backup_copied_back_leads_to_the_present_state() {
    let cases = [Case {
        name: "cp orchestrate-state.json.bak orchestrate-state.json",
        by: Agent,
        edit: |it| {
            let copied = fs::copy(it.path(".claude/orchestrate-state.json.bak"), it.path(RUN));
            assert!(copied.unwrap() > 0);
        },
    }];
    assert_snapshot!("run_backup", table(Project::running, &cases));
}

#[test]
fn the_edit_of_the_seed_works_with_jq_itself() {
    if no_person_is_here() {
        return;
    }
    let project = Project::running();
    let before = project.log().len();
    let line = format!(
        "jq '.tasks.failed -= [\"T1.1\"] | .tasks.completed += [\"T1.1\"]' {RUN} > tmp.json && \
         mv tmp.json {RUN}"
    );
    let jq = project.command("sh", &project.root).args(["-c", &line]).output().unwrap();
    if !jq.status.success() {
        println!("skipped: `jq` is not here");
        return;
    }
    let ran = project.person_must("status --quiet");
    assert_snapshot!("run_jq", tell(&project, &ran, before));
    let evidence = project.log().iter().rev().find_map(|entry| {
        (entry["kind"] == "task_completed").then(|| entry["body"]["evidence"]["kind"].clone())
    });
    assert_eq!(evidence, Some(json!("forced")));
}

#[test]
fn the_seeds_lock_is_respected_and_an_old_one_taken_over() {
    let project = Project::running();
    let lock = project.path(".claude/orchestrate-state.json.lock");
    fs::write(&lock, "").unwrap();
    let old =
        project.command("touch", &project.root).args(["-d", "5 minutes ago"]).arg(&lock).output();
    assert!(old.unwrap().status.success());
    let ran = project.must("run start T1.3");
    assert!(ran.stderr.contains("took over .claude/orchestrate-state.json.lock"), "{ran}");
    assert!(!lock.exists());
    settled(&project);
}
