//! Which kinds take which verbs, and what the machine that asked is told.

use super::{Walk, person, run_question};
use crate::{
    actor::Actor,
    code::Code,
    inbox::{
        COMMENTS_MAX, Command, Entry, Event, LineComment, Question, QuestionKind, REPLY_BYTES_MAX,
        Reply, ReplyVerb,
    },
    machine::{Cause, Machine as _},
    next::NextStep,
};
use std::fmt::Write as _;

/// The choices with which machines of today ask questions of this kind.
fn usual_choices(kind: QuestionKind) -> &'static [&'static str] {
    match kind {
        QuestionKind::Gate => &["confirm", "decline"],
        QuestionKind::PhaseEnd => &["continue"],
        QuestionKind::WaitingEdit => &["accept", "decline"],
        QuestionKind::RefusedEdit => &["seen"],
        QuestionKind::Permission => &["allow", "allow-task", "deny"],
        QuestionKind::Unavailable => &["try again"],
        QuestionKind::Escalation => &["reopen", "leave"],
        _ => &[],
    }
}

fn asked(kind: QuestionKind, choices: &[&str]) -> Walk {
    let mut walk = Walk::default();
    let question = Question { choices: Vec::new(), ..run_question("phase/1", kind) };
    let question = question.choices(choices.iter().copied());
    walk.give(&Command::Ask(question), &Actor::Waypost).unwrap();
    walk
}

/// A reply that is right for its verb; an answer is the first choice.
fn reply(verb: ReplyVerb, choices: &[&str]) -> Reply {
    match verb {
        ReplyVerb::Answer => Reply::answer(*choices.first().unwrap_or(&"the second")),
        verb => Reply::new(verb, "because"),
    }
}

fn told(reply: &Reply) -> String {
    format!("{} {}", reply.verb(), reply.text()).trim_end().to_owned()
}

/// What a verb leads to, and that it leads to nothing else.
fn cell(kind: QuestionKind, choices: &[&str], verb: ReplyVerb) -> String {
    let mut walk = asked(kind, choices);
    let verbs = walk.inbox.open()[0].question.verbs();
    match walk.reply("q1", reply(verb, choices), Some(1)) {
        Ok(events) => {
            let [Event::Answered { by, reply, .. }] = &events[..] else { panic!("{events:?}") };
            assert_eq!(*by, person());
            assert!(verbs.contains(&verb), "{kind:?} takes {verb} and does not say so");
            assert!(walk.inbox.open().is_empty());
            told(reply)
        }
        Err(rejected) => {
            assert_eq!((rejected.cause, rejected.code), (Cause::Rule, Code::VerbUnfit));
            assert!(!verbs.contains(&verb), "{kind:?} says that it takes {verb}");
            for verb in &verbs {
                assert!(rejected.message.contains(verb.word()), "{}", rejected.message);
            }
            assert_eq!(rejected.next.len(), verbs.len());
            assert_eq!(walk.inbox.open().len(), 1, "nothing has changed");
            "-".to_owned()
        }
    }
}

#[test]
fn every_kind_has_its_verbs() {
    let mut page = String::new();
    for kind in QuestionKind::ALL {
        let usual = usual_choices(kind);
        let both: &[&[&str]] = if usual.is_empty() { &[&[]] } else { &[usual, &[]] };
        for choices in both {
            let with = match choices {
                [] => "without choices".to_owned(),
                choices => choices.join("|"),
            };
            writeln!(page, "{kind}, {with}").unwrap();
            for verb in ReplyVerb::ALL {
                writeln!(page, "  {verb:<8} {}", cell(kind, choices, verb)).unwrap();
            }
        }
    }
    insta::assert_snapshot!("kinds_by_verbs", page);
}

#[test]
fn words_are_those_of_the_journal() {
    for kind in QuestionKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
    }
    for verb in ReplyVerb::ALL {
        assert_eq!(serde_json::to_value(verb).unwrap(), verb.word());
        assert_eq!(verb.word().parse(), Ok(verb));
    }
}

#[test]
fn a_reply_comes_back_from_the_journal_and_answers_of_earlier_versions_are_read() {
    let comment: LineComment = "a.md:3:why?".parse().unwrap();
    let changes = Reply::Changes { text: "more".into(), comments: vec![comment] };
    let replies = ReplyVerb::ALL.map(|verb| Reply::new(verb, "x")).into_iter().chain([changes]);
    for reply in replies {
        let event = Event::Answered {
            id: "q1".parse().unwrap(),
            by: person(),
            reply,
            remark: String::new(),
        };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
    }
    let earlier = r#"{"answered":{"id":"q1","by":"user:mina","text":"leave"}}"#;
    let id = "q1".parse().unwrap();
    let want =
        Event::Answered { id, by: person(), reply: Reply::answer("leave"), remark: String::new() };
    assert_eq!(serde_json::from_str::<Event>(earlier).unwrap(), want);
    assert_eq!(serde_json::to_string(&want).unwrap(), earlier);
}

