//! Sessions on disk: found by scanning, taken over where no journal knows of them, stopped where there
//! are several.
//!
//! A file that cannot be read is never deleted: the one before it is taken, or a person begins a new session and
//! it is kept beside its place.

use super::{facts, folder, sessions_home, shown};
use crate::{
    error::{EngineError, Problem},
    ledger::MachineCommand,
    project::Project,
    windows::{self, backup_of},
};
use std::{
    fs,
    path::{Path, PathBuf},
};
use waypost_model::{
    actor::Actor,
    code::Code,
    document::{
        Document, ProjectHash,
        session::{SessionFile, SessionState, SessionStatus, Status},
    },
    layout,
    next::NextStep,
    session::Command,
    time::Stamp,
};
use waypost_store::{StoreError, file, parse};

/// The largest file of a session.
const FILE_SIZE_MAX: u64 = 64 << 20;

/// What becomes of files of a session that no journal knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundFiles {
    /// They are the beginning.
    TakeOver,
    /// They are kept beside their places, and a new session begins.
    BeginNew,
}

/// A session on disk.
#[derive(Clone, Debug)]
pub struct FoundSession {
    pub hash: ProjectHash,
    pub folder: PathBuf,
    /// Whether it is the one of this project.
    pub is_here: bool,
    /// None: the file is missing or cannot be read.
    pub file: Option<SessionFile>,
    /// What is wrong with it.
    pub fault: Option<String>,
}

/// Every session on disk, this project's first, then the newest first.
pub fn list(project: &Project) -> Result<Vec<FoundSession>, EngineError> {
    let home = sessions_home(project)?;
    let here = folder(project)?;
    let mut found = Vec::new();
    for name in folders(&home) {
        let Ok(hash) = name.parse::<ProjectHash>() else { continue };
        let folder = home.join(&name);
        let path = folder.join(layout::session::PROJECT_FILE);
        let (file, fault) = match read::<SessionFile>(&path) {
            Ok(Some((file, _))) => (Some(file), None),
            Ok(None) => (None, Some("it has no session.json".to_owned())),
            Err(error) => (None, Some(error.to_string())),
        };
        found.push(FoundSession { hash, is_here: folder == here, folder, file, fault });
    }
    let updated = |it: &FoundSession| it.file.as_ref().map(|file| moment(project, file.updated_at));
    found.sort_by_key(|it| (!it.is_here, std::cmp::Reverse(updated(it))));
    Ok(found)
}

/// The names of the folders in a folder; none where it cannot be read.
pub(crate) fn folders(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|form| form.is_dir()));
    folders.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn moment(project: &Project, stamp: Stamp) -> waypost_model::time::Time {
    project.clock().resolve(stamp)
}

/// A file that is there and valid, with its bytes.
fn read<D: Document>(path: &Path) -> Result<Option<(D, Vec<u8>)>, EngineError> {
    let Some(bytes) = file::read_bounded(path, FILE_SIZE_MAX)? else { return Ok(None) };
    match parse::parse::<D>(&bytes) {
        Ok(parsed) => Ok(Some((parsed.value, bytes))),
        Err(findings) => Err(EngineError::invalid(path, &bytes, findings)),
    }
}

/// A file that is there, else the one before it; says which was read.
fn read_or_backup<D: Document>(
    project: &mut Project,
    path: &Path,
) -> Result<Option<(D, Vec<u8>)>, EngineError> {
    let error = match read::<D>(path) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let backup = backup_of(path);
    let Ok(Some((value, _))) = read::<D>(&backup) else {
        return Err(offer_new(error));
    };
    let bytes = file::read_bounded(path, FILE_SIZE_MAX)?.unwrap_or_default();
    let kept = file::keep_damaged(path, &bytes)?;
    let text = format!(
        "{} could not be read: {} is taken, the bad file is {}",
        shown(project, path),
        shown(project, &backup),
        shown(project, &kept)
    );
    project.notice(text);
    Ok(Some((value, bytes)))
}

/// In the place of what cannot be read a new session can be begun.
fn offer_new(error: EngineError) -> EngineError {
    match error {
        EngineError::Invalid(mut invalid) => {
            let offer = "begin a new session instead: this file is then kept beside its place";
            for finding in invalid.diagnostics.iter_mut().filter(|it| it.hint.is_none()).take(1) {
                finding.hint = Some(offer.to_owned());
            }
            EngineError::Invalid(invalid)
        }
        error => error,
    }
}

