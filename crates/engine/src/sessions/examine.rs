//! Looking a session over: its files, where it is, what it lacks, and other sessions that are active.

use super::{facts, found::list, missing, shown};
use crate::{contracts, doctor::Finding, error::EngineError, project::Project, session_gates};
use waypost_model::{
    diagnostic::Severity, document::session::SessionStatus, next::NextStep,
    session::MissingContract,
};
use waypost_store::{documents, file, parse};

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
    found.extend(contracts_of(project));
    if !is_moved && project.session()?.is_active() {
        let at_work = project.session()?.request().and_then(|request| {
            let (_, id, state) = request.at_work()?;
            Some((id.clone(), state.base.clone()?))
        });
        if let Some((id, _)) = at_work.filter(|(_, base)| !session_gates::is_kept(project, base)) {
            let text = format!("the repository has lost the content that {id} began with");
            found.push(Finding::bad(SUBJECT, text).next(NextStep::CheckGates));
        }
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

/// Contracts that cannot be read, with what they said before.
fn contracts_of(project: &Project) -> Vec<Finding> {
    let of = |it: contracts::ContractFile| {
        let bytes = file::read_bounded(&it.path, parse::SIZE_MAX as u64).ok().flatten()?;
        let findings = parse::validate_at(it.kind, &bytes, &it.place);
        if !findings.iter().any(|it| it.severity == Severity::Error) {
            return None;
        }
        let error = EngineError::invalid(&it.path, &bytes, findings);
        let backups = contracts::versions_of(project, &it.place).ok()?;
        let on_disk =
            documents::Document { place: &project.setup.place, path: &it.path, backups: &backups };
        Some(damaged(project, "contract", &on_disk, &error))
    };
    contracts::list(project).unwrap_or_default().into_iter().filter_map(of).collect()
}

/// A document that cannot be read: what is wrong, and where an earlier content of it is.
pub(crate) fn damaged(
    project: &Project,
    subject: &'static str,
    on_disk: &documents::Document<'_>,
    error: &EngineError,
) -> Finding {
    let name = shown(project, on_disk.path);
    let kept = on_disk.backups().unwrap_or_default().into_iter().next();
    let kept = kept.map_or_else(String::new, |it| {
        format!("; what it said before is kept as {}", shown(project, &it))
    });
    let first = match error {
        EngineError::Invalid(invalid) => invalid.diagnostics.first().map(|it| it.message.clone()),
        _ => None,
    };
    let why = first.unwrap_or_else(|| error.to_string());
    let step = NextStep::ValidateFile { file: name.clone() };
    Finding::bad(subject, format!("{name} is not valid: {why}{kept}")).next(step)
}
