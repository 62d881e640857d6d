//! `waypost validate`: checks files of all five parts.

use super::schema::find_kind;
use crate::{
    Context,
    data::FileValidity,
    error::{CliError, Kind},
    output::{GREEN, RED, styled},
    snippet,
};
use std::{path::PathBuf, process::ExitCode};
use waypost_engine::{Validity, validate_file};

/// Check files against their strict schemas
///
/// Works for every file of the five parts, waypost.toml and TASKS.md. What a file is follows from
/// its path, or from --kind. Exits 2 if a file is not valid; warnings do not count.
#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// What the files are; see `waypost schema`
    #[arg(long)]
    kind: Option<String>,
}

pub(crate) fn run(context: &Context, args: &ValidateArgs) -> Result<ExitCode, CliError> {
    let kind = args.kind.as_deref().map(find_kind).transpose()?;
    let mut all_valid = true;
    let mut found = Vec::new();
    for file in &args.files {
        let mut validity = validate_file(&context.path(file), kind)?;
        validity.file.path.clone_from(file);
        all_valid &= validity.is_valid();
        if context.out.json {
            found.push(FileValidity {
                file,
                kind: validity.kind,
                valid: validity.is_valid(),
                findings: validity.file.diagnostics,
                prompt: None,
            });
        } else {
            print_validity(context, &validity)?;
        }
    }
    if context.out.json {
        context.out.json_list(&found)?;
    }
    Ok(if all_valid { ExitCode::SUCCESS } else { ExitCode::from(Kind::BadInput as u8) })
}

pub(crate) fn print_validity(context: &Context, validity: &Validity) -> Result<(), CliError> {
    let path = validity.file.path.display();
    if !validity.file.diagnostics.is_empty() {
        crate::output::say(snippet::draw(&validity.file).trim_end());
    }
    let word = if validity.is_valid() { styled(GREEN, "valid") } else { styled(RED, "invalid") };
    Ok(context.out.line(format!("{word} {path} ({})", validity.kind))?)
}
