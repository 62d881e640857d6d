//! One task's life: readiness, attempts, retries, failure and what it blocks.

use super::{
    Command, Evidence, Mode, NextStep, SEED_PLAN, Settings, TaskStatus, Walk, agent, id, person,
    plain, summary,
};
use crate::{machine::Cause, run::FailReason};
use std::time::Duration;

/// Goes through steps and compares the lists after each.
#[track_caller]
fn check(plan: &str, steps: &[(&str, &str)]) {
    let mut walk = Walk::of(plan, plain(), "");
    for (script, want) in steps {
        walk.go(script);
        assert_eq!(walk.lists(), *want, "after `{script}`");
    }
}

#[test]
fn the_seeds_example_goes_its_way() {
    check(
        SEED_PLAN,
        &[
            ("", "pending: T1.1 T1.2 T1.3 T1.4 T1.5 T1.6 T1.7; ready: T0.5.1 T0.5.2 T0.5.3"),
            (
                "start T0.5.1; done T0.5.1; start T0.5.2; done T0.5.2; start T0.5.3; done T0.5.3; \
                 start T1.1; done T1.1; start T1.2; done T1.2",
                "pending: T1.5 T1.6 T1.7; ready: T1.3 T1.4; completed: T0.5.1 T0.5.2 T0.5.3 T1.1 \
                 T1.2",
            ),
            (
                "start T1.3",
                "pending: T1.5 T1.6 T1.7; ready: T1.4; in_progress: T1.3; \
                 completed: T0.5.1 T0.5.2 T0.5.3 T1.1 T1.2",
            ),
            // T1.5 needs T1.4 as well, so that only T1.6 follows.
            (
                "done T1.3",
                "pending: T1.5 T1.7; ready: T1.4 T1.6; \
                 completed: T0.5.1 T0.5.2 T0.5.3 T1.1 T1.2 T1.3",
            ),
            (
                "start T1.4; done T1.4",
                "pending: T1.7; ready: T1.5 T1.6; \
                 completed: T0.5.1 T0.5.2 T0.5.3 T1.1 T1.2 T1.3 T1.4",
            ),
        ],
    );
}

#[test]
fn failure_blocks_all_that_stands_on_it_and_retry_lifts_that() {
    let plan = "1: T1 -; T2 T1; T3 T2; T4 T3,T5; T5 -";
    check(
        plan,
        &[
            ("start T1; fail T1 critical", "ready: T5; failed: T1; blocked: T2 T3 T4"),
            ("retry T1", "pending: T2 T3 T4; ready: T1 T5"),
            ("start T1; done T1", "pending: T3 T4; ready: T2 T5; completed: T1"),
            ("skip T2", "ready: T5; completed: T1; failed: T2; blocked: T3 T4"),
            ("person: satisfy T2", "pending: T4; ready: T3 T5; completed: T1 T2"),
            ("person: satisfy T4", "ready: T3 T5; completed: T1 T2 T4"),
        ],
    );
}

#[test]
fn what_is_skipped_may_be_opened_again() {
    check(
        "1: T1 -; T2 T1; T3 -",
        &[
            ("skip T2", "ready: T1 T3; failed: T2"),
            ("skip T1", "ready: T3; failed: T1 T2"),
            ("retry T2", "ready: T3; failed: T1; blocked: T2"),
            ("retry T1", "pending: T2; ready: T1 T3"),
        ],
    );
    let mut walk = Walk::of("1: T1 -; T2 -", plain(), "start T2; fail T2 critical; skip T2");
    assert_eq!(walk.active().task(&id("T2")).unwrap().reason, Some(FailReason::Skipped));
    assert_eq!(summary(&walk.say("skip T2")), "nothing");
    walk.go("start T1");
    assert_eq!(summary(&walk.say("skip T1")), "refused: T1 is in_progress → fail_task T1");
}

#[test]
fn the_most_urgent_comes_first_then_the_order_of_the_file() {
    let plan = "1: T1 - !low; T2 -; T3 - !critical; T4 - !high; T5 -; T6 - !critical";
    let walk = Walk::of(plan, plain(), "");
    let ready: Vec<&str> = walk.active().ready().map(|it| it.planned.id.as_str()).collect();
    assert_eq!(ready, ["T3", "T6", "T4", "T2", "T5", "T1"]);
}

