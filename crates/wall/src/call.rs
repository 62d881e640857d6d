//! One call behind the wall: started, attended to until it is over, its exit code handed back.
//!
//! The caller is the parent of the walled process and stays outside. Restrictions belong to a
//! thread: one of its own takes them, starts the process and lives as long as that, because the
//! kernel ends the process with the thread that started it. What happens meanwhile is the
//! attendants' business: the broker, the view of the git folder, a gate that closes.

use crate::{
    WallError, bubblewrap,
    disk::RealDisk,
    enclosure::{Enclosure, What},
    landlock,
    level::Level,
    mounts::{self, Mounts},
    notices,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{
        DumpableBehavior, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group,
        pidfd_open, pidfd_send_signal, set_dumpable_behavior, waitid,
    },
};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    iter,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::{
            ffi::OsStrExt as _, net::UnixStream, process::CommandExt as _,
            process::ExitStatusExt as _,
        },
    },
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

/// What is started, and behind which wall.
#[derive(Debug)]
pub struct Call {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// The whole environment inside, beside what the enclosure sets.
    pub variables: Vec<(OsString, OsString)>,
    /// Where it begins.
    pub folder: PathBuf,
    pub level: Level,
    pub enclosure: Enclosure,
    /// Only levels with namespaces need them.
    pub tools: Tools,
    /// Whether what it says is thrown away.
    pub is_quiet: bool,
}

/// The programs that namespaces are built with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    pub bubblewrap: Option<PathBuf>,
    /// A program of ours that makes the mounts from inside, called with [`MOUNT`] and the call; without it
    /// bubblewrap makes them.
    pub mounter: Option<PathBuf>,
}

/// Tells a program of ours to make mounts.
pub const MOUNT: &str = "--mount";

/// Why a call is ended before it is over by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// One sentence, for the one who made the call.
    pub reason: String,
}

/// What is looked after while a call runs.
pub trait Attendant {
    /// What wakes it, beside notices about folders; it is looked after once a second as well.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Does what there is to do without waiting; says if the call has to end.
    fn attend(&mut self) -> Option<Ending>;

    /// The call is over; nothing runs inside any more where there are namespaces. Returns what the
    /// one who made the call should know.
    fn conclude(&mut self) -> Option<String> {
        None
    }
}

/// A call that runs.
#[derive(Debug)]
pub struct Walled {
    /// Readable when the process is over.
    over: OwnedFd,
    inside: Inside,
    waiter: JoinHandle<io::Result<ExitStatus>>,
    signals: Caught,
}

/// Signals that came for this process and go inside.
#[derive(Debug)]
struct Caught {
    /// Readable when one has come.
    woken: UnixStream,
    come: Vec<(Signal, Arc<AtomicBool>)>,
}

/// What of a call signals are for.
#[derive(Debug)]
struct Inside {
    /// The group of processes that it begins in.
    group: Pid,
    /// The first process inside. Until it leads that group, no signal for the group reaches it.
    first: Option<OwnedFd>,
}

