//! `waypost demo`: shows what there is, on a scratch project that can be looked at afterwards.

use crate::{
    Context,
    error::{CliError, Kind},
    output::{BOLD, CYAN, DIM, styled},
    show::{run as show_run, workflow as show_workflow},
};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};
use waypost_engine::{Engine, EngineError, GateClaim, Handle, MachineCommand, Project};
use waypost_model::{
    actor::Actor,
    evidence::Evidence,
    id::TaskId,
    retry::FailureClass,
    run::{Command as RunCommand, Failure},
    workflow::{CheckpointStep, Command as WorkflowCommand, GateName},
};

/// See Waypost at work on a scratch project
///
/// Makes a small project in a temporary folder, takes a feature to its first gates, works through
/// a TASKS.md with one task that fails, forges an edit of the state file to show what becomes of
/// it, and leaves everything to look at.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Where to make the scratch project; it must not exist
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// The tasks of the scratch project.
const TASKS: &str = include_str!("demo/TASKS.md");

/// The task that fails in the demo, so that there is something to see.
const FAILING: &str = "T2.2";

pub(crate) fn run(context: &Context, args: &DemoArgs) -> Result<ExitCode, CliError> {
    let folder = make_folder(context, args.folder.as_deref())?;
    let person = Actor::User("demo".into());
    heading(context, "1. A feature is held at its gates")?;
    let mut project = Project::find(&folder, person.clone())?;
    // A journal of an earlier demo in the same folder is not missed.
    project.begin_anew()?;
    walk_workflow(context, &mut project)?;

    heading(context, "2. An edit of the state file cannot open a gate")?;
    forge_gate(context, &folder)?;

    heading(context, "3. TASKS.md as a graph, phase by phase")?;
    walk_run(context, &folder, &person)?;

    heading(context, "4. Everything is in the journal")?;
    let mut project = Project::open(&folder, person)?;
    let count = project.log(usize::MAX, |_| true)?.len();
    let shown = folder.display();
    context
        .out
        .line(format!("{count} events, every one with its giver and time. Look around:\n"))?;
    for command in ["status", "log", "inbox", "run status", "doctor"] {
        context.out.line(format!("  {}", styled(CYAN, format!("waypost -C {shown} {command}"))))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn heading(context: &Context, text: &str) -> Result<(), CliError> {
    Ok(context.out.line(format!("\n{}\n", styled(BOLD, text)))?)
}

/// Makes the scratch project: a folder with a TASKS.md, nothing else.
fn make_folder(context: &Context, wanted: Option<&Path>) -> Result<PathBuf, CliError> {
    let folder = match wanted {
        Some(folder) => context.path(folder),
        None => env::temp_dir().join(format!("waypost-demo-{}", std::process::id())),
    };
    let failed = |error: io::Error| {
        CliError::new(Kind::Missing, format!("cannot make {}: {error}", folder.display()))
    };
    if folder.exists() {
        let message = format!("{} is already there", folder.display());
        return Err(CliError::bad_input(message).hint("name a folder that does not exist yet"));
    }
    fs::create_dir_all(folder.join(".waypost")).map_err(failed)?;
    write(&folder.join("TASKS.md"), TASKS)?;
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

/// Runs the tasks through the engine, as an executor would.
fn walk_run(context: &Context, folder: &Path, person: &Actor) -> Result<(), CliError> {
    let mut project = Project::open(folder, person.clone())?;
    project.drive_run(Vec::new(), None)?;
    let engine = Engine::start(project, "demo")?;
    let handle = engine.handle();
    while let Some(id) = next_ready(folder, person)? {
        work_on(context, &handle, &id)?;
    }
    let Some(mut project) = engine.stop() else { return Ok(()) };
    if let Some(run) = project.run_summary()? {
        context.out.raw(&format!("\n{}", show_run::text(&run)))?;
    }
    Ok(())
}

/// The most urgent task that is ready.
fn next_ready(folder: &Path, person: &Actor) -> Result<Option<TaskId>, CliError> {
    let mut project = Project::open(folder, person.clone())?;
    let active = project.run()?.active();
    Ok(active.and_then(|active| active.ready().next()).map(|view| view.planned.id.clone()))
}

fn work_on(context: &Context, handle: &Handle, id: &TaskId) -> Result<(), CliError> {
    let agent = Actor::Agent { id: id.to_string(), attempt: 1 };
    let give = |command| handle.command(agent.clone(), vec![MachineCommand::Run(command)]);
    give(RunCommand::Start { id: id.clone() })?;
    let (word, command) = if id.as_str() == FAILING {
        let text = "the schema of the old table is unknown".to_owned();
        let failure = Failure { text, class: FailureClass::Structural, signature: String::new() };
        ("failed", RunCommand::Fail { id: id.clone(), attempt: Some(1), failure })
    } else {
        let evidence = Evidence::Unverified;
        ("done", RunCommand::Done { id: id.clone(), attempt: Some(1), evidence })
    };
    give(command)?;
    Ok(context.out.line(format!("  {} {id}", styled(DIM, format!("{word:6}"))))?)
}
