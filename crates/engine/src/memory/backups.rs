//! Backups of the memory's files, made before what cannot be undone and on request; restored by a
//! person.

use super::{documents::MemoryDocument, files, folder, resolved, window_paths};
use crate::{
    error::{EngineError, Problem},
    ledger::MachineCommand,
    project::Project,
};
use std::path::{Path, PathBuf};
use waypost_model::{
    code::Code,
    document::{
        Document,
        memory::{AgentMemory, SharedContext, TaskHistory, TaskState},
    },
    layout::{
        file_name,
        memory::{AGENTS, BACKUPS, SHARED_CONTEXT},
        window,
    },
    machine::Rejected,
    memory::Command,
    next::NextStep,
    time::Time,
};
use waypost_store::{documents, file, parse};

/// The largest backup that is read.
const BACKUP_SIZE_MAX: u64 = 64 << 20;

/// An earlier content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryBackup {
    /// As in `task-state.20261117T120000Z.json`, with `agents/` before it for an agent's.
    pub name: String,
    /// As in `20261117T120000Z`.
    pub time: String,
    pub path: PathBuf,
    /// The file that it is a backup of, below the memory's folder.
    pub of: String,
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredMemory {
    pub restored: Vec<MemoryBackup>,
    /// What stood there before, as backups.
    pub kept: Vec<PathBuf>,
}

/// Keeps a copy of every file that there is; says where.
pub fn back_up(project: &mut Project) -> Result<Vec<PathBuf>, EngineError> {
    project.refuse_stale()?;
    let paths = files(project)?;
    keep(project, &paths)
}

/// Keeps a copy of the two files that show the machine, before it changes in a way that loses something.
pub fn keep_windows(project: &mut Project) -> Result<Vec<PathBuf>, EngineError> {
    let paths = window_paths(project)?;
    keep(project, &paths)
}

fn keep(project: &Project, paths: &[PathBuf]) -> Result<Vec<PathBuf>, EngineError> {
    keep_at(project, paths, project.clock().now())
}

fn keep_at(project: &Project, paths: &[PathBuf], now: Time) -> Result<Vec<PathBuf>, EngineError> {
    let folder = folder(project)?;
    let mut kept = Vec::new();
    for path in paths {
        let backups = backups_of(&folder, path);
        let on_disk = documents::Document { place: &project.setup.place, path, backups: &backups };
        kept.extend(on_disk.keep_backup(now)?);
    }
    Ok(kept)
}

/// The folder of the backups of a file.
fn backups_of(folder: &Path, path: &Path) -> PathBuf {
    let is_agent = path.parent().is_some_and(|parent| parent.ends_with(AGENTS));
    if is_agent { folder.join(BACKUPS).join(AGENTS) } else { folder.join(BACKUPS) }
}

/// All backups, newest first.
pub fn backups(project: &Project) -> Result<Vec<MemoryBackup>, EngineError> {
    let folder = folder(project)?.join(BACKUPS);
    let mut found = Vec::new();
    for (prefix, folder) in [("", folder.clone()), ("agents/", folder.join(AGENTS))] {
        for name in file::list(&folder)? {
            let Some(stem) = name.strip_suffix(".json") else { continue };
            let Some((of, time)) = stem.rsplit_once('.') else { continue };
            found.push(MemoryBackup {
                name: format!("{prefix}{name}"),
                time: time.to_owned(),
                path: folder.join(&name),
                of: format!("{prefix}{of}.json"),
            });
        }
    }
    found.sort_by(|one, other| {
        (moment(&other.time), &one.name).cmp(&(moment(&one.time), &other.name))
    });
    Ok(found)
}

/// The second of a backup, and which one of that second it is.
fn moment(time: &str) -> (&str, u32) {
    let (second, number) = time.split_once('-').unwrap_or((time, "1"));
    (second, number.parse().unwrap_or(1))
}

/// Puts a backup in place: one file by its name, or all of one time, the newest without a name. By a
/// person only.
pub fn restore(project: &mut Project, name: Option<&str>) -> Result<RestoredMemory, EngineError> {
    if !project.actor().is_person() {
        return Err(Rejected::reserved("restoring the memory from a backup").into());
    }
    project.refuse_stale()?;
    let chosen = choose(project, name)?;
    let commands = commands(project, &chosen)?;
    let paths = files(project)?;
    let folder = folder(project)?;
    let stands = |path: &&PathBuf| chosen.iter().any(|backup| folder.join(&backup.of) == **path);
    let present: Vec<PathBuf> = paths.iter().filter(stands).cloned().collect();
    // One time for all that is kept, so that all of it comes back together.
    let now = project.clock().now();
    let kept = keep_at(project, &present, now)?;
    for backup in &chosen {
        restore_document(project, &folder, (backup, now))?;
    }
    if !commands.is_empty() {
        project.command(&commands)?;
    }
    Ok(RestoredMemory { restored: chosen, kept })
}

