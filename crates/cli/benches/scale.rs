//! What single commands cost on a run of 1,000, 10,000 and 100,000 tasks, and after a million events.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. Times are medians from the start
//! of a process to its end, and each is set beside that of the smallest run: a command should cost what
//! it shows. Peak memory is what `/usr/bin/time` (Debian's package `time`) says of one more call.
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
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};
use tempfile::TempDir;
use waypost_engine::{MachineCommand, Project as Opened};
use waypost_model::{
    actor::Actor,
    retry::FailureClass,
    run::{self, Failure},
};

const PHASES: usize = 10;
/// A task waits for the one this many places before it, so about this many are ready at a time.
const STRANDS: usize = 10;
/// Commands in one transaction while a history is written.
const FILL_BATCH: usize = 1_000;
const MEMORY_GOAL_MB: f64 = 100.0;
/// Where the user's folders are during a benchmark: never the real ones.
const HOME: &str = "WAYPOST_BENCH_HOME";
const TIME: &str = "/usr/bin/time";

struct Scale {
    sizes: &'static [usize],
    rounds: usize,
    /// Events of the long history, on a run of the middle size.
    events: usize,
}

const FULL: Scale = Scale { sizes: &[1_000, 10_000, 100_000], rounds: 21, events: 1_000_000 };
const QUICK: Scale = Scale { sizes: &[100, 200], rounds: 3, events: 2_000 };

fn main() {
    // The environment is read by what writes the history, and cannot be changed from inside.
    if env::var_os(HOME).is_none() {
        let home = scratch();
        let mut again = Command::new(env::current_exe().unwrap());
        again.env(HOME, home.path()).env("XDG_STATE_HOME", home.path());
        again.env("XDG_CONFIG_HOME", home.path());
        assert!(again.status().unwrap().success());
        return;
    }
    let scale = if env::var_os("WAYPOST_BENCH_QUICK").is_some() { QUICK } else { FULL };
    let mut smallest: BTreeMap<String, f64> = BTreeMap::new();
    for count in scale.sizes {
        eprintln!("{count} tasks");
        let project = Project::begin(*count);
        measure(&project, &format!("{count} tasks"), &scale, &mut smallest);
    }
    let tasks = scale.sizes[1];
    eprintln!("{tasks} tasks and {} events", scale.events);
    let project = Project::begin(tasks);
    project.fill(scale.events);
    measure(&project, &format!("{} events", scale.events), &scale, &mut smallest);
}

/// Measures every command on one project; the first is what later ones are set beside.
fn measure(project: &Project, what: &str, scale: &Scale, smallest: &mut BTreeMap<String, f64>) {
    let readers: [(&str, Vec<String>); 5] = [
        ("run next --limit 10", words(&["run", "next", "--limit", "10"])),
        ("why", words(&["why", &project.task(2)])),
        ("log --limit 20", words(&["log", "--limit", "20"])),
        ("log ID", words(&["log", &project.task(1)])),
        ("run --verify", words(&["run", "--verify"])),
    ];
    for (name, line) in readers {
        let rounds = if name == "run --verify" { 3 } else { scale.rounds };
        let times = (0..rounds).map(|_| project.timed(&line)).collect();
        report((name, what), median(times), project.peak(&line), smallest);
    }
    let (mut starts, mut dones) = (Vec::new(), Vec::new());
    for round in 0..scale.rounds {
        let id = project.task(2 + round);
        starts.push(project.timed(&words(&["run", "start", &id])));
        dones.push(project.timed(&words(&["run", "done", &id])));
    }
    let id = project.task(2 + scale.rounds);
    let peak = project.peak(&words(&["run", "start", &id]));
    report(("run start", what), median(starts), peak, smallest);
    let peak = project.peak(&words(&["run", "done", &id]));
    report(("run done", what), median(dones), peak, smallest);
}

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// A folder on the disk that the build is on; `/tmp` is often none.
fn scratch() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A project with a run half done.
struct Project {
    folder: TempDir,
    home: TempDir,
}

