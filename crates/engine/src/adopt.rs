//! Making a state file that was found without a journal the start of one.

use crate::{
    error::{EngineError, Problem},
    given, init,
    ledger::MachineCommand,
    memory, pin,
    project::Project,
    seal, sessions, summary, tasks, windows,
};
use std::path::{Path, PathBuf};
use waypost_model::{
    actor::Actor,
    code::Code,
    document::{Document, Kind},
    evidence::Evidence,
    machine::{Asked, Rejected},
    next::NextStep,
    run::{self, Run, RunState, RunSummary, TaskStatus},
    workflow::{self, CheckpointContract, Feature, WorkflowState},
};
use waypost_store::{file, journal::Mode, parse};

/// The largest state file that is adopted.
const FILE_SIZE_MAX: u64 = 64 << 20;

/// Makes a journal that came with the files one that is believed: a person vouches for it.
pub fn adopt_journal(project: &mut Project) -> Result<(), EngineError> {
    if !project.actor().is_person() {
        return Err(Rejected::reserved("adopting a journal").into());
    }
    pin::confirm(project, "adopting a journal")?;
    let journal = project.journals.open(Mode::ReadOnly)?;
    Ok(seal::believe(&project.setup, &journal)?)
}

/// Takes over `path` as the beginning of the journal. By a person only.
///
/// Works without a journal, and also where one is known to have vanished: this is the way back.
pub fn adopt(project: &mut Project, path: &Path) -> Result<Kind, EngineError> {
    if !project.actor().is_person() {
        return Err(Rejected::reserved("adopting a state file").into());
    }
    let bytes = file::read_bounded(path, FILE_SIZE_MAX)?.ok_or_else(|| Problem::no_file(path))?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let kind = Kind::of_path(&absolute.to_string_lossy());
    let command = match kind {
        Some(Kind::WorkflowState) => {
            let command = adopt_workflow(project, path, &bytes)?;
            MachineCommand::workflow(project.workflow_stream(), command)
        }
        Some(Kind::RunState) => MachineCommand::run(adopt_run(project, path, &bytes)?),
        // Both files of the memory are one beginning, and nothing in them opens anything.
        Some(kind @ (Kind::TaskState | Kind::TaskHistory)) => {
            if !project.has_journal() {
                init::replace_vanished(project)?;
            }
            memory::begin(project)?;
            return Ok(kind);
        }
        // So are those of a session.
        Some(kind @ (Kind::Session | Kind::SessionState)) => {
            if !project.has_journal() {
                init::replace_vanished(project)?;
            }
            sessions::start(project, sessions::FoundFiles::TakeOver)?;
            return Ok(kind);
        }
        _ => {
            let message = format!("{} is no state file that can be adopted", path.display());
            let hint = "adopt .develop-workflow/state.json or .claude/orchestrate-state.json";
            return Err(Problem::new(Code::NotAdoptable, message).hint(hint).into());
        }
    };
    if !project.has_journal() {
        init::replace_vanished(project)?;
    }
    project.commit(&[command])?;
    windows::note_adopted_file(project, path, &bytes)?;
    windows::render(project)?;
    Ok(kind.expect("a state file has a kind"))
}

fn adopt_workflow(
    project: &mut Project,
    path: &Path,
    bytes: &[u8],
) -> Result<workflow::Command, EngineError> {
    let state: WorkflowState = read_state(project, path, bytes)?;
    let (limit, clock) = (project.configuration().values.workflow.max_iterations, project.clock());
    let name = project.actor().to_string();
    let feature = Box::new(state.to_feature(limit, &name, |stamp| clock.resolve(stamp)));
    Ok(workflow::Command::Adopt { feature })
}

