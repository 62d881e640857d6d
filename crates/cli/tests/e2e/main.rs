//! Proves with the real Claude Code, Codex and Gemini CLI that the hook holds, that runs with them
//! lose nothing, and that they and other clients reach our server of tools.
//!
//! They run against our scripted model on loopback, in an empty environment with a home of their
//! own, so nothing here needs a network, an account or a key. `cargo xtask e2e` installs the programs
//! and says where they are; every other way to run the tests leaves these out, and counts them as
//! skipped.
#![expect(
    clippy::disallowed_methods,
    reason = "tests start agent programs and play the parts of git and a person"
)]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "all of this crate is tests")]

mod apart;
mod checks;
mod claude;
mod codex;
mod harness;
mod mcp_agents;
mod mcp_clients;
mod night;
mod plugin;
mod program;
#[path = "../wall/required.rs"]
mod required;
mod runs;
mod served;
mod sessions;
mod stage;
mod supervised;
mod talk;
mod walled;
mod weather;
