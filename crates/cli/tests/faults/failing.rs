//! Calls that fail: a full disk, a disk that gives up. Rows A4 and A5.

use crate::{killed::try_all, process::say, scenario, tracer};

/// How many points of each fault of a scenario are tried when not all are.
const POINTS: usize = 6;

#[test]
fn a_failing_call_is_never_reported_as_done() {
    if let Some(why) = tracer::obstacle() {
        say(&format!("SKIPPED: failing system calls: {why}"));
        return;
    }
    let faults = [
        ("error=ENOSPC", tracer::WRITING),
        ("error=EIO", tracer::WRITING),
        ("error=EIO", tracer::READING),
    ];
    let mut failures = Vec::new();
    for scenario in scenario::chosen() {
        failures.extend(try_all(scenario, &faults, POINTS));
    }
    assert!(failures.is_empty(), "{} points failed:\n{}", failures.len(), failures.join("\n"));
}
