//! What an agent is told about its task: the work itself, what it stands on, how earlier attempts
//! fared, and how to end.
//!
//! The first lines are the seed's: `TASK_ID:`, `WORKTREE:`, `META:`.

use super::attempt::{Attempt, log_path};
use crate::agent::told;
use std::{
    fmt::Write as _,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};
use waypost_model::{
    id::TaskId,
    run::{Active, Depends, LastFailure, Mode, TaskView},
    text::{one_line, plain},
};

/// How many results of tasks before are told, and how long each may be.
const RESULTS_MAX: usize = 20;
const RESULT_LENGTH_MAX: usize = 400;

/// How much of an earlier attempt's output is told.
const OUTPUT_SIZE_MAX: u64 = 4 << 10;

/// How much of the last attempt's output the first retries are told: about twenty lines.
const LAST_LINES_SIZE_MAX: u64 = 2 << 10;

/// From this retry on the agent is asked to analyse the failure first.
const ANALYSED_FROM: u32 = 4;
/// From here on it is told how to debug it.
const DEBUGGED_FROM: u32 = 7;

/// The first message of a conversation about a task.
pub(super) fn first(
    active: &Active,
    view: &TaskView<'_>,
    attempt: &Attempt,
    state: &Path,
) -> String {
    let mut text = head(active, view, attempt);
    describe(&mut text, view);
    stand_on(&mut text, active, view);
    match active.settings().mode {
        Mode::Ralph => earlier_pass(&mut text, view, state),
        Mode::Normal | Mode::UltraThin => earlier_failures(&mut text, active, view, state),
    }
    ending(&mut text, active, view, attempt);
    text
}

/// The message with which a conversation goes on that was interrupted.
pub(super) fn again(
    active: &Active,
    view: &TaskView<'_>,
    attempt: &Attempt,
    state: &Path,
) -> String {
    let mut text = head(active, view, attempt);
    let id = &view.planned.id;
    let _infallible = writeln!(
        text,
        "\nYour work on {id} was interrupted. Look at how things stand, and go on from there."
    );
    if let Some(failure) = view.last_failure {
        text.push_str("\nThe last attempt that came to an end:\n");
        last_failure(&mut text, view, failure, state);
        text.push('\n');
    }
    answers(&mut text, view);
    ending(&mut text, active, view, attempt);
    text
}

/// The first message of a conversation that takes the place of one that the program has forgotten.
pub(super) fn afresh(
    active: &Active,
    view: &TaskView<'_>,
    attempt: &Attempt,
    state: &Path,
) -> String {
    let mut text = head(active, view, attempt);
    describe(&mut text, view);
    stand_on(&mut text, active, view);
    let id = &view.planned.id;
    let _infallible = writeln!(
        text,
        "\n## What happened before\n\nWork on {id} was begun in an earlier conversation, which was \
         interrupted and cannot be loaded any more. Part of the work may be done: look at the files \
         (`git status`, `git diff`) before you change anything, and go on from there."
    );
    if let Some(failure) = view.last_failure {
        let _infallible = writeln!(text, "The last that is known: {}", failure.text);
    }
    if let Some(result) = view.trail.and_then(|trail| trail.result.as_deref()) {
        let result = one_line(result, RESULT_LENGTH_MAX);
        let _infallible = writeln!(text, "The last that was said there: {result}");
    }
    if let Some(output) = output(state, id, view.attempts.saturating_sub(1), OUTPUT_SIZE_MAX) {
        let _infallible = writeln!(text, "\nThe end of its output:\n\n{output}");
    }
    answers(&mut text, view);
    ending(&mut text, active, view, attempt);
    text
}

/// What a person has answered, each with its question.
fn answers(text: &mut String, view: &TaskView<'_>) {
    for (asked, answer) in view.trail.iter().flat_map(|trail| trail.answered()) {
        let _infallible = writeln!(text, "\n{}", told(asked, answer));
    }
}

fn head(active: &Active, view: &TaskView<'_>, attempt: &Attempt) -> String {
    let phase = view.planned.phase;
    let name = active.plan().phases.get(&phase).map_or("", String::as_str);
    let details = view.planned.details.as_deref();
    let files = details.map(|it| it.files.join(", ")).filter(|files| !files.is_empty());
    let spec = details.and_then(|it| it.spec.as_deref().map(str::to_owned));
    let mut meta = format!("phase {phase} ({name}), attempt {}", attempt.number);
    for (word, value) in [("files", files), ("spec", spec)] {
        if let Some(value) = value {
            let _infallible = write!(meta, ", {word}: {value}");
        }
    }
    let id = &view.planned.id;
    format!("TASK_ID: {id}\nWORKTREE: {}\nMETA: {meta}\n", attempt.folder.display())
}

