//! What the inbox promises the machine that asks and the person who answers.

mod deadlines;
mod matrix;
mod verbs;

use super::*;
use crate::machine::{Cause, Effect};
use proptest::{prelude::*, sample::select};

/// The inbox with everything that happened to it.
#[derive(Debug, Default)]
struct Walk {
    inbox: Inbox,
    journal: Vec<(Event, Time)>,
    now: Time,
}

impl Walk {
    fn give(&mut self, command: &Command, by: &Actor) -> Result<Vec<Event>, Rejected> {
        self.now = Time::from_millis(self.now.millis() + 1_000);
        let events = self.inbox.decide(command, &Asked { by, now: self.now })?.events;
        for event in &events {
            self.inbox.apply(event, self.now);
            self.journal.push((event.clone(), self.now));
        }
        Ok(events)
    }

    fn ask(&mut self, subject: &str, text: &str) -> Vec<Event> {
        self.give(&Command::Ask(question(subject, text)), &Actor::Waypost).unwrap()
    }

    fn settle(&mut self, subject: &str) -> Vec<Event> {
        let command = Command::Settle { subject: about(subject) };
        self.give(&command, &Actor::Waypost).unwrap()
    }

    fn answer(&mut self, id: &str, text: &str) -> Result<Vec<Event>, Rejected> {
        self.reply(id, Reply::answer(text), None)
    }

    fn reply(
        &mut self,
        id: &str,
        reply: Reply,
        version: Option<u32>,
    ) -> Result<Vec<Event>, Rejected> {
        let command = Command::Answer { id: id.parse().unwrap(), reply, version };
        self.give(&command, &person())
    }

    /// Id, topic and text of what is open.
    fn open(&self) -> Vec<(&str, &str, &str)> {
        let entries = self.inbox.open().iter();
        entries.map(|it| (it.id.as_str(), topic_of(it), it.question.text.as_str())).collect()
    }
}

fn person() -> Actor {
    Actor::User("mina".into())
}

fn topic_of(entry: &Entry) -> &str {
    entry.question.subject.as_str().strip_prefix("workflow:main/").unwrap()
}

/// A workflow's questions lead to nothing but themselves.
fn about(topic: &str) -> Subject {
    Subject::of(&"workflow:main".parse().unwrap(), &Topic::new(topic))
}

fn question(subject: &str, text: &str) -> Question {
    let title = format!("about {subject}");
    Question::new(QuestionKind::Escalation, about(subject), title, text)
        .choices(["reopen", "leave", "Leave", "닫기"])
}

#[test]
fn ids_are_never_used_again() {
    let mut walk = Walk::default();
    walk.ask("a", "1");
    walk.ask("b", "1");
    walk.answer("q2", "leave").unwrap();
    walk.settle("a");
    walk.ask("a", "2");
    assert_eq!(walk.open(), [("q3", "a", "2")]);
}

#[test]
fn asking_again_about_a_subject_replaces_the_text() {
    let mut walk = Walk::default();
    walk.ask("a", "1");
    walk.ask("b", "1");
    let since = walk.inbox.open()[0].since;
    let id = || "q1".parse().unwrap();
    assert_eq!(walk.ask("a", "1"), []);
    assert_eq!(walk.ask("a", "2"), [Event::Reworded { id: id(), question: question("a", "2") }]);
    assert_eq!(walk.open(), [("q1", "a", "2"), ("q2", "b", "1")]);
    assert_eq!(walk.inbox.entry(&id()).unwrap().since, since, "it waits as long as before");
}

#[test]
fn what_was_settled_elsewhere_is_gone() {
    let mut walk = Walk::default();
    walk.ask("a", "1");
    assert_eq!(walk.settle("b"), []);
    assert_eq!(walk.settle("a"), [Event::Settled { id: "q1".parse().unwrap() }]);
    assert_eq!(walk.open(), []);
    assert_eq!(walk.settle("a"), []);
}

