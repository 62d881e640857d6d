//! How many agents may work on this machine at once, for whatever project and in whatever process.
//!
//! Each process that lets agents work has a file in the person's own state folder, locked for as long
//! as it lives and as long as it has slots: so the system frees what a process had that is gone, and one
//! open file does for any number of agents. All of them are counted in turn. An agent that waits for a
//! person has no slot. One that is taken over from an engine that died goes on whether there is a slot or
//! not: it works already.

use super::new_uuid;
use crate::{error::EngineError, project::Project};
use std::{
    fs, io, mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use waypost_model::layout::user_state;
use waypost_store::{StoreError, file, lock::FileLock};

/// The lock of the one who counts.
const TURN: &str = "turn";

/// The slots of this machine, as one project's configuration counts them.
#[derive(Debug)]
pub(crate) struct Slots {
    /// None: there is no such folder, and nothing is counted.
    folder: Option<PathBuf>,
    limit: usize,
    own: Arc<Mutex<OwnSlots>>,
}

/// Those that were taken here.
#[derive(Debug, Default)]
struct OwnSlots {
    count: usize,
    /// Whether one was given back since that was asked.
    is_news: bool,
    /// As long as their number in bytes; none: there are none.
    file: Option<(PathBuf, FileLock)>,
}

/// The right to let an agent work, for as long as it is held.
#[derive(Debug)]
pub(crate) struct Slot(Option<Arc<Mutex<OwnSlots>>>);

impl Slots {
    pub(crate) fn of(project: &Project) -> Self {
        let folder = project.setup.home.state.as_ref().map(|home| home.join(user_state::SLOTS));
        let limit = project.configuration().values.run.max_agents as usize;
        Self { folder, limit, own: Arc::default() }
    }

    /// Takes a slot; none if all are taken.
    pub(crate) fn take(&self) -> Result<Option<Slot>, EngineError> {
        let Some(folder) = &self.folder else { return Ok(Some(Slot(None))) };
        let _turn = turn(folder)?;
        let mut own = lock(&self.own);
        if own.count + others(folder, own.path())? >= self.limit {
            return Ok(None);
        }
        own.add(folder)?;
        Ok(Some(Slot(Some(Arc::clone(&self.own)))))
    }

    /// Whether one was given back here since this was asked: one that waits may take it now.
    pub(crate) fn were_given_back(&self) -> bool {
        mem::take(&mut lock(&self.own).is_news)
    }

    /// How many are free, up to `wanted`.
    pub(crate) fn free(&self, wanted: usize) -> Result<usize, EngineError> {
        let Some(folder) = &self.folder else { return Ok(wanted) };
        let _turn = turn(folder)?;
        let own = lock(&self.own);
        let taken = own.count + others(folder, own.path())?;
        Ok(self.limit.saturating_sub(taken).min(wanted))
    }
}

impl OwnSlots {
    fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, _)| path.as_path())
    }

    /// One more. Only in turn.
    fn add(&mut self, folder: &Path) -> Result<(), EngineError> {
        if self.file.is_none() {
            let path = folder.join(new_uuid());
            let taken = FileLock::try_acquire(&path)?;
            let busy = || StoreError::Busy { what: path.display().to_string(), holder: None };
            self.file = Some((path.clone(), taken.ok_or_else(busy)?));
        }
        self.count += 1;
        self.note().inspect_err(|_| self.count -= 1)
    }

    /// Notes how many there are where others count them.
    fn note(&self) -> Result<(), EngineError> {
        let Some((path, lock)) = &self.file else { return Ok(()) };
        let written = lock.try_clone_file()?.set_len(self.count as u64);
        let failed = |source| StoreError::File { action: "write", path: path.clone(), source };
        Ok(written.map_err(failed)?)
    }

    fn give_back(&mut self) {
        self.is_news = true;
        self.count = self.count.saturating_sub(1);
        if self.count > 0 {
            // Should the file say too many, that ends with this process.
            let _too_many = self.note();
        } else if let Some((path, _)) = self.file.take() {
            // One that is left is taken away by the next one who counts.
            let _left = fs::remove_file(path);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(own) = &self.0 {
            lock(own).give_back();
        }
    }
}

