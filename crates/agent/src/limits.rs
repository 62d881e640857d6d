//! What programs write when a usage or rate limit is met, and when work can go on.
//!
//! There is no structure in these texts, so only known wordings count. A text that is no limit but
//! reads like one costs a pause; one that is missed costs an attempt. Both are bounded elsewhere.

mod trouble;

pub use trouble::{Trouble, trouble};

use jiff::{Timestamp, ToSpan as _, civil, civil::Weekday, tz::Offset};
use std::time::Duration;
use waypost_model::time::Time;

/// How far into a text is looked.
const TEXT_LENGTH_MAX: usize = 4_000;

/// How far behind a word such as "resets" its time may stand.
const WORDS_MAX: usize = 14;

/// Clocks differ, and a text takes a moment to arrive: a wall-clock time that has just passed is
/// not tomorrow's.
const JUST_PASSED: Duration = Duration::from_secs(15 * 60);

/// A limit that a text tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// When it ends, if the text says so.
    pub resets: Option<Reset>,
}

/// When a limit ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reset {
    At(Time),
    After(Duration),
    /// As a clock on the wall shows it.
    Clock(WallClock),
}

/// A time of day, at the next day that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallClock {
    pub day: Day,
    pub hour: i8,
    pub minute: i8,
    /// The name of a time zone; without one, this place's.
    pub zone: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Day {
    Any,
    Tomorrow,
    Week(Weekday),
    Month { month: i8, day: i8 },
}

impl Reset {
    /// The instant. `offset_at` tells the offset of a time zone, or of this place, at an instant;
    /// for a zone that it does not know it should answer with this place's: programs print the
    /// user's own zone.
    pub fn time(&self, now: Time, offset_at: impl Fn(Option<&str>, Time) -> Offset) -> Time {
        match self {
            Self::At(time) => *time,
            Self::After(span) => now.plus(*span),
            Self::Clock(clock) => clock.time(now, |at| offset_at(clock.zone.as_deref(), at)),
        }
    }
}

impl WallClock {
    fn time(&self, now: Time, offset_at: impl Fn(Time) -> Offset) -> Time {
        let offset = offset_at(now);
        let today = offset.to_datetime(instant(now)).date();
        let Ok(clock) = civil::Time::new(self.hour, self.minute, 0, 0) else { return now };
        // The offset may be another by then.
        let on = |date: civil::Date| {
            let wall = date.to_datetime(clock);
            let first = to_time(wall, offset);
            to_time(wall, offset_at(first))
        };
        let is_over = |time: Time| time.plus(JUST_PASSED) < now;
        let days = |count: i64| today.checked_add(count.days()).unwrap_or(today);
        match self.day {
            Day::Any if is_over(on(today)) => on(days(1)),
            Day::Any => on(today),
            Day::Tomorrow => on(days(1)),
            Day::Week(weekday) => {
                let ahead = i64::from(today.weekday().until(weekday));
                let time = on(days(ahead));
                if is_over(time) { on(days(ahead + 7)) } else { time }
            }
            Day::Month { month, day } => {
                let date = |year| civil::Date::new(year, month, day).ok();
                let dates = [date(today.year()), date(today.year().saturating_add(1))];
                let mut times = dates.into_iter().flatten().map(on);
                times.find(|time| !is_over(*time)).unwrap_or(now)
            }
        }
    }
}

fn instant(time: Time) -> Timestamp {
    Timestamp::from_millisecond(time.millis()).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn to_time(wall: civil::DateTime, offset: Offset) -> Time {
    let instant = offset.to_timestamp(wall).unwrap_or(Timestamp::UNIX_EPOCH);
    Time::from_millis(instant.as_millisecond())
}

/// The limit that a text tells of; none if it is about something else.
pub fn read(text: &str) -> Option<Limit> {
    let text: String = text.chars().take(TEXT_LENGTH_MAX).collect();
    let lower = text.to_lowercase();
    is_limit(&lower).then(|| Limit { resets: epoch(&lower).or_else(|| reset(&text)) })
}

/// Wordings that no text about anything else has.
const PHRASES: &[&str] = &[
    "usage limit reached",
    "usage limit has been reached",
    "hit your usage limit",
    "rate limit reached",
    "rate limit exceeded",
    "rate-limited",
    "rate limited",
    "exceeded your current quota",
    "quota exceeded",
    "resource_exhausted",
    "rate_limit_error",
    "rate_limit_exceeded",
    "usage_limit_reached",
    "too many requests",
    "exceed your account's rate limit",
];

fn is_limit(lower: &str) -> bool {
    let has = |phrase: &&str| lower.contains(*phrase);
    let is_hit = || {
        // "You've hit your session limit", "5-hour limit reached", "weekly limit reached".
        let after = lower.find("hit your ").map(|at| &lower[at..]);
        after.is_some_and(|rest| {
            rest.split(['.', '\n', '·']).next().is_some_and(|it| it.contains("limit"))
        }) || lower.contains("limit reached") && lower.contains("reset")
    };
    // The number alone may be anything, such as a line's.
    let is_status = || {
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| word == "429")
            && ["status", "error", "http", "rejected", "retry"]
                .iter()
                .any(|word| lower.contains(word))
    };
    let is_retry = || lower.contains("retry-after:") || lower.contains("retry after ");
    PHRASES.iter().any(has) || is_hit() || is_status() || is_retry()
}

/// The seconds behind a bar, as in `usage limit reached|1749924000`.
fn epoch(lower: &str) -> Option<Reset> {
    let digits = lower.split('|').skip(1).find_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some(&rest[..end]).filter(|digits| digits.len() == 10)
    })?;
    Some(Reset::At(Time::from_millis(digits.parse::<i64>().ok()?.saturating_mul(1_000))))
}

