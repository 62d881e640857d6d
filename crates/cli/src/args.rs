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
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use std::{env, ffi::OsString, path::PathBuf};

/// Keep long-running coding agents on the road
///
/// Waypost remembers how far each agent got, holds it at gates that need evidence, and after a
/// crash or a compacted context goes on exactly where things stood.
#[derive(Debug, Parser)]
#[command(name = "waypost", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) general: GeneralArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct GeneralArgs {
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
}

/// Reads what was typed. Help and errors, and only they, come from the whole command line: to put
/// that together takes as long as a short command does.
pub(crate) fn parse() -> clap::error::Result<Cli> {
    parse_words(&env::args_os().collect::<Vec<_>>())
}

fn parse_words(words: &[OsString]) -> clap::error::Result<Cli> {
    let short = named(words).and_then(only);
    let matches = short.and_then(|command| command.try_get_matches_from(words).ok());
    let matches = match matches {
        Some(matches) => matches,
        None => command().try_get_matches_from(words)?,
    };
    Cli::from_arg_matches(&matches)
}

/// Puts the arguments of a command on it.
type WithArguments = fn(clap::Command) -> clap::Command;

/// The commands that agents and scripts call again and again. Any other is read by the whole command line.
const OFTEN: &[(&str, WithArguments)] = &[
    ("context", AgentContextArgs::augment_args),
    ("develop", DevelopArgs::augment_args),
    ("inbox", InboxArgs::augment_args),
    ("log", LogArgs::augment_args),
    ("memory", MemoryArgs::augment_args),
    ("run", RunArgs::augment_args),
    ("session", SessionArgs::augment_args),
    ("status", |command| command),
    ("statusline", StatuslineArgs::augment_args),
    ("task", TaskArgs::augment_args),
    ("why", WhyArgs::augment_args),
];

/// The word that is probably a command. What is read with a wrong one is read again.
fn named(words: &[OsString]) -> Option<&str> {
    let mut words = words.iter().skip(1).map(|word| word.to_str());
    loop {
        match words.next()?? {
            "-C" | "--color" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => return Some(word),
        }
    }
}

/// A command line with this command and no other.
fn only(name: &str) -> Option<clap::Command> {
    let (name, with_arguments) = OFTEN.iter().find(|(often, _)| *often == name)?;
    let root = GeneralArgs::augment_args(clap::Command::new("waypost"));
    Some(root.subcommand_required(true).subcommand(with_arguments(clap::Command::new(*name))))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_command_that_is_called_often_is_read_as_by_the_whole_command_line() {
        for line in [
            "waypost status",
            "waypost --json -C . status",
            "waypost status -q --color never",
            "waypost run",
            "waypost run TASKS.md --phase 2 --agent claude",
            "waypost -v run start T1.1",
            "waypost run done T1.1 --json",
            "waypost develop start x",
            "waypost inbox answer 1 yes",
            "waypost log --limit 3",
            "waypost why T1.1",
            "waypost memory show",
            "waypost task list --state review",
            "waypost session next",
            "waypost context --for implementer",
            "waypost statusline",
        ] {
            let words = words(line);
            let short = only(named(&words).unwrap()).unwrap_or_else(|| panic!("{line}: not often"));
            let short = short.try_get_matches_from(&words).unwrap();
            let whole = command().try_get_matches_from(&words).unwrap();
            let read = |matches| format!("{:?}", Cli::from_arg_matches(matches).unwrap());
            assert_eq!(read(&short), read(&whole), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_by_the_whole_command_line() {
        for line in ["waypost run start", "waypost stauts", "waypost run --help", "waypost"] {
            let words = words(line);
            let told = parse_words(&words).unwrap_err().to_string();
            assert_eq!(told, command().try_get_matches_from(&words).unwrap_err().to_string());
        }
    }

    #[test]
    fn every_command_that_is_called_often_is_one() {
        let whole = command();
        for (name, _) in OFTEN {
            assert!(whole.find_subcommand(name).is_some(), "{name}");
        }
    }

    #[test]
    fn the_word_behind_an_option_with_a_value_is_no_command() {
        for (line, want) in [
            ("waypost -C run status", Some("status")),
            ("waypost --color=never --json run", Some("run")),
            ("waypost --version", None),
        ] {
            assert_eq!(named(&words(line)), want, "{line}");
        }
    }
}
