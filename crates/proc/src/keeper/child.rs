//! One child of a keeper: how it stands, what it may still use, and what is done to its tree.

use super::speech::Speech;
use crate::{
    capture::Capture,
    cgroup::Group,
    clock,
    process::{self, Identity, Process},
    spec::{Ended, How, Lease, Limits, Spec, Stop},
};
use rustix::{io::Errno, process::Signal};
use std::{
    collections::HashSet,
    io::PipeReader,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};
use waypost_redact::Sieve;

/// How long what a child left behind may take to end by itself: a `tee` has to write its last.
const DRAIN: Duration = Duration::from_secs(1);
/// How long the system may take to end what was killed.
const KILL_PATIENCE: Duration = Duration::from_secs(10);
/// More than a pipe holds by default; a flood must not keep the keeper from its other children.
const READS_MAX: usize = 4;
/// The most that a pipe can hold, for the last look into it.
const LAST_READS_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Child {
    pub(super) id: String,
    pub(super) identity: Identity,
    /// `None`: its first process has ended.
    pub(super) pidfd: Option<OwnedFd>,
    /// To its log; `None`: everybody has closed the other end.
    pipe: Option<PipeReader>,
    /// What its output goes through on its way to the log.
    sieve: Sieve,
    capture: Capture,
    /// `None`: it is not spoken with.
    pub(super) speech: Option<Speech>,
    /// `None`: it has none, and its tree is all that is known of it.
    group: Option<Group>,
    limits: Limits,
    /// When its lease was last renewed.
    renewed: Instant,
    started: Instant,
    /// When it last wrote or was told something.
    heard: Instant,
    exit: Option<(How, Instant)>,
    why: Option<Stop>,
    /// How much of its stream was there when it was stopped.
    stopped_at: Option<u64>,
    pub(super) phase: Phase,
    pause: Pause,
    paused: Duration,
    /// Who was asked already to end, or to stand still.
    asked: HashSet<Identity>,
    left: u32,
    forced: bool,
    survivors: u32,
}

/// Where a child is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// Its first process has ended; others, or a holder of its pipe, are still there.
    Draining {
        until: Instant,
    },
    /// All of it was asked to end.
    Stopping {
        kill_at: Instant,
    },
    /// All of it is being killed.
    Killing {
        give_up_at: Instant,
    },
}

/// Whether a child is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    No,
    /// Some of it may still move.
    Begun {
        since: Instant,
    },
    /// All of it stands still.
    Complete {
        since: Instant,
    },
    /// It has to be let go.
    Over,
}

/// What came of looking after a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Nothing to do before this.
    Until(Option<Instant>),
    /// Its tree has to be looked at again soon.
    Again,
    Over,
}

/// The keeper's ends of a child's pipes.
#[derive(Debug)]
pub(super) struct Ears {
    pub(super) log: PipeReader,
    pub(super) sieve: Sieve,
    pub(super) speech: Option<Speech>,
}

impl Child {
    pub(super) fn new(
        spec: Spec,
        identity: Identity,
        pidfd: OwnedFd,
        ears: Ears,
        group: Option<Group>,
    ) -> Self {
        let now = clock::now();
        Self {
            identity,
            pidfd: Some(pidfd),
            pipe: Some(ears.log),
            sieve: ears.sieve,
            speech: ears.speech,
            group,
            capture: Capture::new(spec.log, spec.limits.log_size),
            limits: spec.limits,
            renewed: now,
            id: spec.id,
            started: now,
            heard: now,
            exit: None,
            why: None,
            stopped_at: None,
            phase: Phase::Running,
            pause: Pause::No,
            paused: Duration::ZERO,
            asked: HashSet::new(),
            left: 0,
            forced: false,
            survivors: 0,
        }
    }

    /// Whether a process is in the group or the session that this child leads.
    ///
    /// The system gives the number to no other process while either has a member.
    pub(super) fn is_leader_of(&self, process: &Process) -> bool {
        process.group == self.identity.pid || process.session == self.identity.pid
    }

