//! What the executor costs per task: no-op tasks in chains of three, two at a time, beside `ninja`
//! and `make` on the same graph.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. Every transition of ours
//! is durable and every end is in the journal; theirs are not. `WAYPOST_BENCH_PROGRAMS` names the
//! folder of the programs as `cargo xtask dist` builds them; `WAYPOST_BENCH_QUICK=1` makes it small
//! enough to see that it works.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use serde_json::json;
use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long chains are.
const CHAIN: usize = 3;
const PARALLEL: &str = "2";

/// Ours first; the others by their names.
const PROGRAMS: [&[&str]; 3] = [
    &["waypost", "run", "--quiet", "--max-parallel", PARALLEL],
    &["ninja", "-j", PARALLEL],
    &["make", "-s", "-j", PARALLEL],
];

/// How often memory is looked at: seldom enough to cost nothing beside what is measured.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

fn main() {
    let is_quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let sizes: &[(usize, usize)] =
        if is_quick { &[(60, 1), (120, 1)] } else { &[(1_000, 15), (10_000, 7), (100_000, 1)] };
    let mut per_task = Vec::new();
    for &(tasks, rounds) in sizes {
        let mut times: [Vec<Duration>; 3] = Default::default();
        let mut peak = 0;
        for round in 0..rounds {
            let site = Site::begin(tasks);
            // Other work on the machine disturbs the first of a round as often as the last.
            for turn in 0..times.len() {
                let at = (round + turn) % times.len();
                let Some((took, memory)) = site.run(PROGRAMS[at]) else { continue };
                times[at].push(took);
                if at == 0 {
                    peak = peak.max(memory);
                }
            }
        }
        let [ours, ninja, make] = times.map(|times| median(times).map(|it| it.as_secs_f64() * 1e3));
        let ours = ours.unwrap();
        let goal = |text| (tasks == 10_000).then_some(text);
        for (name, other, target) in
            [("ninja", ninja, goal("<= 0.95")), ("make", make, goal("<= 1.05"))]
        {
            let name = format!("{tasks} no-op tasks, 2 at a time, beside {name}");
            report(&name, ours, other, "ms", target);
        }
        per_task.push((tasks, ours / tasks as f64, peak));
    }
    let ((small, first, low), (large, last, high)) = (per_task[0], *per_task.last().unwrap());
    let target = (!is_quick).then_some("<= 1.3");
    let name = format!("per task, {large} beside {small}");
    report(&name, last, Some(first), "ms", target);
    let bytes = high.saturating_sub(low) as f64 * 1024.0 / (large - small) as f64;
    report(
        "memory per waiting task, beside 1 KB",
        bytes,
        Some(1024.0),
        "bytes",
        target.map(|_| "<= 1.0"),
    );
}

/// The same graph for all three.
struct Site {
    folder: TempDir,
    home: TempDir,
}

impl Site {
    fn begin(tasks: usize) -> Self {
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let site = Self { folder: folder(), home: folder() };
        for part in ["objects", "refs"] {
            fs::create_dir_all(site.path(".git").join(part)).unwrap();
        }
        fs::write(site.path(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let mut ours = String::from("# Bench\n\n## Phase 1: All\n\n");
        let mut ninja = String::from("rule r\n  command = true\n");
        let (mut make, mut all) = (String::new(), String::new());
        for task in 1..=tasks {
            let before = (task % CHAIN != 1).then(|| task - 1);
            let depends = before.map_or_else(|| "none".into(), |it| format!("T1.{it}"));
            writeln!(ours, "- [ ] T1.{task}: No-op\n  - run: `true`\n  - depends: {depends}")
                .unwrap();
            let wanted = before.map_or_else(String::new, |it| format!("t{it}"));
            writeln!(ninja, "build t{task}: r {wanted}").unwrap();
            writeln!(make, "t{task}: {wanted}\n\t@true").unwrap();
            write!(all, " t{task}").unwrap();
        }
        fs::write(site.path("TASKS.md"), ours).unwrap();
        fs::write(site.path("build.ninja"), ninja).unwrap();
        fs::write(site.path("Makefile"), format!(".PHONY: all{all}\nall:{all}\n{make}")).unwrap();
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the tasks with one program; how long that took, and the most memory that its first
    /// process had, in KB. `None`: there is no such program.
    fn run(&self, line: &[&str]) -> Option<(Duration, u64)> {
        let program = program(line[0])?;
        // What the round before has left to write is not this one's to wait for.
        quiet("sync").status().unwrap();
        let mut command = quiet(program);
        command.args(&line[1..]).current_dir(self.folder.path()).env("HOME", self.home.path());
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        let start = Instant::now();
        let mut child = command.spawn().unwrap();
        let watching = watch(child.id());
        let status = child.wait().unwrap();
        let took = start.elapsed();
        assert!(status.success(), "{line:?}: {status}");
        Some((took, watching.join().unwrap()))
    }
}

/// Watches a process until it ends; the most memory it had, in KB.
fn watch(pid: u32) -> JoinHandle<u64> {
    thread::spawn(move || {
        let mut peak = 0;
        loop {
            let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let found = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            let Some(found) = found else { return peak };
            peak = peak.max(found);
            thread::sleep(LOOK_INTERVAL);
        }
    })
}

/// Where a program is: ours as it was built for this, others where they are installed.
fn program(name: &str) -> Option<PathBuf> {
    if name == "waypost" {
        let folder = env::var_os("WAYPOST_BENCH_PROGRAMS").map(PathBuf::from);
        let built = PathBuf::from(env!("CARGO_BIN_EXE_waypost"));
        return Some(folder.map_or(built, |folder| folder.join(name)));
    }
    let is_there = quiet("which").arg(name).status().is_ok_and(|status| status.success());
    is_there.then(|| name.into())
}

fn quiet(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

fn report(name: &str, ours: f64, other: Option<f64>, unit: &str, target: Option<&str>) {
    let Some(other) = other else {
        eprintln!("skipped: {name}: it is not installed");
        return;
    };
    let ratio = ours / other;
    println!(
        "{}",
        json!({"name": name, "ours": ours, "other": other, "unit": unit, "ratio": ratio, "target": target})
    );
}
