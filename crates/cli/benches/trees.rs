//! What a work tree for each attempt costs: tasks that write one file each, in a repository of many
//! files, beside a shell loop that does the same with git alone.
//!
//! The loop makes a work tree with a branch, commits, merges with `--no-ff` and removes both, one
//! after another. Ours does that and keeps a journal, proves each commit's place, looks for work that
//! would be lost, joins to a phase's branch, and merges that at the end. Prints one JSON object per
//! measurement on stdout and all else on stderr; variables as in the bench `run`.
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

/// What the shell does for each task.
const LOOP: &str = r#"
set -e
i=1
while [ $i -le "$TASKS" ]; do
    git worktree add -q -b "t$i" "apart/t$i" main
    (cd "apart/t$i" && sh -c "echo $i > out/$i.txt" && git add -A && git commit -q -m "T1.$i")
    git merge -q --no-ff -m "Merge T1.$i" "t$i"
    git worktree remove --force "apart/t$i"
    git branch -q -D "t$i"
    i=$((i + 1))
done
"#;

fn main() {
    let is_quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let (tasks, files, rounds) = if is_quick { (4, 50, 1) } else { (200, 5_000, 3) };
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..rounds {
        // Other work on the machine disturbs the first of a round as often as the last.
        for turn in 0..times.len() {
            let at = (round + turn) % times.len();
            let site = Site::begin(tasks, files);
            let took = match at {
                0 => site.ours("1"),
                1 => site.ours("2"),
                _ => site.shell(),
            };
            eprintln!("round {round}: {} {took:?}", ["ours, 1 at a time", "ours, 2", "shell"][at]);
            assert_eq!(site.written(), tasks, "every file is in the branch");
            times[at].push(took);
        }
    }
    let [one, two, shell] = times.map(|times| median(times).as_secs_f64() * 1e3 / tasks as f64);
    let target = (!is_quick).then_some("<= 1.2");
    for (ours, how) in [(one, "1 at a time"), (two, "2 at a time")] {
        let name = format!("work tree per task, {files} files, {how}, beside git in a shell");
        let ratio = ours / shell;
        println!(
            "{}",
            json!({"name": name, "ours": ours, "other": shell, "unit": "ms", "ratio": ratio, "target": target})
        );
    }
}

/// A repository with its tasks.
struct Site {
    folder: TempDir,
    home: TempDir,
    tasks: usize,
}

impl Site {
    fn begin(tasks: usize, files: usize) -> Self {
        let folder = || tempfile::tempdir_in(place()).unwrap();
        let site = Self { folder: folder(), home: folder(), tasks };
        for file in 0..files {
            let path = site.path(&format!("src/part{}/file{file}.txt", file / 100));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("line of file {file}\n").repeat(20)).unwrap();
        }
        fs::create_dir(site.path("out")).unwrap();
        fs::write(site.path("out/.keep"), "").unwrap();
        let mut text = String::from("# Bench\n\n## Phase 1: All\n\n");
        for task in 1..=tasks {
            let command = format!("echo {task} > out/{task}.txt");
            writeln!(text, "- [ ] T1.{task}: Write\n  - run: `{command}`\n  - depends: none")
                .unwrap();
        }
        fs::write(site.path("TASKS.md"), text).unwrap();
        fs::write(site.path(".gitignore"), "/apart/\n").unwrap();
        for line in ["init -q -b main", "add -A", "commit -q -m begin"] {
            site.end(site.command("git").args(line.split(' ')));
        }
        site.end(&mut site.command("sync"));
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.folder.path()).env("HOME", self.home.path());
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        for (name, value) in [("NAME", "bench"), ("EMAIL", "bench@localhost")] {
            command.env(format!("GIT_AUTHOR_{name}"), value);
            command.env(format!("GIT_COMMITTER_{name}"), value);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn end(&self, command: &mut Command) {
        let status = command.status().unwrap();
        assert!(status.success(), "{command:?}: {status}");
    }

    fn timed(&self, command: &mut Command) -> Duration {
        let start = Instant::now();
        self.end(command);
        start.elapsed()
    }

    fn ours(&self, parallel: &str) -> Duration {
        let line = ["run", "--quiet", "--isolation", "task", "--max-parallel", parallel];
        self.timed(self.command(program()).args(line))
    }

    fn shell(&self) -> Duration {
        let tasks = self.tasks.to_string();
        self.timed(self.command("sh").args(["-c", LOOP]).env("TASKS", tasks))
    }

    /// How many files are in the branch.
    fn written(&self) -> usize {
        let mut command = self.command("git");
        command.args(["ls-tree", "--name-only", "main", "out/"]).stdout(Stdio::piped());
        let listed = command.output().unwrap().stdout;
        String::from_utf8(listed).unwrap().lines().filter(|line| line.ends_with(".txt")).count()
    }
}

/// Where repositories are made: in memory where that can be had. Making thousands of files on a disk
/// takes what the disk wants, and that is not what is compared here.
fn place() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory } else { Path::new(env!("CARGO_TARGET_TMPDIR")) }
}

fn program() -> PathBuf {
    let folder = env::var_os("WAYPOST_BENCH_PROGRAMS").map(PathBuf::from);
    let built = PathBuf::from(env!("CARGO_BIN_EXE_waypost"));
    folder.map_or(built, |folder| folder.join("waypost"))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
