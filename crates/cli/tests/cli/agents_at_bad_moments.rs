//! Model agents, their keepers and their engine, killed, stopped and overtaken at the worst moments.

use crate::{
    agents::{bodies, left, one, tasks, with},
    execute::{alive, begin, kill, status, wait_for},
    harness::{BINARY, Project, USER_CONFIG},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Child,
    time::{SystemTime, UNIX_EPOCH},
};

/// The keepers of a project's agents.
fn agent_keepers(project: &Project) -> Vec<u32> {
    alive(&format!("{}/.git/waypost/agents", project.root.display()))
        .into_iter()
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("\0keeper\0")
        })
        .collect()
}

fn kill_engine(run: &mut Child) {
    run.kill().unwrap();
    run.wait().unwrap();
}

fn add_to_config(project: &Project, text: &str) {
    let before = project.read(USER_CONFIG);
    project.write(USER_CONFIG, &format!("{before}\n{text}\n"));
}

/// A program of this text in the project's base.
fn program(project: &Project, name: &str, text: &str) -> String {
    let path = project.base().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Makes the agent take its time to go when all is said.
fn be_slow_to_go(project: &Project) {
    let text = project.read(USER_CONFIG);
    let slow = program(
        project,
        "slow",
        &format!("{BINARY} \"$@\"\ntouch said; until test -e go; do sleep 0.05; done"),
    );
    project.write(USER_CONFIG, &text.replacen(BINARY, &slow, 1));
}

/// The steps of an agent that works until a file is there.
fn until(file: &str) -> Value {
    json!([
        {"run": format!("echo $PPID >> pids-{{task}}; until test -e {file}; do sleep 0.05; done")},
        {"done": "went on"}
    ])
}

#[test]
fn the_death_of_one_keeper_is_nothing_to_other_agents() {
    let script = json!({"version": 1, "default": [{"steps": until("go")}]});
    let ids = ["T1.1", "T1.2", "T1.3"];
    let project = with(&tasks(&ids), &script);
    let mut run = begin(&project, "run --no-budget");
    let pids = |id: &str| fs::read_to_string(project.path(&format!("pids-{id}")));
    wait_for("the agents", || ids.iter().all(|id| pids(id).is_ok_and(|it| !it.is_empty())));
    kill(agent_keepers(&project)[0], "-KILL");
    wait_for("the lost one to come back", || bodies(&project, "task_started").len() > 3);
    project.write("go", "");
    assert!(run.wait().unwrap().success());
    assert_eq!(bodies(&project, "attempt_interrupted").len(), 1);
    assert_eq!(bodies(&project, "task_started").len(), 4);
    let processes: usize = ids.iter().map(|id| pids(id).unwrap().lines().count()).sum();
    assert_eq!(processes, 4, "only the lost one was started again");
    assert!(left(&project).is_empty());
}

#[test]
fn what_an_agent_has_finished_is_not_lost_with_the_engine() {
    let first = json!([
        {"run": "touch ../hold"},
        {"usage": {"input": 10, "output": 1, "cost_usd": 0.6}},
        {"done": "all of it"}
    ]);
    let project = one(&[first, json!([{"run": "true"}, {"done": "again"}])]);
    let base = project.base();
    // Git stands still when the agent has ended, and the engine with it.
    program(
        &project,
        "bin/git",
        &format!(
            "if test -e {0}/hold; then touch {0}/held; while test -e {0}/hold; do sleep 0.05; \
             done; fi\nexec /usr/bin/git \"$@\"",
            base.display()
        ),
    );
    let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", base.display());
    let project = project.variable("PATH", &path);
    let mut run = begin(&project, "run --no-budget");
    wait_for("the end of the agent", || base.join("held").exists());
    kill_engine(&mut run);
    fs::remove_file(base.join("hold")).unwrap();
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(bodies(&project, "task_started").len(), 1, "it is not done twice");
    assert_eq!(project.json("run status")["usage"]["cost_micros"], 600_000);
    assert!(left(&project).is_empty());
}

#[test]
fn a_task_is_not_begun_anew_while_its_old_process_lives() {
    // Numbers of processes mean nothing in another namespace; a lock does.
    let hold =
        "(exec 9>held; flock 9; echo begun > first; exec sleep 600) >/dev/null 2>&1 </dev/null &";
    let first = json!([{"run": hold}, {"hang": "deaf"}]);
    let second =
        json!([{"run": "if ! flock -n held true; then touch twice; fi"}, {"done": "alone"}]);
    let project = one(&[first, second]);
    let mut run = begin(&project, "run --no-budget");
    wait_for("the agent", || {
        fs::read_to_string(project.path("first")).is_ok_and(|it| it.len() > 1)
    });
    project.must("run fail T1.1 --reason 'taken away'");
    project.must("run retry T1.1");
    assert!(run.wait().unwrap().success());
    assert!(!project.path("twice").exists(), "two agents worked on one task");
    assert!(left(&project).is_empty());
}

#[test]
fn agents_and_commands_share_the_slots() {
    let alone = "mkdir lock || touch clash; sleep 0.4; rmdir lock";
    let steps = json!([{"run": alone}, {"done": "x"}]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let command =
        |id: &str| format!("- [ ] {id}: Command\n  - run: `{alone}`\n  - depends: none\n");
    let plan = tasks(&["T1.1", "T1.4"]) + &command("T1.2") + &command("T1.3");
    let project = with(&plan, &script);
    project.run("run --no-budget --retry-limit 0 --max-parallel 1");
    assert!(!project.path("clash").exists(), "two at once");
    assert_eq!(project.json("run status")["counts"]["completed"], 4);
}

#[test]
fn a_change_is_a_result_for_the_next_engine_too() {
    let project = one(&[json!([
        {"run": "touch begun; until test -e go; do sleep 0.05; done; rm go begun"},
        {"write": {"file": "a.txt", "text": "x"}},
        {"say": "there"}
    ])]);
    let mut run = begin(&project, "run --no-budget --retry-limit 0");
    wait_for("the agent", || project.path("begun").exists());
    kill_engine(&mut run);
    project.write("go", "");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn what_is_done_is_not_thrown_away_by_an_interrupt() {
    let project = one(&[json!([{"run": "touch a.txt"}, {"done": "all of it"}])]);
    be_slow_to_go(&project);
    let mut run = begin(&project, "run --no-budget");
    wait_for("its last word", || project.path("said").exists());
    wait_for("the run to end", || {
        kill(run.id(), "-INT");
        run.try_wait().unwrap().is_some()
    });
    assert_eq!(status(&project, "T1.1"), "completed");
    assert!(left(&project).is_empty());
}

#[test]
fn what_ended_while_nobody_listened_is_verified() {
    let script = json!({"version": 1, "default": [{"steps": [{"run": "true"}, {"done": "x"}]}]});
    let project = with(&format!("{}  - verify: `test -e go`\n", tasks(&["T1.1"])), &script);
    be_slow_to_go(&project);
    let mut run = begin(&project, "run --no-budget");
    wait_for("its last word", || project.path("said").exists());
    kill_engine(&mut run);
    project.write("go", "");
    wait_for("the end of the agent", || agent_keepers(&project).is_empty());
    let mut next = begin(&project, "run --resume");
    wait_for("the run to end", || next.try_wait().unwrap().is_some());
    assert_eq!(bodies(&project, "task_completed")[0]["evidence"]["kind"], "check");
    assert_eq!(bodies(&project, "task_started").len(), 1);
    assert!(left(&project).is_empty());
}

#[test]
fn a_conversation_that_never_began_is_begun() {
    let project = one(&[json!([{"run": "touch a.txt"}, {"done": "x"}])]);
    let text = project.read(USER_CONFIG);
    let late = program(
        &project,
        "late",
        &format!("test -e begun || {{ touch begun; exec sleep 600; }}\nexec {BINARY} \"$@\""),
    );
    project.write(USER_CONFIG, &text.replacen(BINARY, &late, 1));
    let mut run = begin(&project, "run --no-budget");
    wait_for("the program", || project.path("begun").exists());
    kill_engine(&mut run);
    // What was recorded before its process existed is all that is left of the conversation.
    agent_keepers(&project).into_iter().for_each(|pid| kill(pid, "-KILL"));
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(bodies(&project, "attempt_engaged").len(), 2);
    assert!(left(&project).is_empty());
}

#[test]
fn a_question_that_cannot_be_answered_ends_its_agent_alone() {
    let done = json!([{"tool": "Read", "input": "x"}, {"done": "done"}]);
    let script = json!({"version": 1, "default": [{"steps": done}]});
    let plan = tasks(&["T1.1", "T1.2"]).replacen("alice", "bob", 1);
    let project = with(&plan, &script);
    let start = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":""#;
    let bob = program(
        &project,
        "bob",
        &format!(
            "echo '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}}'\n\
             printf '%s' '{start}'; head -c 3000000 /dev/zero | tr '\\0' x; echo '\"}}}}}}'\n\
             cat > /dev/null"
        ),
    );
    add_to_config(&project, &format!("[agents.bob]\nadapter = \"claude\"\ncommand = [\"{bob}\"]"));
    let ran = project.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("it asked something that cannot be answered"), "{ran}");
    assert_eq!(status(&project, "T1.2"), "completed");
    assert_eq!(project.json("inbox"), json!([]));
    assert!(left(&project).is_empty());
}

#[test]
fn no_agent_is_started_without_money() {
    let steps = json!([
        {"run": "echo {task} >> begun"},
        {"usage": {"input": 10, "output": 1, "cost_usd": 0.6}},
        {"done": "x"}
    ]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with(&tasks(&["T1.1", "T1.2", "T1.3"]), &script);
    let ran = project.run("run --budget 1 --max-parallel 1");
    assert!(ran.stderr.contains("the budget is used up"), "{ran}");
    assert_eq!(bodies(&project, "attempt_engaged").len(), 2, "{ran}");
    assert_eq!(ran.code, 6, "{ran}");
    assert_eq!(project.run("run --resume --budget 1").code, 6);
    assert_eq!(bodies(&project, "attempt_engaged").len(), 2, "{ran}");
}

#[test]
fn another_agent_does_not_go_on_where_the_first_was_interrupted() {
    let script = json!({
        "version": 1,
        "default": [{"steps": until("never")}, {"steps": [{"run": "true"}, {"done": "by bob"}]}]
    });
    let project = with(&tasks(&["T1.1"]), &script);
    let config = project.read(USER_CONFIG);
    let bob = config.replace("alice", "bob").replace("\"claude\"", "\"codex\"");
    add_to_config(&project, &bob);
    let mut run = begin(&project, "run --no-budget");
    wait_for("the agent", || project.path("pids-T1.1").exists());
    kill_engine(&mut run);
    project.replace("TASKS.md", "agent: alice", "agent: bob");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    let engaged = bodies(&project, "attempt_engaged");
    let by: Vec<&Value> = engaged.iter().map(|it| &it["conversation"]["agent"]).collect();
    assert_eq!(by, ["alice", "bob"]);
    assert!(left(&project).is_empty());
}

#[test]
fn a_limit_that_ends_too_late_to_be_true_is_tried_again_earlier() {
    let project = one(&[json!([{"say": "I begin."}, {"limit": {"resets_in_s": 365 * 86_400}}])]);
    let mut run = begin(&project, "run --no-budget");
    wait_for("the limit", || !bodies(&project, "attempt_parked").is_empty());
    kill_engine(&mut run);
    let until = bodies(&project, "attempt_parked")[0]["until"].as_i64().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let left = until - i64::try_from(now).unwrap();
    assert!(left < 3_600_000, "{left}");
}

#[test]
fn a_clock_that_is_set_back_does_not_stop_the_run() {
    let library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
    if !Path::new(library).exists() {
        println!("skipped: libfaketime is not here");
        return;
    }
    let project = one(&[until("go")]);
    let clock = project.base().join("clock");
    fs::write(&clock, "+0").unwrap();
    let mut command = project.command(BINARY, &project.root);
    command.args(["run", "--no-budget"]).env("LD_PRELOAD", library);
    command.env("FAKETIME_TIMESTAMP_FILE", &clock).env("FAKETIME_NO_CACHE", "1");
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
    let mut run = command.spawn().unwrap();
    wait_for("the agent", || project.path("pids-T1.1").exists());
    fs::write(&clock, "-1h").unwrap();
    project.write("go", "");
    wait_for("the run to end", || run.try_wait().unwrap().is_some());
    assert_eq!(status(&project, "T1.1"), "completed");
}

#[test]
fn the_words_of_an_agent_are_only_words() {
    let reason = "no\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}table\u{1b}[8m";
    let project = one(&[json!([{"tool": "Read", "input": "x"}, {"fail": reason}])]);
    let ran = project.run("run --no-budget --retry-limit 0");
    assert_eq!(ran.code, 1, "{ran}");
    let text = bodies(&project, "task_failed")[0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("table"), "{text:?}");
    let is_odd = |char: &char| char.is_control() || ('\u{202a}'..='\u{202e}').contains(char);
    assert_eq!(text.chars().find(is_odd), None, "{text:?}");
    let result = bodies(&project, "attempt_accounted")[0]["result"].clone();
    assert_eq!(result.as_str().unwrap_or_default().chars().find(is_odd), None, "{result}");
}

#[test]
fn a_project_in_an_odd_and_long_place_is_no_different() {
    let project = one(&[json!([{"run": "touch a.txt"}, {"done": "x"}])]);
    let place = project.base().join(format!("mein Projekt ✓ {}", "lang".repeat(40)));
    fs::rename(&project.root, &place).unwrap();
    let ran = project.run_in(Path::new(&place), "run --no-budget");
    assert_eq!(ran.code, 0, "{ran}");
    assert!(place.join("a.txt").exists());
}
