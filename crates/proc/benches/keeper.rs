//! What a keeper costs beside starting processes without one.
//!
//! Both sides run the same program the same number of times, two at a time, in turns. Prints one
//! JSON object per measurement on stdout and a table on stderr. `WAYPOST_BENCH_QUICK=1` makes it
//! small enough for a test.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use std::{
    env, fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use waypost_proc::{How, Keeper, Limits, Program, Report, Spec};

const AT_ONCE: usize = 2;
/// As many as an engine claims ahead.
const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_secs(60);

/// One thing measured on both sides; the ratio is ours divided by the other's.
struct Measurement {
    name: &'static str,
    ours: f64,
    other: f64,
    unit: &'static str,
    /// What the ratio should be, where there is a goal.
    target: Option<&'static str>,
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    if let [word, folder] = &words[..]
        && word == "keeper"
    {
        return waypost_proc::serve(Path::new(folder)).unwrap();
    }
    // Only `cargo bench` says so; a test runner that merely lists what is there gets nothing.
    if !words.iter().any(|word| word == "--bench") {
        return;
    }
    let quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let count = if quick { 128 } else { 2_048 };
    let rounds = if quick { 3 } else { 7 };
    let mut measured = vec![
        rates("`true` without a shell, 2 at a time", "true", (rounds, count)),
        rates("`exit 0` by a shell, 2 at a time", "exit 0", (rounds, count)),
        rates("32 KB of output, 2 at a time", "head -c 32768 /dev/zero", (rounds, count)),
        delay(if quick { 50 } else { 1_000 }),
        flood(if quick { 64 << 20 } else { 2 << 30 }),
    ];
    measured[0].target = Some(">= 0.9");
    eprintln!("{:<40} {:>12} {:>12} {:<12} {:>7}", "measurement", "ours", "other", "unit", "ratio");
    for it in measured {
        let ratio = it.ours / it.other;
        let (name, ours, other, unit) = (it.name, it.ours, it.other, it.unit);
        eprintln!("{name:<40} {ours:>12.3} {other:>12.3} {unit:<12} {ratio:>7.2}");
        let mut line = serde_json::json!({
            "name": name, "ours": ours, "other": other, "unit": unit, "ratio": ratio,
        });
        if let Some(target) = it.target {
            line["target"] = target.into();
        }
        println!("{line}");
    }
}

fn start(folder: &Path) -> Keeper {
    let program = [env::current_exe().unwrap().into_os_string(), "keeper".into()];
    let keeper = Keeper::start(folder, &program).unwrap();
    keeper.set_slots(AT_ONCE).unwrap();
    keeper
}

fn spec(folder: &Path, id: String, text: &str) -> Spec {
    Spec {
        log: folder.join("logs").join(&id),
        id,
        program: Program::Shell(text.into()),
        folder: folder.to_owned(),
        environment: environment(),
        limits: Limits { time: Some(PATIENCE), stall: Some(PATIENCE), ..Limits::default() },
        talk: None,
        secrets: Vec::new(),
    }
}

/// About what an allow-list lets through.
fn environment() -> Vec<(String, String)> {
    let names = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
    names.iter().map(|name| ((*name).into(), env::var(name).unwrap_or_default())).collect()
}

/// Runs `count` through a keeper as an executor does: a batch ahead, more when half of it is done.
fn keep(keeper: &Keeper, folder: &Path, text: &str, (round, count): (usize, usize)) {
    let (mut asked, mut ended) = (0, 0);
    while ended < count {
        if asked < count && asked - ended <= BATCH / 2 {
            let more = asked..count.min(ended + BATCH);
            asked = more.end;
            let specs = more.map(|n| spec(folder, format!("T{round}.{n}"), text)).collect();
            keeper.spawn(specs).unwrap();
        }
        for report in keeper.next(PATIENCE).unwrap() {
            match report {
                Report::Started { .. } => {}
                Report::Ended { ended: end, .. } if end.how == How::Exited(0) => ended += 1,
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The same by threads that start a process, wait for it and write down what it said.
fn bare(folder: &Path, text: &str, count: usize) {
    let environment = environment();
    let words: Vec<&str> =
        if text.starts_with("exit") { vec!["sh", "-c", text] } else { text.split(' ').collect() };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                for _ in 0..count / AT_ONCE {
                    let mut command = Command::new(words[0]);
                    command.args(&words[1..]).current_dir(folder).envs(environment.clone());
                    command.stdin(Stdio::null()).stderr(Stdio::null());
                    let output = command.output().unwrap();
                    assert!(output.status.success());
                    if !output.stdout.is_empty() {
                        let mut log = tempfile::NamedTempFile::new_in(folder).unwrap();
                        log.write_all(&output.stdout).unwrap();
                        log.keep().unwrap();
                    }
                }
            });
        }
    });
}

/// Children per second; the median round of each side.
fn rates(name: &'static str, text: &str, (rounds, count): (usize, usize)) -> Measurement {
    let folder = tempfile::tempdir().unwrap();
    let keeper = start(&folder.path().join("keepers"));
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        times[0].push(timed(|| keep(&keeper, folder.path(), text, (round, count))));
        times[1].push(timed(|| bare(folder.path(), text, count)));
    }
    keeper.close().unwrap();
    let [ours, other] = times.map(|times| count as f64 / median(times));
    Measurement { name, ours, other, unit: "children/s", target: None }
}

/// From the request to the report of the end, one child at a time.
fn delay(count: usize) -> Measurement {
    let folder = tempfile::tempdir().unwrap();
    let keeper = start(&folder.path().join("keepers"));
    let (mut ours, mut other) = (Vec::new(), Vec::new());
    for number in 0..count {
        ours.push(timed(|| keep(&keeper, folder.path(), "true", (number, 1))));
        let mut command = Command::new("true");
        other.push(timed(|| assert!(command.status().unwrap().success())));
    }
    keeper.close().unwrap();
    let (ours, other) = (median(ours) * 1e6, median(other) * 1e6);
    Measurement { name: "request to end of `true`, median", ours, other, unit: "us", target: None }
}

/// A flood of output into a log that keeps 1 MB of it, beside a pipe into nothing.
fn flood(size: u64) -> Measurement {
    let folder = tempfile::tempdir().unwrap();
    let keeper = start(&folder.path().join("keepers"));
    let text = format!("head -c {size} /dev/zero");
    let mut child = spec(folder.path(), "flood".into(), &text);
    child.limits.log_size = 1 << 20;
    let ours = timed(|| {
        keeper.spawn(vec![child]).unwrap();
        let is_over = |report: &Report| matches!(report, Report::Ended { .. });
        while !keeper.next(PATIENCE).unwrap().iter().any(is_over) {}
    });
    let piped = format!("{text} | cat > /dev/null");
    let other = timed(|| {
        let mut command = Command::new("sh");
        assert!(command.args(["-c", &piped]).status().unwrap().success());
    });
    assert!(fs::metadata(folder.path().join("logs/flood")).unwrap().len() < 2 << 20);
    keeper.close().unwrap();
    let rate = |time: Duration| size as f64 / time.as_secs_f64() / 1e6;
    let (ours, other) = (rate(ours), rate(other));
    Measurement { name: "a flood, beside `| cat`", ours, other, unit: "MB/s", target: None }
}

fn timed(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}
