//! Model agents whose engine is gone: what they may still do, and how they come back.

use crate::{
    agents::{bodies, left, one, tasks, with},
    execute::{begin, keepers, kill, status, wait_for},
    harness::{BINARY, Project, USER_CONFIG},
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, process::Stdio};

/// Starts a run, waits until a file is there, and kills the engine.
fn forsake(project: &Project, line: &str, file: &str) {
    let mut run = begin(project, line);
    wait_for("the agent", || project.path(file).exists());
    run.kill().unwrap();
    run.wait().unwrap();
}

fn configure(project: &Project, run: &str) {
    let before = project.read(USER_CONFIG);
    project.write(USER_CONFIG, &format!("{before}\n[run]\n{run}\n"));
}

/// An agent that works until a file is there.
fn until(file: &str) -> Value {
    json!([
        {"run": format!("echo x >> begun; until test -e {file}; do sleep 0.05; done")},
        {"done": "x"}
    ])
}

/// An agent that makes a request of half a dollar every few moments, for a long time; its model has
/// a price.
fn spends() -> Value {
    let call = [
        json!({"spend": {"input": 0, "output": 33_335, "cost_usd": 0.5}}),
        json!({"run": "echo x >> calls; sleep 0.2"}),
    ];
    let calls: Vec<Value> = call.iter().cycle().take(1_000).cloned().collect();
    json!(calls)
}

#[test]
fn an_agent_that_no_engine_looks_after_is_stopped_and_comes_back_in_its_conversation() {
    for seconds in [0, 1] {
        let project = one(&[until("go")]);
        configure(&project, &format!("unattended_seconds = {seconds}"));
        forsake(&project, "run --no-budget", "begun");
        wait_for("the agent to be stopped", || left(&project).is_empty());
        project.write("go", "");
        let ran = project.run("run --resume");
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(project.read("begun").lines().count(), 2);
        assert_eq!(bodies(&project, "attempt_interrupted").len(), 1);
        assert_eq!(bodies(&project, "task_failed"), Vec::<Value>::new());
        assert_eq!(bodies(&project, "attempt_engaged").len(), 1, "the same conversation");
    }
}

#[test]
fn commands_go_on_without_an_engine() {
    let command = "- [ ] T1.2: Command\n  - run: `touch command; until test -e go; do sleep 0.05; \
                   done`\n  - depends: none\n";
    let script = json!({"version": 1, "default": [{"steps": until("go")}]});
    let project = with(&format!("{}{command}", tasks(&["T1.1"])), &script);
    configure(&project, "unattended_seconds = 0");
    let mut run = begin(&project, "run --no-budget");
    wait_for("both", || project.path("begun").exists() && project.path("command").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    let own = keepers(&project);
    wait_for("the agent to be stopped", || left(&project) == own);
    assert_eq!(own.len(), 1, "that of the command");
    project.write("go", "");
    let ran = project.run("run --resume");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(bodies(&project, "task_started").len(), 3, "only the agent is begun again");
}

#[test]
fn limits_of_an_agent_hold_without_an_engine() {
    let silent = json!([{"run": "touch begun"}, {"hang": "deaf"}]);
    for (steps, line, reason) in [
        (spends(), "timeout_seconds = 3", "it timed out"),
        (silent, "stall_seconds = 2", "it said nothing for too long"),
    ] {
        let file = if line.starts_with("stall") { "begun" } else { "calls" };
        let project = one(&[steps]);
        configure(&project, line);
        forsake(&project, "run --no-budget --retry-limit 0", file);
        wait_for("its limit", || left(&project).is_empty());
        let ran = project.run("run --resume");
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.stderr.contains(reason), "{line}: {ran}");
    }
}

/// Two hundred dollars would be spent otherwise, without an end in sight.
#[test]
fn an_agent_without_an_engine_spends_little_more_than_it_may() {
    for (more, line) in [("  - budget: $3\n", "run --no-budget"), ("", "run --budget 3")] {
        let script = json!({"version": 1, "default": [{"steps": spends()}]});
        let project = with(&format!("{}{more}", tasks(&["T1.1"])), &script);
        let model = "[agents.alice]\nmodel = \"claude-sonnet-4-5\"\n";
        let config = project.read(USER_CONFIG).replace("[agents.alice]\n", model);
        project.write(USER_CONFIG, &config);
        forsake(&project, line, "calls");
        wait_for("the end of its lease", || left(&project).is_empty());
        let calls = project.read("calls").lines().count();
        // Ten seconds for three dollars of one whose pace is not known, five calls in a second, and what
        // comes before the engine is gone and while the agent is ended.
        assert!(calls < 70, "{calls} calls");
        let ran = project.run("run --resume");
        assert!(ran.stderr.contains("budget") && ran.code != 0, "{ran}");
        assert_eq!(bodies(&project, "task_failed"), Vec::<Value>::new());
    }
}

#[test]
fn an_engine_that_stands_still_does_not_renew() {
    let project = one(&[until("go")]);
    configure(&project, "unattended_seconds = 1");
    let mut run = begin(&project, "run --no-budget");
    wait_for("the agent", || project.path("begun").exists());
    kill(run.id(), "-STOP");
    let agents = || left(&project).len();
    // What stays are the engine itself, and the keepers that it is connected to.
    wait_for("the agent to be stopped", || !left(&project).iter().any(|pid| is_agent(*pid)));
    assert!(agents() > 0);
    project.write("go", "");
    kill(run.id(), "-CONT");
    assert!(run.wait().unwrap().success());
    assert_eq!(bodies(&project, "attempt_interrupted").len(), 1);
    assert_eq!(bodies(&project, "attempt_engaged").len(), 1, "the same conversation");
}

