//! Known wordings of limits, texts that only look like them, and times on the wall.

use super::*;
use proptest::prelude::*;

/// 15 November 2026, a Sunday, 14:00 in a place nine hours ahead of UTC.
const NOW: &str = "2026-11-15T05:00:00Z";

fn time(text: &str) -> Time {
    Time::from_millis(text.parse::<Timestamp>().unwrap().as_millisecond())
}

/// This place is nine hours ahead; of the zones, only these are known.
fn offset_at(zone: Option<&str>, at: Time) -> Offset {
    let hours = match zone {
        Some("UTC") => 0,
        // Summer time ended at 06:00 UTC on 1 November and begins again in March.
        Some("America/Chicago") if at < time("2026-11-01T07:00:00Z") => -5,
        Some("America/Chicago") => -6,
        _ => 9,
    };
    Offset::constant(hours)
}

fn shown(text: &str) -> String {
    match read(text) {
        None => "no limit".to_owned(),
        Some(Limit { resets: None }) => "limit".to_owned(),
        Some(Limit { resets: Some(reset) }) => reset.time(time(NOW), offset_at).to_string(),
    }
}

#[test]
fn known_wordings_tell_when_work_can_go_on() {
    #[rustfmt::skip]
    let table = [
        ("Claude AI usage limit reached|1794729600", "2026-11-15T08:00:00Z"),
        ("You've hit your session limit · resets 3pm (Asia/Seoul)", "2026-11-15T06:00:00Z"),
        ("You've hit your session limit · resets 12:50am (America/Chicago)", "2026-11-15T06:50:00Z"),
        ("You've hit your limit · resets 1:30pm", "2026-11-16T04:30:00Z"),
        ("You've hit your limit · resets 1:50pm", "2026-11-15T04:50:00Z"),
        ("You've hit your weekly limit · resets Nov 18, 5pm (Asia/Seoul)", "2026-11-18T08:00:00Z"),
        ("Claude usage limit reached. Your limit will reset at 1pm (UTC).", "2026-11-15T13:00:00Z"),
        ("usage limit reached, resets 15:30", "2026-11-15T06:30:00Z"),
        ("5-hour limit reached ∙ resets Monday 6am", "2026-11-15T21:00:00Z"),
        ("5-hour limit reached ∙ resets Sun 6am", "2026-11-21T21:00:00Z"),
        ("5-hour limit reached ∙ resets at 6am tomorrow", "2026-11-15T21:00:00Z"),
        ("usage limit reached; resets tomorrow at 3pm", "2026-11-16T06:00:00Z"),
        ("usage limit reached; resets Jan 2 at 0:15", "2027-01-01T15:15:00Z"),
        ("usage limit reached, resets 2026-11-15T09:00:00+00:00", "2026-11-15T09:00:00Z"),
        ("You've hit your usage limit. Upgrade to Pro or try again at 3:05 PM.", "2026-11-15T06:05:00Z"),
        ("You've hit your usage limit. Try again in 3 days 4 hours 12 minutes.", "2026-11-18T09:12:00Z"),
        ("Rate limit reached for gpt-5 on tokens per min. Please try again in 11.054s. Visit x", "2026-11-15T05:00:11Z"),
        ("429 Too Many Requests, retry after 30 seconds", "2026-11-15T05:00:30Z"),
        ("HTTP/1.1 429\nRetry-After: 120\n", "2026-11-15T05:02:00Z"),
        ("error: retry after 5 minutes and 2 seconds", "2026-11-15T05:05:02Z"),
        ("Quota exceeded. Your quota will reset after 18h31m15s.", "2026-11-15T23:31:15Z"),
        ("API Error: Request rejected (429) · slow down", "limit"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "limit"),
        ("{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}", "limit"),
        ("usage limit reached, resets soon", "limit"),
        ("usage limit reached, resets at 25:99", "limit"),
        ("usage limit reached|12", "limit"),
    ];
    for (text, want) in table {
        assert_eq!(shown(text), want, "{text}");
    }
}

#[test]
fn other_texts_are_no_limit() {
    for text in [
        "",
        "error in line 42",
        "see line 429 of main.rs",
        "the rate limit test passes",
        "I added rate limits; the counter resets at 3pm",
        "retry the request",
        "reached the limit of the array",
    ] {
        assert_eq!(shown(text), "no limit", "{text}");
    }
}

#[test]
fn the_offset_is_that_of_the_day_that_is_meant() {
    let clock = WallClock {
        day: Day::Month { month: 11, day: 2 },
        hour: 9,
        minute: 0,
        zone: Some("America/Chicago".to_owned()),
    };
    let before = time("2026-10-30T12:00:00Z");
    assert_eq!(Reset::Clock(clock).time(before, offset_at), time("2026-11-02T15:00:00Z"));
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text: String, now: i64) {
        for text in [text.clone(), format!("usage limit reached {text} resets {text}")] {
            if let Some(Limit { resets: Some(reset) }) = read(&text) {
                reset.time(Time::from_millis(now), offset_at);
            }
        }
    }

    #[test]
    fn anything_that_looks_like_a_time_is_read_without_a_panic(
        words in prop::collection::vec("[0-9]{1,12}(am|pm|h|m|s|:[0-9]{1,3})?|Nov|Mon|in|at|tomorrow", 0..6),
        now in -377_705_023_201_000..253_402_207_200_999_i64,
    ) {
        let text = format!("usage limit reached, resets {}", words.join(" "));
        if let Some(Limit { resets: Some(reset) }) = read(&text) {
            reset.time(Time::from_millis(now), offset_at);
        }
    }
}
