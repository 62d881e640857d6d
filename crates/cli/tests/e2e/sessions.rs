//! Sessions with the real Claude Code: driven from a conversation by the plugin's skill, and by `session run`
//! with the program in every role. Both come to a complete request, each gate looked at by Waypost.

use crate::{
    harness::{Model, Site},
    program::{Agent, LIMIT, run_within},
    stage::{Stage, marker, text},
};
use serde_json::{Value, json};
use std::fs;

const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugin");

/// What the user wants.
const REQUEST: &str = "count what is in the cart";

/// The calls of a request with one task of one subtask, in their order, with what each writes: the contract's
/// path below those of the request, and its text.
const CALLS: [(&str, &str, &str); 7] = [
    (
        "explore",
        "explored.yaml",
        "created_by: code-explore\nexplored_files:\n  - path: src/cart.sh\n    summary: the cart\n\
         directory_structure:\n  tests: tests\n",
    ),
    (
        "plan",
        "task-breakdown.yaml",
        "created_by: planner\noriginal_request: count what is in the cart\nobjective: count\ntasks:\n  - id: T1\n    \
         name: cart\n    subtasks:\n      - id: T1-S1\n        name: count\nassumptions:\n  \
         - \"src/cart.sh has the cart\"\ntask_order: [T1]\n",
    ),
    (
        "brief-T1",
        "T1/design-brief.yaml",
        "task_id: T1\ncreated_by: orchestrator\nscope_in:\n  - src/**\nscope_out:\n  - src/private/**\n",
    ),
    (
        "design-T1",
        "T1/design-contract.yaml",
        "task_id: T1\ncreated_by: architect\ninvariants:\n  - id: INV-1\n    rule: it counts\ninterfaces: []\n\
         boundaries: []\nfile_refs: []\n",
    ),
    (
        "tests-T1-S1",
        "T1/T1-S1/test-contract.yaml",
        "task_id: T1\nsubtask_id: T1-S1\ncreated_by: qa-engineer\nsubtask_name: count\ntest_cases:\n  \
         - id: TC-1\n    name: counts\n    category: happy_path\ntest_file_path: tests/t_count.sh\n",
    ),
    ("implement-T1-S1", "", ""),
    (
        "verify-T1-S1",
        "T1/T1-S1/test-result.yaml",
        "task_id: T1\nsubtask_id: T1-S1\ncreated_by: qa-engineer\nexecution:\n  result: pass\nsummary:\n  \
         total: 1\n  passed: 1\n  failed: 0\nfailed_tests: []\nrecommendation:\n  action: complete\n",
    ),
];

/// A small shop whose tests are shell scripts. Its working files are written by commands from the folder in which
/// the agent is, so that it may be in a work tree of its own.
fn furnish(site: &Site) {
    for folder in ["src", "tests"] {
        fs::create_dir_all(site.root.join(folder)).unwrap();
    }
    site.write("src/cart.sh", "count() { echo 0; }\n");
    site.write("tests/all.sh", "for t in tests/t_*.sh; do [ ! -e $t ] || sh $t || exit 1; done\n");
    let config = site.read("waypost.toml");
    site.write(
        "waypost.toml",
        &format!("{config}\n[session]\ntest_command = \"sh tests/all.sh\"\n"),
    );
}

/// The turns of the agent that is called: it writes files of the project, and the contract that is wanted of it.
fn turns(site: &Site, (call, path, contract): (&str, &str, &str)) -> Vec<Value> {
    let mut turns = Vec::new();
    match call {
        "tests-T1-S1" => turns.push(Agent::Claude.command(
            "mkdir -p tests && echo '. ./src/count.sh && test \"$(count a b)\" = 2' > tests/t_count.sh",
        )),
        "implement-T1-S1" => turns.push(
            Agent::Claude.command("mkdir -p src && echo 'count() { echo $#; }' > src/count.sh"),
        ),
        _ => {}
    }
    if !path.is_empty() {
        let head = "version: 1\nrequest_id: R1\ncreated_at: \"2026-01-15T10:00:00Z\"\n";
        let (path, text) = match path.starts_with("reports/") {
            true => (format!("{}/{path}", folder(site)), contract.to_owned()),
            false => (format!("{}/contracts/R1/{path}", folder(site)), format!("{head}{contract}")),
        };
        let input = json!({"file_path": path, "content": text});
        turns.push(json!({"blocks": [{"tool": "Write", "input": input}]}));
    }
    turns
}

