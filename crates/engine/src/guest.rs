//! What a host carries: something that waits for events, and does what there is to do when one comes.
//!
//! The project, with its journal, the engine lock and the notices, belongs to the host and is lent. A
//! guest never waits by itself: it names what wakes it, so that one thread can wait for all guests.

use crate::{
    error::{EngineError, Problem},
    project::Project,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use std::{os::fd::BorrowedFd, time::Duration};
use waypost_model::time::Time;

/// Something that a host carries.
pub(crate) trait Guest {
    /// How it ends.
    type End;

    /// What wakes it: descriptors that become readable, and a time.
    fn waits<'a>(&'a self, waits: &mut Waits<'a>);

    /// Does what there is to do. Called after each wake-up, and after every commit of others.
    fn attend(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<Attended<Self::End>, EngineError>;
}

/// What a guest says after it was attended to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attended<E> {
    GoesOn,
    /// Nothing of it is under way any more.
    Over(E),
}

/// What guests wait for, all together.
#[derive(Debug, Default)]
pub(crate) struct Waits<'a> {
    sources: Vec<PollFd<'a>>,
    until: Option<Time>,
}

impl<'a> Waits<'a> {
    /// Wakes up when something can be read there.
    pub(crate) fn readable(&mut self, source: BorrowedFd<'a>) {
        self.sources.push(PollFd::from_borrowed_fd(source, PollFlags::IN));
    }

    /// The same, where there is something.
    pub(crate) fn readable_too(&mut self, source: Option<BorrowedFd<'a>>) {
        source.into_iter().for_each(|source| self.readable(source));
    }

    /// Wakes up at this time at the latest.
    pub(crate) fn until(&mut self, time: Time) {
        self.until = Some(self.until.map_or(time, |until| until.min(time)));
    }

    /// Waits for whatever comes first, but not longer than `longest`; a signal is something that
    /// comes, too.
    pub(crate) fn wait(mut self, now: Time, longest: Duration) -> Result<(), EngineError> {
        let left = self.until.map_or(longest, |until| until.since(now).min(longest));
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut self.sources, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Problem::system("cannot wait for what happens next", error).into()),
        }
    }
}

/// Which of several would be woken now, found out by one call.
pub(crate) fn woken<'a>(all: impl IntoIterator<Item = Waits<'a>>, now: Time) -> Vec<bool> {
    let (mut sources, mut owners, mut is_woken) = (Vec::new(), Vec::new(), Vec::new());
    for waits in all {
        owners.extend(waits.sources.iter().map(|_| is_woken.len()));
        sources.extend(waits.sources);
        is_woken.push(waits.until.is_some_and(|until| until <= now));
    }
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_told = sources.is_empty() || poll(&mut sources, Some(&at_once)).is_ok();
    for (source, owner) in sources.iter().zip(owners) {
        // What cannot be told is looked at.
        is_woken[owner] |= !is_told || !source.revents().is_empty();
    }
    is_woken
}

/// How often a guest is attended to when nothing wakes it: what tells that a person wants it to end
/// may have woken another thread.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Carries one guest in this thread until it is over.
pub(crate) fn carry<G: Guest>(project: &mut Project, guest: &mut G) -> Result<G::End, EngineError> {
    loop {
        let now = project.clock.now();
        if let Attended::Over(end) = guest.attend(project, now)? {
            return Ok(end);
        }
        let mut waits = Waits::default();
        guest.waits(&mut waits);
        waits.wait(project.clock.now(), LOOK_INTERVAL)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::os::fd::{AsFd as _, OwnedFd};

    const HOUR: Duration = Duration::from_secs(3_600);

    fn waits(source: Option<&OwnedFd>, until: Option<i64>) -> Waits<'_> {
        let mut waits = Waits::default();
        waits.readable_too(source.map(|source| source.as_fd()));
        until.into_iter().for_each(|until| waits.until(Time::from_millis(until)));
        waits
    }

    #[test]
    fn only_those_are_woken_that_have_something() {
        let now = Time::from_millis(1_000);
        let rung = eventfd(1, EventfdFlags::CLOEXEC).unwrap();
        let silent = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let all = [
            waits(Some(&silent), None),
            waits(Some(&rung), None),
            waits(None, Some(1_001)),
            waits(Some(&silent), Some(1_000)),
            waits(None, None),
        ];
        assert_eq!(woken(all, now), [false, true, false, true, false]);
    }

    #[test]
    fn whatever_comes_first_ends_the_wait() {
        let now = Time::from_millis(1_000);
        let (silent, rung) = (
            eventfd(0, EventfdFlags::CLOEXEC).unwrap(),
            eventfd(1, EventfdFlags::CLOEXEC).unwrap(),
        );
        let mut waits = Waits::default();
        waits.readable(silent.as_fd());
        waits.readable(rung.as_fd());
        waits.wait(now, HOUR).unwrap();
        let mut waits = Waits::default();
        waits.readable(silent.as_fd());
        for time in [Time::from_millis(9_000_000), now, Time::from_millis(5_000_000)] {
            waits.until(time);
        }
        waits.wait(now, HOUR).unwrap();
    }
}
