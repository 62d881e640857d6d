//! What is taken when no person answers in time.

use super::{Walk, effects, leave, person, question, run_question};
use crate::{
    actor::Actor,
    code::Code,
    inbox::{
        Command, DIFF_BYTES_MAX, Event, Inbox, Material, PhaseReview, Question, QuestionKind,
        REVIEW_LINES_MAX, Reply, ReviewedDiff, ReviewedFile, Topic,
    },
    machine::Machine as _,
    time::Time,
};
use std::time::Duration;

const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

fn optional(default: Option<Reply>) -> Question {
    let question = Question {
        choices: vec!["80".into(), "443".into()],
        ..run_question("task/T1.2/port", QuestionKind::AgentQuestion)
    };
    question.optional(default)
}

fn due(walk: &Walk) -> Command {
    walk.inbox.due(&Topic::new("deadline/q1")).unwrap()
}

#[test]
fn an_optional_question_waits_half_an_hour_and_is_then_answered_by_waypost() {
    let mut walk = Walk::default();
    let ask = Command::Ask(optional(Some(Reply::answer("80"))));
    let told = effects(&mut walk, &ask, &Actor::Waypost);
    let reminder = "timer reminder/q1 after 86400s";
    assert_eq!(told, ["about task/T1.2/port", reminder, "timer deadline/q1 after 1800s"]);
    let entry = walk.inbox.open()[0].clone();
    assert_eq!(entry.deadline, Some(walk.now.plus(HALF_AN_HOUR)));
    assert!(!entry.question.is_required);

    let topic = Topic::new("deadline/q1");
    let early = walk.give(&due(&walk), &Actor::Waypost).unwrap_err();
    assert_eq!(early.code, Code::NotAsked);
    assert_eq!(walk.inbox.due_entry(&topic, walk.now), None);
    // The program was down when it was due, for days.
    walk.now = walk.now.plus(Duration::from_secs(3 * 24 * 3_600));
    assert_eq!(walk.inbox.due_entry(&topic, walk.now), Some(&entry));
    let take = due(&walk);
    let told = effects(&mut walk, &take, &Actor::Waypost);
    let taken = "answered for you: about task/T1.2/port";
    assert_eq!(told, ["no timer reminder/q1", "no timer deadline/q1", taken]);
    assert!(walk.inbox.open().is_empty());
    let late = walk.give(&due(&walk), &Actor::Waypost).unwrap_err();
    assert_eq!(late.code, Code::EntryOver);
    let message = walk.answer("q1", "443").unwrap_err().message;
    assert!(message.contains("its default was taken (answer)"), "{message}");
}

#[test]
fn without_a_default_there_will_be_no_answer() {
    let mut walk = Walk::default();
    walk.give(&Command::Ask(optional(None)), &Actor::Waypost).unwrap();
    walk.now = walk.now.plus(HALF_AN_HOUR);
    let events = walk.give(&due(&walk), &Actor::Waypost).unwrap();
    let (id, by, reply) = ("q1".parse().unwrap(), Actor::Waypost, Reply::Decline(String::new()));
    assert_eq!(events, [Event::Answered { id, by, reply: reply.clone(), remark: String::new() }]);
    assert_eq!(reply.told(), "There will be no answer.");
}

#[test]
fn only_waypost_takes_defaults() {
    let mut walk = Walk::default();
    walk.give(&Command::Ask(optional(None)), &Actor::Waypost).unwrap();
    walk.now = walk.now.plus(HALF_AN_HOUR);
    for by in [person(), Actor::Agent { id: "T1".into(), attempt: 1 }] {
        assert_eq!(walk.give(&due(&walk), &by).unwrap_err().code, Code::WaypostOnly);
    }
}

#[test]
fn a_person_who_is_late_but_quicker_than_the_timer_counts() {
    let mut walk = Walk::default();
    walk.give(&Command::Ask(optional(None)), &Actor::Waypost).unwrap();
    walk.now = walk.now.plus(2 * HALF_AN_HOUR);
    walk.answer("q1", "443").unwrap();
    assert_eq!(walk.give(&due(&walk), &Actor::Waypost).unwrap_err().code, Code::EntryOver);
}

