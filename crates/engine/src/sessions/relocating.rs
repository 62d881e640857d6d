//! A project that was moved: the folder of its session is named by the path that it had.

use super::{
    SessionBegun, facts, folder,
    found::{self, FoundFiles, FoundSession, is_absent, list},
    sessions_home, shown,
};
use crate::{
    contracts,
    error::{EngineError, Problem},
    knowledge,
    ledger::MachineCommand,
    project::Project,
};
use std::path::{Path, PathBuf};
use waypost_model::{
    code::Code,
    document::{ProjectHash, session::SessionStatus},
    layout,
    next::NextStep,
    session::Command,
};
use waypost_store::file;

/// Gives the session of a project that was moved the folder that fits its path: the one that is named, else
/// the one that the journal knows, else the newest that is active.
pub fn relocate(
    project: &mut Project,
    named: Option<&ProjectHash>,
) -> Result<SessionBegun, EngineError> {
    project.refuse_stale()?;
    let here = facts(project)?;
    let to = folder(project)?;
    let known = project.session()?.facts().map(|facts| facts.project.hash.clone());
    let was_active = project.session()?.is_active();
    let from = match (named, &known) {
        (Some(named), _) => named.clone(),
        (None, Some(known)) => known.clone(),
        (None, None) => match newest(project)? {
            Some(found) => found.hash,
            None => knowledge::left_behind(project).map(|(hash, _)| hash).ok_or_else(|| {
                let message = "there is no session of another path";
                Problem::new(Code::SessionUnknown, message).next(NextStep::ListSessions)
            })?,
        },
    };
    if from != here.hash {
        rename(project, &from, &here.hash)?;
    }
    knowledge::relocate(project)?;
    let mut taken_over = Vec::new();
    match known {
        Some(_) => {
            // The file that was moved shows what the journal has; it is shown again with its new path.
            project.command(&[MachineCommand::session(Command::Relocate { project: here })])?;
        }
        None => taken_over = found::take_over(project, FoundFiles::TakeOver)?,
    }
    let stopped = found::stop_others(project)?;
    Ok(SessionBegun { folder: to, taken_over, was_active, stopped })
}

fn newest(project: &Project) -> Result<Option<FoundSession>, EngineError> {
    let is_active = |found: &FoundSession| {
        found.file.as_ref().is_some_and(|file| file.status == SessionStatus::Active)
    };
    let others: Vec<FoundSession> = list(project)?.into_iter().filter(|it| !it.is_here).collect();
    let active = others.iter().find(|it| is_active(it)).cloned();
    let any = others.into_iter().find(|it| it.file.is_some());
    Ok(active.or(any))
}

/// Renames the folders of a session and of its knowledge, and those of what both said before. May be
/// repeated: what has its new name stays.
fn rename(project: &Project, from: &ProjectHash, to: &ProjectHash) -> Result<(), EngineError> {
    let sessions = sessions_home(project)?;
    let root = project.setup.shared_root();
    let knowledge = root.join(layout::session::KNOWLEDGE);
    let folders = |hash: &ProjectHash| {
        [
            sessions.join(hash.as_str()),
            knowledge.join(hash.as_str()),
            contracts::versions_folder(project, hash),
            knowledge::versions_folder(project, hash),
        ]
    };
    let (old, new) = (folders(from), folders(to));
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    // Either of session and knowledge may be without the other.
    if !old[..2].iter().chain(&new[..2]).any(is_there) {
        let message = format!("there is no session {from}");
        return Err(Problem::new(Code::SessionUnknown, message)
            .next(NextStep::ListSessions)
            .into());
    }
    // Nothing is renamed before all can be, and nothing that came about here meanwhile is left beside it.
    let mut both = old.iter().zip(&new).filter(|(from, to)| is_there(from) && is_there(to));
    if let Some((from, to)) = both.find(|(_, to)| !is_empty(to)) {
        let message = format!("both {} and {} are there", shown(project, from), shown(project, to));
        let hint = "move the one that is not wanted out of the way, then repeat this command";
        return Err(Problem::new(Code::FileInTheWay, message).hint(hint).into());
    }
    for (from, to) in old.iter().zip(&new).filter(|(from, _)| is_there(from)) {
        match file::rename(from, to) {
            Err(error) if is_absent(&error) => {}
            renamed => renamed?,
        }
    }
    Ok(())
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
