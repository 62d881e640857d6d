//! The faults of the fault matrix that reach an executor, one row each.
//!
//! Not here: C2 (children that flee) and C3 to C5 (fork bombs, floods, hostile bytes) are ended, bounded
//! and decoded by the keeper, which tells the executor one end of the whole tree; C9 (a number that means
//! another process) is the keeper's too: the executor knows children by name only. Nor B6's summer time: the
//! core is told instants, which have none.

use super::world::{AGENT, Row, START, Who, World, ended, id};
use crate::{
    agent::Purse,
    execute::{
        RunEnd, Wish,
        conclude::Verdict,
        core::{AgentLimits, Input},
    },
};
use std::time::Duration;
use waypost_model::{
    retry::FailureClass,
    run::{Command, Failure, Isolation, ParkCause, Parked, TaskStatus},
    time::Time,
    trouble::Trouble,
};
use waypost_proc::{How, Refusal};

const YEAR_MS: i64 = 31_536_000_000;
const ONE: &[Row<'_>] = &[("T1", 1, &[], Who::Command)];
const ALL: [Isolation; 3] = [Isolation::None, Isolation::Phase, Isolation::Task];

/// A plan with everything in it: two phases, commands with and without checks, an agent.
const PLAN: &[Row<'_>] = &[
    ("T1", 1, &[], Who::Command),
    ("T2", 1, &["T1"], Who::Verified),
    ("T3", 1, &[], Who::Agent),
    ("T4", 2, &["T2"], Who::Verified),
];

/// A world whose only task runs.
fn running() -> World {
    let mut world = World::new(ONE, Isolation::None);
    world.start_child("T1#1");
    world.settle();
    world
}

/// A row: what is done to a world whose task runs, and how the task stands then.
struct Fault {
    name: &'static str,
    inflict: fn(&mut World),
    status: TaskStatus,
    /// The deeds since.
    deeds: &'static [&'static str],
    /// How often the task has been tried when the run is over.
    attempts: u32,
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "C1: it ignores SIGTERM and is killed after its grace: stopped, not failed",
        inflict: |world| world.wish(Wish::Stop),
        status: TaskStatus::Ready,
        deeds: &["stop T1#1"],
        attempts: 1,
    },
    Fault {
        name: "C1: it is killed because it ran for too long: failed, and tried again",
        inflict: |world| world.end_child("T1#1", How::TimedOut),
        status: TaskStatus::Ready,
        deeds: &[],
        attempts: 2,
    },
    Fault {
        name: "C6: it is taken away, tried again, and its first end comes late",
        inflict: |world| {
            assert!(world.command(&Command::Resume), "it is ready again");
            assert_eq!(world.log, ["stop T1#1"], "nothing beside what is not gone yet");
            world.finish_stops();
            world.hear_late(Input::Report(ended("T1#1", How::Exited(0))));
        },
        status: TaskStatus::InProgress,
        deeds: &["stop T1#1", "start T1#2"],
        attempts: 2,
    },
    Fault {
        name: "C7: the engine dies and the child lives: adopted, no second copy",
        inflict: |world| world.restart(0),
        status: TaskStatus::InProgress,
        deeds: &[],
        attempts: 1,
    },
    Fault {
        name: "C7: the engine dies, and the child ends before the next one is there",
        inflict: |world| {
            world.is_dead = true;
            world.end_child("T1#1", How::Exited(0));
            world.restart(0);
        },
        status: TaskStatus::Completed,
        deeds: &[],
        attempts: 1,
    },
    Fault {
        name: "C7: the task was taken away while no engine was there: no second copy beside the first",
        inflict: |world| {
            world.is_dead = true;
            assert!(world.command(&Command::Resume), "it is ready again");
            world.restart(0);
            assert_eq!(world.log, ["stop T1#1"]);
        },
        status: TaskStatus::InProgress,
        deeds: &["stop T1#1", "start T1#2"],
        attempts: 2,
    },
    Fault {
        name: "C7: the keeper dies with the child: proven dead, begun again",
        inflict: World::lose_keeper,
        status: TaskStatus::InProgress,
        deeds: &["start T1#2"],
        attempts: 2,
    },
    Fault {
        name: "C8: it cannot be executed: failed for good, not tried again",
        inflict: |world| {
            let mut fresh = World::new(ONE, Isolation::None);
            let detail = "no such folder".to_owned();
            fresh.refuse_child("T1#1", Refusal::Impossible { detail });
            *world = fresh;
        },
        status: TaskStatus::Failed,
        deeds: &["start T1#1"],
        attempts: 1,
    },
    Fault {
        name: "C8: it holds its output open after its end: the keeper tells the end all the same",
        inflict: |world| world.end_child("T1#1", How::Exited(1)),
        status: TaskStatus::Ready,
        deeds: &[],
        attempts: 2,
    },
    Fault {
        name: "C10: asked to finish: what runs goes on",
        inflict: |world| world.wish(Wish::Finish),
        status: TaskStatus::InProgress,
        deeds: &[],
        attempts: 1,
    },
    Fault {
        name: "C10: asked twice: what runs is stopped",
        inflict: |world| {
            world.wish(Wish::Finish);
            world.wish(Wish::Stop);
        },
        status: TaskStatus::Ready,
        deeds: &["stop T1#1"],
        attempts: 1,
    },
    Fault {
        name: "C10: asked to finish before it has begun: it waits again",
        inflict: |world| {
            *world = World::new(ONE, Isolation::None);
            world.wish(Wish::Finish);
        },
        status: TaskStatus::Ready,
        deeds: &["start T1#1", "stop T1#1"],
        attempts: 1,
    },
    Fault {
        name: "C11: the machine has no process left: it waits, has not failed, and is not asked again at once",
        inflict: |world| {
            *world = World::new(ONE, Isolation::None);
            world.refuse_child("T1#1", Refusal::Busy { detail: "EAGAIN".into() });
        },
        status: TaskStatus::Ready,
        deeds: &["start T1#1"],
        attempts: 2,
    },
];

