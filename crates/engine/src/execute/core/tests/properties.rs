//! What always holds, whatever happens in whatever order.

use super::world::{AGENT, Row, Who, World, ended, id};
use crate::{
    agent::Purse,
    execute::{
        RunEnd, Wish,
        conclude::Verdict,
        core::{AgentLimits, Concluded, Input},
        git_work::{GitResult, Made},
    },
};
use proptest::prelude::*;
use std::time::Duration;
use waypost_git::{Committed, Join};
use waypost_model::{
    evidence::Evidence,
    id::TaskId,
    run::{Command, Failure, Isolation, ParkCause, Parked, TaskStatus},
    time::Time,
    trouble::Trouble,
};
use waypost_proc::{How, Refusal};

const PLAN: &[Row<'_>] = &[
    ("T1", 1, &[], Who::Command),
    ("T2", 1, &[], Who::Verified),
    ("T3", 1, &["T1"], Who::Agent),
    ("T4", 1, &["T2"], Who::Verified),
    ("T5", 1, &[], Who::Nobody),
    ("T6", 2, &["T1"], Who::Agent),
    ("T7", 2, &["T2"], Who::Command),
];

/// What happens next; numbers choose among what there is.
#[derive(Clone, Debug)]
enum Act {
    StartChild(usize),
    EndChild(usize, u8),
    RefuseChild(usize, bool),
    LateReport(usize, u32),
    /// What an agent, or git, has done for an attempt that is over.
    LateAgent(usize, u32),
    LateGit(usize, u8),
    Git(bool),
    EndAgent(usize, u8),
    Restart {
        git_done: usize,
    },
    DieAfter(usize),
    LoseKeeper,
    Skip(usize),
    Retry(usize),
    /// A person says that a task is done, or that what was in progress is ready again.
    Done(usize),
    Resume,
    Pass(u16),
    /// The clock is set back, by so many seconds; or forward, by so many hours.
    SetBack(u16),
    SetForward(u16),
    /// An agent cannot go on for so many seconds.
    Park(usize, u16),
    /// An agent waits for a person, or goes on.
    Wait(usize, bool),
    /// How many agents may work at once.
    Allow(usize),
    /// Agents are not started for so many seconds.
    Limit(u16),
    /// Agents may not spend more: of the run, the day, or a phase.
    UsedUp(u8),
    /// The wall around what is begun is another one, and new trees are set up or not.
    Site(bool),
    /// The keeper ends a child because no engine has said for long that it may go on.
    Lapse(usize),
    /// The machine is in a trouble, or no longer.
    Trouble(usize, bool),
}

/// Troubles that the driver finds by looking, or that pass by themselves.
const TROUBLES: [Trouble; 4] =
    [Trouble::NoSpace, Trouble::ReadOnly, Trouble::DiskError, Trouble::NoProcesses];

fn act() -> impl Strategy<Value = Act> {
    let at = 0usize..8;
    prop_oneof![
        4 => at.clone().prop_map(Act::StartChild),
        8 => (at.clone(), any::<u8>()).prop_map(|(at, how)| Act::EndChild(at, how)),
        1 => (at.clone(), any::<bool>()).prop_map(|(at, busy)| Act::RefuseChild(at, busy)),
        2 => (at.clone(), 0u32..3).prop_map(|(at, attempt)| Act::LateReport(at, attempt)),
        8 => prop::bool::weighted(0.85).prop_map(Act::Git),
        5 => (at.clone(), any::<u8>()).prop_map(|(at, how)| Act::EndAgent(at, how)),
        1 => (0usize..3).prop_map(|git_done| Act::Restart { git_done }),
        1 => (0usize..6).prop_map(Act::DieAfter),
        1 => Just(Act::LoseKeeper),
        1 => at.clone().prop_map(Act::Skip),
        1 => at.clone().prop_map(Act::Retry),
        1 => at.prop_map(Act::Done),
        1 => Just(Act::Resume),
        3 => any::<u16>().prop_map(Act::Pass),
        1 => any::<u16>().prop_map(Act::SetBack),
        2 => (0usize..8, any::<u16>()).prop_map(|(at, seconds)| Act::Park(at, seconds)),
        2 => (0usize..8, any::<bool>()).prop_map(|(at, is_on)| Act::Trouble(at, is_on)),
        2 => (0usize..8, 0u32..3).prop_map(|(at, attempt)| Act::LateAgent(at, attempt)),
        2 => (0usize..8, any::<u8>()).prop_map(|(at, what)| Act::LateGit(at, what)),
        1 => any::<u16>().prop_map(Act::SetForward),
        3 => (0usize..8, any::<bool>()).prop_map(|(at, is_on)| Act::Wait(at, is_on)),
        2 => (0usize..4).prop_map(Act::Allow),
        1 => any::<u16>().prop_map(Act::Limit),
        1 => any::<u8>().prop_map(Act::UsedUp),
        1 => any::<bool>().prop_map(Act::Site),
        1 => (0usize..8).prop_map(Act::Lapse),
    ]
}