fn describe(text: &mut String, view: &TaskView<'_>) {
    let _infallible = writeln!(text, "\n# {}: {}", view.planned.id, view.planned.title);
    let body = view.planned.details.as_deref().map_or("", |it| it.body.trim());
    if !body.is_empty() {
        let _infallible = writeln!(text, "\n{body}");
    }
}

/// What the tasks before have produced.
fn stand_on(text: &mut String, active: &Active, view: &TaskView<'_>) {
    let before: Vec<TaskView<'_>> = match &view.planned.depends {
        Depends::On(ids) => ids.iter().filter_map(|id| active.task(id)).collect(),
        Depends::PhaseBefore => {
            let mut phases = active.plan().phases.range(..view.planned.phase);
            let before = phases.next_back().map(|(number, _)| *number);
            active.tasks().filter(|it| Some(it.planned.phase) == before).collect()
        }
    };
    if before.is_empty() {
        return;
    }
    text.push_str("\n## What it stands on\n\n");
    for view in before.iter().take(RESULTS_MAX) {
        let result = view.trail.and_then(|trail| trail.result.as_deref());
        let result = result.map(|it| format!(": {}", one_line(it, RESULT_LENGTH_MAX)));
        let (id, title) = (&view.planned.id, &view.planned.title);
        let _infallible = writeln!(text, "- {id} {title}{}", result.unwrap_or_default());
    }
    if before.len() > RESULTS_MAX {
        let _infallible = writeln!(text, "- and {} more", before.len() - RESULTS_MAX);
    }
}

/// The last failure, and how to go about it: the more fully the more retries there were.
fn earlier_failures(text: &mut String, active: &Active, view: &TaskView<'_>, state: &Path) {
    let Some(failure) = view.last_failure else { return };
    let retry = view.retries;
    text.push_str("\n## The last attempt failed\n\n");
    if retry > 0 {
        let _infallible = writeln!(text, "This is retry {retry}.");
    }
    last_failure(text, view, failure, state);
    if retry >= ANALYSED_FROM {
        text.push_str(
            "\nBefore you change anything, say in one sentence what made the earlier attempts \
             fail, and choose another way if the same one has failed twice.\n",
        );
    }
    if retry >= DEBUGGED_FROM {
        text.push_str(
            "\nDebug it: make the failure happen in the smallest way you can, look at what really \
             happens instead of what should, change one thing at a time, and check after each \
             change. Undo changes of earlier attempts that did not help.\n",
        );
    }
    if retry > 0 && retry >= active.settings().retry_limit {
        all_failures(text, view, state);
    }
}

/// How an attempt failed: the reason, with the command that did not pass, and its last lines.
fn last_failure(text: &mut String, view: &TaskView<'_>, failure: &LastFailure, state: &Path) {
    let _infallible = writeln!(text, "It failed because: {}", failure.text);
    // Between that attempt and this one may be others that were only interrupted.
    let attempt = match failure.attempt {
        0 => view.attempts.saturating_sub(1),
        attempt => attempt,
    };
    let size = if view.retries >= ANALYSED_FROM { OUTPUT_SIZE_MAX } else { LAST_LINES_SIZE_MAX };
    if let Some(output) = output(state, &view.planned.id, attempt, size) {
        let _infallible = writeln!(text, "\nThe last lines of its output:\n\n{output}");
    }
}

/// At the last attempt: how each of the others ended.
fn all_failures(text: &mut String, view: &TaskView<'_>, state: &Path) {
    text.push_str(
        "\nThis is the last attempt. If it cannot be done, say exactly what stands in the way \
         and what a person has to decide or provide.\n",
    );
    for attempt in view.attempts_before + 1..view.attempts.saturating_sub(1) {
        if let Some(output) = output(state, &view.planned.id, attempt, LAST_LINES_SIZE_MAX) {
            let last = output.lines().rev().take(3).collect::<Vec<_>>();
            let last: Vec<&str> = last.into_iter().rev().collect();
            let _infallible = writeln!(text, "- attempt {attempt}: {}", last.join(" / "));
        }
    }
}

/// In ralph mode: what the pass before has said and how it was found wanting.
fn earlier_pass(text: &mut String, view: &TaskView<'_>, state: &Path) {
    let pass = view.attempts.saturating_sub(view.attempts_before);
    if pass <= 1 {
        return;
    }
    let _infallible = writeln!(text, "\n## The pass before\n\nThis is pass {pass}.");
    if let Some(failure) = view.last_failure {
        let _infallible = writeln!(text, "It is not done yet: {}", failure.text);
    }
    if let Some(result) = view.trail.and_then(|trail| trail.result.as_deref()) {
        let _infallible = writeln!(text, "\nWhat was said at its end:\n\n{result}");
    }
    if let Some(output) = output(state, &view.planned.id, view.attempts - 1, OUTPUT_SIZE_MAX) {
        let _infallible = writeln!(text, "\nThe end of its output:\n\n{output}");
    }
}