/// Waits until no other process counts.
fn turn(folder: &Path) -> Result<FileLock, EngineError> {
    file::make_private_folder(folder)?;
    Ok(FileLock::acquire(&folder.join(TURN))?)
}

/// How many slots have been taken in the name of other files than `own`. What processes left that are
/// gone is removed.
fn others(folder: &Path, own: Option<&Path>) -> Result<usize, EngineError> {
    let failed =
        |source: io::Error| StoreError::File { action: "read", path: folder.to_owned(), source };
    let mut count = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, name) = (entry.path(), entry.file_name());
        if name == TURN || own == Some(&path) {
            continue;
        }
        match FileLock::try_acquire(&path)? {
            Some(_free) => fs::remove_file(&path).map_err(failed)?,
            // Earlier versions have a file for each slot, named by its number.
            None if name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) => count += 1,
            None => count += entry.metadata().map_or(1, |found| found.len() as usize),
        }
    }
    Ok(count)
}

/// A thread that panicked while it held the lock has left nothing half-done in it.
fn lock(own: &Mutex<OwnSlots>) -> MutexGuard<'_, OwnSlots> {
    own.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(folder: &Path, limit: usize) -> Slots {
        Slots { folder: Some(folder.join("slots")), limit, own: Arc::default() }
    }

    #[test]
    fn a_slot_is_taken_once_and_free_again_when_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let (few, many) = (slots(folder.path(), 2), slots(folder.path(), 3));
        assert_eq!(few.free(9).unwrap(), 2);
        let held = [few.take().unwrap().unwrap(), few.take().unwrap().unwrap()];
        assert!(few.take().unwrap().is_none());
        // Another project may let more agents work; those of the first count for it, too.
        assert_eq!(many.free(9).unwrap(), 1);
        let [first, second] = held;
        drop(first);
        assert_eq!((few.free(9).unwrap(), many.free(9).unwrap()), (1, 2));
        drop(second);
        assert_eq!((few.free(1).unwrap(), many.free(9).unwrap()), (1, 3));
        // Nothing stays but the lock of the one who counts.
        assert_eq!(fs::read_dir(folder.path().join("slots")).unwrap().count(), 1);
        let none = Slots { folder: None, ..slots(folder.path(), 1) };
        assert!(none.take().unwrap().is_some() && none.take().unwrap().is_some());
        assert_eq!(none.free(7).unwrap(), 7);
    }

    #[test]
    fn one_that_is_given_back_here_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let slots = slots(folder.path(), 2);
        let held = [slots.take().unwrap(), slots.take().unwrap()];
        assert!(!slots.were_given_back());
        drop(held);
        assert_eq!((slots.were_given_back(), slots.were_given_back()), (true, false));
    }

    #[test]
    fn slots_of_processes_that_are_gone_are_free_and_those_of_earlier_versions_count() {
        let folder = tempfile::tempdir().unwrap();
        let slots = slots(folder.path(), 10);
        let path = |name: &str| folder.path().join("slots").join(name);
        let write = |name: &str, bytes: &[u8]| {
            file::replace(&path(name), bytes, file::PRIVATE).unwrap();
        };
        assert_eq!(slots.free(99).unwrap(), 10);
        write("gone", b"xxxx");
        write("0", b"");
        assert_eq!(slots.free(99).unwrap(), 10);
        assert!(!path("gone").exists());
        let earlier = FileLock::acquire(&path("3")).unwrap();
        write("other", b"xxxx");
        let other = FileLock::acquire(&path("other")).unwrap();
        assert_eq!(slots.free(99).unwrap(), 5);
        drop((earlier, other));
        assert_eq!(slots.free(99).unwrap(), 10);
    }

    #[test]
    fn any_number_of_slots_takes_one_open_file() {
        let folder = tempfile::tempdir().unwrap();
        let slots = slots(folder.path(), 500);
        let held: Vec<Slot> = (0..500).filter_map(|_| slots.take().unwrap()).collect();
        assert_eq!((held.len(), slots.free(1).unwrap()), (500, 0));
        let here = folder.path().display().to_string();
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let paths = open.filter_map(|it| fs::read_link(it.path()).ok());
        let count = paths.filter(|path| path.to_string_lossy().contains(&here)).count();
        assert_eq!(count, 1);
    }
}
