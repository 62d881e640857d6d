//! What piles up in a real project, and what goes of it.
#![expect(clippy::disallowed_methods, reason = "tests play the part of tasks")]

use super::*;
use crate::served;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    path::Path,
    process,
    time::SystemTime,
};
use tempfile::TempDir;
use waypost_model::{
    actor::Actor,
    document::ServerTaskId,
    evidence::Evidence,
    run::{Command, Depends, Plan, PlannedTask, Priority, Settings},
    task::TaskFields,
};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A project with a run of two tasks, the first of which is completed.
fn project() -> (TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let project = project_in(folder.path(), ".waypost");
    (folder, project)
}

/// The same in a folder, whose journal has this one.
fn project_in(root: &Path, state: &str) -> Project {
    fs::create_dir(root.join(state)).unwrap();
    let mut project = Project::open_unreconciled(root, Actor::User("test".into())).unwrap();
    let task = |number: u32| PlannedTask {
        id: format!("T1.{number}").parse().unwrap(),
        title: String::new(),
        phase: 1,
        depends: Depends::On(Vec::new()),
        ticked: false,
        priority: Priority::default(),
        line: 1,
        details: None,
    };
    let tasks = vec![task(1), task(2)];
    let id = tasks[0].id.clone();
    let plan = Plan::new("demo".into(), BTreeMap::new(), tasks).unwrap();
    project.run_command(Command::Begin { plan, settings: Settings::default() }).unwrap();
    project.run_command(Command::Start { id: id.clone() }).unwrap();
    let (attempt, evidence, commit) = (None, Evidence::Claimed, None);
    project.run_command(Command::Done { id, attempt, evidence, commit }).unwrap();
    project
}

/// A file below the state folder that was last written so many days ago.
fn put(project: &Project, name: &str, days: u32) {
    let path = project.place().state.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "x".repeat(4_096)).unwrap();
    let at = SystemTime::now() - DAY * days;
    File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
}

fn is_there(project: &Project, name: &str) -> bool {
    project.place().state.join(name).exists()
}

fn with(mut stock: Stock, change: impl FnOnce(&mut RetentionConfig)) -> Stock {
    change(&mut stock.retention);
    stock
}

#[test]
fn old_logs_go_and_those_of_open_tasks_stay() {
    let (_folder, mut project) = project();
    let files = ["logs/T1.1/1.log", "logs/T1.1/2.log", "logs/T1.2/1.log", "logs/gone/1.log"];
    for (name, days) in files.into_iter().zip([40, 2, 40, 40]) {
        put(&project, name, days);
    }
    put(&project, "logs/phase-1/check.log", 40);
    put(&project, "errands/main.review/1.claude.jsonl", 40);
    put(&project, "errands/main.review/record.json", 40);
    let open = served::create(&mut project, TaskFields::default(), false).unwrap();
    let over: ServerTaskId = "task_over".parse().unwrap();
    for id in [&open, &over] {
        put(&project, &format!("tasks/{id}/1.claude.jsonl"), 40);
        put(&project, &format!("tasks/{id}/1.log"), 40);
        put(&project, &format!("tasks/{id}/git/index"), 40);
    }
    let stock = Stock::of(&mut project).unwrap();
    let logs = &stock.piles().unwrap()[0];
    assert_eq!((logs.kind, logs.count, logs.going), (PileKind::Logs, 10, 5), "{logs:?}");
    stock.reduce().unwrap();
    let there = files.map(|name| is_there(&project, name));
    assert_eq!(there, [false, true, true, false]);
    assert!(!is_there(&project, "logs/gone"), "an empty folder goes");
    assert!(is_there(&project, "logs/phase-1/check.log"), "its phase is not over");
    assert!(!is_there(&project, "errands/main.review/1.claude.jsonl"));
    assert!(is_there(&project, "errands/main.review/record.json"), "that is no log");
    let streams = [&open, &over].map(|it| format!("tasks/{it}/1.claude.jsonl"));
    assert_eq!(streams.map(|it| is_there(&project, &it)), [true, false]);
    assert!(is_there(&project, "tasks/task_over/git/index"), "that is no log");
    assert_eq!(stock.piles().unwrap()[0].going, 0);
}

