//! How phases follow each other, and what their end waits for.

use super::{
    EndStep, Event, Isolation, Mode, PhaseStage, Settings, Walk, agent, command, person, plain,
    summary,
};
use crate::{
    run::PhaseCheckpoint,
    time::{Stamp, Time},
};

const THREE: &str = "
    0: T0.1 -; T0.2 T0.1
    1: T1.1; T1.2 -
    2: T2.1; T2.2 T1.1";

fn normal() -> Settings {
    Settings { mode: Mode::Normal, ..plain() }
}

fn joining() -> Settings {
    Settings { isolation: Isolation::Task, ..plain() }
}

/// Goes through steps and compares phases and lists after each.
#[track_caller]
fn check(plan: &str, settings: Settings, steps: &[(&str, &str, &str)]) -> Walk {
    let mut walk = Walk::of(plan, settings, "");
    for (script, phases, lists) in steps {
        walk.go(script);
        assert_eq!((walk.phases().as_str(), walk.lists().as_str()), (*phases, *lists), "{script}");
    }
    walk
}

#[test]
fn phases_run_strictly_one_after_another() {
    let walk = check(
        THREE,
        plain(),
        &[
            // T1.2 waits for nothing but its phase.
            ("", "0 open, 1 waiting, 2 waiting", "pending: T0.2 T1.1 T1.2 T2.1 T2.2; ready: T0.1"),
            (
                "start T0.1; done T0.1; start T0.2; done T0.2",
                "0 closed, 1 open, 2 waiting",
                "pending: T2.1 T2.2; ready: T1.1 T1.2; completed: T0.1 T0.2",
            ),
            (
                "start T1.1; done T1.1",
                "0 closed, 1 open, 2 waiting",
                "pending: T2.1 T2.2; ready: T1.2; completed: T0.1 T0.2 T1.1",
            ),
            (
                "start T1.2; done T1.2",
                "0 closed, 1 closed, 2 open",
                "ready: T2.1 T2.2; completed: T0.1 T0.2 T1.1 T1.2",
            ),
            (
                "start T2.1; done T2.1; start T2.2; done T2.2",
                "0 closed, 1 closed, 2 closed",
                "completed: T0.1 T0.2 T1.1 T1.2 T2.1 T2.2",
            ),
        ],
    );
    assert!(walk.active().is_over());
}

#[test]
fn a_task_without_stated_dependency_depends_on_the_whole_phase_before() {
    // Phase numbers need not follow each other.
    let plan = "
        1: T1.1 -; T1.2 -
        4: T4.1; T4.2 T1.1; T4.3 -
        7: T7.1; T7.2 T4.2";
    check(
        plan,
        plain(),
        &[
            (
                "skip T1.2",
                "1 open, 4 waiting, 7 waiting",
                "pending: T4.2 T4.3 T7.2; ready: T1.1; failed: T1.2; blocked: T4.1 T7.1",
            ),
            (
                "start T1.1; done T1.1",
                "1 closed, 4 open, 7 waiting",
                "pending: T7.2; ready: T4.2 T4.3; completed: T1.1; failed: T1.2; \
                 blocked: T4.1 T7.1",
            ),
        ],
    );
}

#[test]
fn a_phase_with_failures_closes_with_what_is_completed_and_the_run_goes_on() {
    let plan = "
        1: T1 -; T2 -; T3 -; T4 -; T5 -; T6 -
        2: T7 T1; T8 T6; T9";
    let done: Vec<String> = (1..=5).map(|n| format!("start T{n}; done T{n}")).collect();
    let script = format!("{}; start T6; fail T6 critical", done.join("; "));
    let walk = Walk::of(plan, joining(), &format!("{script}; joined 1 0123456789abcdef"));
    assert_eq!(walk.phases(), "1 closed, 2 open");
    assert_eq!(walk.lists(), "ready: T7; completed: T1 T2 T3 T4 T5; failed: T6; blocked: T8 T9");
    let shown = walk.active().render();
    let started_at = Stamp::from(walk.active().started_at());
    let ids = (1..=6).map(|n| super::id(&format!("T{n}"))).collect();
    assert_eq!(
        shown.checkpoints.get("phase_1"),
        Some(&PhaseCheckpoint {
            started_at: Some(started_at),
            completed_at: None,
            tasks_count: Some(6),
            tasks: Some(ids),
            progress: Some("5/6".into()),
            merged: Some(true),
            merge_commit: Some("0123456".into()),
        })
    );
}

