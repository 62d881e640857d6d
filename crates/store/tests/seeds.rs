//! Every example of the five format descriptions loads as it stands, survives being written, and
//! is accepted by its generated schema.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use serde_json::Value;
use std::path::Path;
use waypost_model::diagnostic::{Diagnostic, Severity};
use waypost_model::document::contract::{
    DesignBrief, DesignContract, Explored, TaskBreakdown, TestContract, TestResult,
};
use waypost_model::document::knowledge::Knowledge;
use waypost_model::document::memory::{AgentMemory, SharedContext, TaskHistory, TaskState};
use waypost_model::document::server::{Agent, ServerTask, Transition};
use waypost_model::document::session::{SessionFile, SessionState};
use waypost_model::document::{Document, Kind, Syntax};
use waypost_model::run::RunState;
use waypost_model::workflow::WorkflowState;
use waypost_store::parse::{parse, render, schema, validate};

/// A file, what is checked of it, and the findings that are expected as `line:column code path`.
struct Row {
    file: &'static str,
    check: fn(&str, &[&str]),
    warnings: &'static [&'static str],
}

fn row<D: Document + PartialEq + std::fmt::Debug>(
    file: &'static str,
    warnings: &'static [&'static str],
) -> Row {
    Row { file, check: check::<D>, warnings }
}

fn rows() -> Vec<Row> {
    [state_rows(), memory_rows(), session_rows()].into_iter().flatten().collect()
}

fn state_rows() -> Vec<Row> {
    vec![
        row::<WorkflowState>("000-1-workflow-state.json", &[]),
        row::<RunState>(
            "001-1-run-state.json",
            &[
                "15:15 contradiction tasks.ready[0]",
                "34:27 contradiction checkpoints.phase_0.tasks[1]",
                "34:37 contradiction checkpoints.phase_0.tasks[2]",
            ],
        ),
        row::<RunState>(
            "001-2-initial-run-state.json",
            &[
                "8:19 template_placeholder execution.started_at",
                "9:21 template_placeholder execution.last_updated",
                "12:17 template_placeholder tasks.pending[0]",
            ],
        ),
        row::<Transition>("002-1-transition.json", &[]),
        row::<ServerTask>("002-2-task.json", &[]),
        row::<Agent>("002-3-agent.json", &[]),
    ]
}

fn memory_rows() -> Vec<Row> {
    vec![
        row::<TaskState>(
            "003-1-task-state.json",
            &[
                "4:11 template_placeholder current_task.id",
                "7:19 template_placeholder current_task.started_at",
                "8:19 template_placeholder current_task.updated_at",
                "19:21 template_placeholder current_task.plan.steps[0].status",
                "38:19 template_placeholder last_updated",
            ],
        ),
        row::<TaskHistory>(
            "003-2-task-history.json",
            &[
                "5:13 template_placeholder tasks[0].id",
                "7:17 template_placeholder tasks[0].result",
                "8:21 template_placeholder tasks[0].started_at",
                "9:23 template_placeholder tasks[0].completed_at",
                "14:19 template_placeholder tasks[0].artifacts[0].type",
            ],
        ),
        row::<SharedContext>(
            "003-3-shared-context.json",
            &[
                "4:11 template_placeholder session.id",
                "5:19 template_placeholder session.started_at",
                "17:19 template_placeholder last_updated",
            ],
        ),
        row::<AgentMemory>("003-4-agent-memory.json", &["16:19 template_placeholder last_updated"]),
        row::<TaskState>("003-5-new-task-state.json", &[]),
        row::<TaskState>("003-6-empty-task-state.json", &[]),
    ]
}

fn session_rows() -> Vec<Row> {
    vec![
        row::<SessionFile>("004-1-session.json", &[]),
        row::<SessionState>(
            "004-2-session-state.json",
            &["26:19 separate_test_subtask tasks.T1.subtasks.T1-S2.name"],
        ),
        row::<Explored>("004-3-explored.yaml", &[]),
        row::<TaskBreakdown>(
            "004-4-task-breakdown.yaml",
            &[
                "18:15 separate_test_subtask tasks[0].subtasks[1].name",
                "29:15 separate_test_subtask tasks[1].subtasks[0].name",
            ],
        ),
        row::<DesignBrief>(
            "004-5-design-brief.yaml",
            &["14:11 separate_test_subtask subtasks[1].name"],
        ),
        row::<DesignContract>("004-6-design-contract.yaml", &[]),
        row::<TestContract>("004-7-test-contract.yaml", &[]),
        row::<TestResult>("004-8-test-result.yaml", &[]),
        row::<Knowledge>("004-9-knowledge.yaml", &[]),
    ]
}

