//! Agent programs that work by our tools (MCP): they fetch a task, ask a person, are started again, read the
//! answer, and finish the task.

use crate::harness::{Site, Work};
use crate::program::Agent;
use serde_json::{Value, json};

const TASKS: &str = "# Tasks: shop\n\n## Phase 1: One\n\n- [ ] T1.1: Store the carts\n  - verify: \
                     `test -e carts.txt`\n- [ ] T1.2: Pay\n  - depends: T1.1\n";

/// A turn in which the model calls a tool of ours.
pub(crate) fn call(tool: &str, input: Value) -> Value {
    json!({"blocks": [{"tool": format!("mcp__waypost__{tool}"), "input": input}]})
}

fn text(text: &str) -> Value {
    json!({"blocks": [{"text": text}]})
}

/// A project with tasks, and our server registered as `init` does it.
fn site(agent: Agent) -> Option<Site> {
    let site = Site::bare(agent)?.trusted();
    site.write("TASKS.md", TASKS);
    site.git("add .");
    site.git("commit -q -m tasks");
    site.waypost(&format!("init --agent {}", agent.name()));
    Some(site)
}

/// What a tool of ours answered, as JSON. Programs wrap it differently; what we say is one object in it.
#[track_caller]
fn answer(work: &Work, at: usize) -> Value {
    let results = work.tool_results("main");
    let result = results.get(at).unwrap_or_else(|| panic!("no result {at}\n{}", work.ran));
    let plain = result.replace("\\\"", "\"");
    let starts = plain.match_indices("{\"").map(|(start, _)| start);
    let read = |start: usize| {
        let mut values = serde_json::Deserializer::from_str(&plain[start..]).into_iter::<Value>();
        values.next()?.ok().filter(|value| value.get("type").is_none_or(|it| it != "text"))
    };
    starts.filter_map(read).next().unwrap_or_else(|| panic!("no object in {result}"))
}

fn check_works_by_tools(agent: Agent) {
    let Some(site) = site(agent) else { return };
    let question = json!({"question": "Which database?", "choices": ["postgres", "sqlite"],
                          "wait_seconds": 0});
    let turns = json!([
        call("task_next", json!({"limit": 1})),
        call("task_start", json!({"id": "T1.1"})),
        call("question_ask", question),
        text("I wait for the answer."),
    ]);
    let work = site.work(turns, json!([]));
    assert_eq!(answer(&work, 0)["tasks"][0]["id"], "T1.1", "{}", work.ran);
    assert_eq!(answer(&work, 1)["status"], "in_progress", "{}", work.ran);
    let asked = answer(&work, 2);
    assert_eq!((&asked["status"], &asked["answer"]), (&json!("open"), &Value::Null));
    let id = asked["id"].as_str().unwrap().to_owned();
    assert!(!site.exists("carts.txt"));

    site.as_person(&format!("inbox answer {id} sqlite"));
    // Another process, which knows nothing but what it is told and asks for.
    let turns = json!([
        call("question_answer", json!({"id": id, "wait_seconds": 0})),
        call("task_done", json!({"id": "T1.1"})),
        agent.write(&site, "carts.txt", "sqlite"),
        call("task_done", json!({"id": "T1.1", "attempt": 1})),
        call("task_next", json!({})),
        text("Done."),
    ]);
    let work = site.work(turns, json!([]));
    assert!(work.shown(0).contains("sqlite"), "a conversation that begins is told the answer");
    assert_eq!(answer(&work, 0)["answer"], "sqlite", "{}", work.ran);
    // The task's own check has to pass first, and the refusal says so.
    let refused = work.tool_results("main")[1].clone();
    assert!(refused.contains("carts.txt"), "{refused}");
    assert_eq!(answer(&work, 3)["status"], "completed", "{}", work.ran);
    assert_eq!(answer(&work, 4)["tasks"][0]["id"], "T1.2", "{}", work.ran);
    let log = site.waypost("--json log -n 1000").stdout;
    let completed = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let completed: Vec<Value> = completed.filter(|it| it["kind"] == "task_completed").collect();
    let [done] = completed.as_slice() else { panic!("completed once: {completed:?}") };
    assert!(done["actor"].as_str().unwrap().starts_with("agent:"), "{done}");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_works_by_tools_and_gets_its_answer_after_a_restart() {
    check_works_by_tools(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_works_by_tools_and_gets_its_answer_after_a_restart() {
    check_works_by_tools(Agent::Codex);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_finds_the_tools_in_its_local_scope_where_the_file_is_everybodys() {
    let Some(site) = Site::bare(Agent::Claude) else { return };
    let shared = "{\n  \"mcpServers\": {}\n}\n";
    site.write("TASKS.md", TASKS);
    site.write(".mcp.json", shared);
    site.git("add .");
    site.git("commit -q -m tasks");
    // The program has been here before, and keeps more than servers in its file.
    site.work(json!([text("Hello.")]), json!([]));
    let own = site.home().join(".claude.json");
    let before = std::fs::read_to_string(&own).unwrap();
    site.waypost("init --agent claude");
    assert_eq!(site.read(".mcp.json"), shared);
    site.as_person("init --remove");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), before, "nothing is left of it");

    site.waypost("init --agent claude");
    let turns = json!([call("task_next", json!({"limit": 1})), text("Done.")]);
    let work = site.work(turns, json!([]));
    assert_eq!(answer(&work, 0)["tasks"][0]["id"], "T1.1", "{}", work.ran);
    // It has written its file meanwhile; what is its own stays.
    site.as_person("init --remove");
    let after: Value = serde_json::from_str(&std::fs::read_to_string(&own).unwrap()).unwrap();
    let servers = &after["projects"][site.root.to_str().unwrap()]["mcpServers"];
    assert!(servers.get("waypost").is_none(), "{after}");
    assert_eq!(site.read(".mcp.json"), shared);
}
