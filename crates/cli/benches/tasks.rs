//! What tasks of the server cost that are only there: the start of a host, `task list` and `task show` among
//! 100,000 of them, beside the same among 1,000.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. `WAYPOST_BENCH_QUICK=1` makes it
//! small enough to see that it works.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a benchmark measures time, starts processes and prints"
)]

use serde_json::json;
use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use waypost_engine::{
    Project,
    served::{command_for, fresh_task_id},
};
use waypost_model::{
    actor::Actor,
    document::ServerTaskId,
    task::{Command as TaskCommand, TaskFields},
};

/// How many are made in one transaction.
const BATCH: usize = 1_000;

/// How long a host may take to be there.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() {
    // Only `cargo bench` says so; a test runner that merely lists what is there gets nothing.
    if !env::args().any(|word| word == "--bench") {
        return;
    }
    let is_quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let (many, few, rounds) = if is_quick { (2_000, 1_000, 3) } else { (100_000, 1_000, 15) };
    let (large, small) = (Site::with(many), Site::with(few));
    let name = |what: &str| format!("{what}, {many} tasks beside {few}");
    let pair = |work: &dyn Fn(&Site)| {
        let mut times = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            times.0.push(timed(|| work(&large)));
            times.1.push(timed(|| work(&small)));
        }
        (median(times.0), median(times.1))
    };
    report(
        &name("waypost task list --state pending"),
        pair(&|site| {
            site.must(&["task", "list", "--state", "pending", "--limit", "50"]);
        }),
    );
    report(
        &name("waypost task show"),
        pair(&|site| site.must(&["task", "show", site.some.as_str()])),
    );
    report(&name("waypost serve, until it answers"), pair(&Site::serve));
}

/// A project with so many tasks that wait.
struct Site {
    folder: TempDir,
    home: TempDir,
    /// One of them.
    some: ServerTaskId,
}

impl Site {
    fn with(count: usize) -> Self {
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (folder, home) = (folder(), folder());
        for part in ["objects", "refs"] {
            fs::create_dir_all(folder.path().join(".git").join(part)).unwrap();
        }
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let site = Self { folder, home, some: fresh_task_id() };
        site.must(&["task", "new", "first"]);
        let mut project =
            Project::open(site.folder.path(), Actor::User("bench".to_owned())).unwrap();
        let start = Instant::now();
        for batch in 0..count / BATCH {
            let commands: Vec<_> = (0..BATCH)
                .map(|at| {
                    let is_some = batch == 0 && at == 0;
                    let id = if is_some { site.some.clone() } else { fresh_task_id() };
                    let fields = TaskFields {
                        title: format!("Task {at} of batch {batch}"),
                        task_type: "custom".to_owned(),
                        description: "Something that has to be done.".to_owned(),
                        ..TaskFields::default()
                    };
                    command_for(&id, TaskCommand::Create { id: id.clone(), fields, retry_of: None })
                })
                .collect();
            project.command(&commands).unwrap();
        }
        eprintln!("{count} tasks are there after {:.1} s", start.elapsed().as_secs_f64());
        site
    }

    fn waypost(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_waypost"));
        command.args(words).current_dir(self.folder.path());
        command.env("XDG_STATE_HOME", self.home.path()).env("XDG_CONFIG_HOME", self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn must(&self, words: &[&str]) {
        assert!(self.waypost(words).status().unwrap().success(), "waypost {words:?}");
    }

    /// Starts a host and ends it once its socket is there: then it has looked at all tasks.
    fn serve(&self) {
        let socket: PathBuf = self.folder.path().join(".git/waypost/engine.sock");
        let mut host = self.waypost(&["serve"]).spawn().unwrap();
        let start = Instant::now();
        while !socket.exists() {
            assert!(start.elapsed() < PATIENCE, "the host is not there");
            thread::sleep(Duration::from_millis(1));
        }
        host.kill().unwrap();
        host.wait().unwrap();
        let _gone = fs::remove_file(socket);
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

fn report(name: &str, (ours, other): (f64, f64)) {
    let ratio = ours / other;
    eprintln!("{name}: {ours:.1} ms, {other:.1} ms, {ratio:.2}");
    let line = json!({"name": name, "ours": ours, "other": other, "unit": "ms", "ratio": ratio});
    println!("{line}");
}
