//! The keeper's loop: one thread, one place where everything is waited for.
//!
//! What happened is written into the spool at the end of each turn, and only then told.

use super::{
    Files, Means,
    child::{Child, Ears, Phase},
    connection::Connection,
    family::{Key, Kinship},
    redaction::Redaction,
    speech::Speech,
};
use crate::{
    birth::Births,
    cgroup::{Group, Home},
    clock,
    command::{self, Ends, Starter},
    error::ProcError,
    process::Identity,
    spec::{How, Refusal, Report, Spec},
    spool::Spool,
};
use rustix::{
    event::{
        Timespec,
        epoll::{self, CreateFlags, Event, EventData, EventFlags},
    },
    fs::fstat,
    io::Errno,
    process::{Pid, PidfdFlags, Resource, Rlimit, WaitOptions, WaitStatus, pidfd_open, prlimit},
};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::net::UnixListener},
    sync::Arc,
    time::{Duration, Instant},
};
use waypost_redact::{Form, Sieve};

/// How long a keeper waits for the first engine.
const FIRST_WAIT: Duration = Duration::from_secs(30);
/// How often orphans that ended unseen are taken away, and a full disk is tried again.
const TURN_MAX: Duration = Duration::from_secs(1);
/// Children started in one turn; then others are heard again.
const STARTS_PER_TURN: usize = 8;
/// How long a child lives before what it writes is listened to. Most of the shortest are gone by
/// then and are heard once, when they end; the others lose nothing, because the pipe holds it for
/// them.
const INFANCY: Duration = Duration::from_millis(10);
/// A pipe, a pidfd and a log.
const FILES_PER_CHILD: u64 = 3;
/// Two more pipes and a stream.
const FILES_PER_SPEECH: u64 = 3;
/// Our own files, and those that are open while a child is being started.
const FILES_RESERVED: u64 = 24;
const BUFFER_SIZE: usize = 64 << 10;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Listener,
    Connection(u64),
    /// What goes to the log.
    Output(Key),
    /// What is said by one that is spoken with.
    Stream(Key),
    /// Room for what is said to it.
    Input(Key),
    End,
}

impl Source {
    pub(super) fn data(self) -> EventData {
        EventData::new_u64(match self {
            Self::Listener => 0,
            Self::End => 1,
            Self::Connection(number) => number << 3 | 2,
            Self::Output(key) => key << 3 | 3,
            Self::Stream(key) => key << 3 | 4,
            Self::Input(key) => key << 3 | 5,
        })
    }

    fn of(event: &Event) -> Self {
        let data = event.data.u64();
        match data & 7 {
            0 => Self::Listener,
            1 => Self::End,
            2 => Self::Connection(data >> 3),
            3 => Self::Output(data >> 3),
            4 => Self::Stream(data >> 3),
            _ => Self::Input(data >> 3),
        }
    }
}

#[derive(Debug)]
pub(super) struct Keeping {
    starter: Starter,
    births: Births,
    redaction: Redaction,
    pub(super) epoll: OwnedFd,
    pub(super) listener: UnixListener,
    /// No engine is accepted before this; `None`: every engine is.
    pub(super) deaf_until: Option<Instant>,
    pub(super) connections: HashMap<u64, Connection>,
    /// The engine that this keeper works for.
    pub(super) engine: Option<u64>,
    pub(super) had_engine: bool,
    /// Whether the engine wants to know at once that a child has said something.
    pub(super) wants_nudges: bool,
    /// Whether one has, since the engine was last told.
    pub(super) has_said: bool,
    pub(super) children: HashMap<Key, Child>,
    pub(super) by_id: HashMap<String, Key>,
    by_pid: HashMap<u32, Key>,
    /// Those whose log is not listened to yet, and when it will be.
    infants: VecDeque<(Instant, Key)>,
    /// Those whose stream the disk does not take; they are not read from.
    stuck: HashSet<Key>,
    pub(super) queue: VecDeque<Spec>,
    /// The ids in the queue.
    pub(super) queued: HashSet<String>,
    pub(super) slots: usize,
    pub(super) spool: Spool,
    /// The end of the spool that the engine was not told yet, and when it has to be.
    pub(super) untold: Vec<u8>,
    pub(super) tell_at: Option<Instant>,
    files: Files,
    /// Held for as long as it lives; without a name when its folder is gone.
    lock: File,
    is_gone: bool,
    /// When it is looked for next.
    folder_at: Instant,
    home: Option<Home>,
    /// Groups of children that are gone, with a process in them that no signal has ended yet.
    groups: Vec<Group>,
    pub(super) kinship: Kinship,
    /// Those that belong to no child any more, and when they are killed.
    pub(super) strays: HashMap<Identity, Instant>,
    /// Whether there are orphans that may belong to no child.
    pub(super) has_orphans: bool,
    /// Whether a process may have ended without an event that tells of it.
    pub(super) is_reap_due: bool,
    /// When children have to be looked after.
    pub(super) wake: Option<Instant>,
    next_number: u64,
    born: Instant,
    buffer: Vec<u8>,
}

