//! What a run at work takes up of a changed plan: the table of `run/at_work.rs`, row by row.

use super::*;
use crate::run::{PlanAtWork, PlanSource};

const BEFORE: &str = "1: T1.1 -; T1.2 -; T1.3 T1.2\n2: T2.1";

/// T1.1 is completed and T1.2 in progress.
fn at_work() -> Run {
    let mut plan = plan(BEFORE);
    plan.source = Some(PlanSource { path: "TASKS.md".into(), hash: "before".into() });
    let done = |id: &str| Command::Done {
        id: super::id(id),
        attempt: None,
        evidence: Evidence::Unverified,
        commit: None,
    };
    let commands = [
        Command::Begin { plan, settings: Settings::default() },
        Command::Start { id: id("T1.1") },
        done("T1.1"),
        Command::Start { id: id("T1.2") },
    ];
    Run::imagine(commands.iter(), &Asked { by: &person(), now: Time::default() }).unwrap()
}

/// The tasks that go on, a line each; what waits; and which file counts as read.
fn taken(after: &str) -> String {
    let run = at_work();
    let mut after = plan(after);
    after.source = Some(PlanSource { path: "TASKS.md".into(), hash: "after".into() });
    let Some(PlanAtWork { plan, in_progress, completed }) =
        run.active().unwrap().at_work_with(&after)
    else {
        return "nothing".into();
    };
    let mut lines: Vec<String> = plan
        .tasks
        .iter()
        .map(|task| format!("{} @{} {}", task.id, task.phase, task.title))
        .collect();
    let ids = |ids: &[TaskId]| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(",");
    lines.push(format!("in progress {}", ids(&in_progress)));
    lines.push(format!("completed {}", ids(&completed)));
    lines.push(plan.source.clone().unwrap().hash);
    // The machine takes it, too.
    let replan = Command::Replan { plan, keep_done: false };
    run.decide(&replan, &Asked { by: &Actor::Waypost, now: Time::default() }).unwrap();
    lines.join("; ")
}

#[test]
fn what_is_not_begun_is_taken_up_at_once() {
    let after = "1: T1.1 -; T1.2 -; T1.3 -; T1.4 T1.2\n2: T2.2 =other";
    assert_eq!(
        taken(after),
        "T1.1 @1 the work of T1.1; T1.2 @1 the work of T1.2; T1.3 @1 the work of T1.3; \
         T1.4 @1 the work of T1.4; T2.2 @2 other; in progress ; completed ; after"
    );
}

#[test]
fn what_is_in_progress_waits_for_its_end_and_holds_up_nothing_else() {
    let same = "T1.1 @1 the work of T1.1; T1.2 @1 the work of T1.2; T2.1 @2 the work of T2.1; \
                in progress T1.2; completed ; before";
    assert_eq!(taken("1: T1.1 -; T1.2 - =other\n2: T2.1"), same);
    assert_eq!(taken("1: T1.1 -\n2: T1.2 -; T2.1"), same);
    assert_eq!(
        taken("1: T1.1 -\n2: T2.1"),
        "T1.1 @1 the work of T1.1; T2.1 @2 the work of T2.1; T1.2 @1 the work of T1.2; \
         in progress T1.2; completed ; before"
    );
}

#[test]
fn what_is_completed_stays_as_it_was_done() {
    assert_eq!(
        taken("1: T1.1 - =other; T1.2 -; T1.4 -\n2: T2.1"),
        "T1.1 @1 the work of T1.1; T1.2 @1 the work of T1.2; T1.4 @1 the work of T1.4; \
         T2.1 @2 the work of T2.1; in progress ; completed T1.1; before"
    );
}

#[test]
fn what_does_not_go_together_waits_as_a_whole() {
    // T1.2 would have to wait for a task of a later phase as long as it is in phase 1.
    assert_eq!(taken("1: T1.1 -\n2: T2.1; T1.2 T2.1"), "nothing");
}
