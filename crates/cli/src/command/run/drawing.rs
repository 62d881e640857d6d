//! The picture of a run for a terminal: phases, what is being done, what waits for its time, what
//! is left.
//!
//! *Invariant:* a pure function of the run, the time and the terminal's size; it is never higher
//! than the terminal.

use crate::{
    output::{CYAN, DIM, RED, YELLOW, styled},
    screen::Size,
    show::{
        self, bar, countdown, duration,
        fit::{columns, fit},
        run::{by_id, phase_trouble},
    },
};
use waypost_engine::{Doing, Running};
use waypost_model::{
    run::{Active, Progress, TaskStatus, TaskView},
    time::Time,
};

/// How many running tasks are shown one by one.
const RUNNING_SHOWN: usize = 12;

/// How many tasks are shown that wait for a time; all the others are counted.
const WAITING_SHOWN: usize = 5;

/// A bar takes a third of a narrow terminal, and never more than this.
const BAR_WIDTH_MAX: usize = 24;

/// When it is, when the run was taken up, and how large the terminal is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) began: Time,
    pub(super) now: Time,
    pub(super) size: Size,
}

/// The lines of the picture.
pub(super) fn lines(active: &Active, running: &[Running<'_>], at: Moment) -> Vec<String> {
    // One row for the cursor, one for the last line of the picture.
    let room = at.size.rows.saturating_sub(2);
    let mut lines = phases(active, at.size.columns);
    lines.truncate(room.saturating_sub(2).max(1));
    let left = room.saturating_sub(lines.len());
    let waiting = waiting(active, at.now);
    let for_waiting = waiting.len().min(WAITING_SHOWN).min(left / 3);
    let for_running = left.saturating_sub(for_waiting).min(RUNNING_SHOWN + 1);

    let mut running = running.to_vec();
    running.sort_by(|one, other| by_id(one.id, other.id));
    let tasks = running.iter().map(|task| working(active, task, at));
    lines.extend(at_most(tasks.collect(), for_running, "running"));
    let tasks = waiting.iter().map(|view| delayed(view, at.now));
    lines.extend(at_most(tasks.collect(), for_waiting, "waiting"));
    let elapsed = duration(at.now.since(at.began));
    // Ready and not delayed by themselves: they wait for a slot, or for their agent's limit.
    let ready = match active.count(TaskStatus::Ready).saturating_sub(waiting.len()) {
        0 => String::new(),
        count => format!(", {count} ready"),
    };
    let line =
        format!("{elapsed}{ready}{}{}", rest(active, running.len()), spent(active, &running));
    lines.push(styled(DIM, line));
    lines
}

/// As many lines as there is room for; the last one counts those that are left out.
fn at_most(mut lines: Vec<String>, room: usize, word: &str) -> Vec<String> {
    if lines.len() > room {
        let hidden = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        if room > 0 {
            lines.push(format!("  and {hidden} more {word}"));
        }
    }
    lines
}

/// A bar for each phase that is under way, and a line for each that has ended with failures.
fn phases(active: &Active, width: usize) -> Vec<String> {
    let current = active.current_phase();
    let shown = active.plan().phases.iter().filter(|(number, _)| {
        let progress = active.progress(**number);
        let is_under_way = progress.completed > 0 && !progress.is_settled();
        **number == current || is_under_way || has_trouble(progress)
    });
    shown.map(|(number, name)| phase(*number, name, active.progress(*number), width)).collect()
}

fn has_trouble(progress: Progress) -> bool {
    progress.failed + progress.blocked > 0
}

fn phase(number: u32, name: &str, progress: Progress, width: usize) -> String {
    let bar = bar(progress.completed, progress.total, (width / 3).clamp(4, BAR_WIDTH_MAX));
    let counts = format!("{}/{}", progress.completed, progress.total);
    let trouble = match has_trouble(progress) {
        true => format!("  {}", styled(RED, phase_trouble(progress))),
        false => String::new(),
    };
    let front = format!("phase {number} {bar} {counts} ");
    // What went wrong is seen before the whole name is.
    let room = width.saturating_sub(columns(&front) + columns(&trouble) + 1).max(8);
    format!("{front}{}{trouble}", fit(name, room))
}

/// A task that is being worked on.
fn working(active: &Active, task: &Running<'_>, at: Moment) -> String {
    let title = active.task(task.id).map_or("", |view| view.planned.title.as_str());
    let attempt = match task.attempt {
        0 | 1 => String::new(),
        attempt => format!(" {}", styled(YELLOW, format!("attempt {attempt}"))),
    };
    let since = duration(at.now.since(task.since));
    let room = (at.size.columns / 2).saturating_sub(task.id.as_str().len() + 4).max(8);
    let doing = styled(DIM, format!("{since} {}", doing(task)));
    format!("  {} {}{attempt} {doing}", styled(CYAN, task.id), fit(title, room))
}

/// What is being done for a task, in a few words.
fn doing(task: &Running<'_>) -> String {
    match &task.agent {
        _ if task.doing == Doing::Preparing => "preparing its work tree".to_owned(),
        _ if task.doing == Doing::Verifying => "verifying".to_owned(),
        _ if task.doing == Doing::Joining => "merging".to_owned(),
        Some(agent) if agent.waits => format!("{}: waits for you (waypost inbox)", agent.name),
        Some(agent) if agent.doing.is_empty() => agent.name.to_owned(),
        Some(agent) => format!("{}: {}", agent.name, agent.doing),
        None => String::new(),
    }
}

/// Tasks that could go on if their time had come, the earliest first.
fn waiting(active: &Active, now: Time) -> Vec<TaskView<'_>> {
    let is_delayed = |view: &TaskView<'_>| {
        let is_late = view.not_before().is_some_and(|time| time > now);
        view.status == TaskStatus::Ready && is_late || view.parked(now).is_some()
    };
    let mut waiting: Vec<_> = active.ready().filter(is_delayed).collect();
    waiting.sort_by(|one, other| {
        let times = one.not_before().cmp(&other.not_before());
        times.then_with(|| by_id(&one.planned.id, &other.planned.id))
    });
    waiting
}

