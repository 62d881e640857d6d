//! `waypost run`: the tasks of TASKS.md.

mod background;
mod drawing;
mod earlier;
pub(crate) mod execute;
pub(crate) mod live;
pub(crate) mod logs;
pub(crate) mod rehearse;
mod requests;
mod retry;
mod watch;

use super::{open, say_notices};
use crate::data::{RunStatus, TaskLine};
use crate::{
    Context,
    error::{CliError, FIX_FIRST},
    show::run::{self as show_run, Extent},
};
use clap::Subcommand;
use execute::ExecuteArgs;
use std::{
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{
    EngineError, Project, attendance, by_hand, changes, evidence, summary, tasks,
};
use waypost_model::{
    code::Code,
    id::{BadId, TaskId},
    next::NextStep,
    retry::FailureClass,
    run::{Active, Command, Failure, Run, RunSummary, TaskStatus, TaskSummary},
};

/// Work through the tasks of TASKS.md
///
/// Without a command, runs them: phase by phase, as many at once as are allowed, each with its own
/// `run:` command, again after a failure, until nothing is left. Ctrl-C once lets running tasks
/// finish, twice stops them. An agent session can be the executor itself: ask for what is ready,
/// start it, and say how it ended. The state is shown in .claude/orchestrate-state.json.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunArgs {
    #[command(subcommand)]
    action: Option<RunAction>,

    #[command(flatten)]
    execute: ExecuteArgs,

    /// The file with the tasks; else docs/planning/06-tasks.md, docs/planning/TASKS.md, TASKS.md
    #[arg(long, value_name = "FILE", global = true)]
    tasks: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum RunAction {
    /// Show phases, counts, and what failed or is blocked
    Status {
        /// Watch until the run is over, waits for a person, or no process works on it any more; exits
        /// as the run does. Ctrl-C ends the watching (exit 130), and the run goes on
        #[arg(long)]
        wait: bool,
        /// With `--wait`: watch until this phase has ended, and exit as it did
        #[arg(long, value_name = "N", requires = "wait")]
        phase: Option<u32>,
        /// Show every task that failed or is in progress, not only the first of them
        #[arg(long, conflicts_with = "wait")]
        all: bool,
    },
    /// List all runs of this repository, with how each ended
    List,
    /// Show how a run ended, also an earlier one
    Show {
        /// The run's number, as `run list` tells it
        number: u32,
        /// Print the state file as it was at its end
        #[arg(long)]
        window: bool,
    },
    /// Ask the run that is at work to end, and wait until it has
    ///
    /// No task is started; running ones have `run.stop_grace_seconds` to finish. What an engine has
    /// left that died is ended as well.
    Stop {
        /// Stop running tasks too, as a second Ctrl-C does; they will be ready again
        #[arg(long)]
        now: bool,
    },
    /// List the tasks that may be started now, the most urgent first
    Next {
        /// How many at most
        #[arg(short = 'n', long, value_name = "COUNT")]
        limit: Option<usize>,
    },
    /// Start a task; begins the run if there is none
    Start {
        /// The task, as in T1.3
        id: String,
    },
    /// Run a task's verify commands and complete it if they pass
    Done {
        /// The task, as in T1.3
        id: String,
        /// The attempt that speaks, as `start` told it; an older one is refused. Inside an attempt
        /// it is known by WAYPOST_ATTEMPT, and no other may be named
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
    },
    /// Say that a task failed; it is tried again until its retries are used up
    Fail {
        /// The task, as in T1.3
        id: String,
        /// What went wrong
        #[arg(long, default_value = "")]
        reason: String,
        /// transient, validation, dependency, resource, structural or critical; what another try
        /// cannot fix fails at once
        #[arg(long, default_value = "transient")]
        class: String,
        /// The attempt that speaks, as `start` told it; an older one is refused. Inside an attempt
        /// it is known by WAYPOST_ATTEMPT, and no other may be named
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
    },
    /// Open failed tasks again, with all their retries; what they blocked is lifted
    #[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
    Retry {
        /// The tasks, as in T1.3
        #[arg(value_name = "ID", group = "which")]
        ids: Vec<String>,
        /// Every task that has failed; not those that were skipped or reverted
        #[arg(long, group = "which", conflicts_with = "ids")]
        failed: bool,
        /// Every task of this phase that has failed
        #[arg(long, value_name = "N", group = "which", conflicts_with = "ids")]
        phase: Option<u32>,
    },
    /// Print what a task's last attempt has printed
    Logs {
        /// The task, as in T1.3
        id: String,
        /// An earlier attempt
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
        /// Go on printing while it runs
        #[arg(long, short)]
        follow: bool,
    },
    /// Show what a task has changed: what was merged, or what is in its work tree
    Diff {
        /// The task, as in T1.3
        id: String,
    },
    /// Take a merged task's work out of its branch again; it counts as failed, and what stands on
    /// it is blocked
    Revert {
        /// The task, as in T1.3
        id: String,
    },
    /// Take a task out: it counts as failed
    Skip {
        /// The task, as in T1.3
        id: String,
        /// Count it as completed instead; reserved for a person
        #[arg(long)]
        satisfy: bool,
    },
}

pub(crate) fn run(context: &Context, args: &RunArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    let tasks = args.tasks.as_ref().map(|path| context.path(path));
    let tasks = tasks.as_deref();
    tasks.map(|file| tasks::refuse_unreadable(&project, file)).transpose()?;
    let Some(action) = &args.action else {
        return execute::run(context, project, &args.execute, tasks);
    };
    let (id, command) = match action {
        RunAction::Logs { id, attempt, follow } => {
            return logs::run(context, &mut project, id, *attempt, *follow);
        }
        RunAction::Status { wait: true, phase, .. } if project.run()?.active().is_some() => {
            return watch::run(context, project, *phase);
        }
        RunAction::Status { all, .. } => return status(context, &mut project, tasks, *all),
        RunAction::List => return earlier::list(context, &mut project),
        RunAction::Show { number, window } => {
            return earlier::show(context, &mut project, *number, *window);
        }
        RunAction::Stop { now } => return background::stop(context, project, *now),
        RunAction::Next { limit } => return next(context, &mut project, tasks, *limit),
        RunAction::Start { id } => {
            let task = parse_id(id)?;
            let place = by_hand::start_task(&mut project, &task, tasks, &mut io::stderr())?;
            say_notices(context, &mut project);
            return report(context, &mut project, &task, place.as_deref());
        }
        RunAction::Done { id, attempt } => return done(context, &mut project, id, *attempt),
        RunAction::Fail { id, reason, class, attempt } => {
            let failure =
                Failure { text: reason.clone(), class: parse_class(class)?, ..Failure::default() };
            let task = parse_id(id)?;
            let attempt = project.speaking_attempt(&task, *attempt)?;
            (id, Command::Fail { id: task, attempt, failure })
        }
        RunAction::Diff { id } => return diff(context, &mut project, id),
        RunAction::Revert { id } => {
            let id = parse_id(id)?;
            changes::revert_task(&mut project, &id)?;
            say_notices(context, &mut project);
            return report(context, &mut project, &id, None);
        }
        RunAction::Retry { ids, failed: _, phase } => {
            return retry::run(context, &mut project, ids, *phase, tasks);
        }
        RunAction::Skip { id, satisfy: true } => (id, Command::Satisfy { id: parse_id(id)? }),
        RunAction::Skip { id, satisfy: false } => (id, Command::Skip { id: parse_id(id)? }),
    };
    let id = parse_id(id)?;
    tasks::drive_run(&mut project, &[command], tasks)?;
    by_hand::end_phase(&mut project, &mut io::stderr())?;
    say_notices(context, &mut project);
    report(context, &mut project, &id, None)
}

fn diff(context: &Context, project: &mut Project, id: &str) -> Result<ExitCode, CliError> {
    let color = if io::stdout().is_terminal() { "always" } else { "never" };
    let bytes = changes::task_diff(project, &parse_id(id)?, color)?;
    context.out.raw(&String::from_utf8_lossy(&bytes))?;
    if bytes.is_empty() {
        context.out.note(format!("{id} has changed nothing"));
    }
    Ok(ExitCode::SUCCESS)
}

fn done(
    context: &Context,
    project: &mut Project,
    id: &str,
    attempt: Option<u32>,
) -> Result<ExitCode, CliError> {
    let id = parse_id(id)?;
    complete(project, &id, attempt, &mut io::stderr())?;
    say_notices(context, project);
    report(context, project, &id, None)
}

/// Completes a task whose verify commands pass; `echo` gets what they print.
pub(crate) fn complete(
    project: &mut Project,
    id: &TaskId,
    attempt: Option<u32>,
    echo: &mut dyn io::Write,
) -> Result<(), CliError> {
    let attempt = project.speaking_attempt(id, attempt)?;
    match evidence::finish_task(project, id, attempt, echo) {
        Err(error @ EngineError::CheckFailed { .. }) => {
            let (id, same) = (id.clone(), id.clone());
            let steps = vec![NextStep::CompleteTask { id }, NextStep::FailTask { id: same }];
            Err(CliError::from(error).hint(FIX_FIRST).steps(steps))
        }
        outcome => Ok(outcome?),
    }
}

/// Says how the task stands now, and where it is worked on if it has a work tree.
fn report(
    context: &Context,
    project: &mut Project,
    id: &TaskId,
    place: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let now = project.clock().now();
    let run = project.run()?;
    let Some((active, view)) = run.active().and_then(|it| Some((it, it.task(id)?))) else {
        return Ok(ExitCode::SUCCESS);
    };
    let task = active.summarize(&view);
    if context.out.json {
        let run_over = Some(active.is_over());
        context.out.json(&TaskLine { run_over, worktree: place, ..TaskLine::from(&task) })?;
        return Ok(ExitCode::SUCCESS);
    }
    context.out.note(show_run::task_line(&task, now));
    if let Some(place) = place {
        context.out.line(format!("WORKTREE: {}", place.display()))?;
    }
    if active.is_over() {
        context.out.note(show_run::ending(&active.summary()));
    }
    Ok(ExitCode::SUCCESS)
}

fn status(
    context: &Context,
    project: &mut Project,
    tasks: Option<&Path>,
    is_all: bool,
) -> Result<ExitCode, CliError> {
    let extent = Extent { is_left: attendance::has_lost_engine(project)?, is_all };
    let begun = summary::of_run(project)?;
    let is_preview = begun.is_none();
    let run = match begun {
        Some(run) => run,
        None => preview(&tasks::preview_run(project, tasks)?).summary(),
    };
    if context.out.json {
        let (begun, engine_gone) = (!is_preview, extent.is_left);
        context.out.json(&RunStatus { run: (&run).into(), begun, engine_gone })?;
    } else {
        context.out.raw(&show_run::text_of(&run, extent))?;
        if is_preview {
            context.out.note("the run has not begun; `waypost run start ID` begins it");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn next(
    context: &Context,
    project: &mut Project,
    tasks: Option<&Path>,
    limit: Option<usize>,
) -> Result<ExitCode, CliError> {
    let (run, mut ready) = ready(project, tasks)?;
    ready.truncate(limit.unwrap_or(usize::MAX));
    if context.out.json {
        context.out.json_list(&ready.iter().map(TaskLine::from).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    for task in &ready {
        context.out.line(format!("{:10} {}", task.id, task.title))?;
    }
    if ready.is_empty() {
        let running = run.count(TaskStatus::InProgress);
        let delayed = run.count(TaskStatus::Ready);
        context.out.note(match run.is_over {
            true => show_run::ending(&run),
            false => format!(
                "nothing is ready; {running} in progress, {delayed} waiting before their next try"
            ),
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// The run in brief, begun or not, and the tasks that may be started now.
pub(crate) fn ready(
    project: &mut Project,
    tasks: Option<&Path>,
) -> Result<(RunSummary, Vec<TaskSummary>), CliError> {
    let now = project.clock().now();
    let (run, mut ready) = match summary::of_run(project)? {
        Some(run) => (run, summary::ready_tasks(project)?),
        None => {
            let run = tasks::preview_run(project, tasks)?;
            (preview(&run).summary(), preview(&run).ready_summaries())
        }
    };
    ready.retain(|task| !task.is_delayed(now));
    Ok((run, ready))
}

/// The run as it stands, or as it would begin.
pub(crate) fn with_plan<T>(
    project: &mut Project,
    look: impl FnOnce(&Active) -> Result<T, CliError>,
) -> Result<T, CliError> {
    if let Some(active) = project.run()?.active() {
        return look(active);
    }
    look(preview(&tasks::preview_run(project, None)?))
}

fn preview(run: &Run) -> &Active {
    run.active().expect("a preview has begun")
}

pub(crate) fn parse_id(text: &str) -> Result<TaskId, CliError> {
    text.parse().map_err(|error: BadId| CliError::bad_input(error.to_string()))
}

pub(crate) fn parse_class(word: &str) -> Result<FailureClass, CliError> {
    FailureClass::from_word(word).ok_or_else(|| {
        CliError::new(Code::ClassUnknown, format!("`{word}` is no class of failure"))
            .hint("one of transient, validation, dependency, resource, structural, critical")
    })
}
