//! What an agent waits for before each of its tool calls, with a state of 20 KB.
//!
//! Prints one JSON object per measurement on stdout and all else on stderr. Every program answers
//! the same event from the same state: ours beside `/bin/true`, which is what any process costs,
//! and beside scripts for node, Python and the shell that make the same decision (`gate/`), more
//! simply. All take turns, and medians count. `WAYPOST_BENCH_PROGRAMS` names the folder of the
//! programs as `cargo xtask dist` builds them; without it the ordinary ones are measured.
//! `WAYPOST_BENCH_QUICK=1` makes it small enough to see that it works.
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
    fs::{self, File},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const STATE_FILE: &str = ".develop-workflow/state.json";

/// A user who is not root; a number is enough.
const USER: u32 = 1000;

/// So many checkpoints make a state file of 20 KB.
const CHECKPOINTS: usize = 330;

fn main() {
    let is_quick = env::var_os("WAYPOST_BENCH_QUICK").is_some();
    let rounds = if is_quick { 5 } else { 300 };
    let project = Project::begin();
    let write = project.event(
        "Write",
        &json!({ "file_path": project.path("src/lib.rs"), "content": "x".repeat(2_000) }),
    );
    let test =
        project.event("Bash", &json!({ "command": "cargo test --workspace 2>&1 | tail -20" }));
    let push = project.event("Bash", &json!({ "command": "git push origin main" }));
    let commit = project.event("Bash", &json!({ "command": "git commit -am 'next step'" }));
    let script =
        |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/gate").join(name);
    let hook = || project.program("waypost-hook", &["claude"]);
    let nothing = || quiet("/bin/true");
    let with = |program: &str, name: &str| {
        let mut command = quiet(program);
        command.arg(script(name));
        command
    };
    let pairs: [(&str, &Path, Other<'_>, Option<&str>); 7] = [
        ("waypost-hook, a write allowed, beside /bin/true", &write, &nothing, Some("<= 1.2")),
        ("waypost-hook, a test run allowed, beside /bin/true", &test, &nothing, Some("<= 1.2")),
        ("waypost-hook, a push refused, beside /bin/true", &push, &nothing, Some("<= 1.2")),
        (
            "waypost-hook, a commit allowed by the journal, beside /bin/true",
            &commit,
            &nothing,
            Some("<= 4.0"),
        ),
        (
            "waypost-hook, a write allowed, beside node",
            &write,
            &|| with("node", "gate.cjs"),
            Some("<= 0.02"),
        ),
        (
            "waypost-hook, a write allowed, beside python3",
            &write,
            &|| with("python3", "gate.py"),
            None,
        ),
        (
            "waypost-hook, a write allowed, beside sh and jq",
            &write,
            &|| with("sh", "gate.sh"),
            None,
        ),
    ];
    shell_calls(&project, rounds, None);
    if project.hand_to(USER) {
        shell_calls(&project, rounds, Some(USER));
        project.hand_to(0);
    }
    for (name, event, other, target) in pairs {
        if !is_there(&other()) {
            eprintln!("skipped: {name}: it is not installed");
            continue;
        }
        let times = in_turn(rounds, hook, other, event);
        report(name, times, target);
    }
}

/// What the wall adds to a shell call: with namespaces, and by Landlock alone. For root there is more to hide:
/// files of the system that only root can read.
fn shell_calls(project: &Project, rounds: usize, uid: Option<u32>) {
    let of_whom = uid.map_or_else(String::new, |uid| format!(" as uid {uid}"));
    let as_user = |mut command: Command| {
        if let Some(uid) = uid {
            command.uid(uid).gid(uid);
        }
        command
    };
    let without = project.path_without_bubblewrap();
    let event = project.event("Bash", &json!({ "command": "true" }));
    for (level, path, allowed_ms) in [("b", None, 8.0), ("c", Some(&without), 1.5)] {
        let walled = |text: &str| {
            let mut command = project.program("waypost-shell", &[text]);
            if let Some(path) = path {
                command.env("PATH", path);
            }
            command.env("SHELL", "/bin/sh");
            as_user(command)
        };
        let mut probe = walled("echo $WAYPOST_WALL");
        let said = probe.stdout(Stdio::piped()).output().unwrap().stdout;
        if String::from_utf8_lossy(&said).trim() != level {
            eprintln!("skipped: a call at level {level}: this machine has it not");
            continue;
        }
        let plain = || {
            let mut command = quiet("/bin/sh");
            command.args(["-c", "true"]);
            as_user(command)
        };
        let times = in_turn(rounds, || walled("true"), &plain, &event);
        let name = format!("waypost-shell true at level {level}{of_whom}, beside sh -c true");
        report(&name, times, None);
        if level == "b" {
            let bare = || as_user(bare());
            let times = in_turn(rounds, || walled("true"), &bare, &event);
            let name = format!("waypost-shell true at level b{of_whom}, beside a bare bwrap");
            report(&name, times, None);
        }
        let added = times[0].saturating_sub(times[1]);
        let name =
            format!("what the wall adds to a call at level {level}{of_whom}, beside what it may");
        report(&name, [added, Duration::from_secs_f64(allowed_ms / 1e3)], Some("<= 1.0"));
    }
}

/// What namespaces alone cost: the same ones, with the whole system readable and nothing else.
fn bare() -> Command {
    let mut command = quiet("bwrap");
    command.args("--unshare-user --unshare-pid --unshare-ipc --cap-drop ALL".split(' '));
    command
        .args("--die-with-parent --new-session --ro-bind / / --dev /dev --proc /proc".split(' '));
    command.args(["/bin/sh", "-c", "true"]);
    command
}

type Other<'a> = &'a dyn Fn() -> Command;

/// A feature in IMPLEMENT with its first gate passed and many checkpoints.
struct Project {
    folder: TempDir,
    home: TempDir,
}

impl Project {
    fn begin() -> Self {
        // `/tmp` is often no disk.
        let folder = || tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let project = Self { folder: folder(), home: folder() };
        // A repository of its own, so that it does not belong to the one around it.
        let made = quiet("git").arg("init").arg("-q").current_dir(project.folder.path()).status();
        assert!(made.unwrap().success());
        fs::write(project.path("review.md"), "Blocking: 0\n").unwrap();
        let mut advance: Vec<String> = vec!["develop".into(), "advance".into()];
        for number in 1..=CHECKPOINTS {
            advance.extend(["--checkpoint".into(), format!("cp-{number}")]);
        }
        let advance: Vec<&str> = advance.iter().map(String::as_str).collect();
        for words in [
            &["develop", "start", "bench"][..],
            &advance,
            &["develop", "gate", "pass", "review_clean_pass", "--report", "review.md"],
            &["develop", "advance"],
        ] {
            let status = project.program("waypost", words).status().unwrap();
            assert!(status.success(), "{words:?}: {status}");
        }
        let size = fs::metadata(project.path(STATE_FILE)).unwrap().len();
        eprintln!("{STATE_FILE} has {size} bytes");
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// One of our programs, in the project.
    fn program(&self, name: &str, words: &[&str]) -> Command {
        let built = match name {
            "waypost" => env!("CARGO_BIN_EXE_waypost"),
            "waypost-shell" => env!("CARGO_BIN_EXE_waypost-shell"),
            _ => env!("CARGO_BIN_EXE_waypost-hook"),
        };
        let folder = env::var_os("WAYPOST_BENCH_PROGRAMS").map(PathBuf::from);
        let mut command = quiet(folder.map_or_else(|| built.into(), |folder| folder.join(name)));
        command.args(words).current_dir(self.folder.path()).env("HOME", self.home.path());
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        command
    }

    /// Hands all files of the project to a user; says if that could be done.
    fn hand_to(&self, uid: u32) -> bool {
        let mut command = quiet("chown");
        command.arg("-R").arg(format!("{uid}:{uid}")).args([self.folder.path(), self.home.path()]);
        command.status().is_ok_and(|status| status.success())
    }

    /// A path with everything but bubblewrap.
    fn path_without_bubblewrap(&self) -> PathBuf {
        let folder = self.home.path().join("bin");
        fs::create_dir_all(&folder).unwrap();
        for place in ["/usr/bin", "/bin"] {
            for entry in fs::read_dir(place).into_iter().flatten().flatten() {
                if entry.file_name() != "bwrap" {
                    let _known =
                        std::os::unix::fs::symlink(entry.path(), folder.join(entry.file_name()));
                }
            }
        }
        folder
    }

    /// An event as Claude Code sends it, in a file.
    fn event(&self, tool: &str, input: &Value) -> PathBuf {
        let event = json!({
            "session_id": "ef826ad4-0000-4000-8000-000000000000",
            "transcript_path": self.path("transcript.jsonl"),
            "cwd": self.path(""),
            "prompt_id": "fd7c0f2e-0000-4000-8000-000000000000",
            "permission_mode": "acceptEdits",
            "effort": { "level": "high" },
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
        });
        let count = fs::read_dir(self.home.path()).unwrap().count();
        let path = self.home.path().join(format!("event-{count}.json"));
        fs::write(&path, event.to_string()).unwrap();
        path
    }
}

fn quiet(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn is_there(command: &Command) -> bool {
    quiet("which").arg(command.get_program()).status().is_ok_and(|status| status.success())
}

fn timed(mut command: Command, event: &Path) -> Duration {
    command.stdin(File::open(event).unwrap());
    let start = Instant::now();
    let status = command.status().unwrap();
    let took = start.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    took
}

/// The median time of each side.
fn in_turn(
    rounds: usize,
    ours: impl Fn() -> Command,
    other: Other<'_>,
    event: &Path,
) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        times[0].push(timed(ours(), event));
        times[1].push(timed(other(), event));
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[rounds / 2]
    })
}

fn report(name: &str, times: [Duration; 2], target: Option<&str>) {
    let [ours, other] = times.map(|time| time.as_secs_f64() * 1e3);
    let ratio = ours / other;
    println!(
        "{}",
        json!({"name": name, "ours": ours, "other": other, "unit": "ms", "ratio": ratio, "target": target})
    );
}
