//! Cleaning up after a process that died, in every folder that this project writes to.

use crate::{init, memory, project::Project, windows};
use std::{
    fs,
    path::{Path, PathBuf},
};
use waypost_model::layout::{
    self,
    state::{BACKUPS, DOCUMENTS, GATES, REFUSED_EDITS, WAITING_EDITS, WINDOWS},
};
use waypost_store::{file, journal::Check};

/// Removes what is left of dead processes, if the last one died.
pub(crate) fn clear(project: &Project) {
    let Some(journal) = &project.journal else { return };
    if journal.check() == Check::NotNeeded {
        return;
    }
    for folder in folders(project) {
        file::clear_remains(&folder);
    }
}

/// Every folder in which files of this project are put in place.
fn folders(project: &Project) -> Vec<PathBuf> {
    let state = &project.setup.place.state;
    let windows = state.join(WINDOWS);
    let mut found = vec![state.clone()];
    found.extend(
        [BACKUPS, REFUSED_EDITS, WAITING_EDITS, DOCUMENTS, GATES].map(|name| state.join(name)),
    );
    found.extend(entries(&windows).into_iter().filter(|path| path.is_dir()));
    found.push(windows);
    found.push(project.root().join(layout::window::WORKFLOW_FOLDER));
    found.extend(project.setup.main_root().map(|root| root.join(".claude")));
    found.extend(memory::folders(project));
    found.extend(windows::session_folder(project));
    found.extend(init::setup_folders(project));
    found.extend(project.setup.projects_folder());
    let user = project.setup.home.state.as_ref();
    found.extend(user.map(|state| state.join(layout::user_state::SEALS)));
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
