//! What an earlier version began and did not finish goes on: a run, agents' jobs, the memory's tasks, a session.
//!
//! `tests/golden/journal-run-v4.db` is a journal as events of format 4 were first written: T1.1 and T1.2 are
//! completed, T1.2 after a retry whose wake-up is still in the outbox, and T1.3 was being worked on
//! when its engine and its keeper were killed.
//!
//! `tests/golden/journal-job-v2.db` has job events of two formats, accounts and verdicts, as two versions
//! of the program wrote them one after the other. Of format 1 are the jobs at cp-3, which ended, and at
//! cp-1, whose agent waits for the answer to q1; of format 2 those at cp-4, which ended, and at cp-2,
//! whose agent waits for the answer to q2. Then a run: T1.1 is completed, T1.2 waits for an account.
//!
//! `tests/golden/journal-memory-v1.db` has events of the memory as they were first written: one task that succeeded,
//! one that was cancelled, `Cart` with a completed step and one that is escalated into the inbox, `Pay`
//! that waits, two notes and two documents.
//!
//! `tests/golden/journal-session-v1.db` has events of a session as they were first written: the plan of R1 was sent back
//! once, and T1-S1 is in implementation after GATE-1 had failed once.

use crate::{
    harness::{BINARY, Project, USER_CONFIG},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};

const TASKS: &str = "\
# Plan

## Phase 1: build

- [ ] T1.1: make one
  - run: echo one > one
- [ ] T1.2: fails once
  - run: test -e two || { touch two; exit 1; }
  - depends: T1.1
- [ ] T1.3: waits for a file
  - run: while [ ! -e go ]; do sleep 0.1; done; echo three > three
  - verify: test -e three

## Phase 2: ship

- [ ] T2.1: last
  - run: echo last > last
  - depends: T1.3
";

