//! The rules of attempts, questions, pauses, limits, checkpoints and ends.

use super::*;
use crate::{
    accounts,
    code::Code,
    document::ServerTaskId,
    inbox::Topic,
    next::NextStep,
    run::{Account, Budget, Priority},
};
use std::time::Duration;

#[test]
fn each_missing_field_is_named_at_submit() {
    let mut world = World::new();
    let create = Command::Create { id: id(), fields: TaskFields::default(), retry_of: None };
    world.give(&create);
    let refused = world.refused(&mina(), &Command::Submit { shape: shape(1) });
    assert_eq!(
        refused.message,
        "task_abc123 cannot be submitted without: title, type, description"
    );
    let change = TaskChange {
        title: Some("a shop".into()),
        description: Some("  ".into()),
        ..TaskChange::default()
    };
    world.person(&Command::Edit { change });
    let refused = world.refused(&mina(), &Command::Submit { shape: shape(1) });
    assert_eq!(refused.message, "task_abc123 cannot be submitted without: type, description");
    assert_eq!(world.states().0, ServerTaskStatus::Draft);
}

#[test]
fn what_may_be_changed_depends_on_how_far_it_is() {
    let title =
        Command::Edit { change: TaskChange { title: Some("b".into()), ..TaskChange::default() } };
    let agent = Command::Edit {
        change: TaskChange { agent: Some("codex".into()), ..TaskChange::default() },
    };
    let priority = Command::Edit {
        change: TaskChange { priority: Some(Priority::High), ..TaskChange::default() },
    };
    let may = |world: World, command: &Command| {
        let asked = Asked { by: &mina(), now: world.now };
        world.task.decide(command, &asked).is_ok()
    };
    let table = [
        (World::draft as fn() -> World, [true, true, true]),
        (|| World::pending(1), [false, true, true]),
        (|| World::running(1), [false, false, true]),
        (|| World::review(1), [false, false, true]),
    ];
    for (world, expected) in table {
        let found = [&title, &agent, &priority].map(|command| may(world(), command));
        assert_eq!(found, expected, "{:?}", world().states());
    }
    let mut over = World::running(1);
    over.person(&cancel());
    assert_eq!(over.refused(&mina(), &priority).code, Code::TaskStatus);
}

#[test]
fn the_stream_can_be_read_again_from_its_beginning() {
    let mut world = World::running(2);
    let signals = vec![
        SpokenSignal { offset: 10, signal: question(true), cut: Vec::new() },
        SpokenSignal { offset: 20, signal: value("KEY", true), cut: Vec::new() },
    ];
    let hear = |signals: &[SpokenSignal]| Command::Hear {
        attempt: 1,
        signals: signals.to_vec(),
        limits: SignalLimits::default(),
    };
    world.give(&hear(&signals));
    let before = world.task.clone();
    // As a whole, in other portions, and with more behind it.
    assert_eq!(world.give(&hear(&signals)), Decision::nothing());
    assert_eq!(world.give(&hear(&signals[1..])), Decision::nothing());
    assert_eq!(world.task, before);
    let mut more = signals;
    more.push(SpokenSignal { offset: 30, signal: complete(1), cut: Vec::new() });
    world.give(&hear(&more));
    assert_eq!((world.file().items.len(), world.file().claim_count), (2, 1));
    // An attempt that is not the newest is not heard any more.
    world.give(&exit(1, ExitCause::Asked));
    world.give(&Command::Engage { plan: plan(2) });
    let late = vec![SpokenSignal { offset: 900, signal: problem(true, None), cut: Vec::new() }];
    assert_eq!(world.give(&hear(&late)), Decision::nothing());
}

#[test]
fn the_state_of_an_agent_that_waits_is_the_highest_open_item() {
    let mut world = World::running(2);
    world.say(10, question(true));
    assert_eq!(world.states().1, AgentStatus::WaitingQuestion);
    world.say(20, value("KEY", true));
    assert_eq!(world.states().1, AgentStatus::WaitingDependency);
    world.person(&Command::Provide { item: key(1, 20) });
    assert_eq!(world.states().1, AgentStatus::WaitingQuestion);
    world.person(&Command::Answer { key: "1-10".into(), text: "green".into() });
    assert_eq!(world.states().1, AgentStatus::Running);
    assert_eq!(world.open_entries(), Vec::<String>::new());
}

