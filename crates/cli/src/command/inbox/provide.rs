//! `waypost inbox provide`: a value, typed where it is not seen or piped in.

use super::{entry_id, reply::say};
use crate::{
    Context,
    command::{open, value::given_value},
    error::CliError,
};
use std::{path::PathBuf, process::ExitCode};
use waypost_engine::answer;

#[derive(Debug, clap::Args)]
pub(super) struct ProvideArgs {
    /// Its id, as in q3
    id: String,
    /// Read the value from a file
    #[arg(long)]
    file: Option<PathBuf>,
    /// The version of the entry that you have seen; another one is refused
    #[arg(long, value_name = "NUMBER")]
    version: Option<u32>,
}

pub(super) fn run(context: &Context, args: &ProvideArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let id = entry_id(&args.id)?;
    let (name, seen) = answer::wanted_value(&mut project, &id, args.version)?;
    let value = given_value(context, &name, args.file.as_deref())?;
    let recorded = answer::provide(&mut project, &id, &value, Some(seen))?;
    say(context, &mut project, &id, &recorded)
}