#[test]
fn faults_of_processes() {
    for fault in FAULTS {
        let mut world = running();
        world.log.clear();
        (fault.inflict)(&mut world);
        world.settle();
        world.finish_stops();
        assert_eq!(world.status("T1"), fault.status, "{}", fault.name);
        assert_eq!(world.log, fault.deeds, "{}", fault.name);
        let end = world.finish();
        let is_asked = world.core.wish() != Wish::GoOn && world.status("T1") == TaskStatus::Ready;
        assert_eq!(end, if is_asked { RunEnd::Stopped } else { RunEnd::Over }, "{}", fault.name);
        let [(_, _, attempts)] = &world.statuses()[..] else { panic!("one task") };
        assert_eq!(*attempts, fault.attempts, "{}", fault.name);
        world.check_completions();
    }
}

/// A row: what is done to a world whose only task is at work, wherever and by whom it is worked on.
struct Anywhere {
    name: &'static str,
    inflict: fn(&mut World),
    end: RunEnd,
    /// How often the task has been tried then, by a command and by an agent.
    attempts: [u32; 2],
}

const ANYWHERE: &[Anywhere] = &[
    Anywhere {
        name: "B6: the clock goes back by a year",
        inflict: |world| world.now = Time::from_millis(world.now.millis() - YEAR_MS),
        end: RunEnd::Over,
        attempts: [1, 1],
    },
    Anywhere {
        name: "B6: the clock goes forward by a year",
        inflict: |world| world.now = Time::from_millis(world.now.millis() + YEAR_MS),
        end: RunEnd::Over,
        attempts: [1, 1],
    },
    Anywhere {
        name: "B6: the machine sleeps for eight hours",
        inflict: |world| world.now = world.now.plus(Duration::from_secs(8 * 3_600)),
        end: RunEnd::Over,
        attempts: [1, 1],
    },
    Anywhere {
        name: "C1: asked to stop: stopped, not failed",
        inflict: |world| {
            world.wish(Wish::Stop);
            world.finish_stops();
        },
        end: RunEnd::Stopped,
        attempts: [1, 1],
    },
    Anywhere {
        name: "C1: it fails, and is tried again",
        inflict: |world| end_work(world, false),
        end: RunEnd::Over,
        attempts: [2, 2],
    },
    Anywhere {
        name: "C6: it is taken away, and what it was has to go first",
        inflict: |world| {
            assert!(world.command(&Command::Resume), "it is ready again");
            world.settle();
            world.finish_stops();
        },
        end: RunEnd::Over,
        attempts: [2, 2],
    },
    Anywhere {
        name: "C7: the engine dies and the work goes on: adopted, no second copy",
        inflict: |world| world.restart(0),
        end: RunEnd::Over,
        attempts: [1, 1],
    },
    Anywhere {
        name: "C7: the engine dies, and the work ends before the next one is there",
        inflict: |world| {
            world.is_dead = true;
            end_work(world, true);
            world.restart(0);
        },
        end: RunEnd::Over,
        attempts: [1, 1],
    },
    Anywhere {
        name: "C7: the keeper of commands dies with them; an agent has its own",
        inflict: World::lose_keeper,
        end: RunEnd::Over,
        attempts: [2, 1],
    },
    Anywhere {
        name: "C1: its keeper ends it, because no engine renewed its lease: it waits again, and is no failure",
        inflict: |world| match world.agents.contains_key(&id("T1")) {
            true => world.end_agent(&id("T1"), Verdict::Interrupted),
            false => world.lapse_child("T1#1"),
        },
        end: RunEnd::Over,
        attempts: [2, 2],
    },
    Anywhere {
        name: "C8: it holds its output open after its end: the end is told all the same",
        inflict: |world| end_work(world, true),
        end: RunEnd::Over,
        attempts: [1, 1],
    },
    Anywhere {
        name: "C10: asked twice: what is at work is stopped",
        inflict: |world| {
            world.wish(Wish::Finish);
            world.wish(Wish::Stop);
            world.finish_stops();
        },
        end: RunEnd::Stopped,
        attempts: [1, 1],
    },
    Anywhere {
        name: "C11: there is no process for others: what is at work goes on",
        inflict: |world| {
            world.find_trouble(Trouble::NoProcesses);
            world.settle();
            world.troubles.clear();
        },
        end: RunEnd::Over,
        attempts: [1, 1],
    },
    Anywhere {
        name: "I1: the machine is in trouble for a while: what is at work goes on",
        inflict: |world| {
            world.find_trouble(Trouble::NoSpace);
            for _ in 0..5 {
                world.settle();
                world.now = world.now.plus(Duration::from_secs(10));
            }
            world.troubles.clear();
        },
        end: RunEnd::Over,
        attempts: [1, 1],
    },
];

