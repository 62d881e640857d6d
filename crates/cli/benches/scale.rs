//! What single commands cost on a run of 1,000, 10,000 and 100,000 tasks, and after a million events.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. Times are medians from the start
//! of a process to its end, and each is set beside that of the smallest run: a command should cost what
//! it shows, and `run --verify` as much for each task, whose commits are compared with git's. What the first
//! question after so many events costs, which has to read all of them, is told apart. Peak memory is what `/usr/bin/time` (Debian's package `time`) says of one more call.
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
    evidence::Evidence,
    retry::FailureClass,
    run::{self, Failure, Isolation, Settings},
};

const PHASES: usize = 10;
/// A task waits for the one this many places before it, so about this many are ready at a time.
const STRANDS: usize = 10;
/// Commands in one transaction while a history is written.
const FILL_BATCH: usize = 1_000;
const VERIFY_ROUNDS: usize = 3;
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
        measure_verify(*count, &mut smallest);
    }
    let tasks = scale.sizes[1];
    eprintln!("{tasks} tasks and {} events", scale.events);
    let project = Project::begin(tasks);
    project.fill(scale.events);
    measure(&project, &format!("{} events", scale.events), &scale, &mut smallest);
}

/// Measures every command on one project; the first is what later ones are set beside.
fn measure(project: &Project, what: &str, scale: &Scale, smallest: &mut BTreeMap<String, f64>) {
    // It makes what later ones find.
    let first = project.timed(&words(&["log", &project.task(1)]));
    report(("log ID (the first)", what), first, None, smallest);
    let readers: [(&str, Vec<String>); 4] = [
        ("run next --limit 10", words(&["run", "next", "--limit", "10"])),
        ("why", words(&["why", &project.task(2)])),
        ("log --limit 20", words(&["log", "--limit", "20"])),
        ("log ID", words(&["log", &project.task(1)])),
    ];
    for (name, line) in readers {
        let times = (0..scale.rounds).map(|_| project.timed(&line)).collect();
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

/// Measures the comparison with git on a run whose tasks are all joined.
fn measure_verify(count: usize, smallest: &mut BTreeMap<String, f64>) {
    let (project, what) = (Project::joined(count), format!("{count} tasks with commits"));
    let line = words(&["run", "--verify"]);
    let time = median((0..VERIFY_ROUNDS).map(|_| project.timed(&line)).collect());
    let tasks = u32::try_from(count).unwrap();
    report(("run --verify", &what), time, None, smallest);
    let each = 1e3 * time / f64::from(tasks);
    report_in("us", ("run --verify, for each task", &what), each, smallest);
    // It was git that was asked: without the last commit it finds that one missing.
    assert_eq!(project.stale(), 0, "{what}");
    project.git(&["update-ref", "refs/heads/main", "HEAD~1"]);
    assert_eq!(project.stale(), 1, "{what}");
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
        project.git(&["init", "--initial-branch", "main"]);
        fs::write(project.path("TASKS.md"), tasks_md(count, PHASES / 2)).unwrap();
        project.git(&["add", "."]);
        project.git(&["commit", "--message", "plan"]);
        // The first half of the phases is done, and so is the first task of the next one.
        project.timed(&words(&["run", "start", &project.task(1)]));
        project.timed(&words(&["run", "done", &project.task(1)]));
        project
    }

    /// One of which each task is joined by a commit of its own.
    fn joined(count: usize) -> Self {
        let project = Self { folder: scratch(), home: scratch() };
        project.git(&["init", "--initial-branch", "main"]);
        let marks = project.home.path().join("marks");
        let history = project.home.path().join("history");
        fs::write(&history, history_of(count)).unwrap();
        let mut import = project.command("git");
        import.args(["fast-import", "--quiet"]).arg(format!("--export-marks={}", marks.display()));
        import.stdin(fs::File::open(&history).unwrap());
        assert!(import.status().unwrap().success());
        project.git(&["reset", "--hard"]);
        project.timed(&words(&["run", "start", "T0.1"]));
        let mut opened = Opened::open(project.folder.path(), Actor::Waypost).unwrap();
        let settings = Settings {
            isolation: Isolation::Task,
            target: Some("main".into()),
            ..Settings::default()
        };
        let place = run::Command::Configure { settings };
        opened.command(&[MachineCommand::run(place)]).unwrap();
        let marks = fs::read_to_string(marks).unwrap();
        let mut commits: BTreeMap<usize, String> = marks
            .lines()
            .map(|line| line.trim_start_matches(':').split_once(' ').unwrap())
            .map(|(mark, commit)| (mark.parse().unwrap(), commit.to_owned()))
            .collect();
        let done = |(number, id): (usize, String)| {
            MachineCommand::run(run::Command::Done {
                id: id.parse().unwrap(),
                attempt: None,
                evidence: Evidence::Unverified,
                commit: commits.remove(&(number + 1)),
            })
        };
        let all: Vec<MachineCommand> = ids(count).enumerate().map(done).collect();
        all.chunks(FILL_BATCH).for_each(|batch| opened.command(batch).unwrap());
        project
    }

    /// Of how many tasks git does not have the commit.
    fn stale(&self) -> usize {
        let mut command = self.command(env!("CARGO_BIN_EXE_waypost"));
        command.args(["run", "--verify"]).stdout(Stdio::piped());
        let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
        told.matches("its evidence is stale").count()
    }

    fn git(&self, line: &[&str]) {
        let mut command = self.command("git");
        command.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
        assert!(command.args(line).status().unwrap().success(), "{line:?}");
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

/// The ids of tasks, in the order of the plan.
fn ids(count: usize) -> impl Iterator<Item = String> {
    (0..PHASES)
        .flat_map(move |phase| (1..=count / PHASES).map(move |task| format!("T{phase}.{task}")))
}

/// A history for `git fast-import`: the plan, then a commit for each task, which changes nothing.
fn history_of(count: usize) -> String {
    let plan = tasks_md(count, 0);
    let commit = |mark: usize, message: &str| {
        let by = "committer bench <bench@localhost> 1700000000 +0000";
        let length = message.len();
        format!("commit refs/heads/main\nmark :{mark}\n{by}\ndata {length}\n{message}\n")
    };
    let mut text = String::new();
    for (number, id) in ids(count).enumerate() {
        text.push_str(&commit(number + 1, &id));
        if number == 0 {
            write!(text, "M 100644 inline TASKS.md\ndata {}\n{plan}\n", plan.len()).unwrap();
        }
    }
    text
}

/// Tasks in phases; those of the first `ticked` phases are ticked.
fn tasks_md(count: usize, ticked: usize) -> String {
    let mut text = String::from("# Bench\n");
    for phase in 0..PHASES {
        let tick = if phase < ticked { "x" } else { " " };
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

/// Tells a time beside that of the smallest run.
fn report_in(
    unit: &str,
    (command, what): (&str, &str),
    ours: f64,
    smallest: &mut BTreeMap<String, f64>,
) {
    let other = *smallest.entry(command.to_owned()).or_insert(ours);
    let name = format!("`{command}`, {what}, beside the smallest run");
    // What goes through everything costs as much for each part of it.
    let is_whole = ["run --verify", "log ID (the first)"].contains(&command);
    let target = (!is_whole).then_some("<= 3");
    println!(
        "{}",
        json!({"name": name, "ours": ours, "other": other, "unit": unit, "ratio": ours / other,
               "target": target})
    );
}

/// Tells a time beside that of the smallest run, and the memory beside its goal.
fn report(
    (command, what): (&str, &str),
    ours: f64,
    peak: Option<f64>,
    smallest: &mut BTreeMap<String, f64>,
) {
    report_in("ms", (command, what), ours, smallest);
    if let Some(peak) = peak {
        let name = format!("`{command}`, {what}, peak memory");
        println!(
            "{}",
            json!({"name": name, "ours": peak, "other": MEMORY_GOAL_MB, "unit": "MB",
                   "ratio": peak / MEMORY_GOAL_MB, "target": "<= 1"})
        );
    }
}
