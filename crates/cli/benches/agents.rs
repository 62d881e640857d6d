//! What agents cost that wait for their model: the memory of all processes for each, and how often the
//! host wakes. And what a host with many agents at work needs beside many more that wait for a person, where
//! a process may open 1,024 files and no more.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. The agents are scripted ones,
//! which say nothing for ten minutes, as a real one that waits for its model. The memory is what each process has for
//! itself alone (`Pss`), so that what they share counts once. `WAYPOST_BENCH_PROGRAMS` names the folder of the
//! programs as `cargo xtask dist` builds them; `WAYPOST_BENCH_QUICK=1` makes it small enough to see that it works.
//! `-- many` measures only many agents at work.
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
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long the host is watched while all of them wait.
const WATCHED: Duration = Duration::from_secs(20);

/// How long agents may take to start, and how often it is said how many have.
const PATIENCE: Duration = Duration::from_secs(1_800);
const TELL_INTERVAL: Duration = Duration::from_secs(30);

fn main() {
    let is_quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let (counts, watched): (&[usize], Duration) =
        if is_quick { (&[2, 4], Duration::from_secs(1)) } else { (&[1, 200, 1_000], WATCHED) };
    let (working, asking) = if is_quick { (4, 12) } else { (500, 2_000) };
    at_work_and_waiting(working, asking);
    let counts = if env::args().any(|word| word == "many") { &[] } else { counts };
    for count in counts {
        let site = Site::begin(*count, 0);
        let start = Instant::now();
        let mut host = site.start();
        site.wait_for_agents(*count, &mut host);
        eprintln!("{count} agents are there after {:.1} s", start.elapsed().as_secs_f64());
        // What they say when they start is over.
        thread::sleep(Duration::from_secs(2));
        let before = wakes(host.id());
        thread::sleep(watched);
        let woken = (wakes(host.id()) - before) as f64 / watched.as_secs_f64();
        let name = |what: &str| format!("{what}, {count} agents that wait");
        let each = *count as f64;
        report(&name("memory of the host"), kilobytes(host.id()), "KB");
        let (keepers, agents) = site.others(host.id());
        report(&name("memory of a keeper"), keepers / each, "KB");
        report(&name("memory of an agent"), agents / each, "KB");
        report(&name("wake-ups of the host in a second"), woken, "1/s");
        assert!(site.waypost(&["run", "stop", "--now"]).status().unwrap().success());
        host.wait().unwrap();
    }
}

/// So many agents at work, after so many others have asked a person for something.
fn at_work_and_waiting(working: usize, asking: usize) {
    let site = Site::begin(working, asking);
    let start = Instant::now();
    let mut host = site.start_with_few_files();
    site.wait_for_agents(working, &mut host);
    let took = start.elapsed().as_secs_f64();
    let asked = site.asked();
    assert_eq!(asked, asking, "questions in the inbox");
    let name = |what: &str| format!("{what}, {working} agents at work, {asking} waiting");
    report(&name("until all are there"), took, "s");
    report(&name("open files of the host"), open_files(host.id()) as f64, "files");
    report(&name("memory of the host"), kilobytes(host.id()), "KB");
    report(&name("most memory of the host"), peak_kilobytes(host.id()), "KB");
    let (keepers, agents) = site.others(host.id());
    report(&name("memory of all others"), keepers + agents, "KB");
    report(&name("processes"), site.processes(host.id()) as f64, "processes");
    assert!(site.waypost(&["run", "stop", "--now"]).status().unwrap().success());
    host.wait().unwrap();
}

/// A project with tasks for one agent.
struct Site {
    folder: TempDir,
    home: TempDir,
}

