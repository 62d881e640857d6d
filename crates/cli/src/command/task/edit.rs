//! Writing a task: `task new` and `task edit`.

use super::{parse, told};
use crate::{Context, command::text::read_text, error::CliError};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{Project, served};
use waypost_model::{
    code::Code,
    config::cents,
    document::ServerTaskId,
    run::{Budget, Priority},
    task::{DESCRIPTION_BYTES_MAX, TaskChange, TaskFields},
};

/// Write a task
///
/// It is a draft until it is handed in, with `--submit` at once. Title, type and description have to be
/// there by then.
#[derive(Debug, clap::Args)]
pub(super) struct NewTaskArgs {
    /// What it is, in one line
    title: Option<String>,

    #[command(flatten)]
    fields: FieldArgs,

    /// Hand it in at once
    #[arg(long)]
    submit: bool,
}

/// Say something else of a task
///
/// A draft can be changed in every way; what waits for an agent in priority, agent, dependencies and
/// budget; what is worked on in priority and budget.
#[derive(Debug, clap::Args)]
pub(super) struct EditArgs {
    /// The task, as in task_abc123
    id: String,

    /// What it is, in one line
    #[arg(long)]
    title: Option<String>,

    #[command(flatten)]
    fields: FieldArgs,
}

#[derive(Debug, clap::Args)]
struct FieldArgs {
    /// Its type, as `task types` lists them
    #[arg(long = "type", value_name = "TYPE")]
    task_type: Option<String>,

    /// What is to be done
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    description: Option<String>,

    /// A file with what is to be done; `-` is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// critical, high, normal or low
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,

    /// Who works on it, in place of the configured agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// A task that has to be completed first; all of them, if there are several
    #[arg(long, value_name = "ID")]
    after: Vec<String>,

    /// It waits for no other task
    #[arg(long, conflicts_with = "after")]
    no_after: bool,

    /// What its agents may spend, in dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,

    /// Its agents may spend whatever they need
    #[arg(long, conflicts_with = "budget")]
    no_budget: bool,
}

impl FieldArgs {
    fn change(&self, title: Option<&String>) -> Result<TaskChange, CliError> {
        let description = match (&self.description, &self.file) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(path)) => Some(read(path)?),
            (None, None) => None,
        };
        let named = self.after.iter().map(|id| parse(id)).collect::<Result<Vec<_>, _>>()?;
        let dependencies: Option<Vec<ServerTaskId>> =
            (self.no_after || !named.is_empty()).then_some(named);
        let budget = match (self.budget, self.no_budget) {
            (_, true) => Some(Budget::Unlimited),
            (Some(dollars), false) => Some(Budget::Cents(cents(dollars).ok_or_else(|| {
                CliError::bad_input(format!("a budget of {dollars} dollars buys nothing"))
            })?)),
            (None, false) => None,
        };
        Ok(TaskChange {
            title: title.cloned(),
            task_type: self.task_type.clone(),
            description,
            priority: self.priority.as_deref().map(priority).transpose()?,
            agent: self.agent.clone(),
            dependencies,
            budget,
        })
    }
}

/// A priority by its word.
pub(crate) fn priority(word: &str) -> Result<Priority, CliError> {
    Priority::from_word(word).ok_or_else(|| {
        CliError::new(Code::BadArgument, format!("`{word}` is no priority"))
            .hint("one of critical, high, normal, low")
    })
}

/// A description from a file or from standard input.
fn read(path: &Path) -> Result<String, CliError> {
    let what = "the description";
    if path == Path::new("-") {
        return read_text(io::stdin(), &what, DESCRIPTION_BYTES_MAX);
    }
    let opened = fs::File::open(path).map_err(|error| {
        CliError::new(Code::FileNotFound, format!("{} cannot be read: {error}", path.display()))
    })?;
    read_text(opened, &what, DESCRIPTION_BYTES_MAX)
}

pub(super) fn new(
    context: &Context,
    project: &mut Project,
    args: &NewTaskArgs,
) -> Result<ExitCode, CliError> {
    let change = args.fields.change(args.title.as_ref())?;
    let fields = TaskFields {
        title: change.title.unwrap_or_default(),
        task_type: change.task_type.unwrap_or_default(),
        description: change.description.unwrap_or_default(),
        priority: change.priority.unwrap_or_default(),
        agent: change.agent.unwrap_or_default(),
        dependencies: change.dependencies.unwrap_or_default(),
        budget: change.budget.unwrap_or_default(),
    };
    let id = served::create(project, fields, args.submit)?;
    told(context, project, &id, if args.submit { "made and submitted" } else { "made" })
}

pub(super) fn edit(
    context: &Context,
    project: &mut Project,
    args: &EditArgs,
) -> Result<ExitCode, CliError> {
    let id = parse(&args.id)?;
    let change = args.fields.change(args.title.as_ref())?;
    if change == TaskChange::default() {
        return Err(CliError::bad_input("nothing was given that would be changed"));
    }
    served::edit(project, &id, change)?;
    told(context, project, &id, "edited")
}
