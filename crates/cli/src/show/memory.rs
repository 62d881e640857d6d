//! The memory in words: the current task with its steps, those that wait, the history.

use super::{duration, one_line};
use crate::output::{BOLD, DIM, GREEN, RED, YELLOW, styled};
use std::{fmt::Write as _, time::Duration};
use waypost_model::{
    document::memory::{HistoryEntry, Step, StepStatus, TaskResult},
    memory::{KeptTask, Memory},
};

/// The longest name on a line.
const NAME_LENGTH: usize = 70;

/// How the memory stands, in a few lines.
pub(crate) fn text(memory: &Memory) -> String {
    let mut text = String::new();
    match memory.current() {
        Some(kept) => text.push_str(&task(kept)),
        None => text.push_str("no task is current\n"),
    }
    for kept in memory.pending() {
        let _infallible = writeln!(text, "  waits  {} {}", kept.task.id, name(&kept.task.name));
    }
    let listed = memory.history().entries().len();
    if listed > 0 {
        let _infallible = writeln!(text, "  {listed} ended, in the history");
    }
    text
}

/// One task with its steps.
pub(crate) fn task(kept: &KeptTask) -> String {
    let (completed, total) = kept.progress();
    let task = &kept.task;
    let mut text = format!(
        "{}  {} {} ({completed}/{total} steps)\n",
        styled(BOLD, &task.id),
        name(&task.name),
        task.status.as_str()
    );
    if !task.plan.goal.is_empty() {
        let _infallible = writeln!(text, "  goal: {}", name(&task.plan.goal));
    }
    for step in &task.plan.steps {
        text.push_str(&step_line(kept, step));
    }
    if let Some(cause) = kept.replan {
        let why = format!("  a new plan is called for: {}", cause.as_str());
        let _infallible = writeln!(text, "{}", styled(YELLOW, why));
    }
    text
}

/// One step.
pub(crate) fn step_line(kept: &KeptTask, step: &Step) -> String {
    let status = step.status.as_str();
    let word = match step.status {
        StepStatus::Completed => styled(GREEN, format!("{status:11}")),
        StepStatus::Failed | StepStatus::Escalated => styled(RED, format!("{status:11}")),
        StepStatus::InProgress => styled(YELLOW, format!("{status:11}")),
        StepStatus::Pending => format!("{status:11}"),
    };
    let mut more = String::new();
    let waits = kept.waits_for(step);
    if step.status != StepStatus::Completed && !waits.is_empty() {
        let names: Vec<String> = waits.iter().map(ToString::to_string).collect();
        let _infallible = write!(more, "  waits for {}", names.join(", "));
    }
    if let Some(not_before) = kept.clock(step.id).not_before {
        let _infallible = write!(more, "  again from {not_before}");
    }
    let mut line = format!("  {word} {:>3} {}{}\n", step.id, name(&step.name), styled(DIM, more));
    if let Some(error) = &step.error {
        let told = format!("{}: {}", error.class, one_line(&error.message, NAME_LENGTH));
        let _infallible = writeln!(line, "                  {told}");
    }
    line
}

/// One entry of the history.
pub(crate) fn entry_line(entry: &HistoryEntry) -> String {
    let result = entry.result.as_str();
    let word = match entry.result {
        TaskResult::Success => styled(GREEN, format!("{result:9}")),
        TaskResult::Failure => styled(RED, format!("{result:9}")),
        TaskResult::Partial | TaskResult::Cancelled => styled(YELLOW, format!("{result:9}")),
    };
    let took = duration(Duration::from_secs(entry.duration_seconds));
    format!("{} {word} {took:>6}  {}", entry.id, name(&entry.name))
}

fn name(text: &str) -> String {
    one_line(text, NAME_LENGTH)
}

/// What a conversation should know at its start; nothing while no task is current.
pub(crate) fn brief(memory: &Memory) -> Option<String> {
    let kept = memory.current()?;
    let (completed, total) = kept.progress();
    let task = &kept.task;
    let mut text = format!(
        "Waypost's memory: the current task is {} `{}`, {} ({completed} of {total} steps completed).",
        task.id,
        one_line(&task.name, 200),
        task.status.as_str()
    );
    if !task.plan.goal.is_empty() {
        let _infallible = write!(text, " Goal: {}.", one_line(&task.plan.goal, 300));
    }
    let open = kept.open_steps().take(5).map(|step| {
        let error = step.error.as_ref().map(|it| format!(" ({}: {})", it.class, it.message));
        let told = one_line(&format!("{}{}", step.name, error.unwrap_or_default()), 200);
        format!(" Step {} is {}: {told}.", step.id, step.status.as_str())
    });
    text.extend(open);
    if let Some(cause) = kept.replan {
        let _infallible = write!(text, " A new plan is called for: {}.", cause.as_str());
    }
    if !memory.pending().is_empty() {
        let _infallible = write!(text, " {} tasks wait behind it.", memory.pending().len());
    }
    text.push_str(" `waypost memory show` has all of it.");
    Some(text)
}
