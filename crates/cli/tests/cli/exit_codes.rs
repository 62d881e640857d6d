//! The exit codes of every way to fail: the code, the message, what to do next, and that nothing
//! has changed.

use crate::{
    harness::{Project, RUN, Ran, WORKFLOW},
    other::{Holder, Other},
    terminal::no_person_is_here,
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _};

/// What must not change when a command fails.
#[derive(Debug, PartialEq, Eq)]
struct Standing {
    events: Option<usize>,
    windows: [Option<String>; 2],
}

fn standing(project: &Project) -> Standing {
    let read = |name| fs::read_to_string(project.path(name)).ok();
    let log = project.run("--json log -n 1000000");
    let events = (log.code == 0).then(|| log.stdout.lines().count());
    Standing { events, windows: [read(WORKFLOW), read(RUN)] }
}

/// Runs a line that has to fail with `code` and change nothing; tells what was said.
fn check(project: &Project, line: &str, code: i32) -> String {
    check_by(project, line, code, |line| project.run(line))
}

fn check_by(project: &Project, line: &str, code: i32, run: impl Fn(&str) -> Ran) -> String {
    let before = standing(project);
    let ran = run(line);
    assert_eq!(ran.code, code, "waypost {line}\n{ran}");
    assert_eq!(standing(project), before, "waypost {line} changed something\n{ran}");
    project.tell(line, &ran)
}

fn check_all(project: &Project, code: i32, lines: &[&str]) -> String {
    let told: Vec<String> = lines.iter().map(|line| check(project, line, code)).collect();
    told.join("\n")
}

#[test]
fn what_the_work_itself_fails_is_1() {
    let project = Project::implementing();
    project.write("waypost.toml", "[workflow.gates.architect_verified]\ncheck = \"exit 3\"\n");
    let told = check(&project, "develop gate pass architect_verified", 1);
    assert_snapshot!("failed_check", told);

    let broken = Project::running();
    fs::write(broken.journal().join("journal.db"), "no journal at all").unwrap();
    let doctor = broken.run("doctor");
    assert_eq!(doctor.code, 1, "{doctor}");
    assert_snapshot!("failed_doctor", broken.tell("doctor", &doctor));
}

#[test]
fn bad_input_is_2() {
    let project = Project::implementing();
    project.write("TASKS.md", "# Tasks\n\n- [ ] T0.1: One (depends on T0.2)\n");
    project.write("report.md", "All is well.\n");
    let lines = [
        "stauts",
        "status --jsno",
        "develop",
        "develop gate pass review",
        "develop gate pass architect_verified --report nothing.md",
        "develop gate pass architect_verified --report report.md",
        "develop checkpoint start cp-9",
        "develop checkpoint start 'cp 9'",
        "develop checkpoint fail cp-1 --class unlucky",
        "run start banana",
        "run status",
        "run start T0.1",
        "run next --tasks nothing.md",
        "resolve SOMETHING",
        "log -n many",
        "inbox show q7",
        "validate nothing.json",
        "schema nothing",
    ];
    assert_snapshot!("bad_input", check_all(&project, 2, &lines));
}

#[test]
fn a_task_that_is_not_there_is_2() {
    let project = Project::running();
    assert_snapshot!("unknown_task", check_all(&project, 2, &["run start T9.9", "run done T9.9"]));
}

#[test]
fn a_configuration_that_cannot_be_used_is_2() {
    let project = Project::running();
    project.write("waypost.toml", "[run]\nretry_limits = 3\n");
    let lines = ["status", "run start T1.3", "config show"];
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            let ran = project.run(line);
            assert_eq!(ran.code, 2, "{line}\n{ran}");
            project.tell(line, &ran)
        })
        .collect();
    assert_snapshot!("bad_configuration", told.join("\n"));
    let doctor = project.run("doctor");
    assert_eq!(doctor.code, 1, "{doctor}");

    let table = [
        ("WAYPOST_RUN_RETRY_LIMITS", "3", "configures nothing"),
        ("WAYPOST_RUN_RETRY_LIMIT", "three", "is not of type integer"),
        ("WAYPOST_RUN_MODE", "fast", "the configuration does not fit"),
    ];
    for (name, value, want) in table {
        let ran = Project::plain().variable(name, value).run("status");
        assert!(ran.code == 2 && ran.stderr.contains(want), "{name}={value}\n{ran}");
    }
}

