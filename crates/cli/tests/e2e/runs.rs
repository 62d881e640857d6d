//! Agents as workers of a run: what they do is recorded, and neither a crash nor a person who is
//! away loses any of it.

use crate::{
    harness::{assert_refused, tool_results},
    program::{Agent, wait_for},
    stage::{Stage, done, text, until},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Two tasks beside each other, and one that comes after both.
fn three(agent: &str, last: &str) -> String {
    format!(
        "## Phase 1: Ground\n\n\
         - [ ] T1.1: Write the first\n  - agent: {agent}\n  - depends: none\n\
         \x20 - verify: `grep -q one T1.1.txt`\n\
         - [ ] T1.2: Write the second\n  - agent: {agent}\n  - depends: none\n\n\
         ## Phase 2: Roof\n\n\
         - [ ] T2.1: Write the third\n  - agent: {last}\n"
    )
}

fn check_three(agent: Agent, last: &str) -> Option<Stage> {
    let stage = Stage::new(agent, &three(agent.name(), last), |site| {
        let turns = |task, word| {
            (task, json!([agent.write(site, &format!("{task}.txt"), word), done(task)]))
        };
        vec![turns("T1.1", "one"), turns("T1.2", "two"), turns("T2.1", "three")]
    })?;
    let ran = stage.run("run --no-budget");
    assert_eq!(ran.code, Some(0), "{ran}");
    for (task, word) in [("T1.1", "one\n"), ("T1.2", "two\n"), ("T2.1", "three\n")] {
        assert_eq!(stage.site.read(&format!("{task}.txt")), word);
        let [conversation] = stage.conversations(task).try_into().unwrap();
        let requests = stage.requests(task);
        let turns: Vec<&Value> = requests.iter().map(|request| &request["turn"]).collect();
        assert_eq!(turns, [0, 1], "{task}");
        // Gemini CLI does not tell its model which conversation it is.
        for request in requests.iter().filter(|_| agent != Agent::Gemini) {
            assert!(request["body"].to_string().contains(&conversation), "{task}: {conversation}");
        }
    }
    let evidence: BTreeSet<(String, String)> = stage
        .events("task_completed")
        .iter()
        .map(|it| (it["id"].to_string(), it["evidence"]["kind"].to_string()))
        .collect();
    let want = [("T1.1", "check"), ("T1.2", "unverified"), ("T2.1", "unverified")];
    let want = want.map(|(id, kind)| (json!(id).to_string(), json!(kind).to_string()));
    assert_eq!(evidence, BTreeSet::from(want));
    let shown = stage.requests("T2.1")[0]["body"].to_string();
    assert!(shown.contains("I did what T1.2 wants."), "{shown}");
    for account in stage.events("attempt_accounted") {
        // The scripted model counts 25 tokens in and 10 out for each of the two answers.
        let usage = &account["usage"];
        assert_eq!((&usage["input"], &usage["output"]), (&json!(50), &json!(20)), "{account}");
        assert!(usage["cost_micros"].as_u64() > Some(0), "{account}");
    }
    assert_eq!(stage.tasks("attempt_accounted").len(), 3);
    stage.wait_for_no_process();
    Some(stage)
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_works_through_three_tasks() {
    check_three(Agent::Claude, "claude");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_works_through_three_tasks_in_both_of_its_ways() {
    check_three(Agent::Codex, "codex-exec");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn gemini_works_through_three_tasks() {
    check_three(Agent::Gemini, "gemini");
}

/// The first answer is a file, the second comes when there is a file `go`. An interrupted Claude
/// puts an excuse of its own between the answers, so the third is the same.
fn slow(agent: Agent) -> Option<Stage> {
    Stage::one(agent, |site| {
        let last = until(site, "go", done("T1.1"));
        json!([agent.write(site, "one.txt", "one"), last.clone(), last])
    })
}

fn check_adopted(agent: Agent) {
    let Some(stage) = slow(agent) else { return };
    let engine = stage.begin("run --no-budget");
    stage.wait_for_turn("T1.1", 1);
    let agents = stage.agents("T1.1");
    assert!(!agents.is_empty());
    engine.kill();
    let engine = stage.begin("run --resume");
    engine.wait_until_it_leads();
    assert_eq!(stage.agents("T1.1"), agents);
    stage.site.write("go", "");
    let ran = engine.end();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!ran.stdout.contains("T1.1 started"), "{ran}");
    assert_eq!(stage.tasks("task_started"), ["T1.1"], "one attempt, one process");
    assert_eq!(stage.tasks("task_completed"), ["T1.1"]);
    assert_eq!(stage.conversations("T1.1").len(), 1);
    assert_eq!(stage.requests("T1.1").len(), 2);
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_works_on_when_the_engine_dies_and_is_adopted() {
    check_adopted(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_works_on_when_the_engine_dies_and_is_adopted() {
    check_adopted(Agent::Codex);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn gemini_works_on_when_the_engine_dies_and_is_adopted() {
    check_adopted(Agent::Gemini);
}

fn check_resumed(agent: Agent) {
    let Some(stage) = slow(agent) else { return };
    let engine = stage.begin("run --no-budget");
    stage.wait_for_turn("T1.1", 1);
    engine.kill();
    stage.kill_all();
    stage.site.write("go", "");
    let ran = stage.run("run --resume");
    assert_eq!(ran.code, Some(0), "{ran}");
    let conversations = stage.conversations("T1.1");
    // Gemini keeps a conversation once its first turn is over; one that it lost is begun again.
    assert!(conversations.len() == 1 || agent == Agent::Gemini, "{conversations:?}");
    let conversation = conversations.last().unwrap();
    let requests = stage.requests("T1.1");
    let last = requests.last().unwrap()["body"].to_string();
    let is_told = |word: &&str| agent != Agent::Gemini || **word != **conversation;
    for word in
        [conversation.as_str(), "one.txt", "was interrupted"].iter().filter(|it| is_told(it))
    {
        assert!(last.contains(word), "{word}: {last}");
    }
    assert_eq!(stage.tasks("attempt_interrupted"), ["T1.1"]);
    assert_eq!(stage.tasks("task_completed"), ["T1.1"]);
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_goes_on_in_its_conversation_after_everything_was_killed() {
    check_resumed(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_goes_on_in_its_conversation_after_everything_was_killed() {
    check_resumed(Agent::Codex);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn gemini_goes_on_in_its_conversation_after_everything_was_killed() {
    check_resumed(Agent::Gemini);
}

/// Two tasks whose agents need a permission, and one that keeps the run going meanwhile.
fn asking(agent: Agent) -> Option<Stage> {
    let name = agent.name();
    let tasks = format!(
        "## Phase 1: One\n\n\
         - [ ] T1.1: May\n  - agent: {name}\n  - depends: none\n\
         - [ ] T1.2: May not\n  - agent: {name}\n  - depends: none\n\
         - [ ] T1.3: Waits\n  - run: `until test -e go; do sleep 0.1; done`\n  - depends: none\n"
    );
    Stage::new(agent, &tasks, |_| {
        let turns = |task: &'static str, tag| {
            (task, json!([agent.bold_command(&format!("git tag {tag}")), done(task)]))
        };
        vec![turns("T1.1", "allowed"), turns("T1.2", "denied")]
    })
}

fn check_permissions(agent: Agent) {
    let Some(stage) = asking(agent) else { return };
    let engine = stage.begin("run --no-budget");
    let entries = stage.wait_for_inbox(2);
    for entry in &entries {
        let about = entry.to_string();
        assert!(entry["kind"] == "permission" && about.contains("git tag"), "{about}");
        stage.answer(entry, if about.contains("git tag allowed") { "allow" } else { "deny" });
    }
    // They are told while the run goes on: no conversation has to begin again.
    let result = |task| tool_results(&stage.wait_for_turn(task, 1)).join("\n");
    let allowed = result("T1.1");
    assert!(!allowed.contains("refused"), "{allowed}");
    let denied = result("T1.2");
    let words = ["refused", "rejected", "canceled"];
    assert!(words.iter().any(|word| denied.contains(word)), "{denied}");
    stage.site.write("go", "");
    let ran = engine.end();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(stage.site.git("tag"), "allowed\n");
    assert_eq!(stage.tasks("task_started").len(), 3, "{ran}");
    stage.wait_for_no_process();
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_uses_a_tool_when_a_person_allows_it() {
    check_permissions(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_uses_a_tool_when_a_person_allows_it() {
    check_permissions(Agent::Codex);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn gemini_uses_a_tool_when_a_person_allows_it() {
    check_permissions(Agent::Gemini);
}

/// The run ends with the question in the inbox, and goes on after the answer.
fn check_late_permission(agent: Agent) {
    let stage = Stage::one(agent, |_| {
        // After the interruption it wants the same again, Claude behind an excuse of its own.
        let wish = agent.bold_command("git tag --force allowed");
        json!([wish, wish, wish, done("T1.1")])
    });
    let Some(stage) = stage else { return };
    let ran = stage.run("run --no-budget");
    assert_eq!(ran.code, Some(6), "{ran}");
    assert!(ran.stderr.contains("waits for a person"), "{ran}");
    stage.wait_for_no_process();
    let ran = stage.run("run --resume");
    assert!(ran.stderr.contains("waits for a person"), "without an answer nothing begins: {ran}");
    assert_eq!(stage.tasks("task_started"), ["T1.1"]);
    let [entry] = stage.wait_for_inbox(1).try_into().unwrap();
    stage.answer(&entry, "allow");
    let ran = stage.run("run --resume");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(stage.site.git("tag"), "allowed\n", "{ran}");
    assert_eq!(stage.tasks("task_completed"), ["T1.1"]);
    // Gemini CLI may have kept nothing of a first turn that was cut off: another takes its place.
    let most = if agent == Agent::Gemini { 2 } else { 1 };
    let conversations = stage.conversations("T1.1");
    assert!((1..=most).contains(&conversations.len()), "{conversations:?}");
    assert_eq!(stage.events("agent_asked").len(), 1, "the same question is not asked twice");
    assert_eq!(stage.tasks("attempt_failed"), [""; 0]);
    let last = stage.requests("T1.1").last().unwrap()["body"].to_string();
    assert!(last.contains("You asked: permission for "), "{last}");
    assert!(last.contains("A person answered: allow"), "{last}");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_comes_back_for_a_permission_that_is_given_late() {
    check_late_permission(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_comes_back_for_a_permission_that_is_given_late() {
    check_late_permission(Agent::Codex);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn gemini_comes_back_for_a_permission_that_is_given_late() {
    check_late_permission(Agent::Gemini);
}

/// Three tasks want the same command one after another; a person allows it once for all.
fn check_allowed_for_the_run(agent: Agent) {
    let name = agent.name();
    let tasks: String =
        ["T1.1", "T1.2", "T1.3"].map(|id| format!("- [ ] {id}: Tag\n  - agent: {name}\n")).concat();
    let tasks = tasks.replace("T1.2: Tag\n", "T1.2: Tag\n  - depends: T1.1\n");
    let tasks = tasks.replace("T1.3: Tag\n", "T1.3: Tag\n  - depends: T1.2\n");
    let stage = Stage::new(agent, &format!("## Phase 1: One\n\n{tasks}"), |_| {
        let wish = agent.bold_command("git tag --force allowed");
        // An interrupted Claude puts an excuse of its own between the answers.
        ["T1.1", "T1.2", "T1.3"].map(|task| (task, json!([wish, wish, wish, done(task)]))).into()
    });
    let Some(stage) = stage else { return };
    stage.run("run --no-budget");
    let [entry] = stage.wait_for_inbox(1).try_into().unwrap();
    stage.answer(&entry, "allow-run");
    let ran = stage.run("run --resume");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(stage.events("agent_asked").len(), 1, "one question for three tasks: {ran}");
    assert_eq!(stage.tasks("task_completed").len(), 3);
    assert_eq!(stage.site.git("tag"), "allowed\n");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_asks_once_for_what_is_allowed_for_the_run() {
    check_allowed_for_the_run(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_asks_once_for_what_is_allowed_for_the_run() {
    check_allowed_for_the_run(Agent::Codex);
}

fn check_question(agent: Agent) {
    let tasks = format!(
        "## Phase 1: One\n\n\
         - [ ] T1.1: Asks\n  - agent: {}\n  - depends: none\n\
         - [ ] T1.2: Waits\n  - run: `until test -e go; do sleep 0.1; done`\n  - depends: none\n",
        agent.name()
    );
    let stage = Stage::new(agent, &tasks, |site| {
        let choices = [("SQLite", "one file"), ("Postgres", "a server")];
        let question = agent.question("Which database?", choices);
        // A question alone is no work, and a task that was not worked on is not done.
        let write = agent.write(site, "database.txt", "Postgres");
        vec![("T1.1", json!([question, write, done("T1.1")]))]
    });
    let Some(stage) = stage else { return };
    let engine = stage.begin("run --no-budget");
    let [entry] = stage.wait_for_inbox(1).try_into().unwrap();
    assert_eq!(entry["kind"], "agent_question");
    assert_eq!(entry["text"], "Which database?\n\n- SQLite: one file\n- Postgres: a server");
    assert_eq!(entry["choices"], json!(["SQLite", "Postgres"]));
    stage.answer(&entry, "Postgres");
    let told = tool_results(&stage.wait_for_turn("T1.1", 1)).join("\n");
    assert!(told.contains("Postgres") && !told.contains("SQLite"), "{told}");
    stage.site.write("go", "");
    let ran = engine.end();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(stage.tasks("task_started").len(), 2, "{ran}");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_is_told_what_a_person_answers() {
    check_question(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_is_told_what_a_person_answers() {
    check_question(Agent::Codex);
}

fn check_gate(agent: Agent) {
    let stage = Stage::one(agent, |site| {
        json!([
            agent.write(site, "code.rs", "fn main() {}"),
            text("It is refused.\nFAIL:T1.1:gate")
        ])
    });
    let Some(stage) = stage else { return };
    stage.site.enter_implement();
    stage.site.waypost("develop gate reset review_clean_pass");
    assert!(!stage.site.exists(".claude/settings.local.json"));
    assert!(!stage.site.exists(".claude/settings.json") && !stage.site.exists(".codex"));
    let ran = stage.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, Some(1), "{ran}");
    let results = tool_results(&stage.wait_for_turn("T1.1", 1));
    assert_refused(&results, 0, &["review_clean_pass", "IMPLEMENT"]);
    assert!(!stage.site.exists("code.rs"));
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_in_a_run_is_held_at_the_gate_of_a_project_without_settings() {
    check_gate(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_in_a_run_is_held_at_the_gate_of_a_project_without_settings() {
    check_gate(Agent::Codex);
}

fn check_interrupted(agent: Agent) {
    let stage = Stage::one(agent, |site| {
        let wait = agent.command("until test -e go; do sleep 0.1; done");
        let last = until(site, "go", done("T1.1"));
        json!([agent.write(site, "one.txt", "one"), wait, last.clone(), last])
    });
    let Some(stage) = stage else { return };
    let engine = stage.begin("run --no-budget");
    stage.wait_for_turn("T1.1", 1);
    wait_for("the command", || stage.has_process("sleep").then_some(()));
    engine.interrupt("no new tasks are started");
    engine.interrupt("running tasks are stopped");
    let ran = engine.end();
    assert_eq!(ran.code, Some(130), "{ran}");
    assert_eq!(stage.processes(), []);
    assert_eq!(stage.status("T1.1"), "ready");
    stage.site.write("go", "");
    let ran = stage.run("run --resume");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(stage.conversations("T1.1").len(), 1);
    let requests = stage.requests("T1.1");
    let last = requests.last().unwrap()["body"].to_string();
    assert!(last.contains("one.txt") && last.contains("was interrupted"), "{last}");
    assert_eq!(stage.tasks("task_completed"), ["T1.1"]);
    // Three answers were had, two of them in the process that was stopped.
    let accounts = stage.events("attempt_accounted");
    let tokens = |word| accounts.iter().filter_map(|it| it["usage"][word].as_u64()).sum::<u64>();
    assert_eq!(tokens("input"), 75, "{accounts:?}");
    // What was written when it was stopped is estimated.
    assert!(tokens("output") >= 30, "{accounts:?}");
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn claude_is_stopped_with_all_that_it_started_and_goes_on_later() {
    check_interrupted(Agent::Claude);
}

#[test]
#[ignore = "needs a real agent program: cargo xtask e2e"]
fn codex_is_stopped_with_all_that_it_started_and_goes_on_later() {
    check_interrupted(Agent::Codex);
}