fn is_agent(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).into_owned();
    // What is around it has its words, too.
    let first = line.split('\0').next().unwrap_or_default();
    let is_around = ["waypost-shell", "bwrap"].iter().any(|name| first.ends_with(name));
    line.contains("\0agent\0") && !is_around
}

#[test]
fn what_is_asked_while_there_is_no_engine_reaches_a_person() {
    if no_person_is_here() {
        return;
    }
    for adapter in ["claude", "acp"] {
        let ask = json!([
            {"run": "touch begun; until test -e ask; do sleep 0.05; done"},
            {"question": {"text": "Which colour?", "choices": ["Red", "Blue"]}},
            {"write": {"file": "colour.txt", "text": "{answer}"}},
            {"done": "painted"}
        ]);
        let project = one(&[ask]);
        let config = project.read(USER_CONFIG).replace("\"claude\"", &format!("\"{adapter}\""));
        project.write(USER_CONFIG, &config);
        configure(&project, "unattended_seconds = 2");
        forsake(&project, "run --no-budget", "begun");
        project.write("ask", "");
        wait_for("the agent to be stopped", || left(&project).is_empty());
        let ran = project.run("run --resume");
        assert_eq!(ran.code, 6, "{adapter}: {ran}");
        project.person_must("inbox answer q1 blue");
        let ran = project.run("run --resume");
        assert_eq!(ran.code, 0, "{adapter}: {ran}");
        let told = project.read("colour.txt");
        assert!(told.contains("Blue"), "{adapter}: {told}");
        assert_eq!(status(&project, "T1.1"), "completed");
        assert_eq!(bodies(&project, "task_failed"), Vec::<Value>::new(), "{adapter}");
    }
}

#[test]
fn nothing_of_a_project_lives_on_that_was_deleted() {
    let command = "- [ ] T1.2: Command\n  - run: `touch command; sleep 600`\n  - depends: none\n";
    let script = json!({"version": 1, "default": [{"steps": until("never")}]});
    let project = with(&format!("{}{command}", tasks(&["T1.1"])), &script);
    let mut run = begin(&project, "run --no-budget");
    wait_for("both", || project.path("begun").exists() && project.path("command").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(left(&project).len() > 2);
    // What an agent works with may be written meanwhile.
    wait_for("the project to go", || fs::remove_dir_all(&project.root).is_ok());
    wait_for("everything to end", || left(&project).is_empty());
}

/// Thirty agents that wait for a person, and twenty at work, where so many processes of an agent could not
/// be kept: those that wait have ended, and come back in their conversations.
#[test]
fn many_agents_wait_and_many_work_where_few_files_can_be_opened() {
    if no_person_is_here() {
        return;
    }
    let ids: Vec<String> = (1..=50).map(|number| format!("T1.{number}")).collect();
    let (asking, working) = ids.split_at(30);
    let ask = json!([
        {"permission": {"tool": "Bash", "input": "publish {task}"}},
        {"run": "echo once >> published.{task}"},
        {"done": "published"}
    ]);
    let work = json!([
        {"run": "touch at.{task}; until test -e go; do sleep 0.1; done"}, {"done": "worked"}
    ]);
    let scripts: Value = asking.iter().map(|id| (id.clone(), json!([{ "steps": ask }]))).collect();
    let script = json!({"version": 1, "default": [{"steps": work}], "tasks": scripts});
    let project = with(&tasks(&ids.iter().map(String::as_str).collect::<Vec<_>>()), &script);
    configure(&project, "max_agents = 20");
    let mut run = project.command("sh", &project.root);
    run.args(["-c", "ulimit -n 160; exec \"$@\"", "sh", BINARY, "run", "--no-budget"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let there = || working.iter().filter(|id| project.path(&format!("at.{id}")).exists()).count();
    wait_for("twenty agents at work", || there() == working.len());
    let inbox = project.json("inbox");
    assert_eq!(inbox.as_array().unwrap().len(), asking.len());
    let agents = || left(&project).into_iter().filter(|pid| is_agent(*pid)).count();
    wait_for("those that wait to end", || agents() <= working.len() + 8);
    // Some are answered while all others work or wait.
    let asked_by = |entry: &Value| {
        let title = entry["title"].as_str().unwrap();
        let is_word = |id: &&String| title.split([' ', '`', '?', ':', ',']).any(|it| it == **id);
        asking.iter().find(is_word).unwrap_or_else(|| panic!("{title}")).clone()
    };
    let answered: Vec<&Value> = inbox.as_array().unwrap().iter().step_by(4).collect();
    for entry in &answered {
        project.person_must(&format!("inbox answer {} allow", entry["id"].as_str().unwrap()));
    }
    let answered: BTreeSet<String> = answered.into_iter().map(asked_by).collect();
    assert_eq!(answered.len(), 8);
    project.write("go", "");
    wait_for("the run to end", || run.try_wait().unwrap().is_some());
    // Each answer has come to who asked, once, and to no other.
    for id in asking {
        let published = project.path(&format!("published.{id}"));
        let times = fs::read_to_string(published).unwrap_or_default().lines().count();
        assert_eq!(times, usize::from(answered.contains(id)), "{id}");
    }
    let counts = &project.json("run status")["counts"];
    assert_eq!(counts["completed"], working.len() + answered.len(), "{counts}");
    assert_eq!(counts["failed"], 0, "{counts}");
    assert_eq!(bodies(&project, "attempt_engaged").len(), ids.len(), "each has one conversation");
    assert!(left(&project).is_empty());
}