#[test]
fn an_answer_is_one_of_the_choices() {
    let id = || "q1".parse().unwrap();
    let close = |choice: &str| vec![NextStep::AnswerEntry { id: id(), answers: choice.into() }];
    let table = [
        ("reopen", Ok("reopen")),
        (" reopen\n", Ok("reopen")),
        ("REOPEN", Ok("reopen")),
        // Exactly comes before case.
        ("leave", Ok("leave")),
        ("Leave", Ok("Leave")),
        ("LEAVE", Ok("leave")),
        ("닫기", Ok("닫기")),
        // What is only close is suggested, not taken.
        ("re", Err(close("reopen"))),
        ("Reopen it", Err(close("reopen"))),
        ("no", Err(Vec::new())),
    ];
    for (given, want) in table {
        let mut walk = Walk::default();
        walk.ask("a", "1");
        let got = walk.answer("q1", given);
        match want {
            Ok(text) => {
                let (id, reply) = ("q1".parse().unwrap(), Reply::answer(text));
                assert_eq!(
                    got,
                    Ok(vec![Event::Answered { id, by: person(), reply, remark: String::new() }])
                );
                assert_eq!(walk.open(), []);
            }
            Err(next) => {
                let message = format!("`{given}` is not one of: reopen, leave, Leave, 닫기");
                assert_eq!(
                    got,
                    Err(Rejected { cause: Cause::Rule, code: Code::AnswerUnknown, message, next })
                );
                assert_eq!(walk.open(), [("q1", "a", "1")]);
            }
        }
    }
}

#[test]
fn without_choices_any_text_is_an_answer_but_none_is_not() {
    let mut walk = Walk::default();
    let kind = QuestionKind::AgentQuestion;
    let open = Question { kind, choices: Vec::new(), ..question("a", "1") };
    walk.give(&Command::Ask(open), &Actor::Waypost).unwrap();
    assert_eq!(walk.answer("q1", " \n").unwrap_err().message, "an answer needs a text");
    let (id, reply) = ("q1".parse().unwrap(), Reply::answer("use the second one"));
    assert_eq!(
        walk.answer("q1", " use the second one "),
        Ok(vec![Event::Answered { id, by: person(), reply, remark: String::new() }])
    );
}

#[test]
fn only_a_person_answers_and_only_what_is_open() {
    let mut walk = Walk::default();
    walk.ask("a", "1");
    let answer = leave();
    let agent = Actor::Agent { id: "T1".into(), attempt: 1 };
    for by in [agent, Actor::Waypost] {
        let rejected = walk.give(&answer, &by).unwrap_err();
        assert_eq!(rejected, Rejected::reserved("answering the inbox"));
    }
    let rejected = walk.answer("q2", "leave").unwrap_err();
    let message = "q2 is not waiting in the inbox";
    assert_eq!(rejected, Rejected::unknown(Code::EntryUnknown, message).next(NextStep::ShowInbox));
    walk.answer("q1", "leave").unwrap();
    let rejected = walk.answer("q1", "leave").unwrap_err();
    let message = "q1 is not waiting any more: user:mina said `answer` at 1970-01-01T00:00:05Z";
    let want = Rejected::outdated(Code::EntryOver, message).next(NextStep::ShowInbox);
    assert_eq!(rejected, want);
}

fn leave() -> Command {
    Command::Answer { id: "q1".parse().unwrap(), reply: Reply::answer("leave"), version: None }
}

/// A day after `time`.
fn a_day_after(time: Time) -> Time {
    time.plus(std::time::Duration::from_secs(24 * 3_600))
}

/// What a command leads to beside its events: titles of notices, and timers.
fn effects(walk: &mut Walk, command: &Command, by: &Actor) -> Vec<String> {
    let asked = Asked { by, now: walk.now };
    let Decision { events, effects } = walk.inbox.decide(command, &asked).unwrap();
    events.iter().for_each(|event| walk.inbox.apply(event, walk.now));
    let words = effects.into_iter().map(|effect| match effect {
        Effect::Notify(notice) => notice.title,
        Effect::SetTimer { topic, at } => format!("timer {topic} after {:?}", at.since(walk.now)),
        Effect::CancelTimer { topic } => format!("no timer {topic}"),
        other => panic!("{other:?}"),
    });
    words.collect()
}

fn run_question(topic: &str, kind: QuestionKind) -> Question {
    let subject = Subject::of(&"run".parse().unwrap(), &Topic::new(topic));
    Question { kind, subject, ..question(topic, "1") }
}

#[test]
fn a_person_who_does_not_come_is_told_again_after_a_day_and_after_two() {
    let mut walk = Walk::default();
    let ask = Command::Ask(run_question("phase/1", QuestionKind::PhaseEnd));
    let told = effects(&mut walk, &ask, &Actor::Waypost);
    assert_eq!(told, ["about phase/1", "timer reminder/q1 after 86400s"]);
    let due = walk.inbox.due(&Topic::new("reminder/q1")).unwrap();
    // The first one was due while no program was running: the second is not due at once.
    walk.now = a_day_after(a_day_after(a_day_after(walk.now)));
    let told = effects(&mut walk, &due, &Actor::Waypost);
    let still = "still waits for you: about phase/1";
    assert_eq!(told, [still, "timer reminder/q1 after 86400s"]);
    walk.now = a_day_after(walk.now);
    assert_eq!(effects(&mut walk, &due, &Actor::Waypost), [still]);
    // A third one is not sent, whatever asks for it.
    assert_eq!(effects(&mut walk, &due, &Actor::Waypost), [""; 0]);
    assert_eq!(effects(&mut walk, &leave(), &person()), [""; 0], "there is no timer any more");
}

