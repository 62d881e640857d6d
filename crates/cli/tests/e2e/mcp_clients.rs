//! `waypost mcp` with clients that others made: the official Inspector and the official Python SDK list
//! and call every tool, read every document and get every prompt.

use crate::program::{Programs, Ran, run};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path, path::PathBuf, process::Command};
use tempfile::TempDir;

const SDK_CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/clients/sdk.py");

/// Stands for the id of what one of these calls has made last.
const MADE: &str = "$made";
const MAKING: [&str; 2] = ["question_ask", "server_task_new"];

/// What has to be refused at that point: the request is open.
const REFUSED: [&str; 1] = ["session_complete"];

/// A project to be served, in a folder of its own.
struct Served {
    programs: Programs,
    folder: TempDir,
    root: PathBuf,
}

impl Served {
    /// Nothing if the client that a variable names is not there.
    fn new(variable: &str) -> Option<Self> {
        let programs = Programs::named(variable)?;
        fs::create_dir_all(&programs.scratch).unwrap();
        let folder = TempDir::new_in(&programs.scratch).unwrap();
        let root = folder.path().canonicalize().unwrap().join("shop");
        fs::create_dir(&root).unwrap();
        let served = Self { programs, folder, root };
        for (name, text) in [
            ("README.md", "# Shop\n"),
            ("review.md", "Blocking: 0\n"),
            ("TASKS.md", "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Cart\n- [ ] T1.2: Pay\n"),
        ] {
            fs::write(served.root.join(name), text).unwrap();
        }
        for line in ["init -q -b main .", "add .", "commit -q -m first"] {
            let ran = run(served.command(Path::new("git"), line.split(' ')), "");
            assert_eq!(ran.code, Some(0), "{ran}");
        }
        Some(served)
    }

    fn command<'a>(&self, program: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.root).env_clear();
        command.env("HOME", self.folder.path()).env("LANG", "C.UTF-8");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Mina");
            command.env(format!("GIT_{role}_EMAIL"), "mina@example.org");
        }
        command
    }

    fn waypost(&self) -> String {
        self.programs.bin.join("waypost").display().to_string()
    }
}

/// Calls after which every tool has done what it is for.
fn calls() -> Vec<(&'static str, Value)> {
    let mut calls = calls_of_the_work();
    calls.extend(calls_of_a_session());
    calls
}

/// The contracts of a small request up to the tests of its only subtask, in their order.
const CONTRACTS: [(&str, &str); 5] = [
    (
        "explored",
        "created_by: code-explore\nexplored_files:\n  - path: README.md\n    summary: What it is\n",
    ),
    (
        "task-breakdown",
        "created_by: planner\noriginal_request: Count the cart\nobjective: A count\ntasks:\n  - id: T1\n    \
         name: Cart\n    objective: Count\n    subtasks:\n      - id: T1-S1\n        name: Count\n        \
         description: Count it\nassumptions: []\ntask_order: [T1]\n",
    ),
    (
        "design-brief",
        "task_id: T1\ncreated_by: orchestrator\ntask_name: Cart\nobjective: Count\nsubtasks:\n  - id: T1-S1\n    \
         name: Count\ncompletion_criteria: [It counts]\nscope_in: [README.md]\nscope_out: []\nfile_refs: []\n",
    ),
    (
        "design-contract",
        "task_id: T1\ncreated_by: architect\ntask_name: Cart\ninvariants: []\ninterfaces: []\nboundaries: []\n\
         layer_assignments: []\nfile_refs: []\n",
    ),
    (
        "test-contract",
        "task_id: T1\nsubtask_id: T1-S1\ncreated_by: qa-engineer\nsubtask_name: Count\ntest_cases:\n  - id: TC-1\n    \
         name: counts\n    target: Cart.count\n    given: a cart\n    when: count\n    then: a number\n    \
         category: happy_path\ncoverage_targets: []\ntest_file_path: README.md\n",
    ),
];

