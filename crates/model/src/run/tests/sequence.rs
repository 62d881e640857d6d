//! One run after another: what a new one begins with, and when one may begin.

use super::{
    Before, Command, Earlier, Event, Evidence, Isolation, PhaseStage, Run, Settings, TaskId, Time,
    Walk, agent, id, person, plain, plan, summary,
};
use crate::machine::Machine as _;

const FIRST: &str = "1: T1 -; T2 -\n2: T3; T4 -";
const ALL: &str = "start T1; done T1; start T2; done T2; start T3; done T3; start T4; done T4";

fn over() -> Walk {
    Walk::of(FIRST, plain(), ALL)
}

fn begin(text: &str) -> Command {
    Command::Begin { plan: plan(text), settings: plain() }
}

fn begin_new(text: &str, earlier: Earlier) -> Command {
    Command::BeginNew { plan: plan(text), settings: plain(), earlier }
}

/// What is left to do in the next run over `text`, and its number.
#[track_caller]
fn check(mut walk: Walk, command: &Command, want: &str) -> Walk {
    let before = walk.active().number();
    walk.give(command, &agent()).unwrap();
    assert_eq!((walk.active().number(), walk.lists().as_str()), (before + 1, want));
    walk
}

#[test]
fn what_says_the_same_stays_completed_in_the_next_run() {
    // A phase is appended.
    check(over(), &begin("1: T1 -; T2 -\n2: T3; T4 -\n3: T5"), "ready: T5; completed: T1 T2 T3 T4");
    // A task says something else, also if Waypost has ticked its box; one is new and ticked.
    check(
        over(),
        &begin("1: T1 - =other [x]; T2 - [x]\n2: T3; T9 - [x]"),
        "ready: T1; completed: T2 T3 T9",
    );
    // The plan is replaced: ids are used again, and nothing but them.
    check(over(), &begin("1: T1 - =a; T2 - =b"), "ready: T1 T2");
    // Dependencies, phases and urgency are not what a task says.
    check(over(), &begin("1: T4 -; T2 T4 !high\n2: T1; T8"), "ready: T8; completed: T4 T2 T1");
}

#[test]
fn everything_is_done_again_where_that_is_asked_for() {
    // T2 was ticked by a person before the first run; T1 by the run.
    let first = Walk::of("1: T1 -; T2 - [x]", plain(), "start T1; done T1");
    let again = begin_new("1: T1 - [x]; T2 - [x]", Earlier::IsDoneAgain);
    let mut walk = check(first, &again, "ready: T1; completed: T2");
    walk.go("start T1");
    assert_eq!(walk.attempts("T1"), 2, "attempts only grow");
}

#[test]
fn what_the_last_run_did_not_complete_is_open_although_an_earlier_one_did() {
    let again = begin_new(FIRST, Earlier::IsDoneAgain);
    let mut walk = check(over(), &again, "pending: T3 T4; ready: T1 T2");
    walk.go("start T1; fail T1 critical; start T2; done T2; start T4; done T4");
    assert_eq!(walk.lists(), "completed: T2 T4; failed: T1; blocked: T3");
    // Its box was ticked by the first run.
    let text = "1: T1 - [x]; T2 -\n2: T3; T4 -; T5 -";
    check(walk, &begin(text), "pending: T3 T5; ready: T1; completed: T2 T4");
}

#[test]
fn a_task_is_known_over_runs_that_did_not_have_it() {
    let walk = check(over(), &begin("1: T7 -"), "ready: T7");
    let mut walk =
        check(walk, &begin_new("1: T7 -; T1 -", Earlier::Counts), "ready: T7; completed: T1");
    walk.go("start T7; done T7");
    let walk = check(walk, &begin("1: T2 - =other"), "ready: T2");
    assert_eq!(walk.attempts("T2"), 1, "it was tried once, in the first run");
    let files: Vec<(u32, usize, usize, bool)> =
        walk.active().runs().map(|it| (it.number, it.completed, it.total, it.is_over)).collect();
    let want = [(1, 4, 4, true), (2, 0, 1, false), (3, 2, 2, true), (4, 0, 1, false)];
    assert_eq!(files, want);
}

