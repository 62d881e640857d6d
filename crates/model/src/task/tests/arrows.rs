//! The seed's two diagrams with the spec's settlements: every arrow is taken, and no other exists.

use super::*;
use crate::document::server::Trigger;
use proptest::prelude::*;

/// The arrows of the task machine, as the words of the seed.
const TASK: &[&str] = &[
    "draft SUBMIT pending",
    "pending ASSIGN in_progress",
    "pending CANCEL failed",
    "in_progress VERIFICATION_PASSED review",
    "in_progress PHASE_COMPLETE completed",
    "in_progress CANCEL failed",
    "in_progress FATAL_ERROR failed",
    "in_progress PROCESS_EXIT failed",
    "in_progress VERIFICATION_FAILED failed",
    "review APPROVE in_progress",
    "review APPROVE completed",
    "review REQUEST_CHANGES in_progress",
    "review RECOVERED in_progress",
    "review CANCEL failed",
    "review FATAL_ERROR failed",
];

/// Those of the agent machine.
const AGENT: &[&str] = &[
    "idle ASSIGN running",
    "idle PROCESS_EXIT failed",
    "idle CANCEL failed",
    "idle FATAL_ERROR failed",
    "running DEPENDENCY_REQUEST waiting_dependency",
    "running USER_QUESTION waiting_question",
    "running PHASE_COMPLETE waiting_review",
    "running PHASE_COMPLETE completed",
    "running PAUSE paused",
    "running RATE_LIMIT paused",
    "running CANCEL failed",
    "running FATAL_ERROR failed",
    "running PROCESS_EXIT failed",
    "paused RESUME running",
    "paused RATE_LIMIT_RESET running",
    "paused RECOVERED running",
    "paused CANCEL failed",
    "paused FATAL_ERROR failed",
    "waiting_dependency DEPENDENCY_PROVIDED running",
    "waiting_dependency PHASE_COMPLETE running",
    "waiting_dependency RECOVERED running",
    "waiting_dependency CANCEL failed",
    "waiting_dependency FATAL_ERROR failed",
    "waiting_question QUESTION_ANSWERED running",
    "waiting_question DEPENDENCY_REQUEST running",
    "waiting_question PHASE_COMPLETE running",
    "waiting_question RECOVERED running",
    "waiting_question CANCEL failed",
    "waiting_question FATAL_ERROR failed",
    "waiting_review APPROVE running",
    "waiting_review APPROVE completed",
    "waiting_review REQUEST_CHANGES running",
    "waiting_review VERIFICATION_FAILED running",
    "waiting_review VERIFICATION_FAILED failed",
    "waiting_review RECOVERED running",
    "waiting_review CANCEL failed",
    "waiting_review FATAL_ERROR failed",
];

/// What the seed's pictures show between two states, whatever the trigger, and what the spec adds.
const PAIRS: &[(&str, &str)] = &[
    ("idle", "running"),
    ("idle", "failed"),
    ("running", "waiting_dependency"),
    ("waiting_dependency", "running"),
    ("running", "waiting_question"),
    ("waiting_question", "running"),
    ("running", "waiting_review"),
    ("waiting_review", "running"),
    ("running", "paused"),
    ("paused", "running"),
    ("running", "completed"),
    ("running", "failed"),
    ("waiting_review", "completed"),
    ("waiting_review", "failed"),
    ("waiting_dependency", "failed"),
    ("waiting_question", "failed"),
    ("paused", "failed"),
];

fn trigger_word(trigger: Trigger) -> String {
    serde_json::to_string(&trigger).unwrap().trim_matches('"').to_owned()
}

/// The arrows of moves that go from one state to another.
fn arrows_of(moves: &[Arrow]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut task, mut agent) = (BTreeSet::new(), BTreeSet::new());
    for arrow in moves {
        let trigger = trigger_word(arrow.trigger);
        let (from, to) = arrow.task;
        if from != to {
            task.insert(format!("{} {trigger} {}", task_word(from), task_word(to)));
        }
        let (from, to) = arrow.agent;
        if from != to {
            agent.insert(format!("{} {trigger} {}", agent_word(from), agent_word(to)));
        }
    }
    (task, agent)
}

#[test]
fn the_agent_machine_has_these_arrows_and_no_other() {
    let mut found = BTreeSet::new();
    for from in AGENT_STATES {
        for to in AGENT_STATES {
            for trigger in triggers() {
                if may_move(from, to, trigger) {
                    let word = trigger_word(trigger);
                    found.insert(format!("{} {word} {}", agent_word(from), agent_word(to)));
                }
            }
        }
    }
    let expected: BTreeSet<String> = AGENT.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(found, expected);
    let pairs: BTreeSet<(String, String)> = found
        .iter()
        .map(|it| {
            let words: Vec<&str> = it.split(' ').collect();
            (words[0].to_owned(), words[2].to_owned())
        })
        .collect();
    let expected: BTreeSet<(String, String)> =
        PAIRS.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
    assert_eq!(pairs, expected);
}

