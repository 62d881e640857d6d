//! The `waypost` binary: reads the command line, runs one command, and turns what came of it into
//! an exit code. The only place that decides to leave.

mod args;
mod brokered;
mod command;
mod complete;
mod data;
mod error;
mod examples;
mod git_error;
mod output;
mod screen;
mod show;
mod snippet;
mod spelling;
mod suggest;
mod usage;

use args::{Cli, Color, Command};
use error::CliError;
use output::Output;
use std::{
    env,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_model::code::Code;

/// The circumstances of a command: where it works and how it prints.
#[derive(Debug)]
struct Context {
    directory: PathBuf,
    out: Output,
}

impl Context {
    /// A path that was typed, as seen from the folder that the command works in.
    fn path(&self, typed: &Path) -> PathBuf {
        if self.directory == Path::new(".") { typed.to_owned() } else { self.directory.join(typed) }
    }
}

fn main() -> ExitCode {
    if waypost_wall::broker::is_inside() && env::args_os().nth(1).is_none_or(|it| it != "sim") {
        // Nothing of ours can be changed from in here. Without a listener this is not inside any more.
        let asked = waypost_hook::shell::ask_outside("waypost", env::args_os().skip(1).collect());
        if let Ok(code) = asked {
            return ExitCode::from(code);
        }
    }
    // Every tool call of an agent may wait for this one, so nothing else is done before it.
    let mut words = env::args().skip(1);
    let first = words.next();
    if first.as_deref() == Some("keeper") {
        return command::keeper::serve(words.next().as_deref());
    }
    if first.as_deref() == Some("attend") {
        return command::attend::run(&env::args_os().skip(2).collect::<Vec<_>>());
    }
    if first.is_some_and(|word| word == "hook") {
        let words: Vec<String> = words.collect();
        if words.first().is_none_or(|word| !word.starts_with('-')) {
            return command::hook::answer(&words);
        }
    }
    Color::typed(env::args_os().skip(1)).apply();
    let parsed = match complete::answer() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => args::parse(),
        Err(error) => Err(error),
    };
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage::tell(&error),
    };
    let json = cli.general.json;
    match panic::catch_unwind(AssertUnwindSafe(|| run(cli))) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => error.report(json),
        Err(_) => {
            let message = "this is a bug in waypost; nothing that was reported as done is lost";
            CliError::new(Code::Bug, message).report(json)
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode, CliError> {
    brokered::refuse(&cli)?;
    let general = cli.general;
    let directory = general.directory.unwrap_or_else(|| PathBuf::from("."));
    let out = Output {
        json: general.json,
        quiet: general.quiet,
        verbose: general.verbose,
        progress: !general.no_progress,
    };
    if !directory.is_dir() {
        let message = format!("there is no folder {}", directory.display());
        return Err(CliError::new(Code::FolderUnknown, message));
    }
    let context = Context { directory, out };
    match cli.command {
        Command::Init(args) => command::init::run(&context, &args),
        Command::Status => command::status::run(&context),
        Command::Log(args) => command::log::run(&context, &args),
        Command::Why(args) => command::why::run(&context, &args),
        Command::Inbox(args) => command::inbox::run(&context, &args),
        Command::Develop(args) => command::develop::run(&context, &args),
        Command::Run(args) => command::run::run(&context, &args),
        Command::Serve(args) => command::serve::run(&context, &args),
        Command::Contract(args) => command::contract::run(&context, &args),
        Command::Knowledge(args) => command::knowledge::run(&context, &args),
        Command::Context(args) => command::context::run(&context, &args),
        Command::Agents(args) => command::agents::run(&context, &args),
        Command::Notify(args) => command::notify::run(&context, &args),
        Command::Session(args) => command::session::run(&context, &args),
        Command::Memory(args) => command::memory::run(&context, &args),
        Command::Import(args) => command::import::run(&context, &args),
        Command::Open(args) => command::open::run(&context, &args),
        Command::Task(args) => command::task::run(&context, &args),
        Command::Worktree(args) => command::worktree::run(&context, &args),
        Command::Resolve(args) => command::resolve::run(&context, &args),
        Command::Adopt(args) => command::adopt::run(&context, &args),
        Command::Validate(args) => command::validate::run(&context, &args),
        Command::Schema(args) => command::schema::run(&context, &args),
        Command::Doctor(args) => command::doctor::run(&context, &args),
        Command::Config(args) => command::config::run(&context, &args),
        Command::Pin(_) => command::pin::run(&context),
        Command::Hook(args) => command::hook::run(&args),
        Command::Mcp(_) => command::mcp::run(&context),
        Command::Statusline(_) => command::statusline::run(&context),
        Command::Completions(args) => command::completions::run(&context, &args),
        Command::Man(args) => command::man::run(&context, &args),
        Command::Demo(args) => command::demo::run(&context, &args),
        Command::Sim(args) => command::sim::run(&context, &args),
        Command::Broker(args) => command::broker::run(&context, &args),
        Command::Reference => command::reference::run(&context),
    }
}