/// Gives a project a golden journal.
fn put(project: &Project, name: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let state = project.root.join(".waypost");
    fs::create_dir(&state).unwrap();
    fs::copy(golden, state.join("journal.db")).unwrap();
    // This user has had it before, elsewhere: one that only came with the files is not believed.
    for id in [
        "6a4ecec970dc8e31cc1912be5fd16969",
        "31e5ca90b01d30c66c4f21a144922d09",
        "4bf938af49b6fe861e2bd2c191be6328",
        "00d3a6f0e820b95a610304eed7aebd90",
    ] {
        let entry = format!(r#"{{"version":1,"path":"/elsewhere","journal_id":"{id}"}}"#);
        project.write(&format!("../home/.local/state/waypost/projects/{id}.json"), &entry);
    }
}

#[test]
fn a_run_begun_by_an_earlier_version_goes_on() {
    let project = Project::plain();
    project.write("TASKS.md", TASKS);
    project.write("go", "");
    put(&project, "journal-run-v4.db");

    let completed = |project: &Project| {
        project.log().iter().filter(|entry| entry["kind"] == "task_completed").count()
    };
    assert_eq!(completed(&project), 2);

    project.must("run --resume --mode ultra-thin");
    // What was completed then was not done again.
    assert!(!project.root.join("one").exists() && !project.root.join("two").exists());
    assert_eq!(project.read("three"), "three\n");
    assert_eq!(project.read("last"), "last\n");
    assert_eq!(completed(&project), 4);
    let lost = |entry: &Value| entry["kind"] == "attempt_interrupted";
    assert!(project.log().iter().any(lost), "its engine was killed: the attempt is lost");
}

const AGENT_TASKS: &str = "\
# Tasks: shop

## Phase 1: One

- [ ] T1.1: Do T1.1
  - agent: alice
  - depends: none
- [ ] T1.2: Do T1.2
  - agent: alice
  - depends: none
";

/// The project of `journal-job-v2.db`, with the agents that were at work.
fn with_jobs() -> Project {
    let project = Project::plain().variable("WAYPOST_RUN_ISOLATION", "none");
    let asks = |id: &str, command: &str| {
        let write = json!({"write": {"file": format!("{id}.txt"), "text": "good\n"}});
        let permission = json!({"permission": {"tool": "Bash", "input": command}});
        json!([{"steps": [permission, write, {"done": "did it"}]}])
    };
    let works = json!([{"steps": [{"tool": "Read", "input": "x"}, {"done": "now"}]}]);
    let tasks = json!({"cp-1": asks("cp-1", "cargo publish"), "cp-2": asks("cp-2", "cargo doc"),
                       "T1.2": works});
    let (script, sessions) = (project.base().join("script.json"), project.base().join("sessions"));
    fs::write(&script, json!({"version": 1, "tasks": tasks}).to_string()).unwrap();
    let speak = ["sim", "agent", "--speak", "claude", "--script"];
    let command: Vec<&str> = [BINARY]
        .into_iter()
        .chain(speak)
        .chain([script.to_str().unwrap(), "--sessions", sessions.to_str().unwrap(), "--"])
        .collect();
    let agent = |name: &str| {
        format!("[agents.{name}]\nadapter = \"claude\"\ncommand = {}\n\n", json!(command))
    };
    project.write(USER_CONFIG, &format!("{}{}", agent("smith"), agent("alice")));
    project.write("waypost.toml", "[run]\nagent = \"smith\"\n");
    project.write("TASKS.md", AGENT_TASKS);
    put(&project, "journal-job-v2.db");
    project
}

#[test]
fn jobs_accounts_and_verdicts_of_earlier_versions_are_read() {
    let project = with_jobs();
    let log = project.log();
    let kinds = |stream: &str| -> BTreeSet<String> {
        let its = log.iter().filter(|entry| entry["stream"].as_str().unwrap().starts_with(stream));
        its.map(|entry| entry["kind"].as_str().unwrap().to_owned()).collect()
    };
    let words = |text: &str| -> BTreeSet<String> { text.split(' ').map(str::to_owned).collect() };
    assert_eq!(kinds("job:main/ralph-cp-1"), words("accounted asked begun engaged"));
    assert_eq!(kinds("job:main/ralph-cp-2"), words("accounted agent_asked begun engaged"));
    assert_eq!(kinds("job:main/ralph-cp-3"), words("accounted begun ended engaged"));
    assert_eq!(kinds("accounts"), words("held spent woken"));
    assert_eq!(kinds("verdicts"), words("compacted held refused started taken"));

    // Each machine is loaded, and what it does next follows from what was written then.
    let open = |project: &Project| -> Vec<Value> {
        let inbox = project.json("inbox");
        inbox.as_array().unwrap().iter().map(|entry| entry["id"].clone()).collect()
    };
    // The account that q4 is about holds up a task; what holds up the most comes first.
    assert_eq!(open(&project), [json!("q4"), json!("q1"), json!("q2")]);
    for (checkpoint, question) in [("cp-1", "q1"), ("cp-2", "q2")] {
        let ran = project.run(&format!("develop ralph --checkpoint {checkpoint}"));
        assert_eq!(ran.code, 3, "{ran}");
        let waits = format!("waits for a person's answer to {question}");
        assert!(ran.stderr.contains(&waits), "{ran}");
    }
    assert_eq!(open(&project), [json!("q4"), json!("q1"), json!("q2")], "none is asked again");
    // The conversation of T1.2 did not come along: that is a failed attempt.
    project.must("run --resume --retry-limit 1");
    assert_eq!(open(&project), [json!("q1"), json!("q2")], "the account got through");
    assert_eq!(project.json("run status")["counts"]["completed"], 2);

    if no_person_is_here() {
        return;
    }
    for (checkpoint, question) in [("cp-1", "q1"), ("cp-2", "q2")] {
        project.person_must(&format!("inbox answer {question} allow"));
        project.must(&format!("develop ralph --checkpoint {checkpoint}"));
        let checkpoints = project.json("develop status")["state"]["checkpoints"].clone();
        assert_eq!(checkpoints[checkpoint], json!({"status": "passed", "iteration": 1}));
    }
}

#[test]
fn a_memory_kept_by_an_earlier_version_goes_on() {
    let project = Project::plain();
    put(&project, "journal-memory-v1.db");
    let shown = project.json("memory show");
    let task = &shown["state"]["current_task"];
    assert_eq!((&task["name"], &task["status"]), (&json!("Cart"), &json!("in_progress")));
    let steps = task["plan"]["steps"].as_array().unwrap();
    let statuses: Vec<&str> = steps.iter().map(|it| it["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["completed", "escalated", "pending"]);
    assert_eq!(shown["state"]["pending_tasks"][0]["name"], "Pay");
    let history = project.json("memory history");
    let names: Vec<(&Value, &Value)> =
        history.as_array().unwrap().iter().map(|it| (&it["name"], &it["result"])).collect();
    let (ended, dropped) = ((json!("Old work"), json!("success")), json!("cancelled"));
    assert!(names.contains(&(&ended.0, &ended.1)), "{history}");
    assert!(names.iter().any(|(_, result)| **result == dropped), "{history}");
    assert_eq!(project.json("memory stats")["success"], 1);
    assert_eq!(project.json("memory notes").as_array().map(Vec::len), Some(2));
    assert_eq!(project.json("inbox")[0]["id"], "q1");
    let found = project.json("memory search 'carts sums' --kind decision");
    assert_eq!(found[0]["title"], "noted n1", "{found}");

    // The next task is made, counted on from those of its day, and the files are shown.
    project.must("memory note 'Still here'");
    project.must("memory init");
    assert_eq!(project.window(".claude/memory/task-state.json")["current_task"]["name"], "Cart");
    project.must("memory validate");
    if no_person_is_here() {
        return;
    }
    project.person_must("inbox answer q1 retry");
    let shown = project.json("memory show");
    let step = &shown["state"]["current_task"]["plan"]["steps"][1];
    assert_eq!(step["status"], "in_progress", "{shown}");
    for line in [
        "memory step complete 2",
        "memory step start 3",
        "memory step complete 3",
        "memory task complete --lesson 'Old journals are read'",
    ] {
        project.must(line);
    }
    assert_eq!(project.json("memory show")["state"]["current_task"]["name"], "Pay");
    assert_eq!(project.json("memory stats")["success"], 2);
}

#[test]
fn a_session_begun_by_an_earlier_version_goes_on() {
    let project = Project::plain();
    project.write("waypost.toml", "[session]\ntest_command = \"sh test.sh\"\n");
    project.write("test.sh", "test -e done\n");
    project.write("done", "");
    put(&project, "journal-session-v1.db");
    // It was begun elsewhere, and its contracts came along.
    let folder = project.json("session status")["folder"].as_str().unwrap().to_owned();
    let contract = |name: &str, text: &str| {
        let head = "version: 1\nrequest_id: R1\ncreated_at: \"2026-11-17T10:00:00Z\"\n";
        let path = Path::new(&folder).join("contracts/R1").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{head}{text}")).unwrap();
    };
    contract(
        "T1/design-brief.yaml",
        "task_id: T1\ncreated_by: orchestrator\nscope_in: [\"**\"]\nscope_out: []\n",
    );
    let design = "task_id: T1\ncreated_by: architect\ninvariants: []\ninterfaces: []\nboundaries: []\nfile_refs: []\n";
    contract("T1/design-contract.yaml", design);
    let tests = "task_id: T1\nsubtask_id: T1-S1\ncreated_by: qa-engineer\nsubtask_name: x\ntest_cases:\n  \
                 - {id: TC-1, name: counts, category: happy_path}\ntest_file_path: test.sh\n";
    contract("T1/T1-S1/test-contract.yaml", tests);
    let result = "task_id: T1\nsubtask_id: T1-S1\ncreated_by: qa-engineer\nexecution:\n  result: pass\nsummary:\n  \
                  total: 1\n  passed: 1\n  failed: 0\nfailed_tests: []\nrecommendation:\n  action: complete\n";
    contract("T1/T1-S1/test-result.yaml", result);
    project.must("session relocate");
    let status = project.json("session status");
    let subtask = &status["state"]["tasks"]["T1"]["subtasks"]["T1-S1"];
    assert_eq!(
        (&subtask["phase"], &subtask["gates"]["GATE-1"]),
        (&json!("implementation"), &json!("passed"))
    );
    // Outside git it cannot be told what has changed: what is left open is noted in the new format.
    assert_eq!(project.run("session gate check").code, 3);
    let log = project.log();
    assert_eq!(log.last().unwrap()["kind"], "gate_left_open");
    assert_eq!(project.json("session next")["calls"][0]["call"], "confirm/T1-S1/GATE-3");
    project.write("scope.md", "# Scope\n\nBlocking: 0\n");
    assert_eq!(project.run("session gate check --report scope.md").code, 3);
    assert_eq!(project.json("session next")["calls"][0]["call"], "confirm/T1-S1/GATE-4");
    project.write("design.md", "# Design\n\nBlocking: 0\n");
    project.must("session gate check --report design.md");
    project.must("session gate check");
    let status = project.json("session status");
    assert_eq!(status["state"]["request"]["global_phase"], "complete", "{status}");
}
