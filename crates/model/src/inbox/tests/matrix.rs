//! Every command in every state, as one page to read.

use super::{Walk, a_day_after, effects, person, question, run_question};
use crate::{
    actor::Actor,
    inbox::{Command, Event, Inbox, Question, QuestionKind},
    machine::{Asked, Machine as _},
    matrix::{Matrix, command_variants, outcome},
};

command_variants!(Command: Ask, Settle, Answer, Remind);

fn event_line(event: &Event) -> String {
    let rest = match event {
        Event::Asked { id, question } | Event::Reworded { id, question } => {
            format!("{id} ({})", question.text)
        }
        Event::Answered { id, text, .. } => format!("{id} {text}"),
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
    let mut answered = walk(0);
    answered.answer("q1", "leave").unwrap();
    vec![
        ("nothing waits", Walk::default()),
        ("a question waits", walk(0)),
        ("a question waits, a person was reminded once", walk(1)),
        ("a question waits, a person was reminded twice", walk(2)),
        ("the question was answered", answered),
    ]
}

fn commands() -> Vec<(&'static str, Actor, Command)> {
    let reworded = || Question { text: "2".into(), ..asked() };
    let answer = |text: &str| Command::Answer { id: "q1".parse().unwrap(), text: text.into() };
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
        ("agent: answer reopen", agent.clone(), answer("reopen")),
        ("waypost: answer reopen", Actor::Waypost, answer("reopen")),
        ("remind", Actor::Waypost, remind()),
        ("person: remind", person(), remind()),
        ("agent: remind", agent, remind()),
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
