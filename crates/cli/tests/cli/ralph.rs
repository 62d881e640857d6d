//! `waypost develop ralph`: scripted agents work on checkpoints.

use crate::{
    execute::{alive, begin, kill, wait_for},
    harness::{BINARY, Project, Ran, words},
    hook::HOOK,
    terminal::no_person_is_here,
};
use serde_json::{Value, json};
use std::{fs, process::Stdio};

/// Two checkpoints, each shown by a file of its own; the second depends on the first if wanted.
fn contract(is_chain: bool) -> String {
    let each = |id: &str, before: &str| {
        format!(
            "  - id: {id}\n    description: what {id} is for\n    interface: [\"{id}.txt: a line\"]\n    \
             tests: [\"tests/{id}.sh\"]\n    validation:\n      command: \"grep good {id}.txt\"\n    \
             dependencies: [{before}]\n"
        )
    };
    let before = if is_chain { "cp-1" } else { "" };
    format!("checkpoints:\n{}{}", each("cp-1", ""), each("cp-2", before))
}

/// A project in IMPLEMENT with an agent that follows `tasks`.
pub(crate) fn implementing(tasks: &Value, is_chain: bool) -> Project {
    with_contract(tasks, &contract(is_chain))
}

/// The same with this contract.
pub(crate) fn with_contract(tasks: &Value, contract: &str) -> Project {
    let project = Project::git();
    let script = json!({"version": 1, "default": [{"steps": [{"say": "The contract is right."}]}],
                        "tasks": tasks});
    project.set_script("claude", &script);
    project.write("contract.yaml", contract);
    project.write("review.md", "Blocking: 0\n");
    for line in [
        "develop start 'Live chat'",
        "develop advance --contract contract.yaml",
        "develop gate pass review_clean_pass --report review.md",
        "develop advance",
    ] {
        project.must(line);
    }
    project
}

fn writes(id: &str, text: &str) -> Value {
    json!({"steps": [{"write": {"file": format!("{id}.txt"), "text": text}}, {"done": "wrote it"}]})
}

fn checkpoints(project: &Project) -> Value {
    project.json("develop status")["state"]["checkpoints"].clone()
}

#[test]
fn checkpoints_pass_when_their_validation_holds() {
    let tasks = json!({
        "cp-1": [writes("cp-1", "bad\n"), writes("cp-1", "good\n")],
        "cp-2": [writes("cp-2", "good\n")],
    });
    for is_chain in [true, false] {
        let project = implementing(&tasks, is_chain);
        let ran = project.must("develop ralph");
        assert!(ran.stderr.contains("cp-1: is tried again: exit status: 1"), "{ran}");
        assert!(ran.stderr.contains("cp-1: passed"), "{ran}");
        let want = json!({"cp-1": {"status": "passed", "iteration": 2},
                          "cp-2": {"status": "passed", "iteration": 1}});
        assert_eq!(checkpoints(&project), want);
        // Nothing is left to be done.
        assert_eq!(project.run("develop ralph").code, 0);
    }
}

#[test]
fn a_checkpoint_that_never_holds_is_escalated_and_the_others_go_on() {
    let tasks = json!({
        "cp-1": [writes("cp-1", "bad\n")],
        "cp-2": [writes("cp-2", "good\n")],
    });
    let project = implementing(&tasks, false);
    let ran = project.run("develop ralph");
    assert_eq!(ran.code, 1, "{ran}");
    let want = json!({"cp-1": {"status": "escalated", "iteration": 3},
                      "cp-2": {"status": "passed", "iteration": 1}});
    assert_eq!(checkpoints(&project), want);
    assert_eq!(project.json("inbox")[0]["kind"], "escalation");
    // One conversation for each try, and the oracle's: all of them are there to be read.
    let errands = project.journal().join("errands");
    assert!(errands.join("main.oracle-cp-1/1.claude.jsonl").is_file());
    assert!(errands.join("main.ralph-cp-1/3.claude.jsonl").is_file());
    let project = implementing(&tasks, true);
    let ran = project.run("develop ralph --max-iterations 1");
    assert_eq!(ran.code, 1, "{ran}");
    let want = json!({"cp-1": {"status": "escalated", "iteration": 1},
                      "cp-2": {"status": "pending", "iteration": 0}});
    assert_eq!(checkpoints(&project), want);
}

