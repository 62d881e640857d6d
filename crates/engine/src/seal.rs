//! What the user's folder holds about this project's journal: see `waypost_model::seal`.
//!
//! Looked at whenever a journal is opened, and kept with every gate record. Where the user's folder
//! cannot be written there is no seal: then records are not believed and the journal is read.

use crate::project::{Project, ProjectSetup};
use rustix::rand::{GetRandomFlags, getrandom};
use std::path::PathBuf;
use waypost_model::{
    layout,
    seal::{SEAL_SIZE_MAX, Seal},
};
use waypost_store::{
    StoreError, file,
    journal::{Journal, Journals},
    place::Place,
};

/// The seal of this project's journal; none if there is none, or if it cannot be read.
fn load(setup: &ProjectSetup) -> Option<Seal> {
    let bytes = file::read_bounded(&path(setup)?, SEAL_SIZE_MAX as u64).ok()??;
    let seal = Seal::parse(str::from_utf8(&bytes).ok()?)?;
    (Some(seal.folder.as_str()) == folder(&setup.place)).then_some(seal)
}

/// Refuses a journal that is another one than was here, or ends before it went.
pub(crate) fn check(setup: &ProjectSetup, journal: &mut Journal) -> Result<(), StoreError> {
    let path = Journals::of(&setup.place).path();
    let Some(seal) = load(setup) else {
        return match is_foreign(setup, journal.id()) {
            true => Err(StoreError::Foreign { path }),
            false => Ok(()),
        };
    };
    if seal.journal != journal.id() {
        return Err(StoreError::corrupt(&path, "it is another journal than the one that was here"));
    }
    let end = journal.view()?.last_seq()?;
    if end < seal.head {
        let detail = format!(
            "it ends with entry {end}, but went up to {}: entries are gone, or an older one was put back",
            seal.head
        );
        return Err(StoreError::corrupt(&path, detail));
    }
    Ok(())
}

/// Whether a journal came with a project's files. In a repository it stands where no clone can put one; beside
/// the files anything that unpacks an archive can. One that was moved is known by its name.
fn is_foreign(setup: &ProjectSetup, journal: &str) -> bool {
    let Some(projects) = setup.projects().filter(|_| setup.place.git_common.is_none()) else {
        return false;
    };
    let is_remembered = matches!(projects.recall(&setup.place), Ok(Some(_)));
    !is_remembered && !projects.knows(journal)
}

/// A person vouches for a journal that came with the files.
pub(crate) fn believe(setup: &ProjectSetup, journal: &Journal) -> Result<(), StoreError> {
    setup.projects().map_or(Ok(()), |it| it.remember(&setup.place, journal.id()))
}

/// Notes how far the journal goes now; the seal that records are signed with.
pub(crate) fn note(project: &mut Project) -> Option<Seal> {
    let before = load(&project.setup);
    let journal = project.journal.as_mut()?;
    let id = journal.id().to_owned();
    let head = journal.view().ok()?.last_seq().ok()?;
    let before = before.filter(|seal| seal.journal == id);
    if let Some(seal) = before.as_ref().filter(|seal| seal.head >= head) {
        return Some(seal.clone());
    }
    let key = match before {
        Some(seal) => seal.key,
        None => fresh_key()?,
    };
    let folder = folder(&project.setup.place)?.to_owned();
    let seal = Seal { folder, journal: id, head, key };
    let path = path(&project.setup)?;
    file::make_private_folder(path.parent()?).ok()?;
    file::replace_volatile(&path, seal.render()?.as_bytes(), file::PRIVATE).ok()?;
    Some(seal)
}

/// Forgets what is known: a person has put another journal in its place.
pub(crate) fn forget(setup: &ProjectSetup) -> Result<(), StoreError> {
    path(setup).map_or(Ok(()), |path| file::remove(&path))
}

fn path(setup: &ProjectSetup) -> Option<PathBuf> {
    let seals = setup.home.state.as_ref()?.join(layout::user_state::SEALS);
    Some(seals.join(Seal::file_name(folder(&setup.place)?)))
}

fn folder(place: &Place) -> Option<&str> {
    place.state.to_str()
}

fn fresh_key() -> Option<[u8; 32]> {
    let mut key = [0; 32];
    let filled = getrandom(&mut key, GetRandomFlags::empty()).ok()?;
    (filled == key.len()).then_some(key)
}
