//! `waypost memory validate`, `doctor`, `prune`, `backup` and `restore`: keeping the files whole.

use super::lists::span;
use crate::command::{doctor, validate::print_validity};
use crate::data::{
    ClearedCache, FileValidity, MemoryBackedUp, MemoryBackupLine, MemoryPrunedLine,
    MemoryRestoredLine,
};
use crate::{
    Context,
    error::{CliError, Kind},
    output::{GREEN, styled},
};
use std::process::ExitCode;
use waypost_engine::{Health, Project, Repair, memory};
use waypost_model::memory::Command;

/// Look the memory over
///
/// Checks every file, and the current task against the history. Exits 1 if something is wrong.
#[derive(Debug, clap::Args)]
pub(super) struct MemoryDoctorArgs {
    /// Fix what can be fixed without loss, after it was shown; a backup is made first
    #[arg(long)]
    fix: bool,
}

/// Clear what is not kept: old details of the history, or what agents no longer use
#[derive(Debug, clap::Args)]
pub(super) struct MemoryPruneArgs {
    /// Clear what agents have in their caches and did not use for long
    #[arg(long)]
    cache: bool,
    /// How long it was not used: 30d, 12h
    #[arg(long, value_name = "SPAN", default_value = "30d", requires = "cache")]
    older_than: String,
}

/// Keep a copy of every file in `backup/`
///
/// The newest 20 of each file are kept. One is made by itself before what loses something.
#[derive(Debug, clap::Args)]
pub(super) struct BackupArgs {
    /// List the backups instead
    #[arg(long)]
    list: bool,
}

/// Put a backup in place; reserved for a person
///
/// What stands there is kept as another backup.
#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// One file by its name, or all of one time, as `memory backup --list` has them; without it the
    /// newest
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(super) fn validate(context: &Context, project: &mut Project) -> Result<ExitCode, CliError> {
    let found = memory::validate(project)?;
    let all_valid = found.iter().all(waypost_engine::Validity::is_valid);
    if context.out.json {
        let lines: Vec<_> = found
            .iter()
            .map(|it| FileValidity {
                file: &it.file.path,
                kind: it.kind,
                valid: it.is_valid(),
                findings: it.file.diagnostics.clone(),
                prompt: None,
            })
            .collect();
        context.out.json_list(&lines)?;
    } else {
        found.iter().try_for_each(|validity| print_validity(context, validity))?;
        if found.is_empty() {
            context.out.note("the memory has no files");
        }
    }
    Ok(if all_valid { ExitCode::SUCCESS } else { ExitCode::from(Kind::BadInput as u8) })
}

pub(super) fn doctor(
    context: &Context,
    project: &mut Project,
    args: &MemoryDoctorArgs,
) -> Result<ExitCode, CliError> {
    let mut found = memory::examine(project);
    if args.fix {
        for finding in &found {
            let Some(Repair::Memory(repair)) = &finding.repair else { continue };
            context.out.note(format!("{}: {}", finding.subject, finding.text));
            let done = memory::mend(project, repair)?;
            context.out.note(format!("{} {done}", styled(GREEN, "fixed:")));
        }
        found = memory::examine(project);
    }
    super::super::say_notices(context, project);
    doctor::print_all(context, &found)?;
    let is_bad = found.iter().any(|finding| finding.verdict == Health::Bad);
    Ok(if is_bad { ExitCode::from(Kind::Failed as u8) } else { ExitCode::SUCCESS })
}

pub(super) fn prune(
    context: &Context,
    project: &mut Project,
    args: &MemoryPruneArgs,
) -> Result<(), CliError> {
    let mut caches = Vec::new();
    if args.cache {
        let older_than = span(&args.older_than).ok_or_else(|| {
            CliError::bad_input(format!("`{}` is no span", args.older_than)).hint("as in 30d, 12h")
        })?;
        caches = memory::prune_cache(project, older_than)?;
    } else {
        memory::keep_windows(project)?;
        memory::give(project, Command::Prune)?;
    }
    let listed = project.memory()?.history().entries().len();
    if context.out.json {
        let caches = caches.into_iter();
        let caches = caches.map(|it| ClearedCache { agent: it.agent, keys: it.keys }).collect();
        return Ok(context.out.json(&MemoryPrunedLine { listed, caches })?);
    }
    for cleared in &caches {
        context.out.line(format!("{}: cleared {}", cleared.agent, cleared.keys.join(", ")))?;
    }
    match (args.cache, caches.is_empty()) {
        (true, true) => context.out.done("nothing in the caches is that old"),
        (true, false) => {}
        (false, _) => context.out.done(format!("the history lists {listed} tasks")),
    }
    Ok(())
}

pub(super) fn backup(
    context: &Context,
    project: &mut Project,
    args: &BackupArgs,
) -> Result<(), CliError> {
    if args.list {
        let found = memory::backups(project)?;
        if context.out.json {
            let lines: Vec<_> = found.iter().map(MemoryBackupLine::from).collect();
            return Ok(context.out.json_list(&lines)?);
        }
        if found.is_empty() {
            context.out.note("there is no backup yet");
        }
        return found.iter().try_for_each(|backup| Ok(context.out.line(&backup.name)?));
    }
    let made = memory::back_up(project)?;
    if context.out.json {
        let files = made.iter().map(AsRef::as_ref).collect();
        return Ok(context.out.json(&MemoryBackedUp { files })?);
    }
    if made.is_empty() {
        context.out.note("the memory has no files");
    }
    made.iter().try_for_each(|path| Ok(context.out.line(path.display())?))
}

pub(super) fn restore(
    context: &Context,
    project: &mut Project,
    args: &RestoreArgs,
) -> Result<(), CliError> {
    let done = memory::restore(project, args.name.as_deref())?;
    if context.out.json {
        let restored = done.restored.iter().map(|it| it.name.as_str()).collect();
        let kept = done.kept.iter().map(AsRef::as_ref).collect();
        return Ok(context.out.json(&MemoryRestoredLine { restored, kept })?);
    }
    for backup in &done.restored {
        context.out.line(format!("{} is as {} has it", backup.of, backup.name))?;
    }
    for kept in &done.kept {
        context.out.note(format!("what stood there before is {}", kept.display()));
    }
    Ok(())
}
