//! Every command in every state, as pages to read; and the seed's two pictures: every arrow, and that
//! no other exists.

use super::*;
use crate::matrix::{Matrix, command_variants, outcome};
use std::collections::BTreeSet;

mod commands {
    use super::*;
    command_variants!(
        Command: Open, TakeOver, Restore, NewTask, Task, AddStep, Step, Record, Note, NoteDocument,
        Prune, Mend
    );
    pub(super) const ALL: &[&str] = VARIANTS;
    pub(super) fn word(command: &Command) -> &'static str {
        variant_of(command)
    }
}

mod task_acts {
    use super::*;
    command_variants!(
        TaskAct: Start, Pause, Resume, Fail, Recover, Cancel, Close, Complete, Replan, Amend
    );
    pub(super) const ALL: &[&str] = VARIANTS;
    pub(super) fn word(act: &TaskAct) -> &'static str {
        variant_of(act)
    }
}

mod step_acts {
    use super::*;
    command_variants!(
        StepAct: Start, Complete, Fail, Retry, Escalate, SetOutput, Change, Remove, Overdue
    );
    pub(super) const ALL: &[&str] = VARIANTS;
    pub(super) fn word(act: &StepAct) -> &'static str {
        variant_of(act)
    }
}

const TASKS: [(&str, &str); 5] = [
    ("pending", "new cart; add design"),
    ("in progress", "new cart; add design; task start"),
    ("in progress, every step completed", "new cart; task start"),
    ("paused", "new cart; add design; task start; task pause"),
    ("failed", "new cart; add design; task start; task fail"),
];

const TASK_ACTS: [&str; 11] = [
    "start", "pause", "resume", "fail", "recover", "cancel", "close", "complete", "partial",
    "replan", "amend",
];

const STEPS: [(&str, &str); 6] = [
    ("pending", THREE),
    ("in progress", "new cart; add design; add build 1; task start; step start 1"),
    ("completed", "new cart; add design; add build 1; task start; step start 1; step complete 1"),
    (
        "failed, its time not come",
        "new cart; add design; add build 1; task start; step start 1; step fail 1",
    ),
    (
        "failed, its time come",
        "new cart; add design; add build 1; task start; step start 1; step fail 1; wait 2",
    ),
    (
        "escalated",
        "new cart; add design; add build 1; task start; step start 1; step fail 1; step escalate 1",
    ),
];

const STEP_ACTS: [&str; 16] = [
    "step start 1",
    "step complete 1",
    "step fail 1",
    "step fail 1 validation",
    "step fail 1 dependency",
    "step fail 1 resource",
    "step fail 1 structural",
    "step fail 1 critical",
    "step retry 1",
    "person: step retry 1",
    "step escalate 1",
    "step output 1",
    "step change 1",
    "step remove 1",
    "step overdue 1",
    "waypost: step overdue 1",
];

fn event_line(event: &Event) -> String {
    let more = match event {
        Event::StepStarted { step, .. }
        | Event::StepCompleted { step, .. }
        | Event::StepRetried { step, .. }
        | Event::StepEscalated { step, .. }
        | Event::StepChanged { step, .. }
        | Event::StepRemoved { step, .. }
        | Event::OutputSet { step, .. } => format!(" {step}"),
        Event::StepFailed { step, not_before, .. } => match not_before {
            Some(at) => format!(" {step}, again at {at}"),
            None => format!(" {step}"),
        },
        Event::TaskEnded { entry, .. } => format!(" {}", entry.result.as_str()),
        Event::ReplanCalled { cause, .. } => format!(" ({})", cause.as_str()),
        Event::StepAdded { step, .. } => format!(" {}", step.id),
        Event::TaskMade { id, .. } | Event::Recorded { id, .. } => format!(" {id}"),
        _ => String::new(),
    };
    format!("{}{more}", Memory::event_kind(event))
}

