//! The memory as commands see it: begun, its documents, its backups, its notes, its caches.
//!
//! What the machine decides goes through `give`; here is what needs files, a clock or git.

mod backups;
mod cache;
mod documents;
mod examine;
mod notes;

pub use backups::{MemoryBackup, RestoredMemory, back_up, backups, keep_windows, restore};
pub use cache::{PrunedCache, prune_cache};
pub(crate) use documents::as_json;
pub use documents::{MemoryDocument, new_session, read, renew_session, set, unset};
pub use examine::{MemoryRepair, examine, is_in_use, mend};
pub use notes::{Freshness, NoteAges, note};
pub(crate) use notes::{checked_out, noted};

use crate::{
    error::{EngineError, Problem},
    init,
    ledger::MachineCommand,
    project::Project,
    validate::{Validity, validate_file},
    windows,
};
use std::path::{Path, PathBuf};
use waypost_model::{
    code::Code,
    document::{
        Document,
        memory::{MemoryTask, TaskHistory, TaskState},
    },
    layout::{
        self,
        memory::{AGENTS, BACKUPS, SHARED_CONTEXT},
    },
    memory::{Command, Memory},
    time::Stamp,
};
use waypost_store::{file, parse};

/// The largest file of the memory.
const FILE_SIZE_MAX: u64 = 64 << 20;

/// The largest document that the context and the search read.
pub(crate) const DOCUMENT_BYTES_MAX: u64 = 4 << 20;

/// What `init` found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBegun {
    pub folder: PathBuf,
    /// Files that were there and are the beginning now.
    pub taken_over: Vec<PathBuf>,
    /// Whether it was begun before.
    pub was_open: bool,
}

/// Gives the memory a command, and shows what came of it.
pub fn give(project: &mut Project, command: Command) -> Result<&Memory, EngineError> {
    begin_with_files(project)?;
    project.command(&[MachineCommand::memory(command)])?;
    project.memory()
}

/// The same; says whether the command has changed anything: one that is repeated does not.
pub fn give_once(project: &mut Project, command: Command) -> Result<bool, EngineError> {
    begin_with_files(project)?;
    let before = project.journal_end()?;
    project.command(&[MachineCommand::memory(command)])?;
    Ok(project.journal_end()? != before)
}

/// Files that an agent has kept by itself, before there was a memory here, are the beginning of it: what is
/// shown from now on must not take their place. Those that cannot be are left, and nothing is done.
fn begin_with_files(project: &mut Project) -> Result<(), EngineError> {
    if project.memory()?.is_open() {
        return Ok(());
    }
    let Ok(paths) = window_paths(project) else { return Ok(()) };
    if paths.iter().all(|path| path.symlink_metadata().is_err()) {
        return Ok(());
    }
    project.refuse_stale()?;
    for path in take_over(project)? {
        project.notice(format!("took over {}", path.display()));
    }
    Ok(())
}

/// The folder of the memory's files.
pub fn folder(project: &Project) -> Result<PathBuf, EngineError> {
    windows::memory_folder(project).ok_or_else(no_work_tree)
}

fn no_work_tree() -> EngineError {
    let message = "the memory's files are in the repository's work tree, and it has none";
    Problem::new(Code::RepositoryNeeded, message).into()
}

/// Begins the memory: files that are there are taken over, a shared context is made. May be repeated.
pub fn begin(project: &mut Project) -> Result<MemoryBegun, EngineError> {
    project.refuse_stale()?;
    let folder = folder(project)?;
    let was_open = project.memory()?.is_open();
    let mut taken_over = Vec::new();
    if !was_open {
        taken_over = take_over(project)?;
    }
    documents::ensure_context(project)?;
    Ok(MemoryBegun { folder, taken_over, was_open })
}

