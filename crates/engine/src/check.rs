//! Runs the commands that prove something: a gate's check, a checkpoint's validation.

use crate::{
    children::Children,
    error::{EngineError, Problem},
};
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};
use std::{
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use waypost_model::code::Code;
use waypost_proc::limit_open_files;

/// How much of a check's output is kept for comparing with what was expected.
const OUTPUT_KEPT_MAX: usize = 1 << 20;

/// How often it is looked whether a check is still wanted, and how long it has to end by itself when it is not.
pub(crate) const STOP_INTERVAL: Duration = Duration::from_millis(100);
const STOP_GRACE: Duration = Duration::from_secs(2);

/// What became of a check.
#[derive(Clone, Debug)]
pub(crate) struct CheckResult {
    pub(crate) passed: bool,
    /// How it ended, in words.
    pub(crate) outcome: String,
    /// The last part of what it printed.
    pub(crate) output: Vec<u8>,
}

/// Runs `command` with the shell in `folder`; what it prints is also passed on to `echo`.
///
/// It has no standard input, and both of its outputs are read as one.
pub(crate) fn run(
    children: &Children,
    command: &str,
    folder: &Path,
    echo: &mut dyn io::Write,
) -> Result<CheckResult, EngineError> {
    match children.stop() {
        Some(stop) => run_until((children, command, folder), stop, echo),
        None => Check::start(command, &mut children.shell(command, folder))?.finish(echo),
    }
}

/// The same until it is not wanted any more: then it ends with all that it has started, and proves nothing.
fn run_until(
    (children, command, folder): (&Children, &str, &Path),
    stop: &AtomicBool,
    echo: &mut dyn io::Write,
) -> Result<CheckResult, EngineError> {
    let (check, ender) = Check::start_in_group(children, command, folder)?;
    let is_over = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut signals = [Signal::TERM, Signal::KILL].into_iter();
            while !is_over.load(Ordering::Acquire) {
                match stop.load(Ordering::Acquire).then(|| signals.next()).flatten() {
                    Some(signal) => {
                        ender.signal(signal);
                        thread::park_timeout(STOP_GRACE);
                    }
                    None => thread::park_timeout(STOP_INTERVAL),
                }
            }
        });
        let result = check.finish(echo);
        is_over.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    });
    match stop.load(Ordering::Acquire) {
        true => Err(stopped(command)),
        false => result,
    }
}

/// What was not wanted any more proves nothing.
pub(crate) fn stopped(command: &str) -> EngineError {
    let message = format!("`{command}` was stopped, because the call was cancelled");
    Problem::new(Code::Stopped, message).into()
}

/// A check that runs.
#[derive(Debug)]
pub(crate) struct Check {
    command: String,
    child: Child,
    output: PipeReader,
    /// Whether its process is gone, so that its number may be another one's.
    is_reaped: Arc<Mutex<bool>>,
    /// What it is ended by; it is wanted for as long as this is there.
    ender: Option<CheckEnder>,
}

/// Ends a check, from another thread than the one that waits for it.
#[derive(Clone, Debug)]
pub(crate) struct CheckEnder {
    grip: Grip,
    is_reaped: Arc<Mutex<bool>>,
}

/// How a check can be reached.
#[derive(Clone, Debug)]
enum Grip {
    /// Its attendant does what it reads; it kills all that is below when there is nothing more to read.
    Attendant(Arc<Mutex<Option<PipeWriter>>>),
    /// Itself, with what has stayed in its group.
    Group(Pid),
}

impl Check {
    /// Starts `command` in a process group of its own, so that it can be ended with all that it has
    /// started.
    pub(crate) fn start_in_group(
        children: &Children,
        command: &str,
        folder: &Path,
    ) -> Result<(Self, CheckEnder), EngineError> {
        let (check, grip) = match children.attended_shell(command, folder) {
            Some(mut attendant) => {
                let cannot = |error| cannot_run(command, error);
                let (wanted, mut wish) = io::pipe().map_err(cannot)?;
                let check = Self::start(command, attendant.stdin(wanted).process_group(0))?;
                // One that has gone already says so by its exit code.
                let _gone = wish.write_all(&[waypost_proc::BEGIN]);
                (check, Grip::Attendant(Arc::new(Mutex::new(Some(wish)))))
            }
            None => {
                let check = Self::start(command, children.shell(command, folder).process_group(0))?;
                let group = Pid::from_child(&check.child);
                (check, Grip::Group(group))
            }
        };
        let ender = CheckEnder { grip, is_reaped: Arc::clone(&check.is_reaped) };
        Ok((Self { ender: Some(ender.clone()), ..check }, ender))
    }

