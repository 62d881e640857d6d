//! All that a journal in memory holds, and what can be asked of it.

use super::{chunks::Chunks, listings::Listings};
use crate::{
    error::StoreError,
    journal::{
        backend::{Reading, Visit},
        cursor::Cursor,
        entry::{
            Append, Appended, DocumentNote, EventRef, NewEffect, OpenEffect, Recorded, Snapshot,
            StreamHead,
        },
        listing::{ListedStream, ListingCount, ListingQuery},
    },
};
use std::{collections::BTreeMap, sync::Arc};
use waypost_model::{id::StreamName, time::Time};

/// How many snapshots of a stream are kept: the newest, and one in case that cannot be used.
const SNAPSHOTS_KEPT: usize = 2;

/// A journal at one instant. A copy costs nothing until it is changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    tables: Arc<Tables>,
}

/// What the journal holds. A copy shares everything that does not change.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Entry `seq` is at position `seq - 1`.
    entries: Chunks<Arc<KeptEntry>>,
    /// The entries of each stream, in the same way.
    streams: BTreeMap<StreamName, Chunks<Arc<KeptEntry>>>,
    /// Those that are not done, by id.
    effects: BTreeMap<u64, Arc<OpenEffect>>,
    /// Of all that were ever queued.
    effect_ids: BTreeMap<Arc<str>, u64>,
    /// Oldest first.
    snapshots: BTreeMap<StreamName, Vec<Arc<Snapshot>>>,
    /// The newest note of each path.
    documents: BTreeMap<String, Arc<DocumentNote>>,
    pub(super) listings: Listings,
}

#[derive(Debug)]
struct KeptEntry {
    seq: u64,
    stream: StreamName,
    stream_seq: u64,
    at: Time,
    actor: String,
    format: u32,
    kind: String,
    body: String,
}

impl KeptEntry {
    fn as_event(&self) -> EventRef<'_> {
        EventRef {
            seq: self.seq,
            stream_seq: self.stream_seq,
            at: self.at,
            actor: &self.actor,
            format: self.format,
            kind: &self.kind,
            body: &self.body,
        }
    }

    fn to_recorded(&self) -> Result<Recorded, StoreError> {
        self.as_event().to_recorded(&self.stream)
    }
}

impl Contents {
    /// What can be changed without others seeing it.
    pub(super) fn change(&mut self) -> &mut Tables {
        Arc::make_mut(&mut self.tables)
    }

    /// When the last entry was recorded.
    pub(super) fn last_at(&self) -> Option<Time> {
        let entries = &self.tables.entries;
        entries.from(entries.len().saturating_sub(1)).next().map(|entry| entry.at)
    }

    /// About as many bytes as are in it.
    pub(super) fn size(&self) -> u64 {
        let Tables { entries, snapshots, .. } = &*self.tables;
        let entries = entries.from(0).map(|it| it.body.len() + it.kind.len() + it.actor.len());
        let snapshots = snapshots.values().flatten().map(|it| it.body.len());
        entries.chain(snapshots).sum::<usize>() as u64
    }
}

impl Tables {
    fn head_of(&self, stream: &StreamName) -> u64 {
        self.streams.get(stream).map_or(0, |entries| entries.len() as u64)
    }

