//! The one place here that looks at a clock.
//!
//! Limits of processes are durations, so only a clock that never jumps is wanted. It stands still
//! while the machine sleeps: a child is not too slow because a lid was closed.

use std::time::{Duration, Instant};

/// Longer than anything that is waited for; the clock itself ends somewhere beyond.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

#[expect(
    clippy::disallowed_methods,
    reason = "a keeper has no engine whose clock it could be given, and measures durations only"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A moment that may be as far away as somebody says.
pub(crate) fn after(now: Instant, time: Duration) -> Instant {
    now + time.min(FOREVER)
}