impl Keeping {
    pub(super) fn new(id: String, listener: UnixListener, means: Means) -> Result<Self, ProcError> {
        let failed = |e| ProcError::system("wait for events", io::Error::from(e));
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        listener.set_nonblocking(true).map_err(|e| ProcError::system("listen", e))?;
        epoll::add(&epoll, &listener, Source::Listener.data(), EventFlags::IN).map_err(failed)?;
        Ok(Self {
            kinship: Kinship::new(&id),
            births: Births::default(),
            redaction: Redaction::default(),
            starter: Starter::new(id).map_err(|e| ProcError::system("open /dev/null", e))?,
            epoll,
            listener,
            deaf_until: None,
            connections: HashMap::new(),
            engine: None,
            had_engine: false,
            wants_nudges: false,
            has_said: false,
            children: HashMap::new(),
            by_id: HashMap::new(),
            by_pid: HashMap::new(),
            infants: VecDeque::new(),
            stuck: HashSet::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            slots: 0,
            spool: means.spool,
            untold: Vec::new(),
            tell_at: None,
            files: means.files,
            lock: means.lock,
            is_gone: false,
            folder_at: clock::now(),
            home: means.home,
            groups: Vec::new(),
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
                    Source::Output(key) | Source::Stream(key) => self.hear(key, now),
                    Source::Input(key) => self.speak(key),
                    Source::End => has_ended = true,
                }
            }
            self.look_for_folder(now);
            if has_ended {
                last_reap = now;
                self.is_reap_due = false;
                self.reap(now);
                self.groups.retain(|group| !group.remove());
            }
            self.try_disk_again(now);
            self.listen_to_infants(now);
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

    /// Notices that the folder of this keeper was removed, with the project most likely. One that
    /// was moved keeps its files, and those who hold them.
    fn look_for_folder(&mut self, now: Instant) {
        if self.is_gone || now < self.folder_at {
            return;
        }
        self.folder_at = now + TURN_MAX;
        // Where it cannot be told, it is there.
        self.is_gone = fstat(&self.lock).is_ok_and(|found| found.st_nlink == 0);
        if self.is_gone {
            self.give_up(now);
        }
    }

    fn timeout(&self, now: Instant) -> Timespec {
        let infant = self.infants.front().map(|(at, _)| *at);
        let next = self.wake.into_iter().chain(self.tell_at).chain(infant).min();
        let wait = match next {
            _ if self.can_start() => Duration::ZERO,
            Some(next) => next.saturating_duration_since(now).min(TURN_MAX),
            None => TURN_MAX,
        };
        Timespec::try_from(wait).expect("a second fits")
    }

    pub(super) fn wake_at(&mut self, at: Instant) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// A keeper that no engine ever came to, or that no engine needs any more.
    fn is_over(&self, now: Instant) -> bool {
        let is_free = self.connections.is_empty() && self.children.is_empty();
        let was_wanted = self.had_engine || now >= self.born + FIRST_WAIT;
        is_free
            && (was_wanted && self.spool.is_written() || self.is_gone)
            && self.strays.is_empty()
            && !self.has_orphans
            && self.groups.is_empty()
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
        let talkers = self.children.values().filter(|child| child.speech.is_some()).count() as u64;
        let files = (self.children.len() as u64 + 1) * FILES_PER_CHILD
            + (talkers + u64::from(spec.talk.is_some())) * FILES_PER_SPEECH;
        if files + FILES_RESERVED > self.files.own {
            let detail = "no more files can be opened".to_owned();
            return Err(Refusal::Busy { detail });
        }
        let key = self.number();
        let (ears, ends) = self.pipes(key, &spec).map_err(|e| command::refusal(&spec, &e))?;
        let before = clock::ticks();
        let (pid, pidfd) = self.begin(&spec, &ends).inspect_err(|_| {
            if let Some(talk) = &spec.talk {
                Speech::undo(talk);
            }
        })?;
        self.limit(pid, &spec);
        let identity = Identity { pid, start: self.births.of(pid, before) };
        self.spool.add(&Report::Started { id: spec.id.clone(), pid, start: identity.start });
        self.by_id.insert(spec.id.clone(), key);
        self.by_pid.insert(pid, key);
        let home = self.home.as_ref().filter(|_| spec.limits.cgroup);
        let group = home.and_then(|home| home.make(key, pid));
        let child = Child::new(spec, identity, pidfd, ears, group);
        if let Some(deadline) = child.deadline() {
            self.wake_at(deadline);
        }
        self.infants.push_back((clock::now() + INFANCY, key));
        self.children.insert(key, child);
        self.speak(key);
        Ok(())
    }

    /// A child's pipes, both ends; ours are watched, that of the log from later on.
    fn pipes(&mut self, key: Key, spec: &Spec) -> io::Result<(Ears, Ends)> {
        let (log, child_log) = io::pipe()?;
        rustix::io::ioctl_fionbio(&log, true)?;
        let mut ends = Ends { log: child_log, talk: None };
        let searcher = self.redaction.searcher(&spec.secrets);
        let sieve = Sieve::new(Arc::clone(&searcher), Form::Text);
        let Some(talk) = &spec.talk else { return Ok((Ears { log, sieve, speech: None }, ends)) };
        let speech = Speech::begin(talk, searcher, &mut ends)?;
        self.watch_speech(key, &speech).inspect_err(|_| Speech::undo(talk))?;
        Ok((Ears { log, sieve, speech: Some(speech) }, ends))
    }

    fn watch_speech(&self, key: Key, speech: &Speech) -> io::Result<()> {
        if let Some(pipe) = &speech.pipe {
            epoll::add(&self.epoll, pipe, Source::Stream(key).data(), EventFlags::IN)?;
        }
        if let Some(input) = &speech.input {
            // There is room most of the time; only when it comes back is worth an event.
            let flags = EventFlags::OUT | EventFlags::ET;
            epoll::add(&self.epoll, input, Source::Input(key).data(), flags)?;
        }
        Ok(())
    }

    fn begin(&mut self, spec: &Spec, ends: &Ends) -> Result<(u32, OwnedFd), Refusal> {
        let mut process = self.starter.start(spec, ends)?;
        let pid = process.id();
        match self.watch(pid) {
            Ok(pidfd) => Ok((pid, pidfd)),
            Err(e) => {
                // It is not ended yet or not taken away yet, so the number is still its own.
                drop(process.kill().and_then(|()| process.wait()));
                Err(command::refusal(spec, &e.into()))
            }
        }
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

    /// Listens from now on to those who are old enough.
    fn listen_to_infants(&mut self, now: Instant) {
        while let Some((at, key)) = self.infants.front().copied() {
            let log = self.children.get(&key).and_then(Child::log);
            if log.is_some() && now < at {
                return;
            }
            self.infants.pop_front();
            let data = Source::Output(key).data();
            let watched =
                log.map_or(Ok(()), |log| epoll::add(&self.epoll, log, data, EventFlags::IN));
            if watched.is_err() {
                // The system is short of something; nothing is lost meanwhile.
                self.infants.push_back((now + INFANCY, key));
                return;
            }
        }
    }

    fn hear(&mut self, key: Key, now: Instant) {
        let Some(child) = self.children.get_mut(&key) else { return };
        let was_quiet = child.is_quiet();
        self.has_said |= child.hear(&mut self.buffer, now);
        let is_due = !child.is_open() && child.has_exited() || was_quiet && !child.is_quiet();
        if is_due {
            self.wake_at(now);
        }
        self.hold_if_stuck(key);
    }

    fn speak(&mut self, key: Key) {
        if let Some(speech) = self.children.get_mut(&key).and_then(|child| child.speech.as_mut()) {
            speech.speak();
        }
    }

    /// Reads no more from a child whose stream the disk does not take: its pipe fills up, and it
    /// waits as it would for any slow reader.
    fn hold_if_stuck(&mut self, key: Key) -> bool {
        let child = self.children.get(&key).filter(|child| child.is_stuck() && !self.is_gone);
        let Some(child) = child else { return false };
        if self.stuck.insert(key)
            && let Some(pipe) = child.speech.as_ref().and_then(|speech| speech.pipe.as_ref())
        {
            let _unwatched_already = epoll::delete(&self.epoll, pipe);
        }
        true
    }

    fn try_disk_again(&mut self, now: Instant) {
        for key in std::mem::take(&mut self.stuck) {
            let Some(child) = self.children.get_mut(&key) else { continue };
            let pipe = match child.flush(now) {
                true => {
                    self.has_said = true;
                    child.speech.as_ref().and_then(|speech| speech.pipe.as_ref())
                }
                false => {
                    self.stuck.insert(key);
                    continue;
                }
            };
            let data = Source::Stream(key).data();
            match pipe.map_or(Ok(()), |pipe| epoll::add(&self.epoll, pipe, data, EventFlags::IN)) {
                Ok(()) | Err(Errno::EXIST) => self.wake_at(now),
                Err(_) => drop(self.stuck.insert(key)),
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
                Phase::Draining { until } if child.is_open() => self.wake_at(until),
                Phase::Draining { .. } => self.finish(key, now),
                _ => self.wake_at(now),
            }
        }
    }

    /// Whether the keeper has children that it did not start.
    fn adopted(&self) -> bool {
        match self.kinship.own_children() {
            Ok(pids) => pids.iter().any(|pid| !self.by_pid.contains_key(pid)),
            // Unknown: then everything is looked at.
            Err(_) => true,
        }
    }

    pub(super) fn finish(&mut self, key: Key, now: Instant) {
        if let Some(child) = self.children.get_mut(&key) {
            child.hear_all(&mut self.buffer, now);
        }
        // Its end would say that all of its words are there.
        if self.hold_if_stuck(key) {
            return;
        }
        let Some(child) = self.children.remove(&key) else { return };
        self.by_id.remove(&child.id);
        // One that could not be killed is taken away as an orphan when it ends after all.
        if self.by_pid.get(&child.identity.pid) == Some(&key) {
            self.by_pid.remove(&child.identity.pid);
        }
        let (id, ended, group) = child.finish(now);
        if let Some(group) = group {
            group.kill();
            self.groups.extend(Some(group).filter(|group| !group.remove()));
        }
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
