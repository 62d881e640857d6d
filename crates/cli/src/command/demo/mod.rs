//! `waypost demo`: shows what there is, on a scratch project that can be looked at afterwards.

mod faults;

use crate::{
    Context,
    command::{
        ask,
        inbox::choose,
        run::{
            execute::{Course, execute},
            live::Live,
            rehearse::{STAND_IN, configuration, scratch_folder},
        },
    },
    error::CliError,
    output::{BOLD, CYAN, styled},
    show::workflow as show_workflow,
    spelling,
};
use std::{
    env, fs, io,
    path::{Path, PathBuf, absolute},
    process::ExitCode,
};
use waypost_engine::{
    EngineError, GateClaim, Onward, Project, answer, evidence, init, isolation, make_scratch, tasks,
};
use waypost_model::{
    actor::Actor,
    code::Code,
    inbox::{Entry, QuestionKind, Reply},
    layout,
    run::{Command as RunCommand, Mode, Settings},
    workflow::{CheckpointStep, Command as WorkflowCommand, GateName},
};

/// See Waypost at work on a scratch project
///
/// Makes a small repository in a temporary folder and works through its TASKS.md with simulated
/// agents, each in a work tree of its own. Five things go wrong on purpose: an agent's process
/// dies, one is sent back by its verify command, one reaches its usage limit, two change the same
/// file, and one asks a question. What they did is verified and merged phase by phase. Then a
/// feature is held at its gates and an edit of the state file is refused. At a terminal it says
/// what it will do and asks before it begins. Takes less than half a minute, needs no network and
/// no account, and leaves everything to look at.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Where to make the scratch project; it must not exist
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Begin at once, and answer the agent's question without asking you
    #[arg(long, short)]
    yes: bool,
}

/// The tasks of the scratch project.
const TASKS: &str = include_str!("TASKS.md");

/// What its agents do.
const AGENTS: &str = include_str!("agents.json");

/// How many of them work at once.
const LIMITS: &str = "max_agents = 4\n";

/// What has to pass before a phase is merged.
const CHECKS: &str = "checks = [\"test -d src\"]\n";

pub(crate) fn run(context: &Context, args: &DemoArgs) -> Result<ExitCode, CliError> {
    if context.out.json {
        let message = "the demo is for people to read: it prints no JSON";
        return Err(CliError::bad_input(message).hint("leave `--json` out"));
    }
    let folder = folder(context, args.folder.as_deref())?;
    let waypost = format!("{} -C {}", own_name()?, shell_word(&folder));
    announce(context, &folder)?;
    if !args.yes && !wants_to_begin()? {
        context.out.note("nothing was done");
        return Ok(ExitCode::SUCCESS);
    }
    make_project(&folder)?;
    let person = Actor::User("demo".into());
    heading(context, "1. Twenty tasks in four phases, worked on by agents")?;
    let mut project = Project::find(&folder, person.clone())?;
    // A journal of an earlier demo in the same folder is not missed.
    init::begin_anew(&mut project)?;
    work_through(context, project)?;

    heading(context, "2. A question waits in the inbox; its answer resumes the agent")?;
    let mut project = Project::open(&folder, person.clone())?;
    answer(context, &mut project, &waypost, args.yes)?;
    context.out.line(format!("$ {waypost} run --resume\n"))?;
    let live = Live::begin(context, project.setup().stop_grace())?;
    execute(project, &course(), live, context)?;

    heading(context, "3. What went wrong on purpose, and how it was survived")?;
    let mut project = Project::open(&folder, person.clone())?;
    for line in faults::survived(&mut project)? {
        context.out.line(line)?;
    }

    heading(context, "4. A feature is held at its gates")?;
    walk_workflow(context, &mut project, &waypost)?;

    heading(context, "5. An edit of the state file cannot open a gate")?;
    forge_gate(context, &folder)?;

    heading(context, "6. Everything is in the journal, and the work is in git")?;
    let mut project = Project::open(&folder, person)?;
    let count = project.log(usize::MAX, |_| true)?.len();
    context
        .out
        .line(format!("{count} events, each with its time and who caused it. Look around:\n"))?;
    look_around(context, &folder, &waypost)?;
    Ok(ExitCode::SUCCESS)
}

/// Says what will be done, before it is.
fn announce(context: &Context, folder: &Path) -> Result<(), CliError> {
    context.out.line(format!(
        "This makes a small repository in {} and works through 20 tasks in 4 phases with\n\
         simulated agents. It needs no network and no account, costs nothing, and takes less than\n\
         half a minute. Five things go wrong on purpose:\n",
        folder.display()
    ))?;
    for line in faults::announced() {
        context.out.line(line)?;
    }
    Ok(context.out.line("")?)
}

/// Asks the person at the terminal; elsewhere there is no person to ask.
fn wants_to_begin() -> Result<bool, CliError> {
    let answer = ask("Begin? T3.2 will ask you something in between. [Y/n]")?;
    Ok(matches!(answer.as_deref(), None | Some("" | "y" | "Y" | "yes")))
}

/// How this program is called: by its name if that finds it, else by its path.
fn own_name() -> Result<String, CliError> {
    let own = env::current_exe()?;
    let is_own = |folder: PathBuf| {
        let found = folder.join("waypost").canonicalize();
        found.is_ok_and(|found| own.canonicalize().is_ok_and(|own| own == found))
    };
    let path = env::var_os("PATH").unwrap_or_default();
    // The first one of that name is the one that a shell takes.
    let first = env::split_paths(&path).find(|folder| folder.join("waypost").is_file());
    Ok(if first.is_some_and(is_own) { "waypost".into() } else { shell_word(&own) })
}

