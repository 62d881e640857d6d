//! What model agents leave at a task, and what holds it until a person or a limit lets it go.

use super::{Walk, id, plain, summary};
use crate::{
    machine::Cause,
    run::{Budget, Conversation, ParkCause, Parked, Trail, Usage},
    time::Time,
};

const PLAN: &str = "1: T1 -; T2 -";

fn walk(script: &str) -> Walk {
    Walk::of(PLAN, plain(), script)
}

fn trail(walk: &Walk) -> Trail {
    walk.active().task(&id("T1")).unwrap().trail.cloned().unwrap_or_default()
}

fn open_conversation(walk: &Walk) -> Option<String> {
    trail(walk).conversation.filter(|it| it.is_open).map(|it| it.id)
}

const ENGAGED: &str = "start T1; waypost: engage T1 1 c1;";

#[test]
fn an_attempt_that_broke_off_goes_on_in_its_conversation() {
    for (script, want) in [
        ("", Some("c1")),
        ("waypost: interrupt T1 #1", Some("c1")),
        ("waypost: fail T1 #1 resumes", Some("c1")),
        ("waypost: park T1 1 5000", Some("c1")),
        ("resume", Some("c1")),
        ("person: take T1; person: return T1", Some("c1")),
        ("waypost: fail T1 #1", None),
        ("waypost: fail T1 #1 critical; retry T1", None),
        ("waypost: done T1 #1", None),
    ] {
        let walk = walk(&format!("{ENGAGED} {script}"));
        assert_eq!(open_conversation(&walk).as_deref(), want, "after `{script}`");
    }
}

#[test]
fn a_conversation_that_is_over_can_still_be_looked_at() {
    let walk = walk(&format!("{ENGAGED} waypost: done T1 #1"));
    let want = Conversation {
        agent: "claude".into(),
        id: "c1".into(),
        is_open: false,
        counted: Usage::default(),
        wall: None,
    };
    assert_eq!(trail(&walk).conversation, Some(want));
}

#[test]
fn what_was_used_up_counts_for_the_task_and_the_run() {
    let mut walk = walk(&format!("{ENGAGED} waypost: account T1 100; waypost: fail T1 #1 resumes"));
    walk.go("wait; start T1; waypost: account T1 20; waypost: done T1 #2");
    let usage = |input, cost_micros| Usage { input, cost_micros, ..Usage::default() };
    assert_eq!(trail(&walk).usage, usage(120, 14));
    assert_eq!(*walk.active().usage(), usage(120, 14));
    assert_eq!(trail(&walk).conversation.unwrap().counted, usage(20, 7));
    assert_eq!(trail(&walk).result.as_deref(), Some("it is there"));
}

#[test]
fn a_question_waits_in_the_inbox_and_holds_the_task_until_it_is_answered() {
    let mut walk = walk(&format!("{ENGAGED} waypost: ask T1 1 k1"));
    assert_eq!(walk.asked(), ["may I?"]);
    assert_eq!(walk.inbox.open()[0].question.subject.as_str(), "run/task/T1/k1");
    walk.go("waypost: interrupt T1 #1");
    let refused = walk.say("start T1");
    assert_eq!(summary(&refused), "refused: T1 waits for a person → explain_task T1");
    let by_agent = walk.say("answer T1 k1 allow").unwrap_err();
    assert_eq!(by_agent.cause, Cause::Reserved);
    walk.go("person: answer T1 k1 allow; start T1");
    assert_eq!(trail(&walk).answers["k1"], "allow");
}

#[test]
fn the_same_question_is_asked_once_and_an_answer_is_kept_for_who_asks_again() {
    let mut walk = walk(&format!("{ENGAGED} waypost: ask T1 1 k1; waypost: ask T1 1 k1"));
    assert_eq!(walk.asked().len(), 1);
    walk.go("person: answer T1 k1 deny; waypost: interrupt T1 #1; start T1");
    assert_eq!(summary(&walk.say("waypost: ask T1 2 k1")), "nothing");
    assert_eq!(summary(&walk.say("waypost: ask T1 2 k2")), "agent_asked T1 k2; ask: may I?");
}

