//! Looking a session over: its files, where it is, what it lacks, and other sessions that are active.

use super::{facts, found::list, missing, shown};
use crate::{doctor::Finding, error::EngineError, project::Project};
use waypost_model::{document::session::SessionStatus, next::NextStep, session::MissingContract};

/// The word for it in findings.
const SUBJECT: &str = "session";

/// Everything that was looked at, good or bad; nothing where no session was begun and none is on disk.
/// Nothing is changed.
pub(crate) fn examine(project: &mut Project) -> Vec<Finding> {
    look(project).unwrap_or_else(|error| vec![Finding::bad(SUBJECT, error.to_string())])
}

fn look(project: &mut Project) -> Result<Vec<Finding>, EngineError> {
    let Ok(here) = facts(project) else { return Ok(Vec::new()) };
    let on_disk = list(project)?;
    let known = project.session()?.facts().cloned();
    if known.is_none() && on_disk.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let is_moved = known.as_ref().is_some_and(|facts| facts.project.hash != here.hash);
    if let Some(facts) = known.as_ref().filter(|_| is_moved) {
        let text =
            format!("the session belongs to {}, from where it was moved", facts.project.path);
        found.push(Finding::bad(SUBJECT, text).next(NextStep::RelocateSession));
    }
    for session in &on_disk {
        let name = shown(project, &session.folder);
        let is_active =
            session.file.as_ref().is_some_and(|file| file.status == SessionStatus::Active);
        if let Some(fault) = &session.fault {
            found.push(
                Finding::bad(SUBJECT, format!("{name}: {fault}")).next(NextStep::StartSession),
            );
        } else if known.is_none() && session.is_here {
            let text = format!("{name} is not in the journal");
            found.push(Finding::note(SUBJECT, text).next(NextStep::StartSession));
        } else if is_active && !session.is_here && !is_moved {
            let text = format!("{name} is active, too");
            found.push(Finding::note(SUBJECT, text).next(NextStep::StartSession));
        }
    }
    if !is_moved && project.session()?.is_active() {
        for missing in missing(project)? {
            let text = match missing {
                MissingContract::Plan => "a contract that the plan stands on is gone".to_owned(),
                MissingContract::Design { task } => {
                    format!("the design contract of {task} is gone")
                }
                MissingContract::Tests { subtask } => {
                    format!("the test contract of {subtask} is gone")
                }
            };
            found.push(Finding::bad(SUBJECT, text).next(NextStep::ResumeSession));
        }
    }
    if found.is_empty() {
        let text = match project.session()?.request() {
            Some(request) => format!("{} is its last request; its files are valid", request.id),
            None => "its files are valid".to_owned(),
        };
        found.push(Finding::good(SUBJECT, text));
    }
    Ok(found)
}
