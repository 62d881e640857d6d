//! The outbox on a real journal: what earlier versions left, and timers that meet failures.

use super::*;
use crate::host::Host;
use std::fs;
use tempfile::TempDir;
use waypost_model::{
    id::EntryId,
    inbox::{self, Question, QuestionKind, Reply},
};
use waypost_store::journal::{CommitFault, Journals, MemoryStore};

const DAY: Duration = Duration::from_secs(24 * 3_600);

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".waypost")).unwrap();
    folder
}

fn open(folder: &TempDir) -> Project {
    let mut project =
        Project::open_unreconciled(folder.path(), Actor::User("mina".into())).unwrap();
    project.ensure_journal().unwrap();
    project
}

/// Puts rows into the outbox as the landed version did.
fn leave(project: &mut Project, kind: &str, count: u64) {
    let run: StreamName = "run".parse().unwrap();
    let mut tx = project.journal.as_mut().unwrap().transaction().unwrap();
    for number in 0..count {
        let (key, due) = (format!("run/{kind}/{number}"), Some(Time::from_millis(1)));
        let body = "{\"wake\":{\"at\":\"1970-01-01T00:00:00Z\"}}";
        let (stream, stream_seq) = (&run, number);
        tx.queue(&[NewEffect { key: &key, stream, stream_seq, kind, body, due }]).unwrap();
    }
    tx.commit().unwrap();
}

fn open_rows(project: &mut Project, kind: &str) -> usize {
    let view = project.journal.as_mut().unwrap().view().unwrap();
    view.open_effects_of(kind, usize::MAX).unwrap().len()
}

#[test]
fn what_earlier_versions_left_open_is_ended_by_the_next_host() {
    let folder = folder();
    let mut project = open(&folder);
    leave(&mut project, "wake", 2_500);
    leave(&mut project, "end_phase", 3);
    leave(&mut project, "notify", 2);
    leave(&mut project, "of a later version", 1);
    let mut project = Host::start(project, "test").unwrap().stop().unwrap();
    let left = ["wake", "end_phase", "notify", "of a later version"]
        .map(|kind| open_rows(&mut project, kind));
    assert_eq!(left, [0, 0, 2, 1]);
}

fn question() -> MachineCommand {
    let question = Question::new(QuestionKind::PhaseEnd, Topic::new("phase/1"), "go on?", "");
    let question = question.asked_by(&"run".parse().unwrap());
    MachineCommand::inbox(inbox::Command::Ask(question))
}

fn reminders(project: &mut Project) -> u32 {
    project.inbox().unwrap().open()[0].reminders
}

#[test]
fn a_timer_that_cannot_be_recorded_fires_later_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::at(&folder.path().join("state"));
    let mut project = Project::find(folder.path(), Actor::Waypost).unwrap();
    project.journals = Journals::over(store.clone());
    project.commit(&[question()]).unwrap();
    let mut timers = Timers::default();
    let now = project.clock.now();
    assert!(!timers.attend(&mut project, now));
    assert!(timers.wakes_at().is_some_and(|at| at > now && at <= now.plus(DAY)));

    let mut now = now.plus(DAY);
    for fault in [CommitFault::Refused, CommitFault::Unreachable] {
        store.fail_next_commit(fault);
        assert!(!timers.attend(&mut project, now), "{fault:?}");
        assert_eq!((reminders(&mut project), open_rows(&mut project, TIMER)), (0, 1));
        assert_eq!(timers.wakes_at(), Some(now.plus(LATER)), "{fault:?}");
        now = now.plus(LATER);
    }
    // It has happened, though the answer was lost.
    store.fail_next_commit(CommitFault::AnswerLost);
    assert!(timers.attend(&mut project, now));
    assert_eq!((reminders(&mut project), open_rows(&mut project, TIMER)), (1, 1));
    assert!(!timers.attend(&mut project, now), "the second reminder is a day away");
    assert_eq!(timers.wakes_at(), Some(now.plus(DAY)));
}

#[test]
fn an_answer_ends_the_timer() {
    let folder = folder();
    let mut project = open(&folder);
    project.commit(&[question()]).unwrap();
    assert_eq!(open_rows(&mut project, TIMER), 1);
    let id: EntryId = "q1".parse().unwrap();
    answer::give(&mut project, &id, Reply::answer("go")).unwrap();
    assert_eq!(open_rows(&mut project, TIMER), 0);
    let late = project.clock.now().plus(DAY * 3);
    assert!(!Timers::default().attend(&mut project, late));
}