#[test]
fn a_question_in_other_words_waits_anew_or_not_at_all() {
    let mut walk = Walk::default();
    walk.give(&Command::Ask(optional(None)), &Actor::Waypost).unwrap();
    walk.now = walk.now.plus(HALF_AN_HOUR);
    let other = Question { text: "2".into(), ..optional(None) };
    let told = effects(&mut walk, &Command::Ask(other), &Actor::Waypost);
    assert_eq!(told, ["timer deadline/q1 after 1800s"]);
    assert_eq!(walk.inbox.open()[0].deadline, Some(walk.now.plus(HALF_AN_HOUR)));
    let required = run_question("task/T1.2/port", QuestionKind::AgentQuestion);
    let told = effects(&mut walk, &Command::Ask(required), &Actor::Waypost);
    assert_eq!(told, ["no timer deadline/q1"]);
    assert_eq!((walk.inbox.open()[0].version, walk.inbox.open()[0].deadline), (3, None));
}

#[test]
fn an_answer_ends_the_timer_of_the_deadline() {
    let mut walk = Walk::default();
    // A workflow's questions lead to no notices and no reminders.
    let asked = question("a", "1").otherwise(Reply::answer("leave"), HALF_AN_HOUR);
    let told = effects(&mut walk, &Command::Ask(asked), &Actor::Waypost);
    assert_eq!(told, ["timer deadline/q1 after 1800s"]);
    assert_eq!(effects(&mut walk, &leave(), &person()), ["no timer deadline/q1"]);
}

#[test]
fn what_is_shown_with_a_question_is_bounded_and_says_what_was_left_out() {
    let file = |number: usize| ReviewedFile { path: format!("docs/{number}.md"), bytes: 1 };
    let diff = ReviewedDiff {
        folder: "/w".into(),
        base: "a".into(),
        head: "b".into(),
        files: 1,
        added: 1,
        removed: 0,
        text: "가".repeat(DIFF_BYTES_MAX),
        is_cut: false,
    };
    let review = PhaseReview {
        phase: 1,
        name: "Planning".into(),
        deliverables: (0..REVIEW_LINES_MAX + 7).map(file).collect(),
        diff: Some(diff),
        ..PhaseReview::default()
    };
    let question = Question::new(QuestionKind::Review, Topic::new("review/1"), "look", "look");
    let question = question.review(review).asked_by(&"task:1".parse().unwrap());
    let review = question.phase_review().unwrap();
    assert_eq!((review.deliverables.len(), review.left_out), (REVIEW_LINES_MAX, 7));
    let diff = review.diff.as_ref().unwrap();
    assert!(diff.is_cut && diff.text.len() <= DIFF_BYTES_MAX);
    assert!(serde_json::to_string(&question).unwrap().len() < 2 * DIFF_BYTES_MAX);

    // Nothing of it is in the journal where there is nothing.
    let plain = run_question("phase/1", QuestionKind::PhaseEnd);
    let text = serde_json::to_string(&plain).unwrap();
    for key in ["material", "otherwise", "is_required"] {
        assert!(!text.contains(key), "{text}");
    }
    assert_eq!(plain.material, Material::Nothing);
}

#[test]
fn a_snapshot_has_deadlines_and_ends() {
    let mut walk = Walk::default();
    walk.ask("a", "1");
    walk.answer("q1", "leave").unwrap();
    walk.give(&Command::Ask(optional(None)), &Actor::Waypost).unwrap();
    let text = serde_json::to_string(&walk.inbox).unwrap();
    assert_eq!(serde_json::from_str::<Inbox>(&text).unwrap(), walk.inbox);
    assert!(walk.inbox.open()[0].deadline > Some(Time::from_millis(0)));
}