#[test]
fn a_ticked_task_is_completed_when_the_run_begins() {
    let walk = Walk::of("1: T1 - [x]; T2 T1; T3 T2 [x]", plain(), "");
    assert_eq!(walk.lists(), "ready: T2; completed: T1 T3");
    assert_eq!(walk.active().task(&id("T1")).unwrap().evidence, Some(&Evidence::Box));
}

/// How often a task can be started until it has failed for good.
fn starts(settings: Settings, failure: &str) -> (u32, Option<FailReason>) {
    let mut walk = Walk::of("1: T1 -", settings, "");
    while walk.say("start T1").is_ok() {
        walk.go(&format!("{failure}; wait"));
    }
    let view = walk.active().task(&id("T1")).unwrap();
    (view.attempts, view.reason)
}

#[test]
fn retries_are_counted_beyond_the_first_try() {
    let retries = |retry_limit| Settings { retry_limit, ..plain() };
    let ralph = |max_iterations| Settings { mode: Mode::Ralph, max_iterations, ..plain() };
    let exhausted = Some(FailReason::Exhausted);
    let table = [
        (plain(), "fail T1", (11, exhausted)),
        (plain(), "fail T1 validation", (11, exhausted)),
        (retries(0), "fail T1", (1, exhausted)),
        (retries(3), "fail T1", (4, exhausted)),
        (ralph(50), "fail T1", (50, exhausted)),
        (ralph(1), "fail T1", (1, exhausted)),
    ];
    for (settings, failure, want) in table {
        assert_eq!(starts(settings.clone(), failure), want, "{settings:?}");
    }
}

#[test]
fn what_another_try_cannot_mend_fails_at_once() {
    for class in
        ["dependency", "resource", "structural", "critical", "ENV_ISSUE", "DESIGN_MISMATCH"]
    {
        let got = starts(plain(), &format!("fail T1 {class}"));
        assert_eq!(got, (1, Some(FailReason::Hopeless)), "{class}");
    }
}

#[test]
fn the_same_error_ends_a_task_early() {
    let limited = |same_error_limit| Settings { same_error_limit, ..plain() };
    let same = Some(FailReason::SameError);
    let table = [
        // The first attempt was not told of it.
        (3, "fail T1 =E1", (4, same)),
        (1, "fail T1 =E1", (2, same)),
        // Off, and what has no signature is never the same.
        (0, "fail T1 =E1", (11, Some(FailReason::Exhausted))),
        (3, "fail T1", (11, Some(FailReason::Exhausted))),
        // Another error in between begins the count again.
        (3, "fail T1 =E1; wait; start T1; fail T1 =E2", (11, Some(FailReason::Exhausted))),
    ];
    for (limit, failure, want) in table {
        let mut walk = Walk::of("1: T1 -", limited(limit), "");
        while walk.say("start T1").is_ok() {
            for line in failure.split(';').map(str::trim) {
                let _over = walk.say(line).is_err();
            }
            walk.go("wait");
        }
        let view = walk.active().task(&id("T1")).unwrap();
        assert_eq!((view.attempts, view.reason), want, "limit {limit}: {failure}");
    }
}

#[test]
fn a_retry_waits_for_its_delay() {
    let mut walk = Walk::of("1: T1 -", plain(), "start T1; fail T1");
    let view = walk.active().task(&id("T1")).unwrap();
    let not_before = view.last_failure.unwrap().not_before;
    assert_eq!((view.status, view.retries), (TaskStatus::Ready, 1));
    assert!(not_before >= walk.now.plus(Duration::from_secs(2)));
    assert_eq!(view.not_before(), Some(not_before), "the engine looks again then");

    let refused = walk.say("start T1").unwrap_err();
    assert_eq!(refused.next, [NextStep::RetryTask { id: id("T1") }]);
    walk.go("wait; start T1; done T1");
    assert_eq!(walk.attempts("T1"), 2);

    // Asked for, it does not wait.
    let mut walk = Walk::of("1: T1 -", plain(), "start T1; fail T1; retry T1; start T1");
    assert_eq!(walk.attempts("T1"), 2);
    walk.go("done T1");
}

#[test]
fn a_retry_brings_all_tries_back_but_attempts_go_on_counting() {
    let settings = Settings { retry_limit: 1, ..plain() };
    let failing = "start T1; fail T1; wait; start T1; fail T1";
    let walk = Walk::of("1: T1 -", settings, &format!("{failing}; retry T1; {failing}"));
    let view = walk.active().task(&id("T1")).unwrap();
    assert_eq!((view.status, view.attempts), (TaskStatus::Failed, 4));
}

