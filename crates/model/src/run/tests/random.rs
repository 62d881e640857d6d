//! Random plans and moves, and the run's lists computed the slow and obvious way.

use super::{
    Account, Active, Before, Command, Depends, Earlier, EndStep, Event, Evidence, Failure,
    Isolation, Mode, ParkCause, PhaseStage, Plan, PlannedTask, Priority, Prompt, Settings, TaskId,
    TaskStatus, Usage, Walk, agent, conversation, id, parked, person, question,
};
use crate::{actor::Actor, retry::FailureClass, time::Time};
use proptest::{collection::vec, prelude::*, sample::select};
use std::collections::{BTreeMap, BTreeSet};

/// One task before it has its place: phase, what it depends on, priority, tick, place in the file.
type Draft = (u32, Option<Vec<prop::sample::Index>>, Priority, bool, u16);

fn drafts() -> impl Strategy<Value = Draft> {
    let priorities =
        vec![Priority::Low, Priority::Normal, Priority::Normal, Priority::High, Priority::Critical];
    let depends = prop::option::weighted(0.6, vec(any::<prop::sample::Index>(), 0..3));
    (0u32..4, depends, select(priorities), prop::bool::weighted(0.05), any::<u16>())
}

/// Plans of up to thirty tasks in up to four phases. Ids say nothing about phases, so that two
/// plans share tasks which have moved.
pub(super) fn plans() -> impl Strategy<Value = Plan> {
    vec(drafts(), 1..30).prop_map(|drafts| {
        let name = |at: usize| id(&format!("T{at}"));
        let mut tasks: Vec<(u16, PlannedTask)> = Vec::new();
        for (at, (phase, depends, priority, ticked, place)) in drafts.into_iter().enumerate() {
            // Only what comes before it in this order, and in no later phase: no circles.
            let earlier: Vec<TaskId> = tasks
                .iter()
                .filter(|(_, other)| other.phase <= phase)
                .map(|(_, other)| other.id.clone())
                .collect();
            let depends = depends.map_or(Depends::PhaseBefore, |picks| {
                let picks = picks.iter().filter(|_| !earlier.is_empty());
                Depends::On(picks.map(|pick| pick.get(&earlier).clone()).collect())
            });
            let (id, title, line) = (name(at), format!("task {at}"), 1);
            let task =
                PlannedTask { id, title, phase, depends, ticked, priority, line, details: None };
            tasks.push((place, task));
        }
        tasks.sort_by_key(|(place, _)| *place);
        let tasks = tasks.into_iter().map(|(_, task)| task).collect();
        Plan::new("random".into(), BTreeMap::new(), tasks).unwrap()
    })
}

