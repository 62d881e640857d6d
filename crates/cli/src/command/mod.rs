//! One file per command: its arguments, which are its manual, and what it does.

pub(crate) mod adopt;
pub(crate) mod agents;
pub(crate) mod attend;
pub(crate) mod broker;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod contract;
pub(crate) mod demo;
pub(crate) mod develop;
pub(crate) mod doctor;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod keeper;
pub(crate) mod knowledge;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod notify;
pub(crate) mod open;
pub(crate) mod pin;
pub(crate) mod reference;
pub(crate) mod resolve;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod sim;
pub(crate) mod status;
pub(crate) mod statusline;
pub(crate) mod task;
pub(crate) mod text;
pub(crate) mod validate;
pub(crate) mod value;
pub(crate) mod watch;
pub(crate) mod why;
pub(crate) mod worktree;

use crate::{Context, error::CliError, spelling};
use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _, Write as _},
};
use waypost_engine::{Origin, Project, identify};
use waypost_model::next::Weight;

/// Opens the project around the working folder, and says what has to be said about it.
pub(crate) fn open(context: &Context) -> Result<Project, CliError> {
    let mut project = Project::open(&context.directory, identify())?;
    project.spell(spelling::command_line);
    project.ask_pin_by(pin::typed_unseen);
    say_where(context, &project);
    say_notices(context, &mut project);
    Ok(project)
}

/// Says for `--verbose` which files a command works with, and as whom.
fn say_where(context: &Context, project: &Project) {
    if !context.out.verbose {
        return;
    }
    context.out.detail(format!("project: {}", project.root().display()));
    context.out.detail(format!("journal: {}", project.place().state.display()));
    let origins: BTreeSet<String> = project
        .configuration()
        .settings()
        .iter()
        .filter(|each| each.origin != Origin::Default)
        .map(|each| each.origin.to_string())
        .collect();
    let origins: Vec<String> = origins.into_iter().collect();
    let origins = if origins.is_empty() { "defaults".to_owned() } else { origins.join(", ") };
    context.out.detail(format!("configuration: {origins}"));
    context.out.detail(format!("you act as: {}", project.actor()));
}

/// Asks the person at the terminal; without a terminal there is no answer.
pub(crate) fn ask(question: &str) -> Result<Option<String>, CliError> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut stderr = anstream::stderr();
    write!(stderr, "{question} ")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(Some(line.trim().to_owned()))
}

pub(crate) fn say_notices(context: &Context, project: &mut Project) {
    for notice in project.take_notices() {
        let line = spelling::line(&notice);
        match notice.weight {
            Weight::Warning => context.out.warning(line),
            Weight::Note => context.out.note(line),
        }
    }
}