/// What is at work at the only task comes to its end.
fn end_work(world: &mut World, is_well: bool) {
    if world.agents.contains_key(&id("T1")) {
        let failure = Failure { text: "no".into(), ..Failure::default() };
        let verdict = match is_well {
            true => Verdict::Done { needs_change: false },
            false => Verdict::Failed(failure),
        };
        return world.end_agent(&id("T1"), verdict);
    }
    world.end_child("T1#1", How::Exited(i32::from(!is_well)));
}

#[test]
fn faults_wherever_and_by_whom_a_task_is_worked_on() {
    for (fault, isolation) in ANYWHERE.iter().flat_map(|it| ALL.map(|isolation| (it, isolation))) {
        for (who, attempts) in [Who::Command, Who::Agent].into_iter().zip(fault.attempts) {
            let what = format!("{} ({isolation:?}, {who:?})", fault.name);
            let mut world = World::new(&[("T1", 1, &[], who)], isolation);
            while !world.log.iter().any(|it| it.ends_with("T1#1")) {
                world.work();
            }
            world.start_child("T1#1");
            world.settle();
            (fault.inflict)(&mut world);
            world.settle();
            assert_eq!(world.finish(), fault.end, "{what}");
            let status = match fault.end {
                RunEnd::Over => TaskStatus::Completed,
                _ => TaskStatus::Ready,
            };
            assert_eq!(world.statuses(), [("T1".to_owned(), status, attempts)], "{what}");
            world.check_completions();
        }
    }
}

