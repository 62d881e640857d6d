//! One request at a broker: heard, run, answered.

use super::message::{Received, Request, receive};
use rustix::{
    net::{RecvFlags, SendFlags, recv, send, sockopt::socket_peercred},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
};
use std::{
    fs,
    io::Write as _,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    process::{Child, Command},
};

/// As shells say it: the command was found and not run.
const NOT_RUN: u8 = 126;

/// How far up the processes are looked: a call may have started shells in shells.
const ANCESTORS_MAX: usize = 1024;

/// A caller inside, and what runs for it.
#[derive(Debug)]
pub(super) struct Served {
    stream: OwnedFd,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    over: OwnedFd,
}

impl Served {
    pub(super) fn new(stream: OwnedFd) -> Self {
        Self { stream, running: None }
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let over = self.running.as_ref().map(|running| running.over.as_fd());
        std::iter::once(self.stream.as_fd()).chain(over)
    }

    /// Does what there is to do; says whether there will be more.
    pub(super) fn attend(
        &mut self,
        start: impl FnOnce(&Request) -> Result<Command, String>,
    ) -> bool {
        match &mut self.running {
            None => match receive(self.stream.as_fd()) {
                Received::NotYet => true,
                Received::Nothing => false,
                Received::Request(request, streams) => self.begin(&request, *streams, start),
            },
            Some(running) => match running.child.try_wait() {
                Ok(Some(status)) => {
                    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
                    self.answer(u8::try_from(code).unwrap_or(NOT_RUN));
                    false
                }
                Ok(None) if self.is_gone() => {
                    self.end();
                    false
                }
                Ok(None) => true,
                Err(_) => false,
            },
        }
    }

    fn begin(
        &mut self,
        request: &Request,
        streams: [OwnedFd; 3],
        start: impl FnOnce(&Request) -> Result<Command, String>,
    ) -> bool {
        let [input, output, errors] = streams;
        let told = errors.try_clone();
        let refuse = |why: String| {
            if let Ok(told) = told {
                let _unheard = writeln!(fs::File::from(told), "waypost: {why}; nothing was done");
            }
        };
        let started = match self.is_below_us() {
            false => Err("only commands of this call can ask here".to_owned()),
            true => start(request).and_then(|mut command| {
                command.stdin(input).stdout(output).stderr(errors).process_group(0);
                command.spawn().map_err(|error| {
                    format!("{} cannot be started: {error}", request.program.display())
                })
            }),
        };
        let running = started.and_then(|child| {
            let over = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
            Ok(Running { child, over: over.map_err(|error| error.to_string())? })
        });
        match running {
            Ok(running) => {
                self.running = Some(running);
                true
            }
            Err(why) => {
                refuse(why);
                self.answer(NOT_RUN);
                false
            }
        }
    }

    /// Whether the caller is a process of the call that this socket is for.
    fn is_below_us(&self) -> bool {
        let Ok(peer) = socket_peercred(&self.stream) else { return false };
        let own = rustix::process::getpid();
        let mut pid = Some(peer.pid);
        for _ in 0..ANCESTORS_MAX {
            match pid {
                Some(pid) if pid == own => return true,
                Some(above) => pid = parent(above),
                None => return false,
            }
        }
        false
    }

    /// Whether the caller has hung up.
    fn is_gone(&self) -> bool {
        let mut byte = [0; 1];
        matches!(recv(&self.stream, &mut byte, RecvFlags::DONTWAIT), Ok((_, 0)))
    }

    fn answer(&self, code: u8) {
        // A caller that has gone needs no answer.
        let _unheard = send(&self.stream, &[code], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }

    /// Asks what still runs to end; it may have started something that outlives it, as a run in the
    /// background does.
    pub(super) fn end(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _gone = kill_process_group(Pid::from_child(&running.child), Signal::TERM);
            // Without a thread of its own it would stay as a zombie until this process ends.
            let _waited = std::thread::Builder::new().spawn(move || running.child.wait());
        }
    }
}

fn parent(pid: Pid) -> Option<Pid> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The command's name may contain anything; the fields come after its last bracket.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    fields.nth(1)?.parse().ok().and_then(Pid::from_raw)
}
