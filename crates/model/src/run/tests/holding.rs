//! How many tasks wait behind a question.

use super::{SEED_PLAN, Walk, plain};
use crate::{inbox::Topic, machine::Machine as _};

#[track_caller]
fn check(script: &str, topic: &str, want: Option<usize>) {
    let walk = Walk::of(SEED_PLAN, plain(), script);
    assert_eq!(walk.run.holds(&Topic::new(topic)), want, "{topic} after `{script}`");
}

/// The first phase of the seed's example.
const FIRST_PHASE: &str = "start T0.5.1; done T0.5.1; start T0.5.2; done T0.5.2; \
                           start T0.5.3; done T0.5.3;";

#[test]
fn a_question_holds_its_task_and_all_that_waits_for_it() {
    // Two others of its phase go on; the seven of the next one wait for the whole phase.
    check("", "task/T0.5.1/k", Some(1 + 7));
    check(FIRST_PHASE, "task/T1.1/k", Some(6));
    check(FIRST_PHASE, "task/T1.2/k", Some(5));
    check(FIRST_PHASE, "task/T1.7/k", Some(1));
    check(FIRST_PHASE, "task/T0.5.1/k", Some(0));
    check(FIRST_PHASE, "task/T9.9/k", Some(0));
    check("", "phase/0", Some(7));
    check("", "phase/1", Some(0));
    check("", "trouble/disk", None);
    check("", "something else", None);
}

#[test]
fn what_failed_or_can_never_be_done_does_not_wait() {
    let script = format!("{FIRST_PHASE} start T1.1; done T1.1; start T1.2; done T1.2;");
    check(&script, "task/T1.3/k", Some(4));
    check(&format!("{script} skip T1.4;"), "task/T1.3/k", Some(2));
}

#[test]
fn an_account_holds_every_task_that_is_parked_for_it() {
    let script = format!(
        "{FIRST_PHASE} start T1.1; waypost: engage T1.1 1 c1; waypost: hold T1.1 1 outage claude; \
         start T1.2; waypost: engage T1.2 1 c2; waypost: hold T1.2 1 outage claude;"
    );
    check(&script, "account/claude", Some(7));
    check(&script, "account/codex", Some(0));
}

#[test]
fn without_a_run_there_is_nothing_to_hold() {
    assert_eq!(Walk::default().run.holds(&Topic::new("phase/1")), None);
}
