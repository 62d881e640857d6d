//! Scripted agents: doubles of agent programs on their standard input and output.
//!
//! A double speaks as the real program does, so that a program which talks with it cannot tell the
//! difference by the protocol; what it does is in an [`AgentScript`]. It needs no model.
//!
//! - `script`, `plan`: what is done, and how far it has come.
//! - `voice` and a file for each protocol: how it is said.
//! - `player`, `actions`: take the steps. `ear`, `tools`, `hooks`, `sessions`: the world around it.
//!
//! Deliberately absent: settings of the real programs but for the hook that they are started with,
//! and their limits of turns and money. A message that comes during a turn waits for its end and becomes a turn of its own.

mod acp;
mod actions;
mod arguments;
mod claude;
mod codex;
mod codex_exec;
mod codex_server;
mod ear;
mod hooks;
mod plain;
mod plan;
mod player;
mod program;
mod script;
mod sessions;
mod tools;
mod voice;

pub use program::{Double, Exit, ProgramOptions, run, talk};
pub use script::AgentScript;
