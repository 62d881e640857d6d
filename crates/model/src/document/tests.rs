//! What the checks of each document find, as tables of one change and its findings.

use super::contract::{DesignBrief, DesignContract, TaskBreakdown, TestContract, TestResult};
use super::knowledge::Knowledge;
use super::memory::{AgentMemory, TaskHistory, TaskState};
use super::server::{Agent, ServerTask};
use super::session::{SessionFile, SessionState};
use super::{Document, code};
use crate::diagnostic::{Diagnostic, Severity};
use serde_json::{Value, json};

/// A change of a document: a JSON Pointer and what stands there instead.
type Change = (&'static str, Value);

fn read<D: Document>(base: &Value, changes: &[Change]) -> D {
    let mut value = base.clone();
    for (pointer, new) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match value.pointer_mut(parent).unwrap() {
            Value::Object(map) => drop(map.insert(key.to_owned(), new.clone())),
            Value::Array(list) => list[key.parse::<usize>().unwrap()] = new.clone(),
            other => panic!("{pointer} leads into {other}"),
        }
    }
    serde_json::from_value(value).unwrap()
}

fn lines(findings: &[Diagnostic]) -> Vec<String> {
    let sign = |severity| if severity == Severity::Error { "" } else { "warning " };
    let line = |finding: &Diagnostic| {
        assert!(code::ALL.iter().any(|(word, _)| *word == finding.code), "{}", finding.code);
        format!("{}{} {}: {}", sign(finding.severity), finding.code, finding.path, finding.message)
    };
    findings.iter().map(line).collect()
}

/// Compares what is found in the base, which is nothing, and in the base with each change.
fn check<D: Document>(base: &Value, table: &[(&[Change], &[&str])]) {
    assert_eq!(lines(&read::<D>(base, &[]).check()), Vec::<String>::new());
    for (changes, want) in table {
        assert_eq!(lines(&read::<D>(base, changes).check()), *want, "{changes:?}");
    }
}

#[test]
fn a_server_task_makes_sense() {
    let base = json!({
        "id": "task_abc123", "status": "in_progress", "currentPhase": 1, "totalPhases": 4,
        "progress": 35, "createdAt": "2024-02-15T10:00:00Z", "startedAt": "2024-02-15T10:01:00Z",
        "completedAt": null, "failedAt": null
    });
    let early = json!("2024-02-15T09:00:00Z");
    check::<ServerTask>(
        &base,
        &[
            (&[("/progress", json!(101))], &["out_of_range progress: 101 is too large"]),
            (&[("/currentPhase", json!(5))], &["out_of_range currentPhase: there is no phase 5"]),
            (&[("/currentPhase", json!(0))], &["out_of_range currentPhase: there is no phase 0"]),
            (&[("/totalPhases", json!(0))], &[]),
            (
                &[("/cancelledAt", json!("2024-02-15T11:00:00Z"))],
                &["contradiction cancelledAt: a cancelled task is a failed one"],
            ),
            (
                &[("/startedAt", early)],
                &["warning contradiction startedAt: 2024-02-15T09:00:00Z lies before \
                   2024-02-15T10:00:00Z, which came first"],
            ),
        ],
    );
}

#[test]
fn a_server_agent_makes_sense() {
    let base = json!({"status": "running", "currentPhase": 1, "blockedBy": null});
    check::<Agent>(
        &base,
        &[
            (&[("/progress", json!(200))], &["out_of_range progress: 200 is too large"]),
            (&[("/currentPhase", json!(0))], &["out_of_range currentPhase: there is no phase 0"]),
        ],
    );
}

fn task_state() -> Value {
    json!({
        "current_task": {
            "id": "task-2025-11-18-001", "name": "one",
            "plan": {
                "steps": [
                    {"id": 1, "name": "a"},
                    {"id": 2, "name": "b", "dependencies": [1]},
                    {"id": 5, "name": "c", "dependencies": [1, 2]}
                ],
                "current_step": 1
            },
            "issues": [{"step_id": 5, "type": "transient", "message": "m"}]
        },
        "pending_tasks": [{"id": "task-2025-11-18-002", "name": "two"}]
    })
}