/// A task that waits: how long, for which attempt, and why.
fn delayed(view: &TaskView<'_>, now: Time) -> String {
    let left = view
        .not_before()
        .map_or_else(|| duration(now.since(now)), |time| countdown(time.since(now)));
    let (how, why) = match (view.parked(now), view.last_failure) {
        (Some(parked), _) if parked.until.is_none() => {
            ("waits for a person:".to_owned(), parked.why.as_str())
        }
        (Some(parked), _) => (format!("waits {left}:"), parked.why.as_str()),
        (None, failure) => {
            let why = failure.map_or("", |it| it.text.as_str());
            (format!("attempt {} in {left}:", view.attempts + 1), why)
        }
    };
    format!("  {} {} {}", styled(CYAN, &view.planned.id), styled(YELLOW, how), styled(DIM, why))
}

/// Tokens and money so far, where any were used.
fn spent(active: &Active, running: &[Running<'_>]) -> String {
    let mut usage = *active.usage();
    running.iter().filter_map(|task| task.agent).for_each(|agent| usage.add(&agent.usage));
    if usage.is_nothing() { String::new() } else { format!(", {}", show::usage(&usage)) }
}

/// How long the rest may take, from what tasks took so far.
fn rest(active: &Active, running: usize) -> String {
    let average = active.average_task_seconds();
    let left = [TaskStatus::Pending, TaskStatus::Ready, TaskStatus::InProgress]
        .into_iter()
        .map(|status| active.count(status) as u64)
        .sum::<u64>();
    if average == 0 || left == 0 {
        return String::new();
    }
    let seconds = average * left / (running.max(1) as u64);
    format!(", about {} left", duration(std::time::Duration::from_secs(seconds)))
}
