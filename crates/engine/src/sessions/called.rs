//! What an agent is told that is called in a role of a session.

use super::NextCall;
use crate::{evidence, validate::validate_file};
use std::{fmt::Write as _, path::Path};
use waypost_model::{
    diagnostic::Severity,
    document::{Kind, SubtaskId},
    session::{Call, RequestState},
};

/// Which try a call is, by what has failed. It stays the same when a gate passes: work that is done and whose gates
/// were not all looked at, because the process was killed, is not done again.
pub(super) fn attempt(request: &RequestState, call: &Call) -> u32 {
    let of_call = request.call_clock(call).failures;
    let redesigns = |subtask: &SubtaskId| {
        let owner = request.owner(subtask).and_then(|owner| request.tasks.get(owner));
        owner.map_or(0, |task| task.redesigns)
    };
    let before = match call {
        Call::Explore | Call::Brief(_) => 0,
        Call::Plan => request.plans_wrong,
        Call::Design(task) => request.tasks.get(task).map_or(0, |task| task.redesigns),
        Call::WriteTests(id) | Call::Implement(id) | Call::Verify(id) | Call::Confirm(id, _) => {
            let tries = request.subtask(id).map(|subtask| {
                let tries = &subtask.tries;
                let of_gates = tries.gates.values().sum::<u32>() + tries.overcome;
                of_gates + tries.test_runs + tries.test_rewrites
            });
            tries.unwrap_or(0) + redesigns(id)
        }
    };
    1 + of_call + before
}

/// What an agent is told whose contract is missing or not valid.
pub(super) fn correction(next: &NextCall) -> Option<String> {
    if let Some(fault) = report_fault(next) {
        return Some(format!("{fault}. Correct it."));
    }
    let (output, kind) = (next.output.as_ref()?, next.kind?);
    let shown = output.display();
    let Ok(validity) = validate_file(output, Some(kind)) else {
        return Some(format!("{shown} is not there. Write it."));
    };
    if validity.is_valid() {
        return None;
    }
    let mut text = format!("{shown} is not valid. Correct it:\n");
    let is_error = |it: &&waypost_model::diagnostic::Diagnostic| it.severity == Severity::Error;
    for finding in validity.file.diagnostics.iter().filter(is_error).take(20) {
        let at = finding.place.map(|at| format!("{}:{}: ", at.line, at.column)).unwrap_or_default();
        let _infallible = writeln!(text, "- {at}{}", finding.message);
    }
    Some(text)
}

/// What is wrong with the report of an agent that was called for one.
pub(super) fn report_fault(next: &NextCall) -> Option<String> {
    let output = next.output.as_ref().filter(|_| next.kind.is_none())?;
    let shown = output.display();
    match output.try_exists() {
        Ok(true) => {
            let fault = evidence::read_report(output).err()?;
            Some(format!("{shown} is no report with a line `Blocking: N`: {fault}"))
        }
        _ => Some(format!("{shown} is not there")),
    }
}

/// The message to an agent.
pub(super) fn message(
    root: &Path,
    (request, words): (&RequestState, &str),
    next: &NextCall,
    prompt: &str,
) -> String {
    let mut text = format!(
        "TASK_ID: {words}\n\nYou are the {} of a session in {}. The request {} is: {}\n\n# {words}: {}\n\n",
        next.role,
        root.display(),
        request.id,
        request.text,
        next.task
    );
    if !next.inputs.is_empty() {
        text.push_str("Read first:\n");
    }
    for input in &next.inputs {
        let _infallible = writeln!(text, "- {}", input.display());
    }
    match (&next.output, next.kind) {
        (Some(output), Some(kind)) => {
            let _infallible = write!(text, "{}", contract_told(request, next, output, kind));
        }
        (Some(output), None) => text.push_str(&report_told(next, output)),
        _ => text.push_str(
            "\nChange what the brief and the design cover, and nothing else. Leave the tests as they are. \
             Waypost looks at scope, layers and tests itself when you have ended.\n",
        ),
    }
    if !next.faults.is_empty() {
        text.push_str(match &next.call {
            Call::Confirm(..) => "\nThis is to be found out:\n",
            _ => "\nWhat was there before does not do:\n",
        });
    }
    for fault in &next.faults {
        let _infallible = writeln!(text, "- {fault}");
    }
    if !prompt.trim().is_empty() {
        let _infallible = writeln!(text, "\n{}", prompt.trim());
    }
    let _infallible = writeln!(
        text,
        "\nWhen it is done, end your last message with one sentence on what you did and, on a line of its \
         own:\n\nDONE:{words}\n"
    );
    text
}

fn report_told(next: &NextCall, output: &Path) -> String {
    format!(
        "\nWaypost cannot tell by itself what is said below. Look at the files and at what has changed since the \
         subtask began, and change no file but this one. Write {}: a short report in Markdown that says of each \
         point whether it is so, and why, with a line `Blocking: N` in it, where N is how many are not. You are \
         the {}: say no more than you have seen.\n",
        output.display(),
        next.role
    )
}

fn contract_told(request: &RequestState, next: &NextCall, output: &Path, kind: Kind) -> String {
    let mut ids = format!("request_id: {}", request.id);
    if let Some(task) = next.call.task().cloned().or_else(|| next.call.subtask()?.task()) {
        let _infallible = write!(ids, ", task_id: {task}");
    }
    if let Some(subtask) = next.call.subtask() {
        let _infallible = write!(ids, ", subtask_id: {subtask}");
    }
    let more = match &next.call {
        Call::WriteTests(_) => {
            "Write the tests themselves, too, into the file that test_file_path names. "
        }
        Call::Verify(_) => "Run the tests, and change no file but this one. ",
        _ => "",
    };
    format!(
        "\n{more}Write {}: a YAML document with {ids}, version: 1, created_at and created_by: {}. `waypost \
         schema {}` prints its schema; a field that is not in there is refused.\n",
        output.display(),
        next.role,
        kind.name()
    )
}
