//! `waypost completions`: completion scripts for shells.

use crate::{Context, complete, error::CliError};
use clap_complete::{Shell, env::Shells};
use std::process::ExitCode;

/// Print a completion script for a shell
///
/// It completes commands and flags, and asks `waypost` itself for the ids of tasks, inbox entries
/// and checkpoints and for the names of agents.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(context: &Context, args: &CompletionsArgs) -> Result<ExitCode, CliError> {
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let shell = shells.completer(&name).expect("both lists of shells are the library's");
    let mut script = Vec::new();
    shell.write_registration(complete::VARIABLE, "waypost", "waypost", "waypost", &mut script)?;
    context.out.raw(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