fn triggers() -> Vec<Trigger> {
    use Trigger as T;
    vec![
        T::Submit,
        T::Assign,
        T::PhaseComplete,
        T::VerificationPassed,
        T::VerificationFailed,
        T::Approve,
        T::RequestChanges,
        T::DependencyRequest,
        T::DependencyProvided,
        T::UserQuestion,
        T::QuestionAnswered,
        T::Pause,
        T::Resume,
        T::RateLimit,
        T::RateLimitReset,
        T::Cancel,
        T::FatalError,
        T::ProcessExit,
        T::Recovered,
    ]
}

/// Worlds from which every arrow can be taken with one more command.
fn worlds() -> Vec<World> {
    let said = |signal: TaskSignal| {
        let mut world = World::running(2);
        world.say(10, signal);
        world
    };
    let escalated = || {
        let mut world = World::verifying(2);
        for round in 0..4_u32 {
            world.give(&verify(round + 1, false));
            if round < 3 {
                world.say(u64::from(round) * 10 + 20, complete(1));
            }
        }
        world
    };
    let paused = |limit: bool| {
        let mut world = World::running(2);
        world.give(&taken(CheckpointReason::Interval));
        match limit {
            true => {
                let until = Some(world.now);
                let parked = parked(ParkCause::Limit, until);
                world.give(&Command::Limit { attempt: 1, parked });
            }
            false => drop(world.person(&pause())),
        }
        world
    };
    let ended_often = || {
        let mut world = World::running(2);
        for number in 1..=3 {
            world.give(&exit(number, ExitCause::Itself));
            world.give(&Command::Engage { plan: plan(number + 1) });
            world.give(&Command::Launch { attempt: number + 1 });
        }
        world
    };
    let not_started = || {
        let mut world = World::idle(2);
        for number in 1..=3 {
            world.give(&exit(number, ExitCause::Itself));
            world.give(&Command::Engage { plan: plan(number + 1) });
        }
        world
    };
    let kept = |mut world: World| {
        world.give(&taken(CheckpointReason::Interval));
        world
    };
    vec![
        World::draft(),
        World::pending(2),
        World::idle(2),
        World::running(2),
        World::running(0),
        kept(said(question(true))),
        kept(said(value("KEY", true))),
        kept(World::verifying(2)),
        escalated(),
        kept(World::review(2)),
        World::review(1),
        paused(false),
        paused(true),
        ended_often(),
        not_started(),
    ]
}

/// One of each that moves something, from some state.
fn moving_commands() -> Vec<Command> {
    let hear = |signal: TaskSignal, attempt: u32| Command::Hear {
        attempt,
        signals: vec![SpokenSignal { offset: 900, signal, cut: Vec::new() }],
        limits: SignalLimits::default(),
    };
    let choice = |choice| Command::Decide { claim: 4, choice, text: String::new() };
    vec![
        Command::Submit { shape: shape(2) },
        assign(1),
        Command::Launch { attempt: 1 },
        hear(complete(1), 1),
        hear(TaskSignal::CustomComplete {}, 1),
        hear(question(true), 1),
        hear(value("OTHER", true), 1),
        hear(problem(true, None), 1),
        hear(problem(false, Some(ProblemRecovery::PauseAndRetry)), 1),
        verify(1, true),
        verify(1, false),
        approve(),
        changes("more tea"),
        choice(EscalationChoice::Retry),
        choice(EscalationChoice::Accept),
        choice(EscalationChoice::Fail),
        Command::Answer { key: "1-10".into(), text: "green".into() },
        Command::Provide { item: key(1, 10) },
        Command::Decline { item: key(1, 10), why: String::new() },
        pause(),
        Command::Resume,
        Command::EndLimit,
        cancel(),
        Command::Fail { why: "no".into() },
        exit(1, ExitCause::Itself),
        exit(4, ExitCause::Itself),
        Command::Hinder { why: "no such agent".into(), next: Vec::new() },
        Command::EndHindrance,
        Command::Restore { checkpoint: 1 },
    ]
}

#[test]
fn every_arrow_is_taken_and_no_other() {
    let (mut task, mut agent) = (BTreeSet::new(), BTreeSet::new());
    for at in 0..worlds().len() {
        for command in moving_commands() {
            for by in [Actor::Waypost, mina()] {
                let mut world = worlds().remove(at);
                if world.try_by(&by, &command).is_ok() {
                    let (tasks, agents) = arrows_of(&world.moves);
                    task.extend(tasks);
                    agent.extend(agents);
                }
            }
        }
    }
    let set = |arrows: &[&str]| -> BTreeSet<String> {
        arrows.iter().map(|it| (*it).to_owned()).collect()
    };
    assert_eq!(task, set(TASK));
    assert_eq!(agent, set(AGENT));
}

