//! What goes into the journal and comes out of it.

use super::cursor::Cursor;
use crate::error::StoreError;
use std::borrow::Cow;
use waypost_model::{
    actor::{Actor, BadActor},
    id::StreamName,
    time::Time,
};

/// For what a journal is opened.
#[derive(Clone, Copy, Debug)]
pub enum Mode<'a> {
    ReadOnly,
    ReadWrite,
    /// As `ReadWrite`; made first if there is none.
    Create(&'a Birth),
}

/// What a new journal is told about itself; there is neither a clock nor chance in here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Birth {
    pub journal_id: String,
    pub at: Time,
}

/// An event to be recorded; `format` is the version of `body`'s shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent<'a> {
    pub kind: &'a str,
    pub format: u32,
    /// Given away rather than lent where it can be long: the database copies it twice.
    pub body: Cow<'a, str>,
}

/// Events of one decision, for one stream.
#[derive(Clone, Debug)]
pub struct Append<'a> {
    pub stream: &'a StreamName,
    /// The version that was decided on; 0 for a stream without events.
    pub seen: u64,
    pub actor: &'a Actor,
    pub at: Time,
    pub events: Vec<NewEvent<'a>>,
}

/// Where events came to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The number of the last of them in the whole journal; they are consecutive.
    pub last_seq: u64,
    /// The stream's version now: the number of its events.
    pub head: u64,
}

/// An entry as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub seq: u64,
    pub stream: StreamName,
    pub stream_seq: u64,
    pub at: Time,
    pub actor: Actor,
    pub format: u32,
    pub kind: String,
    pub body: String,
}

impl Recorded {
    /// From where the feed goes on behind this entry.
    pub fn cursor(&self) -> Cursor {
        Cursor::after(self.seq)
    }

    /// Up to where the feed leads before this entry.
    pub fn cursor_before(&self) -> Cursor {
        Cursor::after(self.seq.saturating_sub(1))
    }
}

/// An entry while it is being read; replaying a long stream copies nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRef<'a> {
    pub seq: u64,
    pub stream_seq: u64,
    pub at: Time,
    pub actor: &'a str,
    pub format: u32,
    pub kind: &'a str,
    pub body: &'a str,
}

impl EventRef<'_> {
    /// The same as an entry of `stream`, to be kept.
    pub(super) fn to_recorded(self, stream: &StreamName) -> Result<Recorded, StoreError> {
        let unreadable =
            |error: BadActor| StoreError::Undecodable { seq: self.seq, detail: error.to_string() };
        Ok(Recorded {
            seq: self.seq,
            stream: stream.clone(),
            stream_seq: self.stream_seq,
            at: self.at,
            actor: self.actor.parse().map_err(unreadable)?,
            format: self.format,
            kind: self.kind.to_owned(),
            body: self.body.to_owned(),
        })
    }
}

/// A stream and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamHead {
    pub name: StreamName,
    pub head: u64,
}

/// The state of a stream after `stream_seq` events, so that older ones need not be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub stream_seq: u64,
    pub format: u32,
    pub body: Vec<u8>,
}

/// What a snapshot is of: the state of `stream` after `stream_seq` events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotKey<'a> {
    pub stream: &'a StreamName,
    pub stream_seq: u64,
    pub format: u32,
}

/// Work for the outside that follows from an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewEffect<'a> {
    /// The same for the same work: queued twice, it is there once.
    pub key: &'a str,
    pub stream: &'a StreamName,
    pub stream_seq: u64,
    pub kind: &'a str,
    pub body: &'a str,
    /// Not before this time; `None`: at once.
    pub due: Option<Time>,
}

/// Work that is not done yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenEffect {
    pub id: u64,
    pub key: String,
    pub stream: StreamName,
    pub stream_seq: u64,
    pub kind: String,
    pub body: String,
    pub due: Option<Time>,
}

/// That a document, which is truth as a file, was written, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentNote {
    /// Relative to the project, with `/`.
    pub path: String,
    pub hash: String,
    pub at: Time,
    pub actor: Actor,
    /// The journal's last entry at that time.
    pub seq: u64,
}
