//! The order of a moment, places that stay, and ends that count.

use super::super::read;
use super::*;
use insta::assert_snapshot;
use proptest::prelude::*;

fn at(ms: i64) -> Time {
    Time::from_millis(ms)
}

fn said(texts: &[(u64, &str)]) -> Vec<Spoken> {
    let mut places = Places::default();
    let placed = texts
        .iter()
        .map(|(offset, text)| Placed { offset: *offset, said: Said::Text((*text).to_owned()) });
    placed.flat_map(|placed| places.spoken(&placed)).collect()
}

/// Kind and place of each.
fn shown(spoken: &[Spoken]) -> Vec<String> {
    let kind = |signal: &Signal| format!("{signal:?}").split([' ', '(']).next().unwrap().to_owned();
    spoken.iter().map(|it| format!("{} {}", kind(&it.signal), it.offset)).collect()
}

#[test]
fn signals_of_one_line_have_places_of_their_own() {
    let spoken = said(&[
        (10, "DONE:T1\nDONE:T2\n"),
        (10, "DONE:T3"),
        (90, "nothing"),
        (95, "[ERROR] type: fatal"),
    ]);
    assert_eq!(shown(&spoken), ["Done 10", "Done 11", "Done 12", "Problem 95"]);
}

#[test]
fn what_comes_together_is_told_together_and_in_order() {
    let mut window = Window::default();
    assert_eq!((window.due(), window.ready(at(0))), (None, vec![]));
    window.take(Vec::new(), at(0));
    assert_eq!(window.due(), None);
    window.take(said(&[(1, "[USER_QUESTION] question: a"), (2, "[/ERROR]")]), at(1_000));
    window.take(said(&[(3, "[DEPENDENCY_REQUEST] type: file, name: x")]), at(1_050));
    window.take(
        said(&[(4, "=== PHASE 1 COMPLETE ==="), (5, "[ERROR] type: recoverable")]),
        at(1_099),
    );
    assert_eq!((window.due(), window.ready(at(1_099))), (Some(at(1_100)), vec![]));
    let want = ["Problem 5", "PhaseComplete 4", "Dependency 3", "Question 1", "Malformed 2"];
    assert_eq!(shown(&window.ready(at(1_100))), want);
    assert_eq!((window.due(), window.ready(at(9_000))), (None, vec![]));
    window.take(said(&[(6, "DONE:T1")]), at(1_101));
    assert_eq!(window.ready(at(1_200)), []);
    assert_eq!(shown(&window.close()), ["Done 6"]);
}

#[test]
fn a_fatal_error_drops_the_rest_of_its_moment() {
    let mut window = Window::default();
    window.take(
        said(&[(1, "DONE:T1"), (2, "[ERROR] type: recoverable"), (3, "[ERROR] type: fatal")]),
        at(0),
    );
    assert_eq!(shown(&window.ready(at(100))), ["Problem 2", "Problem 3"]);
    window.take(said(&[(4, "DONE:T1")]), at(101));
    assert_eq!(shown(&window.ready(at(201))), ["Done 4"]);
}

#[test]
fn a_clock_that_goes_back_holds_nothing_up() {
    let mut window = Window::default();
    window.take(said(&[(1, "DONE:T1")]), at(10_000));
    assert_eq!(shown(&window.ready(at(9_000))), ["Done 1"]);
}

