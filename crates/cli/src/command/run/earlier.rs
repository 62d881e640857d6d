//! `waypost run list` and `waypost run show N`: all runs of a repository, one after another.

use crate::data::RunLine;
use crate::{Context, error::CliError, show::run as show_run};
use std::process::ExitCode;
use waypost_engine::{Project, runs};
use waypost_model::{code::Code, machine::Rejected, run::RunBrief, time::Stamp};

pub(super) fn list(context: &Context, project: &mut Project) -> Result<ExitCode, CliError> {
    let runs = runs::list(project)?;
    if context.out.json {
        context.out.json_list(&runs.iter().map(data).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for run in &runs {
        context.out.line(line(run))?;
    }
    if runs.is_empty() {
        context.out.note("no run has begun; `waypost run` begins one");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn show(
    context: &Context,
    project: &mut Project,
    number: u32,
    window: bool,
) -> Result<ExitCode, CliError> {
    let run = runs::find(project, number)?;
    let Some(active) = run.active() else {
        return Err(waypost_engine::EngineError::from(Rejected::rule(
            Code::NoRun,
            "no run has begun",
        ))
        .into());
    };
    if window || context.out.json {
        context.out.json_as_it_is(&active.render())?;
        return Ok(ExitCode::SUCCESS);
    }
    context.out.raw(&show_run::text(&active.summary()))?;
    Ok(ExitCode::SUCCESS)
}

fn line(run: &RunBrief) -> String {
    let file = run.file.as_deref().unwrap_or("no file");
    let ended = match ended(run) {
        Some(at) => format!("to {at}"),
        None => "not ended".to_owned(),
    };
    format!("{:>3}  {file}  {} {ended}  {}", run.number, Stamp::from(run.started_at), outcome(run))
}

/// How a run stands or ended, in a few words.
fn outcome(run: &RunBrief) -> String {
    let RunBrief { total, completed, failed, blocked, .. } = run;
    match run.is_over {
        true if completed == total => format!("all {total} completed"),
        true => format!("{completed} of {total} completed, {failed} failed, {blocked} blocked"),
        false => format!("{completed} of {total} completed, not finished"),
    }
}

fn ended(run: &RunBrief) -> Option<Stamp> {
    run.is_over.then(|| Stamp::from(run.updated_at))
}

fn data(run: &RunBrief) -> RunLine<'_> {
    RunLine {
        number: run.number,
        project: &run.project,
        file: run.file.as_deref(),
        started_at: Stamp::from(run.started_at),
        ended_at: ended(run),
        over: run.is_over,
        total: run.total,
        completed: run.completed,
        failed: run.failed,
        blocked: run.blocked,
        usage: &run.usage,
        outcome: outcome(run),
    }
}
