//! `waypost contract`: the contracts that agents of a session hand to each other.

mod looking;
mod putting;

use super::{open, say_notices};
use crate::{
    Context,
    data::FileValidity,
    error::{CliError, Kind as ErrorKind},
    spelling,
};
use std::{path::PathBuf, process::ExitCode};
use waypost_engine::{Validity, contracts};
use waypost_model::{
    code::Code,
    document::{Kind, RequestId, SessionTaskId, SubtaskId},
};

/// Check, put, read and compare the contracts of a session
///
/// They are in `.claude/orchestrator/sessions/HASH/contracts/`, by request, task and subtask. A file is
/// the truth of its contract: agents may also write it themselves.
#[derive(Debug, clap::Args)]
pub(crate) struct ContractArgs {
    #[command(subcommand)]
    command: ContractCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ContractCommand {
    Validate(ContractValidateArgs),
    Put(putting::PutArgs),
    Get(looking::ContractGetArgs),
    List(looking::ContractListArgs),
    Diff(looking::DiffArgs),
}

/// Check contracts strictly: every field, every type, and the ids against the path
///
/// Exits 2 if one is not valid; warnings do not count.
#[derive(Debug, clap::Args)]
struct ContractValidateArgs {
    /// The files; without any, all contracts of the session
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What the files are, where their names do not say so
    #[arg(long, value_name = "KIND", requires = "files")]
    kind: Option<String>,
    /// Print the request to write each bad one again, to hand back to its agent
    #[arg(long)]
    regenerate_prompt: bool,
}

/// Finds a kind of contract by its name.
fn find_contract_kind(name: &str) -> Result<Kind, CliError> {
    let found = contracts::KINDS.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = contracts::KINDS.iter().map(|kind| kind.name()).collect();
        CliError::new(Code::KindUnknown, format!("`{name}` is no kind of contract"))
            .hint(format!("one of {}", names.join(", ")))
    })
}

/// Of which request, task and subtask a contract is.
#[derive(Debug, clap::Args)]
struct PlaceArgs {
    /// The request, as in R1
    #[arg(long, value_name = "ID")]
    request: Option<RequestId>,
    /// The task, as in T1
    #[arg(long, value_name = "ID")]
    task: Option<SessionTaskId>,
    /// The subtask, as in T1-S2
    #[arg(long, value_name = "ID")]
    subtask: Option<SubtaskId>,
}

pub(crate) fn run(context: &Context, args: &ContractArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let project = &mut project;
    let done = match &args.command {
        ContractCommand::Validate(args) => return validate(context, project, args),
        ContractCommand::Put(args) => putting::put(context, project, args),
        ContractCommand::Get(args) => looking::get(context, project, args),
        ContractCommand::List(args) => looking::list(context, project, args),
        ContractCommand::Diff(args) => looking::diff(context, project, args),
    };
    say_notices(context, project);
    done.map(|()| ExitCode::SUCCESS)
}

fn validate(
    context: &Context,
    project: &waypost_engine::Project,
    args: &ContractValidateArgs,
) -> Result<ExitCode, CliError> {
    let files: Vec<PathBuf> = args.files.iter().map(|file| context.path(file)).collect();
    let kind = args.kind.as_deref().map(find_contract_kind).transpose()?;
    let mut found = contracts::validate(project, &files, kind)?;
    for (validity, typed) in found.iter_mut().zip(&args.files) {
        validity.file.path.clone_from(typed);
    }
    if args.files.is_empty() {
        let root = project.root().to_owned();
        found.iter_mut().for_each(|it| below(&root, it));
    }
    let all_valid = found.iter().all(Validity::is_valid);
    if context.out.json {
        let lines: Vec<FileValidity<'_>> = found
            .iter()
            .map(|it| FileValidity {
                file: &it.file.path,
                kind: it.kind,
                valid: it.is_valid(),
                findings: it.file.diagnostics.clone(),
                prompt: prompt(args, it),
            })
            .collect();
        context.out.json_list(&lines)?;
    } else if found.is_empty() {
        context.out.note("the session has no contract yet");
    } else {
        for validity in &found {
            match prompt(args, validity) {
                Some(prompt) => context.out.raw(&prompt)?,
                None if args.regenerate_prompt => {}
                None => super::validate::print_validity(context, validity)?,
            }
        }
    }
    Ok(if all_valid { ExitCode::SUCCESS } else { ExitCode::from(ErrorKind::BadInput as u8) })
}

fn prompt(args: &ContractValidateArgs, validity: &Validity) -> Option<String> {
    let spell = spelling::command_line;
    args.regenerate_prompt.then(|| contracts::regenerate_prompt(validity, spell)).flatten()
}

/// A path as one would type it here.
fn below(root: &std::path::Path, validity: &mut Validity) {
    if let Ok(short) = validity.file.path.strip_prefix(root) {
        validity.file.path = short.to_owned();
    }
}
