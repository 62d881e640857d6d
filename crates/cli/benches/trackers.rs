//! "Next ready" and "mark done" on one graph of 10,000 tasks, beside the task trackers that people use with
//! agents today: Task Master, Backlog.md, Taskwarrior.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. What is compared is the processor
//! time of a call with everything that it starts: some of the others ask the network for news of
//! themselves, which says nothing about the work. A tracker that does not get through with a
//! graph in the time that it has is given half of it, and so are we; the name says how many tasks it was.
//! `cargo xtask bench trackers` installs the others and says where they are. `WAYPOST_BENCH_PROGRAMS` is a folder
//! with our program, `WAYPOST_BENCH_QUICK=1` makes it small enough to see that it works.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use serde_json::{Value, json};
use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A task waits for the one this many places before it, so about this many are ready at a time.
const STRANDS: usize = 10;

/// What a call of another tool may take from its start to its end.
const LIMIT: Duration = Duration::from_secs(300);

/// Calls that are measured of ours, and of the others, which take longer.
const OUR_ROUNDS: usize = 20;
const ROUNDS: usize = 3;

/// Clock ticks of the kernel in a second.
const TICKS: f64 = 100.0;

/// What should be gained.
const GOALS: [(&str, &str); 2] = [("next ready", "<= 0.01"), ("mark done", "<= 0.05")];

/// A tracker with a graph in it.
trait Tracker {
    fn name(&self) -> &'static str;

    /// Puts a graph of so many tasks into an empty folder.
    fn fill(&self, folder: &Path, count: usize);

    fn next(&self, folder: &Path) -> Command;

    /// What is called to have the task with a number done.
    fn done(&self, folder: &Path, number: usize) -> Vec<Command>;
}

fn main() {
    let count = if env::var_os("WAYPOST_BENCH_QUICK").is_some() { 100 } else { 10_000 };
    for other in others() {
        let mut count = count;
        loop {
            eprintln!("{}: {count} tasks", other.name());
            if let Some(theirs) = measured(other.as_ref(), count, ROUNDS) {
                let ours = measured(&Ours, count, OUR_ROUNDS).expect("ours gets through");
                report(other.name(), count, ours, theirs);
                break;
            }
            eprintln!("{} does not get through with {count} tasks", other.name());
            count /= 2;
            if count < 10 {
                break;
            }
        }
    }
}

fn report(name: &str, count: usize, ours: [f64; 2], theirs: [f64; 2]) {
    for (at, (what, goal)) in GOALS.into_iter().enumerate() {
        println!(
            "{}",
            json!({"name": format!("{what}, {count} tasks, beside {name} (processor time)"),
                   "ours": ours[at], "other": theirs[at], "unit": "ms",
                   "ratio": ours[at] / theirs[at], "target": goal})
        );
    }
}

/// Milliseconds of processor time for "next" and for "done", each the mean of some calls; none if a call
/// fails or takes too long.
fn measured(tracker: &dyn Tracker, count: usize, rounds: usize) -> Option<[f64; 2]> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    tracker.fill(folder.path(), count);
    // What the first call builds up for later ones is no part of a call.
    spent(tracker.next(folder.path()))?;
    let next = (0..rounds).map(|_| spent(tracker.next(folder.path()))).sum::<Option<f64>>()?;
    let done = |number| -> Option<f64> {
        tracker.done(folder.path(), number).into_iter().map(spent).sum()
    };
    let done = (1..=rounds).map(done).sum::<Option<f64>>()?;
    let mean = |sum: f64| sum / rounds as f64;
    Some([mean(next), mean(done)])
}

/// The processor time that a command and what it started took, in milliseconds.
fn spent(mut command: Command) -> Option<f64> {
    let before = children_ms();
    let mut child = command.spawn().ok()?;
    let end = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    if !status.success() {
        eprintln!("{command:?}: {status}");
        return None;
    }
    Some(children_ms() - before)
}

/// What all children that have ended have taken.
fn children_ms() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split(' ').collect();
    // Behind the name: cutime and cstime are the 14th and 15th.
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    (ticks(14) + ticks(15)) * 1e3 / TICKS
}