/// A row: what keeps the only task from beginning, wherever and by whom it is to be worked on; how it stands
/// when the run is over, and after how many attempts.
type Beginning = (&'static str, fn(&mut World), RunEnd, TaskStatus, u32);

const BEGINNINGS: &[Beginning] = &[
    (
        "C8: it cannot be executed: failed for good, not tried again",
        |world| {
            let failure = Failure { text: "no such program".into(), ..Failure::default() };
            let failure = Failure { class: FailureClass::Critical, ..failure };
            let detail = "no such program".to_owned();
            refuse(world, Refusal::Impossible { detail }, Verdict::Failed(failure));
        },
        RunEnd::Over,
        TaskStatus::Failed,
        1,
    ),
    (
        "C10: asked to finish before it has begun: it waits again",
        |world| {
            world.wish(Wish::Finish);
            world.finish_stops();
        },
        RunEnd::Stopped,
        TaskStatus::Ready,
        1,
    ),
    (
        "C11: the machine has no process left: it waits, has not failed, and is tried again later",
        |world| {
            let parked = Parked::troubled(Trouble::NoProcesses, "EAGAIN".into(), (world.now, 1));
            refuse(world, Refusal::Busy { detail: "EAGAIN".into() }, Verdict::Parked(parked));
        },
        RunEnd::Over,
        TaskStatus::Completed,
        2,
    ),
];

/// The child cannot be had; of an agent it is told in this way.
fn refuse(world: &mut World, why: Refusal, verdict: Verdict) {
    match world.agents.contains_key(&id("T1")) {
        true => world.end_agent(&id("T1"), verdict),
        false => world.refuse_child("T1#1", why),
    }
}

#[test]
fn what_keeps_a_task_from_beginning_wherever_and_by_whom_it_is_worked_on() {
    for isolation in ALL {
        for who in [Who::Command, Who::Agent] {
            for (name, inflict, end, status, attempts) in BEGINNINGS {
                // An agent that was begun is no task that has not begun.
                if *end == RunEnd::Stopped && who == Who::Agent {
                    continue;
                }
                let what = format!("{name} ({isolation:?}, {who:?})");
                let mut world = World::new(&[("T1", 1, &[], who)], isolation);
                while !world.log.iter().any(|it| it.ends_with("T1#1")) {
                    world.work();
                }
                inflict(&mut world);
                world.settle();
                assert_eq!(world.finish(), *end, "{what}");
                assert_eq!(world.statuses(), [("T1".to_owned(), *status, *attempts)], "{what}");
                if *status == TaskStatus::Completed {
                    assert_eq!(world.retries("T1"), 0, "{what}");
                }
                world.check_completions();
            }
        }
    }
}

/// C10: what is at work comes to its end; where there are work trees, its phase is joined the next time.
#[test]
fn a_run_that_is_asked_to_finish_finishes_what_is_at_work_wherever_and_by_whom() {
    for isolation in ALL {
        for who in [Who::Command, Who::Agent] {
            let mut world = World::new(&[("T1", 1, &[], who)], isolation);
            while !world.log.iter().any(|it| it.ends_with("T1#1")) {
                world.work();
            }
            world.start_child("T1#1");
            world.settle();
            world.wish(Wish::Finish);
            let want = if isolation.has_trees() { RunEnd::Stopped } else { RunEnd::Over };
            assert_eq!(world.finish(), want, "{isolation:?}, {who:?}");
            let done = ("T1".to_owned(), TaskStatus::Completed, 1);
            assert_eq!(world.statuses(), [done], "{isolation:?}, {who:?}");
        }
    }
}

/// An agent that may not begin is no failure, and begins when it may.
#[test]
fn an_agent_begins_only_when_it_may() {
    const ROWS: &[Row<'_>] = &[("T1", 1, &[], Who::Agent)];
    let all = AgentLimits { most: 4, ..AgentLimits::default() };
    let until = START.plus(Duration::from_secs(60));
    let limited = [(AGENT.to_owned(), (until, ParkCause::Limit))].into();
    for isolation in ALL {
        let none = AgentLimits { most: 0, ..all.clone() };
        let mut world = World::with(ROWS, isolation, none);
        (0..10).for_each(|_| world.work());
        assert_eq!((world.log.len(), world.over.clone()), (0, None), "{isolation:?}");
        world.allow_all();
        assert_eq!(world.finish(), RunEnd::Over, "{isolation:?}");
        assert_eq!(world.statuses(), [("T1".to_owned(), TaskStatus::Completed, 1)]);

        let mut world = World::with(
            ROWS,
            isolation,
            AgentLimits { limited: Clone::clone(&limited), ..all.clone() },
        );
        assert!((0..10).any(|_| {
            world.work();
            !world.log.is_empty()
        }));
        assert!(world.now >= until, "{isolation:?}: its account is at its limit");
        assert_eq!(world.finish(), RunEnd::Over, "{isolation:?}");

        let used_up = Some(Purse::Phase(1));
        let mut world = World::with(ROWS, isolation, AgentLimits { used_up, ..all.clone() });
        assert_eq!(world.finish(), RunEnd::PhaseOutOfMoney { phase: 1 }, "{isolation:?}");
        assert_eq!(world.log.len(), 0, "{isolation:?}");
        world.over = None;
        world.allow_all();
        world.restart(0);
        assert_eq!(world.finish(), RunEnd::Over, "{isolation:?}");
        assert_eq!(world.statuses(), [("T1".to_owned(), TaskStatus::Completed, 1)]);
    }
}

/// As long as something else is at work an agent may wait for a person; then it is ended, and comes back.
#[test]
fn an_agent_that_waits_for_a_person_is_ended_when_nothing_else_is_at_work() {
    let rows: &[Row<'_>] = &[("T1", 1, &[], Who::Agent), ("T2", 1, &[], Who::Command)];
    for isolation in [Isolation::None, Isolation::Task] {
        let mut world = World::new(rows, isolation);
        while !world.log.iter().any(|it| it == "start T2#1") {
            world.work();
        }
        world.wait_for_person(&id("T1"), true);
        world.settle();
        assert!(world.halted.is_empty(), "{isolation:?}: {:?}", world.log);
        world.end_child("T2#1", How::Exited(0));
        world.settle();
        while world.has_git_work() {
            world.finish_git(true);
            world.settle();
        }
        assert!(world.halted.contains(&id("T1")), "{isolation:?}: {:?}", world.log);
        assert_eq!(world.status("T2"), TaskStatus::Completed, "{isolation:?}");
        assert_eq!(world.finish(), RunEnd::Over, "{isolation:?}");
        let done = |task: &str, attempts| (task.to_owned(), TaskStatus::Completed, attempts);
        assert_eq!(world.statuses(), [done("T1", 2), done("T2", 1)], "{isolation:?}");
    }
}

/// What is begun from now on gets what there is now; what has begun keeps what it was given.
#[test]
fn another_site_is_for_what_begins_later() {
    for isolation in ALL {
        let rows: &[Row<'_>] = &[("T1", 1, &[], Who::Command), ("T2", 1, &["T1"], Who::Command)];
        let mut world = World::new(rows, isolation);
        while !world.log.iter().any(|it| it == "start T1#1") {
            world.work();
        }
        world.change_site(true);
        assert_eq!(world.finish(), RunEnd::Over, "{isolation:?}");
        let is_set_up = |task: &str| world.log.contains(&format!("start {task}#1/setup"));
        let found = (is_set_up("T1"), is_set_up("T2"));
        assert_eq!(found, (false, isolation.has_trees()), "{isolation:?}");
        let done = |task: &str| (task.to_owned(), TaskStatus::Completed, 1);
        assert_eq!(world.statuses(), [done("T1"), done("T2")], "{isolation:?}");
    }
}

#[test]
fn no_room_is_told_as_what_it_is_and_tried_again_later() {
    let mut world = World::new(ONE, Isolation::None);
    world.refuse_child("T1#1", Refusal::Busy { detail: "EAGAIN".into() });
    world.settle();
    let active = world.run.active().unwrap();
    let parked = active.task(&id("T1")).unwrap().parked(world.now).unwrap();
    assert_eq!((parked.cause, parked.in_a_row), (ParkCause::Infrastructure, 1));
    assert_eq!(parked.trouble, Some(Trouble::NoProcesses));
    world.now = world.now.plus(Duration::from_secs(1));
    world.settle();
    assert_eq!(world.log, ["start T1#1"]);
    world.now = world.now.plus(Duration::from_secs(1));
    world.settle();
    assert_eq!(world.log, ["start T1#1", "probe no_processes", "start T1#2"]);
}

#[test]
fn an_agent_is_halted_and_comes_back() {
    let rows: &[Row<'_>] = &[("T1", 1, &[], Who::Agent)];
    let mut world = World::new(rows, Isolation::None);
    assert_eq!(world.log, ["engage T1#1"]);
    world.wish(Wish::Stop);
    assert_eq!(world.log, ["engage T1#1", "halt T1"]);
    world.finish_stops();
    assert_eq!((world.finish(), world.status("T1")), (RunEnd::Stopped, TaskStatus::Ready));
}

#[test]
fn a_plan_is_worked_through_wherever_it_is_worked_on() {
    for isolation in ALL {
        let mut world = World::new(PLAN, isolation);
        assert_eq!(world.finish(), RunEnd::Over, "{isolation:?}");
        let done = |(_, status, attempts): &(_, _, u32)| {
            *status == TaskStatus::Completed && *attempts == 1
        };
        assert!(world.statuses().iter().all(done), "{isolation:?}: {:?}", world.statuses());
        world.check_completions();
    }
}

/// B1: an engine that dies before any of its deeds, and before any of what git does for it, is followed
/// by one that comes to the same end: each task is completed once, and nothing runs twice at a time.
#[test]
fn an_engine_may_die_between_any_two_deeds() {
    for isolation in ALL {
        let deeds = {
            let mut world = World::new(PLAN, isolation);
            world.finish();
            world.deeds
        };
        assert!(deeds > 15, "{isolation:?} has {deeds} deeds");
        for git_done in [0, usize::MAX] {
            for dies_after in 0..deeds {
                let mut world = World::new(PLAN, isolation);
                // Those of the beginning are done before it can be told when to die.
                world.dies_after = Some(dies_after.max(world.deeds));
                while !world.is_dead && world.over.is_none() {
                    world.work();
                }
                let before = world.statuses();
                world.over = None;
                world.restart(git_done);
                let end = world.finish();
                let at = format!("{isolation:?}, died after {dies_after}, git {git_done}");
                assert_eq!(end, RunEnd::Over, "{at}");
                world.check_completions();
                let after = world.statuses();
                for ((id, status, attempts), (_, now, attempts_now)) in before.iter().zip(&after) {
                    assert_eq!(*now, TaskStatus::Completed, "{at}: {id}");
                    if *status == TaskStatus::Completed {
                        assert_eq!(attempts, attempts_now, "{at}: {id} was done");
                    }
                }
            }
        }
    }
}

#[test]
fn what_was_joined_is_done_and_not_done_again() {
    let rows: &[Row<'_>] = &[("T1", 1, &[], Who::Command)];
    let mut world = World::new(rows, Isolation::Task);
    // Everything but the record of the join.
    while !world.log.iter().any(|it| it == "start T1#1") {
        world.work();
    }
    world.end_child("T1#1", How::Exited(0));
    world.settle();
    world.finish_git(true);
    world.settle();
    assert!(world.has_git_work(), "it is being joined");
    world.restart(1);
    assert_eq!(world.finish(), RunEnd::Over);
    assert_eq!(world.statuses(), [("T1".to_owned(), TaskStatus::Completed, 1)]);
    assert_eq!(world.log.iter().filter(|it| it.starts_with("start T1")).count(), 1);
}

#[test]
fn an_agent_that_ended_unheard_is_heard_by_the_next_engine() {
    let rows: &[Row<'_>] = &[("T1", 1, &[], Who::Agent)];
    let mut world = World::new(rows, Isolation::None);
    world.is_dead = true;
    world.end_agent(&id("T1"), Verdict::Done { needs_change: false });
    world.restart(0);
    assert_eq!(world.finish(), RunEnd::Over);
    assert_eq!(world.statuses(), [("T1".to_owned(), TaskStatus::Completed, 1)]);
}

#[test]
fn a_check_of_a_phase_is_stopped_with_everything_else() {
    let rows: &[Row<'_>] = &[("T1", 1, &[], Who::Command)];
    let mut world = World::new(rows, Isolation::Task);
    while !world.log.iter().any(|it| it.starts_with("start phase-1")) {
        world.work();
    }
    world.wish(Wish::Stop);
    assert_eq!(world.log.last().map(String::as_str), Some("stop phase-1#1/1"));
    assert_eq!(world.finish(), RunEnd::Stopped);
}
