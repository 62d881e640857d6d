//! The programs under test, and how one of them is run so that it can never hang the tests.

use std::{
    env, fmt, fs,
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// A run takes seconds; a machine that is busy with everything else may need many.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// An agent program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Gemini,
}

impl Agent {
    fn variable(self) -> &'static str {
        match self {
            Self::Claude => "WAYPOST_E2E_CLAUDE",
            Self::Codex => "WAYPOST_E2E_CODEX",
            Self::Gemini => "WAYPOST_E2E_GEMINI",
        }
    }
}

/// Where everything is that a test needs.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) agent: PathBuf,
    /// The folder with `waypost` and `waypost-hook`.
    pub(crate) bin: PathBuf,
    /// Where scratch folders go. Not the temporary folder: Codex keeps its tools out of it.
    pub(crate) scratch: PathBuf,
}

impl Programs {
    /// What `cargo xtask e2e` told us; without it the test is skipped, and that is said.
    pub(crate) fn find(agent: Agent) -> Option<Self> {
        Self::named(agent.variable())
    }

    /// The same for the program that a variable names.
    pub(crate) fn named(variable: &str) -> Option<Self> {
        let path = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from);
            if path.is_none() {
                println!("skipped: {name} is not set; `cargo xtask e2e` sets it");
            }
            path
        };
        Some(Self {
            agent: path(variable)?,
            bin: path("WAYPOST_E2E_BIN")?,
            scratch: path("WAYPOST_E2E_SCRATCH")?,
        })
    }
}

/// What came of a program.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {:?}\n-- stdout\n{}\n-- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Runs a command to its end, with `input` as all that it can read; kills it after the limit.
#[track_caller]
pub(crate) fn run(command: Command, input: &str) -> Ran {
    let shown = format!("{command:?}");
    run_within(LIMIT, command, input).unwrap_or_else(|| panic!("not ended in {LIMIT:?}: {shown}"))
}

#[track_caller]
pub(crate) fn run_within(limit: Duration, mut command: Command, input: &str) -> Option<Ran> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that nothing that it started is left behind.
    command.process_group(0);
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).unwrap();
    }
    let group = format!("-{}", child.id());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
    let Ok(output) = receiver.recv_timeout(limit) else {
        let _gone = Command::new("kill").args(["-9", "--", &group]).status();
        // The pipes are closed once everything that held them has ended.
        receiver.recv_timeout(LIMIT).expect("what was killed has ended");
        return None;
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some(Ran {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    })
}

/// A process that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) program: PathBuf,
    environment: Vec<u8>,
}

impl Process {
    pub(crate) fn has(&self, variable: &str) -> bool {
        self.environment.split(|byte| *byte == 0).any(|it| it == variable.as_bytes())
    }
}

/// The processes with this home.
pub(crate) fn owned(home: &Path) -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all = ids.filter_map(|id: u32| {
        // One that has ended has neither, though its parent may still have to wait for it.
        let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
        let program = fs::read_link(format!("/proc/{id}/exe")).ok()?;
        Some(Process { id, program, environment })
    });
    let home = format!("HOME={}", home.display());
    all.filter(|process| process.has(&home)).collect()
}

pub(crate) fn signal(process: u32, signal: &str) {
    // It may have ended by itself.
    let _gone = Command::new("kill").args([signal, &process.to_string()]).status();
}

/// Waits until something is there; how long that takes does not matter.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = std::time::Instant::now() + LIMIT;
    while std::time::Instant::now() < end {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("waited in vain for {what}");
}

#[test]
fn a_program_that_hangs_is_ended_with_all_that_it_started() {
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 600 & wait"]);
    assert!(run_within(Duration::from_secs(1), command, "").is_none());
}