/// What a writer puts in place of each placeholder of the templates.
const FILLED: [(&str, &str); 8] = [
    ("now", "2026-01-21T09:00:00Z"),
    ("all-tasks-from-TASKS.md", "T1.1"),
    ("ISO-8601", "2025-11-18T10:00:00Z"),
    ("task-YYYY-MM-DD-NNN", "task-2025-11-18-001"),
    ("session-YYYY-MM-DD-NNN", "session-2025-11-18-001"),
    ("pending|in_progress|completed|failed", "completed"),
    ("success|failure|partial", "partial"),
    ("file|data", "data"),
];

fn fixture(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seeds");
    std::fs::read_to_string(folder.join(file)).unwrap()
}

fn lines(findings: &[Diagnostic]) -> Vec<String> {
    let line = |finding: &Diagnostic| {
        let place = finding.place.unwrap();
        format!("{}:{} {} {}", place.line, place.column, finding.code, finding.path)
    };
    findings.iter().map(line).collect()
}

fn check<D: Document + PartialEq + std::fmt::Debug>(file: &str, warnings: &[&str]) {
    let text = fixture(file);
    let found = validate(D::KIND, text.as_bytes());
    assert_eq!(lines(&found), warnings, "{file}");
    assert!(found.iter().all(|finding| finding.severity == Severity::Warning), "{file}");

    let is_template = warnings.iter().any(|line| line.contains("template_placeholder"));
    assert_eq!(parse::<D>(text.as_bytes()).is_err(), is_template, "{file}");
    let filled = FILLED
        .iter()
        .fold(text, |text, (from, to)| text.replace(&format!("\"{from}\""), &format!("\"{to}\"")));

    let value = parse::<D>(filled.as_bytes()).unwrap().value;
    let rendered = render(&value);
    assert_eq!(parse::<D>(rendered.as_bytes()).unwrap().value, value, "{file}\n{rendered}");
    accepts::<D>(file, &filled);
    accepts::<D>(file, &rendered);
}

/// The schema of the document's kind accepts the text as other readers see it.
fn accepts<D: Document>(file: &str, text: &str) {
    let instance: Value = match D::KIND.syntax() {
        Syntax::Yaml => serde_saphyr::from_str(text).unwrap(),
        Syntax::Json | Syntax::Toml => serde_json::from_str(text).unwrap(),
    };
    let validator = jsonschema::validator_for(&schema(D::KIND)).unwrap();
    let refusals: Vec<String> = validator
        .iter_errors(&instance)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(refusals, Vec::<String>::new(), "{file}\n{text}");
}

#[test]
fn every_example_loads_and_survives() {
    for Row { file, check, warnings } in rows() {
        check(file, warnings);
    }
}

#[test]
fn every_example_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seeds");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut listed: Vec<&str> = rows().iter().map(|row| row.file).collect();
    listed.sort_unstable();
    assert_eq!(files, listed);
}

#[test]
fn schemas_refuse_what_the_reader_refuses() {
    let table = [
        ("002-2-task.json", Kind::Task, "\"progress\": 35", "\"progress\": 135"),
        ("002-2-task.json", Kind::Task, "\"progress\"", "\"progres\""),
        ("002-1-transition.json", Kind::Transition, "PHASE_COMPLETE", "PHASE_DONE"),
        ("004-1-session.json", Kind::Session, "\"version\": 1", "\"version\": 2"),
        ("004-1-session.json", Kind::Session, "a1b2c3d4", "A1B2C3D4"),
        ("004-1-session.json", Kind::Session, "2024-01-15T10:00:00Z", "yesterday"),
        ("004-2-session-state.json", Kind::SessionState, "\"version\": 2", "\"version\": 1"),
        ("004-2-session-state.json", Kind::SessionState, "GATE-4", "GATE-5"),
        ("004-2-session-state.json", Kind::SessionState, "\"T1-S1\": {", "\"S1\": {"),
    ];
    for (file, kind, from, to) in table {
        let text = fixture(file);
        let changed = text.replacen(from, to, 1);
        assert_ne!(text, changed, "{file} {from}");
        let validator = jsonschema::validator_for(&schema(kind)).unwrap();
        let refuses = !validator.is_valid(&serde_json::from_str(&changed).unwrap());
        let found = validate(kind, changed.as_bytes());
        let is_error = found.iter().any(|finding| finding.severity == Severity::Error);
        assert_eq!((refuses, is_error), (true, true), "{file}: {from} → {to}: {found:?}");
    }
}

