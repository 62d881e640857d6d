//! `waypost mcp`: a client over its streams, well-behaved and otherwise.

mod tools;

use crate::{execute::wait_for, harness::Project, terminal::no_person_is_here};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A client with its server.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What came that was no answer.
    notices: Vec<Value>,
    /// Answers that came before they were looked for: calls end in any order.
    early: BTreeMap<u64, Value>,
    number: u64,
}

impl Client {
    /// Starts a server and says hello, as a client of this version.
    fn connect(project: &Project) -> Self {
        Self::connect_with(project, |_| {})
    }

    /// The same with a server that is started in a special way.
    fn connect_with(project: &Project, change: impl FnOnce(&mut Command)) -> Self {
        let mut client = Self::start(project, change);
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = client.request("initialize", hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "waypost", "{answer}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn start(project: &Project, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = project.command(crate::harness::BINARY, &project.root);
        change(&mut command);
        let mut child = command
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = read_on(child.stdout.take().unwrap());
        let input = child.stdin.take();
        Self { child, input, lines, notices: Vec::new(), early: BTreeMap::new(), number: 0 }
    }

    fn send(&mut self, message: &Value) {
        self.send_raw(&format!("{message}\n"));
    }

    fn send_raw(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.number += 1;
        let id = self.number;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return answer;
            }
            let line = self.lines.recv_timeout(PATIENCE).expect("the server answers");
            match line["id"].as_u64() {
                Some(other) => drop(self.early.insert(other, line)),
                None => self.notices.push(line),
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// What a tool says; its structured content.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{tool}: {answer}");
        result["structuredContent"].clone()
    }

    /// What a tool refuses: the object in its text.
    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{tool}: {answer}");
        let data = result["content"][1]["text"].as_str().unwrap();
        serde_json::from_str(data).unwrap()
    }

    /// Hangs up and waits for the server's end.
    fn leave(mut self) -> i32 {
        drop(self.input.take());
        wait_for_end(&mut self.child)
    }
}

fn read_on(output: ChildStdout) -> Receiver<Value> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
            if sender.send(value).is_err() {
                return;
            }
        }
    });
    lines
}

fn wait_for_end(child: &mut Child) -> i32 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        assert!(Instant::now() < deadline, "the server outlives its client");
        thread::yield_now();
    }
}

#[test]
fn every_tool_is_listed_with_schemas_and_a_title() {
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let answer = client.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    insta::assert_snapshot!("tools", names.join("\n"));
    for tool in tools {
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{tool}");
        }
    }
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_run_is_worked_through_with_tools_alone() {
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let next = client.call("task_next", json!({ "limit": 1 }));
    assert_eq!(next["tasks"][0]["id"], "T0.1");
    let started = client.call("task_start", json!({ "id": "T0.1" }));
    assert_eq!(started["status"], "in_progress", "{started}");
    // Another attempt does not speak for this one.
    let stale = client.refused("task_done", json!({ "id": "T0.1", "attempt": 7 }));
    assert!(stale["code"].is_string(), "{stale}");
    client.call("task_done", json!({ "id": "T0.1" }));
    client.call("task_start", json!({ "id": "T0.2" }));
    let failed =
        client.call("task_fail", json!({ "id": "T0.2", "reason": "no disk", "class": "critical" }));
    assert_eq!(failed["status"], "failed", "{failed}");
    let why = client.call("task_why", json!({ "id": "T1.1" }));
    assert_eq!(why["id"], "T1.1");
    let status = client.call("status", json!({}));
    assert_eq!(status["run"]["counts"]["completed"], 1, "{status}");
    // What was done is what the command line sees.
    assert_eq!(project.json("run status")["counts"]["completed"], 1);
    let actors: Vec<Value> =
        project.log().into_iter().map(|entry| entry["actor"].clone()).collect();
    assert!(actors.iter().any(|it| it.as_str().unwrap().starts_with("agent:")), "{actors:?}");
}

#[test]
fn refusals_of_a_session_name_the_tool_that_leads_on() {
    let project = Project::git();
    let mut client = Client::connect(&project);
    let none = client.refused("session_gate_check", json!({}));
    assert_eq!(none["next_steps"][0]["tool"], "session_request", "{none}");
    client.call("session_request", json!({ "text": "Count what is in the cart" }));
    let second = client.refused("session_request", json!({ "text": "Something else" }));
    assert_eq!(second["next_steps"][0]["tool"], "session_next", "{second}");
    let outside = client.refused("session_gate_check", json!({ "report": "../elsewhere/x" }));
    assert_eq!(outside["code"], "BAD_ARGUMENT", "{outside}");
}

