//! `waypost memory context` and `waypost memory agent`: values inside documents, by their paths.

use super::value;
use crate::data::{MemoryValue, SessionLine};
use crate::{Context, error::CliError};
use waypost_engine::{
    Project,
    memory::{self, MemoryDocument},
};
use waypost_model::json::{BadPath, JsonPath};

/// Read and change what all agents share
#[derive(Debug, clap::Args)]
pub(super) struct ContextArgs {
    #[command(subcommand)]
    command: ContextCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ContextCommand {
    Get(GetArgs),
    Set(SetArgs),
    Unset(UnsetArgs),
    /// Begin a new session; its id is counted per day
    NewSession,
}

/// Read and change what one agent keeps
#[derive(Debug, clap::Args)]
pub(super) struct AgentMemoryArgs {
    /// The agent
    name: String,
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, clap::Subcommand)]
enum AgentCommand {
    Get(GetArgs),
    Set(SetArgs),
    Unset(UnsetArgs),
}

/// Print a value
#[derive(Debug, clap::Args)]
struct GetArgs {
    /// Where it is: `shared_data.topic`, or `/shared_data/topic`; without it the whole document
    #[arg(value_name = "PATH", default_value = "")]
    path: String,
}

/// Put a value in place
#[derive(Debug, clap::Args)]
struct SetArgs {
    /// Where it goes; objects on the way are made, `-` is behind the last item of a list
    #[arg(value_name = "PATH")]
    path: String,
    /// The value as JSON: 7, true, '"text"', '["a"]'
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    value: String,
}

/// Take a value out
#[derive(Debug, clap::Args)]
struct UnsetArgs {
    /// Where it is
    #[arg(value_name = "PATH")]
    path: String,
}

fn path(typed: &str) -> Result<JsonPath, CliError> {
    typed.parse().map_err(|error: BadPath| {
        CliError::bad_input(error.to_string())
            .hint("as in shared_data.topic, or /shared_data/topic")
    })
}

pub(super) fn context(
    context: &Context,
    project: &mut Project,
    args: &ContextArgs,
) -> Result<(), CliError> {
    let document = MemoryDocument::Context;
    match &args.command {
        ContextCommand::Get(args) => get(context, project, &document, &args.path),
        ContextCommand::Set(args) => set(context, project, &document, args),
        ContextCommand::Unset(args) => unset(context, project, &document, &args.path),
        ContextCommand::NewSession => {
            let session = memory::new_session(project)?;
            match context.out.json {
                true => Ok(context.out.json(&SessionLine { session: session.as_str() })?),
                false => Ok(context.out.line(session)?),
            }
        }
    }
}

pub(super) fn agent(
    context: &Context,
    project: &mut Project,
    args: &AgentMemoryArgs,
) -> Result<(), CliError> {
    let document = MemoryDocument::of_agent(&args.name)?;
    match &args.command {
        AgentCommand::Get(args) => get(context, project, &document, &args.path),
        AgentCommand::Set(args) => set(context, project, &document, args),
        AgentCommand::Unset(args) => unset(context, project, &document, &args.path),
    }
}

fn get(
    context: &Context,
    project: &mut Project,
    document: &MemoryDocument,
    typed: &str,
) -> Result<(), CliError> {
    let path = path(typed)?;
    let found = memory::read(project, document, &path)?;
    if context.out.json {
        let (path, value) = (path.to_string(), Some(&found));
        return Ok(context.out.json(&MemoryValue { path, value })?);
    }
    Ok(context.out.line(serde_json::to_string_pretty(&found).unwrap_or_default())?)
}

/// Prints a whole document as its file has it.
pub(super) fn print_whole(
    context: &Context,
    project: &mut Project,
    document: &MemoryDocument,
) -> Result<(), CliError> {
    let found = memory::read(project, document, &JsonPath::default())?;
    super::print_file(context, &found)
}

fn set(
    context: &Context,
    project: &mut Project,
    document: &MemoryDocument,
    args: &SetArgs,
) -> Result<(), CliError> {
    let (path, value) = (path(&args.path)?, value(&args.value)?);
    memory::set(project, document, &path, &value)?;
    if context.out.json {
        let (path, value) = (path.to_string(), Some(&value));
        context.out.json(&MemoryValue { path, value })?;
    }
    context.out.done(format!("{path} is set"));
    Ok(())
}

fn unset(
    context: &Context,
    project: &mut Project,
    document: &MemoryDocument,
    typed: &str,
) -> Result<(), CliError> {
    let path = path(typed)?;
    memory::unset(project, document, &path)?;
    if context.out.json {
        context.out.json(&MemoryValue { path: path.to_string(), value: None })?;
    }
    context.out.done(format!("{path} is taken out"));
    Ok(())
}