#[test]
fn a_value_is_known_by_name_only_and_wants_a_new_process() {
    let mut world = World::running(2);
    world.say(10, value("KEY", true));
    world.say(20, value("KEY", false));
    assert!(!world.file().must_replace());
    let refused =
        world.refused(&mina(), &Command::Answer { key: "1-10".into(), text: "s3cret".into() });
    assert_eq!(refused.code, Code::AnswerUnknown);
    assert_eq!(
        world.refused(&agent(), &Command::Provide { item: key(1, 10) }).code,
        Code::Reserved
    );
    world.person(&Command::Provide { item: key(1, 10) });
    // Both wanted the same.
    assert_eq!((world.file().items.len(), world.states().1), (0, AgentStatus::Running));
    assert!(world.file().must_replace());
    world.give(&exit(1, ExitCause::Asked));
    let values: BTreeSet<String> = ["KEY".to_owned()].into();
    world.give(&Command::Engage { plan: AttemptPlan { values, ..plan(2) } });
    assert!(!world.file().must_replace());
    // Asked for again it is there already: the agent is told so and does not wait.
    world.give(&Command::Launch { attempt: 2 });
    world.say(10, value("KEY", true));
    assert_eq!(world.states().1, AgentStatus::Running);
    let last = &world.file().messages.last().unwrap().body;
    assert!(matches!(last, MessageBody::ValueProvided { name, .. } if name == "KEY"));
}

#[test]
fn what_is_declined_fails_the_task_if_it_is_required() {
    let mut world = World::running(2);
    world.say(10, value("KEY", false));
    world.person(&Command::Decline { item: key(1, 10), why: String::new() });
    assert_eq!(world.states().1, AgentStatus::Running);
    world.say(20, value("KEY", true));
    world.person(&Command::Decline { item: key(1, 20), why: String::new() });
    assert_eq!(world.states(), (ServerTaskStatus::Failed, AgentStatus::Failed));
    assert_eq!(world.file().reason.as_deref(), Some("KEY was declined"));
}

#[test]
fn an_optional_question_waits_and_then_takes_its_default() {
    let mut world = World::running(2);
    world.say(10, question(false));
    assert_eq!(world.states().1, AgentStatus::WaitingQuestion);
    let asked = world.effects.iter().find_map(|it| match it {
        Effect::Ask(question) => question.otherwise.clone(),
        _ => None,
    });
    let asked = asked.unwrap();
    assert_eq!((asked.reply.text(), asked.after_ms), ("green", 30 * 60_000));
    // The inbox answers for the person.
    world.give(&Command::Answer { key: "1-10".into(), text: "green".into() });
    let expected = MessageBody::Answered {
        item: key(1, 10),
        question: "which tea?".into(),
        answer: "green".into(),
        is_default: true,
    };
    assert_eq!(world.file().messages.last().unwrap().body, expected);
    assert_eq!(world.states().1, AgentStatus::Running);
    assert_eq!(
        world.refused(&agent(), &Command::Answer { key: "1-10".into(), text: "x".into() }).code,
        Code::Reserved
    );
}

#[test]
fn an_automatic_resume_never_undoes_a_persons_pause() {
    let mut world = World::running(2);
    let until = Some(world.now.plus(Duration::from_secs(60)));
    world.give(&Command::Limit { attempt: 1, parked: parked(ParkCause::Limit, until) });
    assert_eq!(world.states().1, AgentStatus::Paused);
    assert_eq!(world.file().blocked_by(), Some(crate::document::server::BlockedBy::RateLimit));
    world.person(&pause());
    assert_eq!(world.file().paused_by(), Some(crate::document::server::PausedBy::User));
    let due = world.task.due(&Topic::from(TaskTopic::Limit)).unwrap();
    // Before its time the timer of an earlier limit does nothing.
    assert_eq!(world.give(&due), Decision::nothing());
    world.pass(60);
    world.give(&due);
    assert_eq!(
        (world.states().1, world.file().pauses.limit.is_none()),
        (AgentStatus::Paused, true)
    );
    assert_eq!(world.refused(&agent(), &Command::Resume).code, Code::Reserved);
    world.person(&Command::Resume);
    assert_eq!(world.states().1, AgentStatus::Running);
    assert_eq!(world.refused(&mina(), &Command::Resume).code, Code::TaskStatus);
}

