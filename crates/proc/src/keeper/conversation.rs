//! The keeper and its engine: who is listened to, what is asked, and what is told.

use super::{
    child::Child,
    connection::{After, Connection, NOTHING},
    keeping::{Keeping, Source},
};
use crate::{
    place,
    spec::{INPUT_SIZE_MAX, Refusal, Spec, Stop},
    wire::{self, Request, VERSION, Welcome},
};
use rustix::{
    event::epoll::{self, EventFlags},
    io::Errno,
};
use std::{
    io,
    time::{Duration, Instant},
};

/// How long no engine is accepted after the files ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// More than any engine claims ahead; beyond it the machine counts as busy.
const QUEUE_LENGTH_MAX: usize = 10_000;
/// With fewer than this, slots could run dry before the engine has heard and sent more.
const QUEUE_LENGTH_MIN: usize = 16;
/// How long the engine is not told what has happened while others wait for their turn: a blink to
/// a person, and tens of short children.
const GATHER: Duration = Duration::from_millis(20);
/// How much is gathered at most.
const UNTOLD_SIZE_MAX: usize = 64 << 10;
const CONNECTIONS_MAX: usize = 8;
/// How long a client may be connected without saying who it is.
const SILENCE_MAX: Duration = Duration::from_secs(5);

impl Keeping {
    pub(super) fn accept(&mut self, now: Instant) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if place::check_peer(&stream).is_err() {
                        continue;
                    }
                    self.make_room(now);
                    let number = self.number();
                    let flags = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
                    let data = Source::Connection(number).data();
                    if epoll::add(&self.epoll, &stream, data, flags).is_ok() {
                        self.connections.insert(number, Connection::new(stream, now));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // Out of files, most likely: asking again at once would be a busy loop.
                Err(_) => {
                    let _kept = epoll::delete(&self.epoll, &self.listener);
                    self.deaf_until = Some(now + ACCEPT_PAUSE);
                    return self.wake_at(now + ACCEPT_PAUSE);
                }
            }
        }
    }

    /// The client that has been silent for longest goes first.
    fn make_room(&mut self, now: Instant) {
        let engine = self.engine;
        let silent = self.connections.keys().copied().filter(|number| Some(*number) != engine);
        if self.connections.len() >= CONNECTIONS_MAX
            && let Some(oldest) = silent.min()
        {
            self.hang_up(oldest, now);
        }
    }

    pub(super) fn listen_again(&mut self, now: Instant) {
        if self.deaf_until.is_some_and(|until| now >= until) {
            let data = Source::Listener.data();
            self.deaf_until = match epoll::add(&self.epoll, &self.listener, data, EventFlags::IN) {
                Ok(()) | Err(Errno::EXIST) => None,
                Err(_) => Some(now + ACCEPT_PAUSE),
            };
        }
        if let Some(until) = self.deaf_until {
            self.wake_at(until);
        }
    }

    pub(super) fn converse(&mut self, number: u64, now: Instant) {
        loop {
            let Some(connection) = self.connections.get_mut(&number) else { return };
            let received = connection.receive();
            for request in received.requests {
                match request {
                    Request::Hello { version, from, nudges, leases } => {
                        self.replace_engine(number, version, now);
                        self.welcome(number, version, from);
                        self.wants_nudges = nudges;
                        if version == VERSION && !leases {
                            self.children.values_mut().for_each(Child::forget_lease);
                        }
                    }
                    _ if self.engine != Some(number) => return self.hang_up(number, now),
                    request => self.serve(request, now),
                }
            }
            match received.after {
                After::More => {}
                After::Silence => return,
                After::Over => return self.hang_up(number, now),
            }
        }
    }

    /// The newest engine counts: an older one is dead or has been replaced. What it said before
    /// that still holds.
    fn replace_engine(&mut self, number: u64, version: u32, now: Instant) {
        let earlier = self.engine.filter(|earlier| *earlier != number && version == VERSION);
        if let Some(earlier) = earlier {
            // What ends with its engine goes on with the next one.
            self.converse(earlier, now);
            self.connections.remove(&earlier);
            self.withdraw_all();
        }
    }

    /// Hangs up on an engine, but not before all is read that it has said.
    fn hear_out(&mut self, number: u64, now: Instant) {
        self.converse(number, now);
        self.hang_up(number, now);
    }

    fn welcome(&mut self, number: u64, version: u32, from: u64) {
        let welcome = {
            let spool = self.spool.length();
            wire::line(&Welcome { version: VERSION, spool, nudges: true, leases: true })
        };
        let Some(connection) = self.connections.get_mut(&number) else { return };
        // One that speaks another version is told so, and nothing else.
        let from = if version == VERSION { from } else { NOTHING };
        connection.begin(welcome, from);
        if version == VERSION {
            self.engine = Some(number);
            self.had_engine = true;
        }
    }

    /// Without an engine nothing new is started; what runs goes on, unless it is tied to one.
    fn hang_up(&mut self, number: u64, now: Instant) {
        self.connections.remove(&number);
        if self.engine == Some(number) {
            self.withdraw_all();
            for child in self.children.values_mut().filter(|child| child.is_tied()) {
                child.stop(Stop::Lapsed, now);
            }
            self.wake_at(now);
        }
    }

    /// There is no engine: what was not started is not.
    fn withdraw_all(&mut self) {
        self.engine = None;
        self.queued.clear();
        for spec in std::mem::take(&mut self.queue) {
            self.refuse(spec.id, Refusal::Withdrawn);
        }
    }

    /// The folder of this keeper is gone: no engine will ever find what it keeps.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.connections.clear();
        self.withdraw_all();
        self.children.values_mut().for_each(|child| child.stop(Stop::Lapsed, now));
        self.wake_at(now);
    }

    pub(super) fn tell(&mut self, now: Instant) {
        let fresh = self.spool.flush();
        self.untold.extend_from_slice(&fresh);
        if !self.gathers(now) {
            self.tell_engine(now);
        }
        self.tell_strangers(now);
    }

    /// Whether the engine is told later: it does better to hear of many ends at once, and as long
    /// as others wait here for their turn, nothing has to wait for it.
    fn gathers(&mut self, now: Instant) -> bool {
        let is_possible = !self.untold.is_empty()
            && self.untold.len() < UNTOLD_SIZE_MAX
            && self.queue.len() >= QUEUE_LENGTH_MIN;
        is_possible && now < *self.tell_at.get_or_insert(now + GATHER)
    }

    fn tell_engine(&mut self, now: Instant) {
        self.tell_at = None;
        let untold = std::mem::take(&mut self.untold);
        let Some(number) = self.engine else { return };
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let has_said = std::mem::take(&mut self.has_said) && self.wants_nudges;
        let told = connection.pump(&self.spool, &untold);
        if told
            .and_then(|()| if has_said { connection.nudge(&self.spool) } else { Ok(()) })
            .is_err()
        {
            self.hear_out(number, now);
        }
    }

    /// Those who said nothing or speak another version.
    fn tell_strangers(&mut self, now: Instant) {
        let engine = self.engine;
        let spool = &self.spool;
        self.connections.retain(|number, connection| {
            let is_welcome = now < connection.since + SILENCE_MAX;
            Some(*number) == engine || is_welcome && connection.pump(spool, &[]).is_ok()
        });
    }

    fn serve(&mut self, request: Request, now: Instant) {
        match request {
            // Both were dealt with when they came.
            Request::Hello { .. } | Request::Piece(_) => {}
            Request::Slots(slots) => self.slots = slots,
            Request::Spawn(spec) => self.enqueue(*spec),
            Request::Stop { id, why } => self.stop(&id, why, now),
            Request::Pause { id } => self.change(&id, now, Child::pause),
            Request::Resume { id } => self.change(&id, now, Child::resume),
            Request::Say { id, input } => self.say(&id, &input, now),
            Request::HangUp { id } => match self.waiting(&id).and_then(|spec| spec.talk.as_mut()) {
                Some(talk) => talk.is_all = true,
                None => self.change(&id, now, |child, _| child.hang_up()),
            },
            Request::Renew { id, lease } => match self.waiting(&id) {
                Some(spec) => spec.limits.lease = Some(lease),
                None => self.change(&id, now, |child, now| child.renew(lease, now)),
            },
        }
    }

    /// Changes a child and looks after it at once. One that is not there any more has ended, and
    /// that has been told.
    fn change(&mut self, id: &str, now: Instant, act: impl FnOnce(&mut Child, Instant)) {
        if let Some(child) = self.by_id.get(id).and_then(|key| self.children.get_mut(key)) {
            act(child, now);
            self.wake_at(now);
        }
    }

    /// One that waits for its turn.
    fn waiting(&mut self, id: &str) -> Option<&mut Spec> {
        if !self.queued.contains(id) {
            return None;
        }
        self.queue.iter_mut().find(|spec| spec.id == id)
    }

    fn say(&mut self, id: &str, input: &[u8], now: Instant) {
        let Some(spec) = self.waiting(id) else {
            return self.change(id, now, |child, now| child.say(input, now));
        };
        match &mut spec.talk {
            Some(talk) if !talk.is_all && talk.opening.len() + input.len() <= INPUT_SIZE_MAX => {
                talk.opening.extend_from_slice(input);
            }
            Some(talk) if !talk.is_all => {
                let detail = "more was said to it than is held for it".to_owned();
                self.withdraw(id, Refusal::Impossible { detail });
            }
            _ => {}
        }
    }

    /// A request may come twice; the same child is started once.
    fn enqueue(&mut self, spec: Spec) {
        if self.by_id.contains_key(&spec.id) || self.queued.contains(&spec.id) {
            return;
        }
        if self.queue.len() >= QUEUE_LENGTH_MAX {
            let detail = format!("{QUEUE_LENGTH_MAX} others are waiting already");
            return self.refuse(spec.id, Refusal::Busy { detail });
        }
        self.queued.insert(spec.id.clone());
        self.queue.push_back(spec);
    }

    fn stop(&mut self, id: &str, why: Stop, now: Instant) {
        if self.queued.contains(id) {
            return self.withdraw(id, Refusal::Withdrawn);
        }
        self.change(id, now, |child, now| child.stop(why, now));
    }

    fn withdraw(&mut self, id: &str, why: Refusal) {
        self.queued.remove(id);
        self.queue.retain(|spec| spec.id != id);
        self.refuse(id.to_owned(), why);
    }
}
