//! Reads the gate record of a work tree, and only takes it for what it is while nothing that it
//! was compiled from has changed.

use crate::spot::Spot;
use rustix::fs::OFlags;
use std::{
    fs::OpenOptions,
    io::Read as _,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};
use waypost_model::layout;
use waypost_model::workflow::{GateRecord, Held, RECORD_SIZE_MAX, Watched};

/// What the record of a work tree says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No workflow is active.
    Free,
    /// A workflow holds the agent.
    Held(Held),
    /// There is no record, or it is damaged, or older than what it was compiled from.
    Unknown,
}

impl Standing {
    /// What the record beside the journal of this work tree says.
    pub fn of(spot: &Spot) -> Self {
        let record = read(&spot.state.join(layout::state::GATES).join(&spot.tree));
        match record.filter(|record| record.watched.iter().all(is_unchanged)) {
            Some(GateRecord { held: Some(held), .. }) => Self::Held(held),
            Some(GateRecord { held: None, .. }) => Self::Free,
            None => Self::Unknown,
        }
    }
}

fn read(path: &Path) -> Option<GateRecord> {
    let mut text = String::with_capacity(RECORD_SIZE_MAX);
    let limit = RECORD_SIZE_MAX as u64 + 1;
    // A pipe in its place is no record, and is not waited for.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    options.open(path).ok()?.take(limit).read_to_string(&mut text).ok()?;
    GateRecord::parse(&text).ok()
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
