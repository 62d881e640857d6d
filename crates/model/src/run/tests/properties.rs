//! What holds whatever happens, in whatever order, over whatever plan.

use super::{
    Active, Command, EndStep, Event, Isolation, Mode, PhaseStage, Plan, Run, Settings, TaskId,
    TaskStatus, Walk, agent, person,
    random::{Move, Standings, forward, moves, note, plans, reference, resolve, settings},
    topic_of,
};
use crate::document::Document as _;
use crate::{
    actor::Actor,
    image::{Codec, Image, Part, PartFile, PartKey, PartPlace},
    machine::{Cause, Decision, Machine as _, Rejected},
    run::{RunState, translate},
};
use proptest::{
    prelude::*,
    sample::select,
    strategy::ValueTree as _,
    test_runner::{RngSeed, TestRunner},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What can be said of a step: who did what, and what became of it.
struct Step {
    command: Command,
    result: Result<Decision<Event>, Rejected>,
}

/// The parts of an image as a file would keep them.
#[derive(Default)]
struct KeptParts {
    parts: BTreeMap<PartKey, Part>,
}

#[derive(Debug)]
struct Held(Vec<u8>);

impl PartFile for Held {
    fn read(&self, place: &PartPlace) -> Option<Vec<u8>> {
        let start = usize::try_from(place.at).unwrap();
        Some(self.0[start..start + place.length].to_vec())
    }

    fn lost(&self) -> ! {
        panic!("what is held is not lost")
    }
}

impl KeptParts {
    /// Takes over what has changed, and reads the run again from what is kept.
    fn renew(&mut self, run: &mut Run) -> Run {
        let taken = run.take_image::<Text>(self.parts.is_empty()).unwrap();
        if taken.is_whole {
            self.parts.clear();
        }
        self.parts.extend(taken.parts.into_iter().map(|part| (part.key, part)));
        let (mut bytes, mut places) = (Vec::new(), BTreeMap::new());
        for (key, part) in &self.parts {
            let (at, length) = (bytes.len() as u64, part.bytes.len());
            places.insert(*key, PartPlace { at, length, checksum: 0, counts: part.counts });
            bytes.extend_from_slice(&part.bytes);
        }
        let image = Image::new(Arc::new(Held(bytes)), places);
        Run::of_image::<Text>(&image).unwrap()
    }
}

struct Text;

impl Codec for Text {
    fn encode<T: Serialize>(value: &T) -> Vec<u8> {
        serde_json::to_vec(value).unwrap()
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        serde_json::from_slice(bytes).ok()
    }
}

type Look<'a> = &'a mut dyn FnMut(&Walk, &Step) -> Result<(), TestCaseError>;

/// Begins a run, goes through the moves and looks at each step.
fn walk_through(
    plan: Plan,
    settings: Settings,
    moves: Vec<Move>,
    look: Look<'_>,
) -> Result<Walk, TestCaseError> {
    let mut walk = Walk::default();
    step(&mut walk, (agent(), Command::Begin { plan, settings }), look)?;
    for each in moves {
        match resolve(&walk, each) {
            Some(given) => step(&mut walk, given, look)?,
            None => {
                walk.say("wait").expect("waiting is not refused");
            }
        }
    }
    Ok(walk)
}

fn step(
    walk: &mut Walk,
    (by, command): (Actor, Command),
    look: Look<'_>,
) -> Result<(), TestCaseError> {
    let result = walk.give(&command, &by);
    look(walk, &Step { command, result })
}

fn stored(run: &Run) -> String {
    serde_json::to_string(run).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The journal alone rebuilds the state, also from a snapshot in its middle, and what is
    /// rebuilt shows itself the same.
    #[test]
    fn the_journal_rebuilds_the_state(
        plan in plans(), settings in settings(), moves in moves(),
        cut in any::<prop::sample::Index>(),
    ) {
        let walk = walk_through(plan, settings, moves, &mut |_, _| Ok(()))?;
        let (head, tail) = walk.journal.split_at(cut.index(walk.journal.len() + 1));
        let mut run = Run::start();
        for (event, at) in head {
            run.apply(event, *at);
        }
        run = serde_json::from_str(&stored(&run)).unwrap();
        for (event, at) in tail {
            let text = serde_json::to_string(event).unwrap();
            let kind = format!("\"{}\"", Run::event_kind(event));
            prop_assert!(text.contains(&kind), "{} is not in {}", kind, text);
            run.apply(&serde_json::from_str(&text).unwrap(), *at);
        }
        prop_assert_eq!(stored(&run), stored(&walk.run));
        prop_assert_eq!(run.active().unwrap().render(), walk.active().render());
        let order = |active: &Active| {
            active.ready().map(|view| view.planned.id.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(order(run.active().unwrap()), order(walk.active()));
    }

    /// An image of which only the changed parts are taken says the same as the state, whenever it
    /// is taken, and a run goes on from it as if nothing had happened.
    #[test]
    fn an_image_is_the_state(
        plan in plans(), settings in settings(), moves in moves(),
        takes in prop::collection::vec(select(vec![false, false, true]), 1..20),
    ) {
        let walk = walk_through(plan, settings, moves, &mut |_, _| Ok(()))?;
        let (mut run, mut kept) = (Run::start(), KeptParts::default());
        for ((event, at), take) in walk.journal.iter().zip(takes.iter().cycle()) {
            run.apply(event, *at);
            if *take {
                let read = kept.renew(&mut run);
                prop_assert_eq!(stored(&read), stored(&run));
                let (read, was) = (read.active().unwrap(), run.active().unwrap());
                prop_assert_eq!(read.render(), was.render());
                prop_assert_eq!(read.summary(), was.summary());
                let order = |active: &Active| {
                    active.ready().map(|view| view.planned.id.clone()).collect::<Vec<_>>()
                };
                prop_assert_eq!(order(read), order(was));
                run = kept.renew(&mut run);
            }
        }
        prop_assert_eq!(stored(&run), stored(&walk.run));
        prop_assert_eq!(run.active().unwrap().render(), walk.active().render());
    }

    /// Pending, ready and blocked are what their definitions say; every task is in one list; the
    /// counts are the lengths of the lists; the most urgent is ready first.
    #[test]
    fn the_lists_are_what_the_graph_says(
        plan in plans(), settings in settings(), moves in moves(),
    ) {
        let (mut standings, mut seen) = (Standings::new(), 0);
        walk_through(plan, settings, moves, &mut |walk, _| {
            for (event, _) in &walk.journal[seen..] {
                note(&mut standings, event);
            }
            seen = walk.journal.len();
            check_lists(walk.active(), &standings)
        })?;
    }

    /// A completed task stays completed in its run unless its work is taken out, attempts only
    /// grow, and retries keep to their limit.
    #[test]
    fn what_is_done_stays_done(plan in plans(), settings in settings(), moves in moves()) {
        let mut before: BTreeMap<TaskId, (bool, u32)> = BTreeMap::new();
        walk_through(plan, settings, moves, &mut |walk, step| {
            if matches!(step.command, Command::BeginNew { .. }) && step.result.is_ok() {
                // A new run may do it again; attempts go on counting.
                before.values_mut().for_each(|(was_completed, _)| *was_completed = false);
            }
            for view in walk.active().tasks() {
                let id = &view.planned.id;
                let is_completed = view.status == TaskStatus::Completed;
                let known = before.insert(id.clone(), (is_completed, view.attempts));
                let (was_completed, attempts) = known.unwrap_or_default();
                let is_reverted = matches!(&step.command, Command::Revert { id: it } if it == id);
                prop_assert!(!was_completed || is_completed || is_reverted, "{}: {:?}", id, step.command);
                prop_assert!(view.attempts >= attempts, "{}: {:?}", id, step.command);
            }
            for event in step.result.iter().flat_map(|decision| &decision.events) {
                if let Event::AttemptFailed { id, .. } = event {
                    let settings = walk.active().settings();
                    let limit = match settings.mode {
                        Mode::Ralph => settings.max_iterations - 1,
                        Mode::Normal | Mode::UltraThin => settings.retry_limit,
                    };
                    prop_assert!(walk.active().task(id).unwrap().retries <= limit);
                }
            }
            Ok(())
        })?;
    }

    /// After what follows by itself, nothing is left to follow: the first phase that is not closed
    /// is the current one, and it is open only while something in it can happen.
    #[test]
    fn phases_follow_each_other(plan in plans(), settings in settings(), moves in moves()) {
        walk_through(plan, settings, moves, &mut |walk, step| {
            let active = walk.active();
            prop_assert_eq!(walk.run.follow_up(), None);
            let is_closed = |stage: &PhaseStage| matches!(stage, PhaseStage::Closed { .. });
            let first = active.phases().find(|(_, stage)| !is_closed(stage));
            prop_assert_eq!(first.is_none(), active.is_over());
            if let Some((number, stage)) = first {
                prop_assert_eq!(number, active.current_phase());
                let is_open = matches!(stage, PhaseStage::Open { .. });
                prop_assert_eq!(is_open, !active.progress(number).is_settled());
            }
            for event in step.result.iter().flat_map(|decision| &decision.events) {
                let Event::TaskStarted { id, .. } = event else { continue };
                let phase = active.task(id).unwrap().planned.phase;
                let earlier = active.phases().filter(|(number, _)| *number < phase);
                prop_assert!(earlier.into_iter().all(|(_, stage)| is_closed(stage)), "{}", id);
            }
            Ok(())
        })?;
    }

    /// The inbox asks about each phase and each agent that waits for a person, and about no other.
    #[test]
    fn exactly_what_waits_for_a_person_is_in_the_inbox(
        plan in plans(), settings in settings(), moves in moves(),
    ) {
        walk_through(plan, settings, moves, &mut |walk, _| {
            let asked: BTreeSet<String> =
                walk.inbox.open().iter().map(topic_of).collect();
            let waits = walk.active().phases().filter(|(_, stage)| {
                let step = EndStep::Joining;
                matches!(stage, PhaseStage::Ending { step: other, .. } if *other != step)
            });
            let waits = waits.map(|(number, _)| format!("phase/{number}"));
            let tasks = walk.active().tasks().filter_map(|view| Some((view.planned, view.trail?)));
            let agents = tasks.flat_map(|(task, trail)| {
                trail.asked.iter().map(|key| format!("task/{}/{key}", task.id))
            });
            prop_assert_eq!(asked, waits.chain(agents).collect::<BTreeSet<_>>());
            Ok(())
        })?;
    }

    /// A refusal changes nothing, is one line, and by a rule it names what comes next.
    #[test]
    fn a_refusal_says_what_comes_next(plan in plans(), settings in settings(), moves in moves()) {
        let mut before = String::new();
        walk_through(plan, settings, moves, &mut |walk, step| {
            let now = stored(&walk.run);
            if let Err(rejected) = &step.result {
                prop_assert_eq!(&now, &before);
                prop_assert!(!rejected.message.is_empty() && !rejected.message.contains('\n'));
                let needs_next = matches!(rejected.cause, Cause::Rule | Cause::Unknown);
                prop_assert!(!needs_next || !rejected.next.is_empty(), "{:?}", rejected);
            }
            before = now;
            Ok(())
        })?;
    }

    /// The file shows every state that can be reached, without contradiction, and comes back.
    #[test]
    fn the_window_shows_every_state(plan in plans(), settings in settings(), moves in moves()) {
        walk_through(plan, settings, moves, &mut |walk, _| {
            let shown = walk.active().render();
            prop_assert_eq!(shown.check(), []);
            let text = serde_json::to_string(&shown).unwrap();
            prop_assert_eq!(&serde_json::from_str::<RunState>(&text).unwrap(), &shown);
            let settings = walk.active().settings();
            prop_assert_eq!(translate(&shown, &shown, settings), Ok(Vec::new()));
            prop_assert_eq!(shown.difference(&shown), 0);
            Ok(())
        })?;
    }

    /// An edit that is taken over by a person leads to what it says.
    #[test]
    fn an_edit_leads_to_what_it_says(
        plan in plans(), settings in settings(), moves in moves(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), select(TaskStatus::ALL.to_vec())), 1..5,
        ),
    ) {
        let mut walk = walk_through(plan, settings, moves, &mut |_, _| Ok(()))?;
        let base = walk.active().render();
        let edited = edit(walk.active(), &base, &edits);
        let Ok(commands) = translate(&base, &edited, walk.active().settings()) else {
            return Ok(());
        };
        for command in &commands {
            prop_assert!(
                matches!(
                    command,
                    Command::Satisfy { .. } | Command::Skip { .. } | Command::Retry { .. }
                        | Command::Start { .. } | Command::Fail { .. }
                ),
                "{:?}", command
            );
            if walk.give(command, &person()).is_err() {
                return Ok(());
            }
        }
        prop_assert_eq!(walk.active().render().settled(), edited.settled());
    }

    /// A run whose ready tasks are finished somehow always ends.
    #[test]
    fn a_run_always_ends(
        plan in plans(), settings in settings(), moves in moves(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let mut walk = walk_through(plan, settings, moves, &mut |_, _| Ok(()))?;
        // A task has one try and at most three retries of two steps each, and phases have ends.
        let steps_max = 100 + walk.active().plan().tasks.len() * 4 * 4;
        let mut picks = picks.into_iter().cycle();
        for _ in 0..steps_max {
            if walk.active().is_over() {
                break;
            }
            walk.say("wait").unwrap();
            let pick = picks.next().unwrap();
            let (by, command) = forward(&walk, pick).expect("a run that is not over can go on");
            let _refused = walk.give(&command, &by).is_err();
        }
        prop_assert!(walk.active().is_over(), "{} {}", walk.phases(), walk.lists());
        let left = walk.active().count(TaskStatus::Pending) + walk.active().count(TaskStatus::Ready);
        prop_assert_eq!(left, 0);
    }
}

fn check_lists(active: &Active, standings: &Standings) -> Result<(), TestCaseError> {
    let want = reference(active, standings);
    let tasks = &active.plan().tasks;
    let got: Vec<TaskStatus> = active.tasks().map(|view| view.status).collect();
    prop_assert_eq!(&got, &want);
    let shown = active.render();
    for status in TaskStatus::ALL {
        let listed: Vec<&TaskId> = shown.tasks.of(status).iter().collect();
        let wanted: Vec<&TaskId> = tasks
            .iter()
            .zip(&want)
            .filter(|(_, each)| **each == status)
            .map(|(task, _)| &task.id)
            .collect();
        prop_assert_eq!(active.count(status), wanted.len(), "{}", status);
        prop_assert_eq!(listed, wanted, "{}", status);
    }
    prop_assert_eq!(shown.metrics.total_tasks as usize, tasks.len());
    prop_assert_eq!(shown.metrics.completed_count as usize, shown.tasks.completed.len());
    prop_assert_eq!(shown.metrics.failed_count as usize, shown.tasks.failed.len());
    for number in active.plan().phases.keys() {
        let count = |status| {
            let both = tasks.iter().zip(&want);
            both.filter(|(task, each)| task.phase == *number && **each == status).count()
        };
        let progress = active.progress(*number);
        let counted = (progress.completed, progress.failed, progress.blocked);
        let wanted = (TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Blocked);
        prop_assert_eq!(counted, (count(wanted.0), count(wanted.1), count(wanted.2)));
        let total = TaskStatus::ALL.into_iter().map(count).sum::<usize>();
        prop_assert_eq!(progress.total, total);
    }
    let ready: Vec<usize> = active.ready().map(|view| place(active, &view.planned.id)).collect();
    let mut wanted: Vec<usize> =
        (0..tasks.len()).filter(|at| want[*at] == TaskStatus::Ready).collect();
    wanted.sort_by_key(|at| (Reverse(tasks[*at].priority), *at));
    prop_assert_eq!(ready, wanted);
    Ok(())
}

fn place(active: &Active, id: &TaskId) -> usize {
    active.plan().tasks.iter().position(|task| task.id == *id).unwrap()
}

/// Moves some tasks into other lists.
fn edit(active: &Active, base: &RunState, edits: &[(prop::sample::Index, TaskStatus)]) -> RunState {
    let mut tasks = base.tasks.clone();
    for (at, status) in edits {
        let id = &active.plan().tasks[at.index(active.plan().tasks.len())].id;
        for list in [
            &mut tasks.pending,
            &mut tasks.ready,
            &mut tasks.in_progress,
            &mut tasks.completed,
            &mut tasks.failed,
            &mut tasks.blocked,
        ] {
            list.retain(|other| other != id);
        }
        match status {
            TaskStatus::Pending => tasks.pending.push(id.clone()),
            TaskStatus::Ready => tasks.ready.push(id.clone()),
            TaskStatus::InProgress => tasks.in_progress.push(id.clone()),
            TaskStatus::Completed => tasks.completed.push(id.clone()),
            TaskStatus::Failed => tasks.failed.push(id.clone()),
            TaskStatus::Blocked => tasks.blocked.push(id.clone()),
        }
    }
    RunState { tasks, ..base.clone() }
}

/// Properties say nothing about states that no walk reaches.
#[test]
fn random_walks_reach_every_event_and_every_end() {
    let config = ProptestConfig { rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let (mut events, mut ends, mut overs) = (BTreeSet::new(), BTreeSet::new(), 0);
    for _ in 0..400 {
        let (plan, settings, moves) =
            (plans(), settings(), moves()).new_tree(&mut runner).unwrap().current();
        let isolation = settings.isolation;
        let walk = walk_through(plan, settings, moves, &mut |_, step| {
            for event in step.result.iter().flat_map(|decision| &decision.events) {
                events.insert(Run::event_kind(event));
                if let Event::PhaseSettled { step, .. } = event {
                    ends.insert(format!("{step:?}"));
                }
            }
            Ok(())
        })
        .unwrap();
        overs += usize::from(walk.active().is_over() && isolation != Isolation::None);
    }
    assert_eq!(events.len(), 20, "{events:?}");
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), ["Approval", "Joining", "Stopped"]);
    assert!(overs > 0, "some walk came to its end through a merge");
}
