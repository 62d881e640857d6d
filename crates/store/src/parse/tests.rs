//! Findings of whole documents: codes, places, what was expected, hints.

use super::flow::{Templates, read};
use super::tree::FINDINGS_MAX;
use super::{Parsed, SIZE_MAX, parse, parse_at, render, validate};
use insta::assert_snapshot;
use std::fmt::Write as _;
use waypost_model::diagnostic::{Diagnostic, Severity};
use waypost_model::document::contract::{
    ContractPlace, DesignBrief, DesignContract, Explored, TestResult,
};
use waypost_model::document::knowledge::Knowledge;
use waypost_model::document::memory::{AgentMemory, SharedContext, TaskHistory, TaskState};
use waypost_model::document::server::{ServerTask, Transition};
use waypost_model::document::session::{SessionFile, SessionState};
use waypost_model::document::{Document, Kind};

fn show(findings: &[Diagnostic]) -> String {
    let mut out = String::new();
    for finding in findings {
        let place = finding.place.unwrap();
        let sign = if finding.severity == Severity::Warning { "warning " } else { "" };
        let at = format!("{}:{}+{}", place.line, place.column, place.length);
        let (path, message) = (&finding.path, &finding.message);
        writeln!(out, "{at} {sign}{} {path}: {message}", finding.code).unwrap();
        for (name, text) in [("expected", &finding.expected), ("hint", &finding.hint)] {
            if let Some(text) = text {
                writeln!(out, "    {name}: {text}").unwrap();
            }
        }
    }
    out
}

/// What is wrong with a document.
fn faults<D: Document + std::fmt::Debug>(text: &str) -> String {
    show(&parse::<D>(text.as_bytes()).expect_err(text))
}

/// The first code and the place of what is wrong with a document.
fn first<D: Document + std::fmt::Debug>(text: &str) -> (&'static str, (u32, u32)) {
    let found = &parse::<D>(text.as_bytes()).expect_err(text)[0];
    let place = found.place.unwrap();
    (found.code, (place.line, place.column))
}

const SESSION: &str = r#"{
  "version": 1,
  "project": {"path": "/p", "name": "프로젝트", "hash": "a1b2c3d4"},
  "status": "active",
  "current_task": "T1",
  "created_at": "2024-01-15T10:00:00Z",
  "updated_at": "2024-01-15T10:30:00Z",
  "manifest": {"claude_md": null, "agents_md": null}
}
"#;

fn session_with(from: &str, to: &str) -> String {
    assert!(SESSION.contains(from), "{from}");
    SESSION.replacen(from, to, 1)
}

