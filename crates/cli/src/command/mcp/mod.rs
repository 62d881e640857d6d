//! `waypost mcp`: what an agent may know and do, as tools, documents and prompts.
//!
//! A client is an agent, always: also one that a person started at a terminal. Behind a wall this process
//! runs outside, as every command of ours does, and only its streams are inside.

mod contract_tools;
mod desk;
mod documents;
mod failure;
mod inbox_tools;
mod memory_tools;
mod memory_work_tools;
mod prompts;
mod run_tools;
mod served_tools;
mod session_tools;
mod tools;
mod visit;
mod workflow_tools;

use crate::{Context, error::CliError};
use std::{process::ExitCode, sync::Arc};
use waypost_model::code::Code;

/// Serve an agent program over the Model Context Protocol
///
/// At standard input and output, for as long as the program is there: it starts this command itself
/// (`waypost init` registers it). Tools for the state, tasks, gates, checkpoints, questions to a person,
/// memory and validation; documents as resources; the skills as prompts. The program counts as an agent.
#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {}

pub(crate) fn run(context: &Context) -> Result<ExitCode, CliError> {
    let desk = desk::ProjectDesk::new(&context.directory);
    waypost_mcp::serve(Arc::new(desk)).map_err(|error| {
        CliError::new(Code::HostGone, "no client could be served").because(&error)
    })?;
    Ok(ExitCode::SUCCESS)
}
