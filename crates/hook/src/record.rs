//! Reads the gate record of a work tree, and only takes it for what it is if Waypost has signed it
//! and nothing that it was compiled from has changed.
//!
//! The key is in the user's own folder (`waypost_model::seal`). A record that is not signed with it
//! says nothing at all: the journal is asked.

use crate::{Homes, spot::Spot};
use rustix::fs::OFlags;
use std::{
    fs::OpenOptions,
    io::Read as _,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};
use waypost_model::{
    layout,
    seal::{SEAL_SIZE_MAX, Seal},
    workflow::{GateRecord, Held, RECORD_SIZE_MAX, Watched},
};

/// What the record of a work tree says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No workflow is active.
    Free,
    /// A workflow holds the agent.
    Held(Held),
    /// There is no record, or it is damaged, not signed, or older than what it was compiled from.
    Unknown,
}

impl Standing {
    /// What the record beside the journal of this work tree says.
    pub fn of(spot: &Spot) -> Self {
        Self::with_journal(spot).0
    }

    /// The same, and the name of the journal that it was compiled from.
    pub fn with_journal(spot: &Spot) -> (Self, Option<String>) {
        match whole(spot) {
            Some(GateRecord { held: Some(held), journal, .. }) => (Self::Held(held), Some(journal)),
            Some(GateRecord { held: None, journal, .. }) => (Self::Free, Some(journal)),
            None => (Self::Unknown, None),
        }
    }
}

/// The record of a work tree, if it is ours and nothing has changed that it was compiled from.
pub(crate) fn whole(spot: &Spot) -> Option<GateRecord> {
    let is_ours = |watched: &Watched| is_unchanged(watched) && is_single(watched, &spot.state);
    record(spot).filter(|record| record.watched.iter().all(is_ours))
}

fn record(spot: &Spot) -> Option<GateRecord> {
    let seals = Homes::from_environment().state?.join(layout::user_state::SEALS);
    let folder = spot.state.to_str()?;
    let seal = Seal::parse(&read(&seals.join(Seal::file_name(folder)), SEAL_SIZE_MAX)?)?;
    (seal.folder == folder).then_some(())?;
    let path = spot.state.join(layout::state::GATES).join(&spot.tree);
    let text = read(&path, 2 * RECORD_SIZE_MAX)?;
    let record = GateRecord::parse(seal.verify(&spot.tree, &text)?).ok()?;
    (record.journal == seal.journal).then_some(record)
}

fn read(path: &Path, size_max: usize) -> Option<String> {
    let mut text = String::with_capacity(RECORD_SIZE_MAX);
    // A pipe in its place is no file of ours, and is not waited for.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    options.open(path).ok()?.take(size_max as u64 + 1).read_to_string(&mut text).ok()?;
    (text.len() <= size_max).then_some(text)
}

/// Whether a file beside the journal has one name only; with a second one it counts as damaged.
fn is_single(watched: &Watched, state: &Path) -> bool {
    let path = Path::new(&watched.path);
    let found = path.starts_with(state).then(|| path.symlink_metadata().ok()).flatten();
    found.is_none_or(|found| found.nlink() == 1)
}

/// Whether the system says of a file what it said when the record was compiled.
fn is_unchanged(watched: &Watched) -> bool {
    let Ok(found) = Path::new(&watched.path).symlink_metadata() else {
        return watched.inode.is_none();
    };
    let time = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
    watched.inode == Some(found.ino())
        && watched.content.is_none_or(|content| content == (found.size(), time))
}