fn choose(project: &Project, name: Option<&str>) -> Result<Vec<MemoryBackup>, EngineError> {
    let all = backups(project)?;
    let newest = all.first().map(|backup| moment(&backup.time).0.to_owned());
    let time = name.map(str::to_owned).or(newest).unwrap_or_default();
    let is_meant = |backup: &&MemoryBackup| {
        let is_then = backup.time == time || moment(&backup.time).0 == time;
        is_then || Some(backup.name.as_str()) == name
    };
    // Of several of one file in one second the last: those before it were kept by what came between.
    let mut chosen: Vec<MemoryBackup> = Vec::new();
    for backup in all.iter().filter(is_meant) {
        if !chosen.iter().any(|it| it.of == backup.of) {
            chosen.push(backup.clone());
        }
    }
    if chosen.is_empty() {
        let message = match name {
            Some(name) => format!("there is no backup {name}"),
            None => "there is no backup yet".to_owned(),
        };
        let problem = Problem::new(Code::BackupUnknown, message);
        return Err(problem.next(NextStep::ListMemoryBackups).into());
    }
    Ok(chosen)
}

/// What of it goes to the machine; everything is read before anything is changed.
fn commands(
    project: &Project,
    chosen: &[MemoryBackup],
) -> Result<Vec<MachineCommand>, EngineError> {
    let (mut state, mut history) = (None, None);
    for backup in chosen {
        match backup.of.as_str() {
            name if name == file_name(window::TASK_STATE) => {
                state = Some(read::<TaskState>(backup)?);
            }
            name if name == file_name(window::TASK_HISTORY) => {
                history = Some(read::<TaskHistory>(backup)?);
            }
            SHARED_CONTEXT => drop(read::<SharedContext>(backup)?),
            _ => drop(read::<AgentMemory>(backup)?),
        }
    }
    if state.is_none() && history.is_none() {
        return Ok(Vec::new());
    }
    let (has_state, has_history) = (state.is_some(), history.is_some());
    let (state, history) =
        resolved(project, state.unwrap_or_default(), history.unwrap_or_default());
    let command = Command::Restore {
        state: has_state.then(|| Box::new(state)),
        history: has_history.then(|| Box::new(history)),
    };
    Ok(vec![MachineCommand::memory(command)])
}

fn bytes_of(backup: &MemoryBackup) -> Result<Vec<u8>, EngineError> {
    let bytes = file::read_bounded(&backup.path, BACKUP_SIZE_MAX)?;
    Ok(bytes.ok_or_else(|| Problem::no_file(&backup.path))?)
}

fn read<D: Document>(backup: &MemoryBackup) -> Result<D, EngineError> {
    let bytes = bytes_of(backup)?;
    let parsed = parse::parse::<D>(&bytes);
    Ok(parsed.map_err(|found| EngineError::invalid(&backup.path, &bytes, found))?.value)
}

fn restore_document(
    project: &mut Project,
    folder: &Path,
    (backup, now): (&MemoryBackup, Time),
) -> Result<(), EngineError> {
    let document = match backup.of.as_str() {
        name if [window::TASK_STATE, window::TASK_HISTORY].map(file_name).contains(&name) => {
            return Ok(());
        }
        SHARED_CONTEXT => MemoryDocument::Context,
        agent => {
            let name = agent.trim_start_matches("agents/").trim_end_matches(".json");
            MemoryDocument::of_agent(name)?
        }
    };
    let bytes = bytes_of(backup)?;
    let path = folder.join(&backup.of);
    let backups = backups_of(folder, &path);
    let on_disk =
        documents::Document { place: &project.setup.place, path: &path, backups: &backups };
    let saved = on_disk.update(now, |_| Ok::<_, EngineError>(bytes.clone()))?;
    let Some(saved) = saved else { return Ok(()) };
    let note = Command::NoteDocument { file: document.file(), hash: saved.hash };
    project.command(&[MachineCommand::memory(note)])
}
