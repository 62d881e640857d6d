//! A clock that jumps between commands: row B6.

use crate::{
    judge,
    process::{self, Ended, say},
    scenario::{IMPLEMENT, RUN, WORKFLOW},
    site::{Site, WAYPOST, words},
};
use serde_json::Value;
use std::{fs, process::Command};

/// Runs a command as if it were that day.
fn on(site: &Site, day: &str, line: &str) -> Ended {
    let time = format!("{day} 12:00:00");
    process::run(site.command("faketime").args([&time, WAYPOST]).args(words(line)))
}

#[test]
fn time_may_go_backwards_between_commands() {
    if let Err(error) = Command::new("faketime").args(["2020-01-01 00:00:00", "true"]).output() {
        say(&format!("SKIPPED: a clock that jumps: faketime cannot be started: {error}"));
        return;
    }
    let site = Site::after(IMPLEMENT);
    let table = [
        ("2035-06-01", "develop checkpoint start cp-1"),
        ("2020-06-01", "develop checkpoint fail cp-1"),
        ("2036-06-01", "run start T1.1"),
        ("2019-06-01", "run done T1.1"),
        ("2037-06-01", "run start T2.1"),
        ("2018-06-01", "run fail T2.1 --class structural"),
        ("2038-01-01", "develop checkpoint escalate cp-1"),
        ("2017-06-01", "status"),
        ("2017-06-01", "inbox"),
        ("2017-06-01", "run status"),
        ("2017-06-01", "develop status"),
        ("2017-06-01", "doctor"),
    ];
    for (day, line) in table {
        let ended = on(&site, day, line);
        assert_eq!(ended.code, Some(0), "{day} {line}: {ended:#?}");
        let said = format!("{} {}", ended.stdout, ended.stderr);
        let is_negative = |word: &str| word.strip_prefix('-').is_some_and(starts_with_digit);
        assert!(!said.split_whitespace().any(is_negative), "{day} {line}: {said}");
        // A span that wrapped around.
        assert!(!said.contains("18446744"), "{day} {line}: {said}");
    }
    // Numbers order the log, not times: `log` checks that they have no gap.
    let log = judge::log(&site);
    let expected = ["checkpoint_started", "checkpoint_failed", "begun"];
    assert!(log.windows(3).any(|window| window == expected), "{log:?}");
    for window in [WORKFLOW, RUN] {
        let shown: Value = serde_json::from_slice(&fs::read(site.path(window)).unwrap()).unwrap();
        assert!(shown.is_object());
    }
    site.waypost(&["develop", "back"]).expect_code(0);
    site.waypost(&["doctor"]).expect_code(0);
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}
