//! The keeper's loop: one thread, one place where everything is waited for.
//!
//! What happened is written into the spool at the end of each turn, and only then told.

use super::{
    Files,
    child::{Child, Phase},
    connection::Connection,
    family::{Key, Kinship},
};
use crate::{
    clock, command,
    error::ProcError,
    process::{self, Identity, Process},
    spec::{How, Refusal, Report, Spec},
    spool::Spool,
};
use rustix::{
    event::{
        Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
    },
    io::Errno,
    process::{Pid, PidfdFlags, Resource, Rlimit, WaitOptions, WaitStatus, pidfd_open, prlimit},
};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    io,
    os::{fd::OwnedFd, unix::net::UnixListener},
    time::{Duration, Instant},
};

/// How long a keeper waits for the first engine.
const FIRST_WAIT: Duration = Duration::from_secs(30);
/// How often orphans that ended unseen are taken away, and a full disk is tried again.
const TURN_MAX: Duration = Duration::from_secs(1);
/// Children started in one turn; then others are heard again.
const STARTS_PER_TURN: usize = 8;
/// A pipe, a pidfd and a log.
const FILES_PER_CHILD: u64 = 3;
/// Our own files, and those that are open while a child is being started.
const FILES_RESERVED: u64 = 24;
const BUFFER_SIZE: usize = 64 << 10;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Listener,
    Connection(u64),
    Output(Key),
    End,
}

impl Source {
    pub(super) fn data(self) -> EventData {
        EventData::new_u64(match self {
            Self::Listener => 0,
            Self::End => 1,
            Self::Connection(number) => number << 2 | 2,
            Self::Output(key) => key << 2 | 3,
        })
    }

    fn of(event: &Event) -> Self {
        let data = event.data.u64();
        match data & 3 {
            0 => Self::Listener,
            1 => Self::End,
            2 => Self::Connection(data >> 2),
            _ => Self::Output(data >> 2),
        }
    }
}

#[derive(Debug)]
pub(super) struct Keeping {
    id: String,
    pub(super) epoll: OwnedFd,
    pub(super) listener: UnixListener,
    /// Nobody is accepted before this; `None`: everybody is.
    pub(super) deaf_until: Option<Instant>,
    pub(super) connections: HashMap<u64, Connection>,
    /// The engine that this keeper works for.
    pub(super) engine: Option<u64>,
    pub(super) had_engine: bool,
    pub(super) children: HashMap<Key, Child>,
    pub(super) by_id: HashMap<String, Key>,
    by_pid: HashMap<u32, Key>,
    pub(super) queue: VecDeque<Spec>,
    /// The ids in the queue.
    pub(super) queued: HashSet<String>,
    pub(super) slots: usize,
    pub(super) spool: Spool,
    files: Files,
    pub(super) kinship: Kinship,
    /// Those that belong to nobody any more, and when they are killed.
    pub(super) strays: HashMap<Identity, Instant>,
    /// Whether there are orphans that may belong to nobody.
    pub(super) has_orphans: bool,
    /// Whether somebody may have ended of whom no event tells.
    pub(super) is_reap_due: bool,
    /// When children have to be looked after.
    pub(super) wake: Option<Instant>,
    next_number: u64,
    born: Instant,
    buffer: Vec<u8>,
}

impl Keeping {
    pub(super) fn new(
        id: String,
        listener: UnixListener,
        spool: Spool,
        files: Files,
    ) -> Result<Self, ProcError> {
        let failed = |e| ProcError::system("wait for events", io::Error::from(e));
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        listener.set_nonblocking(true).map_err(|e| ProcError::system("listen", e))?;
        epoll::add(&epoll, &listener, Source::Listener.data(), EventFlags::IN).map_err(failed)?;
        Ok(Self {
            kinship: Kinship::new(&id),
            id,
            epoll,
            listener,
            deaf_until: None,
            connections: HashMap::new(),
            engine: None,
            had_engine: false,
            children: HashMap::new(),
            by_id: HashMap::new(),
            by_pid: HashMap::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            slots: 0,
            spool,
            files,
            strays: HashMap::new(),
            has_orphans: false,
            is_reap_due: false,
            wake: None,
            next_number: 1,
            born: clock::now(),
            buffer: vec![0; BUFFER_SIZE],
        })
    }

