//! What the journal costs beside the bare database and beside what people use today.
//!
//! Prints one JSON object per measurement on stdout and a table on stderr. Both sides of a
//! measurement take turns in the same run, so that a slow disk is slow for both.
//! `WAYPOST_BENCH_QUICK=1` makes it small enough for a test.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use rusqlite::{Connection, params};
use std::{
    env,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use waypost_model::{actor::Actor, id::StreamName, time::Time};
use waypost_store::{
    StoreError,
    journal::{Append, Birth, Journal, Mode, NewEvent, Snapshot},
    place::{Place, TreeName},
};

const AT: Time = Time::from_millis(1_771_236_000_000);
const BODY: &str =
    r#"{"task":"T1.3","attempt":1,"exit_code":0,"verified":true,"commit":"0123456789"}"#;
const PROCESSES: usize = 16;
const PART: &str = "WAYPOST_BENCH_PART";
const ROOT: &str = "WAYPOST_BENCH_ROOT";

/// One thing measured on both sides; the ratio is ours divided by the other's.
struct Measurement {
    name: &'static str,
    ours: f64,
    other: f64,
    unit: &'static str,
    /// What the ratio should be, where there is a goal.
    target: Option<&'static str>,
}

impl Measurement {
    fn ratio(&self) -> f64 {
        self.ours / self.other
    }

    fn with_target(mut self, target: &'static str) -> Self {
        self.target = Some(target);
        self
    }
}

fn main() {
    if let (Ok(part), Ok(root)) = (env::var(PART), env::var(ROOT)) {
        return play(&part, Path::new(&root));
    }
    // Only `cargo bench` says so; a test runner that merely lists what is there gets nothing.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let scale = if quick { 1 } else { 10 };
    let mut measured = vec![single_commits(scale).with_target(">= 0.8"), opened_commits(scale)];
    measured.extend(many_processes(scale));
    measured.push(long_stream(if quick { 20_000 } else { 1_000_000 }));
    eprintln!("{:<48} {:>12} {:>12} {:<12} {:>7}", "measurement", "ours", "other", "unit", "ratio");
    for it in measured {
        eprintln!(
            "{:<48} {:>12.3} {:>12.3} {:<12} {:>7.2}",
            it.name,
            it.ours,
            it.other,
            it.unit,
            it.ratio()
        );
        let mut line = serde_json::json!({
            "name": it.name, "ours": it.ours, "other": it.other, "unit": it.unit,
            "ratio": it.ratio(),
        });
        if let Some(target) = it.target {
            line["target"] = target.into();
        }
        println!("{line}");
    }
}

fn place_at(root: &Path) -> Place {
    let state = root.join(".waypost");
    Place { root: root.to_owned(), git_common: None, state, tree: TreeName::main() }
}

fn create(root: &Path) -> Journal {
    let birth = Birth { journal_id: "bench".into(), at: AT };
    Journal::open(&place_at(root), Mode::Create(&birth)).unwrap()
}

fn stream() -> StreamName {
    "run".parse().unwrap()
}

fn append(journal: &mut Journal, seen: u64, count: usize) -> Result<u64, StoreError> {
    let events = vec![NewEvent { kind: "task_done", format: 1, body: BODY.into() }; count];
    let (stream, actor) = (stream(), Actor::Waypost);
    let append = Append { stream: &stream, seen, actor: &actor, at: AT, events: events.to_vec() };
    let mut transaction = journal.transaction()?;
    let head = transaction.append(append)?.head;
    transaction.commit()?;
    Ok(head)
}

/// The same tables and the same bytes, without locks, checks and sums.
struct Bare(Connection);

impl Bare {
    fn create(root: &Path) -> Self {
        drop(append(&mut create(root), 0, 1));
        Self::open(root)
    }

    fn open(root: &Path) -> Self {
        let db = Connection::open(place_at(root).state.join("journal.db")).unwrap();
        db.busy_timeout(Duration::from_secs(60)).unwrap();
        db.execute_batch("PRAGMA synchronous = FULL").unwrap();
        Self(db)
    }

    fn commit(&self) {
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            self.0.prepare_cached(sql).unwrap().execute(values).unwrap()
        };
        run("BEGIN IMMEDIATE", &[]);
        run(
            "INSERT INTO event(stream, stream_seq, at, actor, format, kind, body, sum)
             SELECT 1, head + 1, ?1, 'waypost', 1, 'task_done', ?2, sum FROM stream WHERE id = 1",
            params![AT.millis(), BODY],
        );
        run("UPDATE stream SET head = head + 1 WHERE id = 1", &[]);
        run("COMMIT", &[]);
    }
}

