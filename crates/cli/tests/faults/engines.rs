//! Two engines, and many writers beside one: rows A7, A8 and B3.
//!
//! An engine lives in a process of its own: a second copy of this test program, started on one
//! ignored test with the site's home, so that nothing of the user's is touched.

use crate::{
    judge,
    process::{self, say, wait},
    scenario::{RUN, WORKFLOW},
    site::Site,
    tracer::{self, Point},
};
use std::{
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use waypost_engine::{
    EngineError, Environment, Host, InitOptions, MachineCommand, Project, StoreError, init,
    pin::PinFile,
};
use waypost_model::{actor::Actor, evidence::Evidence, id::TaskId, run::Command as RunCommand};

/// Tells the second copy which project it is for.
const PROJECT: &str = "WAYPOST_FAULTS_PROJECT";
/// Ten times longer than the engine needs to look up, and it looks ten times a second.
const PATIENCE: Duration = Duration::from_secs(20);

const THREADS: usize = 64;
const TASKS_PER_THREAD: usize = 3;
const WRITERS: usize = 4;
const TASKS_PER_WRITER: usize = 6;

#[test]
fn a_second_engine_is_refused_with_the_name_of_the_first() {
    let site = Site::after(&["init"]);
    let mut first = holder(&site);
    let said = inside(&site, "engines::inside_start_and_stop");
    assert!(said.contains("is in use by"), "{said}");
    assert!(said.contains(&format!("process {} (`first`", first.id())), "{said}");
    let status = site.waypost(&["status"]).expect_code(0);
    assert!(status.stdout.contains("(`first`"), "{status:#?}");
    end(&mut first);
}

#[test]
fn the_lock_of_a_killed_engine_is_free() {
    let site = Site::after(&["init"]);
    let mut first = holder(&site);
    first.kill().unwrap();
    first.wait().unwrap();
    let status = site.waypost(&["status"]).expect_code(0);
    assert!(!status.stdout.contains("Host"), "{status:#?}");
    let said = inside(&site, "engines::inside_start_and_stop");
    assert!(said.contains("it started"), "{said}");
    site.waypost(&["doctor"]).expect_code(0);
}

/// The old journal's renderings, which are still there, say nothing about the new one.
#[test]
fn a_person_can_begin_anew_after_the_journal_was_removed() {
    let site = Site::after(crate::scenario::IMPLEMENT);
    fs::remove_file(site.path(".git/waypost/journal.db")).unwrap();
    site.waypost(&["status"]).expect_code(5);
    inside(&site, "engines::inside_begin_anew");
    assert!(judge::log(&site).is_empty());
    site.waypost(&["develop", "start", "Other"]).expect_code(0);
    assert!(fs::read_to_string(site.path(WORKFLOW)).unwrap().contains("\"Other\""));
}

/// The command dies after its commit and before it has shown it, so the engine has to.
#[test]
fn a_live_engine_sees_what_others_commit_and_shows_it() {
    if let Some(why) = tracer::obstacle() {
        say(&format!("SKIPPED: commits beside a live engine: {why}"));
        return;
    }
    let site = Site::after(&["init"]);
    let mut engine = holder(&site);
    let shows = Point { call: "renameat2".into(), number: 1, line: String::new() };
    let ended = tracer::inject(&site, &["develop", "start", "Feature"], &shows, "signal=SIGKILL");
    // If the engine was quicker, the command had nothing to show and came to its end.
    assert!(ended.signal == Some(9) || ended.is_done(), "{ended:#?}");
    let path = site.path(WORKFLOW);
    until("the engine has shown it", || {
        fs::read_to_string(&path).is_ok_and(|text| text.contains("\"Feature\""))
    });
    end(&mut engine);
    site.waypost(&["doctor"]).expect_code(0);
}

#[test]
fn no_command_is_lost_among_64_threads_and_four_projects() {
    let site = Site::new();
    let mut text = "# Plan\n\n## Phase 1: All\n\n".to_owned();
    for id in all_ids() {
        writeln!(text, "- [ ] {id}: Work").unwrap();
    }
    fs::write(site.path("TASKS.md"), text).unwrap();
    site.waypost(&["init"]).expect_code(0);
    site.waypost(&["resolve"]).expect_code(0);
    let said = inside(&site, "engines::inside_many_writers");
    assert!(said.contains("nothing was refused"), "{said}");
    let log = site.waypost(&["log", "--json", "-n", "100000"]).expect_code(0).stdout;
    let completed: Vec<String> = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|entry| entry["kind"] == "task_completed")
        .map(|entry| entry["body"]["id"].as_str().unwrap().to_owned())
        .collect();
    let wanted: BTreeSet<String> = all_ids().iter().map(ToString::to_string).collect();
    assert_eq!(completed.len(), wanted.len(), "each task is completed once");
    assert_eq!(completed.into_iter().collect::<BTreeSet<_>>(), wanted);
    // Numbers without gaps, and a window that shows the end.
    assert!(judge::log(&site).len() > 2 * wanted.len());
    site.waypost(&["doctor"]).expect_code(0);
    let status = site.waypost(&["run", "status", "--json"]).expect_code(0);
    assert!(fs::read_to_string(site.path(RUN)).unwrap().contains("\"in_progress\": []"));
    assert!(status.stdout.contains("\"begun\":true"), "{status:#?}");
}

