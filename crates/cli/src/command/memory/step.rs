//! `waypost memory step`: the steps of a task, by their ids.

use super::{artifact, task, task_id, value};
use crate::{Context, error::CliError, output::DIM, output::styled, show};
use std::{thread, time::Duration};
use waypost_engine::{EngineError, Project, memory};
use waypost_model::{
    code::Code,
    document::MemoryTaskId,
    json::Json,
    memory::{Command, StepAct, StepDraft, StepFailure},
    retry::FailureClass,
};

/// The longest wait before a retry, beyond which something is wrong with a clock.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Add steps to a task and move them on
///
/// A step that fails is tried again after 2, 4 and 8 seconds, then a person is asked. Steps are named by
/// their ids, never by their places.
#[derive(Debug, clap::Args)]
pub(super) struct StepArgs {
    #[command(subcommand)]
    command: StepCommand,

    /// The task; without it the current one
    #[arg(long, value_name = "TASK", global = true)]
    task: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum StepCommand {
    Add(AddArgs),
    /// Show one step
    Show(StepNumber),
    /// Begin to work on a step
    Start(StepNumber),
    Complete(StepCompleteArgs),
    Fail(StepFailArgs),
    Retry(RetryArgs),
    Escalate(EscalateArgs),
}

#[derive(Debug, clap::Args)]
struct StepNumber {
    /// The step's id
    #[arg(value_name = "STEP")]
    step: u32,
}

/// Add a step
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// What it is called
    name: String,
    /// The agent that does it
    #[arg(long = "agent", value_name = "NAME")]
    by_agent: Option<String>,
    /// The group of agents that it belongs to
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// A step that has to be completed first; may be given more than once
    #[arg(long = "after", value_name = "STEP")]
    dependencies: Vec<u32>,
    /// How long it should take; twice as long calls for a new plan
    #[arg(long, value_name = "SECONDS")]
    expected: Option<u64>,
}

/// Complete a step
#[derive(Debug, clap::Args)]
struct StepCompleteArgs {
    #[command(flatten)]
    number: StepNumber,
    /// What it produced, as JSON
    #[arg(long, value_name = "JSON")]
    output: Option<String>,
    /// A file that it produced, as PATH or PATH=DESCRIPTION; may be given more than once
    #[arg(long = "artifact", value_name = "PATH")]
    artifacts: Vec<String>,
}

/// Say that a step has failed
///
/// What follows depends on the class. transient and validation: it is tried again. dependency: the steps
/// of --needs first. resource: by another agent, or a person. structural: a new plan. critical: a person,
/// and the task has failed.
#[derive(Debug, clap::Args)]
struct StepFailArgs {
    #[command(flatten)]
    number: StepNumber,
    /// transient, validation, dependency, resource, structural or critical
    #[arg(long, default_value = "transient")]
    class: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// A step that has to be completed first; may be given more than once
    #[arg(long, value_name = "STEP")]
    needs: Vec<u32>,
}

/// Try a step again that has failed, when its time has come
#[derive(Debug, clap::Args)]
struct RetryArgs {
    #[command(flatten)]
    number: StepNumber,
    /// Let another agent do it
    #[arg(long = "agent", value_name = "NAME")]
    by_agent: Option<String>,
    /// Exit 3 if its time has not come
    #[arg(long)]
    no_wait: bool,
}

