//! Several processes on one project, some of which are killed.
//!
//! This binary starts itself again as the other process: `as_another_process` does nothing unless
//! it is told by the environment which part to play.
#![expect(clippy::disallowed_methods, reason = "tests play the part of other processes")]

use crate::common::{NOW, Project, append, bodies, place_at, stream};
use std::{
    collections::BTreeSet,
    env,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};
use waypost_store::{
    StoreError,
    journal::{Birth, Journal, Journals, Mode},
    lock::Owner,
    place::Place,
};

const PART: &str = "WAYPOST_TEST_PART";
const ROOT: &str = "WAYPOST_TEST_ROOT";
const NAME: &str = "WAYPOST_TEST_NAME";

/// A command that runs one part of this file in the project at `root`.
fn part(part: &str, root: &Path, name: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "processes::as_another_process", "--nocapture", "--test-threads=1"]);
    command.env(PART, part).env(ROOT, root).env(NAME, name);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Starts a part and reads what it says, without what the test harness says around it.
fn start(mut command: Command) -> (Child, impl Iterator<Item = String>) {
    let mut child = command.spawn().unwrap();
    let stdout: ChildStdout = child.stdout.take().unwrap();
    let lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let said = lines.filter_map(|line| Some(line.split_once("said: ")?.1.to_owned()));
    (child, said)
}

fn say(text: impl std::fmt::Display) {
    println!("said: {text}");
}

#[test]
fn as_another_process() {
    let (Ok(part), Some(root)) = (env::var(PART), env::var_os(ROOT)) else { return };
    let place = place_at(Path::new(&root));
    let name = env::var(NAME).unwrap();
    match part.as_str() {
        "append fifty" => append_many(&place, &name, 50),
        "append forever" => append_many(&place, &name, u64::MAX),
        "create" => say(open_or_create(&place, &name).id()),
        "hold the engine" => {
            let owner = Owner::this_process(&name, NOW);
            let _lock = Journals::of(&place).lease(&owner).unwrap();
            say("held");
            wait_for_end();
        }
        "fill the disk" => fill_the_disk(&place),
        other => panic!("no part is called {other}"),
    }
}

fn wait_for_end() {
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn open_or_create(place: &Place, id: &str) -> Journal {
    let birth = Birth { journal_id: id.into(), at: NOW };
    Journal::open(place, Mode::Create(&birth)).unwrap()
}

fn append_many(place: &Place, name: &str, count: u64) {
    let mut journal = open_or_create(place, "j1");
    for number in 0..count {
        let body = format!("{name} {number}");
        loop {
            let seen = journal.view().unwrap().head(&stream("run")).unwrap();
            match append(&mut journal, "run", seen, &[&body]) {
                Ok(_) => break,
                Err(error) => assert!(error.is_conflict(), "{error}"),
            }
        }
        say(body);
    }
}

#[test]
fn sixteen_processes_lose_nothing() {
    let project = Project::new();
    let children: Vec<Child> = (0..16)
        .map(|n| part("append fifty", &project.place.root, &n.to_string()).spawn().unwrap())
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    // Reading verifies that the numbers have no gap.
    let found = bodies(&mut project.open().unwrap(), "run").unwrap();
    let expected = (0..16).flat_map(|who| (0..50).map(move |n| format!("{who} {n}")));
    assert_eq!(found.len(), 800);
    assert_eq!(BTreeSet::from_iter(found), BTreeSet::from_iter(expected));
}

#[test]
fn a_journal_is_created_by_one_of_many() {
    let project = Project::new();
    let starting: Vec<_> =
        (0..8).map(|n| start(part("create", &project.place.root, &format!("j{n}")))).collect();
    let ids: BTreeSet<String> = starting
        .into_iter()
        .map(|(mut child, mut said)| {
            let id = said.next().unwrap();
            child.wait().unwrap();
            id
        })
        .collect();
    assert_eq!(ids.len(), 1);
}

#[test]
fn what_a_killed_process_has_reported_is_there() {
    let project = Project::new();
    let mut reported = Vec::new();
    for round in 0..12 {
        let (mut child, mut said) =
            start(part("append forever", &project.place.root, &round.to_string()));
        reported.extend(said.by_ref().take(1 + round * 3));
        child.kill().unwrap();
        // It may have said more before it died, and that counts too.
        reported.extend(said);
        child.wait().unwrap();
        let mut journal = project.open().unwrap();
        let found = bodies(&mut journal, "run").unwrap();
        let unreported: Vec<&String> =
            found.iter().filter(|body| !reported.contains(body)).collect();
        let there = BTreeSet::from_iter(&found);
        assert!(reported.iter().all(|body| there.contains(body)), "round {round}");
        // Each killed process may have committed one entry that it could not report.
        assert!(unreported.len() <= round + 1, "round {round}: {unreported:?}");
        journal.verify().unwrap();
    }
}

#[test]
fn the_engines_lock_ends_with_its_process() {
    let project = Project::new();
    let (mut child, mut said) = start(part("hold the engine", &project.place.root, "serve"));
    assert_eq!(said.next().as_deref(), Some("held"));
    let owner = Owner::this_process("run", NOW);
    let error = Journals::of(&project.place).lease(&owner).unwrap_err();
    let StoreError::Busy { holder: Some(holder), .. } = error else { panic!("{error}") };
    assert_eq!((holder.pid, holder.runs.as_str()), (child.id(), "serve"));
    assert!(holder.is_alive());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!holder.is_alive());
    assert_eq!(Journals::of(&project.place).lease_holder().unwrap(), None);
    Journals::of(&project.place).lease(&owner).unwrap();
}