#[test]
fn only_the_present_attempt_is_listened_to() {
    let again = "start T1; fail T1 #1; wait; start T1";
    let table = [
        ("start T1", "done T1 #1", None),
        ("start T1", "done T1", None),
        (again, "done T1 #2", None),
        (again, "done T1 #1", Some(Cause::Fenced)),
        (again, "fail T1 #1", Some(Cause::Fenced)),
        (again, "done T1 #3", Some(Cause::Fenced)),
        // The attempt was interrupted: its number still stands, but nothing is under way.
        ("start T1; resume", "done T1 #1", Some(Cause::Rule)),
        ("start T1; resume; start T1", "done T1 #1", Some(Cause::Fenced)),
        ("start T1; done T1", "done T1 #1", None),
        ("start T1; done T1", "fail T1 #1", Some(Cause::Rule)),
    ];
    for (script, line, want) in table {
        let mut walk = Walk::of("1: T1 -; T2 -", plain(), script);
        let cause = walk.say(line).err().map(|rejected| rejected.cause);
        assert_eq!(cause, want, "`{line}` after `{script}`");
    }
    let mut walk = Walk::of("1: T1 -", plain(), again);
    assert_eq!(
        summary(&walk.say("done T1 #1")),
        "refused: attempt 1 of T1 is not the current one, which is 2"
    );
}

#[test]
fn no_more_than_max_parallel_are_in_progress() {
    for (max_parallel, want) in [(0, 3), (1, 1), (2, 2), (9, 3)] {
        let settings = Settings { max_parallel, ..plain() };
        let mut walk = Walk::of("1: T1 -; T2 -; T3 -", settings, "");
        let lines = ["start T1", "start T2", "start T3"];
        let started = lines.into_iter().filter(|line| walk.say(line).is_ok()).count();
        assert_eq!(started, want, "max_parallel {max_parallel}");
    }
    let settings = Settings { max_parallel: 2, ..plain() };
    let mut walk = Walk::of("1: T1 -; T2 -; T3 -", settings, "start T1; start T2");
    assert_eq!(
        summary(&walk.say("start T3")),
        "refused: 2 tasks are in progress, and max_parallel is 2 → show_run"
    );
    walk.go("done T1; start T3");
    assert_eq!(walk.lists(), "in_progress: T2 T3; completed: T1");
}

#[test]
fn resume_makes_ready_what_was_in_progress_and_keeps_its_attempts() {
    let mut walk = Walk::of("1: T1 -; T2 -; T3 T1", plain(), "start T1; start T2; done T2");
    let decision = walk.say("resume");
    assert_eq!(summary(&decision), "attempt_interrupted T1");
    assert_eq!(walk.lists(), "pending: T3; ready: T1; completed: T2");
    let view = walk.active().task(&id("T1")).unwrap();
    assert_eq!((view.attempts, view.retries), (1, 0));
    assert_eq!(summary(&walk.say("resume")), "nothing");
    walk.go("start T1");
    assert_eq!(walk.attempts("T1"), 2);
}

#[test]
fn an_attempt_without_a_result_is_no_failure() {
    let settings = Settings { retry_limit: 0, ..plain() };
    let mut walk = Walk::of("1: T1 -; T2 -", settings, "start T1; interrupt T1 #1; start T1");
    assert_eq!(walk.attempts("T1"), 2);
    assert_eq!(walk.say("interrupt T1 #1").unwrap_err().cause, Cause::Fenced);
    walk.go("done T1 #2");
    assert_eq!(summary(&walk.say("interrupt T1 #2")), "nothing");
    assert_eq!(walk.lists(), "ready: T2; completed: T1");
}

#[test]
fn what_is_reverted_blocks_what_stood_on_it() {
    let script = "start T1; done T1; start T2; done T2";
    let mut walk = Walk::of("1: T1 -; T2 T1; T3 T1; T4 T2\n2: T5", plain(), script);
    walk.go("revert T1");
    // T2 has done its work, and that is still there.
    assert_eq!(walk.lists(), "ready: T4; completed: T2; failed: T1; blocked: T3 T5");
    assert_eq!(walk.active().task(&id("T1")).unwrap().reason, Some(FailReason::Reverted));
    assert_eq!(summary(&walk.say("revert T1")), "nothing");
    walk.go("retry T1; start T1");
    assert_eq!(walk.attempts("T1"), 2);
    assert_eq!(
        summary(&walk.say("revert T1")),
        "refused: T1 is in_progress; only a completed task is reverted → complete_task T1"
    );
}

