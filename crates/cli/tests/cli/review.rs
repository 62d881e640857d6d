//! `waypost develop review`: a scripted reviewer looks at the work.

use crate::{
    execute::wait_for,
    harness::{BINARY, Project, Ran, USER_CONFIG},
};
use serde_json::{Value, json};
use std::{
    fs,
    process::{Child, Stdio},
};

/// A project in REVIEW whose gate needs a review, with a reviewer that follows `attempts`.
pub(crate) fn reviewing(adapter: &str, attempts: &Value) -> Project {
    let project = Project::git();
    project.write("src/chat.rs", "fn chat() {}\n");
    project.git_command("add .");
    project.git_command("commit -q -m begin");
    let script = json!({"version": 1, "default": attempts});
    let path = project.base().join("script.json");
    fs::write(&path, script.to_string()).unwrap();
    let sessions = project.base().join("sessions");
    let command = [
        BINARY,
        "sim",
        "agent",
        "--speak",
        adapter,
        "--script",
        path.to_str().unwrap(),
        "--sessions",
        sessions.to_str().unwrap(),
        "--",
    ];
    project.write(
        USER_CONFIG,
        &format!(
            "[run]\nreviewer = \"critic\"\n\n[agents.critic]\nadapter = \"{adapter}\"\ncommand = \
             {}\n\n[workflow.gates.review_clean_pass]\nreview = true\n",
            json!(command)
        ),
    );
    project.must("develop start 'Live chat'");
    project.must("develop advance --checkpoint cp-1");
    project
}

fn said(findings: &Value) -> Value {
    json!({"done": format!("Here it is.\n```json\n{findings}\n```")})
}

fn clean() -> Value {
    json!({"blocking": 0, "findings": [{"severity": "minor", "file": null, "line": null, "text": "a typo"}]})
}

/// Starts a command and leaves it running.
fn begin(project: &Project, line: &str) -> Child {
    let mut command = project.command(BINARY, &project.root);
    command.args(crate::harness::words(line)).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The processes that have all of `marks` in their command line.
fn alive(marks: &[&str]) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        // What is around an agent has its words, too.
        let first = line.split('\0').next().unwrap_or_default();
        let is_around = ["waypost-shell", "bwrap"].iter().any(|name| first.ends_with(name));
        marks.iter().all(|mark| line.contains(mark)) && !is_around
    })
    .collect()
}

fn kill(pid: u32) {
    let project = Project::plain();
    let ran = project.command("kill", &project.root).args(["-9", &pid.to_string()]).output();
    assert!(ran.unwrap().status.success());
}

#[test]
fn a_clean_review_is_what_the_gate_needs() {
    for adapter in ["claude", "codex", "codex-exec", "acp"] {
        let project = reviewing(adapter, &json!([{"steps": [said(&clean())]}]));
        let refused = project.run("develop gate pass review_clean_pass");
        assert_eq!(refused.code, 3, "{refused}");
        let ran = project.must("develop review");
        assert!(ran.stdout.contains("0 blocking, 0 major, 1 minor"), "{ran}");
        assert!(ran.stdout.contains("minor     a typo"), "{ran}");
        assert!(ran.stderr.contains("next: waypost develop gate pass review_clean_pass"), "{ran}");
        // A review opens nothing by itself.
        assert_eq!(project.json("develop status")["state"]["gates"]["review_clean_pass"], false);
        project.must("develop gate pass review_clean_pass");
        let status = project.json("develop status");
        let evidence = &status["evidence"]["review_clean_pass"]["evidence"][0];
        assert_eq!((&evidence["kind"], &evidence["blocking"]), (&json!("review"), &json!(0)));
    }
}

#[test]
fn a_blocking_finding_keeps_the_gate_closed_until_the_next_review() {
    let found = json!({"blocking": 0, "findings": [
        {"severity": "minor", "text": "a typo"},
        {"severity": "blocking", "file": "src/chat.rs", "line": 1, "text": "it loses messages"},
    ]});
    let project = reviewing("claude", &json!([{"steps": [said(&found)]}]));
    let ran = project.run("develop review");
    assert_eq!(ran.code, 1, "{ran}");
    insta::assert_snapshot!("blocking", project.tell("develop review", &ran));
    let refused = project.run("develop gate pass review_clean_pass");
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("needs a review with 0 blocking; this has 1"), "{refused}");
    let log = project.log();
    let reviewed = log.iter().find(|entry| entry["kind"] == "reviewed").unwrap();
    assert_eq!(reviewed["actor"], "waypost");
    assert_eq!(reviewed["body"]["review"]["findings"][1]["severity"], "blocking");
}

#[test]
fn a_review_is_about_the_files_that_were_there() {
    let project = reviewing("claude", &json!([{"steps": [said(&clean())]}]));
    project.must("develop review");
    project.write("src/chat.rs", "fn chat() { panic!() }\n");
    let refused = project.run("develop gate pass review_clean_pass");
    assert_eq!(refused.code, 3, "{refused}");
    assert!(refused.stderr.contains("needs a review made by Waypost"), "{refused}");
    project.must("develop review");
    project.must("develop gate pass review_clean_pass");
}