/// A session as far as its first gate, and what is known of the project.
fn calls_of_a_session() -> Vec<(&'static str, Value)> {
    let put = |(kind, text): (&str, &str)| {
        let head = "version: 1\nrequest_id: R1\ncreated_at: \"2026-01-15T10:05:00Z\"\n";
        ("contract_put", json!({"kind": kind, "text": format!("{head}{text}")}))
    };
    let (planning, working) = CONTRACTS.split_at(3);
    let mut calls = vec![
        ("session_request", json!({"text": "Count the cart"})),
        ("session_status", json!({})),
        ("session_next", json!({})),
    ];
    calls.extend(planning.iter().copied().map(put));
    calls.push(("session_plan", json!({})));
    calls.extend(working.iter().copied().map(put));
    calls.extend([
        ("session_gate_check", json!({})),
        ("contract_get", json!({"kind": "explored", "request": "R1"})),
        ("contract_list", json!({})),
        ("knowledge_add", json!({"kind": "pitfall", "text": "Carts may be empty"})),
        ("knowledge_show", json!({})),
        ("knowledge_learn", json!({})),
        ("knowledge_remove", json!({"entry": "P1"})),
        ("contract_diff", json!({"kind": "explored", "request": "R1"})),
        ("session_list", json!({})),
        ("session_complete", json!({})),
        ("session_relocate", json!({})),
        ("session_stop", json!({})),
        ("session_resume", json!({})),
    ]);
    calls
}

fn calls_of_the_work() -> Vec<(&'static str, Value)> {
    vec![
        ("status", json!({})),
        ("task_next", json!({"limit": 1})),
        ("task_list", json!({"status": "ready"})),
        ("task_start", json!({"id": "T1.1"})),
        ("task_why", json!({"id": "T1.2"})),
        ("task_done", json!({"id": "T1.1", "attempt": 1})),
        ("task_start", json!({"id": "T1.2"})),
        ("task_fail", json!({"id": "T1.2", "reason": "no disk", "class": "transient"})),
        ("workflow_start", json!({"feature": "Live chat"})),
        ("workflow_advance", json!({"checkpoints": ["cp-1", "cp-2"]})),
        ("gate_pass", json!({"gate": "review_clean_pass", "report": "review.md"})),
        ("workflow_advance", json!({})),
        ("checkpoint_start", json!({"id": "cp-1"})),
        ("checkpoint_fail", json!({"id": "cp-1"})),
        ("checkpoint_pass", json!({"id": "cp-1"})),
        ("checkpoint_start", json!({"id": "cp-2"})),
        ("checkpoint_escalate", json!({"id": "cp-2"})),
        ("gate_reset", json!({"gate": "review_clean_pass"})),
        ("workflow_back", json!({})),
        ("question_ask", json!({"question": "Which?", "choices": ["a", "b"], "wait_seconds": 0})),
        ("question_answer", json!({"id": MADE, "wait_seconds": 0})),
        ("inbox_list", json!({})),
        (
            "memory_note",
            json!({"text": "We use SQLite", "kind": "decision", "files": ["README.md"]}),
        ),
        ("memory_search", json!({"text": "sqlite"})),
        ("memory_set", json!({"path": "shared_data.topic", "value": {"carts": [1, null]}})),
        ("memory_get", json!({"path": "shared_data.topic"})),
        ("memory_task", json!({"action": "new", "name": "Cart"})),
        ("memory_step", json!({"action": "add", "name": "Count"})),
        ("memory_state", json!({})),
        (
            "server_task_new",
            json!({"title": "Sweep", "task_type": "custom", "description": "Sweep it."}),
        ),
        ("server_task_submit", json!({"id": MADE})),
        ("server_task_list", json!({})),
        ("server_task_show", json!({"id": MADE})),
        ("context", json!({"role": "worker", "budget": 500})),
        ("validate", json!({"file": "TASKS.md"})),
    ]
}

/// A document of each template.
const TEMPLATED: [&str; 2] = ["waypost://schema/task-state", "waypost://file/TASKS.md"];

