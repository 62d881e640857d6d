//! What a durable transition costs through the real machines, and what loading a long history costs.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. Both sides of a
//! measurement take turns in the same run, so that a slow disk is slow for both.
//! `WAYPOST_BENCH_QUICK=1` makes it small enough to see that it works; `-- writer`, `-- threads`
//! and `-- load` run one part of it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use rusqlite::{Connection, params};
use serde_json::json;
use std::{
    collections::BTreeMap,
    env, fs,
    ops::Range,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use waypost_engine::{Handle, Host, MachineCommand, Project, Recorded};
use waypost_model::{
    actor::Actor,
    evidence::Evidence,
    id::TaskId,
    retry::FailureClass,
    run::{self, Depends, Failure, Plan, PlannedTask, Priority, Settings},
};
use waypost_store::{
    journal::{Journal, Mode},
    place::Place,
};

/// Where the user's folders are during a benchmark: never the real ones.
const HOME: &str = "WAYPOST_BENCH_HOME";
const THREADS: usize = 64;
/// What 64 threads of one process have to reach together.
const THREADS_GOAL: f64 = 20_000.0;
/// Commands in one transaction while a history is written.
const FILL_BATCH: usize = 1_000;

/// How much is measured.
struct Scale {
    /// Rounds of ten tasks each, with one writer.
    rounds: usize,
    tasks_per_thread: usize,
    /// Tasks of the run whose history is loaded.
    tasks: usize,
    /// How often each of them has failed and was opened again in the long history.
    failures: usize,
    loads: usize,
}

const FULL: Scale =
    Scale { rounds: 200, tasks_per_thread: 500, tasks: 10_000, failures: 33, loads: 40 };
const QUICK: Scale = Scale { rounds: 10, tasks_per_thread: 20, tasks: 500, failures: 3, loads: 5 };

fn main() {
    // The environment is read by what is measured, and cannot be changed from inside.
    if env::var_os(HOME).is_none() {
        let home = scratch();
        let mut again = Command::new(env::current_exe().unwrap());
        again.env(HOME, home.path()).env("XDG_STATE_HOME", home.path());
        again.env("XDG_CONFIG_HOME", home.path()).args(env::args_os().skip(1));
        assert!(again.status().unwrap().success());
        return;
    }
    let scale = if env::var_os("WAYPOST_BENCH_QUICK").is_some() { QUICK } else { FULL };
    // Cargo adds an option of its own.
    let parts: Vec<String> = env::args().skip(1).filter(|part| !part.starts_with('-')).collect();
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let bare = is_wanted("writer").then(|| one_writer(&scale));
    if is_wanted("threads") {
        many_threads(&scale, bare);
    }
    if is_wanted("load") {
        loading(&scale);
    }
}

/// A folder on the disk that the build is on; `/tmp` is often none.
fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A project in a repository of its own, so that it does not belong to the one around it.
struct Bench {
    folder: TempDir,
    plan: Plan,
}

impl Bench {
    fn begin(tasks: usize) -> Self {
        let folder = scratch();
        for part in ["objects", "refs"] {
            fs::create_dir_all(folder.path().join(".git").join(part)).unwrap();
        }
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let phases = BTreeMap::from([(1, "everything".to_owned())]);
        let plan = Plan::new("bench".into(), phases, (1..=tasks).map(task).collect()).unwrap();
        let bench = Self { folder, plan };
        let settings = Settings::default();
        let begin = run::Command::Begin { plan: bench.plan.clone(), settings };
        bench.open().command(&[MachineCommand::run(begin)]).unwrap();
        bench
    }

    fn open(&self) -> Project {
        Project::open(self.folder.path(), actor()).unwrap()
    }

    fn id(&self, task: usize) -> TaskId {
        self.plan.tasks[task].id.clone()
    }

    fn start(&self, task: usize) -> MachineCommand {
        MachineCommand::run(run::Command::Start { id: self.id(task) })
    }

    fn done(&self, task: usize) -> MachineCommand {
        let (id, evidence) = (self.id(task), Evidence::Unverified);
        MachineCommand::run(run::Command::Done { id, attempt: None, evidence, commit: None })
    }

    fn fail(&self, task: usize) -> MachineCommand {
        let text = "assertion failed: left == right".to_owned();
        let failure = Failure { text, class: FailureClass::Structural, ..Failure::default() };
        MachineCommand::run(run::Command::Fail { id: self.id(task), attempt: None, failure })
    }

    fn retry(&self, task: usize) -> MachineCommand {
        MachineCommand::run(run::Command::Retry { id: self.id(task) })
    }
}

fn task(number: usize) -> PlannedTask {
    PlannedTask {
        id: format!("T1.{number}").parse().unwrap(),
        title: format!("Write the part with the number {number}"),
        phase: 1,
        depends: Depends::On(Vec::new()),
        ticked: false,
        priority: Priority::default(),
        line: u32::try_from(number).unwrap(),
        details: None,
    }
}

fn actor() -> Actor {
    Actor::Agent { id: "bench".into(), attempt: 1 }
}

fn timed(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Starts and completes tasks one after the other, each step durable before the next.
fn work(bench: &Bench, handle: &Handle, tasks: Range<usize>) {
    for task in tasks {
        handle.command(actor(), vec![bench.start(task)]).unwrap();
        handle.command(actor(), vec![bench.done(task)]).unwrap();
    }
}

/// One thread beside a bare loop that writes the same rows. Returns the loop's rate.
fn one_writer(scale: &Scale) -> f64 {
    const TASKS: usize = 10;
    let bench = Bench::begin(scale.rounds * TASKS + 1);
    let bare = Bare::beside(&bench);
    let engine = Host::start(bench.open(), "bench").unwrap();
    let handle = engine.handle();
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for round in 0..scale.rounds {
        let tasks = round * TASKS..(round + 1) * TASKS;
        ours.push(timed(|| work(&bench, &handle, tasks)));
        other.push(timed(|| (0..2 * TASKS).for_each(|at| bare.commit(at))));
    }
    drop(engine.stop());
    let rate = |times| (2 * TASKS) as f64 / median(times).as_secs_f64();
    let (ours, other) = (rate(ours), rate(other));
    let line = json!({
        "name": "transitions, one thread, beside a bare SQLite loop", "ours": ours,
        "other": other, "unit": "1/s", "ratio": ours / other, "target": ">= 0.8",
    });
    println!("{line}");
    other
}

/// The same tables and the same bytes, without machines, locks, checks and sums.
struct Bare {
    db: Connection,
    sample: Vec<Recorded>,
    _folder: TempDir,
}

impl Bare {
    /// A copy of the run's journal, with what one task leaves in it as the sample.
    fn beside(bench: &Bench) -> Self {
        let mut project = bench.open();
        let last = bench.plan.tasks.len() - 1;
        project.command(&[bench.start(last), bench.done(last)]).unwrap();
        let sample = project.log(2, |_| true).unwrap();
        drop(project);
        let folder = scratch();
        let path = folder.path().join("copy");
        // A plain copy of the file would miss what is still in its log.
        let place = Place::find(bench.folder.path()).unwrap();
        let copy = Journal::open(&place, Mode::ReadWrite).unwrap().back_up().unwrap();
        fs::copy(copy.path, &path).unwrap();
        let db = Connection::open(path).unwrap();
        db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        db.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").unwrap();
        Self { db, sample, _folder: folder }
    }

    fn commit(&self, at: usize) {
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            self.db.prepare_cached(sql).unwrap().execute(values).unwrap()
        };
        let entry = &self.sample[at % self.sample.len()];
        let actor = actor().to_string();
        let (at, name) = (entry.at.millis(), entry.stream.as_str());
        run("BEGIN IMMEDIATE", &[]);
        let written = run(
            "INSERT INTO event(stream, stream_seq, at, actor, format, kind, body, sum)
             SELECT id, head + 1, ?1, ?2, ?3, ?4, ?5, sum FROM stream WHERE name = ?6",
            params![at, actor, entry.format, entry.kind, entry.body, name],
        );
        assert_eq!(written, 1, "the loop writes what it is measured by");
        run("UPDATE stream SET head = head + 1, sum = sum WHERE name = ?1", params![name]);
        run("COMMIT", &[]);
    }
}

/// 64 threads that share one engine, beside the goal and beside one writer of a bare loop.
fn many_threads(scale: &Scale, bare: Option<f64>) {
    let bench = Bench::begin(THREADS * scale.tasks_per_thread);
    let engine = Host::start(bench.open(), "bench").unwrap();
    let each = scale.tasks_per_thread;
    let time = timed(|| {
        thread::scope(|scope| {
            for at in 0..THREADS {
                let (bench, handle) = (&bench, engine.handle());
                scope.spawn(move || work(bench, &handle, at * each..(at + 1) * each));
            }
        });
    });
    drop(engine.stop());
    let rate = (2 * each * THREADS) as f64 / time.as_secs_f64();
    let goal = json!({
        "name": "transitions, 64 threads, beside the goal", "ours": rate, "other": THREADS_GOAL,
        "unit": "1/s", "ratio": rate / THREADS_GOAL, "target": ">= 1",
    });
    println!("{goal}");
    if let Some(bare) = bare {
        let line = json!({
            "name": "transitions, 64 threads, beside one bare SQLite loop", "ours": rate,
            "other": bare, "unit": "1/s", "ratio": rate / bare,
        });
        println!("{line}");
    }
}

/// Opening a project and loading its run, after a long and after a short history.
fn loading(scale: &Scale) {
    let [long, short] = [Bench::begin(scale.tasks), Bench::begin(scale.tasks)];
    let filled = timed(|| {
        fill(&long, scale.failures);
        fill(&short, 0);
    });
    let [events, few] = [&long, &short].map(|bench| count_events(bench.folder.path()));
    eprintln!("{events} and {few} events written in {filled:?}");
    let load = |bench: &Bench| {
        timed(|| {
            let mut project = Project::open(bench.folder.path(), actor()).unwrap();
            assert!(project.run().unwrap().active().is_some());
        })
    };
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for _ in 0..scale.loads {
        ours.push(load(&long));
        other.push(load(&short));
    }
    let [ours, other] = [ours, other].map(|times| median(times).as_secs_f64() * 1e3);
    let name = format!("load, {events} events beside {few}, {} tasks", scale.tasks);
    let line = json!({
        "name": name, "ours": ours, "other": other, "unit": "ms", "ratio": ours / other,
        "target": "<= 1.5",
    });
    println!("{line}");
}

/// Every task fails and is opened again some times; then half of them are completed.
fn fill(bench: &Bench, failures: usize) {
    let engine = Host::start(bench.open(), "bench").unwrap();
    let tasks = bench.plan.tasks.len();
    let fail_all = |_| (0..tasks).flat_map(|at| [bench.start(at), bench.fail(at), bench.retry(at)]);
    let complete = (0..tasks / 2).flat_map(|at| [bench.start(at), bench.done(at)]);
    let commands: Vec<MachineCommand> = (0..failures).flat_map(fail_all).chain(complete).collect();
    for batch in commands.chunks(FILL_BATCH) {
        engine.handle().command(actor(), batch.to_vec()).unwrap();
    }
}

fn count_events(root: &Path) -> u64 {
    let place = Place::find(root).unwrap();
    Journal::open(&place, Mode::ReadOnly).unwrap().view().unwrap().last_seq().unwrap()
}
