//! The end of a phase: verification, rework, escalation, review.

use super::*;
use crate::{
    code::Code,
    inbox::{LineComment, ReviewedDiff, ReviewedFile},
};
use std::time::Duration;

#[test]
fn findings_go_back_three_times_and_then_a_person_decides() {
    let mut world = World::verifying(2);
    for round in 1..=3_u32 {
        world.give(&verify(round, false));
        assert_eq!(world.states().1, AgentStatus::Running, "rework {round}");
        let expected = MessageBody::Rework {
            phase: 1,
            findings: vec!["docs/a.md:3: too thin".into()],
            rework: round,
            limit: 3,
        };
        assert_eq!(world.file().messages.last().unwrap().body, expected);
        world.say(u64::from(round) * 10 + 10, complete(1));
    }
    assert_eq!(world.open_entries(), Vec::<String>::new());
    world.give(&verify(4, false));
    // The task goes on being in progress; its agent waits.
    assert_eq!(world.states(), (ServerTaskStatus::InProgress, AgentStatus::WaitingReview));
    assert_eq!(world.open_entries(), ["escalation/4"]);

    let mut accepted = World { task: world.task.clone(), ..World::new() };
    let decide = |choice| Command::Decide { claim: 4, choice, text: "look at 3".into() };
    accepted.person(&decide(EscalationChoice::Accept));
    assert_eq!(accepted.states(), (ServerTaskStatus::Review, AgentStatus::WaitingReview));
    assert!(accepted.file().review.as_ref().unwrap().is_accepted);

    let mut failed = World { task: world.task.clone(), ..World::new() };
    failed.person(&decide(EscalationChoice::Fail));
    assert_eq!(failed.states(), (ServerTaskStatus::Failed, AgentStatus::Failed));

    world.person(&decide(EscalationChoice::Retry));
    assert_eq!(world.states().1, AgentStatus::Running);
    assert_eq!((world.open_entries(), world.file().reworks), (Vec::new(), 0));
    let MessageBody::Rework { findings, .. } = &world.file().messages.last().unwrap().body else {
        panic!("the findings go back")
    };
    assert_eq!(findings, &["docs/a.md:3: too thin", "look at 3"]);
}

#[test]
fn an_escalation_fails_by_itself_only_after_its_timeout() {
    let mut world = World::verifying(1);
    world.file();
    let escalation_timeout = Some(Duration::from_secs(60));
    let why = "its agent cannot be started".to_owned();
    let seen = Box::default();
    world.give(&Command::GiveUpVerifying { claim: 1, why, seen, escalation_timeout });
    let asked = world.effects.iter().find_map(|it| match it {
        Effect::Ask(question) => question.otherwise.clone(),
        _ => None,
    });
    assert_eq!(asked.map(|it| it.after_ms), Some(60_000));
    let decide = |choice| Command::Decide { claim: 1, choice, text: String::new() };
    // Waypost itself may let it fail, and nothing else.
    let refused = world.refused(&Actor::Waypost, &decide(EscalationChoice::Accept));
    assert_eq!(refused.code, Code::Reserved);
    world.give(&decide(EscalationChoice::Fail));
    assert_eq!(world.states().0, ServerTaskStatus::Failed);
    // Late.
    let late = world
        .task
        .decide(&decide(EscalationChoice::Fail), &Asked { by: &Actor::Waypost, now: world.now });
    assert_eq!(late, Ok(Decision::nothing()));
}

