//! Processes as `/proc` shows them, and the only way here to send one a signal.
//!
//! A process is known by its number and its start; the number alone is never enough, because the
//! system gives it to another process when its owner is gone.

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
};

/// One process for as long as this boot lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub pid: u32,
    /// In clock ticks since boot.
    pub start: u64,
}

impl Identity {
    /// The process that has this number now; `None`: there is none, or only its remains.
    pub fn of(pid: u32) -> Option<Self> {
        Process::alive(pid).ok()?.map(|process| process.identity)
    }

    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}

/// What `/proc/PID/stat` tells of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) identity: Identity,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    state: u8,
    threads: u32,
}

impl Process {
    /// What is known of the process that has this number now; `None`: there is none.
    ///
    /// An error is not the same: who cannot look must not take a process for gone.
    pub(crate) fn read(pid: u32) -> io::Result<Option<Self>> {
        // Names are cut at 15 bytes and the numbers are few: it always fits.
        let mut buffer = [0; 1024];
        let read = File::open(format!("/proc/{pid}/stat")).and_then(|mut f| f.read(&mut buffer));
        match read {
            Ok(length) => Ok(Self::parse(pid, &buffer[..length])),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) if e.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The same for those that still run or could.
    pub(crate) fn alive(pid: u32) -> io::Result<Option<Self>> {
        Ok(Self::read(pid)?.filter(Self::is_alive))
    }

    fn parse(pid: u32, stat: &[u8]) -> Option<Self> {
        // The program's name stands in parentheses and may itself contain any byte.
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = str::from_utf8(&stat[name_end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.bytes().next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        let threads = fields.nth(13)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        Some(Self { identity: Identity { pid, start }, parent, group, session, state, threads })
    }

    /// Whether it still runs or could; a first thread may be gone while others go on.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X') || self.threads > 1
    }

    /// Whether it was stopped by a signal.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// All processes that this user can see and that are alive.
pub(crate) fn all() -> io::Result<Vec<Process>> {
    let mut processes = Vec::with_capacity(256);
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        match Process::alive(pid) {
            Ok(found) => processes.extend(found),
            // Some systems hide other users' processes; none of those is ours.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
            Err(e) => return Err(e),
        }
    }
    Ok(processes)
}

/// The list of this process's children, also of those that it adopted. It must have one thread
/// only: the system keeps the list by thread.
#[derive(Debug)]
pub(crate) struct OwnChildren {
    /// Kept open, because it is read whenever a child has ended. `None`: not every kernel has it.
    list: Option<File>,
}

impl OwnChildren {
    pub(crate) fn open() -> Self {
        let own = std::process::id();
        Self { list: File::open(format!("/proc/{own}/task/{own}/children")).ok() }
    }

    pub(crate) fn pids(&self) -> io::Result<Vec<u32>> {
        let list = self.list.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let (mut text, mut piece) = (Vec::new(), [0; 1024]);
        loop {
            let count = list.read_at(&mut piece, text.len() as u64)?;
            text.extend_from_slice(&piece[..count]);
            // The system fills what it is given, if it has as much: then this was the end.
            if count < piece.len() {
                break;
            }
        }
        let pids = text.split(u8::is_ascii_whitespace).filter_map(|pid| str::from_utf8(pid).ok());
        Ok(pids.filter_map(|pid| pid.parse().ok()).collect())
    }
}

/// The value of a variable in the environment that a process was started with.
pub(crate) fn variable(pid: u32, name: &str) -> Option<Vec<u8>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let entry = environment.split(|byte| *byte == 0).find_map(|entry| {
        entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    });
    entry.map(<[u8]>::to_vec)
}

/// What came of sending a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Yes,
    /// That process is gone; its number may be another process's by now.
    Gone,
    /// It is another user's, or the system refused for another reason.
    No,
}

/// Sends a signal to exactly this process.
///
/// The pidfd is opened first and compared after: once it is open, it means one process for good,
/// so a number that changes hands before or after the comparison cannot hit another process.
pub(crate) fn signal(to: Identity, signal: Signal) -> Sent {
    let Some(pid) = i32::try_from(to.pid).ok().and_then(Pid::from_raw) else {
        return Sent::Gone;
    };
    let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(Errno::SRCH) => return Sent::Gone,
        Err(_) => return Sent::No,
    };
    match Process::read(to.pid) {
        Ok(Some(found)) if found.identity == to => {}
        Ok(_) => return Sent::Gone,
        Err(_) => return Sent::No,
    }
    match pidfd_send_signal(&pidfd, signal) {
        Ok(()) => Sent::Yes,
        Err(Errno::SRCH) => Sent::Gone,
        Err(_) => Sent::No,
    }
}

/// What identifies this boot of the machine; empty where the system does not say.
pub(crate) fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_anything() {
        let numbers = "S 7 8 9 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 3 0 12345 1000 1";
        let stat = format!("42 (a) b ) R 1 (\n) {numbers}");
        let want = Process {
            identity: Identity { pid: 42, start: 12_345 },
            parent: 7,
            group: 8,
            session: 9,
            state: b'S',
            threads: 3,
        };
        assert_eq!(Process::parse(42, stat.as_bytes()), Some(want));
        assert_eq!(Process::parse(42, b"42 (cut) S 7"), None);
    }

    #[test]
    fn remains_are_not_alive_unless_a_thread_goes_on() {
        let check = |state: u8, threads: u32, want: bool| {
            let identity = Identity { pid: 1, start: 1 };
            let process = Process { identity, parent: 0, group: 0, session: 0, state, threads };
            assert_eq!(process.is_alive(), want);
        };
        check(b'S', 1, true);
        check(b'T', 1, true);
        check(b'Z', 1, false);
        check(b'Z', 2, true);
        check(b'X', 0, false);
    }

    #[test]
    fn this_process_is_seen_as_it_is() {
        let own = Process::read(std::process::id()).unwrap().unwrap();
        assert!(own.is_alive() && own.identity.is_alive());
        assert!(all().unwrap().iter().any(|process| process.identity == own.identity));
    }

    #[test]
    fn a_number_that_changed_hands_gets_no_signal() {
        let own = Identity::of(std::process::id()).unwrap();
        let earlier = Identity { start: own.start - 1, ..own };
        // SIGKILL would end this test if it were sent.
        assert_eq!(signal(earlier, Signal::KILL), Sent::Gone);
        assert_eq!(signal(Identity { pid: 0, start: 0 }, Signal::KILL), Sent::Gone);
        assert_eq!(signal(Identity { pid: u32::MAX, start: 0 }, Signal::KILL), Sent::Gone);
        assert_eq!(signal(own, Signal::CONT), Sent::Yes);
    }
}
