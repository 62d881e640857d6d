//! What can be typed: the commands, their arguments, and the manual that `--help` prints.

use crate::command::{
    adopt::AdoptArgs, agents::AgentsArgs, broker::BrokerArgs, completions::CompletionsArgs,
    config::ConfigArgs, context::AgentContextArgs, contract::ContractArgs, demo::DemoArgs,
    develop::DevelopArgs, doctor::DoctorArgs, hook::HookArgs, import::ImportArgs, inbox::InboxArgs,
    init::InitArgs, knowledge::KnowledgeArgs, log::LogArgs, man::ManArgs, mcp::McpArgs,
    memory::MemoryArgs, notify::NotifyArgs, open::OpenArgs, pin::PinArgs, resolve::ResolveArgs,
    run::RunArgs, schema::SchemaArgs, serve::ServeArgs, session::SessionArgs, sim::SimArgs,
    statusline::StatuslineArgs, task::TaskArgs, validate::ValidateArgs, why::WhyArgs,
    worktree::WorktreeArgs,
};
use crate::{complete, examples};
use anstream::ColorChoice;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use std::{ffi::OsString, path::PathBuf};

/// Keep long-running coding agents on the road
///
/// Waypost remembers how far each agent got, holds it at gates that need evidence, and after a
/// crash or a compacted context goes on exactly where things stood.
#[derive(Debug, Parser)]
#[command(name = "waypost", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,

    /// Print data as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print only data and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Say more: which files are used and as whom you act; in a run also what its agents do
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// When to use colours; `auto` is at a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: Color,

    /// Print lines only; nothing at the terminal is drawn over
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads what was typed. Help and errors, and only they, come from the whole command line: its
/// examples and completions take as long to put together as a short command does.
pub(crate) fn parse() -> clap::error::Result<Cli> {
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(_) => command().try_get_matches()?,
    };
    Cli::from_arg_matches(&matches)
}

/// The whole command line, with examples and with completion of what only the project knows.
pub(crate) fn command() -> clap::Command {
    complete::equip(examples::equip(Cli::command()))
}

/// When output has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// What was typed, for what is printed before or without a valid command line.
    pub(crate) fn typed(words: impl Iterator<Item = OsString>) -> Self {
        let mut words = words.take_while(|word| word != "--");
        while let Some(word) = words.next() {
            let value = match word.to_str() {
                Some("--color") => words.next().and_then(|value| value.into_string().ok()),
                Some(word) => word.strip_prefix("--color=").map(str::to_owned),
                None => None,
            };
            if let Some(color) = value.and_then(|value| Self::from_str(&value, false).ok()) {
                return color;
            }
        }
        Self::Auto
    }

    /// From here on everything is printed that way.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   the work itself failed: a task, a gate's check, findings
  2   bad input or an invalid document
  3   refused by a rule, or reserved for a person
  4   locked, fenced or a stale version
  5   something is missing on this machine
  6   a run is not finished, and nothing in it has failed
  130 a run was ended by Ctrl-C (143: by SIGTERM)
  70  a bug in waypost";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(InitArgs),
    /// Show where things stand: workflow, run and inbox
    Status,
    Log(LogArgs),
    Why(WhyArgs),
    Inbox(InboxArgs),
    Develop(DevelopArgs),
    Run(RunArgs),
    Serve(ServeArgs),
    Task(TaskArgs),
    Session(SessionArgs),
    Memory(MemoryArgs),
    Contract(ContractArgs),
    Knowledge(KnowledgeArgs),
    Context(AgentContextArgs),
    Import(ImportArgs),
    Open(OpenArgs),
    Worktree(WorktreeArgs),
    Agents(AgentsArgs),
    Notify(NotifyArgs),
    Resolve(ResolveArgs),
    Adopt(AdoptArgs),
    Validate(ValidateArgs),
    Schema(SchemaArgs),
    Doctor(DoctorArgs),
    Config(ConfigArgs),
    Pin(PinArgs),
    Hook(HookArgs),
    Mcp(McpArgs),
    Statusline(StatuslineArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    Demo(DemoArgs),
    Sim(SimArgs),
    #[command(hide = true)]
    Broker(BrokerArgs),
    /// Print the reference of all commands as Markdown
    #[command(hide = true)]
    Reference,
}