/// Commands of all kinds with small numbers, so that many of them fit.
fn any_command() -> impl Strategy<Value = Command> {
    let attempt = 1..5_u32;
    let signal = prop_oneof![
        (1..4_u32).prop_map(complete),
        Just(TaskSignal::CustomComplete {}),
        any::<bool>().prop_map(question),
        any::<bool>().prop_map(|required| value("KEY", required)),
        Just(problem(false, Some(ProblemRecovery::PauseAndRetry))),
        Just(problem(false, Some(ProblemRecovery::NotifyUser))),
        prop::bool::weighted(0.1).prop_map(|fatal| problem(fatal, None)),
    ];
    let hear = (attempt.clone(), prop::collection::vec((0..40_u64, signal), 1..4)).prop_map(
        |(attempt, signals)| Command::Hear {
            attempt,
            signals: signals
                .into_iter()
                .map(|(offset, signal)| SpokenSignal { offset, signal, cut: Vec::new() })
                .collect(),
            limits: SignalLimits::default(),
        },
    );
    let item = (1..5_u32, 0..40_u64).prop_map(|(attempt, offset)| key(attempt, offset));
    prop_oneof![
        8 => hear,
        2 => Just(Command::Submit { shape: shape(2) }),
        2 => Just(assign(1)),
        4 => attempt.clone().prop_map(|attempt| Command::Launch { attempt }),
        4 => attempt.clone().prop_map(|number| Command::Engage { plan: plan(number) }),
        3 => attempt.clone().prop_map(|attempt| exit(attempt, ExitCause::Itself)),
        2 => attempt.prop_map(|attempt| exit(attempt, ExitCause::Asked)),
        4 => (1..6_u32, any::<bool>()).prop_map(|(claim, passed)| verify(claim, passed)),
        2 => Just(approve()),
        2 => Just(changes("again")),
        2 => item.clone().prop_map(|item| Command::Answer { key: item.to_string(), text: "green".into() }),
        2 => item.clone().prop_map(|item| Command::Provide { item }),
        1 => item.prop_map(|item| Command::Decline { item, why: String::new() }),
        2 => Just(pause()),
        2 => Just(Command::Resume),
        2 => Just(Command::EndLimit),
        1 => Just(Command::Hinder { why: "no such agent".into(), next: Vec::new() }),
        1 => Just(Command::EndHindrance),
        1 => Just(taken(CheckpointReason::Interval)),
        1 => (1..4_u32).prop_map(|checkpoint| Command::Restore { checkpoint }),
        1 => prop::bool::weighted(0.2).prop_map(|is| if is { cancel() } else { approve() }),
    ]
}

proptest! {
    /// Whatever happens in whatever order: no arrow but those, what is over stays over, replaying gives
    /// the same state, and an agent that waits has something that it waits for.
    #[test]
    fn nothing_leads_off_the_diagrams(commands in prop::collection::vec(any_command(), 1..80)) {
        let mut world = World::draft();
        for (at, command) in commands.iter().enumerate() {
            world.pass(60);
            let was_over = world.file().is_over();
            let before = world.states();
            let by = if at % 2 == 0 { mina() } else { Actor::Waypost };
            if world.try_by(&by, command).is_err() {
                prop_assert_eq!(world.states(), before);
            }
            prop_assert!(!was_over || world.states() == before);
        }
        let (task, agent) = arrows_of(&world.moves);
        for arrow in task {
            prop_assert!(TASK.contains(&arrow.as_str()), "{}", arrow);
        }
        for arrow in agent {
            prop_assert!(AGENT.contains(&arrow.as_str()), "{}", arrow);
        }
        for arrow in &world.moves {
            let (from, to) = arrow.agent;
            prop_assert!(from == to || may_move(from, to, arrow.trigger), "{:?}", arrow);
        }
        let file = world.file();
        let waits = match file.agent {
            AgentStatus::Paused => !file.pauses.is_none(),
            AgentStatus::WaitingReview => file.claim.is_some(),
            AgentStatus::WaitingDependency => file.items.values().any(|it| it.want.is_value()),
            AgentStatus::WaitingQuestion => file.items.values().any(|it| !it.want.is_value()),
            _ => true,
        };
        prop_assert!(waits, "{:?}", file);
        prop_assert_eq!(file.claim.is_some() && file.review.is_some(), file.status == ServerTaskStatus::Review);
        let mut replayed = ServedTask::start();
        for event in &world.events {
            let text = serde_json::to_string(event).unwrap();
            replayed.apply(&serde_json::from_str(&text).unwrap(), world.now);
        }
        let same = |task: &ServedTask| {
            let mut file = task.file().unwrap().clone();
            file.times = TaskTimes::default();
            file.items.values_mut().for_each(|it| it.since = world.now);
            (file.status, file.agent, file.phase, file.items, file.messages, file.claim)
        };
        prop_assert_eq!(same(&replayed), same(&world.task));
    }
}