#[test]
fn what_is_answered_or_settled_is_not_reminded_of() {
    let phase = || run_question("phase/1", QuestionKind::PhaseEnd);
    let settle = Command::Settle { subject: phase().subject };
    for (command, by) in [(leave(), person()), (settle, Actor::Waypost)] {
        let mut walk = Walk::default();
        effects(&mut walk, &Command::Ask(phase()), &Actor::Waypost);
        assert_eq!(effects(&mut walk, &command, &by), ["no timer reminder/q1"]);
        let late = Command::Remind { id: "q1".parse().unwrap() };
        assert_eq!(effects(&mut walk, &late, &Actor::Waypost), [""; 0]);
    }
    let mut walk = Walk::default();
    let refused = run_question("refused-edit", QuestionKind::RefusedEdit);
    let told = effects(&mut walk, &Command::Ask(refused), &Actor::Waypost);
    assert_eq!(told, ["about refused-edit"], "it wants nothing but to be seen");
    let workflows = Command::Ask(question("a", "1"));
    assert_eq!(effects(&mut walk, &workflows, &Actor::Waypost), [""; 0]);
}

fn commands() -> impl Strategy<Value = (Actor, Command)> {
    let subjects = || select(vec!["a", "b", "c"]);
    let ask = (subjects(), select(vec!["1", "2"]))
        .prop_map(|(subject, text)| Command::Ask(question(subject, text)));
    let briefly = subjects().prop_map(|subject| {
        let wait = std::time::Duration::from_secs(2);
        Command::Ask(question(subject, "3").otherwise(Reply::answer("leave"), wait))
    });
    let settle = subjects().prop_map(|it| Command::Settle { subject: about(it) });
    let replies = ["leave", "REOPEN", "maybe"].map(Reply::answer).into_iter();
    let replies: Vec<Reply> = replies.chain([Reply::Retry("now".into())]).collect();
    let versions = select(vec![None, Some(1), Some(2)]);
    let answer = (1u32..9, select(replies), versions).prop_map(|(id, reply, version)| {
        Command::Answer { id: format!("q{id}").parse().unwrap(), reply, version }
    });
    let take =
        (1u32..9).prop_map(|id| Command::TakeDefault { id: format!("q{id}").parse().unwrap() });
    let remind = (1u32..9).prop_map(|id| Command::Remind { id: format!("q{id}").parse().unwrap() });
    let by = prop_oneof![Just(person()), Just(Actor::Waypost)];
    (by, prop_oneof![ask, briefly, settle, answer, remind, take])
}

proptest! {
    /// The journal alone rebuilds the inbox, also from a snapshot in its middle; no id comes
    /// twice, and a subject is open at most once.
    #[test]
    fn the_journal_rebuilds_the_inbox(
        commands in prop::collection::vec(commands(), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut walk = Walk::default();
        for (by, command) in &commands {
            let _refused = walk.give(command, by).is_err();
            let mut subjects: Vec<&str> = walk.open().iter().map(|entry| entry.1).collect();
            subjects.sort_unstable();
            prop_assert!(subjects.windows(2).all(|pair| pair[0] != pair[1]));
        }
        let asked: Vec<&EntryId> = walk.journal.iter().filter_map(|(event, _)| match event {
            Event::Asked { id, .. } => Some(id),
            _ => None,
        }).collect();
        let counted: Vec<EntryId> =
            (1..=asked.len()).map(|n| format!("q{n}").parse().unwrap()).collect();
        prop_assert_eq!(asked, counted.iter().collect::<Vec<_>>());

        let (head, tail) = walk.journal.split_at(cut.index(walk.journal.len() + 1));
        let mut inbox = Inbox::start();
        for (event, at) in head {
            inbox.apply(event, *at);
        }
        inbox = serde_json::from_str(&serde_json::to_string(&inbox).unwrap()).unwrap();
        for (event, at) in tail {
            let text = serde_json::to_string(event).unwrap();
            let kind = format!("\"{}\"", Inbox::event_kind(event));
            prop_assert!(text.contains(&kind));
            inbox.apply(&serde_json::from_str(&text).unwrap(), *at);
        }
        prop_assert_eq!(inbox, walk.inbox);
    }
}