#[test]
fn a_reviewer_that_writes_has_not_reviewed() {
    let steps = json!([{"steps": [
        {"write": {"file": "src/chat.rs", "text": "fn better() {}\n"}},
        said(&clean()),
    ]}]);
    let project = reviewing("claude", &steps);
    let ran = project.run("develop review");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("files have changed while it looked"), "{ran}");
    assert_eq!(project.json("develop status")["reviews"], json!([]));
}

#[test]
fn an_answer_that_cannot_be_read_is_asked_for_once_more() {
    let steps = json!([{"steps": [
        {"say": "It is all fine."}, {"turn_end": true}, said(&clean()),
    ]}]);
    let project = reviewing("claude", &steps);
    project.must("develop review");
    let steps = json!([{"steps": [
        {"say": "It is all fine."}, {"turn_end": true}, {"say": "Really."}, {"turn_end": true},
        said(&clean()),
    ]}]);
    let project = reviewing("claude", &steps);
    let ran = project.run("develop review");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("there is no JSON object in the last message"), "{ran}");
}

#[test]
fn a_reviewer_that_fails_is_told_apart_from_a_finding() {
    let project = reviewing("claude", &json!([{"steps": [{"crash": 3}]}]));
    let ran = project.run("develop review");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("came to nothing: exit code 3"), "{ran}");
    let refused = project.run("develop review --agent sim");
    assert_eq!(refused.code, 3, "{refused}");
    let wrong = project.run("develop review --gate re_review_clean");
    assert_eq!(wrong.code, 3, "{wrong}");
    assert!(wrong.stderr.contains("is reviewed in PR, and this is REVIEW"), "{wrong}");
}

#[test]
fn a_reviewer_whose_account_met_a_limit_is_not_sent_again_before_it_is_over() {
    let limited = json!({"steps": [{"say": "I begin."}, {"unavailable": "outage"}]});
    let project = reviewing("claude", &json!([limited, {"steps": [said(&clean())]}]));
    let ran = project.run("develop review");
    assert_ne!(ran.code, 0, "{ran}");
    let held: Vec<Value> =
        project.log().into_iter().filter(|entry| entry["kind"] == "held").collect();
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!(held[0]["stream"], "accounts", "{held:?}");
    let again = project.run("develop review");
    assert_ne!(again.code, 0, "{again}");
    assert!(again.stderr.contains("critic does not work until"), "{again}");
}

#[test]
fn a_review_goes_on_where_its_command_was_killed() {
    let steps = json!([{"steps": [
        {"say": "I look."}, {"run": "while ! test -e ../go; do sleep 0.05; done"}, said(&clean()),
    ]}]);
    for is_agent_killed in [false, true] {
        let project = reviewing("claude", &steps);
        let mut child = begin(&project, "develop review");
        let mark = project.base().join("sessions");
        let agents = || alive(&["sim", mark.to_str().unwrap()]);
        let streams = project.journal().join("errands/main.review-review_clean_pass");
        let has_begun = || {
            let text = fs::read_to_string(streams.join("1.claude.jsonl")).unwrap_or_default();
            text.contains("I look.")
        };
        wait_for("the reviewer", has_begun);
        // While it starts its command there are two of it.
        wait_for("a single agent", || agents().len() == 1);
        let before = agents();
        child.kill().unwrap();
        child.wait().unwrap();
        wait_for("the same agent, alone", || agents() == before);
        if is_agent_killed {
            let keepers = alive(&["keeper", streams.to_str().unwrap()]);
            keepers.into_iter().chain(before.iter().copied()).for_each(kill);
        }
        fs::write(project.base().join("go"), "").unwrap();
        let ran = project.must("develop review");
        assert!(ran.stdout.contains("0 blocking"), "{ran}");
        let second = fs::read_to_string(streams.join("2.claude.jsonl"));
        // Adopted: no second process. Killed: a second one in the same conversation.
        assert_eq!(second.is_ok(), is_agent_killed);
        let sessions = fs::read_dir(project.base().join("sessions")).unwrap().count();
        assert_eq!(sessions, 1);
    }
}

#[test]
fn a_reviewer_of_other_files_is_ended_before_the_next_one_looks() {
    let waits = json!({"run": "while ! test -e ../go; do sleep 0.05; done"});
    let project =
        reviewing("claude", &json!([{"steps": [{"say": "I look."}, waits, said(&clean())]}]));
    let mut child = begin(&project, "develop review");
    let streams = project.journal().join("errands/main.review-review_clean_pass");
    let said_by = |process: u32| {
        fs::read_to_string(streams.join(format!("{process}.claude.jsonl"))).unwrap_or_default()
    };
    wait_for("the reviewer", || said_by(1).contains("I look."));
    child.kill().unwrap();
    child.wait().unwrap();
    let keepers = || alive(&["keeper", streams.to_str().unwrap()]);
    let before = keepers();
    assert_eq!(before.len(), 1);
    // It looks at files that are not there any more.
    project.write("src/chat.rs", "fn chat() { panic!() }\n");
    let second = begin(&project, "develop review");
    wait_for("the second reviewer", || said_by(2).contains("I look."));
    assert!(keepers().iter().all(|keeper| !before.contains(keeper)));
    fs::write(project.base().join("go"), "").unwrap();
    let ran: Ran = second.wait_with_output().unwrap().into();
    assert!(ran.code == 0 && ran.stdout.contains("0 blocking"), "{ran}");
}