#[test]
fn a_dead_process_that_its_parent_did_not_wait_for_is_dead() {
    let project = Project::new();
    let (mut child, mut said) = start(part("hold the engine", &project.place.root, "serve"));
    assert_eq!(said.next().as_deref(), Some("held"));
    let holder = Journals::of(&project.place).lease_holder().unwrap().unwrap();
    child.kill().unwrap();
    // Its output ends when it is gone; only its entry in the table of processes stays.
    assert_eq!(said.next(), None);
    while holder.is_alive() {
        std::thread::yield_now();
    }
    child.wait().unwrap();
}

/// Fills a small disk with entries, frees space, and goes on without opening the journal again.
fn fill_the_disk(place: &Place) {
    let ballast = place.root.join("ballast");
    waypost_store::file::replace(&ballast, &vec![7; 200 << 10], 0o600).unwrap();
    let mut journal = open_or_create(place, "j1");
    let body = "x".repeat(5_000);
    let mut count = 0;
    let error = loop {
        match append(&mut journal, "run", count, &[&body]) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    let file = waypost_store::file::replace(&place.root.join("document"), &vec![1; 1 << 20], 0o600);
    assert!(matches!(file, Err(StoreError::Full { .. })), "{file:?}");
    assert_eq!(bodies(&mut journal, "run").unwrap().len() as u64, count);
    let names: Vec<_> = std::fs::read_dir(&place.root).unwrap().map(|it| it.unwrap()).collect();
    assert_eq!(names.len(), 2, "the ballast and the journal's folder: {names:?}");

    waypost_store::file::remove(&ballast).unwrap();
    append(&mut journal, "run", count, &["after"]).unwrap();
    drop(journal);
    let mut journal = Journal::open(place, Mode::ReadWrite).unwrap();
    assert_eq!(bodies(&mut journal, "run").unwrap().len() as u64, count + 1);
    journal.verify().unwrap();
    say(format!("{} entries", if count > 10 { "many" } else { "few" }));
}

#[test]
fn a_full_disk_stops_nothing_for_good() {
    let project = Project::new();
    let root = &project.place.root;
    let inside = part("fill the disk", root, "");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg("mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\"").arg(root);
    command.arg(inside.get_program()).args(inside.get_args());
    command.envs(inside.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if errors.contains("unshare:") || errors.contains("mount:") {
        println!("skipped: this machine allows no small disk: {errors}");
        return;
    }
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("said: many entries"), "{said}");
}
