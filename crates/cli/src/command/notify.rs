//! `waypost notify`: whether notices arrive, and sending those that wait.

use super::{open, say_notices};
use crate::data::{NoticesWaiting, TrialReport};
use crate::{
    Context,
    error::CliError,
    output::{BOLD, styled},
};
use std::process::ExitCode;
use waypost_engine::{Project, Trial, Waiting, notify};
use waypost_model::code::Code;

/// Try out and send notices
///
/// A run tells Slack, webhooks and ntfy that it has started, that a task has failed for good, that a
/// phase has ended, that it needs a person, and that it is over. Where they go stands in the
/// person's own configuration: `run.slack_webhook_url`, `notify.webhooks`, `notify.ntfy`.
#[derive(Debug, clap::Args)]
pub(crate) struct NotifyArgs {
    #[command(subcommand)]
    action: NotifyAction,
}

#[derive(Debug, clap::Subcommand)]
enum NotifyAction {
    /// Send a test to every target, and print the result
    ///
    /// Exits with 1 if one did not arrive, and with 5 if nothing is configured.
    Test,
    /// Send what waits and is due, without going on with a run
    ///
    /// Notices that could not be sent wait in the journal; the next run sends them too.
    Send,
}

pub(crate) fn run(context: &Context, args: &NotifyArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    match args.action {
        NotifyAction::Test => test(context, &mut project),
        NotifyAction::Send => send(context, &mut project),
    }
}

fn test(context: &Context, project: &mut Project) -> Result<ExitCode, CliError> {
    project.refuse_stale()?;
    let trials = notify::try_out(project);
    say_notices(context, project);
    if trials.is_empty() {
        return Err(CliError::new(Code::TargetMissing, "there is nowhere to send notices to")
            .hint(
                "set `run.slack_webhook_url`, `notify.webhooks` or `notify.ntfy` in \
             ~/.config/waypost/config.toml",
            ));
    }
    let has_failed = trials.iter().any(|trial| trial.result.is_err());
    if context.out.json {
        let data: Vec<_> = trials.iter().map(TrialReport::from).collect();
        context.out.json_list(&data)?;
    } else {
        for Trial { target, key, result } in &trials {
            let told = match result {
                Ok(()) => "arrived".to_owned(),
                Err(why) => format!("did not arrive: {why} (`{key}`)"),
            };
            context.out.line(format!("{}  {told}", styled(BOLD, target)))?;
        }
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn send(context: &Context, project: &mut Project) -> Result<ExitCode, CliError> {
    project.refuse_stale()?;
    notify::send_due(project)?;
    say_notices(context, project);
    let waiting = notify::waiting(project)?;
    if context.out.json {
        context.out.json_list(&waiting_json(&waiting))?;
    } else if waiting.is_empty() {
        context.out.note("no notice waits");
    } else {
        context.out.raw(&waiting_text(&waiting))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What waits, a line for each target; empty if nothing does.
pub(crate) fn waiting_text(waiting: &[Waiting]) -> String {
    let line = |it: &Waiting| {
        let why = if it.why.is_empty() { String::new() } else { format!(": {}", it.why) };
        format!("{}  {} waiting for {}{why}\n", styled(BOLD, "Notices"), it.count, it.target)
    };
    waiting.iter().map(line).collect()
}

pub(crate) fn waiting_json(waiting: &[Waiting]) -> Vec<NoticesWaiting<'_>> {
    waiting.iter().map(NoticesWaiting::from).collect()
}
