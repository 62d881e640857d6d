//! `session.json` and `state.json` below `.claude/orchestrator/sessions/HASH`, one of each per
//! repository, in the main work tree.
//!
//! Both show one machine. A file that is missing is made when there is something new to show, never
//! because it was looked at.

use super::window::{MachineWindow, Translation};
use crate::{error::EngineError, ledger::session_stream, project::Project, sessions};
use std::path::{Path, PathBuf};
use waypost_model::{
    document::session::{SessionFile, SessionState},
    id::StreamName,
    layout,
    next::NextStep,
    session::{
        Command, Named, Session, differs_session, differs_state, translate_session, translate_state,
    },
    time::Stamp,
};
use waypost_store::hash;

/// The project, and whether a session is active.
pub(crate) struct SessionWindow;

/// The request, its tasks and subtasks.
pub(crate) struct SessionStateWindow;

/// The folder of all files of sessions; none where there is no work tree.
pub(crate) fn sessions_folder(project: &Project) -> Option<PathBuf> {
    project.setup.main_root().map(|root| root.join(layout::session::FOLDER))
}

/// The folder of this project's session; none where there is no work tree.
pub(crate) fn session_folder(project: &Project) -> Option<PathBuf> {
    let root = project.setup.main_root()?;
    let hash = hash::project_hash(&root);
    Some(root.join(layout::session::SESSIONS).join(hash.as_str()))
}

impl MachineWindow for SessionWindow {
    type Machine = Session;
    type Document = SessionFile;

    const NAME: Option<&'static str> = Some("session");
    const RETURNS: bool = false;
    const KEEPS_UNREADABLE: bool = true;

    fn streams(_project: &mut Project) -> Result<Vec<StreamName>, EngineError> {
        Ok(vec![session_stream()])
    }

    fn path(project: &Project, _stream: &StreamName) -> Option<PathBuf> {
        session_folder(project).map(|folder| folder.join(layout::session::PROJECT_FILE))
    }

    fn render(machine: &Session) -> Option<SessionFile> {
        machine.render_session()
    }

    fn is_shown(machine: &Session) -> bool {
        machine.facts().is_some()
    }

    fn taken_up_by(_file: String) -> NextStep {
        NextStep::StartSession
    }

    fn difference(one: &SessionFile, other: &SessionFile) -> usize {
        differs_session(one, other)
    }

    fn dated(document: &SessionFile) -> Option<Stamp> {
        Some(document.updated_at)
    }

    fn translate(
        _machine: &Session,
        base: &SessionFile,
        edited: &SessionFile,
    ) -> Translation<Self> {
        translate_session(base, edited)
    }

    fn find_out(project: &mut Project, commands: &mut [Command]) -> Result<(), EngineError> {
        find_missing(project, commands)
    }

    fn describe(command: &Command) -> String {
        describe(command)
    }

    fn backup(path: &Path) -> Option<PathBuf> {
        Some(backup_of(path))
    }
}

impl MachineWindow for SessionStateWindow {
    type Machine = Session;
    type Document = SessionState;

    const NAME: Option<&'static str> = Some("session-state");
    const RETURNS: bool = false;
    const KEEPS_UNREADABLE: bool = true;

    fn streams(_project: &mut Project) -> Result<Vec<StreamName>, EngineError> {
        Ok(vec![session_stream()])
    }

    fn path(project: &Project, _stream: &StreamName) -> Option<PathBuf> {
        session_folder(project).map(|folder| folder.join(layout::session::STATE_FILE))
    }

    fn render(machine: &Session) -> Option<SessionState> {
        machine.render_state()
    }

    fn is_shown(machine: &Session) -> bool {
        machine.request().is_some()
    }

    fn taken_up_by(_file: String) -> NextStep {
        NextStep::StartSession
    }

    fn difference(one: &SessionState, other: &SessionState) -> usize {
        differs_state(one, other)
    }

    fn translate(
        _machine: &Session,
        base: &SessionState,
        edited: &SessionState,
    ) -> Translation<Self> {
        translate_state(base, edited)
    }

    fn find_out(project: &mut Project, commands: &mut [Command]) -> Result<(), EngineError> {
        find_missing(project, commands)
    }

    fn describe(command: &Command) -> String {
        describe(command)
    }

    fn backup(path: &Path) -> Option<PathBuf> {
        Some(backup_of(path))
    }
}

/// What goes on by an edit lacks the same contracts as what goes on by a command.
fn find_missing(project: &mut Project, commands: &mut [Command]) -> Result<(), EngineError> {
    for command in commands {
        if let Command::Resume { missing } = command {
            *missing = sessions::missing(project)?;
        }
    }
    Ok(())
}

/// Where the rendering before the present one is kept.
pub(crate) fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".bak");
    name.into()
}

/// A command in a few words.
fn describe(command: &Command) -> String {
    match command {
        Command::Stop => "stop the session".to_owned(),
        Command::Complete => "complete the session".to_owned(),
        Command::Resume { .. } => "resume the session".to_owned(),
        Command::Amend { .. } => "change what the session says of its project".to_owned(),
        Command::Rename { what: Named::Task { task }, name } => format!("call {task} `{name}`"),
        Command::Rename { what: Named::Subtask { subtask }, name } => {
            format!("call {subtask} `{name}`")
        }
        _ => "change the session".to_owned(),
    }
}