#[test]
fn every_command_has_an_answer_in_every_state() {
    let lines = [
        "open",
        "take",
        "restore",
        "person: restore",
        "new next",
        "add more",
        "add more 9",
        "task start",
        "step start 1",
        "record run/1",
        "note this",
        "document context",
        "prune",
        "mend",
    ];
    let mut matrix = Matrix::default();
    for (name, script) in
        [("nothing", ""), ("open, no task", "open"), ("a task in progress", THREE)]
    {
        matrix.state(name);
        let walk = Walk::of(script);
        for line in lines {
            let told = outcome(&walk.ask(line), event_line);
            matrix.row((line, 18), commands::word(&parse(line).1), &told);
        }
    }
    insta::assert_snapshot!("states_by_commands", matrix.page);
    Matrix::assert_shows_all(&[matrix], commands::ALL);
}

#[test]
fn every_act_has_an_answer_for_every_task() {
    let mut matrix = Matrix::default();
    for (name, script) in TASKS {
        matrix.state(&format!("a task that is {name}"));
        let walk = Walk::of(script);
        for act in TASK_ACTS {
            let told = outcome(&walk.ask(&format!("task {act}")), event_line);
            matrix.row((act, 9), task_acts::word(&task_act(act)), &told);
        }
    }
    insta::assert_snapshot!("tasks_by_acts", matrix.page);
    Matrix::assert_shows_all(&[matrix], task_acts::ALL);
}

#[test]
fn every_act_has_an_answer_for_every_step() {
    let mut matrix = Matrix::default();
    for (name, script) in STEPS {
        matrix.state(&format!("a step that is {name}"));
        let walk = Walk::of(script);
        for line in STEP_ACTS {
            let Command::Step { act, .. } = parse(line).1 else { panic!("{line}") };
            let told = outcome(&walk.ask(line), event_line);
            matrix.row((line, 24), step_acts::word(&act), &told);
        }
    }
    insta::assert_snapshot!("steps_by_acts", matrix.page);
    Matrix::assert_shows_all(&[matrix], step_acts::ALL);
}

/// The seed's picture of a task, with what the settlements add.
#[test]
fn a_task_moves_along_the_arrows_of_the_picture_and_along_no_other() {
    let mut found = BTreeSet::new();
    for (_, script) in TASKS {
        for act in TASK_ACTS {
            let mut walk = Walk::of(script);
            let before = walk.kept().task.status;
            let id = walk.kept().task.id.clone();
            drop(walk.give(&format!("task {act}")));
            let after = match walk.memory.task(&id) {
                Some(kept) => kept.task.status.as_str(),
                None => walk.memory.history().entry(&id).unwrap().result.as_str(),
            };
            if before.as_str() != after {
                found.insert((before.as_str(), after));
            }
        }
    }
    let picture = BTreeSet::from([
        ("pending", "in_progress"),
        ("in_progress", "success"),
        ("in_progress", "partial"),
        ("in_progress", "failed"),
        ("in_progress", "paused"),
        ("in_progress", "cancelled"),
        ("failed", "in_progress"),
        ("paused", "in_progress"),
        // Cancelling is also possible from these; a failed task can be closed.
        ("pending", "cancelled"),
        ("paused", "cancelled"),
        ("failed", "cancelled"),
        ("failed", "failure"),
    ]);
    assert_eq!(found, picture);
}

/// The seed's picture of a step.
#[test]
fn a_step_moves_along_the_arrows_of_the_picture_and_along_no_other() {
    let mut found = BTreeSet::new();
    for (_, script) in STEPS {
        for line in STEP_ACTS {
            let mut walk = Walk::of(script);
            let before = walk.step(1).status;
            drop(walk.give(line));
            let Some(after) = walk.kept().step(1).map(|step| step.status) else { continue };
            if before != after {
                found.insert((before.as_str(), after.as_str()));
            }
        }
    }
    let picture = BTreeSet::from([
        ("pending", "in_progress"),
        ("in_progress", "completed"),
        ("in_progress", "failed"),
        // A critical failure is escalated at once.
        ("in_progress", "escalated"),
        ("failed", "in_progress"),
        ("failed", "escalated"),
        ("escalated", "in_progress"),
    ]);
    assert_eq!(found, picture);
}
