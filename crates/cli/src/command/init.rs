//! `waypost init`: makes a project ready.

use super::{open, say_notices};
use crate::{Context, error::CliError};
use serde_json::json;
use std::process::ExitCode;
use waypost_engine::{Project, identify};

/// Make this project ready for Waypost
///
/// Makes the journal and keeps Waypost's files out of git's sight (`.git/info/exclude`). Repeating
/// it changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// Begin a new journal where the old one is gone or damaged; reserved for a person
    #[arg(long)]
    fresh: bool,
}

pub(crate) fn run(context: &Context, args: &InitArgs) -> Result<ExitCode, CliError> {
    let mut project = if args.fresh {
        let mut project = Project::find(&context.directory, identify())?;
        project.begin_anew()?;
        project
    } else {
        open(context)?
    };
    let report = project.init()?;
    say_notices(context, &mut project);
    if context.out.json {
        context.out.json(&json!({
            "root": project.root(),
            "journal": project.place().state,
            "made_journal": report.made_journal,
            "excluded": report.excluded,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let state = project.place().state.display();
    if report.made_journal {
        context.out.note(format!("made the journal in {state}"));
    } else {
        context.out.note(format!("the journal is in {state}"));
    }
    if !report.excluded.is_empty() {
        context.out.note(format!("git now ignores {}", report.excluded.join(", ")));
    }
    context
        .out
        .note("next: `waypost develop start FEATURE`, or write a TASKS.md and `waypost run next`");
    Ok(ExitCode::SUCCESS)
}
