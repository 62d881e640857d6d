//! The engine's end of a keeper.
//!
//! All of it can be used from several threads: one may wait for reports while another asks.

use crate::{
    clock,
    error::ProcError,
    keeper::READY,
    open_files,
    place::Place,
    process::Identity,
    spec::{INPUT_SIZE_MAX, Lease, Report, Spec, Stop},
    wire::{self, Lines, Request, VERSION, Welcome},
};
use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvFlags, recv},
    process::{Pid, PidfdFlags, pidfd_open},
};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write as _},
    net::Shutdown,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::{net::UnixStream, process::ExitStatusExt as _},
    },
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How long a keeper may take to begin, on a machine that has much else to do.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to answer or to take a request; it never does anything else for long.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// How long one may take to end that did not become a keeper.
const LAST_PATIENCE: Duration = Duration::from_secs(1);
/// How long a keeper that is not needed any more may take to end.
const END_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// How often a keeper is started that is killed before it answers.
const STARTS_MAX: usize = 3;
const PIECE_SIZE: usize = 64 << 10;

/// A keeper that answers.
///
/// When this is dropped, the keeper goes on with what runs, starts nothing new, and ends by itself.
#[derive(Debug)]
pub struct Keeper {
    place: Place,
    stream: UnixStream,
    writing: Mutex<()>,
    reading: Mutex<Lines>,
    /// The keeper's process if it was started here, to take it away when it has ended.
    process: Mutex<Option<Child>>,
    nudges: bool,
    leases: bool,
}

impl Keeper {
    /// Starts `program… FOLDER/ID` and waits until it answers; again if it is killed meanwhile.
    pub fn start(folder: &Path, program: &[OsString]) -> Result<Self, ProcError> {
        let mut started = Self::start_once(folder, program);
        for _ in 1..STARTS_MAX {
            match started {
                Err(ProcError::Gone { .. }) => started = Self::start_once(folder, program),
                _ => break,
            }
        }
        started
    }

    fn start_once(folder: &Path, program: &[OsString]) -> Result<Self, ProcError> {
        let place = Place::create(folder)?;
        let started = launch(&place, program).and_then(|process| {
            let connected = Self::connect(&place)?;
            let keeper = connected.ok_or_else(|| ProcError::Gone { id: place.id.clone() })?;
            *lock(&keeper.process) = Some(process);
            Ok(keeper)
        });
        if started.is_err() {
            // Nothing was started in it, so nothing can be lost with it.
            let _left_over = place.remove();
        }
        started
    }

    /// Connects to a keeper that runs; `None`: no keeper listens.
    ///
    /// Its whole past is there when this returns: the next call of [`Self::next`] gives it.
    pub(crate) fn connect(place: &Place) -> Result<Option<Self>, ProcError> {
        let Some(stream) = place.connect()? else { return Ok(None) };
        let set = stream.set_write_timeout(Some(ANSWER_PATIENCE));
        set.map_err(|e| ProcError::system("set the timeout of a socket", e))?;
        let mut keeper = Self {
            place: place.clone(),
            stream,
            writing: Mutex::new(()),
            reading: Mutex::new(Lines::default()),
            process: Mutex::new(None),
            nudges: false,
            leases: false,
        };
        let hello = Request::Hello { version: VERSION, from: 0, nudges: true, leases: true };
        keeper.send(&wire::line(&hello))?;
        let welcome = keeper.read_past()?;
        (keeper.nudges, keeper.leases) = (welcome.nudges, welcome.leases);
        Ok(Some(keeper))
    }

    /// Reads all that has happened by now, and says what the keeper can do.
    fn read_past(&self) -> Result<Welcome, ProcError> {
        let deadline = clock::now() + ANSWER_PATIENCE;
        let mut lines = lock(&self.reading);
        let welcome = loop {
            self.receive(&mut lines, deadline)?;
            if let Some(welcome) = lines.next::<Welcome>()? {
                break welcome;
            }
        };
        if welcome.version != VERSION {
            let (id, found) = (self.place.id.clone(), welcome.version);
            return Err(ProcError::OtherVersion { id, found, known: VERSION });
        }
        while (lines.waiting() as u64) < welcome.spool {
            self.receive(&mut lines, deadline)?;
        }
        Ok(welcome)
    }

