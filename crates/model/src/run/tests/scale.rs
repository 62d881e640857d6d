//! A run of a hundred thousand tasks: begun, worked through and closed.
//!
//! No time is measured. Whatever cost more than a few steps per task would not end in the time
//! that a test has.

use super::{
    Actor, Command, Depends, Evidence, Plan, PlannedTask, Priority, TaskId, agent, id, plain,
};
use crate::{
    machine::{Asked, Machine as _},
    run::{Run, TaskStatus},
    time::Time,
};
use std::collections::BTreeMap;

const TASKS: u32 = 100_000;
const PHASES: u32 = 10;

/// Chains of three; each chain begins with the whole phase before.
fn chains() -> Plan {
    let each = |at: u32| {
        let depends = match at % 3 {
            0 => Depends::PhaseBefore,
            _ => Depends::On(vec![id(&format!("T{}", at - 1))]),
        };
        PlannedTask {
            id: id(&format!("T{at}")),
            title: String::new(),
            phase: at / 3 * 3 * PHASES / TASKS,
            depends,
            ticked: false,
            priority: Priority::Normal,
            line: at + 1,
            details: None,
        }
    };
    Plan::new("scale".into(), BTreeMap::new(), (0..TASKS).map(each).collect()).unwrap()
}

fn give(run: &mut Run, command: &Command, by: &Actor) {
    let asked = Asked { by, now: Time::default() };
    let mut next = Some(command.clone());
    while let Some(command) = next {
        for event in run.decide(&command, &asked).unwrap().events {
            run.apply(&event, asked.now);
        }
        next = run.follow_up();
    }
}

fn first_ready(run: &Run) -> Option<TaskId> {
    run.active().and_then(|active| active.ready().next()).map(|view| view.planned.id.clone())
}

#[test]
fn a_hundred_thousand_tasks_are_begun_and_completed() {
    let (mut run, by) = (Run::start(), agent());
    give(&mut run, &Command::Begin { plan: chains(), settings: plain() }, &by);
    while let Some(id) = first_ready(&run) {
        give(&mut run, &Command::Start { id: id.clone() }, &by);
        let evidence = Evidence::Unverified;
        give(&mut run, &Command::Done { id, attempt: Some(1), evidence, commit: None }, &by);
    }
    let active = run.active().unwrap();
    assert_eq!(active.count(TaskStatus::Completed), TASKS as usize);
    assert!(active.is_over());
}
