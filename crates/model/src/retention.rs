//! What is deleted of what piles up: by age, and by size with the oldest first.
//!
//! What is still needed never goes, and neither does what is so young that a person may be looking at
//! it. Both count for the size.

use crate::time::Time;
use std::time::Duration;

/// Something that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept<T> {
    pub item: T,
    pub bytes: u64,
    /// When it was last written.
    pub at: Time,
    /// A run that is not over, or a question that is open, may still want it.
    pub is_needed: bool,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionLimits {
    /// None: as long as there is room.
    pub age: Option<Duration>,
    /// None: however much it is.
    pub bytes: Option<u64>,
    /// What is younger stays.
    pub young: Duration,
}

/// What goes, the oldest first.
pub fn excess<T>(mut kept: Vec<Kept<T>>, limits: RetentionLimits, now: Time) -> Vec<Kept<T>> {
    kept.sort_by_key(|it| it.at);
    let sum = |sum: u64, it: &Kept<T>| sum.saturating_add(it.bytes);
    let mut total = kept.iter().fold(0, sum);
    let mut going = Vec::new();
    for it in kept {
        let age = now.since(it.at);
        let is_free = !it.is_needed && age >= limits.young;
        let is_old = limits.age.is_some_and(|limit| age >= limit);
        let is_too_much = limits.bytes.is_some_and(|limit| total > limit);
        if is_free && (is_old || is_too_much) {
            total = total.saturating_sub(it.bytes);
            going.push(it);
        }
    }
    going
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const NONE: RetentionLimits =
        RetentionLimits { age: None, bytes: None, young: Duration::from_secs(60) };

    /// Five of ten bytes each, written at these hours; those with a mark are needed.
    fn check(limits: RetentionLimits, want: &[&str]) {
        let of = |(item, hour): (&'static str, u32)| Kept {
            item,
            bytes: 10,
            at: Time::from_millis(0).plus(HOUR * hour),
            is_needed: item.ends_with('!'),
        };
        let kept = [("c", 3), ("a", 1), ("b!", 2), ("e", 5), ("d", 4)].map(of).to_vec();
        let now = Time::from_millis(0).plus(HOUR * 5);
        let going: Vec<&str> = excess(kept, limits, now).iter().map(|it| it.item).collect();
        assert_eq!(going, want, "{limits:?}");
    }

    #[test]
    fn the_oldest_go_first_and_what_is_needed_or_young_stays() {
        check(NONE, &[]);
        check(RetentionLimits { age: Some(HOUR * 2), ..NONE }, &["a", "c"]);
        check(RetentionLimits { age: Some(Duration::ZERO), ..NONE }, &["a", "c", "d"]);
        check(RetentionLimits { bytes: Some(50), ..NONE }, &[]);
        check(RetentionLimits { bytes: Some(49), ..NONE }, &["a"]);
        check(RetentionLimits { bytes: Some(30), ..NONE }, &["a", "c"]);
        check(RetentionLimits { bytes: Some(0), ..NONE }, &["a", "c", "d"]);
        check(RetentionLimits { age: Some(HOUR * 4), bytes: Some(30), ..NONE }, &["a", "c"]);
    }
}
