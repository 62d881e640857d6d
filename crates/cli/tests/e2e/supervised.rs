//! Agents at jobs: reviewers that only look, workers at checkpoints, and whether their gates
//! are alive.

use crate::{
    harness::{FEATURE, Site, tool_results},
    program::{Agent, wait_for},
    stage::{Stage, done, marker, text, until},
};
use serde_json::{Value, json};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

const GATE: &str = "review_clean_pass";

/// Puts more into waypost.toml.
fn configure(site: &Site, more: &str) {
    site.write("waypost.toml", &format!("{}\n{more}", site.read("waypost.toml")));
}

/// A project in REVIEW whose gate needs a review, with a reviewer whose model says `turns`.
fn reviewing(agent: Agent, turns: impl FnOnce(&Site) -> Value) -> Option<Stage> {
    let stage = Stage::play(agent, |site| {
        let name = agent.name();
        let config =
            format!("[run]\nreviewer = \"{name}\"\n\n[workflow.gates.{GATE}]\nreview = true\n");
        configure(site, &config);
        vec![(marker(GATE), turns(site))]
    })?;
    stage.site.write("README.md", "# A better shop\n");
    stage
        .site
        .waypost_all(&[&format!("develop start|{FEATURE}"), "develop advance --checkpoint cp-1"]);
    Some(stage)
}

/// The turn in which a reviewer says what it found, as its program lets it.
fn findings(agent: Agent, found: &Value) -> Value {
    match agent {
        Agent::Claude => json!({"blocks": [{"tool": "StructuredOutput", "input": found}]}),
        Agent::Codex | Agent::Gemini => text(&format!("```json\n{found}\n```")),
    }
}

fn clean(agent: Agent) -> Value {
    let typo = json!({"severity": "minor", "file": "README.md", "line": 1, "text": "a typo"});
    findings(agent, &json!({"blocking": 0, "findings": [typo]}))
}

fn is_gate_open(stage: &Stage) -> bool {
    let status = stage.site.waypost("--json develop status").stdout;
    let status: Value = serde_json::from_str(&status).unwrap();
    status["state"]["gates"][GATE] == true
}

