//! The one place here that looks at a clock.
//!
//! Limits of processes are durations, so only a clock that never jumps is wanted. It stands still
//! while the machine sleeps: a child is not too slow because a lid was closed.

use rustix::{
    param::clock_ticks_per_second,
    time::{ClockId, clock_gettime},
};
use std::time::{Duration, Instant};

/// Longer than anything that is waited for, and far from where the clock itself ends.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

#[expect(
    clippy::disallowed_methods,
    reason = "a keeper has no engine whose clock it could be given, and measures durations only"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time since the machine was started, in the ticks in which the system tells when a process
/// began; it goes on while the machine sleeps.
pub(crate) fn ticks() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
    let per_second = clock_ticks_per_second();
    seconds * per_second + nanos * per_second / 1_000_000_000
}

/// A moment that may be as far away as the caller says.
pub(crate) fn after(now: Instant, time: Duration) -> Instant {
    now + time.min(FOREVER)
}