/// Hand a step that has failed to a person
#[derive(Debug, clap::Args)]
struct EscalateArgs {
    #[command(flatten)]
    number: StepNumber,
    /// What the person should know
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

pub(super) fn run(
    context: &Context,
    project: &mut Project,
    args: &StepArgs,
) -> Result<(), CliError> {
    let named = task_id(args.task.as_ref())?;
    let (step, act) = match &args.command {
        StepCommand::Add(args) => return add(context, project, named, args),
        StepCommand::Show(number) => return show(context, project, named.as_ref(), number.step),
        StepCommand::Start(number) => (number.step, StepAct::Start),
        StepCommand::Complete(args) => {
            let output = args.output.as_deref().map(value).transpose()?.unwrap_or(Json::Null);
            let artifacts = args.artifacts.iter().map(|typed| artifact(typed)).collect();
            (args.number.step, StepAct::Complete { output, artifacts })
        }
        StepCommand::Fail(args) => (args.number.step, StepAct::Fail { failure: failure(args)? }),
        StepCommand::Retry(args) => return retry(context, project, named, args),
        StepCommand::Escalate(args) => {
            (args.number.step, StepAct::Escalate { why: args.reason.clone() })
        }
    };
    give(context, project, named, (step, act))
}

fn failure(args: &StepFailArgs) -> Result<StepFailure, CliError> {
    let class = FailureClass::from_word(&args.class).ok_or_else(|| {
        let message = format!("`{}` is no class of failure", args.class);
        CliError::new(Code::ClassUnknown, message)
            .hint("transient, validation, dependency, resource, structural or critical")
    })?;
    Ok(StepFailure { class, message: args.reason.clone(), needs: args.needs.clone() })
}

fn give(
    context: &Context,
    project: &mut Project,
    named: Option<MemoryTaskId>,
    (step, act): (u32, StepAct),
) -> Result<(), CliError> {
    let id = meant(project, named.as_ref())?;
    let given = given_with(&act);
    if !memory::give_once(project, Command::Step { task: named, step, act })? && !given.is_empty() {
        context.out.warning(format!(
            "step {step} was so already, and what was recorded then stands; not taken: {}",
            given.join(", ")
        ));
    }
    task::tell(context, project, id.as_ref())
}

/// What a command says beside that something is so.
fn given_with(act: &StepAct) -> Vec<&'static str> {
    match act {
        StepAct::Complete { output, artifacts } => {
            let all = [("--output", !output.is_null()), ("--artifact", !artifacts.is_empty())];
            all.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
        }
        StepAct::Fail { failure } => {
            let mut all = vec!["--reason", "--class"];
            all.extend((!failure.needs.is_empty()).then_some("--needs"));
            all
        }
        StepAct::Escalate { why } if !why.is_empty() => vec!["--reason"],
        _ => Vec::new(),
    }
}

fn meant(
    project: &mut Project,
    named: Option<&MemoryTaskId>,
) -> Result<Option<MemoryTaskId>, CliError> {
    let current = project.memory()?.current().map(|kept| kept.task.id.clone());
    Ok(named.cloned().or(current))
}

fn add(
    context: &Context,
    project: &mut Project,
    named: Option<MemoryTaskId>,
    args: &AddArgs,
) -> Result<(), CliError> {
    let draft = StepDraft {
        id: None,
        name: args.name.clone(),
        agent: args.by_agent.clone(),
        cluster: args.cluster.clone(),
        dependencies: args.dependencies.clone(),
        expected_seconds: args.expected,
    };
    let id = meant(project, named.as_ref())?;
    memory::give(project, Command::AddStep { task: named, draft: Box::new(draft) })?;
    task::tell(context, project, id.as_ref())
}

fn show(
    context: &Context,
    project: &mut Project,
    named: Option<&MemoryTaskId>,
    step: u32,
) -> Result<(), CliError> {
    let kept = project.memory()?.find(named)?;
    let found = kept.step(step).ok_or_else(|| {
        CliError::new(Code::StepUnknown, format!("{} has no step {step}", kept.task.id))
    })?;
    if context.out.json {
        return Ok(context.out.json_as_it_is(found)?);
    }
    context.out.raw(&show::memory::step_line(kept, found))?;
    if !found.output.is_null() {
        let output = serde_json::to_string(&found.output).unwrap_or_default();
        context.out.line(styled(DIM, format!("    output: {output}")))?;
    }
    Ok(())
}

/// Waits until a step may be tried again, unless that is not wanted.
fn retry(
    context: &Context,
    project: &mut Project,
    named: Option<MemoryTaskId>,
    args: &RetryArgs,
) -> Result<(), CliError> {
    let step = args.number.step;
    let clock = project.clock();
    let start = clock.now();
    loop {
        let act = StepAct::Retry { agent: args.by_agent.clone() };
        let id = meant(project, named.as_ref())?;
        match memory::give(project, Command::Step { task: named.clone(), step, act }) {
            Err(EngineError::Rejected(rejected)) if rejected.code == Code::StepDelayed => {
                let not_before = project.memory()?.find(named.as_ref())?.clock(step).not_before;
                let now = clock.now();
                let left = not_before.map_or(Duration::ZERO, |at| at.since(now));
                if args.no_wait || now.since(start) + left > WAIT_MAX {
                    return Err(rejected.into());
                }
                context.out.note(format!("step {step} is tried again in {} s", left.as_secs() + 1));
                thread::sleep(left);
            }
            Err(error) => return Err(error.into()),
            Ok(_) => return task::tell(context, project, id.as_ref()),
        }
    }
}
