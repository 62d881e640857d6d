//! Troubles of the machine: wherever one is met, no task has failed, a person is asked once, and the run
//! comes to its end by itself when the trouble is gone.

use super::world::{Row, Who, World, id};
use crate::{
    error::EngineError,
    execute::{RunEnd, Wish, conclude::Verdict},
};
use rustix::io::Errno;
use std::time::Duration;
use waypost_git::{Absence, GitError};
use waypost_model::{
    run::{Failure, Isolation, TaskStatus},
    trouble::Trouble,
};
use waypost_proc::{How, Refusal};
use waypost_store::StoreError;

const ROWS: &[Row<'_>] = &[("T1", 1, &[], Who::Verified), ("T2", 1, &[], Who::Agent)];

fn of_file(errno: Errno) -> EngineError {
    StoreError::File { action: "write", path: "/x".into(), source: errno.into() }.into()
}

/// What git says in each trouble, and which one that is.
fn errors() -> Vec<(fn() -> EngineError, Trouble)> {
    vec![
        (|| of_file(Errno::NOSPC), Trouble::NoSpace),
        (|| of_file(Errno::ROFS), Trouble::ReadOnly),
        (|| of_file(Errno::IO), Trouble::DiskError),
        (|| GitError::Unavailable { source: Errno::AGAIN.into() }.into(), Trouble::NoProcesses),
        (|| GitError::Unavailable { source: Errno::MFILE.into() }.into(), Trouble::NoFiles),
        (|| GitError::Killed { command: "commit".into() }.into(), Trouble::GitDied),
        (|| GitError::from(Absence::Branch { name: "phase-1".into() }).into(), Trouble::Repository),
    ]
}

/// How many things git does in a whole run.
fn git_jobs(isolation: Isolation) -> usize {
    let mut world = World::new(ROWS, isolation);
    let mut jobs = 0;
    while world.over.is_none() {
        jobs += usize::from(world.has_git_work());
        world.work();
    }
    jobs
}

#[test]
fn git_may_meet_any_trouble_in_any_of_its_work() {
    for isolation in [Isolation::Phase, Isolation::Task] {
        for (error, trouble) in errors() {
            for at in 0..git_jobs(isolation) {
                let mut world = World::new(ROWS, isolation);
                let mut jobs = 0;
                while world.over.is_none() {
                    let is_git = world.has_git_work();
                    match is_git && jobs == at {
                        true => {
                            world.fail_git(error());
                            world.settle();
                        }
                        false => world.work(),
                    }
                    jobs += usize::from(is_git);
                }
                let what = format!("{trouble:?} at {at}, {isolation:?}");
                assert_eq!(world.over, Some(RunEnd::Over), "{what}");
                for (task, status, _) in world.statuses() {
                    assert_eq!(status, TaskStatus::Completed, "{what}: {task}");
                    assert_eq!(world.retries(&task), 0, "{what}: {task}");
                }
                world.check_completions();
                assert!(
                    !world.log.iter().any(|it| it.starts_with("ask")),
                    "{what}: {:?}",
                    world.log
                );
            }
        }
    }
}

/// Work that is done is not done again because it could not be committed or joined at once.
#[test]
fn what_was_done_is_kept_while_git_cannot_work() {
    let mut world = World::new(&[("T1", 1, &[], Who::Command)], Isolation::Task);
    while !world.log.iter().any(|it| it == "start T1#1") {
        world.work();
    }
    world.end_child("T1#1", How::Exited(0));
    world.settle();
    world.troubles.insert(Trouble::ReadOnly);
    world.fail_git(of_file(Errno::ROFS));
    world.settle();
    for _ in 0..20 {
        world.work();
    }
    assert_eq!(world.status("T1"), TaskStatus::InProgress);
    world.troubles.clear();
    assert_eq!(world.finish(), RunEnd::Over);
    assert_eq!(world.statuses(), [("T1".to_owned(), TaskStatus::Completed, 1)]);
}

#[test]
fn one_entry_for_all_tasks_and_none_for_a_moment() {
    let rows: Vec<(String, u32)> = (1..=5).map(|number| (format!("T{number}"), 1)).collect();
    let rows: Vec<Row<'_>> =
        rows.iter().map(|(name, phase)| (name.as_str(), *phase, &[][..], Who::Command)).collect();
    let mut world = World::new(&rows, Isolation::None);
    world.troubles.insert(Trouble::NoFiles);
    for name in world.children(false) {
        world.refuse_child(&name, Refusal::Busy { detail: "EMFILE: too many files".into() });
    }
    world.settle();
    assert!(!world.log.iter().any(|it| it.starts_with("ask")), "{:?}", world.log);
    world.log.clear();
    for _ in 0..30 {
        world.now = world.now.plus(Duration::from_secs(1));
        world.settle();
    }
    let asked = world.log.iter().filter(|it| *it == "ask no_files").count();
    assert_eq!(asked, 1, "{:?}", world.log);
    assert!(!world.log.iter().any(|it| it.starts_with("start")), "{:?}", world.log);
    world.troubles.clear();
    assert_eq!(world.finish(), RunEnd::Over);
    assert!(world.log.iter().any(|it| it == "wake no_files"), "{:?}", world.log);
    assert!(world.statuses().iter().all(|(_, status, _)| *status == TaskStatus::Completed));
    assert_eq!(world.retries("T1"), 0);
}

/// It seems to be gone and is met again: that is the next time in a row, and is asked about.
#[test]
fn a_trouble_that_comes_back_is_not_a_new_one() {
    let mut world = World::new(&[("T1", 1, &[], Who::Command)], Isolation::None);
    for attempt in 1..=3 {
        let name = format!("T1#{attempt}");
        world.refuse_child(&name, Refusal::Busy { detail: "EAGAIN".into() });
        while !world.log.contains(&format!("start T1#{}", attempt + 1)) {
            world.settle();
            world.now = world.now.plus(Duration::from_secs(1));
        }
    }
    assert_eq!(world.log.iter().filter(|it| *it == "ask no_processes").count(), 1);
    assert_eq!(world.finish(), RunEnd::Over);
    assert_eq!(world.log.iter().filter(|it| *it == "wake no_processes").count(), 1);
    assert_eq!(world.retries("T1"), 0);
}

#[test]
fn what_fails_on_a_machine_in_trouble_has_not_failed() {
    let rows: &[Row<'_>] = &[("T1", 1, &[], Who::Command), ("T2", 1, &[], Who::Agent)];
    for trouble in [
        Trouble::NoSpace,
        Trouble::NoInodes,
        Trouble::ReadOnly,
        Trouble::NoProcesses,
        Trouble::NoFiles,
        Trouble::NoMemory,
    ] {
        let mut world = World::new(rows, Isolation::None);
        world.start_child("T1#1");
        world.settle();
        world.find_trouble(trouble);
        world.end_child("T1#1", How::Exited(1));
        world.end_agent(&id("T2"), Verdict::Failed(Failure::default()));
        world.settle();
        for task in ["T1", "T2"] {
            assert_eq!(
                (world.status(task), world.retries(task)),
                (TaskStatus::Ready, 0),
                "{trouble:?}"
            );
        }
        world.troubles.clear();
        assert_eq!(world.finish(), RunEnd::Over, "{trouble:?}");
    }
}

#[test]
fn a_run_in_trouble_can_be_ended() {
    for wish in [Wish::Finish, Wish::Stop] {
        let mut world = World::new(&[("T1", 1, &[], Who::Command)], Isolation::Phase);
        while !world.log.iter().any(|it| it == "start T1#1") {
            world.work();
        }
        world.end_child("T1#1", How::Exited(0));
        world.settle();
        world.troubles.insert(Trouble::DiskError);
        world.fail_git(of_file(Errno::IO));
        world.settle();
        world.wish(wish);
        // What git does for its end meets the same, and is not waited for.
        while world.has_git_work() {
            world.fail_git(of_file(Errno::IO));
            world.settle();
        }
        assert_eq!(world.finish(), RunEnd::Stopped, "{wish:?}");
        assert_eq!((world.status("T1"), world.retries("T1")), (TaskStatus::Ready, 0), "{wish:?}");
    }
}

/// A repository that is broken in one attempt's tree alone may be that attempt's doing.
#[test]
fn a_repository_that_stays_broken_is_a_failure_at_last() {
    let mut world = World::new(&[("T1", 1, &[], Who::Command)], Isolation::Task);
    let corrupt = || {
        let (command, said) = ("add".to_owned(), "fatal: index file corrupt".to_owned());
        EngineError::from(GitError::Failed { command, said })
    };
    while world.retries("T1") == 0 {
        let is_commit = world.log.iter().any(|it| it == "start T1#1")
            && world.children(true).is_empty()
            && world.children(false).is_empty();
        match is_commit && world.has_git_work() {
            true => {
                world.fail_git(corrupt());
                world.settle();
            }
            false => world.work(),
        }
    }
    assert!(world.log.iter().any(|it| it == "ask repository"), "{:?}", world.log);
    assert_eq!(world.finish(), RunEnd::Over);
}
