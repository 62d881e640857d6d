//! `waypost memory history`, `stats`, `note` and `notes`: what has ended, and what is known.

use crate::data::{HistoryLine, NoteReport, StatisticsReport};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, DIM, YELLOW, styled},
    show,
};
use clap::ValueEnum;
use std::time::Duration;
use waypost_engine::{
    Project,
    memory::{self, Freshness, NoteAges},
};
use waypost_model::{
    document::memory::{HistoryEntry, TaskResult},
    memory::NoteKind,
    time::{Stamp, Time},
};

/// Longer than anything takes: three thousand years.
const SECONDS_MAX: f64 = 1e11;

/// Show tasks that have ended, oldest first
///
/// The newest 100 are listed; of those that ended more than 30 days ago lessons and artifacts are not
/// kept. Finished runs and workflows are among them.
#[derive(Debug, clap::Args)]
pub(super) struct HistoryArgs {
    /// Only what ended since: a day (2026-11-17), a time, or a span back from now (7d, 12h)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only what ended so
    #[arg(long, value_name = "RESULT")]
    result: Option<ResultWord>,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ResultWord {
    Success,
    Failure,
    Partial,
    Cancelled,
}

impl From<ResultWord> for TaskResult {
    fn from(word: ResultWord) -> Self {
        match word {
            ResultWord::Success => Self::Success,
            ResultWord::Failure => Self::Failure,
            ResultWord::Partial => Self::Partial,
            ResultWord::Cancelled => Self::Cancelled,
        }
    }
}

/// Write down what was explored, decided or learned
///
/// The commit that is checked out is noted with it. A note fades when one of its files has changed
/// since.
#[derive(Debug, clap::Args)]
pub(super) struct NoteArgs {
    /// What there is to know
    text: String,
    /// What it is
    #[arg(long, value_name = "KIND", default_value = "exploration")]
    kind: KindWord,
    /// A file that it is about; may be given more than once
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<String>,
}

/// Show notes, oldest first, and which have faded
#[derive(Debug, clap::Args)]
pub(super) struct NotesArgs {
    /// Only these
    #[arg(long, value_name = "KIND")]
    kind: Option<KindWord>,
    /// Only those about this file
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindWord {
    Exploration,
    Decision,
    Lesson,
}

impl From<KindWord> for NoteKind {
    fn from(word: KindWord) -> Self {
        match word {
            KindWord::Exploration => Self::Exploration,
            KindWord::Decision => Self::Decision,
            KindWord::Lesson => Self::Lesson,
        }
    }
}

pub(super) fn history(
    context: &Context,
    project: &mut Project,
    args: &HistoryArgs,
) -> Result<(), CliError> {
    let clock = project.clock();
    let since = args.since.as_deref().map(|typed| moment(typed, clock.now())).transpose()?;
    let result = args.result.map(TaskResult::from);
    let entries = project.memory()?.history().entries().iter();
    let is_wanted = |entry: &&HistoryEntry| {
        let ended = entry.completed_at.map(|stamp| clock.resolve(stamp));
        result.is_none_or(|result| entry.result == result)
            && since.is_none_or(|since| ended.is_some_and(|ended| ended >= since))
    };
    let found: Vec<&HistoryEntry> = entries.filter(is_wanted).collect();
    if context.out.json {
        let lines: Vec<_> = found.into_iter().map(|entry| HistoryLine { entry }).collect();
        return Ok(context.out.json_list(&lines)?);
    }
    if found.is_empty() {
        context.out.note("no task has ended, of those that were asked for");
    }
    for entry in found {
        context.out.line(show::memory::entry_line(entry))?;
        if !entry.summary.is_empty() {
            context
                .out
                .line(styled(DIM, format!("    {}", show::one_line(&entry.summary, 100))))?;
        }
        for lesson in &entry.lessons {
            context.out.line(format!("    lesson: {}", show::one_line(lesson, 100)))?;
        }
    }
    Ok(())
}

/// A time as it was typed.
pub(super) fn moment(typed: &str, now: Time) -> Result<Time, CliError> {
    if let Some(span) = span(typed) {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        return Ok(Time::from_millis(now.millis().saturating_sub(millis)));
    }
    let day = format!("{typed}T00:00:00Z");
    let stamp = typed.parse().or_else(|_| day.parse()).map_err(|_| {
        CliError::bad_input(format!("`{typed}` is no time"))
            .hint("a day (2026-11-17), a time (2026-11-17T10:00:00Z), or a span (7d, 12h)")
    })?;
    Ok(match stamp {
        Stamp::At(time) => time,
        local @ Stamp::Local(_) => waypost_engine::Clock.resolve(local),
    })
}

/// `30d`, `12h`, `90m` or `45s`.
pub(super) fn span(typed: &str) -> Option<Duration> {
    let (number, unit) = typed.split_at_checked(typed.len().checked_sub(1)?)?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return None,
    };
    Some(Duration::from_secs(number.parse::<u64>().ok()?.checked_mul(seconds)?))
}

pub(super) fn stats(context: &Context, project: &mut Project) -> Result<(), CliError> {
    let history = project.memory()?.history();
    let totals = history.totals();
    let statistics = totals.statistics();
    if context.out.json {
        return Ok(context.out.json(&StatisticsReport {
            statistics,
            success: totals.success,
            failure: totals.failure,
            partial: totals.partial,
            cancelled: totals.cancelled,
            listed: history.entries().len(),
        })?);
    }
    // A file that was taken over may have claimed anything.
    let seconds = statistics.avg_duration_seconds.clamp(0.0, SECONDS_MAX);
    let mean = show::duration(Duration::from_secs_f64(seconds));
    let rate = statistics.success_rate * 100.0;
    for (name, value) in [
        ("ended", statistics.total_tasks.to_string()),
        ("success", totals.success.to_string()),
        ("failure", totals.failure.to_string()),
        ("partial", totals.partial.to_string()),
        ("cancelled", totals.cancelled.to_string()),
        ("success rate", format!("{rate:.0} %")),
        ("mean duration", mean),
        ("listed", history.entries().len().to_string()),
    ] {
        context.out.line(format!("{name:14} {value}"))?;
    }
    Ok(())
}

pub(super) fn note(
    context: &Context,
    project: &mut Project,
    args: &NoteArgs,
) -> Result<(), CliError> {
    let note = memory::note(project, args.kind.into(), &args.text, &args.files)?;
    match context.out.json {
        true => Ok(context.out.json(&NoteReport::of(&note, Freshness::Fresh))?),
        false => Ok(context.out.line(format!("{} {}", note.id, note.kind.as_str()))?),
    }
}

pub(super) fn notes(
    context: &Context,
    project: &mut Project,
    args: &NotesArgs,
) -> Result<(), CliError> {
    let kind = args.kind.map(NoteKind::from);
    let file = args.file.as_deref().map(|file| file.trim_start_matches("./"));
    let mut notes = project.memory()?.notes().to_vec();
    notes.retain(|note| kind.is_none_or(|kind| note.kind == kind));
    notes.retain(|note| file.is_none_or(|file| note.files.iter().any(|it| it.path == file)));
    let mut ages = NoteAges::default();
    if context.out.json {
        let report = notes.iter().map(|it| NoteReport::of(it, ages.freshness(project, it)));
        return Ok(context.out.json_list(&report.collect::<Vec<_>>())?);
    }
    if notes.is_empty() {
        context.out.note("nothing is noted, of what was asked for");
    }
    for note in &notes {
        let kind = note.kind.as_str();
        context.out.line(format!("{} {kind} {}", styled(BOLD, &note.id), note.text))?;
        let commit = note.commit.as_ref().map(|it| format!(" at {}", &it[..it.len().min(10)]));
        let mut told = format!("    {}{}", note.at, commit.unwrap_or_default());
        if !note.files.is_empty() {
            let files: Vec<&str> = note.files.iter().map(|file| file.path.as_str()).collect();
            told = format!("{told}, about {}", files.join(", "));
        }
        context.out.line(styled(DIM, told))?;
        if let Freshness::Faded { changed } = ages.freshness(project, note) {
            let told = format!("    changed since: {}", changed.join(", "));
            context.out.line(styled(YELLOW, told))?;
        }
    }
    Ok(())
}