fn ids_of(letter: char, who: usize, count: usize) -> Vec<TaskId> {
    let offset = if letter == 'a' { 0 } else { THREADS };
    (0..count).map(|task| format!("T1.{}", (offset + who) * 10 + task).parse().unwrap()).collect()
}

fn all_ids() -> Vec<TaskId> {
    let threads = (0..THREADS).flat_map(|who| ids_of('a', who, TASKS_PER_THREAD));
    let writers = (0..WRITERS).flat_map(|who| ids_of('b', who, TASKS_PER_WRITER));
    threads.chain(writers).collect()
}

/// Starts an engine in a process of its own and waits until it holds the lock.
fn holder(site: &Site) -> Child {
    let mut child = copy(site, "engines::inside_hold_until_told")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("it started") {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "the engine did not start");
    }
    // Its last words go nowhere, but they must not break it.
    thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    child
}

/// Lets the engine end in good order.
fn end(engine: &mut Child) {
    drop(engine.stdin.take());
    let status = wait(engine, PATIENCE);
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

/// Runs one ignored test of this program on the site, and returns what it said.
fn inside(site: &Site, test: &str) -> String {
    let ended = process::run(&mut copy(site, test));
    assert!(ended.stdout.contains("1 passed"), "{ended:#?}");
    ended.stdout
}

fn copy(site: &Site, test: &str) -> Command {
    let mut command = site.command(env::current_exe().unwrap().to_str().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env(PROJECT, site.project());
    command
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        thread::park_timeout(Duration::from_millis(10));
    }
}

/// The project that the second copy is for; none when it was not started by one of ours.
fn open() -> Option<Project> {
    let folder = PathBuf::from(env::var_os(PROJECT)?);
    Some(Project::open(&folder, agent("first")).unwrap())
}

fn agent(id: &str) -> Actor {
    Actor::Agent { id: id.into(), attempt: 1 }
}

#[test]
#[ignore = "an engine for the other tests of this file"]
fn inside_hold_until_told() {
    let Some(project) = open() else { return };
    let engine = Host::start(project, "first").unwrap();
    println!("\nit started");
    let mut told = Vec::new();
    std::io::stdin().read_to_end(&mut told).unwrap();
    assert!(engine.stop().is_some());
}

#[test]
#[ignore = "an engine for the other tests of this file"]
fn inside_start_and_stop() {
    let Some(project) = open() else { return };
    match Host::start(project, "second") {
        Ok(engine) => {
            println!("\nit started");
            assert!(engine.stop().is_some());
        }
        Err(EngineError::Store(error @ StoreError::Busy { .. })) => println!("\n{error}"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
#[ignore = "a person for the other tests of this file"]
fn inside_begin_anew() {
    let Some(folder) = env::var_os(PROJECT) else { return };
    let mut project = Project::find(&PathBuf::from(folder), Actor::User("test".into())).unwrap();
    PinFile::of(&Environment::of_this_process()).set("2468", None).unwrap();
    project.ask_pin_by(|_| Ok(Some("2468".to_owned())));
    init::begin_anew(&mut project).unwrap();
    assert!(!init::set_up(&mut project, &InitOptions::default()).unwrap().made_journal);
}

#[test]
#[ignore = "an engine for the other tests of this file"]
fn inside_many_writers() {
    let Some(project) = open() else { return };
    let folder = project.root().to_owned();
    let engine = Host::start(project, "first").unwrap();
    let handle = engine.handle();
    thread::scope(|scope| {
        for who in 0..THREADS {
            let handle = handle.clone();
            scope.spawn(move || {
                for id in ids_of('a', who, TASKS_PER_THREAD) {
                    for command in steps(&id) {
                        handle.command(agent("thread"), vec![command]).unwrap();
                    }
                }
            });
        }
        for who in 0..WRITERS {
            let folder = folder.clone();
            scope.spawn(move || {
                for id in ids_of('b', who, TASKS_PER_WRITER) {
                    for command in steps(&id) {
                        let mut project = Project::open(&folder, agent("beside")).unwrap();
                        project.command(&[command]).unwrap();
                    }
                }
            });
        }
    });
    assert!(engine.stop().is_some());
    println!("\nnothing was refused");
}

fn steps(id: &TaskId) -> [MachineCommand; 2] {
    let done = RunCommand::Done {
        id: id.clone(),
        attempt: None,
        evidence: Evidence::Unverified,
        commit: None,
    };
    [MachineCommand::run(RunCommand::Start { id: id.clone() }), MachineCommand::run(done)]
}
