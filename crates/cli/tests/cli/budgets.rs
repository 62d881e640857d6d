//! Budgets that hold: counted as the agents' streams tell it, whatever becomes of agents and engine.

use crate::{
    agents::{bodies, left, tasks, with},
    execute::{begin, kill_all, wait_for},
    harness::{BINARY, Project, USER_CONFIG},
};
use serde_json::{Value, json};

/// One request that costs ten cents with the model that these agents have.
fn request() -> Value {
    json!({"spend": {"input": 0, "output": 6_667, "cost_usd": 0.1}})
}

fn until(file: &str) -> Value {
    json!({"run": format!("until test -e {file}; do sleep 0.05; done")})
}

/// Agents whose model has a price.
fn priced(ids: &[&str], steps: &Value) -> Project {
    let project = with(&tasks(ids), &json!({"version": 1, "default": [{"steps": steps}]}));
    let config = project.read(USER_CONFIG);
    let model = "[agents.alice]\nmodel = \"claude-sonnet-4-5\"\n";
    project.write(USER_CONFIG, &config.replace("[agents.alice]\n", model));
    project
}

fn cost(project: &Project) -> u64 {
    project.json("run status")["usage"]["cost_micros"].as_u64().unwrap_or(0)
}

#[test]
fn four_agents_spend_no_more_than_the_budget_and_one_request_each() {
    let steps = json!([
        request(), until("one"), request(), until("two"), request(), until("three"),
        request(), request(), request(), {"done": "all of it"}
    ]);
    let project = priced(&["T1.1", "T1.2", "T1.3", "T1.4"], &steps);
    let mut run = begin(&project, "run --budget 1");
    // Live, from what the agents said so far: nothing has ended yet.
    wait_for("the first requests", || cost(&project) >= 400_000);
    project.write("one", "");
    wait_for("the second requests", || cost(&project) >= 800_000);
    project.write("two", "");
    wait_for("the run to end", || run.try_wait().unwrap().is_some());
    let spent = cost(&project);
    assert!((1_000_000..=1_400_000).contains(&spent), "{spent}");
    assert_eq!(bodies(&project, "attempt_failed").len() + bodies(&project, "task_failed").len(), 0);
    let parked = bodies(&project, "attempt_parked");
    assert!(parked.len() == 4 && parked.iter().all(|it| it["cause"] == "budget"), "{parked:?}");
    let why = project.must("why T1.1").stdout;
    assert!(why.contains("budget"), "{why}");
    assert!(left(&project).is_empty());
    project.write("three", "");
    let ran = project.run("run --resume --budget 10");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.json("run status")["counts"]["completed"], 4, "{ran}");
}

#[test]
fn what_a_killed_agent_asked_for_is_counted() {
    let project = priced(&["T1.1"], &json!([request(), request(), until("go"), {"done": "x"}]));
    let mut run = begin(&project, "run --budget 5");
    wait_for("its requests", || cost(&project) >= 200_000);
    run.kill().unwrap();
    run.wait().unwrap();
    let spent = cost(&project);
    assert!((200_000..=200_020).contains(&spent), "the engine is dead, and it is known: {spent}");
    kill_all(left(&project));
    project.write("go", "");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    let accounts = bodies(&project, "attempt_accounted");
    let first = accounts[0]["usage"]["cost_micros"].as_u64().unwrap();
    assert!((200_000..=200_020).contains(&first), "{accounts:?}");
    let spent = cost(&project);
    assert!((400_000..=400_040).contains(&spent), "both processes: {spent}");
}

#[test]
fn a_task_that_meets_its_own_budget_waits_for_more() {
    let steps = json!([request(), until("go"), request(), {"done": "x"}]);
    let project = priced(&["T1.1"], &steps);
    let plan = project.read("TASKS.md");
    project.write("TASKS.md", &format!("{plan}  - budget: $0.05\n"));
    let ran = project.run("run --no-budget");
    assert_eq!(bodies(&project, "attempt_parked")[0]["cause"], "budget", "{ran}");
    assert_eq!(bodies(&project, "task_failed").len(), 0, "{ran}");
    project.write("go", "");
    project.write("TASKS.md", &format!("{plan}  - budget: $5\n"));
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.json("run status")["counts"]["completed"], 1, "{ran}");
}