#[test]
fn a_person_may_end_a_limit_before_its_time_and_the_account_is_woken() {
    let mut world = World::running(2);
    let until = world.now.plus(Duration::from_secs(60));
    let limit = Command::Limit { attempt: 1, parked: parked(ParkCause::Limit, Some(until)) };
    let decision = world.give(&limit);
    let held = |it: &Effect| matches!(it, Effect::Account(accounts::Command::Hold { .. }));
    assert!(decision.effects.iter().any(held));
    let timer = Effect::SetTimer { topic: TaskTopic::Limit.into(), at: until };
    assert!(decision.effects.contains(&timer));
    assert_eq!(world.give(&limit), Decision::nothing());
    let decision = world.person(&Command::Resume);
    let wake = Effect::Account(accounts::Command::Wake { agent: "claude".into() });
    assert!(decision.effects.contains(&wake));
    assert!(decision.effects.contains(&Effect::CancelTimer { topic: TaskTopic::Limit.into() }));
    assert_eq!(world.states().1, AgentStatus::Running);
}

#[test]
fn an_error_that_is_to_be_waited_out_waits_longer_each_time() {
    let mut world = World::running(2);
    let mut waits = Vec::new();
    for round in 0..3_u64 {
        world.say(round * 10 + 10, problem(false, Some(ProblemRecovery::PauseAndRetry)));
        let until = world.file().pauses.limit.as_ref().unwrap().until.unwrap();
        waits.push(until.since(world.now).as_secs());
        world.now = until;
        world.give(&Command::EndLimit);
    }
    let is_near = |wait: u64, plain: u64| (plain..=plain + plain / 10).contains(&wait);
    assert!(is_near(waits[0], 60) && is_near(waits[1], 120) && is_near(waits[2], 240), "{waits:?}");
    // What was achieved starts the count again.
    world.say(100, complete(1));
    assert_eq!(world.file().limits_in_a_row, 0);
    // A time that the error names is taken.
    let mut named = World::running(2);
    let limit_until = Some(named.now.plus(Duration::from_secs(7)));
    let limits = SignalLimits { limit_until, ..SignalLimits::default() };
    let signal = problem(false, Some(ProblemRecovery::PauseAndRetry));
    let signals = vec![SpokenSignal { offset: 1, signal, cut: Vec::new() }];
    named.give(&Command::Hear { attempt: 1, signals, limits });
    assert_eq!(named.file().pauses.limit.as_ref().unwrap().until, limit_until);
}

#[test]
fn a_process_that_ends_by_itself_is_started_again_three_times() {
    let mut world = World::running(2);
    for number in 1..=3 {
        world.give(&exit(number, ExitCause::Itself));
        assert_eq!(world.states().1, AgentStatus::Running);
        assert!(world.file().wants_agent() && world.file().live_attempt().is_none());
        let wait = world.file().not_before.unwrap().since(world.now).as_secs();
        let plain = 1_u64 << number;
        assert!((plain..=plain + plain / 4 + 1).contains(&wait), "{number}: {wait}");
        // Told twice.
        assert_eq!(world.give(&exit(number, ExitCause::Itself)), Decision::nothing());
        world.give(&Command::Engage { plan: plan(number + 1) });
        world.give(&Command::Launch { attempt: number + 1 });
    }
    world.give(&exit(4, ExitCause::Stalled));
    assert_eq!(world.states(), (ServerTaskStatus::Failed, AgentStatus::Failed));
    assert_eq!(world.file().reason.as_deref(), Some("its agent ended by itself 4 times: killed"));
}

