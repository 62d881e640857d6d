//! A run as text and as data.

use super::{bar, dollars, duration, fit::columns, usage};
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, styled};
use std::{cmp::Ordering, fmt::Write as _};
use waypost_model::{
    id::TaskId,
    run::{Budget, EndStep, PhaseStage, Progress, RunSummary, TaskStatus, TaskSummary},
    time::Time,
};

/// How many failed tasks are shown one by one.
const FAILED_SHOWN: usize = 10;
const BAR_WIDTH: usize = 20;

/// Said of a run whose engine died.
pub(crate) const ENGINE_GONE: &str = "its engine is gone; `waypost run --resume` goes on with it, \
     `waypost run stop` ends what it left";

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Its engine died, so that it is not known what becomes of what it started.
    pub(crate) is_left: bool,
    /// Every task of a list.
    pub(crate) is_all: bool,
}

/// How the run stands, for people.
pub(crate) fn text(run: &RunSummary) -> String {
    text_of(run, Extent::default())
}

/// As `text`, with more or less of it.
pub(crate) fn text_of(run: &RunSummary, extent: Extent) -> String {
    let mode = run.mode.as_str();
    let mut text = format!(
        "{}  {} {}\n",
        styled(BOLD, format!("Run {}", run.number)),
        run.project,
        styled(DIM, format!("({mode})"))
    );
    let names = run.phases.iter().map(|phase| columns(&phase.name)).max().unwrap_or(0).min(30);
    for phase in &run.phases {
        let (number, name, progress) = (phase.number, &phase.name, phase.progress);
        let padding = " ".repeat(names.saturating_sub(columns(name)));
        let bar = bar(progress.completed, progress.total, BAR_WIDTH);
        let counts = format!("{}/{}", progress.completed, progress.total);
        let _infallible = writeln!(
            text,
            "  phase {number:<3} {name}{padding}  {bar} {counts:>9}  {}",
            stage_text(&phase.stage, progress),
        );
    }
    let counts: Vec<String> = TaskStatus::ALL
        .into_iter()
        .filter(|status| run.count(*status) > 0)
        .map(|status| format!("{} {status}", run.count(status)))
        .collect();
    let _infallible = writeln!(text, "  {}", counts.join(" · "));
    if !run.usage.is_nothing() {
        let of = match run.budget {
            Budget::Cents(cents) => format!(" of ${}", dollars(cents.saturating_mul(10_000))),
            Budget::Unset | Budget::Unlimited => String::new(),
        };
        let _infallible = writeln!(text, "  {}{of}", usage(&run.usage));
    }
    let shown = if extent.is_all { usize::MAX } else { FAILED_SHOWN };
    let running = if extent.is_left { styled(RED, "left") } else { styled(YELLOW, "running") };
    for task in run.in_progress.iter().take(shown) {
        let _infallible = writeln!(text, "  {running} {} {}", task.id, task.title);
    }
    text.push_str(&more(run.in_progress.len(), shown));
    text.push_str(&parked(&run.parked, shown));
    for task in run.failed.iter().take(shown) {
        let why = task.last_failure.as_deref().unwrap_or_default();
        let _infallible = writeln!(text, "  {} {} {why}", styled(RED, "failed"), task.id);
    }
    text.push_str(&more(run.failed.len(), shown));
    if extent.is_left {
        let _infallible = writeln!(text, "  {}", styled(RED, ENGINE_GONE));
    }
    if run.is_over {
        let _infallible = writeln!(text, "  {}", ending(run));
    }
    text
}

/// How many a list has beyond those that are shown, and the command that shows all.
fn more(count: usize, shown: usize) -> String {
    match count.saturating_sub(shown) {
        0 => String::new(),
        more => format!("  and {more} more (`waypost run status --all`)\n"),
    }
}

/// Tasks that wait for something that is not their fault: until when, and why.
fn parked(tasks: &[TaskSummary], shown: usize) -> String {
    let mut text = String::new();
    for task in tasks.iter().take(shown) {
        let Some(parked) = task.trail.as_ref().and_then(|trail| trail.parked.as_ref()) else {
            continue;
        };
        let until = parked.until.map_or_else(String::new, |until| format!(" until {until}"));
        let waits = styled(YELLOW, "waits");
        let (id, cause, why) = (&task.id, parked.cause, &parked.why);
        let _infallible = writeln!(text, "  {waits} {id}{until}: {cause}: {why}");
    }
    text.push_str(&more(tasks.len(), shown));
    text
}

