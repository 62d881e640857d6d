//! What begins a run, and what becomes of it when TASKS.md changes.

use super::{
    Before, Command, Evidence, Isolation, Settings, Walk, agent, id, person, plain, plan, summary,
};
use crate::{machine::Cause, run::FailReason};

const BEFORE: &str = "1: T1 -; T2 T1; T3 -; T4 -\n2: T5";

/// A run in which T1 is completed, T2 in progress, T3 failed and T4 ready.
fn walk() -> Walk {
    let script = "start T1; done T1; start T2; start T3; fail T3 critical";
    Walk::of(BEFORE, plain(), script)
}

#[track_caller]
fn replanned(after: &str, want_phases: &str, want: &str) -> Walk {
    let mut walk = walk();
    walk.give(&Command::Replan { plan: plan(after), keep_done: false }, &agent()).unwrap();
    assert_eq!((walk.phases().as_str(), walk.lists().as_str()), (want_phases, want), "{after}");
    walk
}

#[test]
fn tasks_keep_what_they_have_when_the_plan_changes() {
    let was = "pending: T5; ready: T4; in_progress: T2; completed: T1; failed: T3";
    assert_eq!(walk().lists(), was.replace("pending: T5; ", "") + "; blocked: T5");
    // Nothing but a title and the order.
    replanned(
        "1: T4 -; T3 -; T2 T1; T1 -\n2: T5",
        "1 open, 2 waiting",
        "ready: T4; in_progress: T2; completed: T1; failed: T3; blocked: T5",
    );
    // Added.
    replanned(
        "1: T1 -; T2 T1; T3 -; T4 -; T6 T1; T7 T6\n2: T5",
        "1 open, 2 waiting",
        "pending: T7; ready: T4 T6; in_progress: T2; completed: T1; failed: T3; blocked: T5",
    );
    // Removed: what it blocked is free.
    replanned(
        "1: T1 -; T2 T1; T4 -\n2: T5",
        "1 open, 2 waiting",
        "pending: T5; ready: T4; in_progress: T2; completed: T1",
    );
    // Renamed: the new id is a new task.
    replanned(
        "1: T1 -; T2 T1; T33 -; T4 -\n2: T5",
        "1 open, 2 waiting",
        "pending: T5; ready: T33 T4; in_progress: T2; completed: T1",
    );
    // Another dependency.
    replanned(
        "1: T1 -; T2 T1; T3 -; T4 T2\n2: T5 T4",
        "1 open, 2 waiting",
        "pending: T4 T5; in_progress: T2; completed: T1; failed: T3",
    );
    // Another phase.
    replanned(
        "1: T1 -; T2 T1; T3 -\n2: T5 -; T4 -",
        "1 open, 2 waiting",
        "pending: T5 T4; in_progress: T2; completed: T1; failed: T3",
    );
}

#[test]
fn a_task_in_progress_cannot_leave_the_plan() {
    let mut walk = walk();
    let without = Command::Replan { plan: plan("1: T1 -; T3 -; T4 -"), keep_done: false };
    assert_eq!(
        summary(&walk.give(&without, &agent())),
        "refused: T2 is in progress but no longer in the plan → fail_task T2"
    );
    walk.go("done T2");
    assert_eq!(summary(&walk.give(&without, &agent())), "replanned 3 tasks");
}

#[test]
fn an_empty_plan_replaces_nothing() {
    let empty = || crate::run::Plan::new("example".into(), [].into(), Vec::new()).unwrap();
    let refused = "refused: the plan has no task → validate_file TASKS.md";
    let rebuild =
        Command::Rebuild { plan: empty(), completed: Vec::new(), before: Before::default() };
    for command in [Command::Replan { plan: empty(), keep_done: false }, rebuild] {
        assert_eq!(summary(&walk().give(&command, &person())), refused);
    }
    let begin = Command::Begin { plan: empty(), settings: plain() };
    assert_eq!(summary(&Walk::default().give(&begin, &agent())), refused);
}

#[test]
fn the_same_plan_changes_nothing() {
    let replan = Command::Replan { plan: plan(BEFORE), keep_done: false };
    assert_eq!(summary(&walk().give(&replan, &agent())), "nothing");
}

#[test]
fn a_task_that_comes_back_is_what_it_was() {
    let mut walk = walk();
    walk.go("done T2");
    walk.give(&Command::Replan { plan: plan("1: T4 -"), keep_done: false }, &agent()).unwrap();
    assert_eq!(walk.lists(), "ready: T4");
    walk.give(&Command::Replan { plan: plan(BEFORE), keep_done: false }, &agent()).unwrap();
    assert_eq!(walk.lists(), "ready: T4; completed: T1 T2; failed: T3; blocked: T5");
    walk.go("retry T3; start T3");
    assert_eq!(walk.attempts("T3"), 2, "attempts only grow");
}

#[test]
fn work_that_is_added_to_a_closed_phase_opens_it_again() {
    let mut walk = Walk::of("1: T1 -\n2: T2", plain(), "start T1; done T1; start T2");
    let more = plan("1: T1 -; T3 -\n2: T2\n4: T4");
    walk.give(&Command::Replan { plan: more, keep_done: false }, &agent()).unwrap();
    assert_eq!(walk.phases(), "1 open, 2 open, 4 waiting");
    assert_eq!(walk.lists(), "pending: T4; ready: T3; in_progress: T2; completed: T1");
}