/// The folder of the session, whether it has begun or not.
fn folder(site: &Site) -> String {
    answered(site, "session status")["folder"].as_str().unwrap().to_owned()
}

fn answered(site: &Site, line: &str) -> Value {
    serde_json::from_str(&site.waypost(&format!("--json {line}")).stdout).unwrap()
}

/// The request is complete: its contracts are valid, each gate was passed once by what Waypost found, and the
/// work is in the project.
#[track_caller]
fn check_complete(site: &Site, told: &str) {
    let state = answered(site, "session status")["state"].clone();
    assert_eq!(state["request"]["global_phase"], "complete", "{state}\n{told}");
    let log = site.waypost("--json log -n 100000").stdout;
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().filter(|it| it["kind"] == kind).collect::<Vec<_>>();
    assert_eq!(of("gate_passed").len(), 4, "each gate was judged once: {events:?}\n{told}");
    for kind in ["gate_failed", "gate_overridden", "call_failed", "plan_sent_back"] {
        assert!(of(kind).is_empty(), "{kind}: {events:?}\n{told}");
    }
    let listed = answered(site, "contract list");
    let contracts = listed.as_array().unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(contracts.len(), 6, "{listed}");
    for (_, path, _) in CALLS.iter().filter(|(_, path, _)| !path.is_empty()) {
        site.waypost(&format!("validate {}/contracts/R1/{path}", folder(site)));
    }
    // What Waypost's own run has shown is in the result.
    let result =
        fs::read_to_string(format!("{}/contracts/R1/T1/T1-S1/test-result.yaml", folder(site)))
            .unwrap();
    assert!(result.contains("sh tests/all.sh"), "{result}");
    for (file, words) in [("src/count.sh", "echo $#"), ("tests/t_count.sh", "count a b")] {
        // In the checkout, or already in a commit of the branch.
        let found = match site.exists(file) {
            true => site.read(file),
            false => site.git(&format!("show main:{file}")),
        };
        assert!(found.contains(words), "{file}: {found}\n{told}");
    }
    assert_eq!(answered(site, "memory history")[0]["result"], "success");
}

/// A turn in which the model gives calls to subagents, each with words by which its conversation is known.
fn subagents(calls: &[&str]) -> Value {
    let block = |call: &&str| {
        let prompt = format!("SESSION CALL {call}. Read the inputs and write the output.");
        json!({"tool": "Agent", "input": {"description": format!("call {call}"), "prompt": prompt,
                                          "subagent_type": "general-purpose"}})
    };
    json!({"blocks": calls.iter().map(block).collect::<Vec<_>>()})
}