#[test]
fn a_workflow_is_held_at_its_gates() {
    let project = Project::git();
    project.write("review.md", "Blocking: 0\n");
    let mut client = Client::connect(&project);
    client.call("workflow_start", json!({ "feature": "Live chat" }));
    let refused = client.refused("workflow_advance", json!({}));
    assert!(refused["next_steps"].as_array().is_some_and(|it| !it.is_empty()), "{refused}");
    client.call("workflow_advance", json!({ "checkpoints": ["cp-1"] }));
    let held = client.refused("workflow_advance", json!({}));
    assert_eq!(held["next_steps"][0]["tool"], "gate_pass", "{held}");
    let outside = client
        .refused("gate_pass", json!({ "gate": "review_clean_pass", "report": "../elsewhere/x" }));
    assert_eq!(outside["code"], "BAD_ARGUMENT");
    client.call("gate_pass", json!({ "gate": "review_clean_pass", "report": "review.md" }));
    client.call("workflow_advance", json!({}));
    client.call("checkpoint_start", json!({ "id": "cp-1" }));
    client.call("checkpoint_fail", json!({ "id": "cp-1" }));
    let report = client.call("checkpoint_pass", json!({ "id": "cp-1" }));
    assert_eq!(report["state"]["phase"], "IMPLEMENT", "{report}");
    client.call("gate_reset", json!({ "gate": "review_clean_pass" }));
    client.call("workflow_back", json!({}));
}

#[test]
fn a_client_is_an_agent_also_below_a_terminal() {
    if no_person_is_here() {
        return;
    }
    let project = Project::git();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "workflow_start", "arguments": { "feature": "Live chat" } } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    project.write("said.jsonl", &format!("{hello}\n{ready}\n{call}\n"));
    // The input stays open until the answer is there.
    let shell = format!(
        "(cat said.jsonl; while ! grep -q '\"id\":2' heard.jsonl; do sleep 0.1; done) | {} mcp > heard.jsonl",
        crate::harness::BINARY
    );
    project.write("heard.jsonl", "");
    project.below_terminal(&shell, "");
    let actor = project.log()[0]["actor"].as_str().unwrap().to_owned();
    assert!(actor.starts_with("agent:"), "{actor}");
}

#[test]
fn a_question_waits_survives_and_its_answer_arrives() {
    if no_person_is_here() {
        return;
    }
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let question = json!({ "question": "Which database?", "choices": ["postgres", "sqlite"], "wait_seconds": 0 });
    let asked = client.call("question_ask", question.clone());
    assert_eq!((&asked["status"], &asked["answer"]), (&json!("open"), &Value::Null));
    let id = asked["id"].as_str().unwrap().to_owned();
    // The same question is the same entry.
    assert_eq!(client.call("question_ask", question)["id"], id.as_str());
    assert_eq!(client.call("inbox_list", json!({}))["entries"][0]["title"], "Which database?");
    assert_eq!(client.leave(), 0);

    // A client that waits is told as soon as a person has answered.
    let mut client = Client::connect(&project);
    let waiting = client.ask(
        "tools/call",
        json!({ "name": "question_answer",
        "arguments": { "id": id, "wait_seconds": 3600 }, "_meta": { "progressToken": "p" } }),
    );
    project.typing(&format!("inbox answer {id} sqlite"), "2468\n");
    let answer = client.answer(waiting);
    assert_eq!(answer["result"]["structuredContent"]["answer"], "sqlite", "{answer}");
    drop(client);

    // One that came later is told at its first call, whatever that is, and once.
    let mut client = Client::connect(&project);
    let told = client.request("tools/call", json!({ "name": "task_next", "arguments": {} }));
    let content = told["result"]["content"].to_string();
    assert!(content.contains("Which database?") && content.contains("sqlite"), "{content}");
    let again = client.request("tools/call", json!({ "name": "task_next", "arguments": {} }));
    assert!(!again["result"]["content"].to_string().contains("Which database?"), "{again}");
    // And a conversation that starts is told as well.
    let context = project.json("context --for worker");
    assert!(context["text"].as_str().unwrap().contains("sqlite"), "{context}");
}