/// How often attendants are looked after that nothing has woken.
const ROUND: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Most calls are over by then, and need no notices: what they have done is looked at when they are.
const FIRST_ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Signals that are handed on; all others end this process, and the call with it.
const SIGNALS: [Signal; 6] =
    [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

impl Call {
    /// Starts the call. Whatever goes wrong, nothing runs without its wall.
    pub fn start(self) -> Result<Walled, WallError> {
        // Before anything runs: what comes for the call must not end its parent instead.
        let signals = Caught::begin()?;
        let (tell, told) = mpsc::channel();
        let waiter = thread::Builder::new().name("walled".into()).spawn(move || {
            match self.spawn() {
                Ok((child, inside)) => {
                    // Before it is waited for: then its number may be another's.
                    let over = pid_of(&child).and_then(|pid| {
                        Ok(pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from)?)
                    });
                    // Only a parent that is gone does not listen.
                    let _unheard = tell.send(over.map(|over| (over, inside)));
                    self.wait_for(child)
                }
                Err(error) => {
                    let _unheard = tell.send(Err(error));
                    Err(io::ErrorKind::Other.into())
                }
            }
        })?;
        let gone = || WallError::System(io::ErrorKind::BrokenPipe.into());
        let (over, inside) = told.recv().map_err(|_| gone())??;
        Ok(Walled { over, inside, waiter, signals })
    }

    /// In a thread of its own, which is restricted from here on.
    fn spawn(&self) -> Result<(Child, Inside), WallError> {
        match self.level {
            Level::A | Level::B => self.in_namespaces(),
            Level::C => {
                // This thread is within the same restrictions as what it starts, which could read by it what this
                // process was started with.
                set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(io::Error::from)?;
                landlock::restrict(&self.enclosure, &RealDisk)?;
                drop_capabilities()?;
                let mut command = self.command(&self.program);
                let child = command.args(&self.arguments).process_group(0).spawn();
                let child = child.map_err(|source| self.not_started(source))?;
                let inside = Inside { group: pid_of(&child)?, first: None };
                Ok((child, inside))
            }
            Level::None => {
                let source = io::Error::other("there is no wall on this machine");
                Err(self.not_started(source))
            }
        }
    }

    fn in_namespaces(&self) -> Result<(Child, Inside), WallError> {
        landlock::scope()?;
        let (mut told, tell) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map(|(read, write)| (File::from(read), write))
            .map_err(io::Error::from)?;
        rustix::io::fcntl_setfd(&tell, rustix::io::FdFlags::empty()).map_err(io::Error::from)?;
        let missing = || self.not_started(io::ErrorKind::NotFound.into());
        let program = self.tools.bubblewrap.as_ref().ok_or_else(missing)?;
        let mut command = self.command(program.as_os_str());
        // So that what it leaves behind can be ended; what runs inside has a session of its own.
        command.process_group(0);
        command.arg("--info-fd").arg(tell.as_raw_fd().to_string());
        let arguments = self.told_to(&mut command)?;
        let child = command.spawn().map_err(|source| self.not_started(source))?;
        drop((tell, arguments));
        let mut text = String::new();
        told.read_to_string(&mut text)?;
        let group = inner(&text).map_or_else(|| pid_of(&child), Ok)?;
        // One that is over already needs no signal.
        let first = pidfd_open(group, PidfdFlags::empty()).ok();
        Ok((child, Inside { group, first }))
    }

    /// Tells bubblewrap what to make and to begin with; what it reads that from has to live until it has begun.
    fn told_to(&self, command: &mut Command) -> Result<OwnedFd, WallError> {
        let is_root = rustix::process::geteuid().is_root();
        let steps = mounts::steps(&self.enclosure, &RealDisk, is_root);
        let is_hidden = matches!(self.enclosure.rule(&self.folder).1, What::Hidden | What::Scratch);
        let text = match &self.tools.mounter {
            Some(mounter) => {
                let text = in_memory(
                    &Mounts::new(steps, self.folder.clone(), self.environment()).to_bytes(),
                )?;
                // Nothing of the call's may have a say in a program that can mount.
                command.env_clear();
                command.args(bubblewrap::beginning(text.as_raw_fd()));
                command.arg("--").arg(mounter).arg(MOUNT);
                text
            }
            None => {
                let folder = (!is_hidden).then_some(&*self.folder);
                let mut text = Vec::new();
                for argument in bubblewrap::arguments(&steps, folder) {
                    text.extend_from_slice(argument.as_bytes());
                    text.push(0);
                }
                let text = in_memory(&text)?;
                command.arg("--args").arg(text.as_raw_fd().to_string()).arg("--");
                text
            }
        };
        command.arg(&self.program).args(&self.arguments);
        Ok(text)
    }

    /// The environment inside.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let own = self.enclosure.variables.iter().map(|(name, value)| (name.into(), value.into()));
        let mut all: Vec<(OsString, OsString)> = self.variables.clone();
        all.extend(own);
        all.push(("PWD".into(), self.folder.clone().into()));
        all
    }

    /// Waits until the process is over, and ends what bubblewrap has left behind: killed or failing while it
    /// builds a wall, it leaves a process that waits for ever for word from it.
    fn wait_for(&self, mut child: Child) -> io::Result<ExitStatus> {
        if matches!(self.level, Level::A | Level::B)
            && let Ok(pid) = pid_of(&child)
        {
            // Not taken away yet, so that its number stays the group's.
            let seen = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), seen), Err(Errno::INTR)) {}
            let _gone = kill_process_group(pid, Signal::KILL);
        }
        child.wait()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place where walled processes start")]
    fn command(&self, program: &std::ffi::OsStr) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.envs(self.enclosure.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.folder);
        if self.is_quiet {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        }
        command
    }

    fn not_started(&self, source: io::Error) -> WallError {
        let program = match self.level {
            Level::A | Level::B => "bubblewrap".to_owned(),
            Level::C | Level::None => self.program.to_string_lossy().into_owned(),
        };
        WallError::Start { program, source }
    }
}

/// Takes all capabilities from this thread and its children; they do not come back, because nothing
/// that is executed gains any. Root's files stay root's.
fn drop_capabilities() -> Result<(), WallError> {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(set_capabilities(None, sets).map_err(io::Error::from)?)
}

fn pid_of(child: &Child) -> Result<Pid, WallError> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| WallError::System(io::ErrorKind::InvalidData.into()))
}