#[test]
fn a_request_for_changes_needs_a_text_and_keeps_its_comments() {
    let comments: Vec<LineComment> = vec!["a.md:3:why?".parse().unwrap()];
    let changes = |text: &str| Reply::Changes { text: text.into(), comments: comments.clone() };
    let mut walk = asked(QuestionKind::Review, &[]);
    let rejected = walk.reply("q1", changes(" \n"), None).unwrap_err();
    assert_eq!(rejected.code, Code::AnswerMissing);
    let step = NextStep::ReplyToEntry { id: "q1".parse().unwrap(), verb: ReplyVerb::Changes };
    assert_eq!(rejected.next, [step]);
    let events = walk.reply("q1", changes(" shorter "), None).unwrap();
    let [Event::Answered { reply, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!(*reply, changes("shorter"));
}

#[test]
fn a_reply_has_bounds() {
    let comment: LineComment = "a.md:3:why?".parse().unwrap();
    let many = Reply::Changes { text: "x".into(), comments: vec![comment; COMMENTS_MAX + 1] };
    let long = Reply::new(ReplyVerb::Changes, "x".repeat(REPLY_BYTES_MAX + 1));
    for reply in [many, long] {
        let rejected = asked(QuestionKind::Review, &[]).reply("q1", reply, None).unwrap_err();
        assert_eq!(rejected.code, Code::AnswerTooLong, "{}", rejected.message);
    }
}

#[test]
fn an_answer_to_an_earlier_wording_is_refused_with_the_new_one() {
    let mut walk = asked(QuestionKind::Review, &[]);
    let reworded = Question {
        text: "two files".into(),
        choices: Vec::new(),
        ..run_question("phase/1", QuestionKind::Review)
    };
    walk.give(&Command::Ask(reworded), &Actor::Waypost).unwrap();
    for version in [1, 3] {
        let rejected = walk.reply("q1", Reply::Approve, Some(version)).unwrap_err();
        assert_eq!((rejected.cause, rejected.code), (Cause::Outdated, Code::EntryReworded));
        let want = "q1 was reworded and has version 2 now: about phase/1\ntwo files";
        assert_eq!(rejected.message, want);
    }
    walk.reply("q1", Reply::Approve, Some(2)).unwrap();
}

#[test]
fn only_so_many_ends_are_remembered_and_all_others_are_over_too() {
    let mut walk = Walk::default();
    for number in 1..=150 {
        walk.ask("a", "1");
        walk.answer(&format!("q{number}"), "leave").unwrap();
    }
    let message = |walk: &mut Walk, id: &str| walk.answer(id, "leave").unwrap_err().message;
    assert_eq!(message(&mut walk, "q1"), "q1 is not waiting any more");
    assert!(message(&mut walk, "q150").contains("user:mina said `answer`"));
    assert_eq!(message(&mut walk, "q151"), "q151 is not waiting in the inbox");
    let size = serde_json::to_string(&walk.inbox).unwrap().len();
    assert!(size < 100 * 200, "{size}");
}

#[test]
fn an_open_entry_of_an_earlier_version_is_read_and_answered() {
    let events = [
        // As formats 1 to 4 wrote them.
        r#"{"asked":{"id":"q1","question":{"kind":"phase_end","subject":"run/phase/1","title":"t","text":"x","choices":["continue"]}}}"#,
        r#"{"asked":{"id":"q2","question":{"kind":"phase_end","subject":"run/phase/2","title":"t","text":"x","choices":[],"next":[{"step":"resume_run"}]}}}"#,
        r#"{"asked":{"id":"q3","question":{"kind":"agent_question","subject":"run/task/T1/k","title":"t","text":"x","choices":[]}}}"#,
        r#"{"reminded":{"id":"q3"}}"#,
    ];
    let mut walk = Walk::default();
    for event in events {
        walk.inbox.apply(&serde_json::from_str(event).unwrap(), walk.now);
    }
    let entry = |walk: &Walk, id: &str| -> Entry {
        walk.inbox.entry(&id.parse().unwrap()).unwrap().clone()
    };
    assert_eq!((entry(&walk, "q1").version, entry(&walk, "q1").deadline), (1, None));
    assert!(entry(&walk, "q1").question.is_required);
    walk.reply("q1", Reply::Approve, Some(1)).unwrap();
    // It was a merge that was held, which had no kind of its own.
    walk.reply("q2", Reply::Retry(String::new()), None).unwrap();
    walk.reply("q3", Reply::Decline("no time".into()), None).unwrap();
    assert!(walk.inbox.open().is_empty());
}
