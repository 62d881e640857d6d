//! Keeping our files out of git's sight: a block of lines in `.git/info/exclude`, or in
//! `.gitignore` for everybody.
//!
//! Which lines those are; how a block gets into a file and out again is in `waypost_git::exclude`.

use super::{agents, record::Record, servers};
use crate::{error::EngineError, project::Project, windows};
use std::path::{Path, PathBuf};
use waypost_agent::registration::Sharing;
use waypost_git::exclude::{EXCLUDED, lines, read, with_block, without_block};
use waypost_store::file;

/// Adds what is missing and takes out what is not needed any more; returns what was missing.
pub(super) fn update(project: &Project, sharing: Sharing) -> Result<Vec<String>, EngineError> {
    let missing = missing(project)?;
    let Some(private) = private_path(project) else { return Ok(Vec::new()) };
    let shared = shared_path(project);
    if sharing == Sharing::Shared {
        set_block(project, &shared, &EXCLUDED.map(str::to_owned))?;
    }
    let everywhere = shared_lines(project);
    let mut wanted = needed(project);
    wanted.retain(|line| !everywhere.iter().any(|found| found == line.as_bytes()));
    set_block(project, &private, &wanted)?;
    Ok(missing)
}

/// What git would show as untracked; nothing outside git.
pub(super) fn missing(project: &Project) -> Result<Vec<String>, EngineError> {
    let Some(private) = private_path(project) else { return Ok(Vec::new()) };
    let mut found = lines(&read(&private)?.unwrap_or_default());
    found.extend(shared_lines(project));
    let mut needed = needed(project);
    needed.retain(|line| !found.iter().any(|found| found == line.as_bytes()));
    Ok(needed)
}

/// Where this user's lines are; `None` outside git.
pub(super) fn private_path(project: &Project) -> Option<PathBuf> {
    project.place().git_common.as_ref().map(|git| git.join("info/exclude"))
}

/// Where everybody's lines are.
pub(super) fn shared_path(project: &Project) -> PathBuf {
    project.root().join(".gitignore")
}

/// The lines that hold for everybody. Git does not follow a link there, and neither do we.
fn shared_lines(project: &Project) -> Vec<Vec<u8>> {
    let text = read(&shared_path(project)).ok().flatten();
    lines(&text.unwrap_or_default())
}

/// Whether state files of ours stand in this work tree.
pub(super) fn has_windows(project: &Project) -> bool {
    let files = [
        Some(windows::workflow_path(project)),
        windows::run_path(project),
        windows::memory_folder(project),
        windows::sessions_folder(project),
    ];
    files.into_iter().flatten().any(|path| path.symlink_metadata().is_ok())
}

/// Leaves in our block only what hides our own files; whether it had more.
pub(super) fn reduce(project: &Project, path: &Path) -> Result<bool, EngineError> {
    let before = read(path)?;
    set_block(project, path, &EXCLUDED.map(str::to_owned))?;
    Ok(read(path)? != before)
}

/// Our files, the settings that hold a hook with a path of this machine, and folders that work
/// trees share: a link is not what `node_modules/` matches.
fn needed(project: &Project) -> Vec<String> {
    let mut settings = agents::private_settings(project);
    // A file may hold both.
    for file in servers::private_files(project) {
        if !settings.contains(&file) {
            settings.push(file);
        }
    }
    let settings = settings.into_iter();
    let shared = project.configuration().values.worktree.share.iter().cloned();
    let more = settings.map(|file| file.to_string()).chain(shared).map(|file| format!("/{file}"));
    EXCLUDED.into_iter().map(str::to_owned).chain(more).collect()
}

/// Brings our block up to date; what the user has written himself is not repeated in it.
fn set_block(project: &Project, path: &Path, wanted: &[String]) -> Result<(), EngineError> {
    let text = read(path)?;
    let base = text.as_deref().and_then(without_block);
    let own = base.as_deref().map(lines).unwrap_or_default();
    let is_new = |line: &&str| !own.iter().any(|found| found == line.as_bytes());
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).filter(is_new).collect();
    let with = with_block(base.as_deref(), &wanted);
    if with == text {
        return Ok(());
    }
    file::clear_remains(path.parent().unwrap_or(path));
    match with {
        Some(with) => {
            Record::note_folders(project, path)?;
            Ok(file::rewrite(path, &with)?)
        }
        None => Ok(file::remove(path)?),
    }
}