fn timed(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}

fn rates(name: &'static str, count: usize, ours: Duration, other: Duration) -> Measurement {
    let rate = |time: Duration| count as f64 / time.as_secs_f64();
    let (ours, other) = (rate(ours), rate(other));
    Measurement { name, ours, other, unit: "commits/s", target: None }
}

/// Lets both sides commit `each` times in turn and takes the median round of each: a sync that
/// the disk holds up for another process says nothing about either.
fn in_turn(
    name: &'static str,
    (rounds, each): (usize, usize),
    mut ours: impl FnMut(),
    mut other: impl FnMut(),
) -> Measurement {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        times[0].push(timed(|| (0..each).for_each(|_| ours())));
        times[1].push(timed(|| (0..each).for_each(|_| other())));
    }
    let [ours, other] = times.map(|mut times| {
        times.sort_unstable();
        times[rounds / 2]
    });
    rates(name, each, ours, other)
}

/// Durable commits of one event each, by a process that keeps the journal open.
fn single_commits(scale: usize) -> Measurement {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut journal = create(folders[0].path());
    let mut head = append(&mut journal, 0, 1).unwrap();
    let bare = Bare::create(folders[1].path());
    let ours = || head = append(&mut journal, head, 1).unwrap();
    in_turn("single commits", (20 * scale, 10), ours, || bare.commit())
}

/// The same by a process that opens and closes the journal each time, as a command does.
fn opened_commits(scale: usize) -> Measurement {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut head = append(&mut create(folders[0].path()), 0, 1).unwrap();
    drop(Bare::create(folders[1].path()));
    let ours = || head = append(&mut create(folders[0].path()), head, 1).unwrap();
    let other = || Bare::open(folders[1].path()).commit();
    in_turn("open, commit, close", (10 * scale, 5), ours, other)
}

/// Sixteen processes that commit as fast as they can.
fn many_processes(scale: usize) -> [Measurement; 3] {
    let count = PROCESSES * commits_each(scale);
    let run = |part: &str| {
        let folder = tempfile::tempdir().unwrap();
        drop(append(&mut create(folder.path()), 0, 1));
        let start = Instant::now();
        let worst = race(part, folder.path(), scale);
        (start.elapsed(), worst)
    };
    let (ours, ours_worst) = run("ours");
    let (bare, bare_worst) = run("bare");
    let (shell, _) = run("shell");
    [
        rates("16 processes beside the busy handler", count, ours, bare),
        Measurement {
            name: "16 processes, worst wait beside the busy handler",
            ours: ours_worst.as_secs_f64() * 1e3,
            other: bare_worst.as_secs_f64() * 1e3,
            unit: "ms",
            target: Some("<= 1"),
        },
        rates("16 processes beside flock+jq+mv", count, ours, shell),
    ]
}

fn commits_each(scale: usize) -> usize {
    10 * scale
}

/// Starts the processes and returns the longest wait of any of them.
fn race(part: &str, root: &Path, scale: usize) -> Duration {
    let start = |_| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.env(PART, format!("{part} {}", commits_each(scale))).env(ROOT, root);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    let waits = children.into_iter().map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let nanos = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        Duration::from_nanos(nanos)
    });
    waits.max().unwrap()
}

