//! What it takes until a command through a host is durable, and until a subscriber knows of it: from
//! a thread of the host, and from another process.
//!
//! From another process the time is taken from before its command, which is more than from its commit.
//! Prints one JSON object per measurement on stdout and all else on stderr.
//! `WAYPOST_BENCH_QUICK=1` makes it small enough to see that it works.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use serde_json::json;
use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::FileExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;
use waypost_engine::{Cursor, Host, MachineCommand, News, Project, Subscription};
use waypost_model::{
    actor::Actor,
    id::TaskId,
    run::{self, Depends, Plan, PlannedTask, Priority, Run, Settings},
};

/// Where the user's folders are during a benchmark: never the real ones.
const HOME: &str = "WAYPOST_BENCH_HOME";
/// The folder in which a process of ours gives commands when it is told to.
const OTHER: &str = "WAYPOST_BENCH_OTHER";

const COMMAND_GOAL_MS: f64 = 1.0;
const HERE_GOAL_MS: f64 = 10.0;
const ELSEWHERE_GOAL_MS: f64 = 50.0;

/// Much longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two commands: a host that sleeps has to wake up for each of them.
const PAUSE: Duration = Duration::from_millis(5);

fn main() {
    if let Some(folder) = env::var_os(OTHER) {
        return command_when_told(Path::new(&folder));
    }
    if env::var_os(HOME).is_none() {
        let home = scratch();
        let mut again = Command::new(env::current_exe().unwrap());
        again.env(HOME, home.path()).env("XDG_STATE_HOME", home.path());
        again.env("XDG_CONFIG_HOME", home.path());
        assert!(again.status().unwrap().success());
        return;
    }
    let count = if env::var_os("WAYPOST_BENCH_QUICK").is_some() { 50 } else { 2_000 };
    let folder = project(2 * count);
    let host = Host::start(open(folder.path()), "bench").unwrap();
    let mut subscription = host.handle().subscribe(Cursor::START).unwrap();
    let synced = SyncedFile::make(folder.path());
    let (given, heard) = from_here(&host, &mut subscription, (synced, count));
    let durable: Vec<Duration> = given.iter().map(|it| it.command).collect();
    let bare: Vec<Duration> = given.iter().map(|it| it.bare).collect();
    print("a command through the host, median", at(&durable, 0.5), COMMAND_GOAL_MS);
    print("a command through the host, p99", at(&durable, 0.99), COMMAND_GOAL_MS);
    beside(
        "a command through the host, median, beside a bare write and sync",
        &durable,
        &bare,
        0.5,
    );
    beside("a command through the host, p99, beside a bare write and sync", &durable, &bare, 0.99);
    print("commit to subscriber, same host, p99", at(&heard, 0.99), HERE_GOAL_MS);
    let heard = from_elsewhere(folder.path(), &mut subscription, count..2 * count);
    print("command to subscriber, other process, p99", at(&heard, 0.99), ELSEWHERE_GOAL_MS);
    drop(host.stop());
}

/// Commands of another thread: how long each took, and how long it then was until the subscriber had
/// it.
fn from_here(
    host: &Host,
    subscription: &mut Subscription,
    (mut synced, count): (SyncedFile, usize),
) -> (Vec<Given>, Vec<Duration>) {
    let handle = host.handle();
    let commanding = thread::spawn(move || {
        let command = |task| {
            thread::sleep(PAUSE);
            let bare = synced.write();
            let begin = SystemTime::now();
            handle.command(actor(), vec![start(task)]).unwrap();
            Given { begin, command: begin.elapsed().unwrap_or_default(), bare }
        };
        (0..count).map(command).collect::<Vec<_>>()
    });
    let heard: Vec<SystemTime> = (0..count).map(|_| next(subscription)).collect();
    let given = commanding.join().unwrap();
    let late = given.iter().zip(heard).map(|(it, heard)| since(heard, it.begin + it.command));
    let late = late.collect();
    (given, late)
}

/// A command that was given: when, how long it took, and how long a bare write took right before it.
struct Given {
    begin: SystemTime,
    command: Duration,
    bare: Duration,
}

/// What a machine takes at least until something is durable: a commit's bytes, written over what is
/// there and synced.
struct SyncedFile {
    file: fs::File,
    written: u64,
}

impl SyncedFile {
    /// As many bytes as one command writes: three pages with their heads.
    const SIZE: usize = 3 * 4_120;
    /// The database's log is written over from its start, too.
    const ROUND: u64 = 1 << 22;