    pub fn id(&self) -> &str {
        &self.place.id
    }

    /// The keeper's own process; `None`: it is gone.
    pub fn process(&self) -> Option<Identity> {
        self.place.owner().map(|owner| owner.process).filter(|process| process.is_alive())
    }

    /// How many children may run at once; the others wait in the keeper. 0, as at the start: any
    /// number.
    pub fn set_slots(&self, slots: usize) -> Result<(), ProcError> {
        self.send(&wire::line(&Request::Slots(slots)))
    }

    /// Starts children, in this order. Each is answered by a report that it started or was refused.
    pub fn spawn(&self, specs: Vec<Spec>) -> Result<(), ProcError> {
        let mut lines = Vec::with_capacity(specs.len() * 1024);
        for mut spec in specs {
            if let Some(talk) = &mut spec.talk {
                talk.opening = write_pieces(&mut lines, &talk.opening)?.to_vec();
            }
            wire::write_line(&mut lines, &Request::Spawn(Box::new(spec)));
        }
        self.send(&lines)
    }

    /// Ends a child's whole tree: SIGTERM, SIGCONT, its grace, SIGKILL. One that still waits for
    /// its turn is withdrawn; one that has ended already is left alone.
    pub fn stop(&self, id: &str, why: Stop) -> Result<(), ProcError> {
        self.send(&wire::line(&Request::Stop { id: id.to_owned(), why }))
    }

    /// Makes a child's whole tree stand still; its limits do so too.
    pub fn pause(&self, id: &str) -> Result<(), ProcError> {
        self.send(&wire::line(&Request::Pause { id: id.to_owned() }))
    }

    pub fn resume(&self, id: &str) -> Result<(), ProcError> {
        self.send(&wire::line(&Request::Resume { id: id.to_owned() }))
    }

    /// Adds to the input of a child that is spoken with; all of it or, if this fails, perhaps
    /// nothing. Once this has returned, the child gets it for as long as it reads and the keeper
    /// lives, whatever becomes of this engine.
    ///
    /// Nothing happens if the child has ended, closed its input, or was hung up on. If it has left
    /// more than [`INPUT_SIZE_MAX`] unread, it is stopped ([`crate::How::Deaf`]).
    pub fn say(&self, id: &str, input: &[u8]) -> Result<(), ProcError> {
        let mut lines = Vec::with_capacity(input.len() + 128);
        let input = write_pieces(&mut lines, input)?.to_vec();
        wire::write_line(&mut lines, &Request::Say { id: id.to_owned(), input });
        self.send(&lines)
    }

    /// Closes a child's input behind all that was said.
    pub fn hang_up(&self, id: &str) -> Result<(), ProcError> {
        self.send(&wire::line(&Request::HangUp { id: id.to_owned() }))
    }

    /// Says what a child may do from now on without a further word. Nothing happens where another
    /// version started the keeper, which knows no leases; nor if the child has ended.
    pub fn renew(&self, id: &str, lease: Lease) -> Result<(), ProcError> {
        match self.leases {
            true => self.send(&wire::line(&Request::Renew { id: id.to_owned(), lease })),
            false => Ok(()),
        }
    }

    /// Everything that has come, in order; waits up to `timeout` if nothing has.
    pub fn next(&self, timeout: Duration) -> Result<Vec<Report>, ProcError> {
        self.next_unless(None, timeout)
    }

    /// What has come since the last call, without waiting. `None`: nothing has, so that no child has
    /// said anything either, if the keeper tells that (it does unless another version started it).
    pub fn news(&self) -> Result<Option<Vec<Report>>, ProcError> {
        let mut lines = lock(&self.reading);
        let has_come = self.receive_what_is_there(&mut lines)? || lines.waiting() > 0;
        let mut reports = Vec::new();
        while let Some(report) = lines.next()? {
            reports.push(report);
        }
        Ok((has_come || !self.nudges).then_some(reports))
    }

    /// As `next`; returns as well when `bell` can be read from.
    pub fn next_or(
        &self,
        bell: BorrowedFd<'_>,
        timeout: Duration,
    ) -> Result<Vec<Report>, ProcError> {
        self.next_unless(Some(bell), timeout)
    }

