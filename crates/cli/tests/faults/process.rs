//! Runs a program to its end, or to a deadline: what hangs is a finding, not a hung test run.

use std::{
    io::{Read, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Far more than any command takes, even traced and on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// How a program ended, and what it said.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn is_done(&self) -> bool {
        self.code == Some(0)
    }

    /// Fails unless the program ended as it should have.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// Runs `command` to its end. Panics if it takes longer than any command may.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Ended {
    run_with(command, Stdio::null())
}

/// The same with this as its input.
pub(crate) fn run_with(command: &mut Command, input: Stdio) -> Ended {
    let piped = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = wait(&mut child, DEADLINE);
    let hung = status.is_none();
    let ended = Ended {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    };
    assert!(!hung, "{command:?} hung: {ended:#?}");
    ended
}

/// Waits for a child until the deadline, then kills it; `None`: it had to be killed.
pub(crate) fn wait(child: &mut Child, deadline: Duration) -> Option<std::process::ExitStatus> {
    let end = Instant::now() + deadline;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::park_timeout(LOOK);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was said before the pipe broke is what there is.
            let _broken = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Says something that is not to be missed: past the test runner, which hides what is printed.
pub(crate) fn say(text: &str) {
    // If no process listens, the tests still mean what they mean.
    let _unheard = writeln!(std::io::stderr(), "{text}");
}
