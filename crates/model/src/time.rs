//! Times: an instant for the machines, and a stamp as documents spell it.
//!
//! There is no clock here: every instant is given by the caller.

use jiff::{Timestamp, civil, tz::Offset};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

/// A day of UTC has no leap seconds here, as in all times of the system.
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// An instant in UTC, to the millisecond; what the journal stores and the machines compare.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
pub struct Time(i64);

impl Time {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn millis(self) -> i64 {
        self.0
    }

    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this is; zero when the clock went backwards.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Drops the fraction of a second, as files do.
    pub fn whole_seconds(self) -> Self {
        Self(self.0.div_euclid(1_000) * 1_000)
    }

    /// The beginning of its day, in UTC.
    pub fn day(self) -> Self {
        Self(self.0.div_euclid(DAY_MILLIS) * DAY_MILLIS)
    }

    /// The beginning of the day after, in UTC.
    pub fn next_day(self) -> Self {
        Self(self.day().0.saturating_add(DAY_MILLIS))
    }

    fn timestamp(self) -> Timestamp {
        // Out-of-range instants can only come from a broken clock; they are shown as the epoch.
        Timestamp::from_millisecond(self.0).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.whole_seconds().timestamp().to_string())
    }
}

/// A time as a document spells it: an instant when it has an offset, else a local wall-clock time.
///
/// Written back with an offset (`Z`), unless it never had one. The fraction of a second is
/// dropped when it is read, so that what is written reads back as the same stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Stamp {
    At(Time),
    Local(civil::DateTime),
}

/// A text that is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time: expected RFC 3339, as in 2026-02-16T10:00:00+09:00")]
pub struct BadTime(pub String);

impl Stamp {
    /// Resolves to an instant; `offset_of` tells the offset of a wall-clock time in this place.
    pub fn to_time(self, offset_of: impl FnOnce(civil::DateTime) -> Offset) -> Time {
        match self {
            Self::At(time) => time,
            Self::Local(wall) => {
                let instant = offset_of(wall).to_timestamp(wall).unwrap_or(Timestamp::UNIX_EPOCH);
                Time(instant.as_millisecond())
            }
        }
    }
}

impl From<Time> for Stamp {
    fn from(time: Time) -> Self {
        Self::At(time.whole_seconds())
    }
}

impl FromStr for Stamp {
    type Err = BadTime;

    fn from_str(text: &str) -> Result<Self, BadTime> {
        if let Ok(instant) = text.parse::<Timestamp>() {
            return Ok(Self::from(Time(instant.as_millisecond())));
        }
        // `civil::DateTime` would accept an offset and drop it, so one is looked for first.
        let clock = text.split_once(['T', 't', ' ']).map_or("", |(_, clock)| clock);
        let has_offset = clock.contains(['+', '-', 'Z', 'z', '[']);
        match text.parse::<civil::DateTime>() {
            Ok(wall) if !has_offset && !clock.is_empty() => {
                Ok(Self::Local(wall.with().subsec_nanosecond(0).build().unwrap_or(wall)))
            }
            _ => Err(BadTime(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Stamp {
    type Error = BadTime;

    fn try_from(text: String) -> Result<Self, BadTime> {
        text.parse()
    }
}

impl From<Stamp> for String {
    fn from(stamp: Stamp) -> Self {
        stamp.to_string()
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(time) => time.fmt(f),
            Self::Local(wall) => f.pad(&wall.to_string()),
        }
    }
}

impl JsonSchema for Stamp {
    fn schema_name() -> Cow<'static, str> {
        "Stamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "RFC 3339 with an offset; without one it is read as local time",
            "pattern": r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:?\d{2})?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_keep_their_meaning() {
        let table = [
            ("2026-02-16T10:00:00Z", "2026-02-16T10:00:00Z"),
            ("2026-02-16T10:00:00+09:00", "2026-02-16T01:00:00Z"),
            ("2026-02-16T10:00:00.750Z", "2026-02-16T10:00:00Z"),
            ("2026-02-16T10:00:00", "2026-02-16T10:00:00"),
            ("2026-02-16T10:00:00.123456", "2026-02-16T10:00:00"),
        ];
        for (read, written) in table {
            let stamp: Stamp = read.parse().unwrap();
            assert_eq!(stamp.to_string(), written);
            assert_eq!(written.parse(), Ok(stamp));
        }
        for bad in ["", "now", "2026-02-30T10:00:00Z", "2026-02-16", "10:00", "2026-02-16T25:00:00"]
        {
            assert!(bad.parse::<Stamp>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_stamp_without_offset_is_local() {
        let stamp: Stamp = "2026-02-16T10:00:00".parse().unwrap();
        let time = stamp.to_time(|_| Offset::constant(9));
        assert_eq!(time.to_string(), "2026-02-16T01:00:00Z");
    }
}