fn command(program: impl AsRef<Path>, folder: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command.current_dir(folder).env("HOME", folder).env("NO_COLOR", "1");
    command
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("config"));
    // It would look for a newer version of itself, and may install it.
    command.env("TASKMASTER_SKIP_AUTO_UPDATE", "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn git_init(folder: &Path) {
    assert!(command("git", folder).args(["init", "-q", "."]).status().unwrap().success());
}

fn before(number: usize) -> Option<usize> {
    number.checked_sub(STRANDS).filter(|it| *it > 0)
}

struct Ours;

impl Ours {
    fn call(&self, folder: &Path, line: &[&str]) -> Command {
        let programs = env::var_os("WAYPOST_BENCH_PROGRAMS").map(PathBuf::from);
        let ours =
            programs.map_or_else(|| env!("CARGO_BIN_EXE_waypost").into(), |it| it.join("waypost"));
        let mut command = command(ours, folder);
        command.args(line);
        command
    }
}

impl Tracker for Ours {
    fn name(&self) -> &'static str {
        "Waypost"
    }

    fn fill(&self, folder: &Path, count: usize) {
        git_init(folder);
        let mut text = String::from("# Tasks: bench\n\n## Phase 1: All\n\n");
        for number in 1..=count {
            let depends = before(number).map_or_else(|| "none".to_owned(), |it| format!("T1.{it}"));
            writeln!(text, "- [ ] T1.{number}: Do {number}\n  - depends: {depends}").unwrap();
        }
        fs::write(folder.join("TASKS.md"), text).unwrap();
        // The plan is read once, by whatever comes first.
        for word in ["start", "done"] {
            assert!(self.call(folder, &["run", word, "T1.1"]).status().unwrap().success());
        }
    }

    fn next(&self, folder: &Path) -> Command {
        self.call(folder, &["--json", "run", "next", "--limit", "1"])
    }

    fn done(&self, folder: &Path, number: usize) -> Vec<Command> {
        // The first task is done already.
        let id = format!("T1.{}", number + 1);
        ["start", "done"].map(|word| self.call(folder, &["run", word, &id])).into()
    }
}

struct TaskMaster(PathBuf);

impl Tracker for TaskMaster {
    fn name(&self) -> &'static str {
        "Task Master"
    }

    fn fill(&self, folder: &Path, count: usize) {
        let task = |number: usize| {
            let depends: Vec<usize> = before(number).into_iter().collect();
            json!({"id": number, "title": format!("Do {number}"), "description": "work",
                   "details": "", "testStrategy": "", "status": "pending",
                   "dependencies": depends, "priority": "medium", "subtasks": []})
        };
        let tasks: Vec<Value> = (1..=count).map(task).collect();
        let file = folder.join(".taskmaster/tasks/tasks.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let list = json!({"master": {"tasks": tasks, "metadata": {"description": "bench"}}});
        fs::write(file, serde_json::to_string_pretty(&list).unwrap()).unwrap();
        fs::write(folder.join(".taskmaster/state.json"), r#"{"currentTag": "master"}"#).unwrap();
        git_init(folder);
    }

    fn next(&self, folder: &Path) -> Command {
        let mut command = command("node", folder);
        command.arg(&self.0).arg("next");
        command
    }

    fn done(&self, folder: &Path, number: usize) -> Vec<Command> {
        let mut command = command("node", folder);
        command.arg(&self.0).args(["set-status", "--id", &number.to_string(), "--status", "done"]);
        vec![command]
    }
}

struct Backlog(PathBuf);

impl Tracker for Backlog {
    fn name(&self) -> &'static str {
        "Backlog.md"
    }

    fn fill(&self, folder: &Path, count: usize) {
        let tasks = folder.join("backlog/tasks");
        fs::create_dir_all(&tasks).unwrap();
        let config = "project_name: \"bench\"\ndefault_status: \"To Do\"\n\
                      statuses: [\"To Do\", \"In Progress\", \"Done\"]\n\
                      remote_operations: false\nauto_commit: false\n\
                      check_active_branches: false\ntask_prefix: \"task\"\n";
        fs::write(folder.join("backlog/config.yml"), config).unwrap();
        for number in 1..=count {
            let depends = before(number).map_or_else(
                || "dependencies: []".to_owned(),
                |it| format!("dependencies:\n  - TASK-{it}"),
            );
            let text = format!(
                "---\nid: TASK-{number}\ntitle: Do {number}\nstatus: To Do\nassignee: []\n\
                 created_date: '2026-11-17 09:00'\nlabels: []\n{depends}\nordinal: {number}000\n\
                 ---\n\n## Description\n\nwork\n"
            );
            fs::write(tasks.join(format!("task-{number} - Do-{number}.md")), text).unwrap();
        }
        git_init(folder);
    }

    fn next(&self, folder: &Path) -> Command {
        let mut command = command(&self.0, folder);
        command.args(["task", "list", "--ready", "--limit", "1", "--json"]);
        command
    }

    fn done(&self, folder: &Path, number: usize) -> Vec<Command> {
        let mut command = command(&self.0, folder);
        command.args(["task", "edit", &format!("task-{number}"), "-s", "Done", "--plain"]);
        vec![command]
    }
}