impl Site {
    /// So many tasks that wait for their model, and so many before them that ask a person.
    fn begin(count: usize, asking: usize) -> Self {
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let site = Self { folder: folder(), home: folder() };
        for part in ["objects", "refs"] {
            fs::create_dir_all(site.path(".git").join(part)).unwrap();
        }
        fs::write(site.path(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let mut tasks = String::from("# Bench\n\n## Phase 1: All\n\n");
        let steps = json!([{"run": "touch at.{task}"}, {"wait_ms": 600_000}, {"done": "x"}]);
        let ask = json!([
            {"permission": {"tool": "Bash", "input": "publish {task}"}}, {"done": "x"}
        ]);
        let mut scripts = json!({});
        for task in 1..=asking + count {
            writeln!(tasks, "- [ ] T1.{task}: Wait\n  - agent: alice\n  - depends: none").unwrap();
            if task <= asking {
                scripts[format!("T1.{task}")] = json!([{"steps": ask}]);
            }
        }
        fs::write(site.path("TASKS.md"), tasks).unwrap();
        let script = json!({"version": 1, "default": [{"steps": steps}], "tasks": scripts});
        // Agents are behind the wall, which hides the home.
        fs::write(site.path("script.json"), script.to_string()).unwrap();
        let config = format!(
            "[run]\nmax_agents = {count}\n[agents.alice]\nadapter = \"claude\"\ncommand = [\"{}\", \
             \"sim\", \"agent\", \"--speak\", \"claude\", \"--script\", \"{}\", \"--sessions\", \
             \"{}\", \"--\"]\n",
            waypost().display(),
            site.path("script.json").display(),
            site.path("sessions").display()
        );
        let folder = site.home.path().join(".config/waypost");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), config).unwrap();
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self) -> Child {
        self.waypost(&["run", "--quiet", "--no-budget", "--max-parallel", "0"]).spawn().unwrap()
    }

    /// A host that may open as many files as a shell has by default, and cannot raise that.
    fn start_with_few_files(&self) -> Child {
        let mut command = self.command("sh".as_ref());
        command.args(["-c", "ulimit -n 1024; exec \"$@\"", "sh"]).arg(waypost());
        command.args(["run", "--quiet", "--no-budget", "--max-parallel", "0"]).spawn().unwrap()
    }

    /// How many questions wait for a person.
    fn asked(&self) -> usize {
        let output = self.waypost(&["inbox", "--json"]).stdout(Stdio::piped()).output().unwrap();
        let inbox: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let list = inbox.as_array().or_else(|| inbox["entries"].as_array());
        list.map_or(0, Vec::len)
    }

    fn waypost(&self, line: &[&str]) -> Command {
        let mut command = self.command(&waypost());
        command.args(line);
        command
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("HOME", self.home.path());
        command.env("WAYPOST_RUN_ISOLATION", "none");
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn wait_for_agents(&self, count: usize, host: &mut Child) {
        let start = Instant::now();
        let mut told = start;
        loop {
            let names = fs::read_dir(self.folder.path()).unwrap().flatten();
            let there =
                names.filter(|it| it.file_name().to_string_lossy().starts_with("at.")).count();
            if there == count {
                return;
            }
            assert!(host.try_wait().unwrap().is_none(), "the run is over, {there} agents started");
            assert!(start.elapsed() < PATIENCE, "{there} of {count} agents are there");
            if told.elapsed() >= TELL_INTERVAL {
                told = Instant::now();
                let (asked, passed) = (self.asked(), start.elapsed().as_secs());
                eprintln!("{passed} s: {there} of {count} agents are there, {asked} have asked");
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// How many processes there are beside the host.
    fn processes(&self, host: u32) -> usize {
        let here = self.home.path().display().to_string();
        let is_ours = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            *pid != host && String::from_utf8_lossy(&environment).contains(&here)
        };
        pids().filter(is_ours).count()
    }

    /// The memory of all keepers, and of all agents.
    fn others(&self, host: u32) -> (f64, f64) {
        let (mut keepers, mut agents) = (0.0, 0.0);
        let here = self.home.path().display().to_string();
        let script = self.path("script.json").display().to_string();
        for pid in pids().filter(|pid| *pid != host) {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let is_ours = String::from_utf8_lossy(&environment).contains(&here);
            if line.contains(" keeper") && is_ours {
                keepers += kilobytes(pid);
            } else if line.contains(" sim agent ") && line.contains(&script) {
                agents += kilobytes(pid);
            }
        }
        (keepers, agents)
    }
}

/// Where our program is: as it was built for this, or the one beside this benchmark.
fn waypost() -> PathBuf {
    let folder = env::var_os("WAYPOST_BENCH_PROGRAMS").map(PathBuf::from);
    let built = PathBuf::from(env!("CARGO_BIN_EXE_waypost"));
    folder.map_or(built, |folder| folder.join("waypost"))
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok())
}

fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// How often the process has waited for something and been woken, all threads together.
fn wakes(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let counts = threads.filter_map(|it| {
        let text = fs::read_to_string(it.path().join("status")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    });
    counts.sum()
}

/// The memory of a process; what it shares counts as its share.
fn kilobytes(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0)
}

/// The most memory that a process has had.
fn peak_kilobytes(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0)
}

fn report(name: &str, ours: f64, unit: &str) {
    println!("{}", json!({"name": name, "ours": ours, "unit": unit}));
}
