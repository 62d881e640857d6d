//! What an agent may do without word of an engine: its keeper stops it when no engine has renewed
//! that, and the next engine goes on in its conversation.
//!
//! A keeper knows no money. So a lease is as long as what is left would last at the pace at which the
//! agent has spent so far: should the engine die, little more is spent than may be.

use std::time::Duration;
use waypost_model::time::Time;
use waypost_proc::Lease;

/// The shortest lease: an engine that has much to do is late by less, and what is spent beyond the limit
/// in so much time is little.
const SPAN_MIN: Duration = Duration::from_secs(3);

/// The first lease of an agent that has a budget and whose pace is not known: at most about as long as a
/// request takes, and at least as long as an engine may take that starts many at once.
const SPAN_FIRST_MAX: Duration = Duration::from_secs(15);
const SPAN_FIRST_MIN: Duration = Duration::from_secs(5);

/// What an agent whose pace is not known is taken to spend in a second, in millionths of a dollar: a full
/// context of a dear model, read again every ten seconds.
const DEAREST_MICROS: u64 = 300_000;

/// How long one goes on that ends with its engine, if that is there and does nothing.
const SPAN_TIED: Duration = Duration::from_secs(60);

/// A lease is renewed when one part in this many of it is over.
const RENEWED_AFTER: u32 = 3;

/// What an agent has spent in how much time, and what it may spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spending {
    pub(super) spent_micros: u64,
    pub(super) worked: Duration,
    /// None: no limit.
    pub(super) left_micros: Option<u64>,
}

impl Spending {
    /// How long what is left lasts; none: for ever.
    fn lasts(self) -> Option<Duration> {
        let left = self.left_micros?;
        if self.spent_micros == 0 || self.worked.is_zero() {
            let at_dearest = Duration::from_millis(left.saturating_mul(1_000) / DEAREST_MICROS);
            return Some(at_dearest.clamp(SPAN_FIRST_MIN, SPAN_FIRST_MAX));
        }
        let millis = self.worked.as_millis() * u128::from(left) / u128::from(self.spent_micros);
        Some(Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)))
    }

    /// A lease for one that may go on for `unattended` without an engine; none: for as long as it
    /// takes. 0: it ends with its engine.
    pub(super) fn lease(self, unattended: Option<Duration>) -> Option<Lease> {
        let unattended = unattended?;
        let is_tied = unattended.is_zero();
        let longest = if is_tied { SPAN_TIED } else { unattended };
        let span = self.lasts().map_or(longest, |lasts| lasts.max(SPAN_MIN)).min(longest);
        Some(Lease { span, is_tied, time: None, stall: None })
    }
}

/// The lease that an agent's keeper was last told of, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Renewal {
    told: Option<(Time, Lease)>,
}

impl Renewal {
    pub(super) fn told(lease: Option<Lease>, now: Time) -> Self {
        Self { told: lease.map(|lease| (now, lease)) }
    }

    /// When it has to be renewed, if nothing changes.
    pub(super) fn due(&self) -> Option<Time> {
        self.told.map(|(at, lease)| at.plus(lease.span / RENEWED_AFTER))
    }

    /// Says whether the keeper has to be told of this lease now, and takes it for told.
    pub(super) fn renew(&mut self, lease: Lease, now: Time) -> bool {
        let is_due = self.told.is_none_or(|(at, told)| {
            let left = at.plus(told.span).since(now);
            let is_other = told.is_tied != lease.is_tied
                || told.stall != lease.stall
                || told.time.is_some() != lease.time.is_some();
            is_other || now >= at.plus(told.span / RENEWED_AFTER) || lease.span < left / 2
        });
        if is_due {
            self.told = Some((now, lease));
        }
        is_due
    }

    /// The clock jumped by so many milliseconds.
    pub(super) fn shift(&mut self, by: i64) {
        if let Some((at, _)) = &mut self.told {
            *at = Time::from_millis(at.millis().saturating_add(by));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_millis(1_000_000);

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_lease_lasts_as_long_as_the_money_at_the_pace_so_far_and_no_longer_than_configured() {
        let check = |spent, worked, left, unattended, want: Option<(u64, bool)>| {
            let pace = Spending { spent_micros: spent, worked: seconds(worked), left_micros: left };
            let lease = pace.lease(unattended);
            let want = want.map(|(span, is_tied)| Lease {
                span: seconds(span),
                is_tied,
                time: None,
                stall: None,
            });
            assert_eq!(lease, want, "{pace:?} {unattended:?}");
        };
        let ten_minutes = Some(seconds(600));
        check(0, 0, None, None, None);
        check(9, 9, Some(9), None, None);
        check(9, 9, None, ten_minutes, Some((600, false)));
        // Nothing is known of its pace: what is left lasts so long at the dearest.
        check(0, 9, Some(100_000_000), ten_minutes, Some((15, false)));
        check(0, 9, Some(3_000_000), ten_minutes, Some((10, false)));
        check(9, 0, Some(1_000), ten_minutes, Some((5, false)));
        // Ten in a minute: what is left lasts so long.
        check(10, 60, Some(50), ten_minutes, Some((300, false)));
        check(10, 60, Some(5_000), ten_minutes, Some((600, false)));
        check(10, 60, Some(1), ten_minutes, Some((6, false)));
        check(10, 60, Some(0), ten_minutes, Some((3, false)));
        check(10, 60, Some(0), Some(seconds(1)), Some((1, false)));
        check(10, 60, None, Some(Duration::ZERO), Some((60, true)));
        check(10, 60, Some(1), Some(Duration::ZERO), Some((6, true)));
        check(u64::MAX, u64::MAX / 1_000, Some(u64::MAX), ten_minutes, Some((600, false)));
    }

    #[test]
    fn a_keeper_is_told_when_a_third_is_over_or_something_is_new() {
        let lease = |span| Lease { span: seconds(span), is_tied: false, time: None, stall: None };
        let after = |count| NOW.plus(seconds(count));
        let mut renewal = Renewal::default();
        assert_eq!(renewal.due(), None);
        assert!(renewal.renew(lease(600), NOW));
        assert_eq!(renewal.due(), Some(after(200)));
        assert!(!renewal.renew(lease(600), after(199)));
        assert!(renewal.renew(lease(600), after(200)));
        // Money runs out sooner than it seemed.
        assert!(!renewal.renew(lease(400), after(201)));
        assert!(renewal.renew(lease(100), after(202)));
        // It waits for a person: its own limits stand still.
        let limited = Lease { stall: Some(seconds(9)), ..lease(100) };
        assert!(renewal.renew(limited, after(203)));
        assert!(!renewal.renew(limited, after(204)));
        assert!(renewal.renew(Lease { time: Some(seconds(1)), ..limited }, after(205)));
        assert!(!renewal.renew(Lease { time: Some(seconds(9)), ..limited }, after(206)));
        let mut other = Renewal::told(Some(lease(30)), NOW);
        other.shift(5_000);
        assert_eq!(other.due(), Some(after(15)));
    }
}