#[test]
fn only_the_end_of_the_present_phase_counts() {
    let nonce = Some("7f3a".to_owned());
    let second = Expected { phase: Some(2), nonce: None };
    let custom = Expected::default();
    let table = [
        (&second, "=== PHASE 2 COMPLETE ==="),
        (&second, "=== PHASE 2 COMPLETE 0000 ==="),
        (&second, "=== PHASE 3 COMPLETE ==="),
        (&second, "=== CUSTOM TASK COMPLETE ==="),
        (&custom, "=== CUSTOM TASK COMPLETE ==="),
        (&custom, "=== PHASE 1 COMPLETE ==="),
        (&Expected { nonce: nonce.clone(), ..second.clone() }, "=== PHASE 2 COMPLETE 7f3a ==="),
        (&Expected { nonce: nonce.clone(), ..second.clone() }, "=== PHASE 2 COMPLETE ==="),
        (&Expected { nonce: nonce.clone(), ..second.clone() }, "=== PHASE 2 COMPLETE 7F3A ==="),
        (&Expected { nonce, ..custom.clone() }, "=== CUSTOM TASK COMPLETE ==="),
        (&custom, "DONE:T1"),
    ];
    let judged = |(expected, text): &(&Expected, &str)| {
        let [signal] = &read(text)[..] else { panic!("{text}") };
        match expected.judged(signal.clone()) {
            Signal::Malformed(Malformed { block, why, .. }) => format!("{text}: {block}: {why}\n"),
            same => format!("{text}: {}\n", if same == *signal { "counts" } else { "changed" }),
        }
    };
    assert_snapshot!(table.iter().map(judged).collect::<String>(), @"
    === PHASE 2 COMPLETE ===: counts
    === PHASE 2 COMPLETE 0000 ===: counts
    === PHASE 3 COMPLETE ===: PHASE COMPLETE: phase 2 is being worked on, not phase 3; the line is `=== PHASE 2 COMPLETE ===`
    === CUSTOM TASK COMPLETE ===: CUSTOM TASK COMPLETE: phase 2 is being worked on; the line is `=== PHASE 2 COMPLETE ===`
    === CUSTOM TASK COMPLETE ===: counts
    === PHASE 1 COMPLETE ===: PHASE COMPLETE: this work has no phases; the line is `=== CUSTOM TASK COMPLETE ===`
    === PHASE 2 COMPLETE 7f3a ===: counts
    === PHASE 2 COMPLETE ===: PHASE COMPLETE: the word that was given for it is missing; the line is `=== PHASE 2 COMPLETE 7f3a ===`
    === PHASE 2 COMPLETE 7F3A ===: PHASE COMPLETE: it has another word than the one that was given; the line is `=== PHASE 2 COMPLETE 7f3a ===`
    === CUSTOM TASK COMPLETE ===: CUSTOM TASK COMPLETE: the word that was given for it is missing; the line is `=== CUSTOM TASK COMPLETE 7f3a ===`
    DONE:T1: counts
    ");
}

#[test]
fn an_agent_is_told_what_was_wrong_and_how_to_write_it() {
    for text in [
        "[USER_QUESTION] Which?",
        "[ERROR] type: bad",
        "[DEPENDENCY_REQUEST] name: x",
        "=== VERIFICATION_RESULT ===\nyes",
    ] {
        let [Signal::Malformed(malformed)] = &read(text)[..] else { panic!("{text}") };
        let reply = malformed.reply();
        assert!(reply.contains(&malformed.why), "{reply}");
        // The form that is shown is one that is understood, and none that fires by itself.
        let form = reply.split_once("code:\n\n").unwrap().1;
        assert!(form.contains(&malformed.block), "{reply}");
    }
}

proptest! {
    /// Whenever the clock is looked at, each signal comes out once, and within a moment in order.
    #[test]
    fn nothing_is_lost_or_told_twice(steps in prop::collection::vec((0_i64..80, 0_usize..5), 1..30)) {
        let words = ["DONE:T1", "[ERROR] type: recoverable", "[USER_QUESTION] question: a", "[/ERROR]", ""];
        let (mut window, mut now, mut told, mut count) = (Window::default(), 0, Vec::new(), 0);
        for (offset, (passed, word)) in steps.into_iter().enumerate() {
            now += passed;
            let ready = window.ready(at(now));
            prop_assert!(ready.is_sorted_by_key(|it| (it.signal.rank(), it.offset)));
            told.extend(ready);
            let spoken = said(&[(offset as u64, words[word])]);
            count += spoken.len();
            window.take(spoken, at(now));
        }
        told.extend(window.close());
        let mut offsets: Vec<u64> = told.iter().map(|it| it.offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        prop_assert_eq!((offsets.len(), told.len()), (count, count));
    }
}
