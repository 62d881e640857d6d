//! With an image or without one, a command finds the same state.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use super::*;
use crate::{home::Home, ledger::run_stream, project::Project};
use std::{collections::BTreeMap, fs};
use tempfile::TempDir;
use waypost_model::{
    actor::Actor,
    evidence::Evidence,
    run::{Command, Depends, Plan, PlannedTask, Priority, Run, Settings},
};

const TASKS: usize = SIZE_MIN + 100;

fn plan(count: usize) -> Plan {
    let task = |number: usize| PlannedTask {
        id: format!("T{number}").parse().unwrap(),
        title: format!("task {number}"),
        phase: 1,
        depends: match number {
            0 => Depends::PhaseBefore,
            _ => Depends::On(vec![format!("T{}", number / 2).parse().unwrap()]),
        },
        ticked: false,
        priority: Priority::default(),
        line: 1,
        details: None,
    };
    Plan::new("demo".into(), BTreeMap::new(), (0..count).map(task).collect()).unwrap()
}

/// A project with nothing of the user's in it, as a process of its own would open it.
fn open(folder: &TempDir) -> Project {
    let mut project = Project::find(folder.path(), Actor::Waypost).unwrap();
    project.setup.home = Home { config: None, state: None };
    project.ensure_journal().unwrap();
    project
}

fn begun(count: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let begin = Command::Begin { plan: plan(count), settings: Settings::default() };
    open(&folder).run_command(begin).unwrap();
    folder
}

fn path(project: &Project) -> PathBuf {
    project.setup.place.state.join("run.image")
}

/// Starts and completes a task, each in a process of its own.
fn complete(folder: &TempDir, number: usize) {
    let id = || format!("T{number}").parse().unwrap();
    open(folder).run_command(Command::Start { id: id() }).unwrap();
    let (attempt, evidence, commit) = (None, Evidence::Unverified, None);
    open(folder).run_command(Command::Done { id: id(), attempt, evidence, commit }).unwrap();
}

/// The run as it is stored, and whether an image of it was used.
fn found(folder: &TempDir) -> (String, bool) {
    let mut project = open(folder);
    let stored = serde_json::to_string(project.run().unwrap()).unwrap();
    let view = project.journal.as_mut().unwrap().view().unwrap();
    let loaded = project.ledger.get::<Run>(&view, &run_stream()).unwrap();
    (stored, loaded.image.is_some())
}

/// The same as the journal says, with an image behind it or not.
#[track_caller]
fn check(folder: &TempDir, has_image: bool) {
    let path = path(&open(folder));
    let with = found(folder);
    let kept = fs::read(&path).ok();
    drop(fs::remove_file(&path));
    let without = found(folder);
    assert_eq!(with, (without.0, has_image));
    assert!(!without.1);
    kept.into_iter().for_each(|bytes| fs::write(&path, bytes).unwrap());
}

#[test]
fn every_command_finds_what_the_one_before_has_left() {
    let folder = begun(TASKS);
    check(&folder, true);
    for number in 0..20 {
        complete(&folder, number);
        check(&folder, true);
    }
}

#[test]
fn a_small_run_has_no_image() {
    let folder = begun(SIZE_MIN - 1);
    complete(&folder, 0);
    assert!(!path(&open(&folder)).exists());
    check(&folder, false);
}

#[test]
fn an_image_of_before_is_brought_up_to_date() {
    let folder = begun(TASKS);
    let path = path(&open(&folder));
    let before = fs::read(&path).unwrap();
    complete(&folder, 0);
    fs::write(&path, &before).unwrap();
    check(&folder, true);
    complete(&folder, 1);
    check(&folder, true);
}

#[test]
fn an_image_that_was_not_written_to_its_end_is_used_as_far_as_it_goes() {
    let folder = begun(TASKS);
    let path = path(&open(&folder));
    let whole = fs::metadata(&path).unwrap().len();
    complete(&folder, 0);
    let bytes = fs::read(&path).unwrap();
    let end = bytes.len() as u64;
    assert!(end > whole, "what changed was added");
    for (length, has_image) in [(end - 1, true), (whole, true), (whole - 1, false), (0, false)] {
        fs::write(&path, &bytes[..usize::try_from(length).unwrap()]).unwrap();
        check(&folder, has_image);
    }
    complete(&folder, 1);
    check(&folder, true);
}

#[test]
fn an_image_of_another_journal_or_program_does_not_hold() {
    let (folder, other) = (begun(TASKS), begun(TASKS));
    complete(&other, 0);
    fs::copy(path(&open(&other)), path(&open(&folder))).unwrap();
    check(&folder, false);
    let bytes = fs::read(path(&open(&other))).unwrap();
    // The length of a program's file is in the key of its image.
    let mark = serde_json::to_string(&this_program()).unwrap();
    let changed = mark.replace("\"size\":", "\"size\":1");
    assert_ne!(mark, changed);
    let read = image::read(&path(&open(&other))).unwrap().unwrap();
    let key = String::from_utf8(read.key).unwrap().replace(&mark, &changed);
    let mut run = Run::of_image::<JsonCodec>(&read.image).unwrap();
    let parts = run.take_image::<JsonCodec>(true).unwrap().parts;
    image::replace(&path(&open(&other)), key.as_bytes(), &parts).unwrap();
    check(&other, false);
    fs::write(path(&open(&other)), bytes).unwrap();
    check(&other, true);
}

#[test]
fn a_journal_that_was_set_back_does_not_meet_an_image_of_later() {
    let folder = begun(TASKS);
    complete(&folder, 0);
    let backup = open(&folder).journal.as_mut().unwrap().back_up().unwrap();
    complete(&folder, 1);
    let image = fs::read(path(&open(&folder))).unwrap();
    let closed = Project::find(folder.path(), Actor::Waypost).unwrap();
    closed.journals.restore(&backup.path).unwrap();
    fs::remove_dir_all(open(&folder).setup.place.state.join("windows")).unwrap();
    fs::write(path(&open(&folder)), &image).unwrap();
    check(&folder, false);
    // As many events as before, at another time.
    complete(&folder, 1);
    check(&folder, true);
    fs::write(path(&open(&folder)), &image).unwrap();
    check(&folder, false);
}