#[test]
fn the_server_that_asked_tells_the_answer_too() {
    if no_person_is_here() {
        return;
    }
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let question = json!({ "question": "Which colour?", "wait_seconds": 0 });
    let id = client.call("question_ask", question)["id"].as_str().unwrap().to_owned();
    project.typing(&format!("inbox answer {id} green"), "2468\n");
    let told = client.request("tools/call", json!({ "name": "task_next", "arguments": {} }));
    let content = told["result"]["content"].to_string();
    assert!(content.contains("Which colour?") && content.contains("green"), "{content}");
    let again = client.request("tools/call", json!({ "name": "task_next", "arguments": {} }));
    assert!(!again["result"]["content"].to_string().contains("Which colour?"), "{again}");
}

#[test]
fn a_call_that_waits_ends_with_its_cancellation() {
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let id = client.ask(
        "tools/call",
        json!({ "name": "question_ask",
        "arguments": { "question": "Anyone?", "wait_seconds": 3600 } }),
    );
    // A call that is cancelled before it has begun asks nothing; this one has begun.
    let deadline = Instant::now() + PATIENCE;
    while client.call("inbox_list", json!({}))["entries"].as_array().unwrap().is_empty() {
        assert!(Instant::now() < deadline, "the question is not asked");
    }
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": id } }));
    // The server goes on, and the question waits.
    let entries = client.call("inbox_list", json!({}))["entries"].clone();
    assert_eq!(entries[0]["title"], "Anyone?", "{entries}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_check_ends_with_the_call_that_it_was_for_and_proves_nothing() {
    let project = Project::git();
    project.write(
        "TASKS.md",
        "# Tasks\n\n## Phase 1: One\n\n- [ ] T1.1: a\n  - verify: `echo $$ > ../pid; sleep 600`\n",
    );
    let mut client = Client::connect(&project);
    client.call("task_next", json!({}));
    client.call("task_start", json!({ "id": "T1.1" }));
    let done =
        client.ask("tools/call", json!({ "name": "task_done", "arguments": { "id": "T1.1" } }));
    let pid = project.base().join("pid");
    wait_for("the check", || fs::read_to_string(&pid).is_ok_and(|it| it.ends_with('\n')));
    let pid: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": done } }));
    wait_for("the end of the check", || !Path::new(&format!("/proc/{pid}")).exists());
    let why = client.call("task_why", json!({ "id": "T1.1" }));
    assert_eq!(why["status"], "in_progress", "{why}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn documents_are_read_and_their_list_is_renewed() {
    let project = Project::with_tasks();
    project.write(".claude/memory/shared-context.json", "{}");
    let mut client = Client::connect(&project);
    let listed = client.request("resources/list", json!({}));
    let uris: Vec<String> = listed["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uri"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        uris,
        [
            "waypost://status",
            "waypost://file/TASKS.md",
            "waypost://file/.claude/memory/shared-context.json",
        ]
    );
    for uri in &uris {
        let read = client.request("resources/read", json!({ "uri": uri }));
        assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    }
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 2);
    let schema = client.request("resources/read", json!({ "uri": "waypost://schema/task-state" }));
    assert!(schema["result"]["contents"][0]["text"].as_str().unwrap().contains("$schema"));
    for uri in
        ["waypost://file/.git/config", "waypost://file/../elsewhere/x", "waypost://schema/x", "x"]
    {
        let read = client.request("resources/read", json!({ "uri": uri }));
        assert!(read["error"]["code"].is_number(), "{uri}: {read}");
    }
    project.write(".claude/memory/agents/worker.json", "{}");
    let is_notice = |it: &Value| it["method"] == "notifications/resources/list_changed";
    let deadline = Instant::now() + PATIENCE;
    while !client.notices.iter().any(is_notice) {
        assert!(Instant::now() < deadline, "no notice came");
        client.request("ping", json!({}));
    }
    let prompt = client
        .request("prompts/get", json!({ "name": "develop", "arguments": { "feature": "Chat" } }));
    assert!(prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("Chat"));
}

#[test]
fn documents_of_the_memory_are_read_in_every_work_tree() {
    let project = Project::with_tasks();
    project.git_command("add -A");
    project.git_command("commit -q -m tasks");
    project.write(".claude/memory/shared-context.json", "{}");
    project.git_command("worktree add -q ../side");
    let mut side = project;
    side.root = side.base().join("side");
    let mut client = Client::connect(&side);
    let uri = "waypost://file/.claude/memory/shared-context.json";
    let listed = client.request("resources/list", json!({}));
    assert!(listed.to_string().contains(uri), "{listed}");
    let read = client.request("resources/read", json!({ "uri": uri }));
    assert_eq!(read["result"]["contents"][0]["text"], "{}", "{read}");
}

#[test]
fn memory_is_searched_and_files_are_checked() {
    let project = Project::with_tasks();
    project.must("develop start 'Retry policy'");
    let mut client = Client::connect(&project);
    let found = client.call("memory_search", json!({ "text": "retry policies" }));
    assert_eq!(found["found"][0]["kind"], "transition", "{found}");
    let refused = client.refused("memory_search", json!({ "text": "x", "kinds": ["nonsense"] }));
    assert_eq!(refused["code"], "BAD_ARGUMENT");
    let valid = client.call("validate", json!({ "file": "TASKS.md" }));
    assert_eq!(valid["valid"], true, "{valid}");
    let context = client.call("context", json!({ "role": "worker" }));
    assert!(context["text"].as_str().unwrap().contains("Retry policy"), "{context}");
}

#[test]
fn nothing_that_a_client_says_ends_the_server() {
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let wrong = [
        json!({ "name": "no_such_tool", "arguments": {} }),
        json!({ "name": "task_start" }),
        json!({ "name": "task_start", "arguments": { "id": 7 } }),
        json!({ "name": "task_start", "arguments": { "id": "T0.1", "colour": "red" } }),
        json!({ "name": "task_start", "arguments": { "id": "../../etc/passwd" } }),
        json!({ "name": "task_start", "arguments": { "id": "T9.9" } }),
        json!({ "name": "memory_search", "arguments": { "text": "\u{0}\u{e000}\"*(" } }),
        json!({ "arguments": {} }),
        json!([]),
        json!("x"),
        json!(7),
        json!(null),
    ];
    for params in wrong {
        let answer = client.request("tools/call", params.clone());
        let is_error = answer.get("error").is_some() || answer["result"]["isError"] == true;
        let is_harmless = params["name"] == "memory_search";
        assert!(is_error || is_harmless, "{params}: {answer}");
        let is_blamed_on_method = answer["error"]["code"] == -32601;
        assert!(!is_blamed_on_method, "the method is there, {params} is wrong: {answer}");
    }
    let answer = client.request("no/such/method", json!({}));
    assert!(answer["error"]["code"].is_number(), "{answer}");
    for text in
        ["\n", "no json\n", "{\"half\":\n", "[]\n", "{}\n", "\u{feff}{}\n", "\"x\"\n", "7\n"]
    {
        client.send_raw(text);
    }
    client.call("status", json!({}));
    // A message that is too large is answered under its own id, and memory stays as it is.
    let large = "x".repeat(20 << 20);
    let answer = client
        .request("tools/call", json!({ "name": "memory_search", "arguments": { "text": large } }));
    assert!(answer["error"]["message"].as_str().unwrap().contains("bytes"), "{answer}");
    client.call("status", json!({}));
    assert_eq!(client.leave(), 0);
}

#[test]
fn ten_thousand_calls_leave_nothing_behind() {
    // What the server may keep more at the end than after a tenth of the calls: pages that its allocator
    // holds back, and far less than a kilobyte for each call.
    const GROWTH_MAX_KB: u64 = 8 << 10;
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let pid = client.child.id();
    let mut after_warming = (0, 0);
    for round in 0..50 {
        let ids: Vec<u64> = (0..200)
            .map(|_| client.ask("tools/call", json!({ "name": "task_next", "arguments": {} })))
            .collect();
        for id in ids {
            assert_eq!(client.answer(id)["result"]["isError"], false);
        }
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        let held = held_kb(pid);
        if round == 5 {
            after_warming = (open, held);
        }
        let (open_then, held_then) = after_warming;
        assert!(round <= 5 || open <= open_then + 8, "{open} open files after round {round}");
        let is_steady = held <= held_then + GROWTH_MAX_KB;
        assert!(round <= 5 || is_steady, "{held} kB, and {held_then} kB at first");
    }
    assert_eq!(client.leave(), 0);
}

/// How much memory a process holds.
fn held_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_client_that_dies_takes_its_server_along() {
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    client.ask(
        "tools/call",
        json!({ "name": "question_ask",
        "arguments": { "question": "Anyone?", "wait_seconds": 3600 } }),
    );
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_client_that_hangs_up_while_a_question_waits_ends_the_server_and_the_question_stays() {
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let asks = json!({ "question": "Which tea?", "wait_seconds": 3_000 });
    client.ask("tools/call", json!({ "name": "question_ask", "arguments": asks }));
    // Others are served meanwhile.
    loop {
        let listed = client.call("inbox_list", json!({}));
        if listed["entries"].as_array().is_some_and(|it| !it.is_empty()) {
            break;
        }
    }
    assert!(client.child.try_wait().unwrap().is_none(), "it waits as long as the client lets it");
    assert_eq!(client.leave(), 0, "it ends as a program does that is done");
    assert_eq!(project.json("inbox").as_array().unwrap().len(), 1);
}

#[test]
fn a_question_is_waited_for_until_a_person_answers() {
    if no_person_is_here() {
        return;
    }
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    let asks = json!({ "question": "Which tea?", "wait_seconds": 3_000 });
    let waiting = client.ask("tools/call", json!({ "name": "question_ask", "arguments": asks }));
    loop {
        let listed = client.call("inbox_list", json!({}));
        if listed["entries"].as_array().is_some_and(|it| !it.is_empty()) {
            break;
        }
    }
    project.person_must("inbox answer q1 green");
    let answer = client.answer(waiting);
    assert_eq!(answer["result"]["structuredContent"]["answer"], "green", "{answer}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn each_tool_has_the_arguments_that_it_reads() {
    let project = Project::git();
    let mut client = Client::connect(&project);
    let listed = client.request("tools/list", json!({}));
    let arguments = |name: &str| -> Vec<String> {
        let tools = listed["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|it| it["name"] == name).unwrap();
        tool["inputSchema"]["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let table: [(&str, &[&str]); 9] = [
        ("task_start", &["id"]),
        ("task_why", &["id"]),
        ("task_done", &["attempt", "id"]),
        ("gate_pass", &["gate", "report"]),
        ("gate_reset", &["gate"]),
        ("checkpoint_start", &["id"]),
        ("checkpoint_pass", &["id"]),
        ("checkpoint_escalate", &["id"]),
        ("checkpoint_fail", &["class", "id"]),
    ];
    for (tool, want) in table {
        let mut found = arguments(tool);
        found.sort();
        assert_eq!(found, want, "{tool}");
    }
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let needs_some =
            tool["inputSchema"]["required"].as_array().is_some_and(|it| !it.is_empty());
        if !needs_some {
            let refused =
                client.refused(tool["name"].as_str().unwrap(), json!({ "colour": "red" }));
            assert!(refused.to_string().contains("colour"), "{tool}: {refused}");
        }
    }
    assert_eq!(client.leave(), 0);
}

#[test]
fn there_is_no_attempt_that_passes_the_fence_by_its_number() {
    let project = Project::with_tasks();
    let mut client = Client::connect(&project);
    client.call("task_start", json!({ "id": "T0.1" }));
    for tool in ["task_done", "task_fail"] {
        let mut arguments = json!({ "id": "T0.1", "attempt": 0 });
        if tool == "task_fail" {
            arguments["reason"] = json!("x");
        }
        let refused = client.refused(tool, arguments);
        assert_eq!(refused["code"], "BAD_ARGUMENT", "{refused}");
    }
    let why = client.call("task_why", json!({ "id": "T0.1" }));
    assert_eq!(why["status"], "in_progress", "{why}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_line_that_cannot_be_read_is_answered_under_no_id() {
    let project = Project::git();
    let mut client = Client::connect(&project);
    for line in [
        "no json\n",
        "{\"jsonrpc\":\"2.0\",\"met\n",
        "\u{0}\n",
        "{}\n",
        "[]\n",
        "7\n",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}\n",
    ] {
        client.send_raw(line);
        let answer = client.lines.recv_timeout(PATIENCE).expect("it is answered");
        assert_eq!(answer.get("id"), Some(&Value::Null), "{line:?}: {answer}");
        assert!(answer["error"]["code"].is_i64(), "{line:?}: {answer}");
    }
    let deep = "[".repeat(130) + &"]".repeat(130);
    for line in [
        "{\"jsonrpc\":\"2.0\",\"id\":902}\n".to_owned(),
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":902,\"method\":\"ping\",\"params\":{{\"a\":{deep}}}}}\n"
        ),
    ] {
        client.send_raw(&line);
        let answer = client.answer(902);
        assert!(answer["error"]["code"].is_i64(), "{line}: {answer}");
    }
    assert!(client.request("ping", json!({}))["result"].is_object());
    assert_eq!(client.leave(), 0);
}
