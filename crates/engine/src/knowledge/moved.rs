//! Knowledge of a project that was moved: its folder is named by the path that the project had.

use super::{about, blank, path, read, rewrite, versions_folder};
use crate::{
    contracts::{home, project_hash},
    doctor::Finding,
    error::{EngineError, Problem},
    project::Project,
    sessions,
};
use std::path::Path;
use waypost_model::{
    code::Code,
    document::{ProjectHash, knowledge::Knowledge},
    layout,
    next::NextStep,
};
use waypost_store::{documents, file, parse};

/// The word for it in findings.
const SUBJECT: &str = "knowledge";

/// Says where the project is now, in knowledge that says where it was. One that is not valid is left as it
/// is: `validate` tells of it, and no move waits for that.
pub(crate) fn relocate(project: &mut Project) -> Result<(), EngineError> {
    let Ok(Some(known)) = read(project) else { return Ok(()) };
    let here = about(project)?;
    if known.project.as_ref().is_none_or(|it| it.path == here.path && it.hash == here.hash) {
        return Ok(());
    }
    rewrite(project, |document, _, _| {
        document.project = Some(here.clone());
        Ok(())
    })?;
    Ok(())
}

/// The knowledge that this project had at a path where nothing is any more, with that path.
pub(crate) fn left_behind(project: &Project) -> Option<(ProjectHash, String)> {
    let all = home(project).ok()?.join(layout::session::KNOWLEDGE);
    let here = project_hash(project).ok()?;
    let others = sessions::folders(&all).into_iter().filter_map(|name| name.parse().ok());
    let mut others = others.filter(|hash: &ProjectHash| *hash != here).filter_map(|hash| {
        let file = all.join(hash.as_str()).join(layout::session::KNOWLEDGE_FILE);
        let bytes = file::read_bounded(&file, parse::SIZE_MAX as u64).ok().flatten()?;
        let known = parse::parse::<Knowledge>(&bytes).ok()?.value;
        let was_at = known.project?.path;
        (!Path::new(&was_at).exists()).then_some((hash, was_at))
    });
    others.next()
}

/// What is said here before the project's session and knowledge are here, too, would stand beside them.
pub(super) fn refuse_moved(project: &mut Project) -> Result<(), EngineError> {
    sessions::is_here(project)?;
    if path(project)?.exists() {
        return Ok(());
    }
    match left_behind(project) {
        Some((_, was_at)) => {
            let message = format!("the knowledge belongs to {was_at}, from where it was moved");
            Err(Problem::new(Code::SessionMoved, message).next(NextStep::RelocateSession).into())
        }
        None => Ok(()),
    }
}

/// Looks it over; nothing where nothing is known. Nothing is changed.
pub(crate) fn examine(project: &mut Project) -> Vec<Finding> {
    let (Ok(path), Ok(hash)) = (path(project), project_hash(project)) else { return Vec::new() };
    let backups = versions_folder(project, &hash);
    if let Some((_, was_at)) = left_behind(project).filter(|_| !path.exists()) {
        let text = format!("the knowledge belongs to {was_at}, from where it was moved");
        return vec![Finding::bad(SUBJECT, text).next(NextStep::RelocateSession)];
    }
    match read(project) {
        Ok(None) => Vec::new(),
        Ok(Some(known)) if known == blank() => Vec::new(),
        Ok(Some(_)) => vec![Finding::good(SUBJECT, "its file is valid".to_owned())],
        Err(error) => {
            let on_disk =
                documents::Document { place: &project.setup.place, path: &path, backups: &backups };
            vec![sessions::damaged(project, SUBJECT, &on_disk, &error)]
        }
    }
}
