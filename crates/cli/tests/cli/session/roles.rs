//! Who plays which role in `session run`, and what ends it before everything is done: a stop, a limit, another host.

use super::{
    running::{contract, is_complete, keepers, small_plan, with_agents},
    *,
};
use crate::{
    execute::{begin, kill, wait_for},
    harness::{BINARY, Ran, USER_CONFIG},
};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _};

/// Adds an agent that keeps the words of each of its starts, and follows the same script.
fn add_agent(project: &Project, name: &str) {
    let path = project.base().join(name);
    let kept = project.base().join(format!("{name}.started"));
    let text =
        format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> {}\nexec {BINARY} \"$@\"\n", kept.display());
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let config = project.read(USER_CONFIG);
    let own = config.split("[agents.smith]").nth(1).unwrap();
    let own = own.split("\n[").next().unwrap().replacen(BINARY, path.to_str().unwrap(), 1);
    project.write(USER_CONFIG, &format!("{config}\n[agents.{name}]{own}"));
}

fn started(project: &Project, name: &str) -> Vec<String> {
    let kept = fs::read_to_string(project.base().join(format!("{name}.started")));
    kept.unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_role_has_its_agent_model_prompt_and_tools() {
    let project = with_agents(|_, _| {});
    add_agent(&project, "jones");
    let config = project.read(USER_CONFIG);
    let roles = "[roles.architect]\nagent = \"jones\"\nmodel = \"deep-1\"\nprompt = \"Draw it first.\"\n\
                 tools = [\"Bash(make:*)\"]\n\n[roles.qa-engineer]\nmodel = \"quick-1\"\n";
    project.write(USER_CONFIG, &format!("{config}\n{roles}"));
    let ran = project.must("session run");
    assert!(ran.stderr.contains("design-T1: architect jones"), "{ran}");
    assert!(ran.stderr.contains("implement-T1-S1: implementer smith"), "{ran}");
    is_complete(&project);
    let started = started(&project, "jones");
    let [only] = started.as_slice() else { panic!("one call is the architect's: {started:?}") };
    for words in ["--model=deep-1", "Bash(make:*)"] {
        assert!(only.contains(words), "{words} is not in {only}");
    }
    let brief = |call: &str| {
        let path = project.journal().join(format!("errands/main.session-{call}/1.brief.log"));
        fs::read_to_string(path).unwrap()
    };
    assert!(brief("design-T1").contains("Draw it first."), "{}", brief("design-T1"));
    assert!(!brief("implement-T1-S1").contains("Draw it first."));
}

#[test]
fn an_agent_that_is_named_plays_every_role() {
    let project = with_agents(|_, _| {});
    add_agent(&project, "jones");
    let config = project.read(USER_CONFIG);
    project.write(USER_CONFIG, &format!("{config}\n[roles.architect]\nagent = \"smith\"\n"));
    project.must("session run --agent jones");
    is_complete(&project);
    assert_eq!(started(&project, "jones").len(), 7);
}

#[test]
fn roles_that_there_are_not_are_refused_by_name() {
    let project = with_agents(|_, _| {});
    let config = project.read(USER_CONFIG);
    for (roles, wants) in [
        ("[roles.architekt]\nmodel = \"x\"\n", ["there is no role `architekt`", "architect"]),
        (
            "[roles.planner]\ntools = [\"--yolo\"]\n",
            ["`--yolo` is an option", "roles.planner.tools"],
        ),
        ("[roles.planner]\nagent = \"jones\"\n", ["there is no agent `jones`", "smith"]),
    ] {
        project.write(USER_CONFIG, &format!("{config}\n{roles}"));
        let ran = project.run("session run");
        assert!(
            ran.code != 0 && wants.iter().all(|it| ran.stderr.contains(it)),
            "{wants:?}: {ran}"
        );
        project.write(USER_CONFIG, &config);
        assert!(!project.log().iter().any(|it| it["kind"] == "engaged"), "{wants:?}");
    }
}

#[test]
fn half_of_the_assumptions_wrong_send_a_plan_back_and_fewer_do_not() {
    let plan = |wrong: usize| {
        let lines = (0..4).map(|at| match at < wrong {
            true => format!("payment{at}/ has the payments"),
            false => "src/cart.sh has the cart".to_owned(),
        });
        let lines: Vec<String> = lines.map(|it| format!("  - \"{it}\"\n")).collect();
        small_plan("X").replace("  - \"X\"\n", &lines.concat())
    };
    for (wrong, sent_back) in [(1, 0), (2, 1)] {
        let project = with_agents(|project, tasks| {
            let put = |wrong: usize| contract(project, "task-breakdown.yaml", &plan(wrong));
            tasks["plan"] = json!([put(wrong), put(0)]);
        });
        project.must("session run");
        is_complete(&project);
        assert_eq!(events(&project, "plan_sent_back").len(), sent_back, "{wrong} of 4 are wrong");
    }
}

/// A request whose architect waits until the file `go` is there.
fn waiting() -> Project {
    with_agents(|project, tasks| {
        let put = contract(project, "T1/design-contract.yaml", &design("T1", 1));
        let wait = json!({"run": format!(
            "touch {0}/begun; while ! test -e {0}/go; do sleep 0.05; done", project.base().display())});
        let steps = put["steps"].as_array().unwrap();
        let all: Vec<Value> = [wait].into_iter().chain(steps.iter().cloned()).collect();
        tasks["design-T1"] = json!([{ "steps": all }, { "steps": steps }]);
    })
}

#[test]
fn an_interrupt_stops_the_agent_and_the_same_command_goes_on() {
    let project = waiting();
    let child = begin(&project, "session run");
    wait_for("the architect", || project.base().join("begun").exists());
    kill(child.id(), "-INT");
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("the same command goes on later"), "{ran}");
    assert!(keepers(&project).is_empty(), "{ran}");
    assert!(events(&project, "call_failed").is_empty());
    fs::write(project.base().join("go"), "").unwrap();
    project.must("session run");
    is_complete(&project);
}