#[test]
fn what_was_allowed_for_a_task_is_not_asked_again_by_any_of_its_attempts() {
    let mut walk =
        walk(&format!("{ENGAGED} waypost: ask T1 1 k1 p1; person: answer T1 k1 allow-task"));
    assert_eq!(summary(&walk.say("waypost: ask T1 1 k2 p1")), "nothing");
    assert_eq!(summary(&walk.say("waypost: ask T1 1 k3 p2")), "agent_asked T1 k3; ask: may I?");
    walk.go("waypost: fail T1 #1; wait; start T1; start T2");
    assert!(trail(&walk).answers.is_empty());
    assert_eq!(summary(&walk.say("waypost: ask T1 2 k2 p1")), "nothing");
    let other = walk.say("waypost: ask T2 1 k1 p1");
    assert_eq!(summary(&other), "agent_asked T2 k1; ask: may I?", "another task");
}

#[test]
fn what_was_allowed_for_the_run_is_not_asked_by_any_task() {
    for word in ["allow-run", "allow-project"] {
        let mut walk = walk(&format!(
            "{ENGAGED} start T2; waypost: ask T1 1 k1 p1; waypost: ask T2 1 k1 p1; \
             waypost: ask T2 1 k2 p2"
        ));
        assert_eq!(walk.asked().len(), 3);
        walk.go(&format!("person: answer T1 k1 {word}"));
        assert_eq!(walk.asked().len(), 1, "the same question of another task is answered with it");
        assert_eq!(summary(&walk.say("waypost: ask T2 1 k9 p1")), "nothing");
        assert_eq!(summary(&walk.say("waypost: ask T2 1 k8 p3")), "agent_asked T2 k8; ask: may I?");
    }
}

#[test]
fn an_agent_cannot_allow_itself_anything() {
    let mut walk = walk(&format!("{ENGAGED} waypost: ask T1 1 k1 p1"));
    for word in ["allow", "allow-task", "allow-run", "allow-project"] {
        let refused = walk.say(&format!("answer T1 k1 {word}")).unwrap_err();
        assert_eq!(refused.cause, Cause::Reserved);
    }
    let once = walk.say("person: answer T1 k1 allow");
    assert!(once.is_ok());
    assert_eq!(summary(&walk.say("waypost: ask T1 1 k2 p1")), "agent_asked T1 k2; ask: may I?");
}

#[test]
fn an_answer_names_its_question() {
    let walk = walk(&format!("{ENGAGED} waypost: ask T1 1 k1; person: answer T1 k1 no"));
    assert_eq!(trail(&walk).answered().collect::<Vec<_>>(), [("may I?", "no")]);
}

#[test]
fn questions_of_a_task_that_has_ended_need_no_answer() {
    for end in [
        "waypost: done T1 #1",
        "waypost: fail T1 #1",
        "waypost: fail T1 #1 critical",
        "waypost: interrupt T1 #1; person: satisfy T1",
        "waypost: interrupt T1 #1; retry T1",
    ] {
        let mut walk = walk(&format!("{ENGAGED} waypost: ask T1 1 k1; waypost: ask T1 1 k2"));
        walk.go(end);
        assert!(walk.asked().is_empty(), "after `{end}`");
        assert!(trail(&walk).asked.is_empty(), "after `{end}`");
        assert_eq!(summary(&walk.say("person: answer T1 k1 allow")), "nothing", "after `{end}`");
    }
}

#[test]
fn a_parked_task_waits_for_its_time_and_loses_no_retry() {
    let mut walk = walk(&format!("{ENGAGED} waypost: park T1 1 500"));
    assert_eq!(walk.lists(), "ready: T1 T2");
    let refused = walk.say("start T1").unwrap_err();
    assert!(refused.message.starts_with("T1 waits "), "{refused}");
    walk.go("wait; start T1");
    assert_eq!(walk.active().task(&id("T1")).unwrap().retries, 0);
}

#[test]
fn a_person_can_let_a_parked_task_go_at_once() {
    walk(&format!("{ENGAGED} waypost: park T1 1 500; retry T1; start T1"));
}

#[test]
fn an_account_that_cannot_be_used_is_asked_about_once() {
    let mut walk = walk(&format!("{ENGAGED} start T2; waypost: hold T1 1 outage claude"));
    walk.go("waypost: hold T2 1 outage claude");
    assert_eq!(walk.asked(), ["claude: service unavailable"]);
    assert_eq!(walk.inbox.open()[0].question.subject.as_str(), "run/account/claude");
    assert_eq!(walk.active().task(&id("T1")).unwrap().retries, 0);
}

