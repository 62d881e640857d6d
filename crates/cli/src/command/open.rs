//! `waypost open`: a person takes over the conversation of a task's agent.

use super::open as open_project;
use crate::data::OpenedReport;
use crate::{Context, error::CliError};
use std::{
    io::{self, IsTerminal as _},
    process::{Command, ExitCode},
    sync::{Arc, atomic::AtomicBool},
};
use waypost_engine::{Opened, open};
use waypost_model::{code::Code, next::NextStep};

/// Take over the conversation of a task's agent
///
/// An attempt that is under way is interrupted, and once its process is gone the agent's program is
/// started here, in the same conversation. When it ends, the task is handed back and the run may go
/// on with it. Reserved for a person at a terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct OpenArgs {
    /// The task, as in T1.3 or run:T1.3
    id: String,

    /// Only print the command that would be started
    #[arg(long)]
    print: bool,

    /// Only hand back a task that was taken over, after a terminal was lost
    #[arg(long, conflicts_with = "print")]
    hand_back: bool,
}

pub(crate) fn run(context: &Context, args: &OpenArgs) -> Result<ExitCode, CliError> {
    let mut project = open_project(context)?;
    let id = super::run::parse_id(args.id.strip_prefix("run:").unwrap_or(&args.id))?;
    if args.print {
        let opened = open::conversation(&mut project, &id)?;
        if context.out.json {
            context.out.json(&OpenedReport {
                id: &id,
                agent: &opened.agent,
                command: &opened.words,
                folder: &opened.folder,
            })?;
        } else {
            let words: Vec<String> = opened.words.iter().map(|word| quoted(word)).collect();
            let folder = quoted(&opened.folder.to_string_lossy());
            context.out.line(format!("cd {folder} && {}", words.join(" ")))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let next = "next: `waypost run --resume`, if no run is under way";
    if args.hand_back {
        open::hand_back(&mut project, &id)?;
        context.out.done(format!("{id} is handed back"));
        context.out.done(next);
        return Ok(ExitCode::SUCCESS);
    }
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let message = "a conversation is opened at a terminal, and this is none";
        return Err(CliError::new(Code::PersonNeeded, message).next(NextStep::OpenTask { id }));
    }
    let opened = open::take_over(&mut project, &id)?;
    context.out.done(format!("{id} is yours; its run goes on with it when {} ends", opened.agent));
    let ended = start(&opened);
    open::hand_back(&mut project, &id)?;
    context.out.done(format!("{id} is handed back"));
    context.out.done(next);
    ended
}

/// Runs the program with this terminal, to its end.
#[expect(clippy::disallowed_methods, reason = "the person's own program, in the foreground")]
fn start(opened: &Opened) -> Result<ExitCode, CliError> {
    let (program, arguments) = opened.words.split_first().ok_or_else(|| {
        CliError::new(Code::ProgramMissing, format!("{} has no program", opened.agent))
    })?;
    // Ctrl-C is the program's, and a terminal that goes away must not keep the task from going back.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let ended = Command::new(program).args(arguments).current_dir(&opened.folder).status();
    let ended = ended.map_err(|error| {
        CliError::new(Code::CannotStart, format!("cannot start {program}"))
            .because(&error)
            .hint("`waypost agents` tells which programs are there")
    })?;
    Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(quoted("--resume"), "--resume");
        assert_eq!(quoted("my tool"), "'my tool'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