fn ending(text: &mut String, active: &Active, view: &TaskView<'_>, attempt: &Attempt) {
    let id = &view.planned.id;
    text.push_str("\n## How to end\n\nWork on this task alone, and only below WORKTREE.\n");
    if !attempt.verify.is_empty() {
        text.push_str("Waypost runs these commands afterwards; all of them have to pass:\n\n");
        for command in &attempt.verify {
            let _infallible = writeln!(text, "    {command}");
        }
        text.push('\n');
    }
    let promise = active.settings().completion_promise.as_deref();
    if let (Mode::Ralph, Some(promise)) = (active.settings().mode, promise) {
        let _infallible = writeln!(
            text,
            "Only when all of it is really complete, say so with this line by itself:\n\n{promise}\n"
        );
    }
    let _infallible = writeln!(
        text,
        "When it is done, end your last message with one sentence on what you did and, on a line \
         of its own:\n\nDONE:{id}\n\nIf it cannot be done:\n\nFAIL:{id}:the reason"
    );
}

/// The end of what an attempt wrote, if it wrote anything: whole lines, where there are some.
fn output(state: &Path, id: &TaskId, attempt: u32, size: u64) -> Option<String> {
    let mut file = File::open(log_path(state, id, attempt)).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(size))).ok()?;
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let text = match text.split_once('\n') {
        Some((_, whole)) if length > size && !whole.trim().is_empty() => whole.to_owned(),
        _ => text,
    };
    let text = text.trim();
    let quoted: Vec<String> = text.lines().map(|line| format!("    {}", plain(line))).collect();
    (!text.is_empty()).then(|| quoted.join("\n"))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests play the part of tasks that print")]
mod tests {
    use super::*;
    use std::{collections::BTreeMap, fs};
    use waypost_model::{
        actor::Actor,
        machine::{Asked, Machine as _},
        run::{Command, Event, Plan, PlannedTask, Priority, Run, Settings},
        time::Time,
    };

    const NOW: Time = Time::from_millis(1_000);

    /// A run whose task has failed so often, and the part of its brief about that.
    fn told_after(failures: u32) -> String {
        let folder = tempfile::tempdir().unwrap();
        let id: TaskId = "T1".parse().unwrap();
        let task = PlannedTask {
            id: id.clone(),
            title: "one".into(),
            phase: 1,
            depends: Depends::On(Vec::new()),
            ticked: false,
            priority: Priority::default(),
            line: 1,
            details: None,
        };
        let plan = Plan::new("demo".into(), BTreeMap::new(), vec![task]).unwrap();
        let begin = Command::Begin { plan, settings: Settings::default() };
        let mut run = Run::imagine([&begin], &Asked { by: &Actor::Waypost, now: NOW }).unwrap();
        for attempt in 1..=failures {
            run.apply(&Event::TaskStarted { id: id.clone(), attempt }, NOW);
            let (text, signature) = (format!("reason {attempt}"), String::new());
            let (not_before, resumes) = (NOW, false);
            let id = id.clone();
            let failed = Event::AttemptFailed { id, text, signature, not_before, resumes };
            run.apply(&failed, NOW);
            let log = log_path(folder.path(), &"T1".parse().unwrap(), attempt);
            fs::create_dir_all(log.parent().unwrap()).unwrap();
            fs::write(log, format!("{}\nlast line {attempt}\n", "x".repeat(3_000))).unwrap();
        }
        run.apply(&Event::TaskStarted { id: id.clone(), attempt: failures + 1 }, NOW);
        // One that was only interrupted does not hide the failure before it.
        run.apply(&Event::AttemptInterrupted { id: id.clone() }, NOW);
        run.apply(&Event::TaskStarted { id: id.clone(), attempt: failures + 2 }, NOW);
        let active = run.active().unwrap();
        let mut text = String::new();
        earlier_failures(&mut text, active, &active.task(&id).unwrap(), folder.path());
        text
    }

    #[test]
    fn each_retry_is_told_the_last_failure_and_later_ones_how_to_go_about_it() {
        assert_eq!(told_after(0), "");
        let (analysed, debugged) = ("say in one sentence what made", "Debug it:");
        let last = "This is the last attempt";
        #[rustfmt::skip]
        let table = [
            (1, [false, false, false]),
            (3, [false, false, false]),
            (4, [true, false, false]),
            (6, [true, false, false]),
            (7, [true, true, false]),
            (9, [true, true, false]),
            (10, [true, true, true]),
        ];
        for (retry, want) in table {
            let told = told_after(retry);
            let reason = format!("This is retry {retry}.\nIt failed because: reason {retry}\n");
            assert!(told.contains(&reason), "{told}");
            assert!(told.contains(&format!("\n    last line {retry}\n")), "{told}");
            let got = [analysed, debugged, last].map(|words| told.contains(words));
            assert_eq!(got, want, "retry {retry}: {told}");
        }
    }
}
