//! Every command in every state, as one page to read.

use super::{
    Before, Command, Earlier, Isolation, Mode, Settings, TaskId, TaskStatus, Walk, agent, id,
    parse, person, plain, plan, summary,
};
use crate::{
    actor::Actor,
    evidence::Evidence,
    machine::{Asked, Machine as _},
    matrix::{Matrix, command_variants},
};

command_variants!(
    Command: Begin, BeginNew, Adopt, Replan, Rebuild, Resume, Configure, Start, Claim, Done, Fail,
    Interrupt, Retry, Skip, Satisfy, Revert, Engage, Account, Park, WakeAccount, WakeTask,
    ReportTrouble, WakeTrouble, Ask, Answer, TakeOver, HandBack, Follow, BasePhase, JoinAgain, PhaseJoined, ApprovePhase
);

/// One task of each status, and one that waits for its next try.
const TASKS: &str = "1: T1 -; T2 -; T3 -; T4 -; T5 T4; T6 T2; T7 -";
const TASKS_SCRIPT: &str =
    "start T2; start T3; done T3; start T4; fail T4 critical; start T7; fail T7";

const TASK_COMMANDS: [&str; 17] = [
    "start",
    "claim",
    "waypost: claim",
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
    insta::assert_snapshot!("tasks_by_commands", tasks_matrix().page);
}

fn tasks_matrix() -> Matrix {
    let walk = Walk::of(TASKS, plain(), TASKS_SCRIPT);
    let mut matrix = Matrix::default();
    for name in ["T6", "T1", "T7", "T2", "T3", "T4", "T5"] {
        let status = walk.active().task(&id(name)).unwrap().status;
        let is_delayed = walk.active().is_delayed(&id(name), walk.now);
        let delayed = if is_delayed { ", but delayed" } else { "" };
        matrix.state(&format!("a task that is {status}{delayed}"));
        for shown in TASK_COMMANDS {
            let (by, command) = parse(&named(shown, name));
            matrix.row((shown, 16), variant_of(&command), &answer(&walk, &by, &command));
        }
    }
    matrix
}

/// What agents left at a task, and the way to it.
const TRAILS: [(&str, &str); 11] = [
    ("started, without an agent", ""),
    ("its agent at work", "waypost: engage T1 1 c1"),
    ("its agent asks", "waypost: engage T1 1 c1; waypost: ask T1 1 k1 p1"),
    (
        "its agent was answered",
        "waypost: engage T1 1 c1; waypost: ask T1 1 k1 p1; person: answer T1 k1 allow",
    ),
    ("parked until a limit ends", "waypost: engage T1 1 c1; waypost: park T1 1 500"),
    ("held by an account", "waypost: engage T1 1 c1; waypost: hold T1 1 sign_in claude"),
    ("held by a budget", "waypost: engage T1 1 c1; waypost: hold T1 1 budget claude"),
    ("held by a trouble of the machine", "waypost: trouble T1 1 no_space"),
    ("taken over by a person", "waypost: engage T1 1 c1; person: take T1"),
    ("failed, to be tried again", "waypost: engage T1 1 c1; fail T1"),
    ("completed by its agent", "waypost: engage T1 1 c1; waypost: account T1 10; done T1"),
];

const TRAIL_COMMANDS: [&str; 28] = [
    "engage T1 1 c2",
    "waypost: engage T1 1 c2",
    "waypost: engage T1 9 c2",
    "account T1 7",
    "waypost: account T1 7",
    "park T1 1 900",
    "waypost: park T1 1 900",
    "waypost: hold T1 1 outage claude",
    "wake T1",
    "waypost: wake T1",
    "wake account claude",
    "waypost: wake account claude",
    "person: wake account claude",
    "waypost: trouble T1 1 no_files",
    "report no_space",
    "waypost: report no_space",
    "wake trouble no_space",
    "waypost: wake trouble no_space",
    "person: wake trouble no_space",
    "ask T1 1 k2",
    "waypost: ask T1 1 k2",
    "waypost: ask T1 1 k1 p1",
    "answer T1 k1 allow",
    "person: answer T1 k1 allow",
    "take T1",
    "person: take T1",
    "return T1",
    "person: return T1",
];

#[test]
fn every_command_has_an_answer_for_every_trail_of_agents() {
    insta::assert_snapshot!("trails_by_commands", trails_matrix().page);
}

fn trails_matrix() -> Matrix {
    let mut matrix = Matrix::default();
    for (name, script) in TRAILS {
        let walk = Walk::of("1: T1 -; T2 -", plain(), &format!("start T1; {script}"));
        matrix.state(&format!("a task, {name}"));
        for line in TRAIL_COMMANDS {
            let (by, command) = parse(line);
            matrix.row((line, 32), variant_of(&command), &answer(&walk, &by, &command));
        }
    }
    matrix
}

/// Puts the task's id behind the verb.
fn named(line: &str, name: &str) -> String {
    let at = line.find(": ").map_or(0, |at| at + 2);
    let (by, rest) = line.split_at(at);
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
    insta::assert_snapshot!("runs_by_commands", runs_matrix().page);
}

#[test]
fn every_command_has_a_row() {
    Matrix::assert_shows_all(&[tasks_matrix(), trails_matrix(), runs_matrix()], VARIANTS);
}

fn runs_matrix() -> Matrix {
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
    let mut matrix = Matrix::default();
    for (name, walk) in states {
        matrix.state(name);
        for (shown, by, command) in run_commands() {
            matrix.row((&shown, 26), variant_of(&command), &answer(&walk, &by, &command));
        }
    }
    matrix
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
        (
            "begin another".to_owned(),
            agent(),
            Command::BeginNew { plan: other(), settings: plain(), earlier: Earlier::IsDoneAgain },
        ),
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
        "base 1 abc1234",
        "waypost: base 1 abc1234",
        "join again",
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
