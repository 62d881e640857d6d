//! Sessions as commands see them: begun or taken over, requests, plans, gates, what comes next.
//!
//! What the machine decides goes through `give`; here is what needs files, a clock or git. The
//! contracts are documents of their own (`contracts`).

mod apart;
mod called;
mod concerned;
mod examine;
mod found;
mod gates;
mod next;
mod past;
mod planning;
mod relocating;
mod running;
mod told;

pub use apart::{bring_on, task_folder};
pub(crate) use examine::{damaged, examine};
pub(crate) use found::folders;
pub use found::{FoundFiles, FoundSession, list};
pub use gates::{CheckedGate, GateCheck, check, override_gate};
pub use next::{NextCall, SessionNext, next};
pub(crate) use past::{OvercomeFault, overcome};
pub use past::{PastRequest, requests};
pub use planning::{GivenVerdicts, PlanOutcome, plan};
pub use relocating::relocate;
pub use running::{SessionRunEnd, SessionRunOptions, run};
pub(crate) use told::told;

use crate::{
    contracts,
    error::{EngineError, Problem},
    init, knowledge,
    ledger::MachineCommand,
    project::Project,
    windows,
};
use std::path::{Path, PathBuf};
use waypost_git::{KeptContent, keep_content};
use waypost_model::{
    code::Code,
    document::{
        Document, Kind, RequestId, SubtaskId,
        contract::ContractPlace,
        session::{GlobalPhase, Manifest, SessionFile, SessionStatus, Status, SubtaskPhase},
    },
    layout,
    next::NextStep,
    session::{Command, MissingContract, ProjectFacts, RequestState, Session},
};
use waypost_store::{hash, place::Place};

/// No request gets so far by counting: a folder of such a number was named by hand, and leaves those below it.
const COUNTED_MAX: u32 = 1_000_000;

/// What `start` found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionBegun {
    pub folder: PathBuf,
    /// Files that were there and are the beginning now.
    pub taken_over: Vec<PathBuf>,
    /// Whether a session was active before.
    pub was_active: bool,
    /// Other sessions on disk that were active and are stopped now.
    pub stopped: Vec<PathBuf>,
}

/// Gives the session a command, and shows what came of it.
pub fn give(project: &mut Project, command: Command) -> Result<&Session, EngineError> {
    let before = active_id(project)?;
    project.command(&[MachineCommand::session(command)])?;
    learn_at_end(project, before.as_ref())?;
    project.session()
}

fn active_id(project: &mut Project) -> Result<Option<RequestId>, EngineError> {
    Ok(project.session()?.active_request().map(|request| request.id.clone()))
}

/// What was found out stays when the request that was active has come to its end. That it cannot be written down
/// undoes no work.
fn learn_at_end(project: &mut Project, before: Option<&RequestId>) -> Result<(), EngineError> {
    let is_over =
        |it: &RequestState| it.status == SessionStatus::Completed && before == Some(&it.id);
    if project.session()?.request().is_some_and(is_over)
        && let Err(error) = knowledge::learn(project)
    {
        project.notice(format!("nothing was learned from this request: {error}"));
    }
    Ok(())
}

/// The folder of this project's session.
pub fn folder(project: &Project) -> Result<PathBuf, EngineError> {
    windows::session_folder(project).ok_or_else(|| {
        let message = "the files of sessions are in the repository's work tree, and it has none";
        Problem::new(Code::RepositoryNeeded, message).into()
    })
}

/// Where this project is.
pub fn facts(project: &Project) -> Result<ProjectFacts, EngineError> {
    folder(project)?;
    let root = project.setup.shared_root();
    let name = root.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let path = root
        .to_str()
        .ok_or_else(|| Problem::new(Code::NotText, "the path of the project is not valid UTF-8"))?;
    let name = if name.is_empty() { "project".to_owned() } else { name };
    Ok(ProjectFacts { path: path.to_owned(), name, hash: hash::project_hash(&root) })
}

/// The instructions for agents that the project has.
fn manifest(project: &Project) -> Manifest {
    let Some(root) = project.setup.main_root() else { return Manifest::default() };
    let of = |name: &str| {
        let path = root.join(name);
        path.is_file().then(|| path.to_string_lossy().into_owned())
    };
    Manifest { claude_md: of("CLAUDE.md"), agents_md: of("AGENTS.md") }
}