impl Project {
    fn begin(count: usize) -> Self {
        let project = Self { folder: scratch(), home: scratch() };
        let git = |line: &[&str]| {
            let mut command = quiet("git");
            command.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
            let status = command.args(line).current_dir(project.folder.path()).status().unwrap();
            assert!(status.success(), "{line:?}");
        };
        git(&["init", "--initial-branch", "main"]);
        fs::write(project.path("TASKS.md"), tasks_md(count)).unwrap();
        git(&["add", "."]);
        git(&["commit", "--message", "plan"]);
        // The first half of the phases is done, and so is the first task of the next one.
        project.timed(&words(&["run", "start", &project.task(1)]));
        project.timed(&words(&["run", "done", &project.task(1)]));
        project
    }

    /// A task of the phase that is under way.
    fn task(&self, number: usize) -> String {
        format!("T{}.{number}", PHASES / 2)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Lets the first tasks of the phase fail and be opened again until there are so many events.
    fn fill(&self, events: usize) {
        let actor = Actor::User("bench".into());
        let mut project = Opened::open(self.folder.path(), actor).unwrap();
        let ids: Vec<String> = (3..13).map(|number| self.task(number)).collect();
        let each = |id: &String| {
            let id = || id.parse().unwrap();
            let failure = Failure {
                text: "no".into(),
                class: FailureClass::Structural,
                ..Failure::default()
            };
            let fail = run::Command::Fail { id: id(), attempt: None, failure };
            [run::Command::Start { id: id() }, fail, run::Command::Retry { id: id() }]
        };
        let round: Vec<MachineCommand> =
            ids[..8].iter().flat_map(each).map(MachineCommand::run).collect();
        let batch: Vec<MachineCommand> =
            (0..FILL_BATCH / round.len()).flat_map(|_| round.clone()).collect();
        for _ in 0..events.div_ceil(batch.len()) {
            project.command(&batch).unwrap();
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = quiet(program);
        command.current_dir(self.folder.path());
        command
    }

    /// Milliseconds from start to end.
    fn timed(&self, line: &[String]) -> f64 {
        let mut command = self.command(env!("CARGO_BIN_EXE_waypost"));
        command.args(line);
        let start = Instant::now();
        let status = command.status().unwrap();
        let time = start.elapsed().as_secs_f64() * 1e3;
        // `run --verify` tells that the box of a task whose phase is open is not ticked yet.
        let is_told = line.iter().any(|word| word == "--verify") && status.code() == Some(1);
        assert!(status.success() || is_told, "{line:?}: {status}");
        time
    }

    /// Megabytes that one call needs at most; none where nothing can tell.
    fn peak(&self, line: &[String]) -> Option<f64> {
        let said = self.home.path().join("peak");
        let mut command = self.command(TIME);
        command.args(["--format", "%M", "--output"]).arg(&said);
        command.arg(env!("CARGO_BIN_EXE_waypost")).args(line);
        command.status().ok()?;
        let kilobytes: f64 = fs::read_to_string(said).ok()?.trim().parse().ok()?;
        Some(kilobytes / 1_024.0)
    }
}

/// Tasks in phases; those of the first half are ticked.
fn tasks_md(count: usize) -> String {
    let mut text = String::from("# Bench\n");
    for phase in 0..PHASES {
        let tick = if phase < PHASES / 2 { "x" } else { " " };
        write!(text, "\n## Phase {phase}: Part {phase}\n\n").unwrap();
        for task in 1..=count / PHASES {
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

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Tells a time beside that of the smallest run, and the memory beside its goal.
fn report(
    (command, what): (&str, &str),
    ours: f64,
    peak: Option<f64>,
    smallest: &mut BTreeMap<String, f64>,
) {
    let other = *smallest.entry(command.to_owned()).or_insert(ours);
    let name = format!("`{command}`, {what}, beside the smallest run");
    let target = if command == "run --verify" { None } else { Some("<= 3") };
    println!(
        "{}",
        json!({"name": name, "ours": ours, "other": other, "unit": "ms", "ratio": ours / other,
               "target": target})
    );
    if let Some(peak) = peak {
        let name = format!("`{command}`, {what}, peak memory");
        println!(
            "{}",
            json!({"name": name, "ours": peak, "other": MEMORY_GOAL_MB, "unit": "MB",
                   "ratio": peak / MEMORY_GOAL_MB, "target": "<= 1"})
        );
    }
}
