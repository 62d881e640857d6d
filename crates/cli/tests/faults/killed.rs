//! Killed at any system call that touches the project: rows A1 and B1.

use crate::{
    judge::{self, Before, Cleaning, Verdict},
    process::say,
    sample,
    scenario::{self, Scenario},
    tracer::{self, Point},
};
use std::{
    collections::BTreeMap,
    panic::{self, AssertUnwindSafe},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// How many points of a scenario are tried when not all are.
const POINTS: usize = 24;
/// As many as the machines that run this have cores at least.
const WORKERS: usize = 2;

/// What goes wrong, and at which calls.
pub(crate) type Fault = (&'static str, &'static str);

#[test]
fn a_kill_at_any_call_leaves_the_old_or_the_new_state() {
    if let Some(why) = tracer::obstacle() {
        say(&format!("SKIPPED: kills at system calls: {why}"));
        return;
    }
    let mut failures = Vec::new();
    for scenario in scenario::chosen() {
        failures.extend(try_all(scenario, &[("signal=SIGKILL", tracer::CHANGING)], POINTS));
    }
    assert!(failures.is_empty(), "{} points failed:\n{}", failures.len(), failures.join("\n"));
}

/// Injects each fault at the points of its calls; returns what went wrong where.
pub(crate) fn try_all(scenario: &Scenario, faults: &[Fault], count: usize) -> Vec<String> {
    let plan = plan(scenario, faults, count);
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(BTreeMap::new());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let site = scenario.site();
                while let Some((fault, point)) = plan.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tried = AssertUnwindSafe(|| try_one(scenario, &site, fault, point));
                    let word = match panic::catch_unwind(tried) {
                        Ok(word) => word,
                        Err(cause) => {
                            let text = failure(scenario, fault, point, cause.as_ref());
                            failures.lock().unwrap().push(text);
                            "FAILED"
                        }
                    };
                    *tally.lock().unwrap().entry(word).or_insert(0_usize) += 1;
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    let words: Vec<String> = tally.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let (name, how) = (scenario.name, sample::described());
    let what = if faults[0].0.starts_with("signal") { "killed" } else { "failing" };
    say(&format!("{what}, {name}: {} points ({how}): {}", plan.len(), words.join(", ")));
    let missed = tally.get(MISSED).copied().unwrap_or(0);
    assert!(missed * 4 <= plan.len(), "{name}: {missed} points were not reached");
    failures.into_inner().unwrap()
}

/// The command came to its end before the call that should have failed.
const MISSED: &str = "not reached";

/// How much is read of a child's output varies, so a fault may hit the pipe by which the standard library
/// learns whether a child was started. It panics then; no disk can bring that about.
const STARTING_PIPE: &str = "the CLOEXEC pipe failed";

/// All faults with their points, of the command as it runs undisturbed.
fn plan(scenario: &Scenario, faults: &[Fault], count: usize) -> Vec<(&'static str, Point)> {
    let site = scenario.site();
    let mut plan = Vec::new();
    for (fault, calls) in faults {
        scenario.prepare(&site);
        let before = Before::of(&site);
        let (points, ended) = tracer::points(&site, &scenario.args(), calls);
        assert!(ended.is_done(), "{}: {ended:#?}", scenario.name);
        assert_eq!(judge::judge(scenario, &site, &before, &ended, Cleaning::Works), Verdict::Done);
        let chosen = sample::sample(&points, count, |point| &point.call);
        plan.extend(chosen.into_iter().map(|point| (*fault, point)));
    }
    plan
}

fn try_one(
    scenario: &Scenario,
    site: &crate::site::Site,
    fault: &str,
    point: &Point,
) -> &'static str {
    scenario.prepare(site);
    let before = Before::of(site);
    let ended = tracer::inject(site, &scenario.args(), point, fault);
    if ended.stderr.contains(STARTING_PIPE) {
        return MISSED;
    }
    let is_kill = fault.starts_with("signal");
    let fails_to_clean = !is_kill && point.call.starts_with("unlink");
    let cleaning = if fails_to_clean { Cleaning::Failed } else { Cleaning::Works };
    let verdict = judge::judge(scenario, site, &before, &ended, cleaning);
    if verdict == Verdict::Recorded && !is_kill {
        // Allowed, since nothing was promised; but everybody would rather know.
        say(&format!("  {fault} at {}: {}", point.line, ended.stderr.trim()));
    }
    if verdict == Verdict::Done && is_kill {
        say(&format!("  not reached: {} #{}: {}", point.call, point.number, point.line));
    }
    match verdict {
        Verdict::Done if is_kill => MISSED,
        Verdict::Done => "done all the same",
        Verdict::Undone => "nothing recorded",
        Verdict::Recorded if is_kill => "recorded, not reported",
        Verdict::Recorded => "recorded, reported as failed",
    }
}

fn failure(
    scenario: &Scenario,
    fault: &str,
    point: &Point,
    cause: &(dyn std::any::Any + Send),
) -> String {
    let cause = cause.downcast_ref::<String>().cloned();
    let cause = cause.unwrap_or_else(|| "a plain panic".to_owned());
    let line: String = point.line.chars().take(200).collect();
    format!("- {}: {fault} at {} #{}: {line}\n{cause}", scenario.name, point.call, point.number)
}