#[test]
fn a_limit_ends_it_with_the_time_and_spends_no_call() {
    let project = with_agents(|project, tasks| {
        let limit = json!({"steps": [{"say": "I begin."}, {"limit": {"resets_in_s": 2}}]});
        let put = contract(project, "T1/design-contract.yaml", &design("T1", 1));
        tasks["design-T1"] = json!([limit, put]);
    });
    let ran = project.run("session run");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("smith does not work until"), "{ran}");
    assert!(events(&project, "call_failed").is_empty());
    wait_for("the end of the limit", || project.run("session run").code == 0);
    is_complete(&project);
}

#[test]
fn beside_a_host_it_says_who_works_and_changes_nothing() {
    let project = waiting();
    let mut first = begin(&project, "session run");
    wait_for("the architect", || project.base().join("begun").exists());
    let before = project.log().len();
    let second = project.run("session run");
    assert!(second.code == 4, "{second}");
    let new: Vec<Value> = project.log().split_off(before);
    assert!(new.is_empty(), "{new:?}\n{second}");
    // A run beside it is handed over, and both come to their ends.
    project.write("TASKS.md", "# Tasks\n\n## Phase 1: One\n\n- [ ] T1.1: a\n  - run: `true`\n");
    project.git_command("add TASKS.md");
    project.git_command("commit -q -m tasks");
    project.must("run");
    fs::write(project.base().join("go"), "").unwrap();
    assert!(first.wait().unwrap().success());
    is_complete_beside_a_run(&project);
}

/// The request is complete; merges of the run stand beside its own.
#[track_caller]
fn is_complete_beside_a_run(project: &Project) {
    assert_eq!(state(project)["request"]["global_phase"], "complete");
    assert_eq!(project.json("run status")["counts"]["completed"], 1);
    assert!(keepers(project).is_empty());
}
