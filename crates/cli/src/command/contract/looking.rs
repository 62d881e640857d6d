//! `waypost contract get`, `list` and `diff`: what there is, and what has changed.

use super::{PlaceArgs, find_contract_kind};
use crate::{
    Context,
    data::{ContractChangeLine, ContractDiffReport, ContractLine, ContractText},
    error::CliError,
    output::{DIM, GREEN, RED, styled},
};
use std::fs;
use waypost_engine::{
    Project,
    contracts::{self, ContractFile},
    validate_file,
};
use waypost_model::{code::Code, document::Kind, next::NextStep};

/// Print a contract
///
/// Where there is only one of its kind, nothing more has to be said.
#[derive(Debug, clap::Args)]
pub(super) struct ContractGetArgs {
    /// explored, task-breakdown, design-brief, design-contract, test-contract or test-result
    kind: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// An earlier content, by its number; `contract diff` says how many there are
    #[arg(long, value_name = "N")]
    version: Option<usize>,
}

/// List the contracts of the session
#[derive(Debug, clap::Args)]
pub(super) struct ContractListArgs {
    /// Only this kind
    kind: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

/// Show which fields of a contract changed between two of its versions
///
/// Without numbers, the newest content is compared with the one before. The newest twenty are kept.
#[derive(Debug, clap::Args)]
pub(super) struct DiffArgs {
    /// explored, task-breakdown, design-brief, design-contract, test-contract or test-result
    kind: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// The version that is compared
    #[arg(long, value_name = "N")]
    from: Option<usize>,
    /// The version that it is compared with; the newest unless said
    #[arg(long, value_name = "N")]
    to: Option<usize>,
}

/// The contracts that fit what was said.
fn fitting(
    project: &Project,
    kind: Option<Kind>,
    place: &PlaceArgs,
) -> Result<Vec<ContractFile>, CliError> {
    let mut found = contracts::list(project)?;
    found.retain(|it| {
        let of = &it.place;
        kind.is_none_or(|kind| it.kind == kind)
            && place.request.as_ref().is_none_or(|id| of.request == *id)
            && place.task.as_ref().is_none_or(|id| of.task.as_ref() == Some(id))
            && place.subtask.as_ref().is_none_or(|id| of.subtask.as_ref() == Some(id))
    });
    Ok(found)
}

/// The one contract that is meant.
fn one(project: &Project, kind: &str, place: &PlaceArgs) -> Result<ContractFile, CliError> {
    let kind = find_contract_kind(kind)?;
    let mut found = fitting(project, Some(kind), place)?;
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => {
            let message = format!("there is no such {}", kind.name());
            Err(CliError::new(Code::ContractUnknown, message).next(NextStep::ListContracts))
        }
        (Some(last), false) => {
            let names: Vec<String> =
                found.iter().chain([&last]).map(|it| it.place.to_string()).collect();
            let message = format!("there are several {}: {}", kind.name(), names.join(", "));
            Err(CliError::new(Code::ContractUnknown, message)
                .hint("say which with --request, --task and --subtask"))
        }
    }
}

pub(super) fn get(
    context: &Context,
    project: &Project,
    args: &ContractGetArgs,
) -> Result<(), CliError> {
    let file = one(project, &args.kind, &args.place)?;
    let path = match args.version {
        None => file.path.clone(),
        Some(number) => {
            let kept = contracts::versions(project, file.kind, &file.place)?;
            let count = kept.len();
            let version = kept.into_iter().find(|it| it.number == number).ok_or_else(|| {
                CliError::new(Code::VersionUnknown, format!("there is no version {number}"))
                    .hint(format!("there are 1 to {count}"))
            })?;
            version.path
        }
    };
    let text = fs::read_to_string(&path)?;
    if !context.out.json {
        return Ok(context.out.raw(&text)?);
    }
    let valid = validate_file(&file.path, Some(file.kind))?.is_valid();
    let document = contracts::value(file.kind, text.as_bytes());
    let contract = ContractLine::of(&file, valid);
    Ok(context.out.json(&ContractText { contract, text: &text, document })?)
}

pub(super) fn list(
    context: &Context,
    project: &Project,
    args: &ContractListArgs,
) -> Result<(), CliError> {
    let kind = args.kind.as_deref().map(find_contract_kind).transpose()?;
    let found = fitting(project, kind, &args.place)?;
    let mut lines = Vec::new();
    for file in &found {
        let valid = validate_file(&file.path, Some(file.kind))?.is_valid();
        lines.push(ContractLine::of(file, valid));
    }
    if context.out.json {
        return Ok(context.out.json_list(&lines)?);
    }
    if found.is_empty() {
        context.out.note("the session has no such contract");
    }
    for (file, line) in found.iter().zip(&lines) {
        let word = if line.valid { styled(GREEN, "valid") } else { styled(RED, "invalid") };
        let (place, kind) = (file.place.to_string(), file.kind.name());
        context.out.line(format!("{place:14} {kind:16} {word}"))?;
    }
    Ok(())
}

pub(super) fn diff(context: &Context, project: &Project, args: &DiffArgs) -> Result<(), CliError> {
    let file = one(project, &args.kind, &args.place)?;
    let diff = contracts::diff(project, file.kind, &file.place, (args.from, args.to))?;
    if context.out.json {
        let changes = diff.changes.iter().map(ContractChangeLine::from).collect();
        let contract =
            ContractLine::of(&file, validate_file(&file.path, Some(file.kind))?.is_valid());
        let (from, to) = (diff.from, diff.to);
        return Ok(context.out.json(&ContractDiffReport { contract, from, to, changes })?);
    }
    if diff.from == diff.to {
        let name = file.place.path(file.kind);
        context.out.note(format!("{name} has one version: there is none to compare it with"));
        return Ok(());
    }
    let title = format!("{} version {} to {}", file.place.path(file.kind), diff.from, diff.to);
    context.out.line(styled(DIM, title))?;
    if diff.changes.is_empty() {
        context.out.note("nothing has changed");
    }
    for change in &diff.changes {
        for (sign, style, value) in [("-", RED, &change.before), ("+", GREEN, &change.after)] {
            if let Some(value) = value {
                context.out.line(styled(style, format!("{sign} {}: {value}", change.path)))?;
            }
        }
    }
    Ok(())
}