#[test]
fn what_a_run_has_used_up_is_its_own() {
    let mut walk = Walk::of("1: T1 -", plain(), "start T1; waypost: engage T1 1 c1");
    walk.go("waypost: account T1 40; done T1");
    assert_eq!(walk.active().usage().tokens(), 40);
    let walk = check(walk, &begin("1: T1 -; T2 -"), "ready: T2; completed: T1");
    assert!(walk.active().usage().is_nothing());
    assert_eq!(walk.active().runs().map(|run| run.usage.tokens()).collect::<Vec<_>>(), [40, 0]);
    assert_eq!(walk.active().average_task_seconds(), 0, "T1 took no time in this run");
    assert_eq!(walk.active().estimate(), None);
}

#[test]
fn a_phase_in_which_nothing_is_left_stays_merged() {
    let settings = Settings { isolation: Isolation::Task, ..plain() };
    let script = "start T1; done T1; start T2; done T2; joined 1 abc1234; \
                  start T3; done T3; start T4; done T4; joined 2 def5678";
    let mut walk = Walk::of(FIRST, settings.clone(), script);
    let before = walk.active().phase(1).cloned();
    let next = Command::Begin { plan: plan("1: T1 -; T2 -\n2: T3; T4 -; T5 -\n3: T6"), settings };
    walk.give(&next, &agent()).unwrap();
    assert_eq!(walk.phases(), "1 closed, 2 open, 3 waiting");
    assert_eq!(walk.active().phase(1).cloned(), before, "with its commit and its times");
}

#[test]
fn a_run_that_is_not_finished_is_given_up_only_if_that_is_said() {
    let unfinished = || Walk::of(FIRST, plain(), "start T1; done T1; start T2");
    assert_eq!(
        summary(&unfinished().give(&begin(FIRST), &agent())),
        "refused: run 1 is not finished → resume_run | rebuild_run"
    );
    let mut walk = unfinished();
    assert_eq!(
        summary(&walk.give(&begin_new(FIRST, Earlier::Counts), &agent())),
        "attempt_interrupted T2; begun 4 tasks, ultra-thin; task_completed T1 (unverified); \
         phase_opened 1; notify start"
    );
    let runs: Vec<(u32, bool)> = walk.active().runs().map(|it| (it.number, it.is_over)).collect();
    assert_eq!(runs, [(1, false), (2, false)]);
    walk.go("start T2");
    let late = walk.say("done T2 #1");
    assert_eq!(summary(&late), "refused: attempt 1 of T2 is not the current one, which is 2");
}

#[test]
fn a_run_with_work_that_is_not_merged_is_not_given_up() {
    let settings = Settings { isolation: Isolation::Task, target: Some("main".into()), ..plain() };
    let script = "waypost: base 1 abc1234; start T1; waypost: done T1";
    let mut walk = Walk::of(FIRST, settings, script);
    assert_eq!(
        summary(&walk.give(&begin_new(FIRST, Earlier::IsDoneAgain), &person())),
        "refused: run 1 is not finished, and its work on phase 1 is in worktree/phase-1, not \
         merged yet → resume_run"
    );
}

#[test]
fn a_completed_task_that_says_something_else_is_named() {
    let unfinished = || Walk::of(FIRST, plain(), "start T1; done T1; start T2; done T2; start T3");
    let replan = |text: &str, keep_done| Command::Replan { plan: plan(text), keep_done };
    let one = "1: T1 - =other; T2 -\n2: T3; T4 -";
    assert_eq!(
        summary(&unfinished().give(&replan(one, false), &agent())),
        "refused: T1 is completed in run 1 and says something else now → \
         begin_keeping_done | begin_afresh"
    );
    let both = "1: T1 - =other; T2 - =other\n2: T3 =other; T4 - =other";
    let refused = unfinished().give(&replan(both, false), &agent()).unwrap_err();
    assert_eq!(refused.message, "T1, T2 are completed in run 1 and say something else now");
    let mut walk = unfinished();
    assert_eq!(summary(&walk.give(&replan(both, true), &agent())), "replanned 4 tasks");
    assert_eq!(walk.lists(), "ready: T4; in_progress: T3; completed: T1 T2");
    // Kept, it is what the run has completed: nothing is left to ask.
    assert_eq!(walk.active().redefined(&plan(both)), Vec::<TaskId>::new());
    // What a person has ticked may be reworded.
    let mut walk = Walk::of("1: T1 - [x]; T2 -", plain(), "");
    walk.give(&replan("1: T1 - [x] =other; T2 -", false), &agent()).unwrap();
}

