//! The one source of time, and the offset of this place.

use jiff::{
    civil,
    tz::{Offset, TimeZone},
};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use waypost_model::time::{Stamp, Time};

/// Tells the time. The only place in the engine that asks the operating system for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the one home of the clock")]
    pub fn now(self) -> Time {
        Time::from_millis(jiff::Timestamp::now().as_millisecond())
    }

    /// For how long the machine has been awake, since it was started: for durations, which neither a
    /// clock that is set nor a machine that sleeps may make longer.
    pub(crate) fn awake(self) -> Duration {
        let time = clock_gettime(ClockId::Monotonic);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    /// Resolves a stamp; one without an offset is local time here.
    pub fn resolve(self, stamp: Stamp) -> Time {
        stamp.to_time(local_offset)
    }
}

/// The offset of a named zone, or of this place, at an instant.
pub(crate) fn offset_at(zone: Option<&str>, at: Time) -> Offset {
    let instant = jiff::Timestamp::from_millisecond(at.millis()).unwrap_or_default();
    let named = zone.and_then(|name| TimeZone::get(name).ok());
    named.unwrap_or_else(TimeZone::system).to_offset(instant)
}

fn local_offset(wall: civil::DateTime) -> Offset {
    let zone = TimeZone::system();
    zone.to_ambiguous_timestamp(wall)
        .compatible()
        .map_or(Offset::UTC, |instant| zone.to_offset(instant))
}
