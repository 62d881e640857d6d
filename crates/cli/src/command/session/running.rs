//! `waypost session run`: agents in the roles of a session.

use super::tell;
use crate::{
    Context,
    command::{
        run::execute::IsolationWord,
        say_notices,
        watch::{Watch, keeper},
    },
    error::CliError,
};
use std::process::ExitCode;
use waypost_engine::{
    Project,
    sessions::{self, SessionRunEnd, SessionRunOptions},
};
use waypost_model::{code::Code, next::NextStep, run::Isolation};

/// Have agents work on the request until it is complete
///
/// code-explore and planner at the same time, then the orchestrator's briefs and the plan, then for each
/// task the architect and for each subtask qa-engineer, implementer and qa-engineer; Waypost looks at the
/// gates in between. Each task works in a work tree of its own, as the tasks of a run do: its work is joined
/// when its last gate is passed, and all of it is merged into the branch that is checked out when the request is
/// complete. Who plays which role is said by `[roles.NAME]` in waypost.toml. Stopped or killed, the
/// same command goes on where it stood.
#[derive(Debug, clap::Args)]
pub(super) struct SessionRunArgs {
    /// The agent for all roles, in place of those that are configured
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Where tasks are worked on, for a request that has not begun: in a work tree for each, or in the
    /// project's folder itself; `phase` means the same as `task`
    #[arg(long, value_name = "WHERE")]
    isolation: Option<IsolationWord>,
}

pub(super) fn run(
    context: &Context,
    project: Project,
    args: &SessionRunArgs,
) -> Result<ExitCode, CliError> {
    let isolation = args.isolation.map(Isolation::from);
    let options = SessionRunOptions { agent: args.agent.clone(), isolation, keeper: keeper()? };
    let watch = Box::new(Watch::begin(context)?);
    let (mut project, end) = sessions::run(project, options, watch)?;
    say_notices(context, &mut project);
    match end? {
        SessionRunEnd::Done => {
            tell(context, &mut project)?;
            Ok(ExitCode::SUCCESS)
        }
        SessionRunEnd::Stopped => {
            Err(CliError::new(Code::Stopped, "stopped before the end").next(NextStep::RunSession))
        }
        SessionRunEnd::Waits(why) => Err(CliError::new(Code::PersonNeeded, why)
            .next(NextStep::ShowInbox)
            .next(NextStep::NextOfSession)),
        SessionRunEnd::Limited(why) => {
            let message = format!("a limit of the agent's service was met: {why}");
            Err(CliError::new(Code::AgentUnavailable, message)
                .hint("try again when the limit is over")
                .next(NextStep::RunSession))
        }
    }
}