#[test]
fn schemas_say_what_they_are() {
    for kind in Kind::ALL {
        let schema = schema(kind);
        assert_eq!(schema["$id"], format!("urn:waypost:schema:{}", kind.name()));
        assert_eq!(schema["title"], kind.title());
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(jsonschema::meta::is_valid(&schema), "{}", kind.name());
    }
}

/// The example of each kind of the session part, and the fields that it cannot do without.
const REQUIRED: [(&str, Kind, &[&str]); 9] = [
    (
        "004-1-session.json",
        Kind::Session,
        &["version", "project", "status", "created_at", "updated_at"],
    ),
    ("004-2-session-state.json", Kind::SessionState, &["version", "request"]),
    ("004-3-explored.yaml", Kind::Explored, &["version", "created_at", "created_by"]),
    (
        "004-4-task-breakdown.yaml",
        Kind::TaskBreakdown,
        &[
            "version",
            "request_id",
            "created_at",
            "created_by",
            "original_request",
            "objective",
            "tasks",
            "assumptions",
            "task_order",
        ],
    ),
    ("004-5-design-brief.yaml", Kind::DesignBrief, &["version", "created_at", "created_by"]),
    (
        "004-6-design-contract.yaml",
        Kind::DesignContract,
        &[
            "version",
            "created_at",
            "created_by",
            "invariants",
            "interfaces",
            "boundaries",
            "file_refs",
        ],
    ),
    (
        "004-7-test-contract.yaml",
        Kind::TestContract,
        &[
            "version",
            "request_id",
            "task_id",
            "subtask_id",
            "created_at",
            "created_by",
            "subtask_name",
            "test_cases",
            "test_file_path",
        ],
    ),
    (
        "004-8-test-result.yaml",
        Kind::TestResult,
        &["version", "created_at", "created_by", "execution", "summary", "recommendation"],
    ),
    ("004-9-knowledge.yaml", Kind::Knowledge, &["version"]),
];

#[test]
fn exactly_the_required_fields_cannot_be_left_out() {
    for (file, kind, required) in REQUIRED {
        let example: Value = serde_saphyr::from_str(&fixture(file)).unwrap();
        for field in example.as_object().unwrap().keys() {
            let mut without = example.clone();
            without.as_object_mut().unwrap().remove(field);
            // JSON is YAML too, so one way of writing suffices.
            let found = validate(kind, without.to_string().as_bytes());
            let missing: Vec<&str> = found
                .iter()
                .filter(|finding| finding.code == "missing_field")
                .map(|finding| finding.path.as_str())
                .collect();
            let want: &[&str] = if required.contains(&field.as_str()) { &[field] } else { &[] };
            assert_eq!(missing, want, "{file} without {field}");
        }
        assert_eq!(schema(kind)["required"], serde_json::json!(required), "{file}");
    }
}

#[test]
fn what_may_be_absent_is_not_null() {
    let table = [
        (
            "004-2-session-state.json",
            Kind::SessionState,
            "\"GATE-4\": \"pending\"",
            "\"GATE-4\": null",
        ),
        (
            "004-6-design-contract.yaml",
            Kind::DesignContract,
            "note: \"인터페이스만 의존\"",
            "note:",
        ),
        ("004-9-knowledge.yaml", Kind::Knowledge, "learned_from: \"T3\"", "learned_from: ~"),
    ];
    for (file, kind, from, to) in table {
        let text = fixture(file).replacen(from, to, 1);
        let found = validate(kind, text.as_bytes());
        let errors: Vec<&str> = found
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.code)
            .collect();
        assert_eq!(errors, ["wrong_type"], "{file} with {to}");
        let instance: Value = serde_saphyr::from_str(&text).unwrap();
        assert!(!jsonschema::validator_for(&schema(kind)).unwrap().is_valid(&instance), "{file}");
    }
}

#[test]
fn every_field_is_described() {
    fn check(kind: Kind, schema: &Value) {
        match schema {
            Value::Object(map) => {
                let fields = map.get("properties").and_then(Value::as_object);
                for (name, field) in fields.into_iter().flatten() {
                    assert!(field["description"].is_string(), "{}: {name}", kind.name());
                }
                map.values().for_each(|inner| check(kind, inner));
            }
            Value::Array(items) => items.iter().for_each(|inner| check(kind, inner)),
            _ => {}
        }
    }
    for kind in Kind::ALL {
        check(kind, &schema(kind));
    }
}