/// One line about a task after something happened to it.
pub(crate) fn task_line(task: &TaskSummary, now: Time) -> String {
    let id = &task.id;
    match (task.status, &task.last_failure) {
        (TaskStatus::InProgress, _) => format!("{id} is in progress, attempt {}", task.attempts),
        (TaskStatus::Completed, _) => {
            let evidence = task.evidence.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{id} is completed ({evidence})")
        }
        (TaskStatus::Ready, None) if task.is_delayed(now) => {
            format!("{id} waits {}", duration(task.not_before.unwrap_or(now).since(now)))
        }
        (TaskStatus::Ready, _) if task.is_delayed(now) => format!(
            "{id} failed; it is tried again (retry {}) in {}",
            task.retries,
            duration(task.not_before.unwrap_or(now).since(now))
        ),
        (TaskStatus::Failed, Some(failure)) => format!("{id} has failed: {failure}"),
        (status, _) => format!("{id} is {status}"),
    }
}

/// How a run that is over ended, and what can be done about it.
pub(crate) fn ending(run: &RunSummary) -> String {
    let Some(first) = run.failed.first() else {
        let text = match run.total {
            1 => "the one task is done".to_owned(),
            count => format!("all {count} tasks are done"),
        };
        return styled(GREEN, text);
    };
    format!(
        "the run is over: {} failed, {} blocked by that; go on with `waypost run retry {}`",
        run.failed.len(),
        run.count(TaskStatus::Blocked),
        first.id
    )
}

pub(crate) fn stage_word(stage: &PhaseStage) -> &'static str {
    match stage {
        PhaseStage::Waiting => "waiting",
        PhaseStage::Open { .. } => "open",
        PhaseStage::Ending { .. } => "ending",
        PhaseStage::Closed { .. } => "closed",
    }
}

/// How a phase stands, in a few words: one that has ended with failures is not shown as done.
fn stage_text(stage: &PhaseStage, progress: Progress) -> String {
    let has_trouble = progress.failed + progress.blocked > 0;
    let trouble =
        if has_trouble { format!(", {}", phase_trouble(progress)) } else { String::new() };
    let word = match stage {
        PhaseStage::Waiting => styled(DIM, "waiting"),
        PhaseStage::Open { .. } => "open".into(),
        PhaseStage::Ending { step: EndStep::Joining, .. } => styled(YELLOW, "merging"),
        PhaseStage::Ending { .. } => styled(YELLOW, "waits for you"),
        PhaseStage::Closed { .. } if has_trouble => {
            return styled(RED, format!("failed: {}", phase_trouble(progress)));
        }
        PhaseStage::Closed { .. } => styled(GREEN, "done"),
    };
    format!("{word}{trouble}")
}

/// What went wrong in a phase, as in `2 failed, 1 blocked`.
pub(crate) fn phase_trouble(progress: Progress) -> String {
    let counts = [(progress.failed, "failed"), (progress.blocked, "blocked")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Orders task ids as people count: T1.2 before T1.10.
pub(crate) fn by_id(one: &TaskId, other: &TaskId) -> Ordering {
    let (one, other) = (one.as_str(), other.as_str());
    parts(one).cmp(parts(other)).then_with(|| one.cmp(other))
}

/// The parts of an id: numbers by their value, before words.
fn parts(id: &str) -> impl Iterator<Item = (u8, u64, &str)> {
    let mut rest = id;
    std::iter::from_fn(move || {
        let is_number = rest.chars().next()?.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_number).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        // A number that does not fit is compared as a word.
        let number = if is_number { part.parse().ok() } else { None };
        Some(number.map_or((1, 0, part), |number| (0, number, "")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_the_order_in_which_people_count() {
        let mut ids: Vec<TaskId> =
            ["T2.1", "T1.10", "T1.2", "P2-S1-V", "T1.2a", "T01.3", "P10-S1", "P2-S10"]
                .map(|id| id.parse().unwrap())
                .into();
        ids.sort_by(by_id);
        let order: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        assert_eq!(
            order,
            ["P2-S1-V", "P2-S10", "P10-S1", "T1.2", "T1.2a", "T01.3", "T1.10", "T2.1"]
        );
    }

    #[test]
    fn only_a_phase_without_failures_is_done() {
        let progress = |failed| Progress { total: 3, completed: 3 - failed, failed, blocked: 0 };
        let time = Time::from_millis(0);
        let closed = PhaseStage::closed(time, None);
        assert_eq!(stage_text(&closed, progress(0)), styled(GREEN, "done"));
        assert_eq!(stage_text(&closed, progress(2)), styled(RED, "failed: 2 failed"));
        let open = PhaseStage::Open { since: time };
        assert_eq!(stage_text(&open, progress(1)), "open, 1 failed");
    }
}
