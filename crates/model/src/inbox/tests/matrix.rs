//! Every command in every state, as one page to read.

use super::{Walk, a_day_after, effects, person, question, run_question};
use crate::{
    actor::Actor,
    inbox::{Command, Event, Inbox, Question, QuestionKind, Reply},
    machine::{Asked, Machine as _},
    matrix::{Matrix, command_variants, outcome},
};

command_variants!(Command: Ask, Settle, Answer, Remind, TakeDefault);

fn event_line(event: &Event) -> String {
    let rest = match event {
        Event::Asked { id, question } | Event::Reworded { id, question } => {
            format!("{id} ({})", question.text)
        }
        Event::Answered { id, reply, .. } => format!("{id} {} {}", reply.verb(), reply.text()),
        Event::Settled { id } | Event::Reminded { id } => id.to_string(),
    };
    format!("{} {rest}", Inbox::event_kind(event))
}

/// The question that all of this is about.
fn asked() -> Question {
    run_question("phase/1", QuestionKind::PhaseEnd)
}

/// The inbox as it is empty, with a question in it, after one and two reminders, and answered.
fn states() -> Vec<(&'static str, Walk)> {
    let walk = |reminders: usize| {
        let mut walk = Walk::default();
        effects(&mut walk, &Command::Ask(asked()), &Actor::Waypost);
        for _ in 0..reminders {
            walk.now = a_day_after(walk.now);
            let remind = Command::Remind { id: "q1".parse().unwrap() };
            effects(&mut walk, &remind, &Actor::Waypost);
        }
        walk
    };
    let mut reworded = walk(0);
    let other = Question { text: "2".into(), ..asked() };
    effects(&mut reworded, &Command::Ask(other), &Actor::Waypost);
    let with_default = |hours: u64| {
        let mut walk = Walk::default();
        let wait = std::time::Duration::from_secs(24 * 3_600);
        let question = asked().otherwise(Reply::answer("leave"), wait);
        effects(&mut walk, &Command::Ask(question), &Actor::Waypost);
        walk.now = walk.now.plus(std::time::Duration::from_secs(hours * 3_600));
        walk
    };
    let mut answered = walk(0);
    answered.answer("q1", "leave").unwrap();
    vec![
        ("nothing waits", Walk::default()),
        ("a question waits", walk(0)),
        ("a question waits, a person was reminded once", walk(1)),
        ("a question waits, a person was reminded twice", walk(2)),
        ("a question waits, reworded once", reworded),
        ("a question waits, with a default in a day", with_default(1)),
        ("a question waits, its deadline has come", with_default(25)),
        ("the question was answered", answered),
    ]
}

fn commands() -> Vec<(&'static str, Actor, Command)> {
    let reworded = || Question { text: "2".into(), ..asked() };
    let reply = |reply: Reply, version: Option<u32>| Command::Answer {
        id: "q1".parse().unwrap(),
        reply,
        version,
    };
    let answer = |text: &str| reply(Reply::answer(text), None);
    let take = || Command::TakeDefault { id: "q1".parse().unwrap() };
    let agent = Actor::Agent { id: "T1".into(), attempt: 1 };
    let settle = |question: Question| Command::Settle { subject: question.subject };
    let remind = || Command::Remind { id: "q1".parse().unwrap() };
    vec![
        ("ask", Actor::Waypost, Command::Ask(asked())),
        ("ask in other words", Actor::Waypost, Command::Ask(reworded())),
        ("ask for a workflow", Actor::Waypost, Command::Ask(question("gate/x", "1"))),
        ("settle", Actor::Waypost, settle(asked())),
        ("settle something else", Actor::Waypost, settle(question("gate/x", "1"))),
        ("person: answer reopen", person(), answer("reopen")),
        ("person: answer RE", person(), answer("RE")),
        ("person: answer nothing", person(), answer(" ")),
        ("person: approve", person(), reply(Reply::Approve, None)),
        ("person: retry", person(), reply(Reply::Retry(String::new()), None)),
        ("person: answer reopen to version 1", person(), reply(Reply::answer("reopen"), Some(1))),
        ("agent: answer reopen", agent.clone(), answer("reopen")),
        ("waypost: answer reopen", Actor::Waypost, answer("reopen")),
        ("remind", Actor::Waypost, remind()),
        ("person: remind", person(), remind()),
        ("agent: remind", agent.clone(), remind()),
        ("take default", Actor::Waypost, take()),
        ("person: take default", person(), take()),
        ("agent: take default", agent, take()),
    ]
}

#[test]
fn every_command_has_an_answer_in_every_state() {
    let mut matrix = Matrix::default();
    for (name, walk) in states() {
        matrix.state(name);
        for (written, by, command) in commands() {
            let now = a_day_after(walk.now);
            let decided = walk.inbox.decide(&command, &Asked { by: &by, now });
            matrix.row((written, 22), variant_of(&command), &outcome(&decided, event_line));
        }
    }
    insta::assert_snapshot!("inbox_by_commands", matrix.page);
    Matrix::assert_shows_all(&[matrix], VARIANTS);
}