struct Taskwarrior;

impl Taskwarrior {
    fn call(&self, folder: &Path, line: &[&str]) -> Command {
        let mut command = command("task", folder);
        command.env("TASKRC", folder.join("taskrc")).env("TASKDATA", folder.join("data"));
        command.args(line);
        command
    }
}

impl Tracker for Taskwarrior {
    fn name(&self) -> &'static str {
        "Taskwarrior"
    }

    fn fill(&self, folder: &Path, count: usize) {
        fs::create_dir(folder.join("data")).unwrap();
        fs::write(folder.join("taskrc"), "confirmation=off\nhooks=off\nnews.version=9.9.9\n")
            .unwrap();
        let id = |number: usize| format!("00000000-0000-4000-8000-{number:012}");
        let task = |number: usize| {
            let depends: Vec<String> = before(number).map(id).into_iter().collect();
            let mut task = json!({"uuid": id(number), "description": format!("Do {number}"),
                                  "status": "pending", "entry": "20261117T000000Z"});
            if !depends.is_empty() {
                task["depends"] = json!(depends);
            }
            task
        };
        let tasks: Vec<Value> = (1..=count).map(task).collect();
        fs::write(folder.join("tasks.json"), json!(tasks).to_string()).unwrap();
        assert!(self.call(folder, &["import", "tasks.json"]).status().unwrap().success());
    }

    fn next(&self, folder: &Path) -> Command {
        self.call(folder, &["ready", "limit:1"])
    }

    fn done(&self, folder: &Path, number: usize) -> Vec<Command> {
        let id = format!("00000000-0000-4000-8000-{number:012}");
        vec![self.call(folder, &[&id, "done"])]
    }
}

/// The trackers that are there; those that are not are named.
fn others() -> Vec<Box<dyn Tracker>> {
    let mut found: Vec<Box<dyn Tracker>> = Vec::new();
    let told = |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|it| it.is_file());
    match told("WAYPOST_BENCH_TASK_MASTER") {
        Some(program) => found.push(Box::new(TaskMaster(program))),
        None => eprintln!("skipped: Task Master; WAYPOST_BENCH_TASK_MASTER does not name it"),
    }
    match told("WAYPOST_BENCH_BACKLOG") {
        Some(program) => found.push(Box::new(Backlog(program))),
        None => eprintln!("skipped: Backlog.md; WAYPOST_BENCH_BACKLOG does not name it"),
    }
    let scratch: TempDir = tempfile::tempdir().unwrap();
    let has_task = command("task", scratch.path()).arg("--version").status().is_ok();
    match has_task {
        true => found.push(Box::new(Taskwarrior)),
        false => eprintln!("skipped: Taskwarrior; there is no `task` on the path"),
    }
    found
}