pub(super) fn settings() -> impl Strategy<Value = Settings> {
    (
        select(vec![Mode::Normal, Mode::UltraThin, Mode::UltraThin, Mode::Ralph]),
        select(vec![Isolation::None, Isolation::None, Isolation::Phase, Isolation::Task]),
        (0u32..4, 0u32..4, 1u32..4, 0u32..3),
    )
        .prop_map(|(mode, isolation, (max_parallel, retry_limit, max_iterations, same))| {
            Settings {
                mode,
                isolation,
                max_parallel,
                retry_limit,
                max_iterations,
                same_error_limit: same,
                ..Settings::default()
            }
        })
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Move {
    /// Something that the run waits for: a start, a result, a merge, a word.
    Forward(prop::sample::Index),
    /// A command about some task or phase, sensible or not.
    Task(Verb, prop::sample::Index),
    Replan(Plan),
    Rebuild(Plan),
    /// Whether everything is done again.
    BeginNew(Plan, bool),
    Configure(Settings),
    Wait,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Verb {
    Start,
    Done,
    DoneLate,
    Fail,
    FailForGood,
    Interrupt,
    Revert,
    Retry,
    Skip,
    Satisfy,
    SatisfyByAgent,
    Resume,
    Joined,
    Conflict,
    Approve,
    ApproveByAgent,
    Engage,
    Account,
    Park,
    Ask,
    Answer,
    TakeOver,
    HandBack,
}

pub(super) fn moves() -> impl Strategy<Value = Vec<Move>> {
    use Verb as V;
    #[rustfmt::skip]
    let verbs = vec![
        V::Start, V::Start, V::Done, V::Done, V::DoneLate, V::Fail, V::Fail, V::FailForGood,
        V::Interrupt, V::Revert, V::Retry, V::Retry, V::Retry, V::Skip, V::Satisfy, V::SatisfyByAgent, V::Resume,
        V::Joined, V::Conflict, V::Conflict, V::Approve, V::ApproveByAgent,
        V::Engage, V::Account, V::Park, V::Ask, V::Ask, V::Answer, V::Answer, V::TakeOver, V::HandBack,
    ];
    let each = prop_oneof![
        24 => any::<prop::sample::Index>().prop_map(Move::Forward),
        16 => (select(verbs), any::<prop::sample::Index>()).prop_map(|(verb, at)| Move::Task(verb, at)),
        1 => plans().prop_map(Move::Replan),
        1 => plans().prop_map(Move::Rebuild),
        1 => (plans(), any::<bool>()).prop_map(|(plan, again)| Move::BeginNew(plan, again)),
        1 => settings().prop_map(Move::Configure),
        2 => Just(Move::Wait),
    ];
    vec(each, 0..60)
}

/// What a move means in the present state.
pub(super) fn resolve(walk: &Walk, each: Move) -> Option<(Actor, Command)> {
    let active = walk.active();
    Some(match each {
        Move::Forward(at) => forward(walk, at)?,
        Move::Task(verb, at) => verb_command(active, verb, at),
        Move::Replan(plan) => (agent(), Command::Replan { plan, keep_done: false }),
        Move::Rebuild(plan) => {
            let merged = plan.tasks.iter().take(1).map(|it| (it.id.clone(), Evidence::Unverified));
            (
                person(),
                Command::Rebuild { completed: merged.collect(), plan, before: Before::default() },
            )
        }
        Move::BeginNew(plan, again) => {
            let earlier = if again { Earlier::IsDoneAgain } else { Earlier::Counts };
            let settings = active.settings().clone();
            (agent(), Command::BeginNew { plan, settings, earlier })
        }
        Move::Configure(settings) => (agent(), Command::Configure { settings }),
        Move::Wait => return None,
    })
}

/// Something that brings the run on, if there is anything.
pub(super) fn forward(walk: &Walk, at: prop::sample::Index) -> Option<(Actor, Command)> {
    let active = walk.active();
    let mut open: Vec<Command> = Vec::new();
    let mut engage = None;
    let limit = active.settings().max_parallel as usize;
    let has_room = limit == 0 || active.count(TaskStatus::InProgress) < limit;
    for view in active.tasks() {
        let id = view.planned.id.clone();
        match view.status {
            _ if view.trail.is_some_and(|trail| trail.taken_by.is_some()) => {
                open.push(Command::HandBack { id });
            }
            _ if view.waits_for_person() => {
                open.push(Command::Answer { id, key: "k1".into(), text: "allow".into() });
            }
            TaskStatus::Ready if has_room && !active.is_delayed(&id, walk.now) => {
                open.push(Command::Start { id });
            }
            TaskStatus::InProgress => {
                let attempt = Some(view.attempts);
                if view.trail.is_none() {
                    let conversation = conversation("claude", "c1");
                    let attempt = view.attempts;
                    engage = Some(Command::Engage { id: id.clone(), attempt, conversation });
                }
                let failure = Failure::default();
                let evidence = Evidence::Unverified;
                open.push(Command::Done { id: id.clone(), attempt, evidence, commit: None });
                open.push(Command::Fail { id, attempt, failure });
            }
            _ => {}
        }
    }
    for (phase, stage) in active.phases() {
        match stage {
            PhaseStage::Ending { step: EndStep::Approval, .. } => {
                open.push(Command::ApprovePhase { phase });
            }
            PhaseStage::Ending { .. } => {
                open.push(Command::PhaseJoined { phase, result: Ok(Some("abc1234".into())) });
            }
            _ => {}
        }
    }
    // Now and then a model agent works on what is in progress.
    if let Some(engage) = engage.filter(|_| at.index(4) == 0) {
        return Some((Actor::Waypost, engage));
    }
    let command = (!open.is_empty()).then(|| at.get(&open).clone())?;
    Some((person(), command))
}

fn verb_command(active: &Active, verb: Verb, at: prop::sample::Index) -> (Actor, Command) {
    let task = &active.plan().tasks[at.index(active.plan().tasks.len())];
    let (id, phase) = (task.id.clone(), task.phase);
    let attempts = active.task(&id).map_or(0, |view| view.attempts);
    let failure = |class| Failure {
        text: "broke".into(),
        class,
        signature: "E1".into(),
        resumes: at.index(2) == 0,
    };
    let evidence = Evidence::Unverified;
    match verb {
        Verb::Start => (agent(), Command::Start { id }),
        Verb::Done => (agent(), Command::Done { id, attempt: None, evidence, commit: None }),
        Verb::DoneLate => {
            let attempt = Some(attempts.saturating_sub(1));
            (agent(), Command::Done { id, attempt, evidence, commit: None })
        }
        Verb::Fail => {
            let failure = failure(FailureClass::Transient);
            (agent(), Command::Fail { id, attempt: None, failure })
        }
        Verb::FailForGood => {
            let failure = failure(FailureClass::Structural);
            (agent(), Command::Fail { id, attempt: None, failure })
        }
        Verb::Interrupt => (Actor::Waypost, Command::Interrupt { id, attempt: Some(attempts) }),
        Verb::Revert => (agent(), Command::Revert { id }),
        Verb::Retry => (agent(), Command::Retry { id }),
        Verb::Skip => (agent(), Command::Skip { id }),
        Verb::Satisfy => (person(), Command::Satisfy { id }),
        Verb::SatisfyByAgent => (agent(), Command::Satisfy { id }),
        Verb::Resume => (agent(), Command::Resume),
        Verb::Joined => (Actor::Waypost, Command::PhaseJoined { phase, result: Ok(None) }),
        // Aimed at where it can matter; a phase that could not be joined is rare enough.
        Verb::Conflict => {
            let phase = active.current_phase();
            (Actor::Waypost, Command::PhaseJoined { phase, result: Err("conflict.".into()) })
        }
        Verb::Engage
        | Verb::Account
        | Verb::Park
        | Verb::Ask
        | Verb::Answer
        | Verb::TakeOver
        | Verb::HandBack => agents_command(verb, id, attempts),
        Verb::Approve => (person(), Command::ApprovePhase { phase }),
        Verb::ApproveByAgent => (agent(), Command::ApprovePhase { phase }),
    }
}

/// A command about a task's model agent.
fn agents_command(verb: Verb, id: TaskId, attempt: u32) -> (Actor, Command) {
    let key = "k1".to_owned();
    match verb {
        Verb::Engage => (
            Actor::Waypost,
            Command::Engage { id, attempt, conversation: conversation("claude", "c1") },
        ),
        Verb::Account => {
            let usage = Usage { input: 10, output: 1, cached: 0, cost_micros: 5 };
            let account = Account { usage, counted: usage, result: Some("did it".into()) };
            (Actor::Waypost, Command::Account { id, account })
        }
        Verb::Park => {
            let until = Time::from_millis(0).plus(std::time::Duration::from_secs(50));
            let parked = parked(ParkCause::Limit, Some(until));
            (Actor::Waypost, Command::Park { id, attempt, parked })
        }
        Verb::Ask => {
            let permit = Some("p1".to_owned());
            let prompt = Prompt { key, permit, text: "may I?".to_owned() };
            (Actor::Waypost, Command::Ask { id, attempt, prompt, question: question("may I?") })
        }
        Verb::Answer => (person(), Command::Answer { id, key, text: "allow-run".into() }),
        Verb::TakeOver => (person(), Command::TakeOver { id }),
        _ => (person(), Command::HandBack { id }),
    }
}

/// What the events say of each task itself, kept apart from the machine.
pub(super) type Standings = BTreeMap<TaskId, TaskStatus>;

/// Notes one event; `Pending` stands for whatever the graph decides.
pub(super) fn note(standings: &mut Standings, event: &Event) {
    let (id, status) = match event {
        Event::Begun { .. } => return standings.clear(),
        Event::TaskStarted { id, .. } => (id, TaskStatus::InProgress),
        Event::TaskCompleted { id, .. } => (id, TaskStatus::Completed),
        Event::TaskFailed { id, .. } => (id, TaskStatus::Failed),
        Event::AttemptFailed { id, .. }
        | Event::AttemptInterrupted { id }
        | Event::AttemptParked { id, .. }
        | Event::TaskReopened { id } => (id, TaskStatus::Pending),
        _ => return,
    };
    standings.insert(id.clone(), status);
}

/// The status of every task by its definition, from the plan and the standings alone.
pub(super) fn reference(active: &Active, standings: &Standings) -> Vec<TaskStatus> {
    let plan = active.plan();
    let is_open = matches!(active.phase(active.current_phase()), Some(PhaseStage::Open { .. }));
    let status = |task: &PlannedTask| {
        let own = standings.get(&task.id).copied().unwrap_or(TaskStatus::Pending);
        let done = |other: &&PlannedTask| standings.get(&other.id) == Some(&TaskStatus::Completed);
        let needs = depends_on(plan, task);
        match own {
            TaskStatus::Pending if leads_to_failure(plan, task, standings) => TaskStatus::Blocked,
            TaskStatus::Pending
                if is_open && task.phase == active.current_phase() && needs.iter().all(done) =>
            {
                TaskStatus::Ready
            }
            own => own,
        }
    };
    plan.tasks.iter().map(status).collect()
}

/// Everything a task waits for, the whole phase before included where nothing is stated.
fn depends_on<'a>(plan: &'a Plan, task: &PlannedTask) -> Vec<&'a PlannedTask> {
    let before = plan.phases.keys().filter(|number| **number < task.phase).max();
    let is_needed = |other: &&PlannedTask| match &task.depends {
        Depends::On(ids) => ids.contains(&other.id),
        Depends::PhaseBefore => Some(&other.phase) == before,
    };
    plan.tasks.iter().filter(is_needed).collect()
}

/// Whether some way back from an open task, over open tasks, ends at one that has failed.
fn leads_to_failure(plan: &Plan, task: &PlannedTask, standings: &Standings) -> bool {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![task]);
    while let Some(at) = todo.pop() {
        for other in depends_on(plan, at) {
            match standings.get(&other.id) {
                Some(TaskStatus::Failed) => return true,
                Some(TaskStatus::Completed | TaskStatus::InProgress) => {}
                _ if seen.insert(&other.id) => todo.push(other),
                _ => {}
            }
        }
    }
    false
}
