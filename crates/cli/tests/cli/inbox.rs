//! What a person says to what waits: by each verb, in the right version, and before others do.

use crate::{
    agents::{bodies, tasks, with},
    execute::status,
    harness::{BINARY, Project},
    terminal::no_person_is_here,
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::thread;

/// As many as a busy machine runs agents.
const PROCESSES: usize = 16;

fn open(project: &Project) -> Vec<Value> {
    project.json("inbox").as_array().unwrap().clone()
}

/// What was said, as the journal has it.
fn said(project: &Project) -> Vec<(String, String)> {
    let word = |body: &Value, key: &str| body[key].as_str().unwrap_or("answer").to_owned();
    bodies(project, "answered").iter().map(|it| (word(it, "verb"), word(it, "text"))).collect()
}

/// Phases of shell tasks, between which the run waits for a person.
const TWO_PHASES: &str = "\
# Tasks: shop

## Phase 1: Ground

- [ ] T1.1: Lay the ground
  - run: `true`

## Phase 2: Cart

- [ ] T2.1: Put things into the cart
  - run: `true`
- [ ] T2.2: Take them out
  - run: `true`
";

fn at_phase_end() -> Project {
    let project = Project::git();
    project.write("TASKS.md", TWO_PHASES);
    assert_eq!(project.run("run --mode normal").code, 6);
    project
}

#[test]
fn a_verb_that_stands_for_a_choice_is_told_as_that_choice() {
    if no_person_is_here() {
        return;
    }
    let project = at_phase_end();
    let entry = &open(&project)[0];
    assert_eq!((&entry["holds"], &entry["verbs"]), (&json!(2), &json!(["answer", "approve"])));
    assert_eq!((&entry["version"], &entry["required"]), (&json!(1), &json!(true)));
    assert_eq!(entry["default"], Value::Null);
    let answered = project.person_must("--json inbox approve q1 --version 1").stdout;
    let answered: Value = serde_json::from_str(&answered).unwrap();
    assert_eq!((&answered["verb"], &answered["text"]), (&json!("answer"), &json!("continue")));
    assert_eq!(said(&project), [("answer".to_owned(), "continue".to_owned())]);
    project.must("run --resume");

    // The escalation of a workflow.
    let project = Project::implementing();
    project.must("--quiet develop checkpoint escalate cp-1");
    project.person_must("inbox retry q1");
    assert_eq!(
        project.json("develop status")["state"]["checkpoints"]["cp-1"]["status"],
        "in_progress"
    );
}

#[test]
fn a_permission_is_approved_or_declined() {
    if no_person_is_here() {
        return;
    }
    let permission = json!({"permission": {"tool": "Bash", "input": "cargo publish {task}"}});
    let steps =
        json!([permission, {"write": {"file": "{task}.txt", "text": "x"}}, {"done": "did it"}]);
    let script = json!({"version": 1, "default": [{"steps": steps}]});
    let project = with(&tasks(&["T1.1", "T1.2"]), &script);
    assert_eq!(project.run("run --no-budget").code, 6);
    let id = |task: &str| -> String {
        let open = open(&project);
        let found = open.iter().find(|it| it["title"].as_str().unwrap().starts_with(task));
        found.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (id("T1.1"), id("T1.2"));
    let why = project.must("why T1.1").stdout;
    assert!(why.contains(&format!("waits in the inbox as {first}")), "{why}");
    assert!(why.contains(&format!("waypost inbox show {first}")), "{why}");
    project.person_must(&format!("inbox approve {first}"));
    project.person_must(&format!("inbox decline {second}"));
    let texts: Vec<String> = said(&project).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["allow", "deny"]);
    project.run("run --resume");
    assert_eq!(status(&project, "T1.1"), "completed");
}

#[test]
fn an_agent_is_told_that_there_will_be_no_answer() {
    if no_person_is_here() {
        return;
    }
    let question = json!({"question": {"text": "Which port?"}});
    let done = json!({"done": "did it"});
    let steps = json!([question, {"write": {"file": "a.txt", "text": "x"}}, done]);
    let project = with(&tasks(&["T1.1"]), &json!({"version": 1, "default": [{"steps": steps}]}));
    assert_eq!(project.run("run --no-budget").code, 6);
    assert_eq!(open(&project)[0]["verbs"], json!(["answer", "decline"]));
    project.person_must("inbox decline q1 'ask the others'");
    let told = &bodies(&project, "agent_answered")[0]["text"];
    assert_eq!(told, "There will be no answer: ask the others");
    assert_eq!(said(&project), [("decline".to_owned(), "ask the others".to_owned())]);
}

#[test]
fn a_wrong_verb_names_the_right_ones_and_changes_nothing() {
    if no_person_is_here() {
        return;
    }
    let project = Project::implementing();
    project.must("--quiet develop checkpoint escalate cp-1");
    let lines = [
        "inbox approve q1",
        "inbox changes q1 'do it again'",
        "inbox provide q1",
        "inbox decline q1",
        "inbox accept q1",
        "inbox fail q1",
        "inbox answer q1 leave --version 7",
        "inbox changes q1 x --comment nonsense",
        "inbox approve q9",
    ];
    let told = lines.map(|line| project.tell(line, &project.as_person(line)));
    assert_snapshot!("inbox_wrong", told.join("\n"));
    assert_eq!(open(&project).len(), 1);
    assert_eq!(said(&project), []);
    let ran = project.run("inbox retry q1");
    assert_eq!(ran.code, 3, "an agent: {ran}");
}

#[test]
fn of_many_who_answer_at_once_one_is_heard_and_the_others_are_told_who_was() {
    if no_person_is_here() {
        return;
    }
    let project = &at_phase_end();
    let line = format!("{BINARY} inbox answer q1 continue");
    let ran: Vec<_> = thread::scope(|scope| {
        let answers: Vec<_> =
            (0..PROCESSES).map(|_| scope.spawn(|| project.below_terminal(&line, ""))).collect();
        answers.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    let (heard, late): (Vec<_>, Vec<_>) = ran.into_iter().partition(|ran| ran.code == 0);
    assert_eq!((heard.len(), late.len()), (1, PROCESSES - 1), "{heard:?} {late:?}");
    for ran in &late {
        assert_eq!(ran.code, 4, "{ran}");
        assert!(ran.stdout.contains("q1 is not waiting any more: user:"), "{ran}");
    }
    assert_eq!(said(project).len(), 1);
    assert_eq!(bodies(project, "phase_closed").len(), 1);
}

#[test]
fn completion_offers_the_entries_that_take_the_verb() {
    let project = at_phase_end();
    let offered = |line: &str| crate::completion::offered(&project, line);
    assert_eq!(offered("waypost inbox approve q"), ["q1"]);
    assert_eq!(offered("waypost inbox show q"), ["q1"]);
    assert_eq!(offered("waypost inbox provide q"), [""; 0]);
}
