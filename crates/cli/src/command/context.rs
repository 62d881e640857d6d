//! `waypost context`: what an agent should know now.

use super::{open, say_notices};
use crate::{Context, command::run::parse_id, data::ContextReport, error::CliError};
use std::process::ExitCode;
use waypost_engine::context::{ContextRequest, context_for};

/// What fits into a message without pushing the work out of it.
pub(crate) const BUDGET_USUAL: usize = 2_000;

/// Print what an agent should know now
///
/// How its part stands, what waits for a person and what was answered, decisions and pitfalls that
/// concern its files, what it kept, and what a search for its task finds; the most valuable that fits
/// into the budget, newest first. The same state gives the same text.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentContextArgs {
    /// What the agent does: worker, reviewer, architect, or the name of its memory
    #[arg(long = "for", value_name = "ROLE")]
    role: String,

    /// How many tokens at most, roughly
    #[arg(long, value_name = "TOKENS", default_value_t = BUDGET_USUAL)]
    budget: usize,

    /// The task that it works on, as in T1.3; known inside an attempt
    #[arg(long, value_name = "ID", env = "WAYPOST_TASK")]
    task: Option<String>,

    /// A file that it works on; several times for several files
    #[arg(long, value_name = "FILE")]
    file: Vec<String>,
}

pub(crate) fn run(context: &Context, args: &AgentContextArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let task = args.task.as_deref().filter(|id| !id.is_empty()).map(parse_id).transpose()?;
    let request = ContextRequest {
        role: args.role.clone(),
        budget: args.budget,
        task,
        files: args.file.clone(),
        knows_state: false,
        about: Vec::new(),
        knows_memory: false,
    };
    let told = context_for(&mut project, &request)?;
    say_notices(context, &mut project);
    if context.out.json {
        context.out.json(&ContextReport::new(&args.role, args.budget, &told))?;
        return Ok(ExitCode::SUCCESS);
    }
    context.out.raw(&told.text)?;
    if told.text.is_empty() {
        context.out.note("there is nothing to know yet");
    }
    if told.left_out > 0 {
        context.out.note(format!("{} more did not fit into {}", told.left_out, args.budget));
    }
    Ok(ExitCode::SUCCESS)
}