fn take_over(project: &mut Project) -> Result<Vec<PathBuf>, EngineError> {
    let paths = window_paths(project)?;
    let mut found = Vec::new();
    for path in &paths {
        if let Some(bytes) = file::read_bounded(path, FILE_SIZE_MAX)? {
            found.push((path.clone(), bytes));
        }
    }
    if found.is_empty() {
        project.command(&[MachineCommand::memory(Command::Open)])?;
        return Ok(Vec::new());
    }
    let bytes_of = |wanted: &Path| {
        let found = found.iter().find(|(path, _)| path == wanted);
        found.map(|(path, bytes)| (path.as_path(), bytes.as_slice()))
    };
    let state: TaskState = read_found(project, bytes_of(&paths[0]))?;
    let history: TaskHistory = read_found(project, bytes_of(&paths[1]))?;
    let (state, history) = resolved(project, state, history);
    let command = Command::TakeOver { state: Box::new(state), history: Box::new(history) };
    project.commit(&[MachineCommand::memory(command)])?;
    for (path, bytes) in &found {
        windows::note_adopted_file(project, path, bytes)?;
    }
    windows::render(project)?;
    init::hide_windows(project);
    Ok(found.into_iter().map(|(path, _)| path).collect())
}

fn read_found<D: Document + Default>(
    project: &mut Project,
    found: Option<(&Path, &[u8])>,
) -> Result<D, EngineError> {
    let Some((path, bytes)) = found else { return Ok(D::default()) };
    let parsed = parse::parse::<D>(bytes)
        .map_err(|diagnostics| EngineError::invalid(path, bytes, diagnostics))?;
    for warning in parsed.warnings {
        project.notice(format!("{}: {}", path.display(), warning.message));
    }
    Ok(parsed.value)
}

/// Times without an offset are those of this place.
pub(crate) fn resolved(
    project: &Project,
    mut state: TaskState,
    mut history: TaskHistory,
) -> (TaskState, TaskHistory) {
    let clock = project.clock();
    let resolve = |stamp: &mut Option<Stamp>| {
        *stamp = stamp.map(|stamp| clock.resolve(stamp).into());
    };
    let on_task = |task: &mut MemoryTask| {
        resolve(&mut task.started_at);
        resolve(&mut task.updated_at);
        for step in &mut task.plan.steps {
            resolve(&mut step.started_at);
            resolve(&mut step.completed_at);
        }
    };
    state.current_task.iter_mut().chain(&mut state.pending_tasks).for_each(on_task);
    resolve(&mut state.last_updated);
    for entry in &mut history.tasks {
        resolve(&mut entry.started_at);
        resolve(&mut entry.completed_at);
    }
    (state, history)
}

/// The two files that show the machine: of its tasks, and of its history.
fn window_paths(project: &Project) -> Result<[PathBuf; 2], EngineError> {
    let root = project.setup.main_root().ok_or_else(no_work_tree)?;
    Ok([layout::window::TASK_STATE, layout::window::TASK_HISTORY].map(|path| root.join(path)))
}

/// Every folder in which files of the memory are put in place.
pub(crate) fn folders(project: &Project) -> Vec<PathBuf> {
    let Some(folder) = windows::memory_folder(project) else { return Vec::new() };
    let backups = folder.join(BACKUPS);
    vec![folder.join(AGENTS), backups.join(AGENTS), backups, folder]
}

/// Every file of the memory that is there: both windows, the shared context, agents by name.
pub fn files(project: &Project) -> Result<Vec<PathBuf>, EngineError> {
    let folder = folder(project)?;
    let [state, history] = window_paths(project)?;
    let mut files = vec![state, history, folder.join(SHARED_CONTEXT)];
    let agents = folder.join(AGENTS);
    let names = file::list(&agents)?;
    let documents = names.iter().filter(|name| name.ends_with(".json") && !name.starts_with('.'));
    files.extend(documents.map(|name| agents.join(name)));
    files.retain(|path| path.symlink_metadata().is_ok());
    Ok(files)
}

/// Validates every file of the memory.
pub fn validate(project: &Project) -> Result<Vec<Validity>, EngineError> {
    files(project)?.iter().map(|path| validate_file(path, None)).collect()
}
