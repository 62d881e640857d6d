//! The folders whose projects have a say in a tool call.
//!
//! The folder that an event names may be chosen by the model for one call, so the folder that the
//! agent program itself works in counts as well, and the one that it calls its project. A folder
//! that is gone stands for what is left of the way to it: its project is not gone with it.

use std::{env, fs, path::PathBuf};
use waypost_agent::hook::{Event, project_variables};

/// The folder that a tool call is made in first, then all others; each of them exists.
pub fn folders(event: Option<&Event>) -> Vec<PathBuf> {
    let named = event.and_then(|event| event.folder.as_deref()).map(PathBuf::from);
    // The system still knows where a folder was that has been removed.
    let own = env::current_dir().or_else(|_| fs::read_link("/proc/self/cwd")).ok();
    let told = project_variables().filter_map(env::var_os).map(PathBuf::from);
    let all = named.into_iter().chain(own).chain(told).filter(|folder| folder.is_absolute());
    let (there, gone): (Vec<PathBuf>, Vec<PathBuf>) = all.partition(|folder| folder.is_dir());
    let above = |folder: PathBuf| folder.ancestors().find(|it| it.is_dir()).map(PathBuf::from);
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in there.into_iter().chain(gone.into_iter().filter_map(above)) {
        if !found.contains(&folder) {
            found.push(folder);
        }
    }
    found
}
