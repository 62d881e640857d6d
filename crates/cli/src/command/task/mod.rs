//! `waypost task`: pieces of work that are handed in, worked on by agents phase by phase, and reviewed.

mod edit;
mod show;
mod work;

use super::open;
use crate::{Context, error::CliError};
use clap::Subcommand;
pub(crate) use edit::priority;
use edit::{EditArgs, NewTaskArgs};
use show::ListArgs;
pub(crate) use show::refuse_unknown_states;
use std::{path::PathBuf, process::ExitCode};
use waypost_engine::{
    Project,
    served::{self, RetryFrom},
};
use waypost_model::{
    document::ServerTaskId,
    id::BadId,
    next::NextStep,
    task::{Command, TaskRow, task_word},
};

/// Hand in work, and see how far agents are with it
///
/// A task is written as a draft and handed in; then an agent works on it phase by phase where
/// `waypost serve` runs, each phase ends in a review, and questions wait in the inbox. Everything here
/// but the work itself is done with or without a server.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskArgs {
    #[command(subcommand)]
    action: TaskAction,
}

impl TaskArgs {
    /// Whether a file is written that is named.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.action, TaskAction::Deliverables { .. })
    }
}

#[derive(Debug, Subcommand)]
enum TaskAction {
    New(NewTaskArgs),
    List(ListArgs),
    /// Show one task; with --json as the seed's API answers
    Show {
        /// The task, as in task_abc123 or task:task_abc123
        id: String,
        /// Show its agent
        #[arg(long = "agent")]
        of_agent: bool,
    },
    Edit(EditArgs),
    /// Hand in a draft; what is missing is named
    Submit {
        /// The task, as in task_abc123
        id: String,
    },
    /// Stop its agent until it is resumed
    Pause {
        /// The task, as in task_abc123
        id: String,
        /// Why, for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Let its agent go on
    Resume {
        /// The task, as in task_abc123
        id: String,
    },
    /// End it as failed, with the reason `cancelled`
    Cancel {
        /// The task, as in task_abc123
        id: String,
        /// Why, for the log
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Make a new task of a failed one; its workspace begins with the newest checkpoint
    Retry {
        /// The task, as in task_abc123
        id: String,
        /// Begin with an empty workspace
        #[arg(long, conflicts_with = "checkpoint")]
        fresh: bool,
        /// Begin with this checkpoint
        #[arg(long, value_name = "NUMBER")]
        checkpoint: Option<u32>,
    },
    /// Hide a task that is over from lists
    Archive {
        /// The task, as in task_abc123
        id: String,
    },
    /// Forget a task, and remove its workspace; reserved for a person
    Delete {
        /// The task, as in task_abc123
        id: String,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
    /// Print what its agent said and did
    Logs {
        /// The task, as in task_abc123
        id: String,
        /// Of this attempt; of the newest if left out
        #[arg(long, value_name = "NUMBER")]
        attempt: Option<u32>,
        /// Go on while it works
        #[arg(long)]
        follow: bool,
    },
    /// Pack what it has left into a ZIP, as its newest checkpoint has it
    Deliverables {
        /// The task, as in task_abc123
        id: String,
        /// The file to write
        #[arg(long, value_name = "FILE")]
        zip: PathBuf,
    },
    /// Print every change of its state
    Transitions {
        /// The task, as in task_abc123
        id: String,
    },
    /// List its checkpoints
    Checkpoints {
        /// The task, as in task_abc123
        id: String,
    },
    /// Go back to a checkpoint; reserved for a person
    Restore {
        /// The task, as in task_abc123
        id: String,
        /// The checkpoint's number
        #[arg(long, value_name = "NUMBER")]
        checkpoint: u32,
    },
    /// List the types of tasks
    Types,
}

pub(crate) fn run(context: &Context, args: &TaskArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let project = &mut project;
    match &args.action {
        TaskAction::New(args) => edit::new(context, project, args),
        TaskAction::List(args) => show::list(context, project, args),
        TaskAction::Show { id, of_agent } => show::show(context, project, &parse(id)?, *of_agent),
        TaskAction::Edit(args) => edit::edit(context, project, args),
        TaskAction::Submit { id } => {
            let id = parse(id)?;
            served::submit(project, &id)?;
            told(context, project, &id, "submitted")
        }
        TaskAction::Pause { id, reason } => {
            let id = parse(id)?;
            served::hold(project, &id, Command::Pause { why: reason.clone() })?;
            // What waits already stands still; the pause holds it when it would go on.
            let is_later = served::file(project, &id)?.is_to_be_paused();
            told(context, project, &id, if is_later { "is going to be paused" } else { "paused" })
        }
        TaskAction::Resume { id } => give(context, project, id, (Command::Resume, "resumed")),
        TaskAction::Cancel { id, reason } => {
            let id = parse(id)?;
            served::hold(project, &id, Command::Cancel { why: reason.clone() })?;
            served::note_lost_dependencies(project)?;
            told(context, project, &id, "cancelled")
        }
        TaskAction::Retry { id, fresh, checkpoint } => {
            let from = match (fresh, checkpoint) {
                (true, _) => RetryFrom::Nothing,
                (false, Some(number)) => RetryFrom::Checkpoint(*number),
                (false, None) => RetryFrom::NewestCheckpoint,
            };
            let again = served::retry(project, &parse(id)?, from)?;
            told(context, project, &again, "made and submitted")
        }
        TaskAction::Archive { id } => give(context, project, id, (Command::Archive, "archived")),
        TaskAction::Delete { id, yes } => delete(context, project, &parse(id)?, *yes),
        TaskAction::Logs { id, attempt, follow } => {
            work::logs(context, project, id, (*attempt, *follow))
        }
        TaskAction::Deliverables { id, zip } => work::deliverables(context, project, id, zip),
        TaskAction::Transitions { id } => show::transitions(context, project, &parse(id)?),
        TaskAction::Checkpoints { id } => show::checkpoints(context, project, &parse(id)?),
        TaskAction::Restore { id, checkpoint } => {
            let command = Command::Restore { checkpoint: *checkpoint };
            give(context, project, id, (command, "put back"))
        }
        TaskAction::Types => show::types(context, project),
    }
}

/// A task as it is typed, with or without its part.
pub(crate) fn parse(text: &str) -> Result<ServerTaskId, CliError> {
    let bare = text.strip_prefix("task:").unwrap_or(text);
    bare.parse().map_err(|error: BadId| CliError::bad_input(error.to_string()))
}

/// Gives one command, and says how the task stands then.
fn give(
    context: &Context,
    project: &mut Project,
    id: &str,
    (command, done): (Command, &str),
) -> Result<ExitCode, CliError> {
    let id = parse(id)?;
    served::command(project, &id, command)?;
    told(context, project, &id, done)
}

/// Says what was done, and what has to be there for it to go on.
fn told(
    context: &Context,
    project: &mut Project,
    id: &ServerTaskId,
    done: &str,
) -> Result<ExitCode, CliError> {
    let row = TaskRow::of(served::file(project, id)?);
    if context.out.json {
        context.out.json(&crate::data::ServedTaskLine::from(&row))?;
    } else {
        context.out.line(id)?;
        context.out.done(format!("{id} {done}: {}", show::state_of(&row)));
    }
    let waits_for_engine = !matches!(task_word(row.status), "draft" | "completed" | "failed");
    if waits_for_engine && project.engine_holder()?.is_none() {
        let step = crate::spelling::command_line(&NextStep::StartServer);
        context.out.note(format!("no server runs here: it goes on when one does (`{step}`)"));
    }
    super::say_notices(context, project);
    Ok(ExitCode::SUCCESS)
}

/// Deletes a task when the person means it.
fn delete(
    context: &Context,
    project: &mut Project,
    id: &ServerTaskId,
    is_meant: bool,
) -> Result<ExitCode, CliError> {
    let title = served::file(project, id)?.fields.title.clone();
    let question =
        format!("delete {id} ({title}) with its workspace? it cannot be undone [yes/no]");
    if !is_meant && super::ask(&question)?.as_deref() != Some("yes") {
        return Err(CliError::new(
            waypost_model::code::Code::ChoiceNeeded,
            format!("{id} was not deleted"),
        )
        .hint("say `--yes` where there is no terminal to ask at"));
    }
    served::delete(project, id)?;
    served::note_lost_dependencies(project)?;
    context.out.done(format!("{id} deleted"));
    super::say_notices(context, project);
    Ok(ExitCode::SUCCESS)
}