/// Begins a session. Files that are there are taken over, unless a new one is wanted.
pub fn start(project: &mut Project, found: FoundFiles) -> Result<SessionBegun, EngineError> {
    project.refuse_stale()?;
    let folder = folder(project)?;
    let was_active = project.session()?.is_active();
    let is_known = project.session()?.facts().is_some();
    let mut taken_over = Vec::new();
    if is_known {
        is_here(project)?;
    } else {
        taken_over = found::take_over(project, found)?;
    }
    if !project.session()?.is_active() || taken_over.is_empty() {
        let (project_facts, manifest) = (facts(project)?, manifest(project));
        give(project, Command::Start { project: project_facts, manifest })?;
    }
    init::hide_windows(project);
    let stopped = found::stop_others(project)?;
    Ok(SessionBegun { folder, taken_over, was_active, stopped })
}

/// A session that was stopped goes on. What lacks a contract goes back.
pub fn resume(project: &mut Project) -> Result<SessionBegun, EngineError> {
    project.refuse_stale()?;
    let folder = folder(project)?;
    let was_active = project.session()?.is_active();
    let mut taken_over = Vec::new();
    match project.session()?.facts().is_some() {
        true => is_here(project)?,
        false => taken_over = found::take_over(project, FoundFiles::TakeOver)?,
    }
    let missing = missing(project)?;
    give(project, Command::Resume { missing })?;
    let stopped = found::stop_others(project)?;
    Ok(SessionBegun { folder, taken_over, was_active, stopped })
}

/// Begins a request.
pub fn request(
    project: &mut Project,
    text: &str,
    stop_current: bool,
) -> Result<RequestId, EngineError> {
    project.refuse_stale()?;
    is_here(project)?;
    if stop_current {
        apart::say_unmerged(project)?;
    }
    let above = highest_request(&contracts::folder(project)?);
    let command = Command::Request { text: text.to_owned(), stop_current, above };
    let session = give(project, command)?;
    let request = session.request().expect("a request was made");
    Ok(request.id.clone())
}

/// The highest number of a request that has contracts: also those of sessions that are not in the journal.
fn highest_request(contracts: &Path) -> u32 {
    let names = folders(contracts);
    let number = |name: &String| name.parse::<RequestId>().ok()?.as_str()[1..].parse().ok();
    let is_counted = |number: &u32| *number < COUNTED_MAX;
    names.iter().filter_map(number).filter(is_counted).max().unwrap_or(0)
}

/// Ends the session before everything is done.
pub fn stop(project: &mut Project) -> Result<(), EngineError> {
    project.refuse_stale()?;
    apart::say_unmerged(project)?;
    give(project, Command::Stop).map(drop)
}

/// Ends a session whose request is complete.
pub fn complete(project: &mut Project) -> Result<(), EngineError> {
    project.refuse_stale()?;
    is_here(project)?;
    give(project, Command::Complete).map(drop)
}

/// The project is where its session knows it to be.
pub(crate) fn is_here(project: &mut Project) -> Result<(), EngineError> {
    let facts = facts(project)?;
    Ok(project.session()?.is_here(&facts)?)
}

/// The same, also where no journal knows of a session: one of a path that is gone belongs here, and what is written
/// before it is brought along would stand in its way.
pub(crate) fn is_brought_along(project: &mut Project) -> Result<(), EngineError> {
    is_here(project)?;
    if project.session()?.facts().is_some() || folder(project)?.exists() {
        return Ok(());
    }
    let is_gone = |it: &SessionFile| !Path::new(&it.project.path).exists();
    let left = list(project)?.into_iter().filter_map(|it| it.file).find(is_gone);
    match left {
        Some(file) => {
            let message = format!("the session belongs to {}", file.project.path);
            Err(Problem::new(Code::SessionMoved, message).next(NextStep::RelocateSession).into())
        }
        None => Ok(()),
    }
}

/// Where a contract of a request, a task or a subtask belongs.
fn place_of(
    request: &RequestState,
    task: Option<&waypost_model::document::SessionTaskId>,
    subtask: Option<&SubtaskId>,
) -> ContractPlace {
    let task = task.cloned().or_else(|| subtask.and_then(SubtaskId::task));
    ContractPlace { request: request.id.clone(), task, subtask: subtask.cloned() }
}

/// The fingerprint of a contract, if it is there.
fn fingerprint(
    project: &Project,
    kind: Kind,
    place: &ContractPlace,
) -> Result<Option<String>, EngineError> {
    Ok(contracts::text(project, kind, place)?.map(|bytes| hash::sha256_hex(&bytes)))
}