#[test]
fn a_request_for_changes_needs_a_text_and_starts_the_count_of_reworks_again() {
    let mut world = World::running(2);
    for round in 1..=3_u64 {
        world.say(round * 10, complete(1));
        world.give(&verify(u32::try_from(round).unwrap(), round == 3));
    }
    assert_eq!((world.states().0, world.file().reworks), (ServerTaskStatus::Review, 2));
    let refused = world.refused(&mina(), &changes("  "));
    assert_eq!(refused.code, Code::ReasonMissing);
    let comment = LineComment { file: "docs/a.md".into(), line: 4, text: "why?".into() };
    let command = Command::RequestChanges {
        version: Some(1),
        text: "explain".into(),
        comments: vec![comment.clone()],
    };
    world.person(&command);
    assert_eq!(world.states(), (ServerTaskStatus::InProgress, AgentStatus::Running));
    assert_eq!((world.file().reworks, world.file().claim), (0, None));
    let expected =
        MessageBody::Changes { phase: 1, text: "explain".into(), comments: vec![comment.clone()] };
    assert_eq!(world.file().messages.last().unwrap().body, expected);
    // The next review shows what was commented.
    world.say(100, complete(1));
    world.give(&verify(4, true));
    let shown = world.effects.iter().rev().find_map(|it| match it {
        Effect::Ask(question) => question.phase_review().cloned(),
        _ => None,
    });
    assert_eq!(shown.unwrap().comments, [comment]);
}

#[test]
fn an_answer_to_a_review_that_is_not_the_open_one_is_stale() {
    let mut world = World::review(2);
    world.person(&changes("again"));
    let stale = Command::Approve { version: Some(1) };
    let refused = world.refused(&mina(), &stale);
    assert_eq!(
        (refused.code, refused.cause.class()),
        (Code::ReviewStale, crate::code::Class::Locked)
    );
    world.say(20, complete(1));
    world.give(&verify(2, true));
    assert_eq!(world.refused(&mina(), &stale).code, Code::ReviewStale);
    world.person(&Command::Approve { version: Some(2) });
    assert_eq!(world.file().phase, Some(2));
    // There never was such a review.
    let refused = world.refused(&mina(), &Command::Approve { version: Some(9) });
    assert_eq!(refused.code, Code::TaskStatus);
}

#[test]
fn only_a_person_approves() {
    let mut world = World::review(2);
    for by in [agent(), Actor::Waypost] {
        assert_eq!(world.refused(&by, &approve()).code, Code::Reserved);
        assert_eq!(world.refused(&by, &changes("x")).code, Code::Reserved);
    }
    assert_eq!(world.states().0, ServerTaskStatus::Review);
}

#[test]
fn a_question_beside_the_end_of_a_phase_waits_behind_the_review() {
    let mut world = World::running(2);
    let signals = vec![
        SpokenSignal { offset: 30, signal: complete(1), cut: Vec::new() },
        SpokenSignal { offset: 10, signal: question(true), cut: Vec::new() },
    ];
    world.give(&Command::Hear { attempt: 1, signals, limits: SignalLimits::default() });
    assert_eq!(world.states().1, AgentStatus::WaitingReview);
    world.give(&verify(1, true));
    world.person(&approve());
    assert_eq!(world.states(), (ServerTaskStatus::InProgress, AgentStatus::WaitingQuestion));
    world.person(&Command::Answer { key: "1-10".into(), text: "green".into() });
    assert_eq!(world.states().1, AgentStatus::Running);
}

#[test]
fn the_end_of_another_phase_is_malformed_and_fires_nothing() {
    let mut world = World::running(2);
    world.say(10, complete(2));
    world.say(20, TaskSignal::CustomComplete {});
    assert_eq!(world.states().1, AgentStatus::Running);
    assert_eq!(world.open_entries(), ["malformed"], "one entry, however often");
    let told: Vec<&MessageBody> = world.file().messages.iter().map(|it| &it.body).collect();
    let why = "phase 1 is being worked on, not phase 2".to_owned();
    let block = "PHASE COMPLETE".to_owned();
    assert_eq!(told[1], &MessageBody::Malformed { block, why });
    let mut custom = World::running(0);
    custom.say(10, complete(1));
    assert_eq!((custom.states().1, custom.file().claim), (AgentStatus::Running, None));
}