fn choose<T: Clone>(from: &[T], at: usize) -> Option<T> {
    (!from.is_empty()).then(|| from[at % from.len()].clone())
}

/// Whether an attempt is over. One that is still being stopped has its own end to come.
fn is_over(world: &World, id: &TaskId, attempt: u32) -> bool {
    let name = format!("{id}#{attempt}");
    let now = world.run.active().unwrap().task(id).unwrap().attempts;
    let is_alive = world.core.lives().any(|life| life.attempt.name() == name)
        || world.children(true).contains(&name)
        || world.agents.get(id) == Some(&attempt);
    !is_alive && (attempt < now || world.status(id.as_str()) != TaskStatus::InProgress)
}

/// An attempt that is over is said to have ended well.
fn report_late(world: &mut World, id: &TaskId, attempt: u32) {
    if is_over(world, id, attempt) {
        world.hear_late(Input::Report(ended(&format!("{id}#{attempt}"), How::Exited(0))));
    }
}

/// The same of its agent.
fn conclude_late(world: &mut World, id: &TaskId, attempt: u32) {
    world.settle();
    if is_over(world, id, attempt) {
        let (id, verdict) = (id.clone(), Verdict::Done { needs_change: false });
        let concluded = Concluded { id, attempt, verdict, with: Vec::new() };
        world.hear_late(Input::Concluded(Box::new(concluded)));
    }
}

/// Git is said to have done something for a task of which nothing is under way. While it is at work, or
/// in trouble, what it did last counts for others as well.
fn git_late(world: &mut World, id: &TaskId, what: u8) {
    world.settle();
    let is_under_way = world.core.lives().any(|life| life.attempt.id == *id);
    if is_under_way || world.has_git_work() || !world.troubles.is_empty() {
        return;
    }
    let id = id.clone();
    world.hear_late_git(match what % 4 {
        0 => GitResult::Made { id, made: Ok(Made::New) },
        1 => GitResult::Left { id, left: Ok(()) },
        2 => GitResult::Committed { id, committed: Ok(Committed::Gone) },
        _ => GitResult::Joined { id, join: Ok(Join::Nothing) },
    });
}

/// What changes for agents: how many may work, which of them, with what money.
fn allow(world: &mut World, act: &Act) {
    let most = 4;
    world.allow(match act {
        Act::Allow(most) => AgentLimits { most: *most, ..AgentLimits::default() },
        Act::Limit(seconds) => {
            let until = world.now.plus(Duration::from_secs(u64::from(*seconds)));
            let limited = [(AGENT.to_owned(), (until, ParkCause::Limit))].into();
            AgentLimits { most, limited, used_up: None }
        }
        Act::UsedUp(whose) => {
            let purse = match whose % 4 {
                0 => Purse::Run,
                1 => Purse::Day,
                number => Purse::Phase(u32::from(number) - 1),
            };
            AgentLimits { most, used_up: Some(purse), ..AgentLimits::default() }
        }
        _ => AgentLimits { most, ..AgentLimits::default() },
    });
}