/// The time behind the first word that announces one.
fn reset(text: &str) -> Option<Reset> {
    let words: Vec<String> = words(text).collect();
    let is_anchor =
        |word: &str| word.starts_with("reset") || word.starts_with("retry") || word == "again";
    let anchors = words.iter().enumerate().filter(|(_, word)| is_anchor(&word.to_lowercase()));
    anchors.map(|(at, _)| at + 1).find_map(|at| {
        let end = words.len().min(at + WORDS_MAX);
        span(&words[at..end]).or_else(|| clock(&words[at..end]))
    })
}

/// Words and numbers; brackets, commas and the like end them.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_alphanumeric() || ":./_+-".contains(c);
    let words = text.split(move |c: char| !is_part(c));
    let words = words.map(|word| word.trim_matches(['.', ':', '-', '/']));
    words.filter(|word| !word.is_empty()).map(str::to_owned)
}

/// Words that may stand between "resets" or "again" and the time.
const FILLERS: &[&str] = &[
    "after", "at", "in", "on", "is", "the", "will", "your", "limit", "limits", "about", "again",
    "until",
];

/// A span such as `5 minutes`, `3 days 4 hours`, `18h31m15s`, `11.054s`. A bare number counts
/// seconds, where it stands alone in a header or behind "after".
fn span(words: &[String]) -> Option<Reset> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let start = words.iter().position(|word| !FILLERS.contains(&word.as_str()))?;
    let can_be_bare = start == 0 || words[start - 1] == "after";
    let mut rest = &words[start..];
    let mut total = 0.0;
    while let [word, more @ ..] = rest {
        let unit = more.first().and_then(|unit| unit_seconds(unit));
        match (word.parse::<f64>(), unit) {
            (Ok(count), Some(unit)) => {
                total += count * unit;
                rest = &more[1..];
            }
            (Ok(count), None) if can_be_bare && rest.len() == words.len() - start => {
                let is_time = more.first().is_some_and(|word| is_half(word));
                total = if is_time { 0.0 } else { count };
                break;
            }
            (Err(_), _) if word == "and" => rest = more,
            _ => match glued(word) {
                Some(seconds) => {
                    total += seconds;
                    rest = more;
                }
                None => break,
            },
        }
    }
    let span = Duration::try_from_secs_f64(total).ok()?;
    (!span.is_zero()).then_some(Reset::After(span))
}

fn is_half(word: &str) -> bool {
    matches!(word, "am" | "pm" | "a.m" | "p.m")
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

/// The seconds of `18h31m15s`.
fn glued(word: &str) -> Option<f64> {
    let mut total = 0.0;
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (count, behind) = rest.split_at(digits);
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        total += count.parse::<f64>().ok()? * unit_seconds(unit)?;
        rest = behind;
    }
    Some(total)
}

/// A time of day with what stands around it: `Nov 3 at 5pm Asia/Seoul`, `tomorrow 06:30`.
fn clock(words: &[String]) -> Option<Reset> {
    if let Some(time) = words.iter().take(4).find_map(|word| word.parse::<Timestamp>().ok()) {
        return Some(Reset::At(Time::from_millis(time.as_millisecond())));
    }
    let mut day = Day::Any;
    let mut month = None;
    for (at, word) in words.iter().enumerate() {
        let lower = word.to_lowercase();
        let next = words.get(at + 1).map(|word| word.to_lowercase());
        if let Some((hour, minute, used)) = time_of_day(&lower, next.as_deref()) {
            let zone = words.get(at + used).filter(|word| is_zone(word)).cloned();
            return Some(Reset::Clock(WallClock { day, hour, minute, zone }));
        }
        if let (Some(known), Some(number)) = (month, day_of_month(&lower)) {
            day = Day::Month { month: known, day: number };
            month = None;
        } else if let Some(found) = weekday(&lower) {
            day = Day::Week(found);
        } else if lower == "tomorrow" {
            day = Day::Tomorrow;
        } else if let Some(found) = month_of(&lower) {
            month = Some(found);
        } else if !FILLERS.contains(&lower.as_str()) && lower.parse::<u16>().is_err() {
            return None;
        }
    }
    None
}

/// Hour, minute, and how many words they take: `3pm`, `3:05 PM`, `15:00`.
fn time_of_day(word: &str, next: Option<&str>) -> Option<(i8, i8, usize)> {
    let end = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
    let (digits, half) = word.split_at(end);
    let (half, used) = match (half, next) {
        ("", Some(next)) if is_half(next) => (next, 2),
        (half, _) => (half, 1),
    };
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) => (hour.parse::<i8>().ok()?, minute.parse::<i8>().ok()?),
        None if is_half(half) => (digits.parse::<i8>().ok()?, 0),
        None => return None,
    };
    let hour = match half {
        "" => hour,
        half if !is_half(half) || !(1..=12).contains(&hour) => return None,
        half => hour % 12 + if half.starts_with('p') { 12 } else { 0 },
    };
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute);
    is_time.then_some((hour, minute, used))
}

fn is_zone(word: &str) -> bool {
    word.contains('/') || matches!(word, "UTC" | "GMT")
}

fn day_of_month(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse::<i8>().ok().filter(|day| (1..=31).contains(day))
}

const WEEKDAYS: &[(&str, Weekday)] = &[
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

fn weekday(word: &str) -> Option<Weekday> {
    let is_name = |name: &str| word == name || word.starts_with(name) && word.ends_with("day");
    WEEKDAYS.iter().find(|(name, _)| is_name(name)).map(|(_, weekday)| *weekday)
}

fn month_of(word: &str) -> Option<i8> {
    const NAMES: &[&str] = &[
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = NAMES.iter().position(|name| word.len() >= 3 && name.starts_with(word))?;
    i8::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests;
