//! What every command leads to in every state, printed.

use super::*;
use crate::{
    inbox::{Question, QuestionKind, Topic},
    matrix::{Matrix, command_variants, outcome},
    run::{Account, Conversation, Prompt},
};

command_variants!(Command: Create, Edit, Submit, Assign, Engage, Launch, Converse, Exit, Account,
    Deliver, Hear, Ask, Observe, Verify, GiveUpVerifying, Approve, RequestChanges, Decide, Answer,
    Provide, Decline, Tell, Pause, TakeOver, Resume, Limit, EndLimit, Hinder, EndHindrance, Quarantine, Cancel, Fail, Retry, Archive,
    Delete, Checkpoint, Restore, LoseDependency, DropDependency, Align);

fn states() -> Vec<(&'static str, World)> {
    let running = |change: &dyn Fn(&mut World)| {
        let mut world = World::running(2);
        change(&mut world);
        world
    };
    let mut escalated = World::verifying(2);
    escalated.give(&give_up(1, "no verifier"));
    let mut completed = World::review(1);
    completed.person(&approve());
    vec![
        ("nothing", World::new()),
        ("draft", World::draft()),
        ("pending", World::pending(2)),
        ("in_progress, idle", World::idle(2)),
        ("in_progress, running", World::running(2)),
        ("in_progress, waiting_question", running(&|it| drop(it.say(10, question(true))))),
        ("in_progress, waiting_dependency", running(&|it| drop(it.say(10, value("KEY", true))))),
        ("in_progress, waiting_review", World::verifying(2)),
        ("in_progress, escalated", escalated),
        ("in_progress, paused by user", running(&|it| drop(it.person(&pause())))),
        (
            "in_progress, paused by rate_limit",
            running(&|it| {
                let parked = parked(ParkCause::Limit, Some(it.now));
                it.give(&Command::Limit { attempt: 1, parked });
            }),
        ),
        (
            "in_progress, cannot be set up",
            running(&|it| {
                it.give(&Command::Hinder { why: "no such agent".into(), next: Vec::new() });
            }),
        ),
        ("review", World::review(2)),
        ("completed", completed),
        ("failed", running(&|it| drop(it.person(&cancel())))),
        (
            "deleted",
            running(&|it| {
                it.person(&cancel());
                it.person(&Command::Delete);
            }),
        ),
    ]
}

/// Each command with the actor who gives it.
fn commands() -> Vec<(&'static str, Actor, Command)> {
    let engine = || Actor::Waypost;
    let hear = |signal| Command::Hear {
        attempt: 1,
        signals: vec![SpokenSignal { offset: 900, signal, cut: Vec::new() }],
        limits: SignalLimits::default(),
    };
    let prompt = Prompt { key: "may".into(), permit: None, text: "rm".into() };
    let asked = Question::new(QuestionKind::Permission, Topic::new("any"), "may I?", "");
    let conversation = Conversation {
        agent: "claude".into(),
        id: "c1".into(),
        is_open: true,
        counted: Usage::default(),
        wall: None,
    };
    let mut commands = vec![
        ("create", mina(), Command::Create { id: id(), fields: fields(), retry_of: None }),
        (
            "edit title",
            mina(),
            Command::Edit {
                change: TaskChange { title: Some("b".into()), ..TaskChange::default() },
            },
        ),
        ("submit", mina(), Command::Submit { shape: shape(2) }),
        ("assign", engine(), assign(1)),
        ("engage 2", engine(), Command::Engage { plan: plan(2) }),
        ("launch", engine(), Command::Launch { attempt: 1 }),
        ("converse", engine(), Command::Converse { attempt: 1, conversation }),
        ("exit by itself", engine(), exit(1, ExitCause::Itself)),
        ("exit asked", engine(), exit(1, ExitCause::Asked)),
        ("account", engine(), Command::Account { attempt: 1, account: Account::default() }),
        ("deliver", engine(), Command::Deliver { attempt: 1, up_to: 1 }),
        ("hear complete", engine(), hear(complete(1))),
        ("hear question", engine(), hear(question(true))),
        ("hear value", engine(), hear(value("OTHER", true))),
        ("hear fatal", engine(), hear(problem(true, None))),
        ("hear pause", engine(), hear(problem(false, Some(ProblemRecovery::PauseAndRetry)))),
        ("hear notify", engine(), hear(problem(false, Some(ProblemRecovery::NotifyUser)))),
        ("ask", engine(), Command::Ask { attempt: 1, prompt, question: asked }),
        (
            "observe",
            engine(),
            Command::Observe { phase: Some(1), steps_done: 1, current_step: Some("02_two".into()) },
        ),
        ("verify passed", engine(), verify(1, true)),
        ("verify failed", engine(), verify(1, false)),
        ("give up verifying", engine(), give_up(1, "")),
    ];
    commands.extend(later_commands());
    commands
}