#[test]
fn plans_can_be_carried_out() {
    check::<TaskState>(
        &task_state(),
        &[
            (
                &[("/current_task/plan/steps/1/id", json!(1))],
                &[
                    "duplicate_id current_task.plan.steps[1].id: `1` is used twice",
                    "missing_reference current_task.plan.steps[2].dependencies[1]: there is no step 2",
                ],
            ),
            (
                &[("/current_task/plan/steps/0/dependencies", json!([9]))],
                &[
                    "missing_reference current_task.plan.steps[0].dependencies[0]: there is no step 9",
                ],
            ),
            (
                &[("/current_task/plan/steps/0/dependencies", json!([5]))],
                &["cycle current_task.plan.steps[0].dependencies: \
                   steps wait for each other: 1 → 5 → 1"],
            ),
            (
                &[("/current_task/plan/current_step", json!(3))],
                &["missing_reference current_task.plan.current_step: there is no step 3"],
            ),
            (&[("/current_task/plan/current_step", Value::Null)], &[]),
            (
                &[("/current_task/issues/0/step_id", json!(3))],
                &["missing_reference current_task.issues[0].step_id: there is no step 3"],
            ),
            (
                &[("/pending_tasks/0/id", json!("task-2025-11-18-001"))],
                &["duplicate_id pending_tasks[0].id: `task-2025-11-18-001` is used twice"],
            ),
        ],
    );
}

#[test]
fn absent_fields_of_the_memory_have_defaults_and_are_written() {
    let state: TaskState =
        read(&json!({"current_task": {"id": "task-2025-11-18-001", "name": "새 작업"}}), &[]);
    assert_eq!(
        serde_json::to_value(state).unwrap(),
        json!({
            "version": "1.0",
            "current_task": {
                "id": "task-2025-11-18-001", "name": "새 작업", "status": "pending",
                "started_at": null, "updated_at": null, "orchestrator": "orchestrator",
                "plan": {"goal": "", "success_criteria": [], "steps": [], "current_step": null},
                "context": {}, "artifacts": [], "issues": []
            },
            "pending_tasks": [],
            "last_updated": null
        })
    );
}