#[test]
fn a_complete_phase_shows_when_it_was_completed_and_its_merge() {
    let walk = Walk::of("1: T1 -\n2: T2", joining(), "start T1; done T1; joined 1 abc1234def");
    let Some(PhaseStage::Closed { since, at, .. }) = walk.active().phase(1).cloned() else {
        panic!("phase 1 is closed");
    };
    let shown = walk.active().render();
    assert_eq!(
        shown.checkpoints.get("phase_1"),
        Some(&PhaseCheckpoint {
            started_at: Some(since.into()),
            completed_at: Some(at.into()),
            tasks_count: Some(1),
            tasks: Some(vec![super::id("T1")]),
            progress: None,
            merged: Some(true),
            merge_commit: Some("abc1234".into()),
        })
    );
    let begun = PhaseCheckpoint {
        started_at: Some(at.into()),
        progress: Some("0/1".into()),
        ..PhaseCheckpoint::default()
    };
    assert_eq!(shown.checkpoints.get("phase_2"), Some(&begun));
}

#[test]
fn without_isolation_nothing_is_merged() {
    let walk = Walk::of("1: T1 -", plain(), "start T1; done T1");
    let shown = walk.active().render();
    let phase = shown.checkpoints.get("phase_1").unwrap();
    assert_eq!((phase.merged, phase.merge_commit.clone()), (Some(false), None));
}

#[test]
fn normal_mode_asks_at_each_end_but_the_last() {
    let mut walk = check(
        "1: T1 -\n2: T2\n3: T3",
        normal(),
        &[("start T1; done T1", "1 asking, 2 waiting, 3 waiting", "pending: T2 T3; completed: T1")],
    );
    assert_eq!(walk.asked(), ["phase 1 (phase-1) is done: go on?"]);
    assert_eq!(
        summary(&walk.give(&command("approve 1"), &agent())),
        "refused: approving a phase is reserved for a person at a terminal"
    );
    walk.give(&command("approve 1"), &person()).unwrap();
    assert_eq!((walk.phases().as_str(), walk.asked().len()), ("1 closed, 2 open, 3 waiting", 0));
    assert_eq!(summary(&walk.say("person: approve 1")), "nothing");
    assert_eq!(
        summary(&walk.say("person: approve 2")),
        "refused: phase 2 does not wait for approval → show_run"
    );
    walk.go("start T2; done T2; person: approve 2; start T3; done T3");
    assert!(walk.active().is_over());
}

#[test]
fn the_question_at_a_phases_end_outlives_its_merge() {
    let settings = Settings { mode: Mode::Normal, ..joining() };
    let mut walk = Walk::of("1: T1 -\n2: T2", settings, "start T1; done T1; joined 1 abc1234");
    assert_eq!(walk.phases(), "1 asking, 2 waiting");
    assert_eq!(walk.asked(), ["phase 1 (phase-1) is done: go on?"]);
    // The merge may be reported twice.
    assert_eq!(summary(&walk.say("joined 1 abc1234")), "nothing");
    assert_eq!(walk.asked(), ["phase 1 (phase-1) is done: go on?"]);
    walk.go("person: approve 1");
    assert_eq!(walk.asked(), [""; 0]);
    let shown = walk.active().render();
    let commit = shown.checkpoints.get("phase_1").unwrap().merge_commit.clone();
    assert_eq!(commit.as_deref(), Some("abc1234"));
}

#[test]
fn ultra_thin_and_ralph_never_ask() {
    for mode in [Mode::UltraThin, Mode::Ralph] {
        let settings = Settings { mode, ..plain() };
        let walk = Walk::of("1: T1 -\n2: T2", settings, "start T1; done T1");
        assert_eq!((walk.phases().as_str(), walk.asked().len()), ("1 closed, 2 open", 0));
    }
    // Also not when the mode was changed while the question waited.
    let mut walk = Walk::of("1: T1 -\n2: T2", normal(), "start T1; done T1");
    assert_eq!(walk.asked().len(), 1);
    walk.go("mode ultra-thin");
    assert_eq!((walk.phases().as_str(), walk.asked().len()), ("1 closed, 2 open", 0));
}

#[test]
fn a_phase_is_joined_before_the_next_one_opens() {
    let mut walk = Walk::of("1: T1 -\n2: T2", joining(), "start T1; done T1");
    assert_eq!(
        (walk.phases().as_str(), walk.lists().as_str()),
        ("1 joining, 2 waiting", "pending: T2; completed: T1",)
    );
    assert_eq!(walk.say("start T2").unwrap_err().message, "T2 is pending: it waits for phase 2");
    walk.go("joined 1 abc1234");
    assert_eq!(
        (walk.phases().as_str(), walk.lists().as_str()),
        ("1 closed, 2 open", "ready: T2; completed: T1",)
    );
    assert_eq!(summary(&walk.say("joined 1 abc1234")), "nothing");
    assert_eq!(summary(&walk.say("conflict 1")), "nothing");
    assert_eq!(summary(&walk.say("joined 2 abc1234")), "refused: phase 2 is not ending → show_run");
}

