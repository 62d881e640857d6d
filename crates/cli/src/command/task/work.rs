//! What a task's agents said, and what they left.

use super::parse;
use crate::{
    Context,
    command::run::logs::{AttemptOutput, FOLLOW_INTERVAL},
    data::ArchiveReport,
    error::CliError,
};
use std::{path::Path, process::ExitCode, thread};
use waypost_engine::{Project, served, serving};
use waypost_model::{document::ServerTaskId, task::TaskFile};

pub(super) fn logs(
    context: &Context,
    project: &mut Project,
    id: &str,
    (attempt, follow): (Option<u32>, bool),
) -> Result<ExitCode, CliError> {
    let id = parse(id)?;
    let attempt = attempt.unwrap_or(served::file(project, &id)?.attempt_number());
    if attempt == 0 {
        context.out.note(format!("{id} has not been started"));
        return Ok(ExitCode::SUCCESS);
    }
    let output = |project: &Project| serving::attempt_output(project.setup(), &id, attempt);
    let (transcript, log) = output(project);
    let mut source = AttemptOutput { transcript, log, at: 0 };
    if !source.print()? {
        context.out.note(format!("attempt {attempt} of {id} has said nothing"));
    }
    while follow && is_live(project, &id, attempt)? {
        thread::sleep(FOLLOW_INTERVAL);
        source.transcript = source.transcript.or_else(|| output(project).0);
        source.print()?;
    }
    if follow {
        source.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn is_live(project: &mut Project, id: &ServerTaskId, attempt: u32) -> Result<bool, CliError> {
    let live = served::trace(project, id)?.and_then(TaskFile::live_attempt);
    Ok(live.is_some_and(|live| live.number() == attempt))
}

/// Packs what a task has left.
pub(super) fn deliverables(
    context: &Context,
    project: &mut Project,
    id: &str,
    zip: &Path,
) -> Result<ExitCode, CliError> {
    let id = parse(id)?;
    let target = context.path(zip);
    let packed = serving::archive(project, &id, &target)?;
    if context.out.json {
        context.out.json(&ArchiveReport {
            id: &id,
            file: &target,
            files: packed.files,
            bytes: packed.bytes,
            checkpoint: packed.checkpoint,
        })?;
    }
    let (files, at) = (packed.files, packed.checkpoint);
    context.out.done(format!("{files} files of checkpoint {at} are in {}", target.display()));
    Ok(ExitCode::SUCCESS)
}