#[test]
fn a_history_adds_up() {
    let entry = json!({
        "id": "task-2025-11-18-001", "name": "n", "result": "cancelled",
        "started_at": "2025-11-18T10:00:00Z", "completed_at": "2025-11-18T10:05:00Z",
        "metrics": {"steps_total": 5, "steps_completed": 5}
    });
    let base = json!({
        "tasks": [entry],
        "statistics": {"total_tasks": 100, "success_rate": 0.95, "avg_duration_seconds": 240}
    });
    check::<TaskHistory>(
        &base,
        &[
            (
                &[("/statistics/success_rate", json!(95))],
                &["out_of_range statistics.success_rate: 95 is not a rate"],
            ),
            (
                &[("/statistics/avg_duration_seconds", json!(-1.5))],
                &["out_of_range statistics.avg_duration_seconds: -1.5 is not a duration"],
            ),
            (
                &[("/statistics/total_tasks", json!(0))],
                &["warning wrong_count statistics.total_tasks: 0 tasks in all, but 1 are listed"],
            ),
            (
                &[("/tasks/0/metrics/steps_completed", json!(6))],
                &["wrong_count tasks[0].metrics.steps_completed: 6 of 5 steps were completed"],
            ),
            (
                &[("/tasks", json!([entry, entry]))],
                &["duplicate_id tasks[1].id: `task-2025-11-18-001` is used twice"],
            ),
        ],
    );
    let written = serde_json::to_string(&read::<TaskHistory>(&base, &[]).statistics).unwrap();
    assert_eq!(written, r#"{"total_tasks":100,"success_rate":0.95,"avg_duration_seconds":240}"#);
}

#[test]
fn an_agents_name_stays_in_its_folder() {
    let found = |name: &str| lines(&read::<AgentMemory>(&json!({"agent": name}), &[]).check());
    assert_eq!(found("writing-assistant"), Vec::<String>::new());
    for bad in ["", "../x", "a/b", ".hidden", "a\\b"] {
        assert_eq!(found(bad), [format!("bad_value agent: `{bad}` is not a name")]);
    }
}

fn session() -> Value {
    json!({
        "version": 1,
        "project": {"path": "/p", "name": "p", "hash": "a1b2c3d4"},
        "status": "active", "current_task": "T1",
        "created_at": "2024-01-15T10:00:00Z", "updated_at": "2024-01-15T10:30:00Z"
    })
}

fn session_state() -> Value {
    json!({
        "version": 2,
        "request": {
            "id": "R1", "original_request": "r", "status": "active", "current_task": "T1",
            "global_phase": "task_loop"
        },
        "tasks": {
            "T1": {
                "name": "n", "status": "in_progress", "current_subtask": "T1-S2",
                "subtasks": {
                    "T1-S1": {"name": "a", "status": "completed", "phase": "complete"},
                    "T1-S2": {"name": "b", "status": "in_progress", "phase": "test_first"}
                },
                "subtask_order": ["T1-S1", "T1-S2", "T1-S3"]
            }
        },
        "task_order": ["T1", "T2"]
    })
}

#[test]
fn a_session_knows_its_project() {
    check::<SessionFile>(
        &session(),
        &[
            (
                &[("/project/path", json!("my/project"))],
                &["relative_path project.path: `my/project` is a relative path"],
            ),
            (&[("/project/path", json!("C:\\p"))], &[]),
            (
                &[("/updated_at", json!("2024-01-15T09:00:00Z"))],
                &["warning contradiction updated_at: 2024-01-15T09:00:00Z lies before \
                   2024-01-15T10:00:00Z, which came first"],
            ),
        ],
    );
}

#[test]
fn a_session_state_names_only_what_exists() {
    check::<SessionState>(
        &session_state(),
        &[
            (&[("/request/current_task", json!("T2"))], &[]),
            (&[("/request/current_task", Value::Null)], &[]),
            (&[("/tasks/T1/current_subtask", json!("T1-S3"))], &[]),
            (
                &[("/request/current_task", json!("T3"))],
                &["missing_reference request.current_task: there is no task T3"],
            ),
            (
                &[("/tasks/T1/current_subtask", json!("T1-S4"))],
                &["missing_reference tasks.T1.current_subtask: there is no subtask T1-S4"],
            ),
            (
                &[("/task_order", json!(["T2", "T2"]))],
                &[
                    "duplicate_id task_order[1]: `T2` is used twice",
                    "missing_reference tasks.T1: T1 is not in the order",
                ],
            ),
            (
                &[("/tasks/T1/subtask_order", json!(["T1-S1", "T1-S2", "T2-S1"]))],
                &["wrong_owner tasks.T1.subtask_order[2]: T2-S1 does not belong to T1"],
            ),
            (
                &[("/tasks/T1/subtasks/T1-S1/phase", json!("verification"))],
                &["contradiction tasks.T1.subtasks.T1-S1.phase: \
                   a subtask is completed when its phase is complete"],
            ),
            (
                &[("/tasks/T1/subtasks/T1-S2/name", json!("Write tests"))],
                &["warning separate_test_subtask tasks.T1.subtasks.T1-S2.name: \
                   `Write tests` is a subtask of its own"],
            ),
        ],
    );
}

#[test]
fn session_and_state_agree_about_the_current_task() {
    let session: SessionFile = read(&session(), &[]);
    let state: SessionState = read(&session_state(), &[]);
    assert_eq!(lines(&state.check_with(&session)), Vec::<String>::new());
    let other: SessionState = read(&session_state(), &[("/request/current_task", Value::Null)]);
    assert_eq!(
        lines(&other.check_with(&session)),
        ["contradiction request.current_task: null is not what session.json says, which is T1"]
    );
}

#[test]
fn a_breakdown_orders_all_its_tasks() {
    let base = json!({
        "version": 1, "request_id": "R1", "created_at": "2024-01-15T10:05:00Z",
        "created_by": "planner", "original_request": "r", "objective": "o",
        "tasks": [
            {"id": "T1", "name": "a", "subtasks": [{"id": "T1-S1", "name": "s"}]},
            {"id": "T2", "name": "b"}
        ],
        "assumptions": [], "task_order": ["T2", "T1"]
    });
    check::<TaskBreakdown>(
        &base,
        &[
            (
                &[("/task_order", json!(["T1", "T3"]))],
                &[
                    "missing_reference task_order[1]: there is no task T3",
                    "missing_reference tasks[1].id: T2 is not in the order",
                ],
            ),
            (
                &[("/tasks/1/id", json!("T1"))],
                &[
                    "duplicate_id tasks[1].id: `T1` is used twice",
                    "missing_reference task_order[0]: there is no task T2",
                ],
            ),
            (
                &[("/tasks/0/subtasks/0/id", json!("T2-S1"))],
                &["wrong_owner tasks[0].subtasks[0].id: T2-S1 does not belong to T1"],
            ),
            (
                &[("/tasks/0/subtasks/0/name", json!("테스트 작성"))],
                &["warning separate_test_subtask tasks[0].subtasks[0].name: \
                   `테스트 작성` is a subtask of its own"],
            ),
        ],
    );
}

#[test]
fn designs_name_each_thing_once() {
    let base = json!({
        "version": 1, "task_id": "T1", "created_at": "2024-01-15T10:10:00Z", "created_by": "o",
        "subtasks": [{"id": "T1-S1", "name": "a"}, {"id": "T1-S2", "name": "b"}]
    });
    let (other, twice) = (json!("T2-S2"), json!("T1-S1"));
    check::<DesignBrief>(
        &base,
        &[
            (&[("/subtasks/1/id", twice)], &["duplicate_id subtasks[1].id: `T1-S1` is used twice"]),
            (
                &[("/subtasks/1/id", other)],
                &["wrong_owner subtasks[1].id: T2-S2 does not belong to T1"],
            ),
        ],
    );
    let base = json!({
        "version": 1, "created_at": "2024-01-15T10:10:00Z", "created_by": "architect",
        "invariants": [{"id": "INV-1", "rule": "r"}, {"id": "INV-2", "rule": "r"}],
        "interfaces": [], "boundaries": [], "file_refs": []
    });
    check::<DesignContract>(
        &base,
        &[(
            &[("/invariants/1/id", json!("INV-1"))],
            &["duplicate_id invariants[1].id: `INV-1` is used twice"],
        )],
    );
}

#[test]
fn a_test_contract_belongs_to_its_subtask() {
    let base = json!({
        "version": 1, "request_id": "R1", "task_id": "T1", "subtask_id": "T1-S2",
        "created_at": "2024-01-15T10:30:00Z", "created_by": "qa-engineer", "subtask_name": "s",
        "test_cases": [{"id": "TC-1", "name": "a"}, {"id": "TC-2", "name": "b"}],
        "test_file_path": "t"
    });
    check::<TestContract>(
        &base,
        &[
            (
                &[("/task_id", json!("T2"))],
                &["wrong_owner subtask_id: T1-S2 does not belong to T2"],
            ),
            (
                &[("/test_cases/1/id", json!("TC-1"))],
                &["duplicate_id test_cases[1].id: `TC-1` is used twice"],
            ),
        ],
    );
}

#[test]
fn a_test_result_adds_up() {
    let base = json!({
        "version": 1, "task_id": "T1", "subtask_id": "T1-S2",
        "created_at": "2024-01-15T11:00:00Z", "created_by": "qa-engineer",
        "execution": {"result": "pass"}, "summary": {"total": 2, "passed": 2, "failed": 0},
        "recommendation": {"action": "complete"}
    });
    let failed = json!([{"id": "TC-1", "category": "test_error"}]);
    check::<TestResult>(
        &base,
        &[
            (
                &[("/summary/total", json!(3))],
                &["wrong_count summary.total: 2 passed, 0 failed and 0 skipped are 2"],
            ),
            (
                &[("/execution/result", json!("fail"))],
                &["contradiction recommendation.action: a run that failed completes nothing"],
            ),
            (
                &[
                    ("/summary", json!({"total": 2, "passed": 1, "failed": 1})),
                    ("/failed_tests", failed),
                ],
                &["contradiction execution.result: the run passed, but 1 tests failed"],
            ),
            (
                &[("/failed_tests", json!([{"id": "TC-1"}]))],
                &["warning wrong_count failed_tests: 0 tests failed, but 1 are listed"],
            ),
            (
                &[("/task_id", json!("T2"))],
                &["wrong_owner subtask_id: T1-S2 does not belong to T2"],
            ),
        ],
    );
}

#[test]
fn knowledge_decides_each_topic_once() {
    let base = json!({
        "version": 1,
        "decisions": [
            {"id": "D1", "topic": "auth", "decision": "JWT", "created_at": "2024-01-15"},
            {"id": "D2", "topic": "db", "decision": "SQLite"}
        ],
        "pitfalls": [{"id": "P1", "description": "d"}, {"id": "P2", "description": "d"}]
    });
    check::<Knowledge>(
        &base,
        &[
            (
                &[("/decisions/1/id", json!("D1"))],
                &["duplicate_id decisions[1].id: `D1` is used twice"],
            ),
            (
                &[("/pitfalls/1/id", json!("P1"))],
                &["duplicate_id pitfalls[1].id: `P1` is used twice"],
            ),
            (
                &[("/decisions/1/topic", json!("auth"))],
                &["warning contradiction decisions[1].topic: `auth` was decided before"],
            ),
            (
                &[("/project", json!({"path": "p", "name": "p", "hash": "a1b2c3d4"}))],
                &["relative_path project.path: `p` is a relative path"],
            ),
        ],
    );
}