#[test]
fn the_oldest_logs_go_until_they_fit() {
    let (_folder, mut project) = project();
    for number in 1..=300 {
        put(&project, &format!("logs/T1.1/{number}.log"), 1);
        put(&project, &format!("logs/T1.2/{number}.log"), 2);
    }
    put(&project, "logs/T1.1/301.log", 0);
    let stock = with(Stock::of(&mut project).unwrap(), |it| it.log_mb = 2);
    stock.reduce().unwrap();
    let count = |name: &str| fs::read_dir(project.place().state.join(name)).unwrap().count();
    // 2 MB are 512 of them; those of the open task stay, though they are older.
    assert_eq!((count("logs/T1.2"), count("logs/T1.1")), (300, 212));
    assert!(is_there(&project, "logs/T1.1/301.log"), "it is young");
}

/// What git prints that is told this time and this input.
fn git(root: &Path, at: u64, line: &str, input: &[u8]) -> String {
    let mut command = process::Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@localhost", "-C"]).arg(root);
    command.args(line.split(' ')).env("GIT_COMMITTER_DATE", format!("{at} +0000"));
    let mut child =
        command.stdin(process::Stdio::piped()).stdout(process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {line}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Bytes that nothing makes smaller.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(size).collect()
}

#[test]
fn the_oldest_snapshots_go_until_they_fit() {
    const THEN: u64 = 1_000_000_000;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, THEN, "init -q -b main .", b"");
    git(root, THEN, "commit -q --allow-empty -m begin", b"");
    let mut project = project_in(root, ".git/waypost");
    // Of the task that is completed, and of the one that is open; the higher the number, the younger.
    let names = ["phase-1-a--T1.1-1", "phase-1-a--T1.2-1"];
    for (place, name) in (0_u64..).zip(names) {
        for number in 1..=4 {
            let noise = noise(place * 10 + number, 1 << 20);
            let blob = git(root, THEN, "hash-object -w --stdin", &noise);
            let tree = git(root, THEN, "mktree", format!("100644 blob {blob}\tfile\n").as_bytes());
            let commit = git(root, THEN + number, &format!("commit-tree {tree} -m kept"), b"");
            let reference = format!("refs/waypost/snapshots/{name}/{number}");
            git(root, THEN, &format!("update-ref {reference} {commit}"), b"");
        }
    }
    let mut stock = with(Stock::of(&mut project).unwrap(), |it| it.snapshot_mb = 7);
    stock.snapshot_days = 0;
    let pile = &stock.reduce().unwrap()[2];
    assert_eq!((pile.kind, pile.count), (PileKind::Snapshots, 8));
    // Eight of a little more than a megabyte: two have to go, and none of a task that is open.
    let listed = "for-each-ref --format=%(refname:lstrip=3) refs/waypost/snapshots";
    let left = git(root, THEN, listed, b"");
    let left: Vec<&str> = left.lines().collect();
    let of = |name: &str, numbers: &[u64]| -> Vec<String> {
        numbers.iter().map(|number| format!("{name}/{number}")).collect()
    };
    assert_eq!(left, [of(names[0], &[3, 4]), of(names[1], &[1, 2, 3, 4])].concat());
    assert_eq!(stock.piles().unwrap()[2].going, 0);
}

#[test]
fn the_newest_renderings_of_each_window_stay() {
    let (_folder, mut project) = project();
    for version in 1..=5 {
        put(&project, &format!("windows/workflow-main/{version:012}-abc.json"), 40);
    }
    put(&project, "windows/workflow-main.stamp", 40);
    Stock::of(&mut project).unwrap().reduce().unwrap();
    let left = fs::read_dir(project.place().state.join("windows/workflow-main")).unwrap();
    let mut left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["000000000004-abc.json", "000000000005-abc.json"]);
    assert!(is_there(&project, "windows/workflow-main.stamp"));
}

#[test]
fn a_host_does_it_at_once_if_none_has_for_a_day() {
    let (_folder, mut project) = project();
    put(&project, "logs/T1.1/1.log", 40);
    let now = project.clock().now();
    let mut retention = Retention::new(&project);
    retention.attend(&mut project, now);
    wait(&retention);
    assert!(!is_there(&project, "logs/T1.1/1.log"));
    let later = Retention::new(&project);
    assert!(later.due >= now.plus(INTERVAL / 2), "it was done just now");
}

/// Until the thread has come to its end.
fn wait(retention: &Retention) {
    let mut waits = crate::guest::Waits::default();
    retention.at_work.as_ref().unwrap().waits(&mut waits);
    waits.wait(Time::default(), Duration::from_secs(60)).unwrap();
}