/// A path as a shell takes it.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// What there is to try next.
fn look_around(context: &Context, folder: &Path, waypost: &str) -> Result<(), CliError> {
    let shown = shell_word(folder);
    let git = format!("git -C {shown} log --graph --oneline");
    context.out.line(format!("  {}", styled(CYAN, git)))?;
    for command in ["run status", "run diff T1.1", "why T2.5", "run logs T0.4", "log", "doctor"] {
        context.out.line(format!("  {}", styled(CYAN, format!("{waypost} {command}"))))?;
    }
    context.out.line(format!("\nRemove it again: rm -r {shown}"))?;
    Ok(())
}

/// Answers what the agents have asked: as the person at the terminal says, else with the first
/// choice.
fn answer(
    context: &Context,
    project: &mut Project,
    waypost: &str,
    is_alone: bool,
) -> Result<(), CliError> {
    let inbox = project.inbox()?;
    let is_agents = |entry: &&Entry| entry.question.kind == QuestionKind::AgentQuestion;
    for entry in inbox.open().iter().filter(is_agents) {
        let Some(first) = entry.question.choices.first() else { continue };
        context.out.line(format!("  {}\n", entry.question.title))?;
        let asked = if is_alone { None } else { choose(&entry.question.choices)? };
        let choice = asked.unwrap_or_else(|| first.clone());
        context.out.line(format!("$ {waypost} inbox answer {} {choice}", entry.id))?;
        answer::give(project, &entry.id, Reply::answer(&choice))?;
    }
    Ok(())
}

/// The run itself asks no person: what there is to answer is answered by the demo.
fn course() -> Course {
    Course { yes: true, is_unattended: true, ..Course::default() }
}

/// Runs the tasks as `waypost run` does.
fn work_through(context: &Context, mut project: Project) -> Result<(), CliError> {
    let settings = project.configuration().values.run.settings();
    let settings = Settings { agent: Some(STAND_IN.into()), mode: Mode::UltraThin, ..settings };
    let settings = isolation::place_run(&mut project, settings, None, (None, Onward::GoOn))?;
    tasks::take_up_run(
        &mut project,
        vec![RunCommand::Configure { settings }],
        None,
        None,
        Onward::GoOn,
    )?;
    let live = Live::begin(context, project.setup().stop_grace())?;
    execute(project, &course(), live, context).map(drop)
}

fn heading(context: &Context, text: &str) -> Result<(), CliError> {
    Ok(context.out.line(format!("\n{}\n", styled(BOLD, text)))?)
}

/// Where the scratch project will be; its agents are started in other folders than this one.
fn folder(context: &Context, wanted: Option<&Path>) -> Result<PathBuf, CliError> {
    let folder = wanted.map_or_else(|| scratch_folder("demo"), |folder| context.path(folder));
    Ok(absolute(&folder)?)
}

/// Makes the scratch project: a repository with a TASKS.md and a script for its agents.
fn make_project(folder: &Path) -> Result<(), CliError> {
    let files = [
        ("TASKS.md", TASKS.to_owned()),
        (layout::AGENT_SCRIPT, AGENTS.to_owned()),
        (layout::CONFIGURATION, configuration(&format!("{LIMITS}{CHECKS}"))),
    ];
    Ok(make_scratch(folder, &files)?)
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    waypost_engine::write_file(path, text.as_bytes()).map_err(CliError::from)
}

fn walk_workflow(context: &Context, project: &mut Project, waypost: &str) -> Result<(), CliError> {
    let feature = "Rate limits for the public API".to_owned();
    project.develop(WorkflowCommand::Start { feature, max_iterations: 3 })?;
    let checkpoints = ["cp-1", "cp-2"].map(|id| id.parse().expect("a plain id")).to_vec();
    project.develop(WorkflowCommand::Advance { checkpoints, contract: None, strategy: None })?;
    let early = WorkflowCommand::Advance { checkpoints: vec![], contract: None, strategy: None };
    let command = format!("{waypost} develop advance");
    refused(context, &command, project.develop(early.clone()))?;
    let report = project.root().join("review.md");
    write(&report, "# Review of the design\n\nBlocking: 0\n")?;
    let claim = GateClaim { report: Some(&report), is_confirmed: false };
    evidence::pass_gate(project, GateName::ReviewCleanPass, claim, &mut io::sink())?;
    project.develop(early)?;
    let id = "cp-1".parse().expect("a plain id");
    project.develop(WorkflowCommand::Checkpoint { id, step: CheckpointStep::START })?;
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
            let next = spelling::any_of(&rejected.next);
            let next = next.map(|next| format!("\n  next: {next}")).unwrap_or_default();
            context.out.line(format!("$ {command}\n  refused: {}{next}\n", rejected.message))?;
            Ok(())
        }
        other => Ok(other?),
    }
}

/// Does what an agent in a hurry might: writes `true` into the file.
fn forge_gate(context: &Context, folder: &Path) -> Result<(), CliError> {
    let path = folder.join(layout::window::WORKFLOW);
    let text = fs::read_to_string(&path).map_err(|error| {
        CliError::new(Code::FileFailed, format!("cannot read {}", path.display())).because(&error)
    })?;
    write(&path, &text.replace("\"architect_verified\": false", "\"architect_verified\": true"))?;
    let agent = Actor::Agent { id: "demo".into(), attempt: 1 };
    let mut project = Project::open(folder, agent)?;
    for notice in project.take_notices() {
        context.out.line(format!("  {}", spelling::line(&notice)))?;
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
