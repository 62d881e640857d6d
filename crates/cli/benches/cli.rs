//! What a command costs from its start to its end, on a project with 10,000 tasks.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. What only reads is
//! measured beside `/bin/true`, which is what any process costs; what writes beside the shell's
//! own way with the same file, `flock`, `jq` and `mv`. Both sides take turns, and medians count.
//! `WAYPOST_BENCH_PROGRAMS` names the folder of the programs as `cargo xtask dist` builds them;
//! `WAYPOST_BENCH_QUICK=1` makes it small enough to see that it works.
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
    time::{Duration, Instant},
};
use tempfile::TempDir;

const PHASES: usize = 10;
/// A task waits for the one this many places before it, so about this many are ready at a time.
const STRANDS: usize = 10;
const STATE_FILE: &str = ".claude/orchestrate-state.json";

/// How much is measured.
struct Scale {
    tasks_per_phase: usize,
    rounds: usize,
}

const FULL: Scale = Scale { tasks_per_phase: 1_000, rounds: 200 };
const QUICK: Scale = Scale { tasks_per_phase: 20, rounds: 5 };

/// Only reading; all of them are asked by people, status lines and agents all the time.
const READERS: [&[&str]; 4] =
    [&["status"], &["run", "next", "--json"], &["run", "status", "--json"], &["develop", "status"]];

fn main() {
    let scale = if env::var_os("WAYPOST_BENCH_QUICK").is_some() { QUICK } else { FULL };
    let project = Project::begin(&scale);
    let tasks = scale.tasks_per_phase * PHASES;
    for words in READERS {
        let times = in_turn(
            scale.rounds,
            |_| run(&mut project.waypost(words)),
            |_| run(&mut quiet("/bin/true")),
        );
        report(&format!("waypost {}, {tasks} tasks, beside /bin/true", words.join(" ")), times);
    }
    // The first half of the phases is done, and so is the first task of the next one.
    let id = |round: usize| format!("T{}.{}", PHASES / 2, round + 2);
    let times = in_turn(
        scale.rounds,
        |round| {
            run(&mut project.waypost(&["run", "start", &id(round)]));
            run(&mut project.waypost(&["run", "done", &id(round)]));
        },
        |round| {
            run(&mut project.shell("ready", "in_progress", &id(round)));
            run(&mut project.shell("in_progress", "completed", &id(round)));
        },
    );
    report(&format!("waypost run start and done, {tasks} tasks, beside flock+jq+mv"), times);
}

/// A project with a run half done, and a copy of its state file for the shell.
struct Project {
    folder: TempDir,
    home: TempDir,
    copy: TempDir,
}

impl Project {
    fn begin(scale: &Scale) -> Self {
        // `/tmp` is often no disk.
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let project = Self { folder: folder(), home: folder(), copy: folder() };
        // A repository of its own, so that it does not belong to the one around it.
        for part in ["objects", "refs"] {
            fs::create_dir_all(project.path(".git").join(part)).unwrap();
        }
        fs::write(project.path(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(project.path("TASKS.md"), tasks_md(scale)).unwrap();
        run(&mut project.waypost(&["develop", "start", "bench"]));
        let first = format!("T{}.1", PHASES / 2);
        run(&mut project.waypost(&["run", "start", &first]));
        fs::copy(project.path(STATE_FILE), project.copy.path().join("state.json")).unwrap();
        let size = fs::metadata(project.path(STATE_FILE)).unwrap().len();
        eprintln!("{STATE_FILE} has {size} bytes");
        run(&mut project.waypost(&["run", "done", &first]));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn waypost(&self, words: &[&str]) -> Command {
        let mut command = quiet(program());
        command.args(words).current_dir(self.folder.path());
        command.env("XDG_STATE_HOME", self.home.path()).env("XDG_CONFIG_HOME", self.home.path());
        command
    }

    /// Moves a task from one list to another, as scripts do: nothing is checked, nothing is synced.
    fn shell(&self, from: &str, to: &str, id: &str) -> Command {
        let change = format!(r#".tasks.{from} -= ["{id}"] | .tasks.{to} += ["{id}"]"#);
        let script = format!(
            "flock lock sh -c 'jq '\\''{change}'\\'' state.json >tmp && mv tmp state.json'"
        );
        let mut command = quiet("sh");
        command.arg("-c").arg(script).current_dir(self.copy.path());
        command
    }
}

/// Ours as it is given away; else as it was built just now.
fn program() -> PathBuf {
    let given = env::var_os("WAYPOST_BENCH_PROGRAMS").map(|it| PathBuf::from(it).join("waypost"));
    given.unwrap_or_else(|| env!("CARGO_BIN_EXE_waypost").into())
}

/// Tasks in phases; those of the first half are ticked.
fn tasks_md(scale: &Scale) -> String {
    let mut text = String::from("# Bench\n");
    for phase in 0..PHASES {
        let tick = if phase < PHASES / 2 { "x" } else { " " };
        write!(text, "\n## Phase {phase}: Part {phase}\n\n").unwrap();
        for task in 1..=scale.tasks_per_phase {
            writeln!(text, "- [{tick}] T{phase}.{task}: Write the part with the number {task}")
                .unwrap();
            if task > STRANDS {
                writeln!(text, "  - depends: T{phase}.{}", task - STRANDS).unwrap();
            }
        }
    }
    text
}

fn quiet(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// The median time of each side.
fn in_turn(
    rounds: usize,
    mut ours: impl FnMut(usize),
    mut other: impl FnMut(usize),
) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let start = Instant::now();
        ours(round);
        let middle = Instant::now();
        other(round);
        times[0].push(middle - start);
        times[1].push(middle.elapsed());
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[rounds / 2]
    })
}

fn report(name: &str, times: [Duration; 2]) {
    let [ours, other] = times.map(|time| time.as_secs_f64() * 1e3);
    let ratio = ours / other;
    println!(
        "{}",
        json!({"name": name, "ours": ours, "other": other, "unit": "ms", "ratio": ratio})
    );
}
