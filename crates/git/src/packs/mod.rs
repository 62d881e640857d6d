//! Packs of our own: what we commit is in a pack before anything is built on it.
//!
//! A person may run `git gc --prune=now` beside us. It finds out what is reachable, and then deletes all
//! else, also what was written meanwhile and what a ref has been put on meanwhile: git has no lock
//! against that. What it never touches is a pack with a `.keep` file, and a pack that came after its
//! beginning. So everything that a commit of ours brings is put into a pack that is kept until its ref
//! is there. Should an object be gone by then, git says so, and the commit is made again from the files.
//!
//! Loose copies of what such a pack has are deleted, and nothing else is: what is in no pack of ours is
//! for the user's own git to clear up. In quiet moments small packs of ours become a larger one
//! (`tidy`).

mod folder;
mod index;
mod tidy;

pub use tidy::{Tidied, tidy};

use crate::{
    error::{GitError, Hindrance},
    trees::Trees,
};
use folder::{NewPack, PackFolder};
use waypost_store::file;

/// How often something is done again that another git has taken apart. One that clears without a pause
/// spoils one try in five or so.
const TRIES: usize = 12;

/// A pack that no clearing takes away; it may again when this is dropped.
#[derive(Debug)]
#[must_use = "the pack is kept as long as this lives"]
pub(crate) struct KeptPack {
    folder: PackFolder,
    /// None: there was nothing to pack.
    name: Option<String>,
}

impl KeptPack {
    /// A ref leads to it now.
    pub(crate) fn release(self) -> Result<(), GitError> {
        match &self.name {
            Some(name) if !self.folder.pack(name).exists() => Err(cleared()),
            _ => Ok(()),
        }
    }
}

impl Drop for KeptPack {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // One that stays keeps a pack for longer; `tidy` finds it.
            let _left = file::remove(&self.folder.keep(name));
        }
    }
}

/// Packs everything that `new` has and none of `old`, all of which refs lead to. An error that
/// `is_lost` says that something of it is gone.
pub(crate) fn secure(trees: &Trees, new: &str, old: &[&str]) -> Result<KeptPack, GitError> {
    let folder = PackFolder::of(trees);
    let not = old.iter().map(|it| format!("^{it}\n"));
    let revisions = [format!("{new}\n")].into_iter().chain(not).collect::<String>();
    let packed = folder.pack_objects(trees, "--revs", &revisions)?;
    let Some(NewPack { name, objects }) = packed else {
        return Ok(KeptPack { folder, name: None });
    };
    let kept = KeptPack { folder, name: Some(name) };
    objects.iter().for_each(|object| kept.folder.delete_loose(object));
    Ok(kept)
}

/// Does something until another git has not taken it apart meanwhile; `rebuild` is done before each other
/// try.
pub(crate) fn until_whole<T>(
    act: impl Fn() -> Result<T, GitError>,
    rebuild: impl Fn() -> Result<(), GitError>,
) -> Result<T, GitError> {
    for _ in 1..TRIES {
        match act() {
            Err(error) if error.is_lost() => match rebuild() {
                Err(error) if !error.is_lost() => return Err(error),
                _ => {}
            },
            done => return done,
        }
    }
    act()
}

/// What was written is gone again.
fn cleared() -> GitError {
    Hindrance::Clearing.into()
}
