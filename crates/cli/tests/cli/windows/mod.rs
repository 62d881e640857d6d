//! What becomes of the windows, whatever is done to them. `docs/windows.md` tells the same.

mod files;
mod git;
mod journal;
mod race;
mod run;
mod workflow;

use crate::harness::{Project, RUN, Ran, WORKFLOW};
use serde_json::Value;
use std::{
    fs, thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Who runs the command that finds the edit.
#[derive(Clone, Copy, Debug)]
enum Who {
    Agent,
    Person,
}

impl Who {
    fn run(self, project: &Project, line: &str) -> Ran {
        match self {
            Self::Agent => project.run(line),
            Self::Person => project.as_person(line),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Agent => "an agent",
            Self::Person => "a person",
        }
    }
}

/// Something that is done to a window.
struct Case {
    name: &'static str,
    by: Who,
    edit: fn(&Project),
}

/// Does it to a fresh project each time, and tells what came of it.
///
/// Whatever it was: it is said once, and afterwards the windows show the truth.
fn table(make: fn() -> Project, cases: &[Case]) -> String {
    let told = cases.iter().map(|case| {
        let project = make();
        let before = project.log().len();
        (case.edit)(&project);
        let ran = case.by.run(&project, "--quiet --json status");
        let told = tell(&project, &ran, before);
        format!("## {} ({} comes next)\n{told}", case.name, case.by.word())
    });
    told.collect::<Vec<_>>().join("\n")
}

/// What was said, what was recorded since `before`, and how things stand once and for all.
#[track_caller]
fn tell(project: &Project, ran: &Ran, before: usize) -> String {
    let said: String = ran.stderr.lines().map(|line| format!("said:   {line}\n")).collect();
    let state = settled(project);
    let events: String = project
        .log()
        .iter()
        .skip(before)
        .map(|entry| {
            let word = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let actor = word("actor");
            let actor = if actor.starts_with("user:") { "a person" } else { &actor };
            format!("event:  {} {} {}by {actor}\n", word("stream"), word("kind"), about(entry))
        })
        .collect();
    project.redact(&format!("{said}{events}{state}"))
}

/// What an event is about, in a word or two.
fn about(entry: &Value) -> String {
    let body = &entry["body"];
    let id = body["id"].as_str().map(|id| format!("{id} "));
    let evidence = body["evidence"]["kind"].as_str().map(|kind| format!("({kind}) "));
    id.unwrap_or_default() + &evidence.unwrap_or_default()
}

/// How things stand; the windows show it, and there is nothing left to say or to clear away.
#[track_caller]
fn settled(project: &Project) -> String {
    let read = || [WORKFLOW, RUN].map(|name| fs::read_to_string(project.path(name)).ok());
    let windows = read();
    let ran = project.must("--quiet --json status");
    assert_eq!(ran.stderr, "", "there was something left to say");
    assert_eq!(read(), windows, "looking changed a window");
    let status: Value = serde_json::from_str(&ran.stdout).unwrap();
    if windows[0].is_some() {
        assert_eq!(project.window(WORKFLOW), status["workflow"]["state"]);
    }
    if windows[1].is_some() {
        let metrics = &project.window(RUN)["metrics"];
        assert_eq!(metrics["total_tasks"], status["run"]["total"]);
        assert_eq!(metrics["completed_count"], status["run"]["counts"]["completed"]);
    }
    for window in [WORKFLOW, RUN] {
        let folder = project.path(window).parent().unwrap().to_owned();
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let left = entry.unwrap().file_name().into_string().unwrap();
            assert!(!left.contains(".waypost-"), "{left} is left behind");
        }
    }
    workflow_line(&status) + &run_line(project, &status) + &inbox_lines(&status)
}

fn workflow_line(status: &Value) -> String {
    let Some(state) = status["workflow"]["state"].as_object() else { return String::new() };
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let gates = state["gates"].as_object().unwrap().iter();
    let gates: Vec<&str> =
        gates.filter(|(_, is)| **is == true).map(|(name, _)| name.as_str()).collect();
    let checkpoints = state["checkpoints"].as_object().unwrap().iter();
    let checkpoints: Vec<String> = checkpoints
        .map(|(id, row)| format!("{id} {} {}", word(&row["status"]), row["iteration"]))
        .collect();
    let feature = format!("{} {}", word(&state["feature"]), word(&state["phase"]));
    format!("state:  {feature} [{}] {}\n", gates.join(" "), checkpoints.join(", "))
}

fn run_line(project: &Project, status: &Value) -> String {
    if status["run"].is_null() {
        return String::new();
    }
    let lists = project.window(RUN)["tasks"].clone();
    let lists: Vec<String> = lists
        .as_object()
        .unwrap()
        .iter()
        .map(|(list, ids)| (list, ids.as_array().unwrap()))
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(list, ids)| {
            let ids: Vec<&str> = ids.iter().filter_map(Value::as_str).collect();
            format!("{list} {}", ids.join(" "))
        })
        .collect();
    format!("state:  {}\n", lists.join(", "))
}

fn inbox_lines(status: &Value) -> String {
    let entries = status["inbox"].as_array().unwrap().iter();
    entries.map(|entry| format!("inbox:  {}\n", entry["title"].as_str().unwrap())).collect()
}

/// Times in the windows are whole seconds: what happens from here on has another one.
fn let_a_second_begin() {
    let second = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let begun = second();
    while second() == begun {
        thread::sleep(Duration::from_millis(5));
    }
}

/// The files that were refused and kept, oldest first.
fn refused(project: &Project) -> Vec<String> {
    let Ok(folder) = fs::read_dir(project.journal().join("refused")) else { return Vec::new() };
    let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}