#[test]
fn an_unknown_price_is_the_dearest_and_that_is_said_once() {
    let project = priced(&["T1.1", "T1.2"], &json!([request(), {"run": "true"}, {"done": "x"}]));
    let config = project.read(USER_CONFIG).replace("\"claude\"", "\"codex\"");
    project.write(USER_CONFIG, &config.replace("claude-sonnet-4-5", "gpt-99"));
    let ran = project.run("run --budget 10 --max-parallel 1");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(ran.stderr.matches("whose price is not known").count(), 1, "{ran}");
    // 6,667 tokens of each at 120 dollars for a million.
    assert_eq!(cost(&project), 2 * 800_040, "{ran}");
}

#[test]
fn a_stream_without_usage_is_estimated_and_that_is_said() {
    let project = priced(&["T1.1"], &json!([{"say": "x".repeat(4_000)}, {"crash": 3}]));
    let config = project.read(USER_CONFIG);
    let config = config.replace("\"claude\"", "\"codex-exec\"");
    project.write(USER_CONFIG, &config.replace("claude-sonnet-4-5", "gpt-5"));
    let ran = project.run("run --budget 10 --retry-limit 0");
    assert!(ran.stderr.contains("is estimated from what it wrote"), "{BINARY}: {ran}");
    assert!(cost(&project) >= 10_000, "{ran}");
}

/// Adds a line to the person's own `[run]`.
fn configure(project: &Project, line: &str) {
    let config = project.read(USER_CONFIG);
    project.write(USER_CONFIG, &format!("{config}\n[run]\n{line}\n"));
}

#[test]
fn what_all_may_spend_in_a_day_parks_agents_until_it_is_over() {
    let steps = json!([request(), until("one"), request(), {"run": "true"}, {"done": "x"}]);
    let project = priced(&["T1.1", "T1.2"], &steps);
    let config = project.read(USER_CONFIG);
    configure(&project, "day_budget_usd = 0.15");
    let mut run = begin(&project, "run --no-budget");
    wait_for("both to be parked", || bodies(&project, "attempt_parked").len() == 2);
    for parked in bodies(&project, "attempt_parked") {
        assert_eq!(parked["cause"], "budget", "{parked}");
        let until = parked["until"].as_i64().unwrap();
        assert_eq!(until % (24 * 60 * 60 * 1_000), 0, "the beginning of a day: {parked}");
    }
    let spent = bodies(&project, "spent");
    let sum: u64 = spent.iter().map(|it| it["micros"].as_u64().unwrap()).sum();
    assert_eq!((sum, spent[0]["agent"].as_str()), (cost(&project), Some("alice")), "{spent:?}");
    let why = project.must("why T1.1").stdout;
    assert!(why.contains("the budget of the day is used up"), "{why}");
    let status = project.must("run status").stdout;
    assert!(status.contains("waits T1.1 until"), "{status}");
    // It would go on when the day is over, by itself.
    assert!(run.try_wait().unwrap().is_none());
    project.must("run stop");
    wait_for("the run to end", || run.try_wait().unwrap().is_some());
    // Whatever works today counts: a task that was never begun waits, too.
    let mut again = begin(&project, "run --resume");
    wait_for("it to be at work", || project.run("run status --json").code == 0);
    assert_eq!(bodies(&project, "attempt_engaged").len(), 2);
    again.kill().unwrap();
    again.wait().unwrap();
    project.write("one", "");
    project.write(USER_CONFIG, &config);
    configure(&project, "day_budget_usd = 5");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.json("run status")["counts"]["completed"], 2, "{ran}");
}

/// One task in each of two phases.
fn two_phases(steps: &Value) -> Project {
    let project = priced(&["T1.1"], steps);
    let plan = project.read("TASKS.md");
    let second = "\n## Phase 2: Two\n\n- [ ] T2.1: Do T2.1\n  - agent: alice\n  - depends: none\n";
    project.write("TASKS.md", &format!("{plan}{second}"));
    project
}

#[test]
fn each_phase_may_spend_as_much_whatever_the_ones_before_it_have_spent() {
    // What a turn cost is told with its end: the agent is done, and its phase has nothing left.
    let project = two_phases(&json!([
        {"run": "true"}, {"usage": {"input": 0, "output": 6_667, "cost_usd": 0.1}}, {"done": "x"}
    ]));
    configure(&project, "phase_budget_usd = 0.1");
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.json("run status")["counts"]["completed"], 2, "{ran}");
    assert_eq!(cost(&project), 200_000, "{ran}");
}

