//! The folders whose projects have a say in a tool call.
//!
//! The folder that an event names may be chosen by the model for one call, so the folder that the
//! agent program itself works in counts as well, and the one that it calls its project. A folder
//! that is gone stands for what is left of the way to it: its project is not gone with it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
};
use waypost_agent::{
    hook::{Event, project_variables},
    programs::BUILT_IN,
};
use waypost_model::layout;

/// How far up the processes an agent program is looked for: it may call a shell by a shell.
const ANCESTORS_MAX: usize = 16;

/// The folder that a tool call is made in first, then all others; each of them exists.
pub fn folders(event: Option<&Event>) -> Vec<PathBuf> {
    let named = event.and_then(|event| event.folder.as_deref()).map(PathBuf::from);
    // The system still knows where a folder was that has been removed.
    let own = env::current_dir().or_else(|_| fs::read_link("/proc/self/cwd")).ok();
    let told = project_variables().filter_map(env::var_os).map(PathBuf::from);
    existing(named.into_iter().chain(own).chain(told))
}

/// The folders of a shell call. Its own one may be chosen by the model as well, so the agent program above it
/// counts with the folder that it works in, and so does a project around a repository that has no journal: an
/// agent can make such a repository anywhere.
pub(crate) fn folders_of_call() -> Vec<PathBuf> {
    let own = folders(None);
    let around: Vec<PathBuf> = own.iter().filter_map(|folder| project_around(folder)).collect();
    existing(own.into_iter().chain(folders_above()).chain(around))
}

/// Those that are there, once each; one that is gone stands for what is left of the way to it.
fn existing(all: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let all = all.filter(|folder| folder.is_absolute());
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

/// The nearest folder above that has a journal itself.
fn project_around(folder: &Path) -> Option<PathBuf> {
    let has_journal = |folder: &&Path| {
        let places =
            [Path::new(".git").join(layout::STATE_IN_GIT), layout::STATE_OUTSIDE_GIT.into()];
        places.iter().any(|place| folder.join(place).join(layout::state::JOURNAL).is_file())
    };
    // A work tree's `.git` is a file; which project that belongs to is found from there.
    let is_tree = |folder: &Path| folder.join(".git").is_file();
    let above = folder.ancestors().take_while(|folder| !is_tree(folder));
    above.skip(1).find(has_journal).map(PathBuf::from)
}

/// The folders of the processes above this one, up to the agent program.
fn folders_above() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pid = parent(process::id());
    for _ in 0..ANCESTORS_MAX {
        let Some(above) = pid.filter(|pid| *pid > 1) else { break };
        found.extend(fs::read_link(format!("/proc/{above}/cwd")).ok());
        if is_agent(above) {
            return found;
        }
        pid = parent(above);
    }
    // A person's own shells have no say.
    Vec::new()
}

fn is_agent(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    BUILT_IN.recognise(line.split('\0').filter(|word| !word.is_empty())).is_some()
}

fn parent(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may contain anything; the fields come after its last bracket.
    text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