/// Those that follow a claim, and those that may come at any time.
fn later_commands() -> Vec<(&'static str, Actor, Command)> {
    let engine = || Actor::Waypost;
    let other = || "task_other".parse().unwrap();
    let choose = |choice| Command::Decide { claim: 1, choice, text: String::new() };
    let why = String::new;
    vec![
        ("approve", mina(), approve()),
        ("request changes", mina(), changes("more")),
        ("decide retry", mina(), choose(EscalationChoice::Retry)),
        ("decide accept", mina(), choose(EscalationChoice::Accept)),
        ("decide fail", mina(), choose(EscalationChoice::Fail)),
        ("answer", mina(), Command::Answer { key: "1-10".into(), text: "green".into() }),
        ("provide", mina(), Command::Provide { item: key(1, 10) }),
        ("decline", mina(), Command::Decline { item: key(1, 10), why: String::new() }),
        ("tell", mina(), Command::Tell { text: "quick".into() }),
        ("pause", mina(), pause()),
        ("take over", mina(), Command::TakeOver),
        ("resume", mina(), Command::Resume),
        (
            "limit",
            engine(),
            Command::Limit {
                attempt: 1,
                parked: parked(ParkCause::Outage, Some(Time::from_millis(9_000_000))),
            },
        ),
        ("end limit", engine(), Command::EndLimit),
        ("hinder", engine(), Command::Hinder { why: why(), next: Vec::new() }),
        ("end hindrance", engine(), Command::EndHindrance),
        ("quarantine", engine(), Command::Quarantine { attempt: 1, why: why(), kept: None }),
        ("cancel", mina(), cancel()),
        ("fail", engine(), Command::Fail { why: "no".into() }),
        ("retry", mina(), Command::Retry { task: other() }),
        ("archive", mina(), Command::Archive),
        ("delete", mina(), Command::Delete),
        ("checkpoint", engine(), taken(CheckpointReason::Interval)),
        ("restore", mina(), Command::Restore { checkpoint: 1 }),
        (
            "lose dependency",
            engine(),
            Command::LoseDependency { task: other(), cause: LostCause::Failed },
        ),
        ("drop dependency", mina(), Command::DropDependency { task: other() }),
        ("align", engine(), Command::Align),
    ]
}

fn event_line(event: &Event) -> String {
    match event {
        Event::Moved { task, agent, trigger, .. } => {
            let task = task.map(|it| format!(" task {}", task_word(it)));
            let agent = agent.map(|it| format!(" agent {}", agent_word(it)));
            let trigger = serde_json::to_string(trigger).unwrap();
            format!("moved{}{} by {trigger}", task.unwrap_or_default(), agent.unwrap_or_default())
        }
        other => other.kind().to_owned(),
    }
}

#[test]
fn every_command_has_an_answer_in_every_state() {
    let mut matrix = Matrix::default();
    for at in 0..states().len() {
        matrix.state(states()[at].0);
        for (written, by, command) in commands() {
            let (_, mut world) = states().remove(at);
            let result = world.try_by(&by, &command);
            let line = outcome(&result, event_line);
            matrix.row((written, 18), variant_of(&command), &line);
        }
    }
    insta::assert_snapshot!("task_by_commands", matrix.page);
    Matrix::assert_shows_all(&[matrix], VARIANTS);
}

#[test]
fn every_word_of_an_event_is_serdes() {
    let world = World::review(2);
    for event in &world.events {
        let text = serde_json::to_string(event).unwrap();
        assert!(text.starts_with(&format!("{{\"{}\":", event.kind())), "{text}");
    }
}

#[test]
fn the_agent_machine_is_printed() {
    let mut page = String::new();
    for from in AGENT_STATES {
        for to in AGENT_STATES {
            let all = [
                "SUBMIT",
                "ASSIGN",
                "PHASE_COMPLETE",
                "VERIFICATION_PASSED",
                "VERIFICATION_FAILED",
                "APPROVE",
                "REQUEST_CHANGES",
                "DEPENDENCY_REQUEST",
                "DEPENDENCY_PROVIDED",
                "USER_QUESTION",
                "QUESTION_ANSWERED",
                "PAUSE",
                "RESUME",
                "RATE_LIMIT",
                "RATE_LIMIT_RESET",
                "CANCEL",
                "FATAL_ERROR",
                "PROCESS_EXIT",
                "RECOVERED",
            ];
            let words: Vec<&str> = all
                .into_iter()
                .filter(|word| {
                    let trigger = serde_json::from_str(&format!("\"{word}\"")).unwrap();
                    may_move(from, to, trigger)
                })
                .collect();
            if !words.is_empty() {
                use std::fmt::Write as _;
                let (from, to) = (agent_word(from), agent_word(to));
                writeln!(page, "{from:<18} → {to:<18} {}", words.join(", ")).unwrap();
            }
        }
    }
    insta::assert_snapshot!("agent_by_triggers", page);
}
