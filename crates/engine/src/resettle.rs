//! A project that has become a git repository: its journal moves into it.
//!
//! Outside of git a journal stands beside the files, in `.waypost`. After `git init` it is looked for in the
//! repository, where `git clean` does not reach. So the next command moves it there, with everything that
//! is kept beside it; workspaces of tasks stay where they are. The journal's own file goes last: cut off
//! anywhere, the next command goes on.

use crate::{
    error::{EngineError, Problem},
    project::Project,
    seal,
};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};
use waypost_git::workspace::hide_data;
use waypost_model::{
    code::Code,
    layout::{self, data, state},
    next::Remark,
};
use waypost_store::{
    file,
    journal::{Journals, Mode},
    lock::FileLock,
    place::{Place, TreeName},
};

/// Moves the journal that the project had before it was a repository, if there is one and it is ours.
pub(crate) fn resettle(project: &mut Project) -> Result<(), EngineError> {
    let Some(before) = place_before(project) else { return Ok(()) };
    if let Some(owner) = Journals::of(&before).lease_holder()? {
        let message = format!(
            "this project has become a git repository, and process {} still works with the journal that \
             it had before",
            owner.pid
        );
        return Err(Problem::new(Code::AlreadyRunning, message)
            .hint("end that process and repeat the command: the journal moves into the repository then")
            .into());
    }
    let id = checked(project, &before)?;
    let turn = FileLock::acquire(&before.state.join(state::JOURNAL_TURN))?;
    move_all(&before, &project.setup.place.state)?;
    drop(turn);
    if let Some(projects) = project.setup.projects() {
        projects.remember(&project.setup.place, &id)?;
    }
    if before.state.is_dir()
        && let Some(common) = &project.setup.place.git_common
    {
        hide_data(common)?;
    }
    let (from, to) = (before.state.display(), project.setup.place.state.display());
    let text =
        format!("this project is a git repository now: its journal moved from {from} to {to}");
    project.notice(Remark::note(text));
    Ok(())
}

/// Where the project's journal is, if that is where it was before there was a repository. One that this
/// user's list of projects does not know came with the files, and is left alone.
fn place_before(project: &Project) -> Option<Place> {
    let place = &project.setup.place;
    place.git_common.as_ref()?;
    if Journals::of(place).path().exists() {
        return None;
    }
    let root = project.setup.main_root()?;
    let folder = root.join(layout::STATE_OUTSIDE_GIT);
    let before = Place { root, git_common: None, state: folder, tree: TreeName::main() };
    let journal = Journals::of(&before).path();
    let is_there = fs::symlink_metadata(journal).is_ok_and(|it| it.is_file());
    let is_ours = match project.setup.projects() {
        Some(projects) => matches!(projects.recall(&before), Ok(Some(_))),
        None => true,
    };
    (is_there && is_ours).then_some(before)
}

/// The id of the journal, if it is the one that was there, as it was left.
fn checked(project: &mut Project, before: &Place) -> Result<String, EngineError> {
    let now = std::mem::replace(&mut project.setup.place, before.clone());
    let opened = Journals::of(before).open(Mode::ReadWrite).and_then(|mut journal| {
        seal::check(&project.setup, &mut journal)?;
        Ok(journal.id().to_owned())
    });
    project.setup.place = now;
    Ok(opened?)
}

/// Moves everything but workspaces, the journal's own file last.
fn move_all(before: &Place, to: &Path) -> Result<(), EngineError> {
    let (from, journal) = (before.state.as_path(), Journals::of(before).path());
    let journal = journal.file_name().unwrap_or_default().to_string_lossy();
    file::make_private_folder(to)?;
    let failed = |error: io::Error| {
        let message =
            format!("cannot move the journal from {} to {}", from.display(), to.display());
        let hint = "move what is in the first folder, but for `workspaces`, into the second one";
        EngineError::from(Problem::new(Code::FileFailed, message).hint(hint).because(error))
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(from).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    names.retain(|name| name != data::WORKSPACES);
    // What is named after the journal goes with it, so that neither is ever taken for all there is.
    let is_of_journal = |name: &OsString| name.to_string_lossy().starts_with(&*journal);
    names.sort_by_key(|name| (is_of_journal(name), **name == *journal, name.clone()));
    for name in names {
        let (source, target): (PathBuf, PathBuf) = (from.join(&name), to.join(&name));
        // What a hook has written into the repository meanwhile is not replaced.
        if is_of_journal(&name) || !target.exists() {
            file::rename(&source, &target)?;
        }
    }
    // Where workspaces are in it, it stays.
    let _has_workspaces = fs::remove_dir(from);
    Ok(())
}