fn adopt_run(
    project: &mut Project,
    path: &Path,
    bytes: &[u8],
) -> Result<run::Command, EngineError> {
    let state: RunState = read_state(project, path, bytes)?;
    let plan = match tasks::read(project, None) {
        Ok(read) => read.plan,
        Err(error) if error.code() == Code::TasksNotFound => {
            project.notice("there is no TASKS.md; the plan is taken from the state file alone");
            let faults = |faults: Vec<run::PlanError>| {
                let first = faults.first().map(ToString::to_string).unwrap_or_default();
                let message = format!("{} holds no sound plan: {first}", path.display());
                EngineError::from(Problem::new(Code::NotAdoptable, message))
            };
            state.to_plan().map_err(faults)?
        }
        Err(error) => return Err(error),
    };
    let settled = state.settled();
    let with = |wanted: TaskStatus| {
        let tasks = plan.tasks.iter().map(|task| &task.id);
        tasks.filter(|id| settled.get(*id) == Some(&wanted)).cloned().collect()
    };
    let (completed, failed) = (with(TaskStatus::Completed), with(TaskStatus::Failed));
    let settings = state.settings(&project.configuration().values.run.settings());
    let clock = project.clock();
    let before = state.before(|stamp| clock.resolve(*stamp));
    Ok(run::Command::Adopt { plan, settings, completed, failed, before })
}

/// The run's state file, if there is one and no run behind it.
pub fn loose_run_file(project: &mut Project) -> Result<Option<PathBuf>, EngineError> {
    if project.run()?.active().is_some() {
        return Ok(None);
    }
    Ok(windows::run_path(project).filter(|path| path.is_file()))
}

/// Refuses to begin a run over a state file that was not adopted: it would be overwritten,
/// and what it has as completed done again.
pub(crate) fn refuse_loose_run(project: &mut Project) -> Result<(), EngineError> {
    let Some(path) = loose_run_file(project)? else { return Ok(()) };
    let bytes = file::read_bounded(&path, FILE_SIZE_MAX)?.unwrap_or_default();
    read_state::<RunState>(project, &path, &bytes)?;
    let shown = path.strip_prefix(project.root()).unwrap_or(&path).display().to_string();
    Err(Rejected::rule(Code::StateNotAdopted, format!(
        "{shown} holds the state of a run that is not in the journal; it is adopted or moved away first"
    ))
    .next(NextStep::AdoptFile { file: shown })
    .into())
}

/// What a workflow's state file says where there is no journal behind it.
///
/// For showing only: until a person adopts it, nothing follows from it.
pub fn loose_workflow(project: &mut Project) -> Result<Option<Feature>, EngineError> {
    let path = windows::workflow_path(project);
    if project.workflow()?.feature.is_some() {
        return Ok(None);
    }
    Ok(match read_loose(project, &path, adopt_workflow) {
        Some(workflow::Command::Adopt { mut feature }) => {
            for pass in &mut feature.passes {
                pass.evidence = vec![Evidence::Claimed];
            }
            Some(*feature)
        }
        _ => None,
    })
}

/// What a run's state file says where there is no journal behind it; for showing only.
pub fn loose_run(project: &mut Project) -> Result<Option<RunSummary>, EngineError> {
    let Some(path) = windows::run_path(project) else { return Ok(None) };
    if summary::of_run(project)?.is_some() {
        return Ok(None);
    }
    let Some(command) = read_loose(project, &path, adopt_run) else {
        return Ok(None);
    };
    // Shown as if a person had adopted it.
    let by = Actor::User("nobody".into());
    let asked = Asked { by: &by, now: project.clock().now() };
    let run = Run::imagine([&command], &asked)?;
    Ok(run.active().map(|active| active.summary()))
}

/// A file that is not there or cannot be read shows nothing; `validate` says why.
fn read_loose<C>(
    project: &mut Project,
    path: &Path,
    read: fn(&mut Project, &Path, &[u8]) -> Result<C, EngineError>,
) -> Option<C> {
    let bytes = file::read_bounded(path, FILE_SIZE_MAX).ok().flatten()?;
    read(project, path, &bytes).ok()
}

/// Reads a checkpoint contract.
pub fn read_contract(
    project: &mut Project,
    path: &Path,
) -> Result<CheckpointContract, EngineError> {
    let bytes = given::read(path, FILE_SIZE_MAX)?.ok_or_else(|| Problem::no_file(path))?;
    read_state(project, path, &bytes)
}

fn read_state<D: Document>(
    project: &mut Project,
    path: &Path,
    bytes: &[u8],
) -> Result<D, EngineError> {
    let parsed = parse::parse::<D>(bytes)
        .map_err(|diagnostics| EngineError::invalid(path, bytes, diagnostics))?;
    for warning in parsed.warnings {
        project.notice(format!("{}: {}", path.display(), warning.message));
    }
    Ok(parsed.value)
}