    fn next_unless(
        &self,
        bell: Option<BorrowedFd<'_>>,
        timeout: Duration,
    ) -> Result<Vec<Report>, ProcError> {
        let deadline = clock::after(clock::now(), timeout);
        let mut lines = lock(&self.reading);
        loop {
            self.receive_what_is_there(&mut lines)?;
            let mut reports = Vec::new();
            while let Some(report) = lines.next()? {
                reports.push(report);
            }
            let sources = [Some(self.stream.as_fd()), bell];
            let is_more = || {
                let ready = wait_for_any(sources.into_iter().flatten(), deadline)?;
                Ok::<bool, ProcError>(ready == Some(0))
            };
            if !reports.is_empty() || !is_more()? {
                return Ok(reports);
            }
        }
    }

    /// Hangs up; what is left is where it is, and its process if it was started here.
    pub(crate) fn into_parts(self) -> (Place, Option<Child>) {
        let Self { place, process, .. } = self;
        (place, process.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends a keeper that has nothing left to keep, and removes its folder. If it turns out that it
    /// has, it is left to itself, as if this had been dropped.
    pub fn close(self) -> Result<(), ProcError> {
        let hung_up = self.stream.shutdown(Shutdown::Both);
        hung_up.map_err(|e| ProcError::system("hang up", e))?;
        let deadline = clock::now() + END_PATIENCE;
        // Its lock is free a moment before it is gone.
        while self.process().is_some() {
            if clock::now() >= deadline {
                return Ok(());
            }
            thread::sleep(LOOK_AGAIN);
        }
        if let Some(mut process) = lock(&self.process).take() {
            process.wait().map_err(|e| ProcError::system("wait for a keeper", e))?;
        }
        match self.place.try_lock()? {
            Some(_held) => self.place.remove(),
            None => Ok(()),
        }
    }

    fn send(&self, lines: &[u8]) -> Result<(), ProcError> {
        let _turn = lock(&self.writing);
        (&self.stream).write_all(lines).map_err(|_| self.gone())
    }

    /// Receives something, waiting for it until `deadline`.
    fn receive(&self, lines: &mut Lines, deadline: Instant) -> Result<(), ProcError> {
        if self.wait(deadline)? {
            return self.receive_what_is_there(lines).map(drop);
        }
        Err(ProcError::protocol(format!("the keeper {} is silent", self.place.id)))
    }

    /// Says whether anything was there.
    fn receive_what_is_there(&self, lines: &mut Lines) -> Result<bool, ProcError> {
        // Not written to beforehand: most looks find nothing, and there are many of them.
        let mut piece = Vec::with_capacity(PIECE_SIZE);
        let mut has_come = false;
        loop {
            piece.clear();
            match recv(&self.stream, spare_capacity(&mut piece), RecvFlags::DONTWAIT) {
                // What came before the end still counts.
                Ok((0, _)) if has_come => return Ok(true),
                Ok((0, _)) => return Err(self.gone()),
                Ok(_) => lines.push(&piece),
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => return Ok(has_come),
                Err(_) if has_come => return Ok(true),
                Err(_) => return Err(self.gone()),
            }
            has_come = true;
        }
    }

    /// Whether something came before `deadline`.
    fn wait(&self, deadline: Instant) -> Result<bool, ProcError> {
        wait_for(&self.stream, deadline)
    }

    fn gone(&self) -> ProcError {
        ProcError::Gone { id: self.place.id.clone() }
    }
}

/// To wait for several keepers at once. What is readable may be half a report, or nothing but the
/// word that a child which is spoken with has said something.
impl AsFd for Keeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn write_pieces<'a>(lines: &mut Vec<u8>, input: &'a [u8]) -> Result<&'a [u8], ProcError> {
    if input.len() > INPUT_SIZE_MAX {
        return Err(ProcError::TooLong { size: input.len(), max: INPUT_SIZE_MAX });
    }
    Ok(wire::write_pieces(lines, input))
}

/// A thread that panicked while it held the lock has left nothing half-done in it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait_for(source: &impl AsFd, deadline: Instant) -> Result<bool, ProcError> {
    Ok(wait_for_any([source.as_fd()], deadline)?.is_some())
}

