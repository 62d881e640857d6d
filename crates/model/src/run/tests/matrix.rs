//! Every command in every state, as one page to read.

use super::{
    Before, Command, Isolation, Mode, Settings, TaskId, TaskStatus, Walk, agent, id, parse, person,
    plain, plan, summary,
};
use crate::{
    actor::Actor,
    evidence::Evidence,
    machine::{Asked, Machine as _},
};
use std::fmt::Write as _;

/// One task of each status, and one that waits for its next try.
const TASKS: &str = "1: T1 -; T2 -; T3 -; T4 -; T5 T4; T6 T2; T7 -";
const TASKS_SCRIPT: &str =
    "start T2; start T3; done T3; start T4; fail T4 critical; start T7; fail T7";

const TASK_COMMANDS: [&str; 15] = [
    "start",
    "done",
    "done #1",
    "done #9",
    "fail",
    "fail critical",
    "fail #9",
    "interrupt #1",
    "interrupt #9",
    "retry",
    "skip",
    "satisfy",
    "person: satisfy",
    "person: done",
    "revert",
];

#[test]
fn every_command_has_an_answer_for_every_task() {
    let walk = Walk::of(TASKS, plain(), TASKS_SCRIPT);
    let mut page = String::new();
    for name in ["T6", "T1", "T7", "T2", "T3", "T4", "T5"] {
        let status = walk.active().task(&id(name)).unwrap().status;
        let is_delayed = walk.active().is_delayed(&id(name), walk.now);
        let delayed = if is_delayed { ", but delayed" } else { "" };
        writeln!(page, "a task that is {status}{delayed}").unwrap();
        for shown in TASK_COMMANDS {
            let line = named(shown, name);
            let (by, command) = parse(&line);
            writeln!(page, "  {shown:<16} {}", answer(&walk, &by, &command)).unwrap();
        }
        page.push('\n');
    }
    insta::assert_snapshot!("tasks_by_commands", page);
}

/// Puts the task's id behind the verb.
fn named(line: &str, name: &str) -> String {
    let (by, rest) = line.split_once(": ").map_or(("", line), |(_, rest)| ("person: ", rest));
    let (verb, options) = rest.split_once(' ').unwrap_or((rest, ""));
    format!("{by}{verb} {name} {options}")
}

fn answer(walk: &Walk, by: &Actor, command: &Command) -> String {
    summary(&walk.run.decide(command, &Asked { by, now: walk.now }))
}

const PHASES: &str = "
    1: T1.1 -; T1.2 -
    2: T2.1";

#[test]
fn every_command_has_an_answer_in_every_run() {
    let normal = || Settings { mode: Mode::Normal, ..plain() };
    let joining = || Settings { isolation: Isolation::Task, ..plain() };
    let end = "start T1.1; done T1.1; start T1.2; fail T1.2 critical";
    let states = [
        ("no run", Walk::default()),
        ("under way", Walk::of(PHASES, plain(), "start T1.1")),
        ("phase 1 has ended and asks", Walk::of(PHASES, normal(), end)),
        ("phase 1 is being joined", Walk::of(PHASES, joining(), end)),
        ("phase 1 could not be joined", Walk::of(PHASES, joining(), &format!("{end}; conflict 1"))),
        ("over", Walk::of(PHASES, plain(), end)),
    ];
    let mut page = String::new();
    for (name, walk) in states {
        writeln!(page, "{name}").unwrap();
        for (shown, by, command) in run_commands() {
            writeln!(page, "  {shown:<26} {}", answer(&walk, &by, &command)).unwrap();
        }
        page.push('\n');
    }
    insta::assert_snapshot!("runs_by_commands", page);
}

fn run_commands() -> Vec<(String, Actor, Command)> {
    let other = || plan("1: T1.1 -; T1.9 - [x]");
    let completed = || vec![(id("T1.2"), Evidence::Unverified)];
    let lists: [Vec<TaskId>; 2] = [vec![id("T1.1")], vec![id("T1.9")]];
    let [done, failed] = lists;
    let adopt = Command::Adopt {
        plan: other(),
        settings: plain(),
        completed: done,
        failed,
        before: Before::default(),
    };
    let rebuild =
        Command::Rebuild { plan: plan(PHASES), completed: completed(), before: Before::default() };
    let typed = |line: &str| {
        let (by, command) = parse(line);
        (line.to_owned(), by, command)
    };
    let mut commands = vec![
        ("begin".to_owned(), agent(), Command::Begin { plan: other(), settings: plain() }),
        ("adopt".to_owned(), agent(), adopt.clone()),
        ("person: adopt".to_owned(), person(), adopt),
        (
            "replan, the same".to_owned(),
            agent(),
            Command::Replan { plan: plan(PHASES), keep_done: false },
        ),
        (
            "replan, without T1.2".to_owned(),
            agent(),
            Command::Replan { plan: other(), keep_done: false },
        ),
        ("rebuild".to_owned(), agent(), rebuild.clone()),
        ("person: rebuild".to_owned(), person(), rebuild),
    ];
    let lines = [
        "resume",
        "mode ultra-thin",
        "mode normal",
        "follow",
        "joined 1 abc1234",
        "conflict 1",
        "joined 7 abc1234",
        "approve 1",
        "person: approve 1",
        "person: approve 2",
        "start T1.1",
        "start T2.1",
        "start T9",
        "retry T1.2",
    ];
    commands.extend(lines.map(typed));
    commands
}

#[test]
fn the_matrix_has_a_task_of_every_status() {
    let walk = Walk::of(TASKS, plain(), TASKS_SCRIPT);
    let statuses: std::collections::BTreeSet<TaskStatus> =
        walk.active().tasks().map(|view| view.status).collect();
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), TaskStatus::ALL);
}