#[test]
fn what_waits_for_an_account_is_woken_by_its_answer_and_by_who_got_through() {
    for who in ["waypost", "person"] {
        let mut walk = walk(&format!("{ENGAGED} start T2; waypost: hold T1 1 sign_in claude"));
        walk.go("waypost: hold T2 1 sign_in codex");
        assert!(walk.say("start T1").is_err());
        assert_eq!(walk.say("wake account claude").unwrap_err().cause, Cause::Reserved);
        assert_eq!(
            summary(&walk.say(&format!("{who}: wake account claude"))),
            "task_woken T1; wake account claude; settle account/claude"
        );
        assert_eq!(walk.asked(), ["codex: not signed in"], "{who}");
        walk.go("start T1");
        assert!(walk.say("start T2").is_err(), "{who}");
    }
}

#[test]
fn an_account_that_nobody_waits_for_is_not_asked_about() {
    let held = "start T2; waypost: hold T1 1 outage claude; waypost: hold T2 1 outage claude";
    for end in ["skip T1; person: satisfy T2", "wait; start T1; done T1; skip T2"] {
        let mut walk = walk(&format!("{ENGAGED} {held}"));
        let (first, rest) = end.split_once("; ").unwrap();
        walk.go(first);
        assert_eq!(walk.asked().len(), 1, "after `{first}`");
        walk.go(rest);
        assert!(walk.asked().is_empty(), "after `{end}`");
    }
}

#[test]
fn who_wants_one_task_of_an_account_wants_them_all() {
    let held = "start T2; waypost: hold T1 1 outage claude; waypost: hold T2 1 outage claude";
    let mut walk = walk(&format!("{ENGAGED} {held}"));
    assert_eq!(
        summary(&walk.say("retry T1")),
        "task_reopened T1; task_woken T2; wake account claude; settle account/claude"
    );
    walk.go("start T1; start T2");
}

#[test]
fn a_task_without_money_waits_until_it_gets_more() {
    let mut walk = walk(&format!("{ENGAGED} waypost: hold T1 1 budget claude"));
    assert_eq!(walk.lists(), "ready: T1 T2");
    assert!(walk.asked().is_empty());
    walk.go("wait");
    let refused = walk.say("start T1");
    assert_eq!(summary(&refused), "refused: T1 waits for a person → explain_task T1");
    assert_eq!(summary(&walk.say("waypost: wake T1")), "task_woken T1");
    assert_eq!(summary(&walk.say("waypost: wake T1")), "nothing");
    walk.go("start T1");
    assert_eq!(open_conversation(&walk).as_deref(), Some("c1"));
}

#[test]
fn parks_of_older_journals_are_limits() {
    let text = r#"{"until":1000,"why":"limit","agent":"claude","in_a_row":2}"#;
    let parked: Parked = serde_json::from_str(text).unwrap();
    assert_eq!((parked.cause, parked.until), (ParkCause::Limit, Some(Time::from_millis(1_000))));
}

#[test]
fn nobody_works_on_a_task_that_a_person_has_taken() {
    let mut walk = walk(ENGAGED);
    assert_eq!(walk.say("take T1").unwrap_err().cause, Cause::Reserved);
    assert_eq!(
        summary(&walk.say("person: take T1")),
        "attempt_interrupted T1; task_taken T1 by mina"
    );
    assert!(walk.say("start T1").is_err());
    walk.go("person: return T1; start T1");
    assert_eq!(
        summary(&walk.say("person: take T2")),
        "refused: no agent has worked on T2: there is nothing to open → explain_task T2"
    );
}

#[test]
fn only_the_live_attempt_is_spoken_for() {
    let mut walk = walk(&format!("{ENGAGED} waypost: interrupt T1 #1; start T1"));
    for line in ["engage T1 1 c9", "park T1 1 500", "ask T1 1 k1"] {
        let refused = walk.say(&format!("waypost: {line}")).unwrap_err();
        assert_eq!(refused.cause, Cause::Fenced, "{line}");
        let refused = walk.say(&line.replace(" 1 ", " 2 ")).unwrap_err();
        assert_eq!(refused.message, "agents are accounted for by Waypost alone", "{line}");
    }
}

#[test]
fn a_budget_is_used_up_to_the_cent() {
    let budget = Budget::Cents(150);
    assert!(!budget.is_used_up(1_499_999));
    assert!(budget.is_used_up(1_500_000));
    assert!(!Budget::Unlimited.is_used_up(u64::MAX));
}

#[test]
fn what_is_left_is_estimated_from_what_was_done() {
    let mut walk = Walk::of("1: T1 -; T2 -; T3 -; T4 -", plain(), ENGAGED);
    assert_eq!(walk.active().estimate(), None);
    walk.go("waypost: account T1 100; waypost: done T1 #1; start T2; done T2");
    let estimate = walk.active().estimate().unwrap();
    assert_eq!((estimate.left, estimate.from, estimate.cost_micros), (2, 2, 6));
}