#[test]
fn a_process_that_ends_while_its_agent_waits_is_no_restart() {
    for signal in [question(true), value("KEY", true), complete(1)] {
        let mut world = World::running(2);
        world.say(10, signal);
        world.give(&exit(1, ExitCause::Itself));
        assert_eq!((world.file().restarts, world.file().not_before), (0, None));
        assert_eq!(world.states().0, ServerTaskStatus::InProgress);
    }
    let mut paused = World::running(2);
    paused.person(&pause());
    paused.give(&exit(1, ExitCause::Itself));
    assert_eq!(paused.file().restarts, 0);
    // And one that we ended is none either.
    let mut asked = World::running(2);
    asked.give(&exit(1, ExitCause::Asked));
    assert_eq!((asked.file().restarts, asked.states().1), (0, AgentStatus::Running));
}

#[test]
fn attempts_are_numbered_one_by_one_and_never_two_at_once() {
    let mut world = World::pending(2);
    let engine = Actor::Waypost;
    assert_eq!(world.refused(&engine, &assign(2)).code, Code::FencedAttempt);
    world.give(&assign(1));
    let engage = Command::Engage { plan: plan(2) };
    assert_eq!(world.refused(&engine, &engage).code, Code::TaskStatus);
    world.give(&exit(1, ExitCause::NotStarted));
    assert_eq!(
        world.refused(&engine, &Command::Engage { plan: plan(3) }).code,
        Code::FencedAttempt
    );
    world.give(&engage);
    for by in [mina(), agent()] {
        assert_eq!(world.refused(&by, &Command::Launch { attempt: 2 }).code, Code::WaypostOnly);
    }
    world.give(&Command::Launch { attempt: 2 });
    assert_eq!(world.states().1, AgentStatus::Running);
}

#[test]
fn a_pause_holds_an_agent_that_waits_when_it_would_go_on() {
    let mut world = World::running(2);
    world.say(10, question(true));
    world.person(&pause());
    assert_eq!((world.states().1, world.file().paused_by()), (AgentStatus::WaitingQuestion, None));
    world.person(&Command::Answer { key: "1-10".into(), text: "green".into() });
    assert_eq!(world.states().1, AgentStatus::Paused);
    // What was said before the process was stopped is heard all the same.
    world.say(20, complete(1));
    assert_eq!(world.states().1, AgentStatus::Paused);
    assert_eq!(world.file().unverified(), None);
    world.person(&Command::Resume);
    assert_eq!(world.states().1, AgentStatus::WaitingReview);
    assert!(world.file().unverified().is_some());
    let mut review = World::review(2);
    assert_eq!(review.refused(&mina(), &pause()).code, Code::TaskStatus);
}

#[test]
fn a_task_that_has_spent_its_budget_is_held_until_it_has_a_larger_one() {
    let mut world = World::running(2);
    let budget = |budget| Command::Edit {
        change: TaskChange { budget: Some(budget), ..TaskChange::default() },
    };
    world.person(&budget(Budget::Cents(100)));
    let usage = Usage { cost_micros: 1_000_000, ..Usage::default() };
    let account = Account { usage, counted: usage, result: None };
    let decision = world.give(&Command::Account { attempt: 1, account: account.clone() });
    let spend = accounts::Command::Spend { agent: "claude".into(), micros: 1_000_000 };
    assert!(decision.effects.contains(&Effect::Account(spend)));
    assert_eq!(
        (world.states().1, world.open_entries()),
        (AgentStatus::Paused, vec!["limit".into()])
    );
    assert_eq!(world.give(&Command::Account { attempt: 1, account }), Decision::nothing());
    assert_eq!(world.refused(&mina(), &Command::Resume).code, Code::BudgetSpent);
    assert_eq!(world.refused(&mina(), &Command::EndLimit).code, Code::BudgetSpent);
    world.person(&budget(Budget::Cents(200)));
    assert_eq!((world.states().1, world.open_entries()), (AgentStatus::Running, Vec::new()));
}

