//! `waypost run retry`: failed tasks are opened again, all that are meant or none.

use super::{parse_id, report};
use crate::data::TaskLine;
use crate::{Context, command::say_notices, error::CliError, show::run as show_run};
use std::{path::Path, process::ExitCode};
use waypost_engine::{Project, require_phase, summary, tasks};
use waypost_model::{
    code::Code,
    id::TaskId,
    next::NextStep,
    run::{Command, FailReason},
};

/// How many tasks are told one by one.
const TOLD_MAX: usize = 10;

/// Opens the tasks that were named; without a name all that failed, or those of one phase.
pub(super) fn run(
    context: &Context,
    project: &mut Project,
    ids: &[String],
    phase: Option<u32>,
    tasks: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let named: Vec<TaskId> = ids.iter().map(|id| parse_id(id)).collect::<Result<_, _>>()?;
    let meant = if named.is_empty() { failed(project, phase)? } else { named };
    let commands: Vec<Command> = meant.iter().map(|id| Command::Retry { id: id.clone() }).collect();
    tasks::drive_run(project, &commands, tasks)?;
    say_notices(context, project);
    match &meant[..] {
        [only] if !ids.is_empty() => report(context, project, only, None),
        all => report_all(context, project, all),
    }
}

/// Every task that failed by itself, of one phase or of all.
fn failed(project: &mut Project, phase: Option<u32>) -> Result<Vec<TaskId>, CliError> {
    if let Some(active) = project.run()?.active()
        && let Some(number) = phase
        && active.phase(number).is_none()
    {
        require_phase(active, phase)?;
    }
    let summary = summary::of_run(project)?;
    let failed = summary.iter().flat_map(|run| &run.failed);
    let is_meant = |reason: Option<FailReason>| {
        !matches!(reason, Some(FailReason::Skipped | FailReason::Reverted))
    };
    let meant = failed
        .filter(|task| is_meant(task.reason) && phase.is_none_or(|phase| task.phase == phase));
    let meant: Vec<TaskId> = meant.map(|task| task.id.clone()).collect();
    if meant.is_empty() {
        let place = phase.map_or_else(String::new, |phase| format!(" of phase {phase}"));
        return Err(CliError::new(Code::NothingFailed, format!("no task{place} has failed"))
            .next(NextStep::ShowRun));
    }
    Ok(meant)
}

fn report_all(
    context: &Context,
    project: &mut Project,
    ids: &[TaskId],
) -> Result<ExitCode, CliError> {
    let now = project.clock().now();
    let Some(active) = project.run()?.active() else { return Ok(ExitCode::SUCCESS) };
    let tasks = ids.iter().filter_map(|id| Some(active.summarize(&active.task(id)?)));
    if context.out.json {
        let tasks: Vec<_> = tasks.collect();
        context.out.json_list(&tasks.iter().map(TaskLine::from).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for task in tasks.take(TOLD_MAX) {
        context.out.note(show_run::task_line(&task, now));
    }
    if ids.len() > TOLD_MAX {
        context.out.note(format!("and {} more", ids.len() - TOLD_MAX));
    }
    context.out.note("next: `waypost run --resume`");
    Ok(ExitCode::SUCCESS)
}