#[test]
fn what_cannot_be_joined_stops_the_run_until_it_is_mended() {
    let mut walk = Walk::of("1: T1 -\n2: T2", joining(), "start T1; done T1; conflict 1");
    assert_eq!(walk.phases(), "1 stopped, 2 waiting");
    assert_eq!(walk.asked(), ["phase 1 (phase-1) could not be joined"]);
    let text = &walk.inbox.open()[0].question.text;
    assert_eq!(
        text,
        "Phase 1 (phase-1): 1/1 completed, 0 failed, 0 blocked. the merge has conflicts. \
         Fix it, then let the run go on."
    );
    assert_eq!(summary(&walk.say("resume")), "phase_settled 1 (Joining); settle phase/1");
    walk.go("conflict 1");
    assert_eq!((walk.phases().as_str(), walk.asked().len()), ("1 stopped, 2 waiting", 1));
    walk.go("resume; joined 1 abc1234");
    assert_eq!((walk.phases().as_str(), walk.asked().len()), ("1 closed, 2 open", 0));
    let is_join = |(event, _): &&(Event, Time)| {
        matches!(event, Event::PhaseSettled { step: EndStep::Joining, .. })
    };
    assert_eq!(walk.journal.iter().filter(is_join).count(), 3);
}

#[test]
fn a_retry_during_a_phases_end_opens_the_phase_again() {
    for (settings, script) in [(normal(), ""), (joining(), ""), (joining(), "conflict 1")] {
        let ended = format!("start T1; done T1; skip T2; {script}");
        let mut walk = Walk::of("1: T1 -; T2 -\n2: T3 -", settings, &ended);
        walk.go("retry T2");
        assert_eq!(walk.phases(), "1 open, 2 waiting");
        assert_eq!(walk.lists(), "pending: T3; ready: T2; completed: T1");
        assert_eq!(walk.asked(), [""; 0], "the person need not answer any more");
    }
}

#[test]
fn a_retry_in_an_earlier_phase_opens_it_and_then_what_it_unblocks() {
    let plan = "
        1: T1 -; T2 -
        2: T3 T1; T4 T2
        3: T5 -; T6";
    let first = "start T1; fail T1 critical; start T2; done T2; start T4; done T4";
    check(
        plan,
        plain(),
        &[
            (
                first,
                "1 closed, 2 closed, 3 open",
                "ready: T5; completed: T2 T4; failed: T1; blocked: T3 T6",
            ),
            (
                "start T5; retry T1",
                "1 open, 2 closed, 3 open",
                "pending: T3 T6; ready: T1; in_progress: T5; completed: T2 T4",
            ),
            (
                "start T1; done T1",
                "1 closed, 2 open, 3 open",
                "pending: T6; ready: T3; in_progress: T5; completed: T1 T2 T4",
            ),
            (
                "done T5; start T3; done T3",
                "1 closed, 2 closed, 3 open",
                "ready: T6; completed: T1 T2 T3 T4 T5",
            ),
        ],
    );
}

#[test]
fn a_phase_that_is_opened_again_began_when_it_first_began() {
    let began = |walk: &Walk| {
        let shown = walk.active().render();
        shown.checkpoints.get("phase_1").and_then(|phase| phase.started_at)
    };
    let mut walk = Walk::of("1: T1 -\n2: T2 -", plain(), "start T1; fail T1 critical");
    let first = began(&walk);
    assert_eq!((walk.phases().as_str(), first.is_some()), ("1 closed, 2 open", true));
    walk.go("retry T1");
    assert_eq!((walk.phases().as_str(), began(&walk)), ("1 open, 2 open", first));
}

#[test]
fn a_run_is_over_when_nothing_can_happen_any_more() {
    let plan = "
        1: T1 -
        2: T2
        3: T3";
    let mut walk = Walk::of(plan, plain(), "");
    assert!(!walk.active().is_over());
    walk.go("start T1; fail T1 critical");
    assert_eq!(walk.lists(), "failed: T1; blocked: T2 T3");
    assert!(walk.active().is_over());
    walk.go("retry T1");
    assert!(!walk.active().is_over());
}
