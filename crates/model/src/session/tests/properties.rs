//! What holds whatever is given, in whatever order.

use super::*;
use crate::document::{Document as _, session::SessionStatus};
use proptest::prelude::*;

fn lines() -> impl Strategy<Value = String> {
    let subtask = prop::sample::select(vec!["T1-S1", "T1-S2", "T2-S1"]);
    let word = prop::sample::select(vec![
        "ok",
        "ok",
        "ok",
        "ok",
        "bad",
        "open",
        "implementation_error",
        "design_violation",
        "test_error",
    ]);
    let judge = (subtask.clone(), 1..5_u32, word, 0..6_u32)
        .prop_map(|(id, gate, word, work)| format!("judge {id} {gate} {word} w{work} r"));
    let design = (prop::sample::select(vec!["T1", "T2"]), 0..4_u32)
        .prop_map(|(task, number)| format!("design {task} d{number}"));
    let overridden = (subtask.clone(), 1..5_u32, 0..6_u32)
        .prop_map(|(id, gate, work)| format!("person: override {id} {gate} why w{work}"));
    let retry =
        (subtask, 1..5_u32).prop_map(|(id, gate)| format!("person: retry gate/{id}/GATE-{gate}"));
    let other = prop::sample::select(vec![
        "start",
        "request a",
        "instead b",
        "plan p h",
        "plan q w",
        "plan r hhw",
        "failcall plan",
        "apart main",
        "place T1 c",
        "place T2 c",
        "join T1 c",
        "join T1 bad",
        "join T2 c",
        "land c",
        "land bad",
        "close",
        "waypost: retry landing",
        "endcall plan",
        "failcall implement/T1-S1",
        "person: retry plan",
        "resume",
        "resume plan",
        "resume T1",
        "resume T1-S1",
        "goon",
        "rename x",
        "amend y",
        "relocate",
        "stop",
        "complete",
    ]);
    prop_oneof![8 => judge, 4 => design, 1 => overridden, 1 => retry, 4 => other.prop_map(str::to_owned)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_are_valid_and_the_journal_tells_the_same(
        begun in prop::sample::select(vec!["", REQUESTED, PLANNED, TEST_FIRST, apart::APART]),
        lines in prop::collection::vec(lines(), 1..60),
    ) {
        let mut walk = Walk::of(begun);
        for line in lines {
            drop(walk.give(&line));
            if let Some(state) = walk.session.render_state() {
                prop_assert!(state.check().is_empty(), "{line}: {:?}", state.check());
                let session = walk.session.render_session().unwrap();
                prop_assert!(state.check_with(&session).is_empty());
            }
            if let Some(request) = walk.session.request() {
                let at_work = |task: &&SessionTaskState| task.status == Status::InProgress;
                prop_assert!(request.tasks.values().filter(at_work).count() <= 1);
                let is_done = request.status == SessionStatus::Completed;
                let all = request.tasks.values().all(|task| task.status == Status::Completed);
                prop_assert!(!is_done || all, "{line}");
                // Nothing is complete before it is merged.
                let is_merged = request.trees.as_ref().is_none_or(|it| it.is_closed && it.landed.is_some());
                prop_assert!(!is_done || is_merged, "{line}");
                for held in &request.held {
                    let subject = Subject::of(&"session".parse().unwrap(), &held.hold.topic());
                    prop_assert!(walk.inbox.about(&subject).is_some(), "{line}: {held:?}");
                }
                prop_assert_eq!(walk.inbox.open().len(), request.held.len(), "{}", line);
            }
        }
        let mut again = Session::start();
        for (event, at) in &walk.journal {
            again.apply(event, *at);
        }
        prop_assert_eq!(again, walk.session);
    }
}
