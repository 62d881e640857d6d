//! `waypost open`: a person takes over the conversation of a task's agent.

use super::open as open_project;
use crate::data::OpenedReport;
use crate::{Context, error::CliError};
use std::{
    fmt,
    io::{self, IsTerminal as _},
    process::{Command, ExitCode},
    sync::{Arc, atomic::AtomicBool},
};
use waypost_engine::{EngineError, Opened, Project, open};
use waypost_model::{code::Code, document::ServerTaskId, id::TaskId, next::NextStep};

/// Take over the conversation of a task's agent
///
/// An attempt that is under way is interrupted, and once its process is gone the agent's program is
/// started here, in the same conversation and folder. When it ends, the task is handed back, and the run
/// or the server may go on with it. Reserved for a person at a terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct OpenArgs {
    /// The task, as in T1.3 or run:T1.3; one of the server, as in task_abc123 or task:task_abc123
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
    let task = match super::task::parse(&args.id) {
        Ok(id) => OpenedTask::Served(id),
        Err(_) => {
            OpenedTask::Run(super::run::parse_id(args.id.strip_prefix("run:").unwrap_or(&args.id))?)
        }
    };
    if args.print {
        return print(context, &task, &task.conversation(&mut project)?);
    }
    if args.hand_back {
        task.hand_back(&mut project)?;
        context.out.done(format!("{task} is handed back"));
        context.out.done(task.next());
        return Ok(ExitCode::SUCCESS);
    }
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let message = "a conversation is opened at a terminal, and this is none";
        return Err(CliError::new(Code::PersonNeeded, message).next(task.step()));
    }
    let opened = task.take_over(&mut project)?;
    context.out.done(format!("{task} is yours; it goes on when {} ends", opened.agent));
    let ended = start(&opened);
    task.hand_back(&mut project)?;
    context.out.done(format!("{task} is handed back"));
    context.out.done(task.next());
    ended
}

/// A task whose conversation is opened.
enum OpenedTask {
    Run(TaskId),
    Served(ServerTaskId),
}

impl fmt::Display for OpenedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(id) => id.fmt(f),
            Self::Served(id) => id.fmt(f),
        }
    }
}

impl OpenedTask {
    fn conversation(&self, project: &mut Project) -> Result<Opened, EngineError> {
        match self {
            Self::Run(id) => open::conversation(project, id),
            Self::Served(id) => open::served_conversation(project, id),
        }
    }

    fn take_over(&self, project: &mut Project) -> Result<Opened, EngineError> {
        match self {
            Self::Run(id) => open::take_over(project, id),
            Self::Served(id) => open::take_over_served(project, id),
        }
    }

    fn hand_back(&self, project: &mut Project) -> Result<(), EngineError> {
        match self {
            Self::Run(id) => open::hand_back(project, id),
            Self::Served(id) => open::hand_back_served(project, id),
        }
    }

    fn step(&self) -> NextStep {
        match self {
            Self::Run(id) => NextStep::OpenTask { id: id.clone() },
            Self::Served(id) => NextStep::OpenServedTask { task: id.clone() },
        }
    }

    /// What leads on once it is handed back.
    fn next(&self) -> &'static str {
        match self {
            Self::Run(_) => "next: `waypost run --resume`, if no run is under way",
            Self::Served(_) => "next: `waypost serve`, if no server is there",
        }
    }
}

/// Prints the command that would be started.
fn print(context: &Context, task: &OpenedTask, opened: &Opened) -> Result<ExitCode, CliError> {
    if context.out.json {
        context.out.json(&OpenedReport {
            id: task.to_string(),
            agent: &opened.agent,
            command: &opened.words,
            folder: &opened.folder,
        })?;
    } else {
        let words: Vec<String> = opened.words.iter().map(|word| quoted(word)).collect();
        let folder = quoted(&opened.folder.to_string_lossy());
        context.out.line(format!("cd {folder} && {}", words.join(" ")))?;
    }
    Ok(ExitCode::SUCCESS)
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