#[test]
fn a_phase_that_leaves_the_plan_takes_its_question_with_it() {
    let settings = Settings { isolation: Isolation::Task, ..plain() };
    let mut walk = Walk::of("1: T1 -\n2: T2 -", settings, "start T1; done T1; conflict 1");
    assert_eq!(walk.asked().len(), 1);
    walk.give(&Command::Replan { plan: plan("2: T2 -"), keep_done: false }, &agent()).unwrap();
    assert_eq!((walk.phases().as_str(), walk.asked().len()), ("2 open", 0));
}

#[test]
fn a_new_tick_counts_at_a_rebuild_only() {
    let ticked = || plan("1: T1 -; T2 T1; T3 - [x]; T4 - [x]\n2: T5");
    let mut walk = walk();
    walk.give(&Command::Replan { plan: ticked(), keep_done: false }, &agent()).unwrap();
    assert_eq!(walk.lists(), "ready: T4; in_progress: T2; completed: T1; failed: T3; blocked: T5");
    let rebuild =
        Command::Rebuild { plan: ticked(), completed: Vec::new(), before: Before::default() };
    assert_eq!(
        walk.give(&rebuild, &agent()).unwrap_err().cause,
        Cause::Reserved,
        "a rebuild is for a person"
    );
    assert_eq!(
        summary(&walk.give(&rebuild, &person())),
        "attempt_interrupted T2; task_completed T3 (ticked box); task_completed T4 (ticked box)"
    );
    assert_eq!(walk.lists(), "pending: T5; ready: T2; completed: T1 T3 T4");
}

#[test]
fn a_rebuild_takes_the_plan_and_what_is_known_to_be_done() {
    let mut walk = walk();
    let check = || Evidence::Check { command: "merge".into(), tree: Some("abc1234".into()) };
    let completed = vec![(id("T1"), check()), (id("T3"), check()), (id("T9"), check())];
    // T2 is in progress and no longer in the plan: a rebuild may drop it. T6 and T7 are new.
    let after = plan("1: T1 -; T3 -; T4 -; T6 - [x]; T7 -");
    let rebuild = Command::Rebuild { plan: after, completed, before: Before::default() };
    assert_eq!(
        summary(&walk.give(&rebuild, &person())),
        "attempt_interrupted T2; replanned 5 tasks; task_completed T3 (check `merge`); \
         task_completed T6 (ticked box)"
    );
    assert_eq!(walk.lists(), "ready: T4 T7; completed: T1 T3 T6");
    assert_eq!(walk.active().task(&id("T1")).unwrap().evidence, Some(&Evidence::Unverified));
}

#[test]
fn one_run_at_a_time() {
    let begin = || Command::Begin { plan: plan("1: T9 -"), settings: plain() };
    assert_eq!(
        summary(&walk().give(&begin(), &agent())),
        "refused: run 1 is not finished → resume_run | rebuild_run"
    );
    let mut over = Walk::of("1: T1 -", plain(), "start T1; done T1");
    over.give(&begin(), &agent()).unwrap();
    assert_eq!((over.phases().as_str(), over.lists().as_str()), ("1 open", "ready: T9"));
    let mut none = Walk::default();
    assert_eq!(summary(&none.say("start T1")), "refused: no run has begun → begin_run");
}

#[test]
fn an_adopted_file_is_a_beginning() {
    let adopt = |completed: &[&str], failed: &[&str]| Command::Adopt {
        plan: plan("1: T1 - [x]; T2 -; T3 -; T4 T3"),
        settings: plain(),
        completed: completed.iter().map(|name| id(name)).collect(),
        failed: failed.iter().map(|name| id(name)).collect(),
        before: Before::default(),
    };
    let table: [(&[&str], &[&str], &str); 4] = [
        (&[], &[], "pending: T4; ready: T2 T3; completed: T1"),
        (&["T2"], &["T3"], "completed: T1 T2; failed: T3; blocked: T4"),
        // Completed comes before failed, and a ticked box counts as it does at every beginning.
        (&["T2", "T3"], &["T1", "T3"], "ready: T4; completed: T1 T2 T3"),
        (&["T8"], &["T9"], "pending: T4; ready: T2 T3; completed: T1"),
    ];
    for (completed, failed, want) in table {
        let mut walk = Walk::default();
        let refused = walk.give(&adopt(completed, failed), &agent()).unwrap_err();
        assert_eq!(refused.cause, Cause::Reserved);
        walk.give(&adopt(completed, failed), &person()).unwrap();
        assert_eq!(walk.lists(), want, "{completed:?} and {failed:?}");
        let reasons = walk.active().tasks().filter_map(|view| view.reason);
        assert!(reasons.into_iter().all(|reason| reason == FailReason::Forced));
    }
    let refused = walk().give(&adopt(&[], &[]), &person()).unwrap_err();
    assert_eq!(refused.message, "run 1 is not finished");
}
