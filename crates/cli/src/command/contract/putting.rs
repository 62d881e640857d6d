//! `waypost contract put`: a contract from standard input to its place.

use super::{PlaceArgs, find_contract_kind};
use crate::{
    Context,
    data::{ContractLine, ContractPut},
    error::CliError,
    snippet,
};
use std::{
    io::{self, Read as _},
    path::Path,
};
use waypost_engine::{
    InvalidFile, Project,
    contracts::{self, GivenPlace},
};

/// The largest contract that is read, and one byte more.
const SIZE_READ: u64 = (4 << 20) + 1;

/// Check a contract from standard input, and put it in its place
///
/// Its place follows from its ids; what it does not say itself is given. What is not valid, or says
/// that it is of something else, is refused with every finding (exit 2), and nothing is changed.
#[derive(Debug, clap::Args)]
pub(super) struct PutArgs {
    /// explored, task-breakdown, design-brief, design-contract, test-contract or test-result
    kind: String,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) fn put(
    context: &Context,
    project: &mut Project,
    args: &PutArgs,
) -> Result<(), CliError> {
    let kind = find_contract_kind(&args.kind)?;
    let mut bytes = Vec::new();
    io::stdin().lock().take(SIZE_READ).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == SIZE_READ {
        return Err(CliError::bad_input("the contract is larger than 4 MiB"));
    }
    let PlaceArgs { request, task, subtask } = &args.place;
    let given =
        GivenPlace { request: request.clone(), task: task.clone(), subtask: subtask.clone() };
    let origin = Path::new("standard input");
    let place = contracts::place_of(kind, &bytes, &given, origin)?;
    let put = contracts::put(project, kind, &place, &bytes, origin)?;
    if context.out.json {
        let (line, changed) = (ContractLine::of(&put.file, true), put.is_changed);
        let (hash, findings) = (put.hash.as_str(), &put.warnings);
        return Ok(context.out.json(&ContractPut { contract: line, changed, hash, findings })?);
    }
    if !put.warnings.is_empty() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let file = InvalidFile { path: origin.to_owned(), text, diagnostics: put.warnings };
        crate::output::say(snippet::draw(&file).trim_end());
    }
    let path = put.file.path.strip_prefix(project.root()).unwrap_or(&put.file.path);
    match put.is_changed {
        true => context.out.done(format!("put {}", path.display())),
        false => context.out.done(format!("{} was the same", path.display())),
    }
    Ok(())
}