#[test]
fn an_attempt_without_proof_of_life_is_stopped_until_a_person_has_looked() {
    let mut world = World::running(2);
    let kept = Some("snapshot 7".to_owned());
    let stop = Command::Quarantine { attempt: 1, why: "Bash had no verdict".into(), kept };
    world.give(&stop);
    assert_eq!(
        (world.states().1, world.open_entries()),
        (AgentStatus::Paused, vec!["quarantine/1".into()])
    );
    assert!(world.file().live_attempt().is_none());
    assert_eq!(world.give(&stop), Decision::nothing());
    world.person(&Command::Resume);
    assert_eq!((world.states().1, world.open_entries()), (AgentStatus::Running, Vec::new()));
}

#[test]
fn checkpoints_are_pruned_to_the_ends_of_phases_and_the_newest_ten() {
    let mut world = World::running(2);
    for number in 1..=30_u32 {
        let ends = number % 7 == 0;
        let reason =
            if ends { CheckpointReason::PhaseComplete } else { CheckpointReason::Interval };
        world.give(&taken(reason));
    }
    let kept: Vec<u32> = world.file().checkpoints.iter().map(|it| it.id).collect();
    assert_eq!(kept, [7, 14, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
}

#[test]
fn a_person_goes_back_to_a_checkpoint_and_nothing_of_before_waits() {
    let mut world = World::review(2);
    world.give(&taken(CheckpointReason::PhaseComplete));
    world.person(&approve());
    world.say(20, question(true));
    let restore = Command::Restore { checkpoint: 1 };
    assert_eq!(world.refused(&agent(), &restore).code, Code::Reserved);
    let unknown = world.refused(&mina(), &Command::Restore { checkpoint: 9 });
    assert_eq!(unknown.code, Code::CheckpointUnknown);
    world.person(&restore);
    assert_eq!(world.states(), (ServerTaskStatus::InProgress, AgentStatus::Running));
    let file = world.file();
    assert_eq!((file.phase, file.items.len(), file.must_replace()), (Some(1), 0, true));
    assert_eq!(world.open_entries(), Vec::<String>::new());
    world.give(&exit(1, ExitCause::Asked));
    world.give(&Command::Engage { plan: AttemptPlan { from: Some(1), ..plan(2) } });
    assert!(!world.file().must_replace());
    world.person(&cancel());
    assert_eq!(world.refused(&mina(), &restore).code, Code::TaskStatus);
}

#[test]
fn what_was_open_at_a_checkpoint_is_asked_again_but_for_what_is_there_by_now() {
    let mut world = World::running(2);
    world.say(10, question(true));
    world.say(20, value("KEY", true));
    world.give(&taken(CheckpointReason::Dependency));
    world.person(&Command::Provide { item: key(1, 20) });
    world.person(&Command::Answer { key: "1-10".into(), text: "green".into() });
    assert_eq!((world.file().items.len(), world.open_entries()), (0, Vec::new()));
    world.person(&Command::Restore { checkpoint: 1 });
    let open: Vec<String> = world.file().items.keys().map(ToString::to_string).collect();
    assert_eq!((open, world.open_entries()), (vec!["1-10".into()], vec!["item/1-10".into()]));
    assert_eq!(world.states().1, AgentStatus::WaitingQuestion);
}

#[test]
fn the_default_of_a_value_that_is_not_given_wants_a_new_process() {
    let mut world = World::running(2);
    let TaskSignal::ValueWanted(wanted) = value("MODE", false) else { panic!("a value") };
    let wanted = ValueRequest { default: Some("plain".into()), ..wanted };
    world.say(10, TaskSignal::ValueWanted(wanted));
    world.person(&Command::Decline { item: key(1, 10), why: String::new() });
    assert_eq!((world.states().1, world.file().must_replace()), (AgentStatus::Running, true));
    assert_eq!(world.file().given(), BTreeSet::from(["MODE".to_owned()]));
}

#[test]
fn what_lost_its_end_is_told_to_the_agent() {
    let mut world = World::running(2);
    let cut = vec!["question".to_owned()];
    let signals = vec![SpokenSignal { offset: 1, signal: question(true), cut: cut.clone() }];
    world.give(&Command::Hear { attempt: 1, signals, limits: SignalLimits::default() });
    let told =
        world.file().messages.iter().any(|it| it.body == MessageBody::Cut { fields: cut.clone() });
    assert!(told, "{:?}", world.file().messages);
}

#[test]
fn what_is_named_holds_a_task_until_it_is_completed_or_dropped() {
    let other: ServerTaskId = "task_other".parse().unwrap();
    let mut world = World::draft();
    let dependencies = Some(vec![other.clone()]);
    world.person(&Command::Edit { change: TaskChange { dependencies, ..TaskChange::default() } });
    world.give(&Command::Submit { shape: shape(1) });
    assert_eq!(world.refused(&Actor::Waypost, &assign(1)).code, Code::TaskWaits);
    let lose = Command::LoseDependency { task: other.clone(), cause: LostCause::Cancelled };
    world.give(&lose);
    assert_eq!(world.states().0, ServerTaskStatus::Pending);
    assert_eq!(world.open_entries(), ["dependency/task_other"]);
    assert_eq!(world.give(&lose), Decision::nothing());
    let mut met = World { task: world.task.clone(), ..World::new() };
    let met_one =
        Command::Assign { plan: plan(1), workspace: workspace(), met: vec![other.clone()] };
    met.give(&met_one);
    assert_eq!(met.states().0, ServerTaskStatus::InProgress);
    world.person(&Command::DropDependency { task: other });
    assert_eq!(world.open_entries(), Vec::<String>::new());
    world.give(&assign(1));
}

#[test]
fn what_is_over_can_be_tried_again_hidden_and_deleted() {
    let mut world = World::running(2);
    let again: ServerTaskId = "task_again".parse().unwrap();
    let retry = Command::Retry { task: again.clone() };
    assert_eq!(world.refused(&mina(), &retry).code, Code::TaskStatus);
    assert_eq!(world.refused(&mina(), &Command::Delete).code, Code::TaskStatus);
    world.say(10, problem(true, None));
    assert_eq!(world.file().reason.as_deref(), Some("it broke"));
    world.person(&retry);
    assert_eq!(world.file().retried_as, Some(again));
    world.person(&Command::Archive);
    assert!(world.task.listing::<Plain>().unwrap().is_hidden);
    assert_eq!(world.refused(&agent(), &Command::Delete).code, Code::Reserved);
    world.person(&Command::Delete);
    assert!(world.task.file().is_none() && world.task.listing::<Plain>().is_none());
    assert_eq!(world.task.trace().unwrap().status, ServerTaskStatus::Failed);
    assert_eq!(world.refused(&mina(), &Command::Archive).code, Code::TaskUnknown);
    // Late words of the engine about it do no harm.
    assert_eq!(world.give(&exit(1, ExitCause::Asked)), Decision::nothing());
}

/// Encodes nothing.
struct Plain;

impl crate::image::Codec for Plain {
    fn encode<T: serde::Serialize>(value: &T) -> Vec<u8> {
        serde_json::to_vec(value).unwrap()
    }

    fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        serde_json::from_slice(bytes).ok()
    }
}

#[test]
fn what_the_agent_is_told_is_handed_over_in_order_and_once() {
    let mut world = World::running(2);
    let told = |world: &World| world.file().undelivered().map(|it| it.number).collect::<Vec<_>>();
    assert_eq!(told(&world), [1]);
    world.give(&Command::Deliver { attempt: 1, up_to: 1 });
    assert_eq!(world.give(&Command::Deliver { attempt: 1, up_to: 1 }), Decision::nothing());
    assert_eq!(world.give(&Command::Deliver { attempt: 1, up_to: 9 }), Decision::nothing());
    world.say(10, question(true));
    world.person(&Command::Answer { key: "1-10".into(), text: "green".into() });
    world.person(&Command::Tell { text: "and be quick".into() });
    assert_eq!(told(&world), [2, 3]);
    // Nothing is lost with the process that did not hear it.
    world.give(&exit(1, ExitCause::Itself));
    world.give(&Command::Engage { plan: plan(2) });
    assert_eq!(told(&world), [2, 3]);
    world.give(&Command::Deliver { attempt: 2, up_to: 3 });
    assert_eq!(told(&world), Vec::<u32>::new());
}

#[test]
fn what_cannot_be_set_up_waits_with_the_reason_and_spends_nothing() {
    let hinder = |why: &str| Command::Hinder { why: why.into(), next: vec![NextStep::ListAgents] };
    let mut world = World::pending(2);
    world.give(&hinder("there is no agent `nobody`"));
    assert_eq!(world.give(&hinder("there is no agent `nobody`")), Decision::nothing());
    assert_eq!(
        (world.states().0, world.open_entries()),
        (ServerTaskStatus::Pending, vec!["limit".into()])
    );
    assert_eq!(world.refused(&mina(), &hinder("x")).code, Code::WaypostOnly);
    // It goes on by being given to an agent.
    world.give(&assign(1));
    assert_eq!((world.file().hindrance(), world.open_entries()), (None, Vec::new()));
    for number in 1..=5 {
        world.give(&exit(number, ExitCause::NotStarted));
        world.give(&hinder("no such program"));
        assert!(world.file().wants_agent(), "it is tried again");
        world.give(&Command::Engage { plan: plan(number + 1) });
    }
    assert_eq!((world.file().restarts, world.states().0), (0, ServerTaskStatus::InProgress));
    assert_eq!(world.open_entries(), ["limit"]);
    // Whether its program can be started is known when it is heard.
    world.give(&Command::Launch { attempt: 6 });
    assert_eq!(world.open_entries(), ["limit"]);
    world.give(&Command::EndHindrance);
    assert_eq!((world.states().1, world.open_entries()), (AgentStatus::Running, Vec::new()));
    // One at work is paused meanwhile; a person who says so has it tried at once.
    world.give(&hinder("its type is gone"));
    assert_eq!(world.states().1, AgentStatus::Paused);
    world.person(&Command::EndLimit);
    assert_eq!((world.states().1, world.open_entries()), (AgentStatus::Running, Vec::new()));
    world.give(&hinder("its type is gone"));
    world.person(&pause());
    assert!(!world.file().wants_agent(), "what a person has paused is not tried");
    world.give(&Command::EndHindrance);
    assert_eq!(world.states().1, AgentStatus::Paused);
    world.person(&Command::Resume);
    assert_eq!(world.states().1, AgentStatus::Running);
}

#[test]
fn a_pause_of_a_phase_that_is_verified_holds_later_and_can_be_taken_back_at_any_time() {
    let mut world = World::verifying(2);
    world.person(&pause());
    assert!(world.file().is_to_be_paused());
    assert_eq!((world.states().1, world.file().paused_by()), (AgentStatus::WaitingReview, None));
    world.give(&verify(1, true));
    assert!(world.file().is_to_be_paused(), "it holds when the review is over");
    let mut resumed = World { task: world.task.clone(), ..World::new() };
    resumed.person(&Command::Resume);
    resumed.person(&approve());
    assert_eq!(resumed.states().1, AgentStatus::Running);
    world.person(&approve());
    assert_eq!((world.states().1, world.file().is_to_be_paused()), (AgentStatus::Paused, false));
}

#[test]
fn the_reason_of_a_no_reaches_the_agent_and_the_log() {
    let mut world = World::running(2);
    world.say(10, value("KEY", false));
    world.say(20, question(false));
    for offset in [10, 20] {
        let why = "there is no account".to_owned();
        world.person(&Command::Decline { item: key(1, offset), why });
    }
    let told: Vec<&MessageBody> = world.file().messages.iter().map(|it| &it.body).collect();
    let reasons = told.iter().filter_map(|it| match it {
        MessageBody::ValueDeclined { why, .. } | MessageBody::Unanswered { why, .. } => Some(why),
        _ => None,
    });
    assert_eq!(reasons.collect::<Vec<_>>(), ["there is no account"; 2]);
    let mut failed = World::running(2);
    failed.say(10, value("KEY", true));
    failed.person(&Command::Decline { item: key(1, 10), why: "too dear".into() });
    assert_eq!(failed.file().reason.as_deref(), Some("KEY was declined (too dear)"));
}