    fn start(command: &str, shell: &mut Command) -> Result<Self, EngineError> {
        let cannot = |error| cannot_run(command, error);
        let (output, writer) = io::pipe().map_err(cannot)?;
        shell.stdout(writer.try_clone().map_err(cannot)?).stderr(writer);
        let child = shell.spawn().map_err(cannot)?;
        limit_open_files(&child);
        // The parent's ends of the pipes would keep them open.
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (command, is_reaped) = (command.to_owned(), Arc::default());
        Ok(Self { command, child, output, is_reaped, ender: None })
    }

    /// Waits for its end.
    pub(crate) fn finish(self, echo: &mut dyn io::Write) -> Result<CheckResult, EngineError> {
        // Without its ender, its attendant would take it for unwanted.
        let Self { command, mut child, output: mut reader, is_reaped, ender } = self;
        let cannot = |error| cannot_run(&command, error);
        let mut output = Vec::new();
        let mut chunk = [0u8; 8192];
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => {
                    // A reader that has gone is no reason to stop the check.
                    let _unheard = echo.write_all(&chunk[..count]);
                    keep(&mut output, &chunk[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(cannot(error)),
            }
        }
        if let Some(ender) = &ender {
            ender.release();
        }
        // Its number stays its own until it is reaped, which happens under the lock.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(Errno::INTR) = waitid(WaitId::Pid(Pid::from_child(&child)), ended) {}
        let mut is_reaped = is_reaped.lock().unwrap_or_else(PoisonError::into_inner);
        let status = child.wait().map_err(cannot)?;
        *is_reaped = true;
        Ok(CheckResult { passed: status.success(), outcome: status.to_string(), output })
    }
}

impl CheckEnder {
    /// All that the check has printed was read: its attendant waits for no other than its own end.
    fn release(&self) {
        if let Grip::Attendant(wish) = &self.grip
            && let Some(wish) = wish.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
        {
            // One that is gone needs no word.
            let _gone = wish.write_all(&[waypost_proc::OVER]);
        }
    }

    /// Signals the check and all that it has started.
    pub(crate) fn signal(&self, signal: Signal) {
        let is_reaped = self.is_reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_reaped {
            return;
        }
        match &self.grip {
            Grip::Attendant(wish) => {
                let mut wish = wish.lock().unwrap_or_else(PoisonError::into_inner);
                match wish.as_mut().filter(|_| signal == Signal::TERM) {
                    Some(wish) => drop(wish.write_all(&[waypost_proc::ASK])),
                    None => *wish = None,
                }
            }
            // What has ended meanwhile needs no signal.
            Grip::Group(group) => drop(kill_process_group(*group, signal)),
        }
    }
}

fn cannot_run(command: &str, error: io::Error) -> EngineError {
    Problem::new(Code::CannotStart, format!("cannot run `{command}`")).because(error).into()
}

/// Keeps the end of the output, in bounded memory.
fn keep(output: &mut Vec<u8>, chunk: &[u8]) {
    output.extend_from_slice(chunk);
    if output.len() > 2 * OUTPUT_KEPT_MAX {
        output.drain(..output.len() - OUTPUT_KEPT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{children, environment::Environment};

    fn own() -> Children {
        children::plain(&Environment::of_this_process())
    }

    #[test]
    fn a_check_passes_by_its_exit_code_alone() {
        let folder = std::env::temp_dir();
        let mut heard = Vec::new();
        let good = run(&own(), "echo fine; echo also >&2", &folder, &mut heard).unwrap();
        assert!(good.passed);
        assert_eq!(good.output, b"fine\nalso\n");
        assert_eq!(heard, good.output);
        let bad = run(&own(), "echo fine; exit 3", &folder, &mut Vec::new()).unwrap();
        assert!(!bad.passed);
        assert_eq!(bad.outcome, "exit status: 3");
    }

    #[test]
    fn a_check_is_ended_with_all_that_it_has_started() {
        let folder = std::env::temp_dir();
        // The child in the background holds the output open.
        let command = "sleep 600 & echo begun; wait";
        let (check, ender) = Check::start_in_group(&own(), command, &folder).unwrap();
        let (begun, told) = std::sync::mpsc::channel();
        let checking = thread::spawn(move || check.finish(&mut Begun(begun)).unwrap());
        assert_eq!(told.recv().unwrap(), b"begun\n");
        ender.signal(Signal::TERM);
        assert!(!checking.join().unwrap().passed);
        // Its number may be another process's by now.
        ender.signal(Signal::KILL);
    }

    /// Tells what is written to it.
    struct Begun(std::sync::mpsc::Sender<Vec<u8>>);

    impl io::Write for Begun {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