    fn last(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(super) fn append(&mut self, append: Append<'_>) -> Result<Appended, StoreError> {
        let Append { stream, seen, actor, at, events } = append;
        let head = self.head_of(stream);
        if head != seen {
            return Err(StoreError::Moved { stream: stream.clone(), seen, head });
        }
        for event in events {
            let entry = Arc::new(KeptEntry {
                seq: self.last() + 1,
                stream: stream.clone(),
                stream_seq: self.head_of(stream) + 1,
                at,
                actor: actor.to_string(),
                format: event.format,
                kind: event.kind.to_owned(),
                body: event.body.into_owned(),
            });
            self.streams.entry(stream.clone()).or_default().push(Arc::clone(&entry));
            self.entries.push(entry);
        }
        Ok(Appended { last_seq: self.last(), head: self.head_of(stream) })
    }

    /// Whether it was not there already.
    pub(super) fn queue(&mut self, effect: &NewEffect<'_>) -> bool {
        self.streams.entry(effect.stream.clone()).or_default();
        if self.effect_ids.contains_key(effect.key) {
            return false;
        }
        self.queue_again(effect);
        true
    }

    /// Whatever became of the work with this key, this takes its place.
    pub(super) fn queue_again(&mut self, effect: &NewEffect<'_>) {
        self.streams.entry(effect.stream.clone()).or_default();
        let next = self.effect_ids.len() as u64 + 1;
        let id = self.effect_ids.get(effect.key).copied().unwrap_or(next);
        self.effect_ids.insert(effect.key.into(), id);
        let open = OpenEffect {
            id,
            key: effect.key.to_owned(),
            stream: effect.stream.clone(),
            stream_seq: effect.stream_seq,
            kind: effect.kind.to_owned(),
            body: effect.body.to_owned(),
            due: effect.due,
        };
        self.effects.insert(id, Arc::new(open));
    }

    pub(super) fn mark_effect_done(&mut self, id: u64) -> bool {
        self.effects.remove(&id).is_some()
    }

    pub(super) fn mark_key_done(&mut self, key: &str) -> bool {
        self.effect_ids.get(key).is_some_and(|id| self.effects.remove(id).is_some())
    }

    pub(super) fn mark_kind_done(&mut self, kind: &str) -> usize {
        let of_kind = self.effects.values().filter(|effect| effect.kind == kind);
        let ids: Vec<u64> = of_kind.map(|effect| effect.id).collect();
        ids.into_iter().filter(|id| self.mark_effect_done(*id)).count()
    }

    pub(super) fn postpone_effect(&mut self, id: u64, due: Time, body: &str) -> bool {
        let Some(effect) = self.effects.get_mut(&id) else { return false };
        let effect = Arc::make_mut(effect);
        effect.due = Some(due);
        body.clone_into(&mut effect.body);
        true
    }

    pub(super) fn save_snapshot(
        &mut self,
        stream: &StreamName,
        snapshot: Snapshot,
    ) -> Result<(), StoreError> {
        let (head, seen) = (self.head_of(stream), snapshot.stream_seq);
        if seen == 0 || seen > head {
            return Err(StoreError::Moved { stream: stream.clone(), seen, head });
        }
        let kept = self.snapshots.entry(stream.clone()).or_default();
        kept.retain(|it| it.stream_seq != seen);
        kept.push(Arc::new(snapshot));
        kept.sort_by_key(|it| it.stream_seq);
        kept.drain(..kept.len().saturating_sub(SNAPSHOTS_KEPT));
        Ok(())
    }

    pub(super) fn note_document(&mut self, note: &DocumentNote) {
        self.documents.insert(note.path.clone(), Arc::new(note.clone()));
    }

    fn effects_that(
        &self,
        is_wanted: impl Fn(&OpenEffect) -> bool,
        limit: usize,
    ) -> Vec<OpenEffect> {
        let wanted = self.effects.values().filter(|effect| is_wanted(effect));
        wanted.take(limit).map(|effect| OpenEffect::clone(effect)).collect()
    }
}

impl Reading for Contents {
    fn head(&self, stream: &StreamName) -> Result<u64, StoreError> {
        Ok(self.tables.head_of(stream))
    }

    fn streams(&self) -> Result<Vec<StreamHead>, StoreError> {
        let head =
            |name: &StreamName| StreamHead { name: name.clone(), head: self.tables.head_of(name) };
        Ok(self.tables.streams.keys().map(head).collect())
    }

    fn last_seq(&self) -> Result<u64, StoreError> {
        Ok(self.tables.last())
    }

    fn walk(
        &self,
        stream: &StreamName,
        after: u64,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        let events = self.tables.streams.get(stream).into_iter().flat_map(|it| it.from(after));
        let _visited = events.map(|entry| visit(entry.as_event())).find(|it| it.is_break());
        Ok(())
    }

    fn end(&self) -> Result<Cursor, StoreError> {
        Ok(Cursor::after(self.tables.last()))
    }

    fn feed(&self, after: Cursor, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        if after.seq() > self.tables.last() {
            return Err(StoreError::Ahead { cursor: after });
        }
        let start = usize::try_from(after.seq()).unwrap_or(usize::MAX);
        self.tables.entries.from(start).take(limit).map(|entry| entry.to_recorded()).collect()
    }

    fn feed_until(&self, until: Cursor, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let end = usize::try_from(until.seq()).unwrap_or(usize::MAX).min(self.tables.entries.len());
        let start = end.saturating_sub(limit);
        self.tables.entries.from(start).take(end - start).map(|entry| entry.to_recorded()).collect()
    }

    fn snapshot_before(
        &self,
        stream: &StreamName,
        stream_seq: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        let kept = self.tables.snapshots.get(stream).map_or(&[][..], Vec::as_slice);
        let found = kept.iter().rev().find(|it| it.stream_seq < stream_seq);
        Ok(found.map(|it| Snapshot::clone(it)))
    }

    fn open_effects_of(&self, kind: &str, limit: usize) -> Result<Vec<OpenEffect>, StoreError> {
        Ok(self.tables.effects_that(|effect| effect.kind == kind, limit))
    }

    fn due_effects(
        &self,
        kind: &str,
        now: Time,
        limit: usize,
    ) -> Result<Vec<OpenEffect>, StoreError> {
        let is_due = |it: &OpenEffect| it.kind == kind && it.due.is_some_and(|due| due <= now);
        let mut due = self.tables.effects_that(is_due, usize::MAX);
        due.sort_by_key(|effect| effect.due);
        due.truncate(limit);
        Ok(due)
    }

    fn next_due(&self, kind: &str) -> Result<Option<Time>, StoreError> {
        let of_kind = self.tables.effects.values().filter(|effect| effect.kind == kind);
        Ok(of_kind.filter_map(|effect| effect.due).min())
    }

    fn listings(&self, query: &ListingQuery<'_>) -> Result<Vec<ListedStream>, StoreError> {
        Ok(self.tables.listings.find(query))
    }

    fn listing_counts(&self, kind: &str) -> Result<Vec<ListingCount>, StoreError> {
        Ok(self.tables.listings.count(kind))
    }

    fn document(&self, path: &str) -> Result<Option<DocumentNote>, StoreError> {
        Ok(self.tables.documents.get(path).map(|note| DocumentNote::clone(note)))
    }
}