/// The first process inside, as bubblewrap tells it. It leads the session that all begin in.
fn inner(text: &str) -> Option<Pid> {
    let after = text.split_once("\"child-pid\"")?.1;
    let digits = after.trim_start_matches([':', ' ']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().and_then(Pid::from_raw)
}

/// A descriptor from which a child reads this.
fn in_memory(text: &[u8]) -> Result<OwnedFd, WallError> {
    let flags = rustix::fs::MemfdFlags::empty();
    let memory = rustix::fs::memfd_create("arguments", flags).map_err(io::Error::from)?;
    let mut file = File::from(memory);
    file.write_all(text)?;
    file.rewind()?;
    Ok(file.into())
}

impl Walled {
    /// Hands a signal to what runs inside.
    pub fn signal(&self, signal: Signal) {
        // It may be over.
        let _gone = kill_process_group(self.inside.group, signal);
    }

    /// Ends what runs inside, at once: what it might do until then is what it may not do any more.
    fn end(&self) {
        self.signal(Signal::KILL);
        for process in self.inside.first.iter().chain([&self.over]) {
            let _gone = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

/// Attends to a call until it is over; its exit code is that of the command, or 128 and the signal
/// that ended it. `say` tells the one who made the call why it was ended.
pub fn finish(
    walled: Walled,
    attendants: &mut [&mut dyn Attendant],
    say: &dyn Fn(&str),
) -> Result<u8, WallError> {
    let mut round = FIRST_ROUND;
    while !wait(&walled, attendants, &round)? {
        round = ROUND;
        // Before anyone looks: what comes from here on wakes all of them again.
        notices::begin();
        notices::drain();
        walled.signals.take().for_each(|signal| walled.signal(signal));
        let ending = attendants.iter_mut().find_map(|attendant| attendant.attend());
        if let Some(Ending { reason }) = ending {
            say(&reason);
            walled.end();
            break;
        }
    }
    let status = walled.waiter.join().map_err(|_| io::Error::from(io::ErrorKind::Other))??;
    attendants.iter_mut().filter_map(|attendant| attendant.conclude()).for_each(|it| say(&it));
    Ok(code(status))
}

/// Sleeps until something is to be done; says whether the call is over.
fn wait(
    walled: &Walled,
    attendants: &[&mut dyn Attendant],
    round: &Timespec,
) -> Result<bool, WallError> {
    let mut descriptors = vec![PollFd::new(&walled.over, PollFlags::IN)];
    let theirs = attendants.iter().flat_map(|attendant| attendant.descriptors());
    let others =
        iter::once(walled.signals.woken.as_fd()).chain(theirs).chain(notices::descriptor());
    descriptors.extend(others.map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN)));
    match poll(&mut descriptors, Some(round)) {
        Ok(_) | Err(Errno::INTR) => Ok(!descriptors[0].revents().is_empty()),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

impl Caught {
    fn begin() -> Result<Self, WallError> {
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let mut come = Vec::new();
        for signal in SIGNALS {
            let flag = Arc::new(AtomicBool::new(false));
            // In this order: who is woken finds the flag.
            signal_hook::flag::register(signal.as_raw(), Arc::clone(&flag))?;
            signal_hook::low_level::pipe::register(signal.as_raw(), wake.try_clone()?)?;
            come.push((signal, flag));
        }
        Ok(Self { woken, come })
    }

    /// Those that have come since the last look.
    fn take(&self) -> impl Iterator<Item = Signal> {
        let mut bytes = [0; 64];
        // Nothing to read is no trouble.
        while (&self.woken).read(&mut bytes).is_ok_and(|count| count > 0) {}
        self.come.iter().filter(|(_, flag)| flag.swap(false, Ordering::SeqCst)).map(|it| it.0)
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes the program that it starts")]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::PermissionsExt as _,
        time::{Duration, Instant},
    };

    /// As bubblewrap does when it fails after it has made the first process inside: that one has closed the
    /// pipe for its number and waits.
    const FAILING: &str = "#!/bin/bash\neval \"exec $2>&-\"\nsleep 300 &\necho $! >left\nexit 1\n";

    #[test]
    fn what_a_failing_bubblewrap_leaves_behind_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("bwrap");
        fs::write(&program, FAILING).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let call = Call {
            program: "/bin/true".into(),
            arguments: Vec::new(),
            variables: vec![("PATH".into(), "/usr/bin:/bin".into())],
            folder: folder.path().to_owned(),
            level: Level::B,
            enclosure: Enclosure::bare(),
            tools: Tools { bubblewrap: Some(program), mounter: None },
            is_quiet: true,
        };
        let walled = call.start().unwrap();
        assert_eq!(finish(walled, &mut [], &|_| {}).unwrap(), 1);
        let left = fs::read_to_string(folder.path().join("left")).unwrap();
        assert!(ends(left.trim()), "{left} is alive");
    }

    /// Whether a process that was killed is over soon.
    fn ends(pid: &str) -> bool {
        let end = Instant::now() + Duration::from_secs(20);
        let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_over = |state: String| state.is_empty() || state.contains(") Z");
        while Instant::now() < end {
            if is_over(state()) {
                return true;
            }
            thread::yield_now();
        }
        false
    }
}