/// Makes files that are there the beginning; says which. None are there: nothing.
pub(super) fn take_over(
    project: &mut Project,
    found: FoundFiles,
) -> Result<Vec<PathBuf>, EngineError> {
    let folder = folder(project)?;
    let paths =
        [folder.join(layout::session::PROJECT_FILE), folder.join(layout::session::STATE_FILE)];
    if found == FoundFiles::BeginNew {
        paths.iter().try_for_each(|path| put_aside(project, path))?;
        return Ok(Vec::new());
    }
    let Some((mut session, bytes)) = read_or_backup::<SessionFile>(project, &paths[0])? else {
        refuse_moved(project)?;
        return Ok(Vec::new());
    };
    session.project = {
        let here = facts(project)?;
        waypost_model::document::session::Project {
            path: here.path,
            hash: here.hash,
            ..session.project
        }
    };
    let state = read_or_backup::<SessionState>(project, &paths[1])?;
    let (state, state_bytes) = state.unzip();
    let state = state.map(|state| resolved(project, state));
    let is_at_work = state.as_ref().is_some_and(|state| {
        let mut all = state.tasks.values().flat_map(|task| task.subtasks.values());
        all.any(|subtask| subtask.status == Status::InProgress)
    });
    let base = match (&state, is_at_work) {
        (Some(state), true) => {
            let order = waypost_git::KeptContent {
                name: &format!("{}/taken-over", state.request.id),
                why: "a session is taken over",
                at: project.clock().now(),
            };
            waypost_git::keep_content(project.place(), &order)?
        }
        _ => None,
    };
    if matches!(project.actor(), Actor::Agent { .. })
        && state.as_ref().is_some_and(SessionState::claims)
    {
        project.notice(
            "what these files say to be done is judged again; a person takes it over as it is"
                .to_owned(),
        );
    }
    let command = Command::TakeOver {
        session: Box::new(with_times(project, session)),
        state: state.map(Box::new),
        base,
    };
    project.commit(&[MachineCommand::session(command)])?;
    let mut taken = vec![paths[0].clone()];
    windows::note_adopted_file(project, &paths[0], &bytes)?;
    if let Some(bytes) = state_bytes {
        windows::note_adopted_file(project, &paths[1], &bytes)?;
        taken.push(paths[1].clone());
    }
    windows::render(project)?;
    Ok(taken)
}

/// Times without an offset are those of this place.
fn with_times(project: &Project, mut session: SessionFile) -> SessionFile {
    let clock = project.clock();
    session.created_at = clock.resolve(session.created_at).into();
    session.updated_at = clock.resolve(session.updated_at).into();
    session
}

fn resolved(project: &Project, mut state: SessionState) -> SessionState {
    let clock = project.clock();
    let ids: Vec<_> = state.tasks.keys().cloned().collect();
    for id in ids {
        let Some(task) = state.tasks.get_mut(&id) else { continue };
        for stamp in [&mut task.created_at, &mut task.updated_at] {
            *stamp = stamp.map(|stamp| clock.resolve(stamp).into());
        }
    }
    state
}

/// Moves a file out of the way without losing it.
fn put_aside(project: &mut Project, path: &Path) -> Result<(), EngineError> {
    let Some(bytes) = file::read_bounded(path, FILE_SIZE_MAX)? else { return Ok(()) };
    let kept = file::keep_damaged(path, &bytes)?;
    file::remove(path)?;
    let text = format!("{} is kept as {}", shown(project, path), shown(project, &kept));
    project.notice(text);
    Ok(())
}

/// A session of a project that is not there any more is most likely this one's.
fn refuse_moved(project: &Project) -> Result<(), EngineError> {
    let is_moved = |found: &FoundSession| {
        let file = found.file.as_ref().filter(|file| file.status == SessionStatus::Active);
        !found.is_here && file.is_some_and(|file| !Path::new(&file.project.path).exists())
    };
    match list(project)?.into_iter().find(is_moved) {
        Some(found) => {
            let path = found.file.map(|file| file.project.path).unwrap_or_default();
            let message =
                format!("an active session of {path} is in {}", shown(project, &found.folder));
            Err(Problem::new(Code::SessionMoved, message).next(NextStep::RelocateSession).into())
        }
        None => Ok(()),
    }
}

/// Of several active sessions the newest stays, which is the one that has just begun or goes on.
pub(super) fn stop_others(project: &mut Project) -> Result<Vec<PathBuf>, EngineError> {
    if !project.session()?.is_active() {
        return Ok(Vec::new());
    }
    let mut stopped = Vec::new();
    for found in list(project)? {
        let Some(mut session) = found.file.filter(|_| !found.is_here) else { continue };
        if session.status != SessionStatus::Active {
            continue;
        }
        let path = found.folder.join(layout::session::PROJECT_FILE);
        let before = file::read_bounded(&path, FILE_SIZE_MAX)?.unwrap_or_default();
        file::replace(&backup_of(&path), &before, file::SHARED)?;
        session.status = SessionStatus::Stopped;
        session.updated_at = project.clock().now().into();
        file::replace(&path, parse::render(&session).as_bytes(), file::SHARED)?;
        stopped.push(path);
    }
    Ok(stopped)
}

/// Whether an error says that there is no such folder.
pub(super) fn is_absent(error: &StoreError) -> bool {
    matches!(error, StoreError::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}
