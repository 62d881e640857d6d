//! `waypost completions`: completion scripts for shells.

use crate::{Context, args::Cli, error::CliError};
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::process::ExitCode;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(context: &Context, args: &CompletionsArgs) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "waypost", &mut script);
    context.out.raw(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
