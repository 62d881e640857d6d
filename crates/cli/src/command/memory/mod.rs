//! `waypost memory`: the current task and its steps, the history, what agents share and keep.

mod documents;
mod keeping;
mod lists;
pub(crate) mod search;
mod step;
mod task;

use super::open;
use crate::data::{MemoryBegunLine, MemoryReport};
use crate::{Context, error::CliError, show};
use std::process::ExitCode;
use waypost_engine::{Project, memory};
use waypost_model::{
    code::Code,
    document::{MemoryTaskId, memory::Artifact, memory::ArtifactForm},
    json::Json,
    next::NextStep,
};

/// Keep the current task and its steps, the history, and what agents know
///
/// The files are in `.claude/memory/`. Agents may also edit them: what was changed in
/// `task-state.json` is taken up as these commands are, or refused with the reason.
#[derive(Debug, clap::Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    command: MemoryCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MemoryCommand {
    /// Begin the memory; files that are there are taken over
    ///
    /// Makes `task-state.json`, `task-history.json` and `shared-context.json` in `.claude/memory/`.
    Init,
    Show(ShowArgs),
    /// Check every file of the memory against its schema
    ///
    /// Exits 2 if one is not valid; warnings do not count.
    Validate,
    Doctor(keeping::MemoryDoctorArgs),
    Task(task::MemoryTaskArgs),
    Step(step::StepArgs),
    Context(documents::ContextArgs),
    Agent(documents::AgentMemoryArgs),
    History(lists::HistoryArgs),
    /// Show totals over all tasks that ever ended
    Stats,
    Note(lists::NoteArgs),
    Notes(lists::NotesArgs),
    Prune(keeping::MemoryPruneArgs),
    Backup(keeping::BackupArgs),
    Restore(keeping::RestoreArgs),
    Search(search::SearchArgs),
}

/// Show the current task with its steps, or one file
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// task-state, task-history, shared-context, or agents/NAME
    #[arg(value_name = "FILE")]
    file: Option<String>,
}

pub(crate) fn run(context: &Context, args: &MemoryArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let project = &mut project;
    let done = match &args.command {
        MemoryCommand::Init => init(context, project),
        MemoryCommand::Show(args) => show(context, project, args),
        MemoryCommand::Validate => return keeping::validate(context, project),
        MemoryCommand::Doctor(args) => return keeping::doctor(context, project, args),
        MemoryCommand::Task(args) => task::run(context, project, args),
        MemoryCommand::Step(args) => step::run(context, project, args),
        MemoryCommand::Context(args) => documents::context(context, project, args),
        MemoryCommand::Agent(args) => documents::agent(context, project, args),
        MemoryCommand::History(args) => lists::history(context, project, args),
        MemoryCommand::Stats => lists::stats(context, project),
        MemoryCommand::Note(args) => lists::note(context, project, args),
        MemoryCommand::Notes(args) => lists::notes(context, project, args),
        MemoryCommand::Search(args) => search::run(context, project, args),
        MemoryCommand::Prune(args) => keeping::prune(context, project, args),
        MemoryCommand::Backup(args) => keeping::backup(context, project, args),
        MemoryCommand::Restore(args) => keeping::restore(context, project, args),
    };
    super::say_notices(context, project);
    done.map(|()| ExitCode::SUCCESS)
}

fn init(context: &Context, project: &mut Project) -> Result<(), CliError> {
    let begun = memory::begin(project)?;
    if context.out.json {
        let taken_over = begun.taken_over.iter().map(AsRef::as_ref).collect();
        let (folder, was_open) = (begun.folder.as_path(), begun.was_open);
        return Ok(context.out.json(&MemoryBegunLine { folder, taken_over, was_open })?);
    }
    for path in &begun.taken_over {
        context.out.note(format!("took over {}", path.display()));
    }
    let word = if begun.was_open { "was begun before" } else { "is begun" };
    context.out.done(format!("the memory {word}: {}", begun.folder.display()));
    Ok(())
}

fn show(context: &Context, project: &mut Project, args: &ShowArgs) -> Result<(), CliError> {
    match args.file.as_deref().map(|name| name.trim_end_matches(".json")) {
        None if context.out.json => Ok(context.out.json(&MemoryReport::from(project.memory()?))?),
        None => {
            let memory = project.memory()?;
            if !memory.is_open() && memory.history().entries().is_empty() {
                context.out.note("the memory is not in use here; `waypost memory init` begins it");
                return Ok(());
            }
            Ok(context.out.raw(&show::memory::text(memory))?)
        }
        Some("task-state") => {
            let state = project.memory()?.render_state();
            print_file(context, &state.unwrap_or_default())
        }
        Some("task-history") => {
            let history = project.memory()?.render_history();
            print_file(context, &history.unwrap_or_default())
        }
        Some("shared-context") => {
            documents::print_whole(context, project, &memory::MemoryDocument::Context)
        }
        Some(name) => match name.strip_prefix("agents/") {
            Some(name) => {
                let document = memory::MemoryDocument::of_agent(name)?;
                documents::print_whole(context, project, &document)
            }
            None => {
                let message = format!("`{name}` is no file of the memory");
                let hint = "task-state, task-history, shared-context or agents/NAME";
                Err(CliError::new(Code::BadArgument, message).hint(hint))
            }
        },
    }
}

/// Prints a file of the seeds as it is written.
fn print_file(context: &Context, document: &impl serde::Serialize) -> Result<(), CliError> {
    if context.out.json {
        return Ok(context.out.json_as_it_is(document)?);
    }
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    Ok(context.out.line(text)?)
}

/// A value as it was typed: JSON.
fn value(typed: &str) -> Result<Json, CliError> {
    serde_json::from_str(typed).map_err(|error| {
        CliError::bad_input(format!("`{typed}` is not JSON: {error}"))
            .hint("a text has quotation marks: '\"text\"'")
    })
}

/// The id of a task as it was typed.
pub(crate) fn task_id(typed: Option<&String>) -> Result<Option<MemoryTaskId>, CliError> {
    let parse = |typed: &String| {
        let bare = typed.strip_prefix("memory:").unwrap_or(typed);
        bare.parse().map_err(|error: waypost_model::id::BadId| {
            CliError::bad_input(error.to_string()).next(NextStep::ShowMemory)
        })
    };
    typed.map(parse).transpose()
}

/// `PATH` or `PATH=DESCRIPTION`, a file that was produced.
pub(crate) fn artifact(typed: &str) -> Artifact {
    let (path, description) = typed.split_once('=').unwrap_or((typed, ""));
    let (path, description) = (path.to_owned(), description.to_owned());
    Artifact { form: ArtifactForm::File, path, description }
}
