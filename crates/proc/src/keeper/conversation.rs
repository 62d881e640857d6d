//! The keeper and its engine: who is listened to, what is asked, and what is told.

use super::{
    child::Child,
    connection::{Connection, NOTHING},
    keeping::{Keeping, Source},
};
use crate::{
    place,
    spec::{Refusal, Spec, Stop},
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

/// How long nobody is accepted after the files ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// More than any engine claims ahead; beyond it the machine counts as busy.
const QUEUE_LENGTH_MAX: usize = 10_000;
const CONNECTIONS_MAX: usize = 8;
/// How long somebody may be connected without saying who it is.
const SILENCE_MAX: Duration = Duration::from_secs(5);

impl Keeping {
    pub(super) fn accept(&mut self, now: Instant) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if place::check_peer(&stream).is_err() {
                        continue;
                    }
                    self.make_room();
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

    /// Whoever has been silent for longest goes first.
    fn make_room(&mut self) {
        let engine = self.engine;
        let silent = self.connections.keys().copied().filter(|number| Some(*number) != engine);
        if self.connections.len() >= CONNECTIONS_MAX
            && let Some(oldest) = silent.min()
        {
            self.hang_up(oldest);
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
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let received = connection.receive();
        for request in received.requests {
            match request {
                Request::Hello { version, from } => self.welcome(number, version, from),
                _ if self.engine != Some(number) => return self.hang_up(number),
                request => self.serve(request, now),
            }
        }
        if received.is_over {
            self.hang_up(number);
        }
    }

    /// The newest engine counts: an older one is dead or has been replaced.
    fn welcome(&mut self, number: u64, version: u32, from: u64) {
        let welcome = wire::line(&Welcome { version: VERSION, spool: self.spool.length() });
        if version == VERSION
            && let Some(earlier) = self.engine.filter(|earlier| *earlier != number)
        {
            self.hang_up(earlier);
        }
        let Some(connection) = self.connections.get_mut(&number) else { return };
        // One that speaks another version is told so, and nothing else.
        let from = if version == VERSION { from } else { NOTHING };
        connection.begin(welcome, from);
        if version == VERSION {
            self.engine = Some(number);
            self.had_engine = true;
        }
    }

    /// Without an engine nothing new is started; what runs goes on.
    fn hang_up(&mut self, number: u64) {
        self.connections.remove(&number);
        if self.engine == Some(number) {
            self.engine = None;
            self.queued.clear();
            for spec in std::mem::take(&mut self.queue) {
                self.refuse(spec.id, Refusal::Withdrawn);
            }
        }
    }

    pub(super) fn tell(&mut self, now: Instant) {
        let fresh = self.spool.flush();
        let Some(number) = self.engine else { return self.tell_strangers(now) };
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if connection.pump(&self.spool, &fresh).is_err() {
            self.hang_up(number);
        }
        self.tell_strangers(now);
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
            Request::Hello { .. } => {}
            Request::Slots(slots) => self.slots = slots,
            Request::Spawn(spec) => self.enqueue(*spec),
            Request::Stop { id, why } => self.stop(&id, why, now),
            Request::Pause { id } => self.change(&id, now, Child::pause),
            Request::Resume { id } => self.change(&id, now, Child::resume),
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
        if self.queued.remove(id) {
            self.queue.retain(|spec| spec.id != id);
            return self.refuse(id.to_owned(), Refusal::Withdrawn);
        }
        self.change(id, now, |child, now| child.stop(why, now));
    }
}
