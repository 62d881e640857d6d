//! Taking out what `init` put in.
//!
//! Files that git tracks belong to everybody and are left alone unless that is asked for.

use super::{
    agents::{self, IsGone, is_in_git, is_tracked},
    exclude,
    git_hooks::{self, Cleared},
    record::Record,
    servers,
};
use crate::{error::EngineError, project::Project};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use waypost_agent::{
    Product,
    registration::{self, Sharing},
};
use waypost_git::exclude::clear;
use waypost_store::{StoreError, journal::Mode, projects::Projects};

/// A file from which something was taken, or was not.
#[derive(Clone, Debug)]
pub struct Removed {
    pub path: PathBuf,
    pub removal: Removal,
}

/// What was done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Our part is out, the rest stays.
    Cleaned,
    /// There was nothing else in it.
    Gone,
    /// What stood there before us stands there again.
    Restored,
    /// Tracked by git, left as it is.
    Tracked,
    /// An earlier hook could not be put back: another one stands there.
    Blocked,
}

/// Takes out the hooks of all work trees that are known, and what git was told to ignore.
pub(super) fn everything(
    project: &mut Project,
    sharing: Sharing,
) -> Result<Vec<Removed>, EngineError> {
    let record = Record::load(project);
    // Put in last, taken out first.
    let mut removed = servers::clear(project, &record, sharing)?;
    for (path, product) in settings(project, &record) {
        removed.extend(clear_settings(project, path, product, sharing)?);
    }
    for folder in git_hooks::folders(project, sharing) {
        for (path, cleared) in git_hooks::clear(&folder)? {
            let removal = match cleared {
                Cleared::Removed => Removal::Gone,
                Cleared::Restored => Removal::Restored,
                Cleared::Blocked => Removal::Blocked,
            };
            removed.push(Removed { path, removal });
        }
    }
    removed.extend(clear_excludes(project, sharing)?);
    forget(project, &record)?;
    let is_left = |it: &Removed| matches!(it.removal, Removal::Tracked | Removal::Blocked);
    if !removed.iter().any(is_left) {
        removed.extend(remove_empty_journal(project)?);
    }
    Ok(removed)
}

/// Removes the journal's folder if nothing was ever recorded in it: then `init` has made it, and
/// no command misses it.
fn remove_empty_journal(project: &mut Project) -> Result<Option<Removed>, EngineError> {
    // One that is gone or damaged is not known to be empty.
    let Ok(mut journal) = project.journals.open(Mode::ReadOnly) else { return Ok(None) };
    let is_empty = journal.view()?.last_seq()? == 0;
    drop(journal);
    let is_in_use = project.journals.lease_holder().is_ok_and(|holder| holder.is_some());
    if !is_empty || is_in_use {
        return Ok(None);
    }
    project.journal = None;
    let path = project.place().state.clone();
    // Known no longer, so that it is not missed.
    if let Some(projects) = project.setup.home.state.as_deref().map(Projects::below) {
        projects.forget(project.place())?;
    }
    fs::remove_dir_all(&path).map_err(|source| {
        let action = "remove";
        StoreError::File { action, path: path.clone(), source }
    })?;
    Ok(Some(Removed { path, removal: Removal::Gone }))
}

fn clear_settings(
    project: &Project,
    path: PathBuf,
    product: Product,
    sharing: Sharing,
) -> Result<Option<Removed>, EngineError> {
    // Through a link nothing was ever written.
    if path.is_symlink() {
        return Ok(None);
    }
    if is_left(project, &path, sharing)? {
        let text = agents::read_leniently(&path);
        let has_hook = registration::registered_program(product, &text).is_some();
        return Ok(has_hook.then_some(Removed { path, removal: Removal::Tracked }));
    }
    let Some(IsGone(is_gone)) = agents::clear(&path, product)? else { return Ok(None) };
    let removal = if is_gone { Removal::Gone } else { Removal::Cleaned };
    Ok(Some(Removed { path, removal }))
}

fn clear_excludes(project: &Project, sharing: Sharing) -> Result<Vec<Removed>, EngineError> {
    let Some(private) = exclude::private_path(project) else { return Ok(Vec::new()) };
    let mut paths = vec![private.clone()];
    let shared = exclude::shared_path(project);
    if !is_left(project, &shared, sharing)? {
        paths.push(shared);
    }
    let mut removed = Vec::new();
    for path in paths {
        // State files that stay must not show up because of us.
        let is_cleared = match exclude::has_windows(project) && path == private {
            true => exclude::reduce(project, &path)?,
            false => clear(&path)?,
        };
        if is_cleared {
            let removal = if path.exists() { Removal::Cleaned } else { Removal::Gone };
            removed.push(Removed { path, removal });
        }
    }
    Ok(removed)
}

/// Whether a file is everybody's and has to stay as it is.
fn is_left(project: &Project, path: &Path, sharing: Sharing) -> Result<bool, EngineError> {
    Ok(sharing == Sharing::Private && is_in_git(project) && is_tracked(path)?)
}

/// Every settings file that may hold a hook of ours: here, and where it was noted.
pub(super) fn settings(project: &Project, record: &Record) -> BTreeSet<(PathBuf, Product)> {
    let names = || {
        project.setup.programs.products().flat_map(|product| {
            let file = move |sharing| product.settings_file(sharing);
            [Sharing::Private, Sharing::Shared].map(|sharing| (file(sharing), product))
        })
    };
    let here = names().map(|(name, product)| (project.root().join(name), product));
    let noted = record.files.iter().filter_map(|path| {
        let (_, product) = names().find(|(name, _)| path.ends_with(name))?;
        Some((path.clone(), product))
    });
    here.chain(noted).collect()
}

/// Removes the folders that were made for all this, if they are empty, and the record itself.
fn forget(project: &Project, record: &Record) -> Result<(), EngineError> {
    for folder in record.folders.iter().rev() {
        // One that is not empty is in use.
        drop(fs::remove_dir(folder));
    }
    Record::default().save(project)
}