fn check_clean_review(agent: Agent) {
    let stage = reviewing(agent, |_| json!([agent.command("git diff HEAD"), clean(agent)]));
    let Some(stage) = stage else { return };
    let ran = stage.run("develop review");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("0 blocking, 0 major, 1 minor"), "{ran}");
    assert!(!is_gate_open(&stage), "a review opens nothing by itself");
    let requests = stage.requests(GATE);
    assert!(tool_results(&requests[1]).concat().contains("+# A better shop"), "{requests:?}");
    assert_eq!(requests.len(), 2, "nothing is asked for twice: {ran}");
    let [reviewed] = stage.events("reviewed").try_into().unwrap();
    let review = &reviewed["review"];
    assert_eq!((&review["agent"], &review["gate"]), (&json!(agent.name()), &json!(GATE)));
    assert!(review["tree"].as_str().is_some_and(|tree| tree.len() >= 40), "{review}");
    assert_eq!(review["usage"]["input"], 50, "{review}");
    stage.site.waypost(&format!("develop gate pass {GATE}"));
    assert!(is_gate_open(&stage));
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_finds_nothing_and_the_gate_takes_that() {
    check_clean_review(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_finds_nothing_and_the_gate_takes_that() {
    check_clean_review(Agent::Codex);
}

/// Tries everything by which a reviewer could leave something behind, then finds a fault.
fn check_blocking_review(agent: Agent) {
    let fault = json!({"severity": "blocking", "file": "README.md", "line": 1, "text": "it lies"});
    let stage = reviewing(agent, |site| {
        let tool = |tool: &str, input| json!({"blocks": [{"tool": tool, "input": input}]});
        let mut turns =
            vec![agent.write(site, "code.rs", "fn main() {}"), agent.command("touch made")];
        if agent == Agent::Claude {
            let cron = json!({"cron": "7 * * * *", "prompt": "go on", "durable": true});
            turns.push(tool("EnterWorktree", json!({"name": "mine"})));
            turns.push(tool("CronCreate", cron));
        }
        turns.push(findings(agent, &json!({"blocking": 1, "findings": [fault]})));
        json!(turns)
    });
    let Some(stage) = stage else { return };
    let before = stage.site.git("status --porcelain --untracked-files=all");
    let ran = stage.run("develop review");
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("1 blocking"), "{ran}");
    assert!(ran.stdout.contains("README.md:1") && ran.stdout.contains("it lies"), "{ran}");
    assert_eq!(stage.site.git("status --porcelain --untracked-files=all"), before);
    assert_eq!(stage.site.git("branch --format=%(refname:short)"), "main\n");
    assert_eq!(stage.events("reviewed").len(), 1);
    let results = tool_results(stage.requests(GATE).last().unwrap());
    // A safety check of Claude Code's own could let pass what no person is asked about.
    assert!(!results[1].contains("Auto mode"), "{results:?}");
    let refused = stage.run(&format!("develop gate pass {GATE}"));
    assert_eq!(refused.code, Some(3), "{refused}");
    assert!(refused.stderr.contains("needs a review with 0 blocking; this has 1"), "{refused}");
    assert!(!is_gate_open(&stage));
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_finds_a_fault_and_changes_nothing_by_it() {
    check_blocking_review(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_finds_a_fault_and_changes_nothing_by_it() {
    check_blocking_review(Agent::Codex);
}

/// Claude Code reminds its model once of the form by itself; after that it is up to us.
fn check_corrected(agent: Agent, idle: usize) {
    let turns = vec![text("It all looks good to me."); idle];
    let turns = turns.into_iter().chain([clean(agent)]).collect::<Vec<_>>();
    let Some(stage) = reviewing(agent, |_| json!(turns)) else { return };
    let ran = stage.run("develop review");
    assert_eq!(ran.code, Some(0), "{ran}");
    let requests = stage.requests(GATE);
    assert_eq!(requests.len(), idle + 1);
    let last = requests[idle]["body"].to_string();
    assert!(last.contains("Your last message cannot be read"), "{last}");
    assert_eq!(stage.events("reviewed").len(), 1);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_is_asked_once_more_for_what_it_did_not_say_in_the_form() {
    check_corrected(Agent::Claude, 2);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_is_asked_once_more_for_what_it_did_not_say_in_the_form() {
    check_corrected(Agent::Codex, 1);
}

/// First only waypost is killed, then everything.
fn check_killed_review(agent: Agent) {
    let stage = reviewing(agent, |site| {
        // What is in the project must not change, and an interrupted Claude says an excuse first.
        let last = until(site, "../go", clean(agent));
        json!([agent.command("git diff HEAD"), last, last])
    });
    let Some(stage) = stage else { return };
    let engine = stage.begin("develop review");
    stage.wait_for_turn(GATE, 1);
    let agents = stage.agents_with("WAYPOST_ATTEMPT=1");
    assert!(!agents.is_empty());
    engine.kill();
    let engine = stage.begin("develop review");
    engine.wait_until_it_leads();
    assert_eq!(stage.agents_with("WAYPOST_ATTEMPT=1"), agents);
    assert_eq!(stage.requests(GATE).len(), 2, "nothing was said twice: {}", engine.said());
    engine.kill();
    stage.kill_all();
    stage.site.write("../go", "");
    let ran = stage.run("develop review");
    assert_eq!(ran.code, Some(0), "{ran}");
    let last = stage.requests(GATE).last().unwrap()["body"].to_string();
    for word in ["+# A better shop", "Your review was interrupted"] {
        assert!(last.contains(word), "{word}: {last}");
    }
    assert_eq!(stage.events("reviewed").len(), 1);
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_goes_on_with_its_review_after_a_kill() {
    check_killed_review(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_goes_on_with_its_review_after_a_kill() {
    check_killed_review(Agent::Codex);
}

/// Two checkpoints, the second on top of the first, each shown by a file of its own.
const CONTRACT: &str = r#"checkpoints:
  - id: cp-1
    description: the ground
    interface: ["cp-1.txt: a line"]
    tests: ["the line is good"]
    validation:
      command: "grep good cp-1.txt"
    dependencies: []
  - id: cp-2
    description: the roof
    interface: ["cp-2.txt: a line"]
    tests: ["the line is good"]
    validation:
      command: "grep good cp-2.txt"
    dependencies: [cp-1]
"#;

/// What the first message of a try begins with.
fn a_try(site: &Site, id: &str, number: u32) -> String {
    format!("{}WORKTREE: {}\nMETA: try {number} of ", marker(id), site.root.display())
}

/// A project in IMPLEMENT with the contract, and what the model says in each try.
fn implementing(agent: Agent, tries: impl FnOnce(&Site) -> Vec<(String, Value)>) -> Option<Stage> {
    let stage = Stage::play(agent, |site| {
        configure(site, &format!("[run]\nagent = \"{}\"\n", agent.name()));
        site.write("contract.yaml", CONTRACT);
        tries(site)
    })?;
    stage.site.waypost_all(&[
        &format!("develop start|{FEATURE}"),
        "develop advance --contract contract.yaml",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
    ]);
    Some(stage)
}

fn checkpoints(stage: &Stage) -> Value {
    let status = stage.site.waypost("--json develop status").stdout;
    let mut status: Value = serde_json::from_str(&status).unwrap();
    status["state"]["checkpoints"].take()
}

fn check_tries(agent: Agent) {
    let stage = implementing(agent, |site| {
        // The end comes twice: an agent that stops at an open checkpoint is told so once.
        let writes = |id, number, file: &str| {
            let turns = json!([agent.write(site, file, "good"), done(id), done(id)]);
            (a_try(site, id, number), turns)
        };
        vec![
            writes("cp-1", 1, "wrong.txt"),
            writes("cp-1", 2, "cp-1.txt"),
            writes("cp-2", 1, "cp-2.txt"),
        ]
    });
    let Some(stage) = stage else { return };
    let ran = stage.run("develop ralph");
    assert_eq!(ran.code, Some(0), "{ran}");
    for line in ["cp-1: is tried again: exit status: 2", "cp-1: passed", "cp-2: passed"] {
        assert!(ran.stderr.contains(line), "{line}: {ran}");
    }
    let want = json!({"cp-1": {"status": "passed", "iteration": 2},
                      "cp-2": {"status": "passed", "iteration": 1}});
    assert_eq!(checkpoints(&stage), want);
    for (id, number) in [("cp-1", 1), ("cp-1", 2), ("cp-2", 1)] {
        let requests = stage.requests_of(&a_try(&stage.site, id, number));
        // Waypost validates a try itself, so no agent is held at its end.
        assert_eq!(requests.len(), 2, "{id} {number}");
        let shown: Vec<String> = requests.iter().map(|it| it["body"].to_string()).collect();
        assert!(shown[0].contains(&format!("grep: {id}.txt: No such file")), "{}", shown[0]);
        let held = format!("checkpoint {id} of `{FEATURE}` is in progress (try {number} of");
        assert!(!shown[1].contains("ends it when its validation holds"), "{}", shown[1]);
        assert!(!shown.iter().any(|it| it.contains(&held)), "{shown:?}");
        assert_eq!(shown[0].contains("Widen the analysis"), number == 2);
    }
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_tries_a_checkpoint_until_its_validation_holds() {
    check_tries(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_tries_a_checkpoint_until_its_validation_holds() {
    check_tries(Agent::Codex);
}

/// In the first try only waypost is killed, in the second everything.
fn check_killed_tries(agent: Agent) {
    let stage = implementing(agent, |site| {
        let tries = |number, file: &str, go: &str| {
            let last = until(site, go, done("cp-1"));
            // After an interruption Claude puts an excuse of its own between the answers.
            let turns = json!([agent.write(site, file, "good"), last, last, last, last]);
            (a_try(site, "cp-1", number), turns)
        };
        vec![tries(1, "wrong.txt", "go-1"), tries(2, "cp-1.txt", "go-2")]
    });
    let Some(stage) = stage else { return };
    let requests = |number| stage.requests_of(&a_try(&stage.site, "cp-1", number));
    let wait = |number| {
        let is_asked = || requests(number).iter().any(|it| it["turn"] == 1).then_some(());
        wait_for(&format!("the second turn of try {number}"), is_asked);
    };
    let line = "develop ralph --checkpoint cp-1";
    let engine = stage.begin(line);
    wait(1);
    let agents = stage.agents_with("WAYPOST_ATTEMPT=1");
    assert!(!agents.is_empty());
    engine.kill();
    let engine = stage.begin(line);
    engine.wait_until_it_leads();
    assert_eq!(stage.agents_with("WAYPOST_ATTEMPT=1"), agents);
    stage.site.write("go-1", "");
    wait(2);
    assert_eq!(requests(1).len(), 2, "nothing was said twice: {}", engine.said());
    engine.kill();
    stage.kill_all();
    stage.site.write("go-2", "");
    let ran = stage.run(line);
    assert_eq!(ran.code, Some(0), "{ran}");
    let last = requests(2).last().unwrap()["body"].to_string();
    for word in ["Widen the analysis", "Your work on cp-1 was interrupted"] {
        assert_eq!(last.matches(word).count(), 1, "{word}: {last}");
    }
    assert_eq!(checkpoints(&stage)["cp-1"], json!({"status": "passed", "iteration": 2}));
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_goes_on_with_its_try_after_a_kill() {
    check_killed_tries(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_goes_on_with_its_try_after_a_kill() {
    check_killed_tries(Agent::Codex);
}

fn checked(agent: Agent) -> (Option<Stage>, &'static str, &'static [&'static str]) {
    let (line, names): (_, &[&str]) = match agent {
        Agent::Claude => ("agents check claude", &["claude"]),
        Agent::Codex => ("agents check codex codex-exec", &["codex", "codex-exec"]),
        Agent::Gemini => ("agents check gemini", &["gemini"]),
    };
    (Stage::play(agent, |_| Vec::new()), line, names)
}

fn health(stage: &Stage, name: &str) -> Value {
    let list = stage.run("--json agents").stdout;
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    list.into_iter().find(|it| it["name"] == name).unwrap()["gate"]["health"].take()
}

fn check_alive(agent: Agent) {
    let (Some(stage), line, names) = checked(agent) else { return };
    stage.site.waypost(&format!("develop start|{FEATURE}"));
    let ran = stage.run(line);
    assert_eq!(ran.code, Some(0), "{ran}");
    for name in names {
        assert_eq!(health(&stage, name), "alive", "{name}: {ran}");
    }
    assert!(stage.requests("canary").is_empty(), "it has a model of its own");
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn the_gate_of_claude_is_alive() {
    check_alive(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn both_gates_of_codex_are_alive() {
    check_alive(Agent::Codex);
}

/// A hook that is not installed has a stand-in; one that says nothing or breaks is seen.
fn check_not_alive(agent: Agent, want: &str) {
    let (Some(mut stage), line, names) = checked(agent) else { return };
    stage.site.waypost(&format!("develop start|{FEATURE}"));
    let folder = stage.site.base().join("other");
    fs::create_dir(&folder).unwrap();
    fs::hard_link(stage.site.programs.bin.join("waypost"), folder.join("waypost")).unwrap();
    stage.site.programs.bin = folder.clone();
    let ran = stage.run(line);
    assert_eq!(ran.code, Some(0), "without the small program: {ran}");
    for code in [0, 1] {
        let hook = folder.join("waypost-hook");
        fs::write(&hook, format!("#!/bin/sh\ncat >/dev/null\nexit {code}\n")).unwrap();
        fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
        let ran = stage.run(line);
        assert_eq!(ran.code, Some(1), "exit {code}: {ran}");
        for name in names {
            // The words around the hook turn its failure into a refusal.
            let want = if code == 0 { want } else { "silent" };
            assert_eq!(health(&stage, name), want, "{name}, exit {code}: {ran}");
        }
    }
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn a_hook_of_claude_that_does_nothing_is_found_out() {
    check_not_alive(Agent::Claude, "silent");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn a_hook_of_codex_that_does_nothing_is_found_out() {
    check_not_alive(Agent::Codex, "ran");
}
