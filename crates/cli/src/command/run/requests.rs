//! Requests to end a run, which reach it as signals.
//!
//! Ctrl-C lets running tasks finish, and a second one stops them. A person who is not there to press it
//! twice (SIGTERM, a closed terminal, `run stop`) is obeyed in the same two steps, the second when
//! the grace is over.
//!
//! Signals are heard by a thread of their own. When a run that is to stop does not even look at what is
//! wished, because a disk or the system holds it, that thread ends the process: what runs is in the hands
//! of keepers, and the journal has what was recorded.

use crate::{error::Kind, output::say};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2},
    iterator::Signals,
};
use std::{
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};
use waypost_engine::{Haste, Ring};

/// Nothing new is started.
const FINISH: usize = 1;
/// What runs is stopped.
const STOP: usize = 2;

/// How long a run that is to stop may look at nothing: longer than its end waits for anything.
const DEAF_MAX: Duration = Duration::from_secs(10);

/// How often is looked whether it has.
const DEAF_LOOK: Duration = Duration::from_millis(100);

/// The requests that have come in.
#[derive(Clone, Default)]
pub(super) struct Requests(Arc<Shared>);

#[derive(Default)]
struct Shared {
    level: AtomicUsize,
    /// How often the run has looked at it.
    looks: AtomicUsize,
    /// Rung when the level has changed.
    ring: Mutex<Option<Ring>>,
    /// The first signal; it decides how the program ends.
    first: OnceLock<i32>,
}

impl Requests {
    /// Signals are requests from here on. What runs has `grace` to finish, unless it was Ctrl-C.
    pub(super) fn listen(grace: Duration) -> io::Result<Self> {
        let requests = Self::default();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])?;
        let heard = requests.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                heard.take(signal, grace);
                if heard.0.level.load(Ordering::SeqCst) == STOP {
                    heard.clone().end_if_deaf();
                }
            }
        });
        Ok(requests)
    }

    /// Takes what `run stop` asks for, as if it had come by a signal.
    pub(super) fn end(&self, haste: Haste, grace: Duration) {
        self.take(if haste == Haste::Now { SIGUSR2 } else { SIGUSR1 }, grace);
    }

    fn take(&self, signal: i32, grace: Duration) {
        self.0.first.get_or_init(|| signal);
        let level = &self.0.level;
        if signal == SIGUSR2 {
            level.fetch_max(STOP, Ordering::SeqCst);
            return self.ring();
        }
        let before = level.fetch_add(1, Ordering::SeqCst);
        self.ring();
        if before == 0 && signal != SIGINT {
            let later = self.clone();
            thread::spawn(move || {
                thread::sleep(grace);
                later.0.level.fetch_max(STOP, Ordering::SeqCst);
                later.ring();
            });
        }
    }

    /// What to ring from now on when something is asked for: a run may go on in another host.
    pub(super) fn ring_when_asked(&self, ring: Ring) {
        *self.0.ring.lock().unwrap_or_else(PoisonError::into_inner) = Some(ring);
        self.ring();
    }

    fn ring(&self) {
        let ring = self.0.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.iter().for_each(|ring| ring());
    }

    /// Ends the process if the run does not look at what is wished for. It is told again by each look.
    fn end_if_deaf(self) {
        thread::spawn(move || {
            let (mut looks, mut deaf) = (self.0.looks.load(Ordering::SeqCst), Duration::ZERO);
            while deaf < DEAF_MAX {
                thread::sleep(DEAF_LOOK);
                let now = self.0.looks.load(Ordering::SeqCst);
                deaf = if now == looks { deaf + DEAF_LOOK } else { Duration::ZERO };
                looks = now;
            }
            say(
                "the engine does not answer, so it is ended here; what runs is kept, and `waypost run \
                 --resume` goes on with it",
            );
            leave(self.exit_code().unwrap_or(Kind::Unfinished as u8));
        });
    }

    /// How urgent it is: 0 if no end was asked for, 1 to finish, 2 to stop.
    pub(super) fn level(&self) -> usize {
        self.0.looks.fetch_add(1, Ordering::SeqCst);
        self.0.level.load(Ordering::SeqCst).min(STOP)
    }

    /// Whether what runs is stopped when the grace is over.
    pub(super) fn has_grace(&self) -> bool {
        self.level() == FINISH && self.0.first.get().is_some_and(|signal| *signal != SIGINT)
    }

    /// The exit code of a run that a signal has ended, as shells have it; none if it was `run
    /// stop`, or none of these.
    pub(super) fn exit_code(&self) -> Option<u8> {
        match *self.0.first.get()? {
            SIGUSR1 | SIGUSR2 => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }
}

/// Ends the process at once.
#[expect(clippy::exit, reason = "no other thread can be relied on to come to its end")]
fn leave(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No test waits that long.
    const NEVER: Duration = Duration::from_secs(3_600);

    #[test]
    fn each_signal_has_its_level_and_exit_code() {
        let table = [
            (vec![], 0, None, false),
            (vec![SIGINT], 1, Some(130), false),
            (vec![SIGINT, SIGINT], 2, Some(130), false),
            (vec![SIGTERM], 1, Some(143), true),
            (vec![SIGTERM, SIGTERM], 2, Some(143), false),
            (vec![SIGHUP], 1, Some(129), true),
            (vec![SIGUSR1], 1, None, true),
            (vec![SIGUSR1, SIGUSR1, SIGINT], 2, None, false),
            (vec![SIGUSR2], 2, None, false),
        ];
        for (signals, level, code, has_grace) in table {
            let requests = Requests::default();
            signals.iter().for_each(|signal| requests.take(*signal, NEVER));
            let told = (requests.level(), requests.exit_code(), requests.has_grace());
            assert_eq!(told, (level, code, has_grace), "{signals:?}");
        }
    }

    #[test]
    fn when_the_grace_is_over_what_runs_is_stopped() {
        let requests = Requests::default();
        requests.take(SIGTERM, Duration::ZERO);
        while requests.level() < STOP {
            thread::yield_now();
        }
    }
}