/// A contract, where it is there and valid; the faults of one that is not valid.
fn look<D: Document>(
    project: &Project,
    place: &ContractPlace,
) -> Result<Result<D, Vec<String>>, EngineError> {
    match contracts::read::<D>(project, place) {
        Ok(Some(contract)) => Ok(Ok(contract)),
        Ok(None) => Ok(Err(Vec::new())),
        Err(EngineError::Invalid(invalid)) => {
            let name = invalid.path.file_name().map(|it| it.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            let fault = |it: &waypost_model::diagnostic::Diagnostic| {
                let place = it.place.map(|at| format!("{}:{}: ", at.line, at.column));
                format!("{name}: {}{}", place.unwrap_or_default(), it.message)
            };
            Ok(Err(invalid.diagnostics.iter().map(fault).collect()))
        }
        Err(error) => Err(error),
    }
}

/// The contracts that something in progress cannot do without and that are not there.
pub(crate) fn missing(project: &mut Project) -> Result<Vec<MissingContract>, EngineError> {
    let Some(request) = project.session()?.request().cloned() else { return Ok(Vec::new()) };
    if request.phase != GlobalPhase::TaskLoop {
        return Ok(Vec::new());
    }
    let is_gone = |kind, place: &ContractPlace| -> Result<bool, EngineError> {
        Ok(contracts::text(project, kind, place)?.is_none())
    };
    let whole = place_of(&request, None, None);
    let mut is_planless = is_gone(Kind::Explored, &whole)? || is_gone(Kind::TaskBreakdown, &whole)?;
    for (id, _) in request.tasks.iter().filter(|(_, task)| task.status != Status::Completed) {
        is_planless |= is_gone(Kind::DesignBrief, &place_of(&request, Some(id), None))?;
    }
    if is_planless {
        return Ok(vec![MissingContract::Plan]);
    }
    let mut found = Vec::new();
    if let Some((task, subtask, state)) = request.at_work() {
        if is_gone(Kind::DesignContract, &place_of(&request, Some(task), None))? {
            found.push(MissingContract::Design { task: task.clone() });
        }
        let place = place_of(&request, Some(task), Some(subtask));
        if state.phase != SubtaskPhase::TestFirst && is_gone(Kind::TestContract, &place)? {
            found.push(MissingContract::Tests { subtask: subtask.clone() });
        }
    }
    Ok(found)
}

/// Keeps the tree as it is, for the subtask that begins with it; none outside git.
fn keep_base(
    project: &Project,
    place: &Place,
    (request, subtask): (&RequestId, &SubtaskId),
) -> Result<Option<String>, EngineError> {
    let name = format!("{request}/{subtask}");
    let why = format!("{subtask} begins");
    let order = KeptContent { name: &name, why: &why, at: project.clock().now() };
    Ok(keep_content(place, &order)?)
}

/// Takes up a design contract that is there, valid, and not the one that was sent back. Says whether one
/// was.
fn take_up_design(project: &mut Project) -> Result<bool, EngineError> {
    let Some(request) = project.session()?.active_request().cloned() else { return Ok(false) };
    let Some((task, state)) = request.in_design() else { return Ok(false) };
    let place = place_of(&request, Some(task), None);
    let Some(contract) = fingerprint(project, Kind::DesignContract, &place)? else {
        return Ok(false);
    };
    let found = look::<waypost_model::document::contract::DesignContract>(project, &place)?;
    // A task that begins gets its work tree first.
    let is_early = request.tree_step().is_some();
    if is_early || found.is_err() || state.design.as_ref() == Some(&contract) {
        return Ok(false);
    }
    let mut open = state.subtasks.iter().filter(|(_, it)| it.status != Status::Completed);
    let base = match open.next() {
        Some((id, first)) if first.status == Status::Pending => {
            let place = apart::place_of(project, &request, task)?;
            keep_base(project, &place, (&request.id, id))?
        }
        _ => None,
    };
    contracts::keep(project, Kind::DesignContract, &place_of(&request, Some(task), None))?;
    give(project, Command::Design { task: task.clone(), contract, base })?;
    Ok(true)
}

/// A path as the user knows it.
fn shown(project: &Project, path: &Path) -> String {
    path.strip_prefix(project.root()).unwrap_or(path).display().to_string()
}

/// A contract that is needed is not there.
fn lacks(project: &Project, path: &Path) -> EngineError {
    let message = format!("there is no {}", shown(project, path));
    Problem::new(Code::SessionContractMissing, message).next(NextStep::NextOfSession).into()
}

/// The folder of all sessions in this project.
fn sessions_home(project: &Project) -> Result<PathBuf, EngineError> {
    folder(project)?;
    let root = project.setup.shared_root();
    Ok(root.join(layout::session::SESSIONS))
}
