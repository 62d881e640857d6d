//! When the state file is written again during a run.
//!
//! Rendering costs what the whole run does, so it takes only a part of all time. A failure is what
//! a program that watches the file waits for: it is shown at the next look, however large the run.

use std::time::Duration;
use waypost_model::time::Time;

/// The shortest time between two renderings, and the part of all time that they may take.
const INTERVAL: Duration = Duration::from_millis(500);
const SHARE: u32 = 50;

/// The part of all time that renderings may take while tasks fail one after another.
const SHARE_OF_FAILURES: u32 = 2;

/// What is shown, and when it may be shown again.
#[derive(Debug)]
pub(super) struct Showing {
    is_shown: bool,
    has_failure: bool,
    next: Time,
    /// When a failure may be shown.
    next_of_failure: Time,
}

impl Showing {
    /// Nothing is shown yet, and nothing has to be before `first`.
    pub(super) fn from(first: Time) -> Self {
        Self { is_shown: false, has_failure: false, next: first, next_of_failure: first }
    }

    /// Something has changed.
    pub(super) fn change(&mut self) {
        self.is_shown = false;
    }

    /// A task has failed for good.
    pub(super) fn fail(&mut self) {
        self.change();
        self.has_failure = true;
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due().is_some_and(|due| now >= due)
    }

    /// When something is to be shown; none: it is.
    pub(super) fn due(&self) -> Option<Time> {
        let next = if self.has_failure { self.next_of_failure.min(self.next) } else { self.next };
        (!self.is_shown).then_some(next)
    }

    /// It was rendered between these times; not shown if another tool held the file.
    pub(super) fn rendered(&mut self, is_shown: bool, (start, end): (Time, Time)) {
        let cost = end.since(start);
        self.is_shown = is_shown;
        self.has_failure &= !is_shown;
        self.next = end.plus(INTERVAL.max(cost * SHARE));
        self.next_of_failure = end.plus(cost * SHARE_OF_FAILURES);
    }

    /// The clock was set, or the machine slept.
    pub(super) fn follow_clock(&mut self, now: Time) {
        (self.next, self.next_of_failure) = (now, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_failure_does_not_wait_for_its_turn() {
        let mut showing = Showing::from(at(0));
        assert!(showing.is_due(at(0)));
        // A large run: the next rendering of ordinary changes is five seconds away.
        showing.rendered(true, (at(0), at(100)));
        showing.change();
        assert!(!showing.is_due(at(5_099)) && showing.is_due(at(5_100)));
        showing.fail();
        assert!(!showing.is_due(at(299)) && showing.is_due(at(300)));
        // Until it really is shown.
        showing.rendered(false, (at(300), at(310)));
        assert!(showing.is_due(at(330)));
        showing.rendered(true, (at(330), at(430)));
        showing.change();
        assert!(!showing.is_due(at(1_000)));
    }

    #[test]
    fn nothing_is_rendered_twice() {
        let mut showing = Showing::from(at(0));
        showing.rendered(true, (at(0), at(1)));
        assert!(!showing.is_due(at(1_000_000)));
        showing.change();
        assert!(!showing.is_due(at(500)) && showing.is_due(at(501)));
        showing.follow_clock(at(10));
        assert!(showing.is_due(at(10)));
    }
}