    pub(super) fn run(mut self) -> Result<(), ProcError> {
        let mut events: Vec<Event> = Vec::with_capacity(64);
        let mut last_reap = self.born;
        loop {
            let timeout = self.timeout(clock::now());
            events.clear();
            let space = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, space, Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(ProcError::system("wait for events", e)),
            }
            let now = clock::now();
            let mut has_ended = self.is_reap_due || now >= last_reap + TURN_MAX;
            for event in &events {
                match Source::of(event) {
                    Source::Listener => self.accept(now),
                    Source::Connection(number) => self.converse(number, now),
                    Source::Output(key) => self.hear(key, now),
                    Source::End => has_ended = true,
                }
            }
            if has_ended {
                last_reap = now;
                self.is_reap_due = false;
                self.reap(now);
            }
            if self.wake.is_some_and(|wake| now >= wake) {
                self.attend(now);
            }
            self.start_waiting();
            self.listen_again(now);
            self.tell(now);
            if self.is_over(now) {
                return Ok(());
            }
        }
    }

    fn timeout(&self, now: Instant) -> Timespec {
        let wait = match self.wake {
            _ if self.can_start() => Duration::ZERO,
            Some(wake) => wake.saturating_duration_since(now).min(TURN_MAX),
            None => TURN_MAX,
        };
        Timespec::try_from(wait).expect("a second fits")
    }

    pub(super) fn wake_at(&mut self, at: Instant) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// A keeper that nobody ever came to, or that nobody needs any more.
    fn is_over(&self, now: Instant) -> bool {
        let is_free = self.connections.is_empty() && self.children.is_empty();
        let was_wanted = self.had_engine || now >= self.born + FIRST_WAIT;
        is_free
            && was_wanted
            && self.strays.is_empty()
            && self.spool.is_written()
            && !self.has_orphans
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    pub(super) fn refuse(&mut self, id: String, why: Refusal) {
        self.spool.add(&Report::Refused { id, why });
    }

    fn can_start(&self) -> bool {
        !self.queue.is_empty() && (self.slots == 0 || self.children.len() < self.slots)
    }

    fn start_waiting(&mut self) {
        for _ in 0..STARTS_PER_TURN {
            if !self.can_start() {
                return;
            }
            let Some(spec) = self.queue.pop_front() else { return };
            let id = spec.id.clone();
            self.queued.remove(&id);
            if let Err(why) = self.start(spec) {
                self.refuse(id, why);
            }
        }
    }

    fn start(&mut self, spec: Spec) -> Result<(), Refusal> {
        let files = (self.children.len() as u64 + 1) * FILES_PER_CHILD + FILES_RESERVED;
        if files > self.files.own {
            let detail = "no more files can be opened".to_owned();
            return Err(Refusal::Busy { detail });
        }
        let failed = |e: io::Error| command::refusal(&spec, &e);
        let (pipe, output) = io::pipe().map_err(failed)?;
        rustix::io::ioctl_fionbio(&pipe, true).map_err(|e| failed(e.into()))?;
        let key = self.number();
        let data = Source::Output(key).data();
        epoll::add(&self.epoll, &pipe, data, EventFlags::IN).map_err(|e| failed(e.into()))?;
        let mut process = command::start(&spec, &self.id, output)?;
        let pid = process.id();
        let pidfd = match self.watch(pid) {
            Ok(pidfd) => pidfd,
            Err(e) => {
                // It is not ended yet or not taken away yet, so the number is still its own.
                drop(process.kill().and_then(|()| process.wait()));
                return Err(failed(e.into()));
            }
        };
        self.limit(pid, &spec);
        let start = Process::read(pid).ok().flatten().map_or(0, |found| found.identity.start);
        let identity = Identity { pid, start };
        self.spool.add(&Report::Started { id: spec.id.clone(), pid, start: identity.start });
        self.by_id.insert(spec.id.clone(), key);
        self.by_pid.insert(pid, key);
        let child = Child::new(spec, identity, pidfd, pipe);
        if let Some(deadline) = child.deadline() {
            self.wake_at(deadline);
        }
        self.children.insert(key, child);
        Ok(())
    }

    fn watch(&self, pid: u32) -> Result<OwnedFd, Errno> {
        let pid = raw(pid).ok_or(Errno::SRCH)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        epoll::add(&self.epoll, &pidfd, Source::End.data(), EventFlags::IN)?;
        Ok(pidfd)
    }

    /// The keeper's own limits are not meant for its children; theirs can only be set from outside
    /// without code that runs between fork and exec.
    fn limit(&self, pid: u32, spec: &Spec) {
        let exactly = |count| Rlimit { current: Some(count), maximum: Some(count) };
        let files = spec.limits.open_files.map(exactly).or(self.files.children);
        let processes = spec.limits.processes.map(exactly);
        for (resource, limit) in [(Resource::Nofile, files), (Resource::Nproc, processes)] {
            if let Some(limit) = limit {
                // It may have ended already; and a limit above the hard one is none.
                let _unlimited = prlimit(raw(pid), resource, limit);
            }
        }
    }

    fn hear(&mut self, key: Key, now: Instant) {
        if let Some(child) = self.children.get_mut(&key) {
            child.hear(&mut self.buffer, now);
            if child.pipe.is_none() && child.has_exited() {
                self.wake_at(now);
            }
        }
    }

    /// Takes away everything that has ended, children and orphans.
    fn reap(&mut self, now: Instant) {
        let mut ended = Vec::new();
        let mut is_alone = false;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let pid = pid.as_raw_nonzero().get().unsigned_abs();
                    if let Some(key) = self.by_pid.remove(&pid)
                        && let Some(child) = self.children.get_mut(&key)
                    {
                        child.exited(how(status), now);
                        child.hear(&mut self.buffer, now);
                        ended.push(key);
                    }
                }
                Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => {
                    is_alone = true;
                    break;
                }
            }
        }
        self.has_orphans = !is_alone && self.adopted();
        if self.has_orphans || !self.strays.is_empty() {
            return self.wake_at(now);
        }
        for key in ended {
            let child = &self.children[&key];
            match child.phase {
                Phase::Draining { until } if child.pipe.is_some() => self.wake_at(until),
                Phase::Draining { .. } => self.finish(key, now),
                _ => self.wake_at(now),
            }
        }
    }

    /// Whether the keeper has children that it did not start.
    fn adopted(&self) -> bool {
        match process::own_children() {
            Ok(pids) => pids.iter().any(|pid| !self.by_pid.contains_key(pid)),
            // Unknown: then everything is looked at.
            Err(_) => true,
        }
    }

    pub(super) fn finish(&mut self, key: Key, now: Instant) {
        let Some(child) = self.children.remove(&key) else { return };
        self.by_id.remove(&child.id);
        // One that could not be killed is taken away as an orphan when it ends after all.
        if self.by_pid.get(&child.identity.pid) == Some(&key) {
            self.by_pid.remove(&child.identity.pid);
        }
        let (id, ended) = child.finish(&mut self.buffer, now);
        self.spool.add(&Report::Ended { id, ended });
    }
}

fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn how(status: WaitStatus) -> How {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => How::Exited(code),
        (None, Some(signal)) => How::Signalled(signal),
        (None, None) => How::Signalled(0),
    }
}