    /// Whether a process is in the control group of this child.
    pub(super) fn is_group_of(&self, process: &Process) -> bool {
        let group = self.group.as_ref();
        group.is_some_and(|group| group.pids().contains(&process.identity.pid))
    }

    /// Whether it, or a process that was given its pipes, may still write.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some() || self.speech.as_ref().is_some_and(|speech| speech.pipe.is_some())
    }

    /// Where its log comes from, while a process may write it.
    pub(super) fn log(&self) -> Option<&PipeReader> {
        self.pipe.as_ref()
    }

    /// Whether something that it wrote waits for the disk.
    pub(super) fn is_stuck(&self) -> bool {
        self.speech.as_ref().is_some_and(|speech| !speech.is_written())
    }

    /// Tries the disk again; says whether it has everything now. Meanwhile the child cannot write,
    /// so that its silence is not its own.
    pub(super) fn flush(&mut self, now: Instant) -> bool {
        self.heard = now;
        self.speech.as_mut().is_none_or(Speech::flush)
    }

    /// Takes some of what it has written; says whether its stream has more now.
    pub(super) fn hear(&mut self, buffer: &mut [u8], now: Instant) -> bool {
        self.read(buffer, READS_MAX, now);
        self.listen(buffer, READS_MAX, now)
    }

    /// Takes the last of it.
    pub(super) fn hear_all(&mut self, buffer: &mut [u8], now: Instant) {
        self.read(buffer, LAST_READS_MAX, now);
        self.listen(buffer, LAST_READS_MAX, now);
        // A process outside of its tree may hold the pipe; what was held back is told all the same.
        self.flush_sieve();
        if let Some(speech) = &mut self.speech {
            speech.flush_sieve();
        }
    }

    fn flush_sieve(&mut self) {
        let Self { sieve, capture, .. } = self;
        sieve.finish(|bytes| capture.take(bytes));
    }

    fn listen(&mut self, buffer: &mut [u8], reads_max: usize, now: Instant) -> bool {
        let Some(speech) = &mut self.speech else { return false };
        let has_come = speech.hear(buffer, reads_max);
        if has_come {
            self.heard = now;
        }
        if speech.counts().1 > 0 {
            self.stop(Stop::Flooded, now);
        }
        has_come
    }

    pub(super) fn say(&mut self, input: &[u8], now: Instant) {
        self.heard = now;
        if let Some(speech) = &mut self.speech
            && !speech.say(input)
        {
            self.stop(Stop::Deaf, now);
        }
    }

    pub(super) fn hang_up(&mut self) {
        if let Some(speech) = &mut self.speech {
            speech.hang_up();
        }
    }

    fn read(&mut self, buffer: &mut [u8], reads_max: usize, now: Instant) {
        for _ in 0..reads_max {
            let Some(pipe) = &self.pipe else { return };
            match rustix::io::read(pipe, &mut *buffer) {
                Ok(0) => self.end_log(),
                Ok(count) => {
                    self.heard = now;
                    let Self { sieve, capture, .. } = self;
                    sieve.push(&buffer[..count], |bytes| capture.take(bytes));
                }
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return,
                Err(_) => self.end_log(),
            }
        }
    }

    fn end_log(&mut self) {
        self.pipe = None;
        self.flush_sieve();
    }

    /// Its first process has ended.
    pub(super) fn exited(&mut self, how: How, now: Instant) {
        self.pidfd = None;
        self.exit = Some((how, now));
        if let Some(speech) = &mut self.speech {
            speech.close();
        }
        if self.phase == Phase::Running {
            self.pause = Pause::No;
            self.phase = Phase::Draining { until: now + DRAIN };
        }
    }

    pub(super) fn has_exited(&self) -> bool {
        self.exit.is_some()
    }

    /// Whether its tree needs no look now.
    pub(super) fn is_quiet(&self) -> bool {
        self.phase == Phase::Running && matches!(self.pause, Pause::No | Pause::Complete { .. })
    }

    /// Begins to stop it; what it is stopped for first counts.
    pub(super) fn stop(&mut self, why: Stop, now: Instant) {
        if let Phase::Running | Phase::Draining { .. } = self.phase {
            if self.exit.is_none() && self.why.is_none() {
                self.why = Some(why);
                self.stopped_at = self.speech.as_ref().map(|speech| speech.counts().0);
            }
            self.begin_to_stop(now);
        }
    }

    fn begin_to_stop(&mut self, now: Instant) {
        self.phase = Phase::Stopping { kill_at: clock::after(now, self.limits.grace) };
        self.pause = Pause::No;
        self.asked.clear();
        // Who is frozen does not hear that it should end.
        self.group.as_ref().inspect(|group| group.thaw());
    }

    pub(super) fn pause(&mut self, now: Instant) {
        if self.phase == Phase::Running && matches!(self.pause, Pause::No | Pause::Over) {
            self.pause = Pause::Begun { since: now };
            self.asked.clear();
        }
    }

    pub(super) fn resume(&mut self, now: Instant) {
        if let Pause::Begun { since } | Pause::Complete { since } = self.pause {
            let time = now - since;
            self.paused += time;
            self.heard += time;
            self.renewed += time;
            self.pause = Pause::Over;
        }
    }

    /// What it may do without a further word from now on.
    pub(super) fn renew(&mut self, lease: Lease, now: Instant) {
        // While its silence did not count, it had not begun.
        if self.limits.lease.is_none_or(|before| before.stall.is_none()) {
            self.heard = now;
        }
        self.limits.lease = Some(lease);
        self.renewed = now;
    }

    /// Its engine is one that knows no leases, and would not renew any.
    pub(super) fn forget_lease(&mut self) {
        self.limits.lease = None;
    }

    /// Whether it has to go when no engine is connected.
    pub(super) fn is_tied(&self) -> bool {
        self.limits.lease.is_some_and(|lease| lease.is_tied)
    }

    /// Looks after it, given what is alive of its tree.
    pub(super) fn attend(&mut self, members: &[Process], now: Instant) -> Care {
        if self.phase == Phase::Running
            && let Some(why) = self.overdue(now)
        {
            self.stop(why, now);
        }
        match self.phase {
            Phase::Running => self.keep(members),
            Phase::Draining { .. } if members.is_empty() && !self.is_open() => Care::Over,
            // A process outside of its tree was given its pipe; that is no reason to wait longer.
            Phase::Draining { until } if now >= until && members.is_empty() => Care::Over,
            Phase::Draining { until } if now >= until => {
                self.left = count(members);
                self.begin_to_stop(now);
                self.ask(members)
            }
            Phase::Draining { .. } => Care::Again,
            Phase::Stopping { .. } | Phase::Killing { .. }
                if members.is_empty() && self.has_exited() =>
            {
                Care::Over
            }
            Phase::Stopping { kill_at } if now >= kill_at => {
                self.forced = true;
                self.phase = Phase::Killing { give_up_at: now + KILL_PATIENCE };
                self.kill(members)
            }
            Phase::Stopping { .. } => self.ask(members),
            Phase::Killing { give_up_at } if now >= give_up_at => {
                self.survivors = count(members);
                Care::Over
            }
            Phase::Killing { .. } => self.kill(members),
        }
    }

    /// Asks those to end that were not asked yet; a stopped process has to run to hear it.
    fn ask(&mut self, members: &[Process]) -> Care {
        for process in members {
            if self.asked.insert(process.identity) {
                process::signal(process.identity, Signal::TERM);
                process::signal(process.identity, Signal::CONT);
            }
        }
        Care::Again
    }

    /// Holds what is paused and says until when nothing is to be done.
    fn keep(&mut self, members: &[Process]) -> Care {
        let since = match self.pause {
            Pause::No => return Care::Until(self.deadline()),
            Pause::Complete { .. } => return Care::Until(None),
            Pause::Over => {
                self.let_go(members);
                self.pause = Pause::No;
                return Care::Until(self.deadline());
            }
            Pause::Begun { since } => since,
        };
        let frozen = self.group.as_ref().filter(|group| group.freeze());
        let inside = frozen.map(Group::pids).unwrap_or_default();
        let is_inside = |process: &Process| inside.contains(&process.identity.pid);
        let moving: Vec<_> =
            members.iter().filter(|it| !it.is_stopped() && !is_inside(it)).collect();
        let is_frozen = inside.is_empty() || frozen.is_some_and(Group::is_frozen);
        if moving.is_empty() && !members.is_empty() && is_frozen {
            self.pause = Pause::Complete { since };
            return Care::Until(None);
        }
        for process in moving {
            // Asked politely first; one that has not stopped at the next look gets no choice.
            let first = self.asked.insert(process.identity);
            let signal = if first { Signal::TSTP } else { Signal::STOP };
            process::signal(process.identity, signal);
        }
        Care::Again
    }

    /// Ends a pause. With a group only those were stopped by us that are not in it; others may
    /// stand still for reasons of their own.
    fn let_go(&self, members: &[Process]) {
        self.group.as_ref().inspect(|group| group.thaw());
        for process in members {
            if self.group.is_none() || self.asked.contains(&process.identity) {
                process::signal(process.identity, Signal::CONT);
            }
        }
    }

    fn kill(&self, members: &[Process]) -> Care {
        self.group.as_ref().inspect(|group| group.kill());
        for process in members {
            process::signal(process.identity, Signal::KILL);
        }
        Care::Again
    }

    fn overdue(&self, now: Instant) -> Option<Stop> {
        let is_past = |deadline: Option<Instant>| deadline.is_some_and(|deadline| now >= deadline);
        match self.pause {
            Pause::Begun { .. } | Pause::Complete { .. } => None,
            _ if is_past(self.time_deadline()) => Some(Stop::TimedOut),
            _ if is_past(self.stall_deadline()) => Some(Stop::Stalled),
            _ if is_past(self.lease_deadline()) => Some(Stop::Lapsed),
            _ => None,
        }
    }

    /// When the first of its limits is reached, if nothing changes.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let limits = self.time_deadline().into_iter().chain(self.stall_deadline());
        limits.chain(self.lease_deadline()).min()
    }

    fn time_deadline(&self) -> Option<Instant> {
        let own = self.limits.time.map(|time| time.saturating_add(self.paused));
        let own = own.map(|time| clock::after(self.started, time));
        let left = self.limits.lease.and_then(|lease| lease.time);
        own.into_iter().chain(left.map(|time| clock::after(self.renewed, time))).min()
    }

    fn stall_deadline(&self) -> Option<Instant> {
        let leased = self.limits.lease.and_then(|lease| lease.stall);
        let stall = self.limits.stall.into_iter().chain(leased).min()?;
        Some(clock::after(self.heard, stall))
    }

    fn lease_deadline(&self) -> Option<Instant> {
        Some(clock::after(self.renewed, self.limits.lease?.span))
    }

    /// Tells its end, and what is to be removed.
    pub(super) fn finish(self, now: Instant) -> (String, Ended, Option<Group>) {
        let (exit, at) = self.exit.unwrap_or((How::Stopped, now));
        let captured = self.capture.finish();
        let (said, excess) = self.speech.map_or((0, 0), |speech| speech.counts());
        // One that ended before it could be stopped has said too much all the same.
        let why = self.why.or_else(|| (excess > 0).then_some(Stop::Flooded));
        let ended = Ended {
            how: why.map_or(exit, How::from),
            tail: captured.tail,
            output: captured.output + said,
            dropped: captured.dropped + excess,
            duration_ms: u64::try_from((at - self.started).as_millis()).unwrap_or(u64::MAX),
            left: self.left,
            forced: self.forced,
            survivors: self.survivors,
            lapsed: why == Some(Stop::Lapsed),
            stopped_at: self.stopped_at,
        };
        (self.id, ended, self.group)
    }
}

fn count(members: &[Process]) -> u32 {
    u32::try_from(members.len()).unwrap_or(u32::MAX)
}
