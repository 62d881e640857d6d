//! The repository's folder of packs, with ours in it.
//!
//! Beside the journal stands a file of the name of each pack that we made, so that it is known later
//! which are ours. It is written before the pack is put in its place.

use crate::{
    command::Git,
    error::{GitError, Hindrance},
    packs::index,
    tree::Trees,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};
use waypost_store::file;

/// Below the journal's folder: names of our packs.
const OURS: &str = "packs";
/// Where packs are written.
const SCRATCH: &str = "packs/new";

/// What a `.keep` file of ours says.
const KEPT: &[u8] = b"waypost: until its ref is there\n";

/// More bytes than an index has with which git still works.
const INDEX_SIZE_MAX: u64 = 1 << 32;

/// Settings for packs of ours, whatever is configured: one pack, whole after a power cut, and no file
/// beside it that only makes large ones faster.
const SETTINGS: [&str; 5] = [
    "core.fsync=committed,pack-metadata",
    "pack.packSizeLimit=0",
    "pack.writeReverseIndex=false",
    "pack.indexVersion=2",
    "pack.threads=1",
];

/// Files of one pack, the one first without which git does not see it.
pub(super) const FILES: [&str; 6] = ["idx", "pack", "rev", "bitmap", "mtimes", "keep"];

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Where packs are, and what is noted of ours.
#[derive(Clone, Debug)]
pub(super) struct PackFolder {
    objects: PathBuf,
    state: PathBuf,
}

/// A pack in its place, kept.
pub(super) struct NewPack {
    /// `pack-` and its hash.
    pub(super) name: String,
    pub(super) objects: Vec<String>,
}

impl PackFolder {
    pub(super) fn of(trees: &Trees) -> Self {
        Self { objects: trees.common().join("objects"), state: trees.state().to_owned() }
    }

    pub(super) fn pack(&self, name: &str) -> PathBuf {
        self.file(name, "pack")
    }

    pub(super) fn keep(&self, name: &str) -> PathBuf {
        self.file(name, "keep")
    }

    pub(super) fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.packs().join(format!("{name}.{extension}"))
    }

    pub(super) fn packs(&self) -> PathBuf {
        self.objects.join("pack")
    }

    /// Packs that we made and that are there; those that another git has replaced are forgotten.
    pub(super) fn ours(&self) -> Result<Vec<String>, GitError> {
        // A note that another process is just writing has another name until it is whole.
        let noted = file::list(&self.state.join(OURS))?;
        let noted = noted.into_iter().filter(|name| name.starts_with("pack-"));
        let (there, gone): (Vec<_>, Vec<_>) = noted.partition(|name| self.pack(name).exists());
        gone.iter().for_each(|name| self.forget(name));
        Ok(there)
    }

    pub(super) fn forget(&self, name: &str) {
        // A note without a pack means nothing, and goes next time.
        let _left = file::remove(&self.state.join(OURS).join(name));
    }

    /// Whether a `.keep` file is of our making.
    pub(super) fn is_kept_by_us(&self, name: &str) -> bool {
        file::read_bounded(&self.keep(name), 1_024).is_ok_and(|it| it.as_deref() == Some(KEPT))
    }

    /// Packs what is listed, puts the pack in its place and keeps it there; none if that is nothing.
    pub(super) fn pack_objects(
        &self,
        trees: &Trees,
        how: &str,
        listed: &str,
    ) -> Result<Option<NewPack>, GitError> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let scratch =
            PackScratch(self.state.join(SCRATCH).join(format!("{}-{number}", process::id())));
        file::make_private_folder(&scratch.0)?;
        let list = scratch.0.join("list");
        file::replace_volatile(&list, listed.as_bytes(), file::PRIVATE)?;
        let git = SETTINGS.into_iter().fold(trees.git()?, Git::setting).reading(&list);
        let base = scratch.0.join("pack");
        let base = base.to_string_lossy();
        let options = ["pack-objects", "--quiet", "--non-empty", "--delta-base-offset"];
        let printed = git.text(&[&options[..], &[how, &base]].concat())?;
        match printed.lines().next_back() {
            Some(hash) if !hash.is_empty() => self.place(&scratch.0, hash).map(Some),
            _ => Ok(None),
        }
    }

    /// Puts a pack that was written in its place. It is kept before git can see it.
    fn place(&self, scratch: &Path, hash: &str) -> Result<NewPack, GitError> {
        let name = format!("pack-{hash}");
        let from = |extension: &str| scratch.join(format!("{name}.{extension}"));
        let bytes = file::read_bounded(&from("idx"), INDEX_SIZE_MAX)?.unwrap_or_default();
        let objects = index::objects(&bytes, hash.len() / 2).ok_or(Hindrance::Clearing)?;
        file::replace_volatile(&self.state.join(OURS).join(&name), b"", file::PRIVATE)?;
        file::replace_volatile(&self.keep(&name), KEPT, file::SHARED)?;
        for extension in ["pack", "idx"] {
            file::rename(&from(extension), &self.file(&name, extension))?;
        }
        Ok(NewPack { name, objects })
    }

    /// Deletes the loose copy of an object that a pack of ours has.
    pub(super) fn delete_loose(&self, object: &str) {
        let Some((start, rest)) = object.split_at_checked(2) else { return };
        // One that stays takes some space.
        let _left = fs::remove_file(self.objects.join(start).join(rest));
    }
}

/// A folder in which a pack is written; gone when dropped.
struct PackScratch(PathBuf);

impl Drop for PackScratch {
    fn drop(&mut self) {
        // What stays is removed by `tidy`.
        let _left = fs::remove_dir_all(&self.0);
    }
}

/// The folder in which packs are written.
pub(super) fn scratch(trees: &Trees) -> PathBuf {
    trees.state().join(SCRATCH)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays another process")]
mod tests {
    use super::*;

    #[test]
    fn a_note_that_is_being_written_is_not_taken_away() {
        let base = tempfile::tempdir().unwrap();
        let (objects, state) = (base.path().join("objects"), base.path().join("state"));
        let folder = PackFolder { objects, state: state.clone() };
        let notes = state.join(OURS);
        for (path, name) in [(folder.packs(), "pack-1.pack"), (notes.clone(), "pack-1")] {
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(name), "").unwrap();
        }
        fs::write(notes.join("pack-2"), "").unwrap();
        fs::write(notes.join(".pack-3.waypost-new-1-1"), "").unwrap();
        assert_eq!(folder.ours().unwrap(), ["pack-1"]);
        assert_eq!(file::list(&notes).unwrap(), [".pack-3.waypost-new-1-1", "pack-1"]);
    }
}
