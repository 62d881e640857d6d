//! Small pieces of text that several commands print.

pub(crate) mod fit;
pub(crate) mod memory;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod workflow;

use std::time::Duration;
use waypost_model::run::Usage;

/// A span in the largest unit that fits, as in `3 min`.
pub(crate) fn duration(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// A span that is watched while it runs out, as in `2 min 05 s`.
pub(crate) fn countdown(span: Duration) -> String {
    // What is left of a second is still to be waited for.
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A text on one line without anything that moves the cursor, at most so long.
pub(crate) fn one_line(text: &str, length: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match plain.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}

/// A bar of `width` characters that is filled as far as `done` of `total`.
pub(crate) fn bar(done: usize, total: usize, width: usize) -> String {
    let filled = (done * width).checked_div(total).unwrap_or(0);
    format!("[{}{}]", "#".repeat(filled), "-".repeat(width - filled))
}

/// A size in the unit that fits, as in `40 KB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Tokens and money in a few words.
pub(crate) fn usage(usage: &Usage) -> String {
    let tokens = match usage.tokens() {
        tokens @ 0..10_000 => format!("{tokens} tokens"),
        tokens @ 10_000..10_000_000 => format!("{}k tokens", tokens / 1_000),
        tokens => format!("{}M tokens", tokens / 1_000_000),
    };
    match usage.cost_micros {
        0 => tokens,
        micros => format!("{tokens}, ${}", dollars(micros)),
    }
}

/// Millionths of a dollar in dollars and cents.
pub(crate) fn dollars(micros: u64) -> String {
    let cents = micros.div_ceil(10_000);
    format!("{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_their_largest_unit() {
        let table = [(5, "5 s"), (125, "2 min"), (7_300, "2 h"), (200_000, "2 d")];
        for (seconds, want) in table {
            assert_eq!(duration(Duration::from_secs(seconds)), want);
        }
    }

    #[test]
    fn a_countdown_moves_every_second_in_the_last_hour() {
        let table = [(0, "0 s"), (59_001, "1 min 00 s"), (125_000, "2 min 05 s")];
        for (milliseconds, want) in table {
            assert_eq!(countdown(Duration::from_millis(milliseconds)), want);
        }
        assert_eq!(countdown(Duration::from_secs(7_500)), "2 h 05 min");
    }

    #[test]
    fn a_bar_is_as_full_as_the_work() {
        assert_eq!(bar(0, 0, 4), "[----]");
        assert_eq!(bar(1, 2, 4), "[##--]");
        assert_eq!(bar(2, 2, 4), "[####]");
    }
}