#[test]
fn agents_of_a_phase_that_has_spent_its_budget_wait_for_a_larger_one() {
    let steps = json!([request(), until("go"), request(), {"run": "true"}, {"done": "x"}]);
    let project = two_phases(&steps);
    let plan = project.read("TASKS.md").replace(
        "\n## Phase 2",
        "- [ ] T1.2: Do T1.2\n  - agent: alice\n  - depends: none\n\n## Phase 2",
    );
    project.write("TASKS.md", &plan);
    let config = project.read(USER_CONFIG);
    configure(&project, "phase_budget_usd = 0.05");
    let ran = project.run("run --no-budget --max-parallel 1");
    assert_eq!(ran.code, 6, "{ran}");
    assert!(ran.stderr.contains("the budget of phase 1 is used up; what is left waits"), "{ran}");
    let parked = bodies(&project, "attempt_parked");
    assert_eq!((parked.len(), parked[0]["cause"].as_str()), (1, Some("budget")), "{parked:?}");
    let parked = parked[0]["id"].as_str().unwrap().to_owned();
    let waiting = if parked == "T1.1" { "T1.2" } else { "T1.1" };
    let why = project.must(&format!("why {parked}")).stdout;
    assert!(why.contains("the budget of phase 1 is used up (phase_budget_usd)"), "{why}");
    let why = project.must(&format!("why {waiting}")).stdout;
    assert!(why.contains("the budget of phase 1 is used up ($0.05, phase_budget_usd)"), "{why}");
    assert!(left(&project).is_empty());
    // As long as nothing has changed it waits.
    assert_eq!(project.run("run --resume").code, 6);
    assert_eq!(bodies(&project, "attempt_engaged").len(), 1);
    project.write("go", "");
    project.write(USER_CONFIG, &config);
    configure(&project, "phase_budget_usd = 5");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.json("run status")["counts"]["completed"], 3, "{ran}");
}

#[test]
fn a_project_has_no_say_in_what_is_spent_in_a_day() {
    let project = priced(&["T1.1"], &json!([{"done": "x"}]));
    project.write("waypost.toml", "[run]\nday_budget_usd = 1000\n");
    let ran = project.run("run --no-budget");
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("a project has no say in it"), "{ran}");
}

#[test]
fn as_many_agents_work_on_a_machine_as_may_whatever_project_they_are_for() {
    let steps = json!([{"run": "until test -e go; do sleep 0.05; done"}, {"done": "x"}]);
    let one = priced(&["T1.1"], &steps);
    let state = one.base().join("state");
    let shared = |project: Project| {
        configure(&project, "max_agents = 1");
        project.variable("XDG_STATE_HOME", state.to_str().unwrap())
    };
    let (one, other) = (shared(one), shared(priced(&["T1.1"], &steps)));
    let mut first = begin(&one, "run --no-budget");
    wait_for("the first agent", || bodies(&one, "attempt_engaged").len() == 1);
    let mut second = begin(&other, "run --no-budget");
    wait_for("the other project's reason", || {
        let why = other.run("why T1.1").stdout;
        why.contains("as many agents work on this machine as may")
    });
    assert_eq!(bodies(&other, "attempt_engaged").len(), 0);
    other.write("go", "");
    one.write("go", "");
    wait_for("the first run to end", || first.try_wait().unwrap().is_some());
    wait_for("the second run to end", || second.try_wait().unwrap().is_some());
    for project in [&one, &other] {
        assert_eq!(project.json("run status")["counts"]["completed"], 1);
    }
}

#[test]
fn the_slots_of_an_engine_that_was_killed_are_free() {
    let steps = json!([{"run": "until test -e go; do sleep 0.05; done"}, {"done": "x"}]);
    let project = priced(&["T1.1", "T1.2"], &steps);
    configure(&project, "max_agents = 1");
    let mut run = begin(&project, "run --no-budget");
    wait_for("the first agent", || bodies(&project, "attempt_engaged").len() == 1);
    run.kill().unwrap();
    run.wait().unwrap();
    project.write("go", "");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(project.json("run status")["counts"]["completed"], 2, "{ran}");
}