/// What the calls must have led to, by any client.
#[track_caller]
fn check_results(listed: &Value, results: &[(String, Value)]) {
    let names = |values: Vec<&str>| values.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    let offered = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    let called = results.iter().map(|(name, _)| name.as_str());
    assert_eq!(names(offered.collect()), names(called.collect()), "every tool is called");
    for (name, result) in results {
        let is_refused = REFUSED.contains(&name.as_str());
        assert_eq!(result["isError"], is_refused, "{name}: {result}");
        if is_refused {
            continue;
        }
        assert!(result["structuredContent"].is_object(), "{name}: {result}");
    }
    let last = |tool: &str| {
        let found = results.iter().rev().find(|(name, _)| name == tool);
        found.map(|(_, result)| result["structuredContent"].clone()).unwrap()
    };
    assert_eq!(last("task_next")["tasks"][0]["id"], "T1.1");
    assert_eq!(last("task_done")["status"], "completed");
    assert_eq!(last("question_answer")["status"], "open");
    assert_eq!(last("memory_search")["found"][0]["kind"], "decision");
    assert_eq!(last("memory_get")["value"], json!({"carts": [1, null]}));
    assert_eq!(last("validate")["valid"], true);
    assert_eq!(last("session_gate_check")["after"], "implementation");
    assert_eq!(last("contract_list")["contracts"].as_array().unwrap().len(), CONTRACTS.len());
    assert_eq!(last("task_list")["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(last("memory_state")["state"]["current_task"]["name"], "Cart");
    assert_eq!(last("server_task_show")["status"], "pending");
    assert_eq!(last("session_resume")["session"]["status"], "active");
    assert_eq!(last("knowledge_remove")["knowledge"]["pitfalls"], json!([]));
    assert_eq!(last("knowledge_show")["knowledge"]["pitfalls"][0]["id"], "P1");
    assert!(last("context")["text"].as_str().unwrap().contains("SQLite"), "{}", last("context"));
}

/// What an Inspector's command printed.
#[track_caller]
fn printed(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

impl Served {
    /// One command of the Inspector, with a server of its own.
    fn inspect(&self, method: &str, more: &[&str]) -> Ran {
        let (inspector, waypost) = (self.programs.agent.display().to_string(), self.waypost());
        let words = [inspector.as_str(), "--cli", &waypost, "mcp", "--method", method];
        run(self.command(Path::new("node"), words.iter().chain(more).copied()), "")
    }
}

#[test]
#[ignore = "needs a real client: cargo xtask e2e"]
fn the_inspector_lists_and_calls_everything() {
    let Some(served) = Served::new("WAYPOST_E2E_INSPECTOR") else { return };
    // Its strict list refuses schemas that programs cannot take.
    let listed = printed(&served.inspect("tools/list", &["--strict"]))["tools"].clone();
    let (mut results, mut made) = (Vec::new(), String::new());
    for (name, arguments) in calls() {
        let arguments = arguments.to_string().replace(MADE, &made);
        let more = ["--tool-name", name, "--tool-args-json", &arguments];
        let mut ran = served.inspect("tools/call", &more);
        if REFUSED.contains(&name) {
            assert_ne!(ran.code, Some(0), "{ran}");
            ran.code = Some(0);
        }
        let result = printed(&ran);
        if MAKING.contains(&name) {
            made = result["structuredContent"]["id"].as_str().unwrap().to_owned();
        }
        results.push((name.to_owned(), result));
    }
    check_results(&listed, &results);
    let refused =
        served.inspect("tools/call", &["--tool-name", "task_start", "--tool-arg", "id=T9.9"]);
    assert!(refused.code != Some(0) && refused.stdout.contains("TASK_UNKNOWN"), "{refused}");

    let resources = printed(&served.inspect("resources/list", &[]))["resources"].clone();
    let uris = resources.as_array().unwrap().iter().map(|it| it["uri"].as_str().unwrap());
    for uri in uris.chain(TEMPLATED) {
        let read = printed(&served.inspect("resources/read", &["--uri", uri]));
        assert!(read["contents"][0]["text"].is_string(), "{uri}: {read}");
    }
    let templates = printed(&served.inspect("resources/templates/list", &[]));
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), TEMPLATED.len());
    let prompts = printed(&served.inspect("prompts/list", &[]))["prompts"].clone();
    assert_eq!(prompts.as_array().unwrap().len(), 3);
    for prompt in prompts.as_array().unwrap() {
        let argument = format!("{}=Live chat", prompt["arguments"][0]["name"].as_str().unwrap());
        let name = prompt["name"].as_str().unwrap();
        let more = ["--prompt-name", name, "--prompt-args", &argument];
        let given = printed(&served.inspect("prompts/get", &more));
        assert!(given["messages"][0]["content"]["text"].is_string(), "{name}: {given}");
    }
}

#[test]
#[ignore = "needs a real client: cargo xtask e2e"]
fn the_python_sdk_lists_and_calls_everything() {
    let Some(served) = Served::new("WAYPOST_E2E_PYTHON") else { return };
    let work = json!({"command": served.waypost(), "folder": served.root, "calls": calls(),
                      "uris": TEMPLATED});
    let ran = run(served.command(&served.programs.agent, [SDK_CLIENT]), &work.to_string());
    let said = printed(&ran);
    let results: Vec<(String, Value)> = said["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap().to_owned(), it["result"].clone()))
        .collect();
    check_results(&said["tools"], &results);
    let resources = said["resources"].as_object().unwrap();
    assert!(resources.len() > TEMPLATED.len(), "{resources:?}");
    for (uri, contents) in resources {
        assert!(contents[0]["text"].is_string(), "{uri}: {contents}");
    }
    assert_eq!(said["templates"].as_array().unwrap().len(), TEMPLATED.len());
    for (name, given) in said["prompts"].as_object().unwrap() {
        assert!(given["messages"][0]["content"]["text"].is_string(), "{name}: {given}");
    }
}
