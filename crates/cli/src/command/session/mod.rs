//! `waypost session`: a request from its exploration to its last gate.

mod gate;
mod planning;
mod running;
mod showing;

pub(crate) use gate::subtask_id;
pub(crate) use planning::verdict;

use super::open;
use crate::data::{SessionBegunLine, SessionReport};
use crate::{Context, error::CliError, show};
use std::process::ExitCode;
use waypost_engine::{
    EngineError, Project,
    sessions::{self, FoundFiles, SessionBegun},
};
use waypost_model::{document::ProjectHash, id::BadId, next::NextStep};

/// Work on a request by contracts and gates: explore, plan, design, test first, implement, verify
///
/// The files are in `.claude/orchestrator/`. Each agent writes a contract that the next one reads; Waypost
/// evaluates the gates between them itself. `waypost session next` says at any time who does what next.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SessionCommand {
    Start(StartArgs),
    /// Show how the session stands: the request, its tasks and subtasks with their gates
    Status,
    /// List every session on disk, this project's first
    List,
    Show(showing::ShowSessionArgs),
    /// Go on with a session that was stopped; what lacks a contract goes one phase back
    Resume,
    Relocate(RelocateArgs),
    /// End the session and its request before everything is done
    Stop,
    /// End a session whose request is complete
    Complete,
    Request(RequestArgs),
    Plan(planning::PlanArgs),
    /// Say what comes next: role, files to read, file to write, and the command after it
    ///
    /// A design that is there is taken up on the way. The whole loop can be driven by calling this again
    /// and again.
    Next,
    Gate(gate::SessionGateArgs),
    Run(running::SessionRunArgs),
}

/// Begin a session; files that are there are taken over
///
/// Of several active sessions on disk the newest stays, which is this one.
#[derive(Debug, clap::Args)]
struct StartArgs {
    /// Take nothing over: files that are there are kept beside their places
    #[arg(long)]
    new: bool,
}

/// Give the session of a project that was moved the folder that fits its path
#[derive(Debug, clap::Args)]
struct RelocateArgs {
    /// The folder's present name, as `session list` shows it
    #[arg(value_name = "HASH")]
    hash: Option<String>,
}

/// Begin a request: R1, R2 and so on
#[derive(Debug, clap::Args)]
struct RequestArgs {
    /// What is wanted, in your words
    text: String,
    /// Stop the request that is active
    #[arg(long)]
    stop_current: bool,
}

pub(crate) fn run(context: &Context, args: &SessionArgs) -> Result<ExitCode, CliError> {
    let mut project = open(context)?;
    if let SessionCommand::Run(args) = &args.command {
        return running::run(context, project, args);
    }
    let project = &mut project;
    let done = match &args.command {
        SessionCommand::Start(args) => start(context, project, args),
        SessionCommand::Status => tell(context, project),
        SessionCommand::List => showing::list(context, project),
        SessionCommand::Show(args) => showing::show(context, project, args),
        SessionCommand::Resume => {
            let begun = sessions::resume(project)?;
            say_begun(context, &begun, "goes on")
        }
        SessionCommand::Relocate(args) => relocate(context, project, args),
        SessionCommand::Stop => {
            sessions::stop(project)?;
            tell(context, project)
        }
        SessionCommand::Complete => {
            sessions::complete(project)?;
            tell(context, project)
        }
        SessionCommand::Request(args) => {
            sessions::request(project, &args.text, args.stop_current)?;
            tell(context, project)
        }
        SessionCommand::Plan(args) => return planning::plan(context, project, args),
        SessionCommand::Next => planning::next(context, project),
        SessionCommand::Gate(args) => return gate::run(context, project, args),
        // Taken above: it needs the project for itself.
        SessionCommand::Run(_) => Ok(()),
    };
    super::say_notices(context, project);
    done.map(|()| ExitCode::SUCCESS)
}

fn start(context: &Context, project: &mut Project, args: &StartArgs) -> Result<(), CliError> {
    let found = if args.new { FoundFiles::BeginNew } else { FoundFiles::TakeOver };
    let begun = sessions::start(project, found).map_err(|error| match error {
        EngineError::Invalid(_) => CliError::from(error).next(NextStep::StartNewSession),
        error => error.into(),
    })?;
    let word = if begun.was_active { "was begun before" } else { "is begun" };
    say_begun(context, &begun, word)
}

fn relocate(context: &Context, project: &mut Project, args: &RelocateArgs) -> Result<(), CliError> {
    let hash = args.hash.as_deref().map(project_hash).transpose()?;
    let begun = sessions::relocate(project, hash.as_ref())?;
    say_begun(context, &begun, "is here")
}

/// The name of a session's folder.
pub(crate) fn project_hash(typed: &str) -> Result<ProjectHash, CliError> {
    typed
        .parse()
        .map_err(|error: BadId| CliError::bad_input(error.to_string()).next(NextStep::ListSessions))
}

fn say_begun(context: &Context, begun: &SessionBegun, word: &str) -> Result<(), CliError> {
    if context.out.json {
        return Ok(context.out.json(&SessionBegunLine::from(begun))?);
    }
    for path in &begun.taken_over {
        context.out.note(format!("took over {}", path.display()));
    }
    for path in &begun.stopped {
        context.out.note(format!("{} was active and is stopped", path.display()));
    }
    context.out.done(format!("the session {word}: {}", begun.folder.display()));
    Ok(())
}

/// How the session stands.
fn tell(context: &Context, project: &mut Project) -> Result<(), CliError> {
    if context.out.json {
        let report = SessionReport::of(project)?;
        return Ok(context.out.json(&report)?);
    }
    let session = project.session()?;
    if session.facts().is_none() {
        context.out.note("no session has begun here; `waypost session start` begins one");
        return Ok(());
    }
    Ok(context.out.raw(&show::session::text(session))?)
}
