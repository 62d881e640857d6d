//! Commands that the broker runs for a call behind a wall.
//!
//! Such a command is outside, where everything can be written. What it writes by Waypost's own rules is
//! decided there; a file that it is told to write is not: the call writes such files itself, inside.

use crate::{
    args::{Cli, Command},
    error::CliError,
};
use std::env;
use waypost_model::{code::Code, layout::variable};

/// Refuses what would write where it is told to, for a call behind a wall.
pub(crate) fn refuse(cli: &Cli) -> Result<(), CliError> {
    if env::var_os(variable::BROKERED).is_none() {
        return Ok(());
    }
    let Some((what, hint)) = told_to_write(cli) else { return Ok(()) };
    let message = format!("{what} writes files outside of the wall, which no agent's command does");
    Err(CliError::new(Code::Reserved, message).hint(hint))
}

fn told_to_write(cli: &Cli) -> Option<(&'static str, &'static str)> {
    let by_person = "a person runs it in a terminal of their own";
    match &cli.command {
        Command::Import(args) if args.writes() => Some((
            "`waypost import`",
            "add --dry-run and send what it prints into the file: `… --dry-run > TASKS.md`",
        )),
        Command::Man(args) if args.writes() => Some(("`waypost man DIR`", by_person)),
        Command::Task(args) if args.writes() => Some(("`waypost task deliverables`", by_person)),
        Command::Serve(_) => Some(("`waypost serve`", by_person)),
        Command::Demo(_) => Some(("`waypost demo`", by_person)),
        Command::Sim(_) => Some(("`waypost sim`", by_person)),
        Command::Init(_) if cli.general.directory.is_some() => {
            Some(("`waypost -C DIR init`", by_person))
        }
        _ => None,
    }
}