/// The first of the sources that can be read from before `deadline`.
fn wait_for_any<'a>(
    sources: impl IntoIterator<Item = BorrowedFd<'a>>,
    deadline: Instant,
) -> Result<Option<usize>, ProcError> {
    let mut sources: Vec<PollFd<'a>> =
        sources.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    loop {
        let left = deadline.saturating_duration_since(clock::now());
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut sources, timeout.as_ref()) {
            Ok(_) => return Ok(sources.iter().position(|it| !it.revents().is_empty())),
            Err(Errno::INTR) => {}
            Err(e) => return Err(ProcError::system("wait for a keeper", e)),
        }
    }
}

/// Starts the keeper's process and waits for the word that it listens.
fn launch(place: &Place, program: &[OsString]) -> Result<Child, ProcError> {
    let failed = |detail: String| {
        let words: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
        ProcError::Start { program: words.join(" "), detail }
    };
    let (name, arguments) =
        program.split_first().ok_or_else(|| failed("no program is given".into()))?;
    let stderr = place.stderr();
    let errors = File::create_new(&stderr).map_err(|e| ProcError::file("make", &stderr, e))?;
    #[expect(clippy::disallowed_methods, reason = "a keeper starts what has to be kept")]
    let mut command = Command::new(name);
    // Not in a process group of its own: the leader of one cannot make a session.
    command.args(arguments).arg(&place.folder).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
    open_files::tell(&mut command);
    let mut process = command.spawn().map_err(|e| failed(e.to_string()))?;
    let word = process.stdout.take().map_or_else(Vec::new, read_word);
    if word == READY {
        return Ok(process);
    }
    if wait_out(&mut process).is_some_and(|status| status.signal().is_some()) {
        return Err(ProcError::Gone { id: place.id.clone() });
    }
    let killed = process.kill().and_then(|()| process.wait());
    let said = fs::read_to_string(&stderr).unwrap_or_default();
    Err(failed(match (said.trim(), killed) {
        ("", Ok(status)) => format!("it ended with {status}"),
        ("", Err(e)) => e.to_string(),
        (said, _) => said.to_owned(),
    }))
}

/// How a process ended that has said its last, if it does so soon.
fn wait_out(process: &mut Child) -> Option<ExitStatus> {
    let end = pidfd_open(Pid::from_child(process), PidfdFlags::empty()).ok()?;
    wait_for(&end, clock::now() + LAST_PATIENCE).ok()?;
    process.try_wait().ok().flatten()
}

fn read_word(mut output: impl io::Read + AsFd) -> Vec<u8> {
    let deadline = clock::now() + START_PATIENCE;
    let (mut word, mut piece) = (Vec::new(), [0; READY.len()]);
    while word.len() < READY.len() && matches!(wait_for(&output, deadline), Ok(true)) {
        match output.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => word.extend_from_slice(&piece[..count]),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};

    /// A keeper of a version that knew no leases hangs up at a word that it does not know.
    #[test]
    fn nothing_is_said_of_leases_to_a_keeper_that_does_not_know_them() {
        for (knows, want) in [(false, vec!["stop"]), (true, vec!["renew", "stop"])] {
            let folder = tempfile::tempdir().unwrap();
            let place = Place::create(folder.path()).unwrap();
            let listener = place.listen().unwrap();
            let keeper = thread::spawn(move || {
                let (stream, _) = listener.accept().unwrap();
                let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
                let hello = lines.next().unwrap();
                assert!(hello.starts_with("{\"hello\":"), "{hello}");
                let more = if knows { ",\"leases\":true" } else { "" };
                let welcome = format!("{{\"version\":{VERSION},\"spool\":0{more}}}\n");
                (&stream).write_all(welcome.as_bytes()).unwrap();
                lines.map(|line| line.split('"').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
            });
            let engine = Keeper::connect(&place).unwrap().unwrap();
            let span = Duration::from_secs(1);
            let lease = Lease { span, is_tied: false, time: None, stall: None };
            engine.renew("T1", lease).unwrap();
            engine.stop("T1", Stop::Asked).unwrap();
            drop(engine);
            assert_eq!(keeper.join().unwrap(), want);
        }
    }
}