#[test]
fn an_agent_that_finds_the_contract_wrong_escalates_at_once() {
    let tasks = json!({"cp-1": [{"steps": [{"fail": "DESIGN_MISMATCH there is no such file"}]}]});
    let project = implementing(&tasks, true);
    let ran = project.run("develop ralph --checkpoint cp-1");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("the agent gave up: DESIGN_MISMATCH"), "{ran}");
    assert_eq!(checkpoints(&project)["cp-1"]["status"], "escalated");
}

#[test]
fn a_try_goes_on_where_its_command_was_killed() {
    let wait = json!({"run": "while ! test -e ../go; do sleep 0.05; done"});
    let write = json!({"write": {"file": "cp-1.txt", "text": "good\n"}});
    let tasks = json!({"cp-1": [
        writes("cp-1", "bad\n"),
        {"steps": [{"say": "I look."}, wait, write, {"done": "did it"}]},
    ]});
    let project = implementing(&tasks, true);
    let mut command = project.command(BINARY, &project.root);
    let line = words("develop ralph --checkpoint cp-1");
    let mut child = command.args(line).stderr(Stdio::null()).spawn().unwrap();
    let stream = project.journal().join("errands/main.ralph-cp-1/2.claude.jsonl");
    wait_for("the second try", || {
        fs::read_to_string(&stream).unwrap_or_default().contains("I look.")
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(checkpoints(&project)["cp-1"], json!({"status": "in_progress", "iteration": 2}));
    fs::write(project.base().join("go"), "").unwrap();
    project.must("develop ralph --checkpoint cp-1");
    assert_eq!(checkpoints(&project)["cp-1"], json!({"status": "passed", "iteration": 2}));
    assert!(!stream.with_file_name("3.claude.jsonl").exists());
}

/// Its agent leaves a pipe: the validation reads until the test has written into it.
pub(crate) fn validated_by_a_pipe() -> Project {
    let steps = json!([{"run": "mkfifo cp-1.txt; touch made"}, {"done": "did it"}]);
    implementing(&json!({"cp-1": [{ "steps": steps }]}), true)
}

/// Waits until the validation reads, and lets it go on with this.
pub(crate) fn write_into_the_pipe(project: &Project, text: &str) {
    // Opening waits for the one who reads.
    fs::write(project.path("cp-1.txt"), text).unwrap();
}

#[test]
fn a_validation_that_is_stopped_counts_for_nothing() {
    for signal in ["-INT", "-TERM"] {
        let project = validated_by_a_pipe();
        let ralph = begin(&project, "develop ralph --checkpoint cp-1");
        wait_for("the validation", || is_validated(&project));
        kill(ralph.id(), signal);
        let ran: Ran = ralph.wait_with_output().unwrap().into();
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.stderr.contains("stopped before the end"), "{ran}");
        assert!(!is_validated(&project));
        assert_eq!(checkpoints(&project)["cp-1"]["iteration"], 1, "{}", checkpoints(&project));
        // The agent has done its work: it is only validated again.
        let ralph = begin(&project, "develop ralph --checkpoint cp-1");
        write_into_the_pipe(&project, "good\n");
        let ran: Ran = ralph.wait_with_output().unwrap().into();
        assert_eq!(ran.code, 0, "{ran}");
        let kinds: Vec<Value> = project.log().into_iter().map(|it| it["kind"].clone()).collect();
        let engaged = kinds.iter().filter(|kind| **kind == "engaged").count();
        assert_eq!(engaged, 1, "{kinds:?}");
    }
}

/// Whether the validation that reads the pipe is there.
fn is_validated(project: &Project) -> bool {
    let is_it = |pid: &u32| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let folder = fs::read_link(format!("/proc/{pid}/cwd"));
        line == "grep\0good\0cp-1.txt\0" && folder.is_ok_and(|folder| folder == project.root)
    };
    project.path("made").exists() && alive("grep").iter().any(is_it)
}