/// One of many processes: commits, and says how long the longest one took.
fn play(part: &str, root: &Path) {
    let (part, count) = part.split_once(' ').unwrap();
    let count: usize = count.parse().unwrap();
    let mut act: Box<dyn FnMut()> = match part {
        "ours" => {
            let mut journal = Journal::open(&place_at(root), Mode::ReadWrite).unwrap();
            Box::new(move || commit_to_shared(&mut journal))
        }
        "bare" => {
            let bare = Bare::open(root);
            Box::new(move || bare.commit())
        }
        _ => {
            let state = root.join("state.json");
            drop(waypost_store::file::create_new(&state, b"{\"n\":0}", 0o600));
            let script = "flock lock sh -c 'jq .n+=1 state.json >tmp && mv tmp state.json'";
            let mut command = Command::new("sh");
            command.args(["-c", script]).current_dir(root);
            Box::new(move || assert!(command.status().unwrap().success()))
        }
    };
    let worst = (0..count).map(|_| timed(&mut act)).max().unwrap();
    println!("{}", worst.as_nanos());
}

/// As an engine does: what it has seen is read inside the transaction that it commits.
fn commit_to_shared(journal: &mut Journal) {
    let events = [NewEvent { kind: "task_done", format: 1, body: BODY.into() }];
    let (stream, actor) = (stream(), Actor::Waypost);
    let mut transaction = journal.transaction().unwrap();
    let seen = transaction.head(&stream).unwrap();
    let append = Append { stream: &stream, seen, actor: &actor, at: AT, events: events.to_vec() };
    transaction.append(append).unwrap();
    transaction.commit().unwrap();
}

/// Loading a long stream from its snapshot against loading a short one.
fn long_stream(length: usize) -> Measurement {
    const SHORT: usize = 10_000;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let lengths = [length, SHORT];
    for (folder, length) in folders.iter().zip(lengths) {
        fill(&mut create(folder.path()), length);
    }
    let mut times = [Duration::ZERO; 2];
    for _ in 0..20 {
        for (folder, time) in folders.iter().zip(&mut times) {
            *time += timed(|| {
                let place = place_at(folder.path());
                let mut journal = Journal::open(&place, Mode::ReadOnly).unwrap();
                let view = journal.view().unwrap();
                let snapshot = view.snapshot(&stream()).unwrap().unwrap();
                let mut tail = 0;
                view.for_each_event(&stream(), snapshot.stream_seq, |_| {
                    tail += 1;
                    Ok::<(), StoreError>(())
                })
                .unwrap();
                assert_eq!(tail, 1_000);
            });
        }
    }
    let path = folders[0].path().join(".waypost/journal.db");
    let checked = timed(|| {
        let db = Connection::open(&path).unwrap();
        db.query_row("PRAGMA quick_check(1)", [], |_| Ok(())).unwrap();
    });
    let verified = timed(|| {
        let mut journal = Journal::open(&place_at(folders[0].path()), Mode::ReadWrite).unwrap();
        journal.verify().unwrap();
    });
    let size = std::fs::metadata(path).unwrap().len();
    eprintln!("{length} entries, {} MiB: check {checked:?}, verify {verified:?}", size >> 20);
    let millis = |time: Duration| time.as_secs_f64() * 1e3 / 20.0;
    let [ours, other] = times.map(millis);
    Measurement {
        name: "load, 1,000,000 events beside 10,000",
        ours,
        other,
        unit: "ms",
        target: Some("<= 1.5"),
    }
}

fn fill(journal: &mut Journal, length: usize) {
    let mut head = 0;
    while (head as usize) < length {
        head = append(journal, head, 10_000).unwrap();
    }
    let snapshot = Snapshot { stream_seq: head - 1_000, format: 1, body: vec![b'x'; 100_000] };
    let mut transaction = journal.transaction().unwrap();
    transaction.save_snapshot(&stream(), &snapshot).unwrap();
    transaction.commit().unwrap();
}
