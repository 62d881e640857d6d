//! `waypost develop ralph`: agents work on the checkpoints until their validations hold.

use super::{parse_id, report};
use crate::{
    Context,
    command::{
        say_notices,
        watch::{Watch, keeper},
    },
    error::CliError,
    spelling,
};
use std::process::ExitCode;
use waypost_engine::{Project, RalphEnd, RalphOptions};
use waypost_model::{code::Code, id::CheckpointId, next::NextStep, workflow::CheckpointStatus};

/// Have agents work on the checkpoints until their validations hold
///
/// Needs a checkpoint contract. Each checkpoint is started in its order; the agent (`run.agent` in
/// waypost.toml) gets its part of the contract and how the validation fails, and when it has ended
/// Waypost runs the validation itself. The second try widens the analysis, the third asks a test
/// oracle first; then it is escalated into the inbox. Checkpoints that do not depend on each other
/// are worked on side by side where the strategy allows. Stopped or killed, the same command goes on
/// with the same try in the same conversation.
#[derive(Debug, clap::Args)]
pub(crate) struct RalphArgs {
    /// Only this checkpoint
    #[arg(long, value_name = "ID")]
    checkpoint: Option<String>,

    /// The agent that works on it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Escalate after so many tries, if that is earlier than the workflow would
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,
}

pub(super) fn run(
    context: &Context,
    project: Project,
    args: &RalphArgs,
) -> Result<ExitCode, CliError> {
    let keeper = keeper()?;
    let checkpoint = args.checkpoint.as_deref().map(parse_id).transpose()?;
    let options = RalphOptions {
        checkpoint: checkpoint.clone(),
        agent: args.agent.clone(),
        max_iterations: args.max_iterations,
        keeper,
    };
    let watch = Box::new(Watch::begin(context)?);
    let (mut project, end) = waypost_engine::ralph(project, options, watch)?;
    say_notices(context, &mut project);
    match end? {
        RalphEnd::Over => {}
        RalphEnd::Stopped => {
            return Err(CliError::new(Code::Stopped, "stopped before the end")
                .next(NextStep::TryCheckpoints));
        }
        RalphEnd::Limited(why) => {
            let message = format!("a limit of the agent's service was met: {why}");
            return Err(CliError::new(Code::AgentUnavailable, message)
                .hint("try again when the limit is over")
                .next(NextStep::TryCheckpoints));
        }
        RalphEnd::Waits(entries) => {
            let ids: Vec<&str> = entries.iter().map(|id| id.as_str()).collect();
            let message = format!("an agent waits for a person's answer to {}", ids.join(", "));
            let again = spelling::command_line(&NextStep::TryCheckpoints);
            let told = CliError::new(Code::CheckpointEscalated, message)
                .hint(format!("a person answers, then `{again}` goes on"));
            let step = |id| NextStep::AnswerEntry { id, answers: "TEXT".to_owned() };
            return Err(told.steps(entries.into_iter().map(step).collect()));
        }
    }
    let has_passed = all_passed(&mut project, checkpoint.as_ref())?;
    report(context, &mut project)?;
    Ok(if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether what was to be worked on has passed.
fn all_passed(project: &mut Project, wanted: Option<&CheckpointId>) -> Result<bool, CliError> {
    let Some(feature) = &project.workflow()?.feature else { return Ok(false) };
    let mut checkpoints =
        feature.checkpoints.iter().filter(|(id, _)| wanted.is_none_or(|wanted| wanted == *id));
    Ok(checkpoints.all(|(_, it)| it.status == CheckpointStatus::Passed))
}