#[test]
fn what_a_rule_forbids_is_3() {
    let project = Project::implementing();
    let lines = [
        "develop start 'Another'",
        "develop advance",
        "develop advance --checkpoint cp-4",
        "develop gate pass review_clean_pass",
        "develop gate pass architect_verified",
        "develop gate pass re_review_clean",
        "develop checkpoint pass cp-2",
        "develop checkpoint reopen cp-1",
        "develop contract contract.yaml",
    ];
    project.write(
        "contract.yaml",
        "checkpoints:\n  - id: a\n    description: b\n    interface: [c]\n    tests: [d]\n    validation: {command: e, expected: f}\n    dependencies: []\n",
    );
    assert_snapshot!("forbidden_workflow", check_all(&project, 3, &lines));

    let project = Project::running();
    let lines = [
        "run start T1.1",
        "run start T1.2",
        "run start T0.1",
        "run done T1.3",
        "run fail T1.3",
        "run retry T1.3",
        "run skip T0.1",
        "develop advance",
        "develop resume",
    ];
    assert_snapshot!("forbidden_run", check_all(&project, 3, &lines));
}

#[test]
fn what_is_reserved_for_a_person_is_3() {
    let project = Project::implementing();
    project.must("--quiet develop checkpoint escalate cp-1");
    let lines = [
        "develop checkpoint reopen cp-1",
        "develop suspend --reason lunch",
        "develop resume --restart",
        "inbox answer q1 reopen",
        "adopt .develop-workflow/state.json",
        "init --fresh",
        "init --remove",
    ];
    assert_snapshot!("reserved", check_all(&project, 3, &lines));
    let run = Project::running();
    assert_snapshot!("reserved_run", check_all(&run, 3, &["run skip T1.1 --satisfy"]));
    if no_person_is_here() {
        return;
    }
    let line = "inbox answer q1 perhaps";
    check_by(&project, line, 3, |line| project.as_person(line));
    let line = "init --fresh";
    assert_snapshot!("fresh", check_by(&project, line, 3, |line| project.as_person(line)));
}

#[test]
fn an_attempt_that_is_over_is_4() {
    let project = Project::running();
    project.must("run retry T1.1");
    project.must("run start T1.1");
    let lines = ["run done T1.1 --attempt 1", "run fail T1.1 --attempt 1"];
    assert_snapshot!("fenced", check_all(&project, 4, &lines));
    let late = project.variable("WAYPOST_ATTEMPT", "1");
    check(&late, "run done T1.1", 4);
    late.must("run done T1.1 --attempt 2");
}

/// Nothing that is there so far takes the lock; what is there works beside it.
#[test]
fn an_engine_that_runs_elsewhere_is_named() {
    let project = Project::running();
    let Some(engine) = Holder::of_engine_lock(&project) else { return };
    let unnamed = project.json("status")["engine"].clone();
    let owner = json!({
        "pid": 7, "started": 1, "boot_id": "b", "runs": "run", "since": "2026-02-16T10:00:00Z",
    });
    fs::write(project.journal().join("engine.lock"), owner.to_string()).unwrap();
    let named = project.json("status")["engine"].clone();
    project.must("run start T1.3");
    engine.end();
    assert_eq!(unnamed, "a process that has just begun");
    assert_eq!(named, "process 7 (`run`, since 2026-02-16T10:00:00Z)");
    assert_eq!(project.json("status")["engine"], Value::Null);
}

#[test]
fn a_journal_that_has_vanished_is_5() {
    let project = Project::running();
    fs::remove_dir_all(project.journal()).unwrap();
    let lines = ["status", "run start T1.3", "init", "log", "inbox", "resolve", "develop status"];
    assert_snapshot!("vanished", check_all(&project, 5, &lines));
    assert!(!project.journal().exists());
}

#[test]
fn a_journal_that_is_damaged_is_5() {
    let project = Project::running();
    let journal = project.journal().join("journal.db");
    fs::write(&journal, "").unwrap();
    let told = check_all(&project, 5, &["status", "run start T1.3", "init"]);
    assert_snapshot!("damaged", told);
    assert_eq!(fs::read(&journal).unwrap(), b"");
}

#[test]
fn a_journal_that_cannot_be_written_is_5() {
    let project = Project::running();
    let Some(other) = Other::owning(&project) else { return };
    let journal = project.journal();
    let before = project.log().len();
    other.give(&project.base());
    for path in [journal.join("journal.db"), journal.join("journal.lock"), journal.clone()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o500)).unwrap();
    }
    let ran = other.run(&project, "run start T1.3");
    assert_eq!(ran.code, 5, "{ran}");
    assert_snapshot!("read_only", project.tell("run start T1.3", &ran));
    assert_eq!(project.log().len(), before);
}
