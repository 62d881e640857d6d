//! `waypost memory task`: what is being worked on, from its beginning to the history.

use super::{artifact, task_id, value};
use crate::data::MemoryTaskReport;
use crate::{Context, error::CliError, show};
use waypost_engine::{Project, memory};
use waypost_model::{
    document::{MemoryTaskId, memory::HistoryEntry},
    json::{Json, OpenMap},
    memory::{Command, Ending, TaskAct, TaskDraft},
};

/// Make, start, pause and end tasks
///
/// One task is current. A new one becomes current if there is none, else it waits, and follows when the
/// current one is completed, closed or cancelled.
#[derive(Debug, clap::Args)]
pub(super) struct MemoryTaskArgs {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TaskCommand {
    New(NewArgs),
    /// Show a task with its steps
    Show(TaskName),
    /// Begin to work on the current task
    Start(TaskName),
    /// Set the current task aside; it stays current
    Pause(TaskName),
    /// Go on with a task that was paused
    Resume(TaskName),
    Fail(TaskFailArgs),
    Recover(RecoverArgs),
    /// End a task that is no longer wanted
    Cancel(EndArgs),
    /// End a task that has failed
    Close(EndArgs),
    Complete(TaskCompleteArgs),
    /// Drop the steps that have not begun or have failed, so that others can be added
    ///
    /// Steps that are completed or in progress stay, and so does what was produced.
    Replan(TaskName),
}

/// Make a task
#[derive(Debug, clap::Args)]
struct NewArgs {
    /// What it is called
    name: String,
    /// What is to be achieved
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// What must hold when it is achieved; may be given more than once
    #[arg(long = "criterion", value_name = "TEXT")]
    criteria: Vec<String>,
    /// The agent that leads it
    #[arg(long, value_name = "NAME")]
    orchestrator: Option<String>,
    /// The original request, kept in its context
    #[arg(long, value_name = "TEXT")]
    request: Option<String>,
    /// Its context as a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "request")]
    context: Option<String>,
}

#[derive(Debug, clap::Args)]
struct TaskName {
    /// The task, as in task-2026-11-17-001; without it the current one
    #[arg(value_name = "TASK")]
    task: Option<String>,
}

/// Say that a task has failed; it may recover
#[derive(Debug, clap::Args)]
struct TaskFailArgs {
    #[command(flatten)]
    name: TaskName,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Go on with a task that has failed
#[derive(Debug, clap::Args)]
struct RecoverArgs {
    #[command(flatten)]
    name: TaskName,
    /// What was done about it
    #[arg(long, value_name = "TEXT", default_value = "")]
    how: String,
}

#[derive(Debug, clap::Args)]
struct EndArgs {
    #[command(flatten)]
    name: TaskName,
    /// What came of it
    #[arg(long, value_name = "TEXT", default_value = "")]
    summary: String,
    /// What was learned; may be given more than once
    #[arg(long = "lesson", value_name = "TEXT")]
    lessons: Vec<String>,
    /// A file that it produced, as PATH or PATH=DESCRIPTION; may be given more than once
    #[arg(long = "artifact", value_name = "PATH")]
    artifacts: Vec<String>,
    /// Tokens that its agents used
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    tokens: u64,
}

/// Complete a task; every step has to be completed
#[derive(Debug, clap::Args)]
struct TaskCompleteArgs {
    /// Leave steps undone; the result is then `partial`
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    end: EndArgs,
}

impl EndArgs {
    fn ending(&self) -> Ending {
        Ending {
            summary: self.summary.clone(),
            lessons: self.lessons.clone(),
            artifacts: self.artifacts.iter().map(|typed| artifact(typed)).collect(),
            tokens_used: self.tokens,
        }
    }
}

pub(super) fn run(
    context: &Context,
    project: &mut Project,
    args: &MemoryTaskArgs,
) -> Result<(), CliError> {
    let (name, act) = match &args.command {
        TaskCommand::New(args) => return new(context, project, args),
        TaskCommand::Show(name) => return show(context, project, name),
        TaskCommand::Start(name) => (name, TaskAct::Start),
        TaskCommand::Pause(name) => (name, TaskAct::Pause),
        TaskCommand::Resume(name) => (name, TaskAct::Resume),
        TaskCommand::Fail(args) => (&args.name, TaskAct::Fail { message: args.reason.clone() }),
        TaskCommand::Recover(args) => (&args.name, TaskAct::Recover { how: args.how.clone() }),
        TaskCommand::Cancel(args) => (&args.name, TaskAct::Cancel { ending: args.ending() }),
        TaskCommand::Close(args) => (&args.name, TaskAct::Close { ending: args.ending() }),
        TaskCommand::Complete(args) => {
            let act = TaskAct::Complete { partial: args.partial, ending: args.end.ending() };
            (&args.end.name, act)
        }
        TaskCommand::Replan(name) => {
            // What is dropped can be looked up afterwards.
            memory::keep_windows(project)?;
            (name, TaskAct::Replan)
        }
    };
    let named = task_id(name.task.as_ref())?;
    let current = project.memory()?.current().map(|kept| kept.task.id.clone());
    let id = named.clone().or(current);
    let given = match &act {
        TaskAct::Fail { .. } => Some("--reason"),
        TaskAct::Recover { how } if !how.is_empty() => Some("--how"),
        _ => None,
    };
    let is_new = memory::give_once(project, Command::Task { id: named, act })?;
    if let Some(given) = given.filter(|_| !is_new) {
        context.out.warning(format!(
            "the task was so already, and what was recorded then stands; not taken: {given}"
        ));
    }
    tell(context, project, id.as_ref())
}

fn new(context: &Context, project: &mut Project, args: &NewArgs) -> Result<(), CliError> {
    let mut open = OpenMap::new();
    if let Some(request) = &args.request {
        open.insert("user_request".to_owned(), Json::from(request.as_str()));
    }
    if let Some(typed) = &args.context {
        match value(typed)? {
            Json::Object(map) => open = *map,
            _ => return Err(CliError::bad_input("a context is a JSON object, as in '{}'")),
        }
    }
    let draft = TaskDraft {
        id: None,
        name: args.name.clone(),
        goal: args.goal.clone().unwrap_or_default(),
        success_criteria: args.criteria.clone(),
        orchestrator: args.orchestrator.clone(),
        context: open,
    };
    let memory = memory::give(project, Command::NewTask { draft: Box::new(draft) })?;
    let made = memory.newest().map(|kept| kept.task.id.clone());
    tell(context, project, made.as_ref())
}

fn show(context: &Context, project: &mut Project, name: &TaskName) -> Result<(), CliError> {
    let named = task_id(name.task.as_ref())?;
    let memory = project.memory()?;
    let ended = named.as_ref().and_then(|id| memory.history().entry(id));
    if let Some(entry) = ended {
        return print_ended(context, entry);
    }
    let kept = memory.find(named.as_ref())?;
    match context.out.json {
        true => Ok(context.out.json(&MemoryTaskReport::of(memory, kept))?),
        false => Ok(context.out.raw(&show::memory::task(kept))?),
    }
}

/// Says how a task stands after a command.
pub(super) fn tell(
    context: &Context,
    project: &mut Project,
    id: Option<&MemoryTaskId>,
) -> Result<(), CliError> {
    let memory = project.memory()?;
    let Some(id) = id else { return Ok(()) };
    if let Some(kept) = memory.task(id) {
        return match context.out.json {
            true => Ok(context.out.json(&MemoryTaskReport::of(memory, kept))?),
            false => Ok(context.out.raw(&show::memory::task(kept))?),
        };
    }
    let Some(entry) = memory.history().entry(id) else { return Ok(()) };
    print_ended(context, entry)?;
    if let (Some(next), false) = (memory.current(), context.out.json) {
        context.out.note(format!("{} is current now: {}", next.task.id, next.task.name));
    }
    Ok(())
}

fn print_ended(context: &Context, entry: &HistoryEntry) -> Result<(), CliError> {
    match context.out.json {
        true => Ok(context.out.json(&MemoryTaskReport::ended(entry))?),
        false => Ok(context.out.line(show::memory::entry_line(entry))?),
    }
}