/// What happens to children and to git; whether the act is one of these.
fn take_of_work(world: &mut World, act: &Act) -> bool {
    let task = |at: usize| id(PLAN[at % PLAN.len()].0);
    match act {
        Act::StartChild(at) => {
            let child = choose(&world.children(false), *at);
            child.into_iter().for_each(|name| world.start_child(&name));
        }
        Act::EndChild(at, how) => {
            let how = match how % 8 {
                0 => How::Exited(1),
                1 => How::Signalled(9),
                2 => How::TimedOut,
                _ => How::Exited(0),
            };
            let child = choose(&world.children(true), *at);
            child.into_iter().for_each(|name| world.end_child(&name, how));
        }
        Act::RefuseChild(at, is_busy) => {
            let detail = "no".to_owned();
            let why = match is_busy {
                true => Refusal::Busy { detail },
                false => Refusal::Impossible { detail },
            };
            let child = choose(&world.children(false), *at);
            child.into_iter().for_each(|name| world.refuse_child(&name, why.clone()));
        }
        Act::LateReport(at, attempt) => report_late(world, &task(*at), *attempt),
        Act::LateGit(at, what) => git_late(world, &task(*at), *what),
        Act::Lapse(at) => {
            let child = choose(&world.children(true), *at);
            child.into_iter().for_each(|name| world.lapse_child(&name));
        }
        Act::Git(is_well) => world.finish_git(*is_well),
        Act::LoseKeeper => world.lose_keeper(),
        _ => return false,
    }
    true
}

/// What happens to agents; whether the act is one of these.
fn take_of_agents(world: &mut World, act: &Act) -> bool {
    let task = |at: usize| id(PLAN[at % PLAN.len()].0);
    match act {
        Act::LateAgent(at, attempt) => conclude_late(world, &task(*at), *attempt),
        Act::Wait(at, is_on) => {
            let agents: Vec<_> = world.agents.keys().cloned().collect();
            choose(&agents, *at).into_iter().for_each(|id| world.wait_for_person(&id, *is_on));
        }
        Act::Allow(_) | Act::Limit(_) | Act::UsedUp(_) => allow(world, act),
        Act::EndAgent(at, how) => {
            let verdict = match how % 6 {
                0 => Verdict::Failed(Failure { text: "no".into(), ..Failure::default() }),
                1 => Verdict::Interrupted,
                _ => Verdict::Done { needs_change: false },
            };
            let agents: Vec<_> = world.agents.keys().cloned().collect();
            choose(&agents, *at).into_iter().for_each(|id| world.end_agent(&id, verdict.clone()));
        }
        Act::Park(at, seconds) => {
            let parked = Parked {
                until: Some(world.now.plus(Duration::from_secs(u64::from(*seconds)))),
                cause: ParkCause::Limit,
                why: "its window is full".into(),
                agent: "codex".into(),
                in_a_row: 1,
                trouble: None,
            };
            let agents: Vec<_> = world.agents.keys().cloned().collect();
            let verdict = Verdict::Parked(parked);
            choose(&agents, *at).into_iter().for_each(|id| world.end_agent(&id, verdict.clone()));
        }
        _ => return false,
    }
    true
}

