//! Tests of the reader as a whole, through its two public functions.

mod body;
mod faults;
mod fields;
mod fixtures;
mod forms;
mod graphs;
mod properties;
mod reference;
mod scale;
mod spec_kit;
mod ticking;

use super::{TasksFile, read};
use std::fmt::Write as _;
use waypost_model::{
    diagnostic::{Diagnostic, Severity},
    run::{Depends, Details, Plan, PlannedTask},
};

/// Reads a text that is a plan; shows what was found if it is none.
#[track_caller]
fn file(text: &str) -> TasksFile {
    read(text, "folder").unwrap_or_else(|found| panic!("{text}\n{}", shown(&found)))
}

#[track_caller]
fn plan(text: &str) -> Plan {
    file(text).plan
}

/// The one task of a text.
#[track_caller]
fn only(text: &str) -> PlannedTask {
    let tasks = plan(text).tasks;
    assert_eq!(tasks.len(), 1, "{text}");
    tasks[0].clone()
}

/// The fields of the one task of a text, its body aside.
#[track_caller]
fn details(text: &str) -> Details {
    let details = only(text).details.map_or_else(Details::default, |details| *details);
    Details { body: Box::default(), ..details }
}

/// The tasks of a text, a line each: id, phase, box, title, dependencies.
#[track_caller]
fn tasks(text: &str) -> String {
    let mut lines = String::new();
    for task in plan(text).tasks.iter() {
        let ticked = if task.ticked { 'x' } else { ' ' };
        let PlannedTask { id, phase, title, .. } = &task;
        let depends = match &task.depends {
            Depends::PhaseBefore => "phase before".to_owned(),
            Depends::On(ids) => format!("{ids:?}"),
        };
        writeln!(lines, "{id} @{phase} [{ticked}] {title} <- {depends}").unwrap();
    }
    lines
}

/// Findings, a line each, with what was expected and what to do below.
fn shown(found: &[Diagnostic]) -> String {
    let mut lines = String::new();
    for diagnostic in found {
        let Diagnostic { severity, code, place, path, message, expected, hint } = diagnostic;
        let kind = if *severity == Severity::Error { "error" } else { "warning" };
        let place = place
            .map_or_else(String::new, |at| format!("{}:{}+{} ", at.line, at.column, at.length));
        writeln!(lines, "{place}{kind} {code} [{path}] {message}").unwrap();
        for (label, text) in [("expected", expected), ("hint", hint)] {
            if let Some(text) = text {
                writeln!(lines, "  {label}: {text}").unwrap();
            }
        }
    }
    lines
}

/// What is wrong with a text that is no plan.
#[track_caller]
fn faults(text: &str) -> String {
    match read(text, "folder") {
        Ok(file) => panic!("{text}\nwas read as {file:#?}"),
        Err(found) => shown(&found),
    }
}

/// The warnings of a text that is a plan all the same.
#[track_caller]
fn warnings(text: &str) -> String {
    shown(&file(text).warnings)
}
