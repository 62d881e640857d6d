//! Runs whose work is done apart from the project folder: bases, trees, and what counts as joined.

use super::{Isolation, Settings, Walk, id, plain, summary};
use crate::run::Command;

const TWO: &str = "
    1: T1.1 -; T1.2 -
    2: T2.1";

fn apart() -> Settings {
    let target = Some("main".to_owned());
    Settings { isolation: Isolation::Task, target, ..plain() }
}

fn tree(walk: &Walk, name: &str) -> Option<String> {
    walk.active().task_tree(&id(name))
}

#[test]
fn a_phase_shows_its_tree_while_it_has_one() {
    let mut walk = Walk::of(TWO, apart(), "");
    let shown = |walk: &Walk| walk.active().render().execution.worktree;
    assert_eq!(shown(&walk), None);
    walk.go("waypost: base 1 abc");
    assert_eq!(shown(&walk).as_deref(), Some("worktree/phase-1"));
    assert_eq!(walk.active().base(1), Some("abc"));
    // Done twice, the first base holds.
    assert_eq!(summary(&walk.say("waypost: base 1 def")), "nothing");
    walk.go(
        "start T1.1; waypost: done T1.1 @c1; start T1.2; waypost: done T1.2; waypost: joined 1 m1",
    );
    assert_eq!((shown(&walk), walk.active().base(1)), (None, None));
    assert_eq!(walk.phases(), "1 closed, 2 open");
    let refused = summary(&walk.say("base 2 abc"));
    assert_eq!(refused, "refused: branches of phases are Waypost's → show_run");
}

#[test]
fn an_attempt_has_a_tree_of_its_own_unless_it_goes_on_in_a_conversation() {
    let mut walk = Walk::of(TWO, apart(), "start T1.1; fail T1.1; wait; start T1.1");
    assert_eq!(tree(&walk, "T1.1").as_deref(), Some("worktree/phase-1--T1.1-2"));
    walk.go("waypost: engage T1.1 2 talk; fail T1.1 resumes; wait; start T1.1");
    assert_eq!(tree(&walk, "T1.1").as_deref(), Some("worktree/phase-1--T1.1-2"));
    walk.go("waypost: interrupt T1.1 #3; start T1.1");
    assert_eq!(tree(&walk, "T1.1").as_deref(), Some("worktree/phase-1--T1.1-2"));
    // What was wrong is not gone on with.
    walk.go("fail T1.1; wait; start T1.1");
    assert_eq!(tree(&walk, "T1.1").as_deref(), Some("worktree/phase-1--T1.1-5"));
    let plain = Walk::of(TWO, plain(), "start T1.1");
    assert_eq!(tree(&plain, "T1.1"), None);
}

#[test]
fn an_agent_cannot_complete_what_waypost_joins() {
    let mut walk = Walk::of(TWO, apart(), "waypost: base 1 abc; start T1.1");
    let refused = summary(&walk.say("done T1.1"));
    assert_eq!(
        refused,
        "refused: the work on T1.1 is verified and joined by Waypost: end your turn with \
         `DONE:T1.1`"
    );
    walk.go("person: done T1.1");
}

#[test]
fn what_is_joined_is_completed_whatever_was_said_meanwhile() {
    let mut walk = Walk::of(TWO, apart(), "waypost: base 1 abc; start T1.1; fail T1.1 critical");
    let late = summary(&walk.say("waypost: done T1.1 #1 @c1"));
    assert_eq!(late, "task_completed T1.1 (unverified)");
    assert_eq!(walk.active().task(&id("T1.1")).unwrap().commit, Some("c1"));
    // Without a commit nothing has happened that could not be undone.
    let mut walk = Walk::of(TWO, apart(), "waypost: base 1 abc; start T1.1; fail T1.1 critical");
    assert!(summary(&walk.say("waypost: done T1.1 #1")).starts_with("refused"));
}

#[test]
fn where_a_phase_is_worked_on_holds_until_its_end() {
    let mut walk = Walk::of(TWO, apart(), "waypost: base 1 abc");
    let other = Command::Configure { settings: plain() };
    let refused = summary(&walk.give(&other, &super::person()));
    assert_eq!(
        refused,
        "refused: phase 1 is being worked on in worktree/phase-1, to be merged into main: that \
         holds until its end → resume_run"
    );
    walk.go(
        "start T1.1; waypost: done T1.1 @c1; start T1.2; waypost: done T1.2; waypost: joined 1 m1",
    );
    walk.give(&other, &super::person()).unwrap();
}

#[test]
fn a_phase_that_was_stopped_is_joined_again_without_stopping_anything_else() {
    let script = "start T1.1; waypost: done T1.1 @c1; start T1.2; waypost: done T1.2 @c2";
    let mut walk = Walk::of(TWO, apart(), &format!("waypost: base 1 abc; {script}"));
    walk.go("waypost: conflict 1");
    assert_eq!((walk.phases().as_str(), walk.asked().len()), ("1 stopped, 2 waiting", 1));
    assert_eq!(walk.active().base(1), Some("abc"));
    walk.go("waypost: join again");
    assert_eq!((walk.phases().as_str(), walk.asked().len()), ("1 joining, 2 waiting", 0));
    assert_eq!(summary(&walk.say("waypost: join again")), "nothing");
}
