//! Renderings are kept without being written twice, and an edit is still understood.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other programs")]

use super::*;
use crate::{home::Home, ledger::MachineCommand};
use std::{collections::BTreeMap, fs};
use tempfile::TempDir;
use waypost_model::{
    actor::Actor,
    run::{Command, Depends, Plan, PlannedTask, Priority, Settings, TaskStatus},
};

/// A project with a run of two tasks, and nothing of the user's in it.
fn begun() -> (TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let mut project = Project::find(folder.path(), Actor::User("mina".into())).unwrap();
    project.setup.home = Home { config: None, state: None };
    let task = |id: &str| PlannedTask {
        id: id.parse().unwrap(),
        title: id.to_lowercase(),
        phase: 1,
        depends: Depends::On(Vec::new()),
        ticked: false,
        priority: Priority::default(),
        line: 1,
        details: None,
    };
    let tasks = vec![task("T1"), task("T2")];
    let plan = Plan::new("demo".into(), BTreeMap::new(), tasks).unwrap();
    project.run_command(Command::Begin { plan, settings: Settings::default() }).unwrap();
    (folder, project)
}

fn start(id: &str) -> MachineCommand {
    MachineCommand::run(Command::Start { id: id.parse().unwrap() })
}

fn window(project: &Project) -> WindowFile {
    WindowFile::of::<RunWindow>(project, &run_stream()).unwrap()
}

fn status(project: &mut Project, id: &str) -> TaskStatus {
    project.run().unwrap().active().unwrap().task(&id.parse().unwrap()).unwrap().status
}

#[test]
fn the_file_that_was_shown_is_what_is_kept_of_it() {
    let (_folder, mut project) = begun();
    let window = window(&project);
    let first = fs::read(&window.path).unwrap();
    project.command(&[start("T1")]).unwrap();
    let kept = window.archive.kept().unwrap();
    // The newest is only announced: its bytes are in the window, and can be made again.
    assert_eq!(window.archive.load(&kept[0]).unwrap(), None);
    let shown = fs::read(&window.path).unwrap();
    assert_eq!(window.rendering::<RunWindow>(&mut project, &kept[0]).unwrap(), Some(shown));
    assert_eq!(window.archive.load(&kept[1]).unwrap(), Some(first.clone()));
    let backup = RunWindow::backup(&window.path).unwrap();
    assert_eq!(fs::read(&backup).unwrap(), first);
    // The backup is the same file: writing into it harms what is kept, which is made again then.
    fs::write(&backup, "scribble").unwrap();
    assert_eq!(window.archive.load(&kept[1]).unwrap(), None);
    assert_eq!(window.rendering::<RunWindow>(&mut project, &kept[1]).unwrap(), Some(first));
}

#[test]
fn an_edit_in_place_is_compared_with_what_the_file_showed() {
    let (_folder, mut project) = begun();
    let window = window(&project);
    // Recorded and not shown: the process died in between.
    project.commit(&[start("T1")]).unwrap();
    let shown = fs::read_to_string(&window.path).unwrap();
    let edited = shown
        .replace("[\n      \"T1\",\n      \"T2\"\n    ]", "[\n      \"T1\"\n    ]")
        .replace("\"completed\": []", "\"completed\": [\"T2\"]");
    assert_ne!(edited, shown);
    fs::write(&window.path, &edited).unwrap();
    reconcile(&mut project).unwrap();
    let found = [status(&mut project, "T1"), status(&mut project, "T2")];
    assert_eq!(found, [TaskStatus::InProgress, TaskStatus::Completed]);
}

/// Takes everything away that a power cut may take of what was noted since `before` was copied.
fn cut_power(state: &Path, before: &Path) {
    let shelf = state.join(layout::state::WINDOWS);
    fs::remove_dir_all(&shelf).unwrap();
    copy(before, &shelf);
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(&from, &to).unwrap()),
        }
    }
}

#[test]
fn a_state_whose_hash_a_power_cut_took_is_no_edit() {
    let (folder, mut project) = begun();
    let window = window(&project);
    let (state, before) = (project.setup.place.state.clone(), folder.path().join("before"));
    copy(&state.join(layout::state::WINDOWS), &before);
    let mut shown = vec![fs::read(&window.path).unwrap()];
    for id in ["T1", "T2"] {
        project.command(&[start(id)]).unwrap();
        shown.push(fs::read(&window.path).unwrap());
    }
    let newest = shown.last().unwrap().clone();
    let torn = [&shown[1][..shown[1].len() / 2], &[0; 7]].concat();
    for bytes in shown.iter().chain([&torn]) {
        cut_power(&state, &before);
        fs::write(&window.path, bytes).unwrap();
        reconcile(&mut project).unwrap();
        assert_eq!(fs::read(&window.path).unwrap(), newest);
        assert!(project.inbox().unwrap().open().is_empty(), "nothing is asked");
        assert!(file::list(&state.join("refused")).unwrap().is_empty());
    }
}
