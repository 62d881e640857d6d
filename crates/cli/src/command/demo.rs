//! `waypost demo`: shows what there is, on a scratch project that can be looked at afterwards.

use crate::{
    Context,
    command::run::{
        execute::{Course, execute},
        live::Live,
        rehearse::{SCRIPT, STAND_IN, configuration, scratch_folder},
    },
    error::{CliError, Kind},
    output::{BOLD, CYAN, styled},
    show::workflow as show_workflow,
};
use std::{
    fs, io,
    path::{Path, PathBuf, absolute},
    process::ExitCode,
};
use waypost_engine::{EngineError, GateClaim, Project, make_scratch};
use waypost_model::{
    actor::Actor,
    inbox::{Entry, QuestionKind},
    run::{Command as RunCommand, Settings},
    workflow::{CheckpointStep, Command as WorkflowCommand, GateName},
};

/// See Waypost at work on a scratch project
///
/// Makes a small repository in a temporary folder and works through its TASKS.md with simulated
/// agents, each in a work tree of its own: one crashes and goes on in its conversation, one is sent
/// back by its check, one meets a limit, two change the same file, and one has a question. What they
/// did is proven and merged phase by phase. Then a feature is held at its gates, an edit of the
/// state file is refused, and everything is left to look at. Takes less than a minute and costs
/// nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Where to make the scratch project; it must not exist
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// The tasks of the scratch project.
const TASKS: &str = include_str!("demo/TASKS.md");

/// What its agents do.
const AGENTS: &str = include_str!("demo/agents.json");

/// How many of them work at once.
const LIMITS: &str = "max_agents = 4\n";

/// What has to pass before a phase is merged.
const CHECKS: &str = "checks = [\"test -d src\"]\n";

pub(crate) fn run(context: &Context, args: &DemoArgs) -> Result<ExitCode, CliError> {
    let folder = make_project(context, args.folder.as_deref())?;
    let person = Actor::User("demo".into());
    heading(context, "1. Twenty tasks in four phases, worked on by agents")?;
    let mut project = Project::find(&folder, person.clone())?;
    // A journal of an earlier demo in the same folder is not missed.
    project.begin_anew()?;
    work_through(context, project)?;

    heading(context, "2. A question has waited in the inbox; its answer resumes the agent")?;
    answer(context, Project::open(&folder, person.clone())?)?;

    heading(context, "3. A feature is held at its gates")?;
    let mut project = Project::open(&folder, person.clone())?;
    walk_workflow(context, &mut project)?;

    heading(context, "4. An edit of the state file cannot open a gate")?;
    forge_gate(context, &folder)?;

    heading(context, "5. Everything is in the journal, and the work is in git")?;
    let mut project = Project::open(&folder, person)?;
    let count = project.log(usize::MAX, |_| true)?.len();
    context
        .out
        .line(format!("{count} events, every one with its giver and time. Look around:\n"))?;
    look_around(context, &folder)?;
    Ok(ExitCode::SUCCESS)
}

/// What there is to try next.
fn look_around(context: &Context, folder: &Path) -> Result<(), CliError> {
    let shown = folder.display();
    let git = format!("git -C {shown} log --graph --oneline");
    context.out.line(format!("  {}", styled(CYAN, git)))?;
    for command in ["run status", "run diff T1.1", "why T2.5", "run logs T0.4", "log", "doctor"] {
        context.out.line(format!("  {}", styled(CYAN, format!("waypost -C {shown} {command}"))))?;
    }
    Ok(())
}

/// Answers what the agents have asked, and goes on.
fn answer(context: &Context, mut project: Project) -> Result<(), CliError> {
    let inbox = project.inbox()?;
    let is_agents = |entry: &&Entry| entry.question.kind == QuestionKind::AgentQuestion;
    for entry in inbox.open().iter().filter(is_agents) {
        let Some(choice) = entry.question.choices.first() else { continue };
        context.out.line(format!("  {}", entry.question.title))?;
        context.out.line(format!("$ waypost inbox answer {} {choice}", entry.id))?;
        project.answer(&entry.id, choice)?;
    }
    context.out.line("$ waypost run --resume\n")?;
    execute(project, &Course::default(), Live::begin(context)?, context).map(drop)
}