#[test]
fn what_was_not_understood_is_settled_when_the_agent_is_understood_or_over() {
    let topic = TaskTopic::Malformed.into();
    let mut world = World::running(2);
    world.say(10, complete(2));
    assert_eq!((world.open_entries().len(), world.task.holds(&topic)), (1, None));
    world.say(20, complete(1));
    assert_eq!(world.open_entries(), Vec::<String>::new());
    let mut over = World::running(2);
    over.say(10, complete(2));
    over.person(&cancel());
    assert_eq!(over.open_entries(), Vec::<String>::new());
}

#[test]
fn what_is_accepted_is_reviewed_with_all_that_was_seen_of_it() {
    let diff = ReviewedDiff {
        folder: "/w".into(),
        base: "a".into(),
        head: "c0ffee".into(),
        files: 1,
        added: 2,
        removed: 0,
        text: "+tea".into(),
        is_cut: false,
    };
    let seen = UnverifiedWork {
        report: TaskReport {
            deliverables: vec![ReviewedFile { path: "docs/a.md".into(), bytes: 700 }],
            ..report(true)
        },
        commit: Some("c0ffee".into()),
        diff: Some(diff.clone()),
    };
    let accept =
        Command::Decide { claim: 1, choice: EscalationChoice::Accept, text: String::new() };
    let mut silent = World::verifying(2);
    let (why, seen) = ("no answer".to_owned(), Box::new(seen));
    let gave_up = Command::GiveUpVerifying { claim: 1, why, seen, escalation_timeout: None };
    silent.give(&gave_up);
    silent.person(&accept);
    let review = silent.file().review.clone().unwrap();
    assert_eq!((review.is_accepted, review.commit.as_deref()), (true, Some("c0ffee")));
    let material = silent.effects.iter().rev().find_map(|it| match it {
        Effect::Ask(question) => question.phase_review().cloned(),
        _ => None,
    });
    let material = material.unwrap();
    assert_eq!((material.diff, material.deliverables.len()), (Some(diff.clone()), 1));
    // The same where the verification failed once too often.
    let mut thin = World::verifying(2);
    for round in 1..=4_u32 {
        let Command::Verify { report, usage, commit, .. } = verify(round, false) else { continue };
        let (diff, escalation_timeout) = (Some(diff.clone()), None);
        thin.give(&Command::Verify {
            claim: round,
            report,
            usage,
            commit,
            diff,
            escalation_timeout,
        });
        thin.say(u64::from(round) * 10 + 10, complete(1));
    }
    thin.person(&Command::Decide {
        claim: 4,
        choice: EscalationChoice::Accept,
        text: String::new(),
    });
    let asked = thin.effects.iter().rev().find_map(|it| match it {
        Effect::Ask(question) => question.phase_review().cloned(),
        _ => None,
    });
    assert_eq!(asked.unwrap().diff, Some(diff));
}

#[test]
fn a_verification_that_comes_twice_or_late_changes_nothing() {
    let mut world = World::review(2);
    assert_eq!(world.give(&verify(1, false)), Decision::nothing());
    assert_eq!(world.give(&verify(2, true)), Decision::nothing());
    world.person(&approve());
    assert_eq!(world.give(&verify(1, false)), Decision::nothing());
    let late = give_up(1, "");
    assert_eq!(world.give(&late), Decision::nothing());
}

#[test]
fn a_review_is_compared_with_the_end_of_the_phase_before() {
    let mut world = World::verifying(3);
    world.give(&verify(1, true));
    assert_eq!(world.file().review.as_ref().unwrap().since, None);
    let commit = |name: &str| {
        let (commit, note) = (Some(name.to_owned()), String::new());
        let reason = CheckpointReason::PhaseComplete;
        let taken = CheckpointTaken { reason, commit, deliverables: Vec::new(), said_to: 0, note };
        Command::Checkpoint { taken }
    };
    world.give(&commit("first"));
    world.person(&approve());
    world.say(20, complete(2));
    world.give(&verify(2, true));
    let review = world.file().review.clone().unwrap();
    assert_eq!(
        (review.since.as_deref(), review.commit.as_deref()),
        (Some("first"), Some("c0ffee"))
    );
}
