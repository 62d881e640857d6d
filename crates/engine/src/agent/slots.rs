//! How many agents may work on this machine at once, for whatever project and in whatever process.
//!
//! A slot is a lock on a file in the person's own state folder, so the system frees it when the
//! process that holds it is gone. An agent that waits for a person has none. One that is taken over
//! from an engine that died goes on whether there is a slot or not: it works already.

use crate::{error::EngineError, project::Project};
use std::path::PathBuf;
use waypost_model::layout::user_state;
use waypost_store::{file, lock::FileLock};

/// The slots of this machine, as one project's configuration counts them.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// None: there is no such folder, and nothing is counted.
    folder: Option<PathBuf>,
    limit: usize,
}

/// The right to let an agent work, for as long as it is held.
#[derive(Debug)]
pub(crate) struct Slot(
    #[expect(dead_code, reason = "it counts as long as it is there")] Option<FileLock>,
);

impl Slots {
    pub(crate) fn of(project: &Project) -> Self {
        let folder = project.setup.home.state.as_ref().map(|home| home.join(user_state::SLOTS));
        Self { folder, limit: project.configuration().values.run.max_agents as usize }
    }

    /// Takes a slot; none if all are taken.
    pub(crate) fn take(&self) -> Result<Option<Slot>, EngineError> {
        let Some(folder) = &self.folder else { return Ok(Some(Slot(None))) };
        file::make_private_folder(folder)?;
        for number in 0..self.limit {
            if let Some(lock) = FileLock::try_acquire(&folder.join(number.to_string()))? {
                return Ok(Some(Slot(Some(lock))));
            }
        }
        Ok(None)
    }

    /// How many are free, up to `wanted`.
    pub(crate) fn free(&self, wanted: usize) -> Result<usize, EngineError> {
        let mut taken = Vec::new();
        while taken.len() < wanted
            && let Some(slot) = self.take()?
        {
            taken.push(slot);
        }
        Ok(taken.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_taken_once_and_free_again_when_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let slots = |limit| Slots { folder: Some(folder.path().join("slots")), limit };
        let (few, many) = (slots(2), slots(3));
        assert_eq!(few.free(9).unwrap(), 2);
        let held = [few.take().unwrap().unwrap(), few.take().unwrap().unwrap()];
        assert!(few.take().unwrap().is_none());
        // Another project may let more agents work; those of the first count for it, too.
        assert_eq!(many.free(9).unwrap(), 1);
        drop(held);
        assert_eq!((few.free(1).unwrap(), many.free(9).unwrap()), (1, 3));
        let none = Slots { folder: None, limit: 1 };
        assert!(none.take().unwrap().is_some() && none.take().unwrap().is_some());
    }
}
