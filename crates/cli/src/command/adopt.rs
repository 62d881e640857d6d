//! `waypost adopt`: makes a state file the start of a journal.

use super::{pin, say_notices};
use crate::data::Adopted;
use crate::{Context, error::CliError};
use std::{path::PathBuf, process::ExitCode};
use waypost_engine::{EngineError, Project, StoreError, adopt, identify};

/// Make a state file that was found without a journal the start of one
///
/// For `.develop-workflow/state.json` and `.claude/orchestrate-state.json`, and for `.waypost/journal.db`
/// of a folder that was unpacked or brought from elsewhere. Reserved for a person, who vouches for what
/// the file says.
#[derive(Debug, clap::Args)]
pub(crate) struct AdoptArgs {
    /// The state file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(context: &Context, args: &AdoptArgs) -> Result<ExitCode, CliError> {
    let path = context.path(&args.file);
    // A journal that has vanished is no reason to refuse: this is the way back.
    let mut project = match Project::open_unreconciled(&context.directory, identify()) {
        Err(EngineError::Store(StoreError::Vanished { .. })) => {
            Project::find(&context.directory, identify())?
        }
        Err(EngineError::Store(StoreError::Foreign { .. })) => {
            let mut project = Project::find(&context.directory, identify())?;
            project.ask_pin_by(pin::typed_unseen);
            adopt::adopt_journal(&mut project)?;
            context.out.done(format!("{} is believed from now on", path.display()));
            return Ok(ExitCode::SUCCESS);
        }
        opened => opened?,
    };
    project.ask_pin_by(pin::typed_unseen);
    let kind = adopt::adopt(&mut project, &path)?;
    say_notices(context, &mut project);
    if context.out.json {
        context.out.json(&Adopted { adopted: &path, kind: kind.name() })?;
    }
    context.out.done(format!("adopted {} as the start of the journal", path.display()));
    Ok(ExitCode::SUCCESS)
}
