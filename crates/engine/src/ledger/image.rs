//! Images of large machines, kept beside the journal between two commands.
//!
//! Loading a run of 10,000 tasks from its snapshot costs more than all else that a command does. An image
//! has the same state in parts, of which most are never looked at. It is a cache: it says after
//! which event of which journal it holds and which program has written it, and whatever does not
//! match is as good as nothing.

use super::loaded::Loaded;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    env,
    path::{Path, PathBuf},
    sync::OnceLock,
};
use waypost_model::{id::StreamName, image::Codec, layout, machine::Machine, time::Time};
use waypost_store::{
    StoreError,
    file::Mark,
    image::{self, ImageEnd},
    journal::View,
};

/// A machine with fewer rows is loaded whole as quickly.
const SIZE_MIN: usize = 200;

/// After so many events a host keeps images of what it has loaded anyway: replaying that many takes
/// a command ten milliseconds.
pub(crate) const HOST_INTERVAL: u64 = 5_000;

/// Which state of a stream something was made from. With the last event's time in it, the same event
/// of a journal that was restored from a backup and has gone another way since is another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateKey {
    pub(crate) journal: String,
    pub(crate) head: u64,
    seq: u64,
    at: Time,
}

impl StateKey {
    /// The state of `stream` after `head` events; none if it has had fewer, or has none.
    pub(crate) fn at(
        view: &View<'_>,
        journal: &str,
        (stream, head): (&StreamName, u64),
    ) -> Result<Option<Self>, StoreError> {
        if head == 0 || view.head(stream)? < head {
            return Ok(None);
        }
        let last = view.events(stream, head - 1, 1)?;
        let journal = journal.to_owned();
        Ok(last.first().map(|it| Self { journal, head, seq: it.seq, at: it.at }))
    }
}

/// Where the images of one project are.
#[derive(Debug)]
pub(crate) struct ImagePlace {
    folder: PathBuf,
    journal: String,
}

/// For what an image holds.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ImageKey {
    /// Another program may write the same parts in other words.
    program: Mark,
    format: u32,
    state: StateKey,
    /// How many events the newest snapshot has.
    snapshot_at: u64,
}

/// An image of a machine as this process has read or written it.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownImage {
    /// After how many events it holds.
    pub(super) head: u64,
    /// How many events the newest snapshot had then.
    pub(super) snapshot_at: u64,
    end: ImageEnd,
}

impl ImagePlace {
    pub(crate) fn new(folder: &Path, journal: &str) -> Self {
        Self { folder: folder.to_owned(), journal: journal.to_owned() }
    }

    fn path(&self, stream: &StreamName) -> PathBuf {
        let name = stream.as_str().replacen(':', "-", 1);
        self.folder.join(format!("{name}{}", layout::state::IMAGE_SUFFIX))
    }

    /// The state that an image has, and the image; none if there is none that holds.
    pub(super) fn load<M: Machine>(
        &self,
        view: &View<'_>,
        stream: &StreamName,
    ) -> Result<Option<(M, KnownImage)>, StoreError> {
        // What cannot be read is as good as nothing.
        let Ok(Some(read)) = image::read(&self.path(stream)) else { return Ok(None) };
        let Ok(key) = serde_json::from_slice::<ImageKey>(&read.key) else { return Ok(None) };
        if Some(key.program) != this_program() || key.format != M::FORMAT {
            return Ok(None);
        }
        let (head, snapshot_at) = (key.state.head, key.snapshot_at);
        if StateKey::at(view, &self.journal, (stream, head))? != Some(key.state) {
            return Ok(None);
        }
        let state = M::of_image::<JsonCodec>(&read.image);
        Ok(state.map(|state| (state, KnownImage { head, snapshot_at, end: read.end })))
    }

    /// Keeps the state if so many events have come since it was kept last. Whatever stands against it
    /// only costs time later.
    pub(super) fn keep<M: Machine>(&self, view: &View<'_>, loaded: &mut Loaded<M>, after: u64) {
        let known = loaded.image;
        let is_due = known.is_none_or(|known| loaded.head >= known.head + after.max(1));
        if is_due && loaded.state.size() >= SIZE_MIN {
            // An image that was not written whole, or not at all, is known no more: the next is.
            loaded.image = self.write(view, loaded, known).ok().flatten();
        }
    }

    fn write<M: Machine>(
        &self,
        view: &View<'_>,
        loaded: &mut Loaded<M>,
        known: Option<KnownImage>,
    ) -> Result<Option<KnownImage>, StoreError> {
        let (stream, head) = (loaded.stream.clone(), loaded.head);
        let snapshot_at = loaded.snapshot_at;
        let state = StateKey::at(view, &self.journal, (&stream, head))?;
        let (Some(state), Some(program)) = (state, this_program()) else { return Ok(None) };
        let key = ImageKey { program, format: M::FORMAT, state, snapshot_at };
        let key = serde_json::to_vec(&key).expect("a key is plain data");
        let path = self.path(&stream);
        let known = known.filter(|known| !known.end.is_long());
        let Some(taken) = loaded.state.take_image::<JsonCodec>(known.is_none()) else {
            return Ok(None);
        };
        if let Some(known) = known.filter(|_| !taken.is_whole)
            && let Some(end) = image::add(&path, known.end, &key, &taken.parts)?
        {
            return Ok(Some(KnownImage { head, snapshot_at, end }));
        }
        let parts = match taken.is_whole {
            true => Some(taken),
            false => loaded.state.take_image::<JsonCodec>(true),
        };
        let Some(parts) = parts else { return Ok(None) };
        let end = image::replace(&path, &key, &parts.parts)?;
        Ok(Some(KnownImage { head, snapshot_at, end }))
    }
}

/// The file that this program is.
fn this_program() -> Option<Mark> {
    static PROGRAM: OnceLock<Option<Mark>> = OnceLock::new();
    *PROGRAM.get_or_init(|| Mark::of(&env::current_exe().ok()?).ok().flatten())
}

/// Parts as JSON, like everything else that is kept.
#[derive(Debug)]
pub(super) struct JsonCodec;

impl Codec for JsonCodec {
    fn encode<T: Serialize>(value: &T) -> Vec<u8> {
        serde_json::to_vec(value).expect("states are plain data")
    }

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
        serde_json::from_slice(bytes).ok()
    }
}

#[cfg(test)]
mod tests;
