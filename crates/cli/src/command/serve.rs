//! `waypost serve`: acts for a project and works on its tasks.

use super::{
    open, say_notices,
    watch::{Watch, keeper},
};
use crate::{Context, data::ServeLine, error::CliError};
use std::{path::PathBuf, process::ExitCode};
use waypost_engine::{host, serving::ServeOptions};

/// Work on tasks until Ctrl-C
///
/// Gives pending tasks to agents, hears what these say, takes checkpoints, verifies phases, and asks you
/// what only a person can decide: `waypost task` and `waypost inbox` are the way to hand in work and to
/// answer. Ctrl-C ends agents with a checkpoint; the same command goes on in their conversations. Killed,
/// it finds them again. A run that is started meanwhile is worked on here too.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Where workspaces are kept; `.waypost` in the project if left out
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: &ServeArgs) -> Result<ExitCode, CliError> {
    let project = open(context)?;
    let data = args.data_dir.as_ref().map(|path| context.path(path));
    let options = ServeOptions { keeper: keeper()?, data };
    let watch = Box::new(Watch::begin(context)?);
    let tell_ready = || {
        if context.out.json {
            // A reader that is gone does not keep tasks from being worked on.
            let _unread = context.out.json(&ServeLine { event: "ready" });
        } else {
            context.out.note("tasks are worked on; Ctrl-C ends that");
        }
    };
    let mut project = host::serve(project, options, watch, &tell_ready)?;
    say_notices(context, &mut project);
    Ok(ExitCode::SUCCESS)
}