#[test]
fn one_that_was_left_out_and_comes_back_is_compared_with_what_it_said() {
    let mut walk = Walk::of(FIRST, plain(), "start T1; done T1");
    let replan = |text: &str| Command::Replan { plan: plan(text), keep_done: false };
    walk.give(&replan("1: T2 -\n2: T3; T4 -"), &agent()).unwrap();
    assert_eq!(walk.active().redefined(&plan(FIRST)), Vec::<TaskId>::new());
    let refused = walk.give(&replan("1: T1 - =other; T2 -\n2: T3; T4 -"), &agent()).unwrap_err();
    assert_eq!(refused.message, "T1 is completed in run 1 and says something else now");
}

#[test]
fn a_plan_has_news_if_something_in_it_is_new_or_says_something_else() {
    let walk = over();
    let news = |text: &str| {
        let ids = walk.active().news(&plan(text));
        ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(news(FIRST), "");
    assert_eq!(news("1: T2 -"), "", "left out is not new");
    assert_eq!(news("1: T4 - !high; T3 T4\n2: T1; T2 T1"), "", "nor is another order");
    assert_eq!(news("1: T1 -; T2 - =other\n2: T3; T9 -"), "T2 T9");
}

#[test]
fn times_and_merges_from_before_the_journal_are_kept() {
    let at = |seconds: i64| Time::from_millis(seconds * 1_000);
    let (since, merge_commit, merged_elsewhere) = (at(10), Some("abc1234".to_owned()), false);
    let closed = PhaseStage::Closed { since, at: at(20), merge_commit, merged_elsewhere };
    let before = Before {
        started_at: Some(at(5)),
        task_seconds: Some(42),
        phases: [(1, closed.clone()), (2, PhaseStage::Open { since: at(20) })].into(),
    };
    let adopt = Command::Adopt {
        plan: plan(FIRST),
        settings: plain(),
        completed: [id("T1"), id("T2")].into(),
        failed: Vec::new(),
        before,
    };
    let mut walk = Walk::default();
    walk.give(&adopt, &person()).unwrap();
    let active = walk.active();
    assert_eq!(walk.phases(), "1 closed, 2 open");
    assert_eq!((active.started_at(), active.average_task_seconds()), (at(5), 42));
    assert_eq!(active.phase(1), Some(&closed));
    assert_eq!(active.phase(2), Some(&PhaseStage::Open { since: at(20) }));
}

#[test]
fn merged_tasks_keep_their_commits_when_the_state_is_made_again() {
    let mut walk = Walk::of(FIRST, plain(), "");
    let merged = |name: &str, commit: &str| (id(name), Evidence::Merged { commit: commit.into() });
    let completed = vec![merged("T1", "abc1234"), merged("T2", "def5678")];
    let rebuild = Command::Rebuild { plan: plan(FIRST), completed, before: Before::default() };
    walk.give(&rebuild, &person()).unwrap();
    let commits: Vec<Option<&str>> = walk.active().tasks().map(|view| view.commit).collect();
    assert_eq!(commits, [Some("abc1234"), Some("def5678"), None, None]);
}

/// Journals of format 3 and snapshots without what later ones have.
#[test]
fn what_was_written_before_runs_had_numbers_is_read() {
    let begun = r#"{"begun":{"plan":{"project":"x","phases":{"1":"One"},"tasks":[{"id":"T1","title":"title","phase":1,"depends":"phase_before","line":1}]},"settings":{"mode":"ultra-thin","max_parallel":0,"retry_limit":10,"max_iterations":50,"same_error_limit":3,"isolation":"none","slack_webhook_url":null}}}"#;
    let mut run = Run::none();
    for text in [begun, r#"{"task_started":{"id":"T1","attempt":1}}"#] {
        let event: Event = serde_json::from_str(text).unwrap();
        run.apply(&event, Time::from_millis(0));
    }
    let mut stored = serde_json::to_value(&run).unwrap();
    stored.as_object_mut().unwrap().remove("number");
    let run: Run = serde_json::from_value(stored).unwrap();
    assert_eq!(run.active().unwrap().number(), 1);
}