#[test]
fn an_unknown_field_is_shown_at_its_key_with_the_nearest_known_one() {
    assert_snapshot!(faults::<SessionFile>(&session_with("\"status\"", "\"statsu\"")), @"
    4:3+8 unknown_field statsu: unknown field `statsu`
        expected: one of version, project, status, current_task, created_at, updated_at, manifest
        hint: did you mean `status`?
    ");
    assert_snapshot!(faults::<SessionFile>(&session_with("\"name\"", "\"한\": 1, \"name\"")), @"
    3:29+3 unknown_field project.한: unknown field `한`
        expected: one of path, name, hash
    ");
}

#[test]
fn several_faults_are_reported_at_once() {
    let text = SESSION
        .replace("\"active\"", "\"actve\"")
        .replace("\"/p\"", "7")
        .replace("\"hash\"", "\"extra\": {}, \"hash\"")
        .replace("{\"claude_md\": null, \"agents_md\": null}", "[]");
    assert_snapshot!(faults::<SessionFile>(&text), @r#"
    3:23+1 wrong_type project.path: found the number 7
        expected: a string
        hint: write it in quotes: "7"
    3:42+7 unknown_field project.extra: unknown field `extra`
        expected: one of path, name, hash
    4:13+7 unknown_value status: unknown value `actve`
        expected: one of active, completed, stopped
        hint: did you mean `active`?
    8:3+10 wrong_type manifest: found a list
        expected: an object
    "#);
}

#[test]
fn wrong_types_say_what_was_found_and_expected() {
    let gate = "version: 1\ncreated_at: 2024-01-15\ncreated_by: 5\n";
    assert_snapshot!(faults::<Explored>(gate), @r#"
    2:13+10 bad_value created_at: `2024-01-15` is not a time
        expected: RFC 3339, as in 2026-02-16T10:00:00+09:00
    3:13+1 wrong_type created_by: found the number 5
        expected: a string
        hint: write it in quotes: "5"
    "#);
    let contract = "version: 1\ncreated_at: 2024-01-15T10:00:00Z\ncreated_by: a\n\
                    invariants: {}\ninterfaces: []\nboundaries:\n  - from: A\n    to: B\n    \
                    allowed: \"false\"\nfile_refs:\n";
    assert_snapshot!(faults::<DesignContract>(contract), @r#"
    4:1+10 wrong_type invariants: found an object
        expected: a list
    9:14+7 wrong_type boundaries[0].allowed: found the string "false"
        expected: true or false
        hint: write it without quotes: false
    10:1+9 wrong_type file_refs: found null
        expected: a list
    "#);
    assert_snapshot!(
        faults::<ServerTask>(r#"{"id": "task_a", "status": 1, "totalPhases": -1, "progress": 1.5}"#),
        @"
    1:28+1 wrong_type status: found the number 1
        expected: one of draft, pending, in_progress, review, completed, failed
    1:46+2 out_of_range totalPhases: found the number -1
        expected: a whole number from 0
    1:62+3 wrong_type progress: found the number 1.5
        expected: a whole number from 0
    "
    );
    assert_snapshot!(
        faults::<TaskHistory>(r#"{"statistics": {"total_tasks": "3", "success_rate": null}}"#),
        @r#"
    1:32+3 wrong_type statistics.total_tasks: found the string "3"
        expected: a whole number from 0
        hint: write it without quotes: 3
    1:53+4 wrong_type statistics.success_rate: found null
        expected: a number
    "#
    );
}

#[test]
fn a_list_is_no_object() {
    let text = session_with("{\"claude_md\": null, \"agents_md\": null}", "[null, null]");
    assert_snapshot!(faults::<SessionFile>(&text), @"
    8:3+10 wrong_type manifest: found a list
        expected: an object
    ");
}

#[test]
fn a_missing_field_is_named() {
    let nameless = session_with("\"name\": \"프로젝트\", ", "");
    assert_snapshot!(faults::<SessionFile>(&nameless), @"3:3+9 missing_field project.name: the field `name` is missing");
    let undecided = "decisions:\n  - id: D1\n    topic: x\n";
    assert_snapshot!(faults::<Knowledge>(undecided), @"
    1:1+1 missing_field version: the field `version` is missing
    2:5+1 missing_field decisions[0].decision: the field `decision` is missing
    ");
    assert_snapshot!(faults::<SessionState>("{}"), @"1:1+1 missing_field version: the field `version` is missing");
}

#[test]
fn every_fault_of_a_contract_is_told_at_once() {
    let text = "version: 1\nrequest_id: R2\ntask_id: one\ncreated_at: now\ninvariants:\n  - id: INV-1\n    \
                rul: x\n  - {}\ninterfaces: none\nboundaries:\n  - from: A\n    allowed: \"no\"\nfile_refs:\n  \
                - path: a.rs\n    status: to_creat\nlayers: []\n";
    let place = ContractPlace::of_task("R1".parse().unwrap(), "T1".parse().unwrap());
    let found = parse_at::<DesignContract>(text.as_bytes(), &place).unwrap_err();
    let told: Vec<(&str, &str)> = found.iter().map(|it| (it.code, it.path.as_str())).collect();
    assert_eq!(
        told,
        [
            ("missing_field", "created_by"),
            ("wrong_place", "request_id"),
            ("bad_value", "task_id"),
            ("bad_value", "created_at"),
            ("unknown_field", "invariants[0].rul"),
            ("missing_field", "invariants[1].id"),
            ("missing_field", "invariants[1].rule"),
            ("wrong_type", "interfaces"),
            ("missing_field", "boundaries[0].to"),
            ("wrong_type", "boundaries[0].allowed"),
            ("unknown_value", "file_refs[0].status"),
            ("unknown_field", "layers"),
        ]
    );
}

#[test]
fn a_malformed_value_says_its_form() {
    assert_snapshot!(faults::<SessionFile>(&session_with("\"T1\"", "\"task 1\"")), @"
    5:19+8 bad_value current_task: `task 1` is not a task id
        expected: T and a number, as in T1
    ");
    assert_snapshot!(faults::<SessionFile>(&session_with("2024-01-15T10:00:00Z", "2024-02-30T10:00:00Z")), @"
    6:17+22 bad_value created_at: `2024-02-30T10:00:00Z` is not a time
        expected: RFC 3339, as in 2026-02-16T10:00:00+09:00
    ");
    let key = r#"{"version": 2, "request": {"id": "R1", "original_request": "", "status": "active",
      "global_phase": "task_loop"}, "tasks": {"X1": {"name": "", "status": "pending"}}}"#;
    assert_snapshot!(faults::<SessionState>(key), @"
    2:47+4 bad_value tasks.X1: `X1` is not a task id
        expected: T and a number, as in T1
    ");
}

#[test]
fn another_version_is_the_only_thing_reported() {
    let old = r#"{"version": 1, "task": {"id": "T1"}, "phase": "x"}"#;
    assert_snapshot!(faults::<SessionState>(old), @"
    1:13+1 wrong_version version: found integer `1`
        expected: 2
    ");
    assert_snapshot!(faults::<TaskState>(r#"{"version": "2.0", "next": 1}"#), @r#"
    1:13+5 wrong_version version: found string "2.0"
        expected: "1.0"
    "#);
    assert_snapshot!(faults::<Knowledge>("facts: []\nversion: 3\n"), @"
    2:10+1 wrong_version version: found integer `3`
        expected: 1
    ");
}

#[test]
fn checks_are_shown_in_the_text() {
    let text = session_with("\"/p\"", "\"p\"").replace("10:30:00Z", "09:30:00Z");
    assert_snapshot!(faults::<SessionFile>(&text), @"
    3:23+3 relative_path project.path: `p` is a relative path
        expected: an absolute path
    7:17+22 warning contradiction updated_at: 2024-01-15T09:30:00Z lies before 2024-01-15T10:00:00Z, which came first
    ");
    let result = "version: 1\ncreated_at: 2024-01-15T11:00:00Z\ncreated_by: qa\nexecution:\n  \
                  result: pass\nsummary: {total: 3, passed: 2, failed: 0}\nrecommendation:\n  \
                  action: complete\n";
    assert_snapshot!(faults::<TestResult>(result), @"
    6:18+1 wrong_count summary.total: 2 passed, 0 failed and 0 skipped are 2
        expected: 2
    ");
}

#[test]
fn a_key_that_occurs_twice_is_an_error_at_every_level() {
    let typed = session_with("\"active\",", "\"active\", \"status\": \"stopped\",");
    assert_snapshot!(faults::<SessionFile>(&typed), @"
    4:23+8 duplicate_key status: the key `status` occurs twice
        hint: it stands on line 4 already; keep one of the two
    ");
    let open = r#"{"agent": "a", "cache": {"x": [{"y": 1,
        "y": 2}]}}"#;
    assert_snapshot!(faults::<AgentMemory>(open), @"
    2:9+3 duplicate_key cache.x[0].y: the key `y` occurs twice
        hint: it stands on line 1 already; keep one of the two
    ");
    let yaml = "version: 1\npatterns:\n  naming: a\n  'naming': b\nversion: 1\n";
    assert_snapshot!(faults::<Knowledge>(yaml), @"
    4:3+8 duplicate_key patterns.naming: the key `naming` occurs twice
        hint: it stands on line 3 already; keep one of the two
    5:1+7 duplicate_key version: the key `version` occurs twice
        hint: it stands on line 1 already; keep one of the two
    ");
}

#[test]
fn yaml_scalars_are_never_taken_for_something_else() {
    let text = "version: 1\npatterns:\n  a: no\n  b: 012\n  c: 2024-01-15\n  d: 0x1F\n  e: 1_000\n  \
                f: .5\n  g: yes\n  h: 12:30\n  i: 12\n  j: 1.5\n  k: true\n  l: ~\n  m: \"12\"\n  \
                n: .nan\n  o: 1e3\n  p:\ndecisions:\n  - {id: D1, topic: no, decision: 012}\n";
    let Parsed { value, .. } = parse::<Knowledge>(text.as_bytes()).unwrap();
    let patterns = serde_json::to_string(&value.patterns).unwrap();
    assert_eq!(
        patterns,
        r#"{"a":"no","b":"012","c":"2024-01-15","d":"0x1F","e":"1_000","f":".5","g":"yes","#
            .to_owned()
            + r#""h":"12:30","i":12,"j":1.5,"k":true,"l":null,"m":"12","n":".nan","o":1000.0,"p":null}"#
    );
    assert_eq!(
        (value.decisions[0].topic.as_str(), value.decisions[0].decision.as_str()),
        ("no", "012")
    );
    let rendered = render(&value);
    assert_eq!(parse::<Knowledge>(rendered.as_bytes()).unwrap().value, value, "{rendered}");
}

#[test]
fn hostile_json_is_refused_by_name() {
    let deep =
        format!(r#"{{"agent": "a", "cache": {{"x": {}{}}}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(first::<AgentMemory>(&deep), ("too_deep", (1, 156)));
    assert_eq!(first::<AgentMemory>(&"[".repeat(1_000_000)), ("too_deep", (1, 128)));
    assert_eq!(first::<AgentMemory>(&" ".repeat(SIZE_MAX + 1)), ("too_large", (1, 1)));
    assert_eq!(first::<AgentMemory>("\u{feff}{}"), ("byte_order_mark", (1, 1)));
    assert_eq!(first::<AgentMemory>(""), ("empty", (1, 1)));
    assert_eq!(first::<AgentMemory>("{\"agent\": \"a\"} {}"), ("trailing_content", (1, 16)));
    assert_eq!(first::<AgentMemory>("{\"agent\": NaN}"), ("not_a_number", (1, 11)));
    assert_eq!(first::<AgentMemory>("{\"agent\": \"a\0\"}"), ("nul_byte", (1, 13)));
    assert_eq!(first::<AgentMemory>("{\"agent\": \"\\ud800\"}"), ("syntax", (1, 11)));
    assert_eq!(
        first::<AgentMemory>("{\"agent\": \"a\", \"cache\": {\"n\": 1e400}}"),
        ("out_of_range", (1, 31))
    );
    let rounded = "{\"agent\": \"a\", \"cache\": {\"n\": 123456789012345678901234}}";
    assert_eq!(first::<AgentMemory>(rounded), ("bad_value", (1, 31)));
    assert_eq!(first::<AgentMemory>("{\"agent\": \"a\","), ("syntax", (1, 14)));
    assert_eq!(first::<AgentMemory>("[]"), ("wrong_type", (1, 1)));
}

#[test]
fn hostile_yaml_is_refused_by_name() {
    assert_eq!(first::<Knowledge>("# nothing\n"), ("empty", (1, 1)));
    assert_eq!(first::<Knowledge>("version: &v 1\n"), ("anchor", (1, 13)));
    assert_eq!(first::<Knowledge>("patterns:\n  a: *v\n"), ("alias", (2, 6)));
    assert_eq!(first::<Knowledge>("version: !!int 1\n"), ("tag", (1, 16)));
    assert_eq!(first::<Knowledge>("version: 1\n---\nversion: 1\n"), ("trailing_content", (2, 1)));
    assert_eq!(first::<Knowledge>("version: 1\n  bad: [\n").0, "syntax");
    assert_eq!(first::<Knowledge>("? [a]\n: 1\n"), ("wrong_type", (1, 3)));
    assert_eq!(first::<Knowledge>(&format!("patterns: {}", "[".repeat(300))).0, "too_deep");
    assert_eq!(first::<Knowledge>(&format!("patterns:\n  {}x", "- ".repeat(300))).0, "too_deep");
    let mixed = format!("patterns:\n  {}{}{}", "- ".repeat(100), "[".repeat(100), "]".repeat(100));
    assert_eq!(first::<Knowledge>(&mixed).0, "too_deep");
    assert_eq!(first::<Knowledge>("version: 1e999\n"), ("out_of_range", (1, 10)));
    assert_eq!(first::<Knowledge>("just text\n"), ("wrong_type", (1, 1)));
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n";
    assert_eq!(first::<Knowledge>(bomb), ("anchor", (1, 7)));
}

#[test]
fn many_faults_are_cut() {
    let unknown: Vec<String> = (0..1_000).map(|n| format!("\"x{n}\": 0")).collect();
    let found = parse::<AgentMemory>(format!("{{{}}}", unknown.join(",")).as_bytes()).unwrap_err();
    assert_eq!(found.len(), FINDINGS_MAX);
}

#[test]
fn an_error_is_not_cut_off_by_warnings() {
    let ids: Vec<String> = (1..=300).map(|n| format!("T1-S{n}")).collect();
    let subtasks = ids.iter().map(|id| format!("- {{id: {id}, name: tests}}\n"));
    let head = "version: 1\ntask_id: T1\ncreated_at: 2024-01-15T10:00:00Z\ncreated_by: o\n";
    let text = format!("{head}subtasks:\n{}", subtasks.collect::<String>());
    assert_eq!(parse::<DesignBrief>(text.as_bytes()).unwrap().warnings.len(), FINDINGS_MAX);
    let found = parse::<DesignBrief>(format!("{text}- {{id: T2-S1, name: x}}\n").as_bytes());
    let found = found.unwrap_err();
    assert_eq!((found.len(), found[FINDINGS_MAX - 1].code), (FINDINGS_MAX, "wrong_owner"));
}

#[test]
fn placeholders_are_errors_when_a_document_is_loaded() {
    let text = r#"{"session": {"id": "session-YYYY-MM-DD-NNN"}, "shared_data": {"when": "now"}, "last_updated": "now"}"#;
    assert_eq!(first::<SharedContext>(text), ("bad_value", (1, 20)));
    assert_snapshot!(show(&validate(Kind::SharedContext, text.as_bytes())), @"
    1:20+24 warning template_placeholder session.id: `session-YYYY-MM-DD-NNN` is a placeholder, read as `session-2000-01-01-001`
    1:95+5 warning template_placeholder last_updated: `now` is a placeholder, read as `2000-01-01T00:00:00Z`
    ");
}

#[test]
fn what_is_wrong_beside_placeholders_stays_wrong() {
    let text = r#"{"last_updated": "now", "shared": {}}"#;
    assert_snapshot!(show(&validate(Kind::SharedContext, text.as_bytes())), @"
    1:18+5 warning template_placeholder last_updated: `now` is a placeholder, read as `2000-01-01T00:00:00Z`
    1:25+8 unknown_field shared: unknown field `shared`
        expected: one of version, session, shared_data, preferences, last_updated
    ");
    let many = vec![r#""now""#; 10_000].join(",");
    let text = format!(r#"{{"tasks": [{many}]}}"#);
    assert!(read::<TaskHistory>(text.as_bytes(), Templates::Filled, None).is_err());
}

#[test]
fn answers_that_show_all_fields_load() {
    let task = r#"{"id": "task_abc123", "status": "failed", "currentPhase": 2, "totalPhases": 4,
        "progress": 40, "createdAt": "2024-02-15T10:00:00Z", "startedAt": "2024-02-15T10:01:00Z",
        "completedAt": null, "failedAt": "2024-02-15T11:00:00Z",
        "cancelledAt": "2024-02-15T11:00:00Z", "reason": "cancelled", "pausedBy": "rate_limit"}"#;
    let Parsed { value, warnings } = parse::<ServerTask>(task.as_bytes()).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(parse::<ServerTask>(render(&value).as_bytes()).unwrap().value, value);
    let transition = r#"{"timestamp": "2024-02-15T10:30:00Z", "taskId": "task_abc123",
        "type": "state_transition", "from": "paused", "to": "running", "trigger": "RESUM"}"#;
    assert_snapshot!(faults::<Transition>(transition), @"
    2:83+7 unknown_value trigger: unknown value `RESUM`
        expected: one of SUBMIT, ASSIGN, PHASE_COMPLETE, VERIFICATION_PASSED, VERIFICATION_FAILED, APPROVE, REQUEST_CHANGES, DEPENDENCY_REQUEST, DEPENDENCY_PROVIDED, USER_QUESTION, QUESTION_ANSWERED, PAUSE, RESUME, RATE_LIMIT, RATE_LIMIT_RESET, CANCEL, FATAL_ERROR, PROCESS_EXIT, RECOVERED
        hint: did you mean `RESUME`?
    ");
}