#[test]
fn questions_of_an_agent_wait_in_the_inbox() {
    if no_person_is_here() {
        return;
    }
    let write = json!({"write": {"file": "cp-1.txt", "text": "good\n"}});
    let tasks = json!({"cp-1": [{"steps": [
        {"permission": {"tool": "Bash", "input": "cargo publish"}}, write, {"done": "did it"},
    ]}]});
    let project = implementing(&tasks, true);
    let ran = project.run("develop ralph --checkpoint cp-1");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("waits for a person's answer to q1"), "{ran}");
    assert_eq!(checkpoints(&project)["cp-1"], json!({"status": "in_progress", "iteration": 1}));
    let subject = project.json("inbox")[0]["subject"].as_str().unwrap_or_default().to_owned();
    assert!(subject.starts_with("job:main%2Fralph-cp-1/"), "{subject}");
    project.person_must("inbox answer q1 allow");
    project.must("develop ralph --checkpoint cp-1");
    assert_eq!(checkpoints(&project)["cp-1"], json!({"status": "passed", "iteration": 1}));
}

#[test]
fn what_is_left_of_a_try_that_is_over_changes_nothing() {
    let event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash",
                       "tool_input": {"command": "ls"}});
    let call = format!("printf '%s' '{event}' | {HOOK} claude");
    let tasks = json!({"cp-1": [{"steps": [
        {"run": "env | grep ^WAYPOST_ > ../below"},
        {"run": format!("{call} > ../live")},
        {"run": format!("{BINARY} develop checkpoint start cp-2")},
        {"write": {"file": "cp-1.txt", "text": "good\n"}},
        {"done": "did it"},
    ]}]});
    let project = implementing(&tasks, false);
    project.must("develop ralph --checkpoint cp-1");
    let read = |name: &str| fs::read_to_string(project.base().join(name)).unwrap();
    assert!(!read("live").contains("deny"), "the hook holds the live one: {}", read("live"));
    assert_eq!(checkpoints(&project)["cp-2"]["status"], "in_progress", "the live one is not heard");
    // A process of it lives on, with the environment that it had.
    let below = read("below");
    let variables: Vec<(&str, &str)> = below.lines().filter_map(|it| it.split_once('=')).collect();
    let mut late = project.command(BINARY, &project.root);
    late.envs(variables.iter().copied()).args(words("develop checkpoint fail cp-2"));
    let ran: Ran = late.output().unwrap().into();
    assert_eq!(ran.code, 4, "{ran}");
    assert!(ran.stderr.contains("is over; nothing was changed"), "{ran}");
    assert_eq!(checkpoints(&project)["cp-2"]["status"], "in_progress");
    let mut hook = project.command("sh", &project.root);
    let ran: Ran = hook.envs(variables).args(["-c", &call]).output().unwrap().into();
    assert!(ran.stdout.contains("deny") && ran.stdout.contains("is over"), "{ran}");
}

#[test]
fn without_a_contract_nothing_is_worked_on() {
    let project = Project::implementing();
    let ran = project.run("develop ralph --agent sim");
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("there is no checkpoint contract"), "{ran}");
}

#[test]
fn neither_the_agents_of_ralph_nor_others_are_told_what_ralph_validates() {
    let ask = |session: &str, answer: &str| {
        let event = json!({"hook_event_name": "Stop", "session_id": session,
                           "stop_hook_active": false});
        let command = format!("printf '%s' '{event}' | {HOOK} claude > {answer}");
        let others = command.replace(HOOK, &format!("env -u WAYPOST_ATTEMPT {HOOK}"));
        (command, others)
    };
    let wait = json!({"run": "while ! test -e ../go; do sleep 0.05; done"});
    let each = |id: &str| {
        let (own, _) = ask(id, &format!("../own-{id}"));
        json!([{"steps": [{"say": "I look."}, wait, {"run": own},
                          {"write": {"file": format!("{id}.txt"), "text": "good\n"}},
                          {"done": "did it"}]}])
    };
    let project = implementing(&json!({"cp-1": each("cp-1"), "cp-2": each("cp-2")}), false);
    let mut command = project.command(BINARY, &project.root);
    let line = words("develop ralph");
    let mut child = command.args(line).stderr(Stdio::null()).spawn().unwrap();
    let stream = project.journal().join("errands/main.ralph-cp-1/1.claude.jsonl");
    wait_for("the first try", || {
        fs::read_to_string(&stream).unwrap_or_default().contains("I look.")
    });
    let (_, command) = ask("other", "../other");
    let ran = project.command("sh", &project.root).args(["-c", &command]).status().unwrap();
    assert!(ran.success());
    fs::write(project.base().join("go"), "").unwrap();
    assert!(child.wait().unwrap().success());
    for name in ["other", "own-cp-1", "own-cp-2"] {
        assert_eq!(fs::read_to_string(project.base().join(name)).unwrap(), "", "{name}");
    }
}
