//! The history: entries, totals that outlast them, retention, and what others have finished.

use super::*;
use crate::document::{
    Document as _,
    memory::{HistoryEntry, Statistics, TaskHistory},
};

const DAY: i64 = 24 * 3_600 * 1_000;

#[test]
fn a_task_that_ends_leaves_an_entry_with_what_it_took() {
    let mut walk = Walk::of(THREE);
    let started = walk.now;
    for line in ["step start 1", "step fail 1", "wait 2", "step retry 1", "step complete 1"] {
        walk.give(line).unwrap();
    }
    let ending = Ending {
        summary: "half of it".into(),
        lessons: vec!["plan less".into()],
        artifacts: vec![crate::document::memory::Artifact {
            form: crate::document::memory::ArtifactForm::File,
            path: "src/cart.rs".into(),
            description: String::new(),
        }],
        tokens_used: 7,
    };
    let act = TaskAct::Complete { partial: true, ending };
    let person = Actor::User("mina".into());
    walk.command(&person, &Command::Task { id: None, act }).unwrap();
    let entry = &walk.memory.history().entries()[0];
    assert_eq!(entry.started_at, Some(started.into()));
    assert_eq!(entry.completed_at, Some(walk.now.into()));
    assert_eq!(entry.duration_seconds, walk.now.since(started).as_secs());
    let metrics = entry.metrics;
    let counted = (metrics.steps_total, metrics.steps_completed, metrics.retries);
    assert_eq!((counted, metrics.tokens_used), ((3, 1, 1), 7));
    assert_eq!(entry.lessons, ["plan less"]);
    assert_eq!(entry.artifacts.len(), 1);
}

#[test]
fn a_task_that_never_began_took_no_time() {
    let walk = Walk::of("new cart; wait 500; task cancel");
    let entry = &walk.memory.history().entries()[0];
    assert_eq!((entry.duration_seconds, entry.result), (0, TaskResult::Cancelled));
    // Cancelled tasks are counted and not judged.
    let statistics = walk.memory.history().totals().statistics();
    assert_eq!((statistics.total_tasks, statistics.success_rate), (1, 0.0));
}

#[test]
fn the_newest_hundred_are_listed_and_all_are_counted() {
    let mut walk = Walk::new();
    for number in 0..250 {
        walk.give("new cart").unwrap();
        walk.give("task start").unwrap();
        let failing = number % 5 == 0;
        for line in
            if failing { ["task fail", "task close"] } else { ["task pause", "task resume"] }
        {
            walk.give(line).unwrap();
        }
        if !failing {
            walk.give("task complete").unwrap();
        }
    }
    let history = walk.memory.history();
    assert_eq!(history.entries().len(), HISTORY_MAX);
    assert_eq!(history.entries()[0].id.as_str(), "task-2026-11-17-151");
    let statistics = history.totals().statistics();
    assert_eq!((statistics.total_tasks, statistics.success_rate), (250, 0.8));
    assert!(statistics.avg_duration_seconds > 0.0);
    assert_eq!(walk.memory.render_history().unwrap().check(), []);
}

#[test]
fn after_thirty_days_an_entry_keeps_its_summary_and_metrics_alone() {
    let mut walk = Walk::of("record run/1");
    let recorded = walk.memory.history().entries()[0].clone();
    walk.now = Time::from_millis(TEN + 30 * DAY);
    assert_eq!(walk.give("prune").unwrap().events.len(), 1, "a second beyond thirty days");
    let pruned = &walk.memory.history().entries()[0];
    let bare = HistoryEntry { lessons: Vec::new(), artifacts: Vec::new(), ..recorded };
    assert_eq!(*pruned, bare);
    assert_eq!(walk.give("prune").unwrap().events, [], "there is nothing left to take");
    // Every write of the history does the same.
    let mut walk = Walk::of("record run/1");
    walk.now = Time::from_millis(TEN + 31 * DAY);
    let newer = FinishedWork { completed_at: walk.now, ..work("run/2") };
    walk.command(&Actor::Waypost, &Command::Record { work: Box::new(newer) }).unwrap();
    let lessons: Vec<usize> =
        walk.memory.history().entries().iter().map(|it| it.lessons.len()).collect();
    assert_eq!(lessons, [0, 1]);
}

#[test]
fn what_others_have_finished_has_one_entry_however_often_it_ends() {
    let mut walk = Walk::of("record run/1; record run/2");
    assert_eq!(walk.give("record run/1").unwrap().events, [], "nothing is new");
    let mut again = work("run/1");
    again.result = TaskResult::Failure;
    let record = Command::Record { work: Box::new(again) };
    walk.command(&Actor::Waypost, &record).unwrap();
    let entries = walk.memory.history().entries();
    let told: Vec<(&str, TaskResult)> =
        entries.iter().map(|it| (it.id.as_str(), it.result)).collect();
    let day = "task-2026-11-17";
    let want =
        [(format!("{day}-002"), TaskResult::Success), (format!("{day}-001"), TaskResult::Failure)];
    let want: Vec<(&str, TaskResult)> = want.iter().map(|(id, it)| (id.as_str(), *it)).collect();
    assert_eq!(told, want);
    let totals = walk.memory.history().totals();
    assert_eq!((totals.success, totals.failure), (1, 1));
    assert!(!walk.memory.is_open(), "files are shown when they are wanted");
}

#[test]
fn totals_of_a_file_are_kept_as_they_are_and_counted_on() {
    let statistics =
        Statistics { total_tasks: 100, success_rate: 0.9333, avg_duration_seconds: 240.5 };
    let history = TaskHistory { statistics, ..TaskHistory::default() };
    let mut walk = Walk::new();
    let take = Command::TakeOver { state: Box::default(), history: Box::new(history.clone()) };
    walk.command(&Actor::Waypost, &take).unwrap();
    assert_eq!(walk.memory.render_history().unwrap(), history);
    walk.give("record run/1").unwrap();
    let after = walk.memory.history().totals().statistics();
    assert_eq!(after.total_tasks, 101);
    assert!((after.success_rate - 94.0 / 101.0).abs() < 1e-9, "{after:?}");
}