/// What happens to engines, machines and people.
fn take_of_others(world: &mut World, act: &Act) {
    let task = |at: usize| id(PLAN[at % PLAN.len()].0);
    match act {
        Act::Site(has_setup) => world.change_site(*has_setup),
        Act::Trouble(at, is_on) => {
            let trouble = TROUBLES[at % TROUBLES.len()];
            match is_on {
                true => world.find_trouble(trouble),
                false => drop(world.troubles.remove(&trouble)),
            }
        }
        Act::SetBack(seconds) => {
            let millis = world.now.millis() - i64::from(*seconds) * 1_000;
            world.now = Time::from_millis(millis);
        }
        Act::SetForward(hours) => {
            world.now = world.now.plus(Duration::from_secs(u64::from(*hours) * 3_600));
        }
        Act::Restart { git_done } => world.restart(*git_done),
        Act::DieAfter(deeds) => world.dies_after = Some(world.deeds + deeds),
        Act::Skip(at) => {
            let id = task(*at);
            if world.status(id.as_str()) != TaskStatus::Completed {
                world.command(&Command::Skip { id });
            }
        }
        Act::Retry(at) => {
            world.command(&Command::Retry { id: task(*at) });
        }
        Act::Done(at) => {
            let (id, evidence) = (task(*at), Evidence::Unverified);
            world.command(&Command::Done { id, attempt: None, evidence, commit: None });
        }
        Act::Resume => {
            world.command(&Command::Resume);
        }
        Act::Pass(millis) => {
            world.now = world.now.plus(Duration::from_millis(u64::from(*millis)));
        }
        _ => unreachable!("it is one of the others"),
    }
}

fn take(world: &mut World, act: &Act) {
    if !take_of_work(world, act) && !take_of_agents(world, act) {
        take_of_others(world, act);
    }
    if world.is_dead {
        world.restart(1);
    }
    world.settle();
    if world.is_dead {
        world.restart(0);
    }
    world.check_completions();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// `World` holds that nothing is started but for the attempt that its task is at, and never beside
    /// another process of it; that nothing is completed twice; that a late report changes nothing.
    #[test]
    fn a_run_ends_whatever_happens(
        isolation in prop_oneof![Just(Isolation::None), Just(Isolation::Phase), Just(Isolation::Task)],
        acts in prop::collection::vec(act(), 0..80),
    ) {
        let mut world = World::new(PLAN, isolation);
        for act in &acts {
            if world.over.is_some() {
                break;
            }
            take(&mut world, act);
        }
        world.dies_after = None;
        world.troubles.clear();
        // A check of the phase did not pass, or there was no money: a person starts the run again.
        let is_person_needed = |end: &RunEnd| {
            use RunEnd::{NotJoined, OutOfMoney, PhaseOutOfMoney};
            matches!(end, NotJoined { .. } | OutOfMoney | PhaseOutOfMoney { .. })
        };
        if world.over.is_none() {
            world.allow_all();
        }
        let mut end = world.finish();
        for _ in 0..2 {
            if is_person_needed(&end) {
                world.over = None;
                world.allow_all();
                world.restart(0);
                end = world.finish();
            }
        }
        prop_assert_eq!(end, RunEnd::Over);
        world.check_completions();
        use TaskStatus::{Blocked, Completed, Failed};
        let is_settled = |status| matches!(status, Completed | Failed | Blocked);
        for (id, status, _) in world.statuses() {
            prop_assert!(is_settled(status), "{} is {:?}", id, status);
        }
    }

    #[test]
    fn a_run_that_is_asked_to_stop_ends_and_leaves_nothing_behind(
        isolation in prop_oneof![Just(Isolation::None), Just(Isolation::Phase), Just(Isolation::Task)],
        acts in prop::collection::vec(act(), 0..40),
        wish in prop_oneof![Just(Wish::Finish), Just(Wish::Stop)],
    ) {
        let mut world = World::new(PLAN, isolation);
        for act in &acts {
            if world.over.is_some() {
                return Ok(());
            }
            take(&mut world, act);
        }
        world.dies_after = None;
        world.wish(wish);
        let started = world.log.iter().filter(|it| it.starts_with("engage")).count();
        let end = world.finish();
        use RunEnd::{NotJoined, Over, Stopped};
        let is_end = matches!(end, Stopped | Over | NotJoined { .. });
        prop_assert!(is_end, "{:?}", end);
        let later = world.log.iter().filter(|it| it.starts_with("engage")).count();
        prop_assert_eq!(started, later, "no agent begins");
        let is_open = |status: TaskStatus| status == TaskStatus::InProgress;
        prop_assert!(!world.statuses().iter().any(|(_, status, _)| is_open(*status)));
    }
}
