//! The seed's phases: every arrow, and that no other exists.

use super::*;
use crate::document::session::GlobalPhase;
use std::collections::BTreeSet;

/// Everything that can be given, in every state of a request.
fn every_move() -> Vec<(Walk, Walk)> {
    let mut lines: Vec<String> =
        ["start", "request list", "instead list", "goon", "stop", "complete"]
            .map(str::to_owned)
            .into();
    lines.extend(
        ["plan q h", "plan q w", "plan p h", "design T1 z", "design T2 z"].map(str::to_owned),
    );
    lines.extend(["resume", "resume plan", "resume T1", "resume T1-S1"].map(str::to_owned));
    for subtask in ["T1-S1", "T1-S2", "T2-S1"] {
        for gate in 1..=4 {
            for word in
                ["ok", "bad", "open", "implementation_error", "design_violation", "test_error"]
            {
                lines.push(format!("judge {subtask} {gate} {word} w y"));
            }
            lines.push(format!("person: override {subtask} {gate} why"));
            lines.push(format!("person: retry gate/{subtask}/GATE-{gate}"));
        }
    }
    let held =
        |gate: &str| format!("judge T1-S1 {gate} a; judge T1-S1 {gate} b; judge T1-S1 {gate} c");
    let verified = |word: &str| {
        let again = |n: u32| {
            format!("judge T1-S1 3 ok v{n}; judge T1-S1 4 ok v{n}; judge T1-S1 2 {word} v{n} r")
        };
        (1..=4).map(again).collect::<Vec<_>>().join("; ")
    };
    let states = [
        String::new(),
        REQUESTED.to_owned(),
        PLANNED.to_owned(),
        TEST_FIRST.to_owned(),
        format!("{TEST_FIRST}; {}", held("1 bad")),
        IMPLEMENTATION.to_owned(),
        format!("{IMPLEMENTATION}; judge T1-S1 3 ok w"),
        format!("{IMPLEMENTATION}; {}", held("3 bad")),
        VERIFICATION.to_owned(),
        format!("{IMPLEMENTATION}; {}", verified("implementation_error")),
        format!("{IMPLEMENTATION}; judge T1-S1 4 bad a"),
        format!("{VERIFICATION}; judge T1-S1 2 ok w r"),
        format!("{VERIFICATION}; stop"),
        whole(),
    ];
    let mut moves = Vec::new();
    for script in states {
        for line in &lines {
            let before = Walk::of(&script);
            let mut after = Walk::of(&script);
            drop(after.give(line));
            moves.push((before, after));
        }
    }
    moves
}

#[test]
fn a_subtask_moves_along_the_arrows_of_its_phases_and_along_no_other() {
    let word = judging::phase_word;
    let mut found = BTreeSet::new();
    for (before, after) in every_move() {
        let (Some(was), Some(is)) = (before.session.request(), after.session.request()) else {
            continue;
        };
        for (id, subtask) in was.tasks.values().flat_map(|task| task.subtasks.iter()) {
            let Some(now) = is.subtask(id).filter(|_| was.id == is.id) else { continue };
            if now.phase != subtask.phase {
                found.insert((word(subtask.phase), word(now.phase)));
            }
        }
    }
    let picture = BTreeSet::from([
        ("test_first", "implementation"),
        ("implementation", "verification"),
        ("verification", "complete"),
        // By GATE-2, and by GATE-3 where files have changed since it held.
        ("verification", "implementation"),
        // By GATE-2 where the tests or the design are wrong, and by a contract that is missing.
        ("verification", "test_first"),
        // By way of a new design, and by a contract that is missing.
        ("implementation", "test_first"),
    ]);
    assert_eq!(found, picture);
}

#[test]
fn a_request_moves_along_the_arrows_of_its_phases_and_along_no_other() {
    let word = |phase: GlobalPhase| format!("{phase:?}");
    let mut found = BTreeSet::new();
    let mut walks = every_move();
    // The last step of a request is none of those.
    let last = whole();
    let (most, end) = last.rsplit_once(';').unwrap();
    let mut after = Walk::of(most);
    after.give(end.trim()).unwrap();
    walks.push((Walk::of(most), after));
    for (before, after) in walks {
        let (Some(was), Some(is)) = (before.session.request(), after.session.request()) else {
            continue;
        };
        if was.id == is.id && was.phase != is.phase {
            found.insert((word(was.phase), word(is.phase)));
        }
    }
    let arrow = |from: GlobalPhase, to: GlobalPhase| (word(from), word(to));
    let picture = BTreeSet::from([
        arrow(GlobalPhase::GlobalDiscovery, GlobalPhase::TaskLoop),
        arrow(GlobalPhase::TaskLoop, GlobalPhase::Complete),
        // A contract that the plan stands on is gone.
        arrow(GlobalPhase::TaskLoop, GlobalPhase::GlobalDiscovery),
    ]);
    assert_eq!(found, picture);
}

#[test]
fn no_gate_is_passed_but_by_what_was_found_or_by_a_person() {
    for (before, after) in every_move() {
        let passes = |walk: &Walk| {
            let events = walk.journal.iter();
            events
                .filter(|(event, _)| {
                    matches!(event, Event::GatePassed { .. } | Event::GateOverridden { .. })
                })
                .count()
        };
        let passed = |walk: &Walk| {
            let tasks = walk.session.request().into_iter().flat_map(|it| it.tasks.values());
            let gates = tasks.flat_map(|task| task.subtasks.values()).flat_map(|it| {
                let gates = it.gates;
                [gates.tests_written, gates.tests_pass, gates.in_scope, gates.design_kept]
            });
            gates.filter(|it| *it == Some(crate::document::session::GateStatus::Passed)).count()
        };
        if passed(&after) > passed(&before) {
            assert!(passes(&after) > passes(&before));
        }
    }
}
