//! Reading: every read through one view sees the journal as it was at one instant.

use super::{
    backend::Reading,
    cursor::Cursor,
    entry::{DocumentNote, EventRef, OpenEffect, Recorded, Snapshot, StreamHead},
    listing::{ListedStream, ListingCount, ListingQuery},
};
use crate::error::StoreError;
use std::ops::ControlFlow;
use waypost_model::{id::StreamName, time::Time};

/// A consistent look at the journal.
#[derive(Debug)]
pub struct View<'a> {
    reading: ViewSource<'a>,
}

#[derive(Debug)]
enum ViewSource<'a> {
    Own(Box<dyn Reading + 'a>),
    /// From inside a transaction.
    Lent(&'a dyn Reading),
}

impl<'a> View<'a> {
    pub(super) fn over(reading: Box<dyn Reading + 'a>) -> Self {
        Self { reading: ViewSource::Own(reading) }
    }

    /// A look from inside a transaction, at what it has written so far.
    pub(super) fn inside(reading: &'a dyn Reading) -> Self {
        Self { reading: ViewSource::Lent(reading) }
    }

    fn reading(&self) -> &(dyn Reading + 'a) {
        match &self.reading {
            ViewSource::Own(own) => own.as_ref(),
            ViewSource::Lent(lent) => *lent,
        }
    }

    /// The version of `stream`: the number of its events, 0 if it has none.
    pub fn head(&self, stream: &StreamName) -> Result<u64, StoreError> {
        self.reading().head(stream)
    }

    /// All streams by name.
    pub fn streams(&self) -> Result<Vec<StreamHead>, StoreError> {
        self.reading().streams()
    }

    /// The number of the journal's last entry, 0 if it has none.
    pub fn last_seq(&self) -> Result<u64, StoreError> {
        self.reading().last_seq()
    }

    /// At most `limit` events of `stream` that follow its event `after`.
    pub fn events(
        &self,
        stream: &StreamName,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        let mut found = Vec::new();
        if limit == 0 {
            return Ok(found);
        }
        let mut failed = None;
        self.reading().walk(stream, after, &mut |event| match event.to_recorded(stream) {
            Ok(recorded) => {
                found.push(recorded);
                if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            }
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(found), Err)
    }

    /// Visits every event of `stream` that follows its event `after`, without copying any.
    pub fn for_each_event<E: From<StoreError>>(
        &self,
        stream: &StreamName,
        after: u64,
        mut visit: impl FnMut(EventRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut failed = None;
        self.reading().walk(stream, after, &mut |event| match visit(event) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// The end of the feed: everything that is recorded now lies before it.
    pub fn end(&self) -> Result<Cursor, StoreError> {
        self.reading().end()
    }

    /// At most `limit` entries of all streams that follow `after`, in order.
    pub fn feed(&self, after: Cursor, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.reading().feed(after, limit)
    }

    /// The newest `limit` entries up to `until`, oldest first.
    pub fn feed_until(&self, until: Cursor, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.reading().feed_until(until, limit)
    }

    /// The newest snapshot of `stream`.
    pub fn snapshot(&self, stream: &StreamName) -> Result<Option<Snapshot>, StoreError> {
        self.snapshot_before(stream, u64::MAX)
    }

    /// The newest snapshot older than `stream_seq`, for when that one cannot be used.
    pub fn snapshot_before(
        &self,
        stream: &StreamName,
        stream_seq: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.reading().snapshot_before(stream, stream_seq)
    }

    /// At most `limit` effects of one kind that are not done, due or not, in the order they were
    /// queued.
    pub fn open_effects_of(&self, kind: &str, limit: usize) -> Result<Vec<OpenEffect>, StoreError> {
        self.reading().open_effects_of(kind, limit)
    }

    /// At most `limit` effects of one kind that are not done and whose time has come at `now`, the
    /// one that has waited longest first. What has no time is not among them.
    pub fn due_effects(
        &self,
        kind: &str,
        now: Time,
        limit: usize,
    ) -> Result<Vec<OpenEffect>, StoreError> {
        self.reading().due_effects(kind, now, limit)
    }

    /// When the time of the next effect of this kind comes, or came.
    pub fn next_due(&self, kind: &str) -> Result<Option<Time>, StoreError> {
        self.reading().next_due(kind)
    }

    /// The rows of streams of one kind; a stream without a row is in no list.
    pub fn listings(&self, query: &ListingQuery<'_>) -> Result<Vec<ListedStream>, StoreError> {
        self.reading().listings(query)
    }

    /// How many rows of a kind there are in each state, by whether they are hidden, then by state.
    pub fn listing_counts(&self, kind: &str) -> Result<Vec<ListingCount>, StoreError> {
        self.reading().listing_counts(kind)
    }

    /// The newest note about the document at `path`.
    pub fn document(&self, path: &str) -> Result<Option<DocumentNote>, StoreError> {
        self.reading().document(path)
    }
}
