//! One program and all that it starts, which go with the process that wants them.
//!
//! That process holds the other end of this one's input. It says when to begin and when to ask for an end; and when
//! the input ends, because nothing is wanted any more or because that process was killed, everything below is
//! killed, also what made a session of its own or lost its parent. What has detached itself, output and all, from a
//! program that ended by itself is let live.

use crate::{
    error::ProcError,
    process::{self, Process},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, set_child_subreaper},
};
use std::{
    collections::HashMap,
    ffi::OsString,
    fs::File,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

/// Said when the program is to begin: its limits are set by then.
pub const BEGIN: u8 = b'b';
/// Said when it is asked to end.
pub const ASK: u8 = b't';
/// Said when all of its output was read: what has detached itself is let live.
pub const OVER: u8 = b'o';

/// How often it is looked for what is still there, and how often at most: what the system holds cannot be killed.
const PAUSE: Duration = Duration::from_millis(5);
const LOOKS_MAX: usize = 2_000;

/// How often it is looked whether all that was asked to end has.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Runs a program as its input says; how it ended, or none if it was killed or never began.
#[expect(clippy::disallowed_methods, reason = "processes are started here")]
pub fn attend(words: &[OsString]) -> Result<Option<ExitStatus>, ProcError> {
    let Some((program, arguments)) = words.split_first() else { return Ok(None) };
    if !hear()?.contains(&BEGIN) {
        return Ok(None);
    }
    set_child_subreaper(Some(getpid()))
        .map_err(|e| ProcError::system("become the parent of orphans", e))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    let child = command.spawn().map_err(|e| ProcError::system("start the program", e))?;
    let ending = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
        .map_err(|e| ProcError::system("watch the program", e))
        .inspect_err(|_| kill_below())?;
    let attended = Attended { child, ending, ended: None, is_asked: false, is_over: false };
    // What it has started is not left behind by a fault of this process.
    attended.until_over().inspect_err(|_| kill_below())
}

/// A program at work, or one that has ended and whose output others may still hold.
struct Attended {
    child: Child,
    ending: OwnedFd,
    ended: Option<ExitStatus>,
    is_asked: bool,
    /// All of its output was read, so that only its own end is waited for.
    is_over: bool,
}

impl Attended {
    fn until_over(mut self) -> Result<Option<ExitStatus>, ProcError> {
        let input = rustix::stdio::stdin();
        loop {
            let [has_ended, is_told] = match (self.ended, self.is_asked) {
                (None, _) => wait(&[self.ending.as_fd(), input], None)?,
                (Some(_), false) => [false, wait(&[input], None)?[0]],
                (Some(_), true) => [false, wait(&[input], Some(&LOOK))?[0]],
            };
            if has_ended {
                let ended = self.child.wait();
                self.ended = Some(ended.map_err(|e| ProcError::system("wait for the program", e))?);
                // Its output ends when those that hold it besides have closed it.
                close_output();
            }
            if is_told {
                match hear()?.as_slice() {
                    [] => {
                        kill_below();
                        return Ok(None);
                    }
                    words if words.contains(&ASK) => self.ask(),
                    words if words.contains(&OVER) => self.is_over = true,
                    _ => {}
                }
            }
            let is_done = if self.is_asked { is_nothing_left() } else { self.is_over };
            if is_done && self.ended.is_some() {
                return Ok(self.ended);
            }
        }
    }

    /// Asks everything to end; what its first process has left is not let live because that has ended.
    fn ask(&mut self) {
        self.is_asked = true;
        for process in below(&process::all().unwrap_or_default(), std::process::id()) {
            // What has ended meanwhile needs no signal.
            let _gone = process::signal(process.identity, Signal::TERM);
        }
    }
}

/// Whether nothing is below this process any more.
fn is_nothing_left() -> bool {
    let is_none = below(&process::all().unwrap_or_default(), std::process::id()).is_empty();
    // Afterwards: the end of what has ended meanwhile would be left to a parent that may never take it.
    reap();
    is_none
}

/// Gives up this process's own copies of the output.
fn close_output() {
    if let Ok(nowhere) = File::options().write(true).open("/dev/null") {
        let _still_open = rustix::stdio::dup2_stdout(&nowhere);
        let _still_open = rustix::stdio::dup2_stderr(&nowhere);
    }
}

/// Waits until something is to be read of each, or a time has passed.
fn wait<const N: usize>(
    on: &[BorrowedFd<'_>; N],
    limit: Option<&Timespec>,
) -> Result<[bool; N], ProcError> {
    let mut waits = on.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut waits, limit) {
        Ok(_) => Ok(waits.map(|it| !it.revents().is_empty())),
        Err(Errno::INTR) => Ok([false; N]),
        Err(e) => Err(ProcError::system("wait for the program", e)),
    }
}

/// What is said; nothing when the input has ended.
fn hear() -> Result<Vec<u8>, ProcError> {
    let mut words = [0; 16];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut words) {
            Ok(count) => return Ok(words[..count].to_vec()),
            Err(Errno::INTR) => {}
            Err(e) => return Err(ProcError::system("hear what is wanted", e)),
        }
    }
}

/// Kills all that is below this process, until nothing is left.
fn kill_below() {
    for _ in 0..LOOKS_MAX {
        let all = process::all().unwrap_or_default();
        let below = below(&all, std::process::id());
        reap();
        if below.is_empty() {
            break;
        }
        for process in below {
            // What has gone meanwhile needs no signal.
            let _gone = process::signal(process.identity, Signal::KILL);
        }
        thread::sleep(PAUSE);
    }
}

/// Takes the ends of all that has ended.
fn reap() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

/// The processes whose line of parents leads to this one.
fn below(all: &[Process], own: u32) -> Vec<&Process> {
    let parents: HashMap<u32, u32> = all.iter().map(|it| (it.identity.pid, it.parent)).collect();
    let is_below = |process: &&Process| {
        let mut at = process.parent;
        // A list that is read while it changes may go in circles.
        for _ in 0..all.len() {
            match parents.get(&at) {
                _ if at == own => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    all.iter().filter(is_below).collect()
}
