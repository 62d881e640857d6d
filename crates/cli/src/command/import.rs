//! `waypost import`: the tasks of another tool as a TASKS.md.

use crate::data::ImportReport;
use crate::{Context, error::CliError};
use std::{path::PathBuf, process::ExitCode};
use waypost_engine::import;
use waypost_model::next::NextStep;

/// Take over the tasks of Task Master or Backlog.md
///
/// Writes a TASKS.md with the same tasks, dependencies and priorities. What a TASKS.md has no field for
/// becomes text below its task, and is said. The files of the other tool are only read.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// A `tasks.json` of Task Master, or the folder of Backlog.md
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Where the tasks are written; a file that is there is left alone
    #[arg(long, value_name = "FILE", default_value = "TASKS.md")]
    to: PathBuf,

    /// Only print what would be written
    #[arg(long)]
    dry_run: bool,
}

impl ImportArgs {
    /// Whether a file is written.
    pub(crate) fn writes(&self) -> bool {
        !self.dry_run
    }
}

pub(crate) fn run(context: &Context, args: &ImportArgs) -> Result<ExitCode, CliError> {
    let path = context.path(&args.path);
    let folder = context.directory.canonicalize().unwrap_or_else(|_| context.directory.clone());
    let project = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let converted = import::read_foreign(&path, &project.unwrap_or_else(|| "project".into()))?;
    if !args.dry_run {
        import::write_tasks(&context.path(&args.to), &converted).map_err(|error| {
            CliError::from(error).hint("name another file with --to, or move that one away")
        })?;
    }
    if context.out.json {
        context.out.json(&ImportReport {
            file: (!args.dry_run).then_some(args.to.as_path()),
            tasks: converted.tasks,
            remarks: &converted.remarks,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        context.out.raw(&converted.text)?;
    }
    for remark in &converted.remarks {
        context.out.note(remark);
    }
    if !args.dry_run {
        let next = crate::spelling::command_line(&NextStep::BeginRun);
        let (tasks, file) = (converted.tasks, args.to.display());
        context.out.done(format!("{tasks} tasks are in {file}; `{next} --dry-run` shows the plan"));
    }
    Ok(ExitCode::SUCCESS)
}