#[test]
fn to_count_a_task_as_completed_is_reserved_and_recorded_as_forced() {
    let mut walk = Walk::of("1: T1 -; T2 -", plain(), "start T1; fail T1 critical");
    let satisfy = Command::Satisfy { id: id("T1") };
    assert_eq!(
        summary(&walk.give(&satisfy, &agent())),
        "refused: counting a task as completed is reserved for a person at a terminal"
    );
    assert_eq!(summary(&walk.give(&satisfy, &person())), "task_completed T1 (forced)");
    assert_eq!(summary(&walk.give(&satisfy, &person())), "nothing");
}

#[test]
fn whoever_names_a_task_waits_for_it() {
    let walk = Walk::of("1: T1 -; T2 T1; T3 T2,T1; T4 T3\n2: T5; T6 T1", plain(), "");
    let waiting = |name: &str| {
        let ids = walk.active().dependents(&id(name));
        ids.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let got = ["T1", "T3", "T4", "T9"].map(waiting);
    assert_eq!(got, ["T2 T3 T6", "T4", "", ""]);
}

#[test]
fn a_task_that_cannot_start_says_what_it_waits_for() {
    let plan = "
        1: T1 -; T2 T1; T3 T1,T2; T4 T2
        2: T5; T6 T4; T7 -";
    let walk = || Walk::of(plan, plain(), "start T1; fail T1 critical; retry T1");
    let refused = |script: &str, line: &str| {
        let mut walk = walk();
        walk.go(script);
        summary(&walk.say(line))
    };
    #[rustfmt::skip]
    let table = [
        ("", "start T3", "T3 is pending: it waits for T1 (ready), T2 (pending) → show_ready"),
        ("", "start T5", "T5 is pending: it waits for phase 1 (0/4 completed) → show_ready"),
        ("", "start T6", "T6 is pending: it waits for T4 (pending) → show_ready"),
        ("", "start T7", "T7 is pending: it waits for phase 2 → show_ready"),
        ("", "start T9", "there is no task T9 in this run → show_run"),
        ("start T1", "start T1", "T1 is in_progress (attempt 2) → complete_task T1"),
        ("start T1; done T1", "start T1", "T1 is completed → show_ready"),
        ("skip T1", "start T1", "T1 is failed → retry_task T1"),
        ("skip T1", "start T2", "T2 is blocked: it waits for T1 (failed) → retry_task T1"),
        ("skip T1", "start T4", "T4 is blocked: it waits for T2 (blocked) → explain_task T4"),
        ("skip T1", "start T5", "T5 is blocked: it waits for phase 1 (0/4 completed) → explain_task T5"),
        ("skip T1", "retry T2", "T2 is blocked; only a failed task is retried → retry_task T1"),
        ("", "done T2", "T2 is pending, not in progress → show_ready"),
        ("", "fail T1", "T1 is ready, not in progress → start_task T1"),
    ];
    for (script, line, want) in table {
        assert_eq!(refused(script, line), format!("refused: {want}"), "`{line}` after `{script}`");
    }
    // What may start waits for nothing.
    let ready = walk();
    let view = ready.active().task(&id("T1")).unwrap();
    assert_eq!(ready.active().waits_for(&view), "");
    let many = "1: T1 -; T2 -; T3 -; T4 -; T5 -; T6 -; T7 -; T8 T1,T2,T3,T4,T5,T6,T7";
    let mut walk = Walk::of(many, plain(), "");
    assert_eq!(
        walk.say("start T8").unwrap_err().message,
        "T8 is pending: it waits for T1 (ready), T2 (ready), T3 (ready), T4 (ready), T5 (ready) \
         and 2 more"
    );
}

#[test]
fn time_spent_is_the_mean_over_completed_tasks_and_all_their_attempts() {
    // T1 is at work for 1 s and for 1,001 s, T2 for 1 s; T3 was never started, T4 is not done.
    let script = "start T1; fail T1; wait; start T1; wait; done T1; start T2; done T2; \
                  person: satisfy T3; start T4";
    let walk = Walk::of("1: T1 -; T2 -; T3 -; T4 -", plain(), script);
    assert_eq!(walk.active().average_task_seconds(), 502);
    assert_eq!(Walk::of("1: T1 - [x]", plain(), "").active().average_task_seconds(), 0);
}