/// A turn in which the model waits until what subagents write is there, whether they work beside it or not.
fn waits_for(path: &str) -> Value {
    Agent::Claude.command(&format!("until test -s {path}; do sleep 0.1; done"))
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_drives_a_session_to_its_end_with_the_plugin_alone() {
    let Some(site) = Site::bare(Agent::Claude) else { return };
    let site = site.with_arguments(&["--plugin-dir", PLUGIN]);
    furnish(&site);
    site.git("add .");
    site.git("commit -q -m shop");
    let command = |line: &str| Agent::Claude.command(&format!("waypost {line}"));
    let contracts = format!("{}/contracts/R1", folder(&site));
    let mut main = vec![
        command("session status"),
        command("session start"),
        command(&format!("session request '{REQUEST}'")),
        command("session next --json"),
        subagents(&["explore", "plan"]),
        waits_for(&format!("{contracts}/explored.yaml")),
        waits_for(&format!("{contracts}/task-breakdown.yaml")),
    ];
    for (call, path, _) in &CALLS[2..] {
        main.push(command("session next --json"));
        if *call == "design-T1" {
            main.extend([command("session plan"), command("session next --json")]);
        }
        main.push(subagents(&[call]));
        main.push(match path.is_empty() {
            true => waits_for("src/count.sh"),
            false => waits_for(&format!("{contracts}/{path}")),
        });
        if call.ends_with("T1-S1") {
            main.push(command("session gate check"));
        }
    }
    main.extend([command("session next --json"), command("session complete"), text("It counts.")]);
    let conversations: Vec<Value> = CALLS
        .iter()
        .map(|call| {
            let mut turns = turns(&site, *call);
            turns.push(text("It is written."));
            json!({"marker": format!("SESSION CALL {}.", call.0), "turns": turns})
        })
        .collect();
    let script = json!({"version": 1, "turns": main, "conversations": conversations});
    let model = Model::play(&site, &script);
    // The person allows what every session needs; about contracts below `.claude` the program asks all the same.
    let tools = ["Bash", "Write", "Edit", "Read", "Agent", "Task", "Skill"];
    let mut program = site.claude_with_tools(&model, &tools);
    program.args(["--", &format!("/waypost:session {REQUEST}")]);
    let ran = run_within(LIMIT * 2, program, "").expect("the conversation ends");
    assert_eq!(ran.code, Some(0), "{ran}");
    let asked = model.requests();
    // The skill alone has told the model how a session is driven, and what for.
    let first = asked.iter().find(|it| it["conversation"] == "main").unwrap()["body"].to_string();
    for words in ["waypost session next --json", "each of `calls` to a subagent", REQUEST] {
        assert!(first.contains(words), "the model is not told `{words}`: {first}");
    }
    let last = asked.iter().rfind(|it| it["conversation"] == "main").unwrap();
    let results = crate::harness::tool_results(last).join("\n");
    check_complete(&site, &results);
    assert!(results.contains("GATE-2"), "{results}");
    let session = answered(&site, "session status")["session"].clone();
    assert_eq!(session["status"], "completed", "{session}");
}

/// Has the real program play the roles of these calls with `session run`, and checks what came of it.
fn plays_every_role(calls: &'static [(&'static str, &'static str, &'static str)]) {
    let stage = Stage::play(Agent::Claude, |site| {
        furnish(site);
        let conversation = |call: &(&str, &str, &str)| {
            let mut turns = turns(site, *call);
            turns.push(text(&format!("It is done.\nDONE:{}", call.0)));
            (marker(call.0), json!(turns))
        };
        calls.iter().map(conversation).collect()
    });
    let Some(stage) = stage else { return };
    let site = &stage.site;
    let config = site.read("waypost.toml").replace("\"Bash(until *)\"", "\"Bash\"");
    site.write("waypost.toml", &config);
    site.git("commit -q -a -m settings");
    site.waypost("session start");
    site.waypost(&format!("session request|{REQUEST}"));
    let ran = stage.run("session run --agent claude");
    assert_eq!(ran.code, Some(0), "{ran}");
    check_complete(site, &ran.to_string());
    for (call, ..) in calls {
        let requests = stage.requests(call);
        let first = requests.first().unwrap_or_else(|| panic!("{call} was not called: {ran}"));
        assert!(first["body"].to_string().contains(REQUEST), "{call} is told the request: {first}");
    }
    // Nothing is left to be done, and no agent is called again.
    let before = stage.events("engaged").len();
    assert_eq!(before, calls.len(), "{ran}");
    let ran = stage.run("session run --agent claude");
    assert_eq!((ran.code, stage.events("engaged").len()), (Some(0), before), "{ran}");
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_in_every_role_completes_a_request() {
    plays_every_role(&CALLS);
}

/// The same with a brief in prose, whose scope the qa-engineer reports on.
const CALLS_IN_PROSE: [(&str, &str, &str); 8] = [
    CALLS[0],
    CALLS[1],
    (
        CALLS[2].0,
        CALLS[2].1,
        "task_id: T1\ncreated_by: orchestrator\nscope_in:\n  - the counting of the cart\nscope_out:\n  \
         - the login\n",
    ),
    CALLS[3],
    CALLS[4],
    CALLS[5],
    (
        "confirm-T1-S1-GATE-3",
        "reports/R1/T1-S1-GATE-3-1.md",
        "# Scope\n\nIt is the cart.\n\nBlocking: 0\n",
    ),
    CALLS[6],
];

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_reports_on_what_prose_leaves_open() {
    plays_every_role(&CALLS_IN_PROSE);
}