    fn make(folder: &Path) -> Self {
        let file = fs::File::create(folder.join("bare")).unwrap();
        file.write_all_at(&vec![1; Self::ROUND as usize], 0).unwrap();
        file.sync_all().unwrap();
        Self { file, written: 0 }
    }

    fn write(&mut self) -> Duration {
        let begin = SystemTime::now();
        let at = self.written % (Self::ROUND - Self::SIZE as u64);
        self.file.write_all_at(&[2; Self::SIZE], at).unwrap();
        self.file.sync_data().unwrap();
        self.written += Self::SIZE as u64;
        begin.elapsed().unwrap_or_default()
    }
}

/// Commands of another process: how long until the subscriber had each.
fn from_elsewhere(
    folder: &Path,
    subscription: &mut Subscription,
    tasks: std::ops::Range<usize>,
) -> Vec<Duration> {
    let mut other = Command::new(env::current_exe().unwrap());
    other.env(OTHER, folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut other = other.spawn().unwrap();
    let (mut say, said) = (other.stdin.take().unwrap(), other.stdout.take().unwrap());
    let mut said = BufReader::new(said).lines();
    let mut late = Vec::new();
    for task in tasks {
        writeln!(say, "{task}").unwrap();
        let heard = next(subscription);
        let nanos = said.next().unwrap().unwrap().parse().unwrap();
        late.push(since(heard, SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos)));
        thread::sleep(PAUSE);
    }
    drop(say);
    assert!(other.wait().unwrap().success());
    late
}

/// The other process: gives a command for each line, and says when.
fn command_when_told(folder: &Path) {
    let mut project = open(folder);
    for line in std::io::stdin().lines() {
        let task = line.unwrap().parse().unwrap();
        let begin = SystemTime::now();
        project.command(&[start(task)]).unwrap();
        println!("{}", since(begin, SystemTime::UNIX_EPOCH).as_nanos());
    }
}

/// Waits until the subscriber hears of another start.
fn next(subscription: &mut Subscription) -> SystemTime {
    loop {
        match subscription.next(PATIENCE) {
            News::Happened(it) => {
                if matches!(it.event::<Run>(), Some(run::Event::TaskStarted { .. })) {
                    return SystemTime::now();
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

fn since(later: SystemTime, earlier: SystemTime) -> Duration {
    later.duration_since(earlier).unwrap_or_default()
}

/// The time that this part of them do not exceed, in milliseconds.
fn at(times: &[Duration], part: f64) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    let last = times.len() - 1;
    times[(times.len() as f64 * part) as usize % times.len()].min(times[last]).as_secs_f64() * 1e3
}

fn print(name: &str, ours: f64, goal: f64) {
    let line = json!({
        "name": format!("{name}, beside the goal"), "ours": ours, "other": goal, "unit": "ms",
        "ratio": ours / goal, "target": "<= 1",
    });
    println!("{line}");
}

/// The same part of two lists of times, one beside the other.
fn beside(name: &str, ours: &[Duration], others: &[Duration], part: f64) {
    let (ours, other) = (at(ours, part), at(others, part));
    let ratio = ours / other;
    println!(
        "{}",
        json!({ "name": name, "ours": ours, "other": other, "unit": "ms", "ratio": ratio })
    );
}

/// A folder on the disk that the build is on; `/tmp` is often none.
fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A project in a repository of its own, so that it does not belong to the one around it.
fn project(tasks: usize) -> TempDir {
    let folder = scratch();
    for part in ["objects", "refs"] {
        fs::create_dir_all(folder.path().join(".git").join(part)).unwrap();
    }
    fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let task = |at| PlannedTask {
        id: id(at),
        title: String::new(),
        phase: 1,
        depends: Depends::On(Vec::new()),
        ticked: false,
        priority: Priority::default(),
        line: 1,
        details: None,
    };
    let plan = Plan::new("bench".into(), BTreeMap::new(), (0..tasks).map(task).collect()).unwrap();
    let begin = run::Command::Begin { plan, settings: Settings::default() };
    open(folder.path()).command(&[MachineCommand::run(begin)]).unwrap();
    folder
}

fn open(folder: &Path) -> Project {
    Project::open(folder, actor()).unwrap()
}

fn actor() -> Actor {
    Actor::User("bench".into())
}

fn id(at: usize) -> TaskId {
    format!("T1.{}", at + 1).parse().unwrap()
}

fn start(at: usize) -> MachineCommand {
    MachineCommand::run(run::Command::Start { id: id(at) })
}
