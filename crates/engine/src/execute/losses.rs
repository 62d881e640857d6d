//! Keepers that die: how long to wait before the next one is started, and when a person is asked.
//!
//! A death is forgotten after a while, so that a run of a week does not end by what happened on its
//! first day. Many in a short time are no accident: the machine is out of memory, or a person or a program kills them.

use std::{collections::VecDeque, time::Duration};
use waypost_model::time::Time;

/// For how long a death counts.
const REMEMBERED: Duration = Duration::from_secs(600);

/// So many deaths in that time are accidents: the next keeper is started at once.
const ACCIDENTS_MAX: usize = 5;

/// How long the next keeper waits after the first death that is none; longer after each.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// The longest wait: what runs beside it does not end by it.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// At so many deaths a person is asked: they were waited for half a minute together by then.
const ASKED_AT: usize = 12;

/// After so long without a death the trouble is over: twice the longest wait.
const CALM: Duration = Duration::from_secs(120);

/// When keepers have died of late.
#[derive(Debug, Default)]
pub(super) struct Losses {
    at: VecDeque<Time>,
}

/// What follows from a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    /// How long nothing is started.
    pub(super) wait: Duration,
    /// How many there were of late, if that is worth a person's attention.
    pub(super) burst: Option<usize>,
}

impl Losses {
    /// Whether none has died for a while.
    pub(super) fn is_calm(&self, now: Time) -> bool {
        self.at.back().is_none_or(|last| now < *last || now.since(*last) >= CALM)
    }

    /// Takes note of a death.
    pub(super) fn note(&mut self, now: Time) -> Loss {
        // Times to come are of a clock that was set back.
        self.at.retain(|at| *at <= now && now.since(*at) < REMEMBERED);
        self.at.push_back(now);
        let count = self.at.len();
        let doublings = count.saturating_sub(ACCIDENTS_MAX + 1).min(16);
        let wait = match count > ACCIDENTS_MAX {
            true => (FIRST_WAIT * (1 << doublings)).min(LONGEST_WAIT),
            false => Duration::ZERO,
        };
        Loss { wait, burst: Some(count).filter(|count| *count >= ASKED_AT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deaths_are_forgotten_and_a_burst_of_them_waits_longer_each_time_and_is_told() {
        let at = |seconds: i64| Time::from_millis(1_000_000 + seconds * 1_000);
        let mut losses = Losses::default();
        // Twenty in a week.
        for hour in 0..20 {
            let loss = losses.note(at(hour * 8 * 3_600));
            assert_eq!(loss, Loss { wait: Duration::ZERO, burst: None }, "{hour}");
        }
        let mut losses = Losses::default();
        let found: Vec<(u128, bool)> = (0..16)
            .map(|second| losses.note(at(second)))
            .map(|loss| (loss.wait.as_millis(), loss.burst.is_some()))
            .collect();
        let want = [
            0, 0, 0, 0, 0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
            60_000,
        ];
        let want: Vec<(u128, bool)> =
            want.into_iter().enumerate().map(|(n, wait)| (wait, n >= 11)).collect();
        assert_eq!(found, want);
        assert_eq!([15, 134, 135].map(|second| losses.is_calm(at(second))), [false, false, true]);
        let calm = losses.note(at(16 + 600));
        assert_eq!(calm, Loss { wait: Duration::ZERO, burst: None });
        // A clock that was set back does not make a burst.
        assert_eq!(losses.note(at(0)), Loss { wait: Duration::ZERO, burst: None });
    }
}
