//! What tools lead to: lists, the memory's tasks, tasks of the server, the ends of a session; and what holds for all of
//! them: progress, the fence, limits.

use super::Client;
use crate::{
    execute::{kill, wait_for},
    harness::Project,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

fn ids(listed: &Value) -> Vec<&str> {
    listed["tasks"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect()
}

#[test]
fn tasks_of_the_run_are_listed_before_it_and_in_it() {
    let project = Project::git();
    let tasks = "# Tasks\n\n## Phase 1: One\n\n- [ ] T1.1: a\n- [ ] T1.2: b\n- [ ] T1.3: c\n";
    project.write("TASKS.md", tasks);
    let mut client = Client::connect(&project);
    assert_eq!(ids(&client.call("task_list", json!({}))), ["T1.1", "T1.2", "T1.3"]);
    assert!(project.log().is_empty(), "looking begins no run");
    client.call("task_start", json!({ "id": "T1.1" }));
    client.call("task_done", json!({ "id": "T1.1" }));
    let done = client.call("task_list", json!({ "status": "completed" }));
    assert_eq!((ids(&done), &done["total"]), (vec!["T1.1"], &json!(1)));
    let page = client.call("task_list", json!({ "from": "T1.1", "limit": 1 }));
    assert_eq!((ids(&page), &page["total"]), (vec!["T1.2"], &json!(3)));
    let wrong = client.refused("task_list", json!({ "status": "done" }));
    assert!(wrong["hints"][0].as_str().unwrap().contains("completed"), "{wrong}");
    let gone = client.refused("task_list", json!({ "from": "T9.9" }));
    assert_eq!(gone["code"], "TASK_UNKNOWN", "{gone}");
}

#[test]
fn the_tasks_of_the_memory_go_from_their_beginning_to_the_history() {
    let project = Project::git();
    let mut client = Client::connect(&project);
    let none = client.refused("memory_step", json!({ "action": "start", "step": 1 }));
    assert_eq!(none["next_steps"][0]["tool"], "memory_task", "{none}");
    let made = client.call(
        "memory_task",
        json!({ "action": "new", "name": "Cart", "goal": "It counts", "request": "count it" }),
    );
    assert_eq!(made["current"], true, "{made}");
    let id = made["task"]["id"].as_str().unwrap().to_owned();
    client.call("memory_task", json!({ "action": "start" }));
    client.call("memory_step", json!({ "action": "add", "name": "Count" }));
    let unnamed = client.refused("memory_step", json!({ "action": "add" }));
    assert!(unnamed["message"].as_str().unwrap().contains("needs `name`"), "{unnamed}");
    client.call("memory_step", json!({ "action": "start", "step": 1 }));
    let early = client.refused("memory_task", json!({ "action": "complete" }));
    assert_eq!(early["next_steps"][0]["tool"], "memory_state", "{early}");
    let output = json!({ "count": 3 });
    let done = json!({ "action": "complete", "step": 1, "output": output, "artifacts": ["a=b"] });
    let task = client.call("memory_step", done);
    assert_eq!(task["task"]["plan"]["steps"][0]["output"], output, "{task}");
    let ended = client
        .call("memory_task", json!({ "action": "complete", "lessons": ["carts may be empty"] }));
    assert_eq!(ended["ended"]["result"], "success", "{ended}");
    let state = client.call("memory_state", json!({}));
    let entries = state["history"]["tasks"].to_string();
    assert!(entries.contains(&id) && entries.contains("carts may be empty"), "{state}");
    // The same as by command, with the agent as its actor.
    assert_eq!(project.json("memory history")[0]["id"], id.as_str());
    assert!(project.log()[0]["actor"].as_str().unwrap().starts_with("agent:"));
}

#[test]
fn a_task_for_the_server_is_handed_in() {
    let project = Project::git();
    let mut client = Client::connect(&project);
    let draft = client.call("server_task_new", json!({ "title": "Sweep" }));
    assert_eq!(draft["status"], "draft", "{draft}");
    let id = draft["id"].as_str().unwrap().to_owned();
    let lacks = client.refused("server_task_submit", json!({ "id": id }));
    assert!(lacks["message"].as_str().unwrap().contains("description"), "{lacks}");
    let whole = json!({
        "title": "Mop", "task_type": "custom", "description": "Mop it.", "priority": "high", "submit": true });
    let pending = client.call("server_task_new", whole);
    assert_eq!((&pending["status"], &pending["priority"]), (&json!("pending"), &json!("high")));
    assert_eq!(pending["description"], "Mop it.");
    let listed = client.call("server_task_list", json!({ "states": ["pending"] }));
    assert_eq!(ids(&listed), [pending["id"].as_str().unwrap()]);
    let wrong = client.refused("server_task_list", json!({ "states": ["done"] }));
    assert_eq!(wrong["code"], "BAD_ARGUMENT");
    assert_eq!(client.call("server_task_show", json!({ "id": id }))["title"], "Sweep");
    let gone = client.refused("server_task_show", json!({ "id": "task_zzz" }));
    assert_eq!(gone["next_steps"][0]["tool"], "server_task_list", "{gone}");
}

#[test]
fn a_session_is_stopped_resumed_and_looked_at() {
    let project = Project::git();
    let mut client = Client::connect(&project);
    client.call("session_request", json!({ "text": "Count what is in the cart" }));
    let open = client.refused("session_complete", json!({}));
    assert_eq!(open["code"], "REQUEST_ACTIVE", "{open}");
    assert_eq!(client.call("session_stop", json!({}))["session"]["status"], "stopped");
    let next = client.call("session_next", json!({}));
    assert_eq!(next["command"], "waypost session resume", "{next}");
    assert_eq!(client.call("session_resume", json!({}))["session"]["status"], "active");
    let listed = client.call("session_list", json!({}));
    assert_eq!(listed["sessions"][0]["here"], true, "{listed}");
    let bad = client.refused("session_relocate", json!({ "hash": "../x" }));
    assert_eq!(bad["next_steps"][0]["tool"], "session_list", "{bad}");
    let head = "version: 1\nrequest_id: R1\ncreated_at: \"2026-01-15T10:05:00Z\"\ncreated_by: code-explore\n";
    for summary in ["one", "two"] {
        let files = format!("explored_files:\n  - path: README.md\n    summary: {summary}\n");
        let text = format!("{head}{files}");
        client.call("contract_put", json!({ "kind": "explored", "text": text }));
    }
    let diff = client.call("contract_diff", json!({ "kind": "explored", "request": "R1" }));
    assert_eq!((&diff["from"], &diff["to"]), (&json!(1), &json!(2)));
    assert_eq!(diff["changes"][0]["after"], "\"two\"", "{diff}");
    client.call("knowledge_add", json!({ "kind": "pitfall", "text": "Carts may be empty" }));
    let known = client.call("knowledge_remove", json!({ "entry": "P1" }));
    assert_eq!(known["knowledge"]["pitfalls"], json!([]), "{known}");
    let none = client.refused("knowledge_remove", json!({ "entry": "P1" }));
    assert_eq!(none["next_steps"][0]["tool"], "knowledge_show", "{none}");
}

#[test]
fn a_session_of_a_moved_project_is_taken_along() {
    let mut project = Project::git();
    let mut client = Client::connect(&project);
    client.call("session_request", json!({ "text": "Count what is in the cart" }));
    assert_eq!(client.leave(), 0);
    let moved = project.base().join("moved");
    fs::rename(&project.root, &moved).unwrap();
    project.root = moved;
    let mut client = Client::connect(&project);
    let told = client.refused("session_next", json!({}));
    assert_eq!(told["next_steps"][0]["tool"], "session_relocate", "{told}");
    assert_eq!(client.call("session_relocate", json!({}))["session"]["status"], "active");
    client.call("session_next", json!({}));
}

#[test]
fn what_a_check_prints_is_told_while_it_runs() {
    let project = Project::git();
    let tasks = "# Tasks\n\n## Phase 1: One\n\n- [ ] T1.1: a\n  - verify: `echo first; echo second; false`\n";
    project.write("TASKS.md", tasks);
    let mut client = Client::connect(&project);
    client.call("task_start", json!({ "id": "T1.1" }));
    let arguments = json!({ "id": "T1.1" });
    let call =
        json!({ "name": "task_done", "arguments": arguments, "_meta": { "progressToken": "p7" } });
    let answer = client.request("tools/call", call);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let is_progress = |it: &&Value| it["method"] == "notifications/progress";
    let told: Vec<&Value> = client.notices.iter().filter(is_progress).collect();
    let words: Vec<&str> = told.iter().filter_map(|it| it["params"]["message"].as_str()).collect();
    assert!(words.contains(&"first") && words.contains(&"second"), "{told:?}");
    assert!(told.iter().all(|it| it["params"]["progressToken"] == "p7"), "{told:?}");
    let steps: Vec<f64> =
        told.iter().map(|it| it["params"]["progress"].as_f64().unwrap()).collect();
    assert!(steps.is_sorted_by(|one, other| one < other), "{steps:?}");
    // One who did not ask for it is not told.
    client.notices.clear();
    client.refused("task_done", json!({ "id": "T1.1" }));
    assert!(!client.notices.iter().any(|it| it["method"] == "notifications/progress"));
}

#[test]
fn a_server_below_an_attempt_that_is_over_changes_nothing() {
    let project = Project::running();
    project.must("run retry T1.1");
    project.must("run start T1.1");
    let before = project.log().len();
    let mut client = Client::connect_with(&project, |command| {
        command.env("WAYPOST_TASK", "T1.1").env("WAYPOST_ATTEMPT", "1");
    });
    let calls = [
        ("task_done", json!({ "id": "T1.1" })),
        ("task_start", json!({ "id": "T1.3" })),
        ("workflow_start", json!({ "feature": "Another" })),
        ("question_ask", json!({ "question": "Which?", "wait_seconds": 0 })),
        ("memory_set", json!({ "path": "shared_data.topic", "value": 1 })),
        ("memory_note", json!({ "text": "x", "kind": "lesson" })),
        ("memory_task", json!({ "action": "new", "name": "x" })),
        ("server_task_new", json!({ "title": "x" })),
        ("session_request", json!({ "text": "x" })),
        ("knowledge_add", json!({ "kind": "pitfall", "text": "x" })),
        ("knowledge_remove", json!({ "entry": "P1" })),
        ("knowledge_learn", json!({})),
        ("memory_step", json!({ "action": "start", "step": 1 })),
        ("session_stop", json!({})),
        ("session_resume", json!({})),
        ("session_complete", json!({})),
        ("session_relocate", json!({})),
    ];
    for (tool, arguments) in calls {
        let told = client.refused(tool, arguments);
        assert_eq!(told["code"], "STALE_ATTEMPT", "{tool}: {told}");
    }
    // It may look.
    for tool in ["status", "task_next", "task_list", "memory_state", "knowledge_show", "inbox_list"]
    {
        client.call(tool, json!({}));
    }
    assert_eq!(project.log().len(), before);
    assert!(!project.path(".claude/memory").exists());
    assert!(!project.path(".claude/orchestrator").exists());
}

#[test]
fn texts_that_no_reader_would_take_are_refused() {
    let project = Project::git();
    let mut client = Client::connect(&project);
    let long = "x".repeat(1 << 20);
    let calls = [
        ("question_ask", json!({ "question": long, "wait_seconds": 0 })),
        ("memory_note", json!({ "text": long, "kind": "lesson" })),
        ("memory_set", json!({ "path": "shared_data.topic", "value": { "deep": [long] } })),
        ("workflow_start", json!({ "feature": long })),
        ("memory_task", json!({ "action": "new", "name": long })),
        ("knowledge_add", json!({ "kind": "pitfall", "text": long })),
    ];
    for (tool, arguments) in calls {
        let told = client.refused(tool, arguments);
        assert_eq!(told["code"], "BAD_ARGUMENT", "{tool}");
        assert!(told["message"].as_str().unwrap().contains("the arguments have"), "{tool}: {told}");
    }
    assert!(project.log().is_empty());
}

#[test]
fn a_client_that_is_killed_leaves_no_server() {
    let project = Project::git();
    let tasks =
        "# Tasks\n\n## Phase 1: One\n\n- [ ] T1.1: a\n  - verify: `echo $$ > ../pid; sleep 600`\n";
    project.write("TASKS.md", tasks);
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } });
    project.must("run start T1.1");
    let call = json!({ "name": "task_done", "arguments": { "id": "T1.1" } });
    let said = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ];
    let said: Vec<String> = said.iter().map(|it| format!("{it}\n")).collect();
    project.write("../said.jsonl", &said.concat());
    // A client that says this, and then nothing, until it is killed.
    let script = format!(
        "mkfifo ../in; tail -n +1 -f ../said.jsonl > ../in & echo $! > ../client; \
         {} mcp < ../in > /dev/null & echo $! > ../server; wait",
        crate::harness::BINARY
    );
    let mut both = project.command("sh", &project.root).args(["-c", &script]).spawn().unwrap();
    let pid = |name: &str| {
        let text = fs::read_to_string(project.base().join(name)).unwrap_or_default();
        text.ends_with('\n').then(|| text.trim().parse::<u32>().unwrap())
    };
    wait_for("the check", || ["pid", "client", "server"].iter().all(|it| pid(it).is_some()));
    let [check, client, server] = ["pid", "client", "server"].map(|it| pid(it).unwrap());
    kill(client, "-KILL");
    let is_gone = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
    wait_for("the end of the check", || is_gone(check));
    wait_for("the end of the server", || is_gone(server));
    both.wait().unwrap();
    assert_eq!(project.json("run status")["counts"]["completed"], 0);
}