/// Runs the tasks as `waypost run` does.
fn work_through(context: &Context, mut project: Project) -> Result<(), CliError> {
    let settings = project.configuration().values.run.settings();
    let settings = Settings { agent: Some(STAND_IN.into()), ..settings };
    let settings = project.place_run(settings, None, None)?;
    project.take_up_run(vec![RunCommand::Configure { settings }], None)?;
    execute(project, &Course::default(), Live::begin(context)?, context).map(drop)
}

fn heading(context: &Context, text: &str) -> Result<(), CliError> {
    Ok(context.out.line(format!("\n{}\n", styled(BOLD, text)))?)
}

/// Makes the scratch project: a repository with a TASKS.md and a script for its agents.
fn make_project(context: &Context, wanted: Option<&Path>) -> Result<PathBuf, CliError> {
    let folder = wanted.map_or_else(|| scratch_folder("demo"), |folder| context.path(folder));
    // Its agents are started in other folders than this one.
    let folder = absolute(&folder)?;
    let files = [
        ("TASKS.md", TASKS.to_owned()),
        (SCRIPT, AGENTS.to_owned()),
        ("waypost.toml", configuration(&folder, &format!("{LIMITS}{CHECKS}"))?),
    ];
    make_scratch(&folder, &files)?;
    Ok(folder)
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    waypost_engine::write_file(path, text.as_bytes()).map_err(CliError::from)
}

fn walk_workflow(context: &Context, project: &mut Project) -> Result<(), CliError> {
    let feature = "Rate limits for the public API".to_owned();
    project.develop(WorkflowCommand::Start { feature, max_iterations: 3 })?;
    let checkpoints = ["cp-1", "cp-2"].map(|id| id.parse().expect("a plain id")).to_vec();
    project.develop(WorkflowCommand::Advance { checkpoints, contract: None, strategy: None })?;
    let early = WorkflowCommand::Advance { checkpoints: vec![], contract: None, strategy: None };
    refused(context, "waypost develop advance", project.develop(early.clone()))?;
    let report = project.root().join("review.md");
    write(&report, "# Review of the design\n\nBlocking: 0\n")?;
    let claim = GateClaim { report: Some(&report), is_confirmed: false };
    project.pass_gate(GateName::ReviewCleanPass, claim, &mut io::sink())?;
    project.develop(early)?;
    let id = "cp-1".parse().expect("a plain id");
    project.develop(WorkflowCommand::Checkpoint { id, step: CheckpointStep::Start })?;
    if let Some(feature) = &project.workflow()?.feature {
        context.out.raw(&show_workflow::text(feature))?;
    }
    Ok(())
}

/// Prints what was tried and why it was refused.
fn refused(
    context: &Context,
    command: &str,
    outcome: Result<(), EngineError>,
) -> Result<(), CliError> {
    match outcome {
        Err(EngineError::Rejected(rejected)) => {
            let next = rejected.next.map(|next| format!("\n  next: {next}")).unwrap_or_default();
            context.out.line(format!("$ {command}\n  refused: {}{next}\n", rejected.message))?;
            Ok(())
        }
        other => Ok(other?),
    }
}

/// Does what an agent in a hurry might: writes `true` into the file.
fn forge_gate(context: &Context, folder: &Path) -> Result<(), CliError> {
    let path = folder.join(".develop-workflow/state.json");
    let text = fs::read_to_string(&path).map_err(|error| {
        CliError::new(Kind::Missing, format!("cannot read {}: {error}", path.display()))
    })?;
    write(&path, &text.replace("\"architect_verified\": false", "\"architect_verified\": true"))?;
    let agent = Actor::Agent { id: "demo".into(), attempt: 1 };
    let mut project = Project::open(folder, agent)?;
    for notice in project.take_notices() {
        context.out.line(format!("  {notice}"))?;
    }
    let is_open = project
        .workflow()?
        .feature
        .as_ref()
        .is_some_and(|feature| feature.has_passed(GateName::ArchitectVerified));
    Ok(context.out.line(format!(
        "  architect_verified is {}",
        if is_open { "open" } else { "still closed" }
    ))?)
}
