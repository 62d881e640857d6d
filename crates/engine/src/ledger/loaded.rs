//! One machine in memory: its state, its place in the journal, and what it has decided.

use super::image::{ImagePlace, JsonCodec, KnownImage};
use crate::error::EngineError;
use std::{any::Any, fmt, ops::Range};
use waypost_model::{
    actor::Actor,
    id::StreamName,
    listing::Listing,
    machine::{Asked, Effect, Machine, Rejected},
    time::Time,
};
use waypost_store::{
    StoreError,
    journal::{Append, EventRef, NewEvent, NewListing, Transaction, View},
};

/// The fewest events between two snapshots of a stream; replaying that many takes a millisecond.
const SNAPSHOT_EVENTS_MIN: u64 = 1_000;

/// The most follow-ups of one command; a machine that wants more is broken.
const FOLLOW_UPS_MAX: usize = 100_000;

/// A machine's state with its place in the journal.
#[derive(Debug)]
pub(crate) struct Loaded<M> {
    pub(super) stream: StreamName,
    pub(crate) state: M,
    /// How many events are in `state`.
    pub(crate) head: u64,
    pub(super) snapshot_at: u64,
    /// The transaction in which it was last brought up to date.
    pub(super) turn: u64,
    /// The image that is kept of it, as far as we know.
    pub(super) image: Option<KnownImage>,
}

/// A machine of any kind, as the ledger holds it.
pub(super) trait AnyLoaded: Any + fmt::Debug + Send {
    fn turn(&self) -> u64;

    /// Takes a snapshot when enough has come together since the last one.
    fn snapshot_if_due(&mut self, tx: &mut Transaction<'_>) -> Result<(), StoreError>;

    /// Writes its row in the list of its kind, if that has one.
    fn list(&self, tx: &mut Transaction<'_>) -> Result<(), StoreError>;

    /// Keeps an image when so many events have come since the last one.
    fn keep_image(&mut self, place: &ImagePlace, view: &View<'_>, after: u64);
}

/// An event that is applied but not recorded yet.
#[derive(Debug)]
pub(super) struct Fresh<'a> {
    pub(super) stream: StreamName,
    stream_seq: u64,
    event: NewEvent<'static>,
    actor: &'a Actor,
    at: Time,
}

/// What a command has led to, beside events: effects of a stream after so many events.
pub(super) struct Handled {
    pub(super) stream: StreamName,
    pub(super) head: u64,
    pub(super) effects: Vec<Effect>,
}

impl<M: Machine> Loaded<M> {
    pub(super) fn load(
        view: &View<'_>,
        stream: &StreamName,
        images: Option<&ImagePlace>,
    ) -> Result<Self, StoreError> {
        let kept = images.map(|images| images.load(view, stream)).transpose()?.flatten();
        let mut loaded = match kept {
            Some((state, image)) => Self {
                stream: stream.clone(),
                state,
                head: image.head,
                snapshot_at: image.snapshot_at,
                turn: 0,
                image: Some(image),
            },
            None => Self::of_snapshot(view, stream)?,
        };
        loaded.catch_up(view)?;
        Ok(loaded)
    }

    /// The state after so many events; none if there are fewer.
    pub(crate) fn at(
        view: &View<'_>,
        stream: &StreamName,
        head: u64,
    ) -> Result<Option<M>, StoreError> {
        if view.head(stream)? < head {
            return Ok(None);
        }
        let newest = Self::of_snapshot(view, stream)?;
        let (mut state, seen) = match newest.head <= head {
            true => (newest.state, newest.head),
            false => (M::start(), 0),
        };
        // States that are asked for are not far back: what comes behind is soon passed over.
        view.for_each_event(stream, seen, |entry| {
            if entry.stream_seq <= head {
                state.apply(&decode::<M>(&entry)?, entry.at);
            }
            Ok::<(), StoreError>(())
        })?;
        Ok(Some(state))
    }

    /// Whether the state after one of these numbers of events is such.
    pub(crate) fn any(
        view: &View<'_>,
        stream: &StreamName,
        heads: Range<u64>,
        mut is_it: impl FnMut(&M) -> bool,
    ) -> Result<bool, StoreError> {
        let newest = Self::of_snapshot(view, stream)?;
        let (mut state, seen) = match newest.head <= heads.start {
            true => (newest.state, newest.head),
            false => (M::start(), 0),
        };
        let mut is_found = heads.contains(&seen) && is_it(&state);
        view.for_each_event(stream, seen, |entry| {
            if !is_found && entry.stream_seq < heads.end {
                state.apply(&decode::<M>(&entry)?, entry.at);
                is_found = heads.contains(&entry.stream_seq) && is_it(&state);
            }
            Ok::<(), StoreError>(())
        })?;
        Ok(is_found)
    }

    fn of_snapshot(view: &View<'_>, stream: &StreamName) -> Result<Self, StoreError> {
        let (state, head) = match view.snapshot(stream)? {
            // A snapshot in a format of before is only a cache: the events are still there.
            Some(snapshot) if snapshot.format == M::FORMAT => {
                let state = serde_json::from_slice(&snapshot.body).map_err(|error| {
                    StoreError::Undecodable { seq: snapshot.stream_seq, detail: error.to_string() }
                })?;
                (state, snapshot.stream_seq)
            }
            _ => (M::start(), 0),
        };
        Ok(Self { stream: stream.clone(), state, head, snapshot_at: head, turn: 0, image: None })
    }

    /// Applies what others have recorded since.
    pub(super) fn catch_up(&mut self, view: &View<'_>) -> Result<(), StoreError> {
        let Self { state, head, stream, .. } = self;
        if view.head(stream)? <= *head {
            return Ok(());
        }
        view.for_each_event(stream, *head, |entry| {
            state.apply(&decode::<M>(&entry)?, entry.at);
            *head = entry.stream_seq;
            Ok(())
        })
    }

    /// Decides, applies, and lets everything follow that follows by itself.
    pub(super) fn handle<'a>(
        &mut self,
        command: &M::Command,
        asked: &Asked<'a>,
        fresh: &mut Vec<Fresh<'a>>,
    ) -> Result<Handled, EngineError> {
        let mut effects = self.take(command, asked, fresh)?;
        let by_itself = Asked { by: &Actor::Waypost, now: asked.now };
        for _ in 0..FOLLOW_UPS_MAX {
            let Some(command) = self.state.follow_up() else {
                return Ok(Handled { stream: self.stream.clone(), head: self.head, effects });
            };
            effects.extend(self.take(&command, &by_itself, fresh)?);
        }
        panic!("{} never comes to rest", M::KIND);
    }

    fn take<'a>(
        &mut self,
        command: &M::Command,
        asked: &Asked<'a>,
        fresh: &mut Vec<Fresh<'a>>,
    ) -> Result<Vec<Effect>, Rejected> {
        let decision = self.state.decide(command, asked)?;
        for event in &decision.events {
            self.state.apply(event, asked.now);
            self.head += 1;
            fresh.push(Fresh {
                stream: self.stream.clone(),
                stream_seq: self.head,
                event: NewEvent {
                    kind: M::event_kind(event),
                    format: M::FORMAT,
                    body: serde_json::to_string(event).expect("events are plain data").into(),
                },
                actor: asked.by,
                at: asked.now,
            });
        }
        Ok(decision.effects)
    }
}

impl<M: Machine> AnyLoaded for Loaded<M> {
    fn turn(&self) -> u64 {
        self.turn
    }

    fn snapshot_if_due(&mut self, tx: &mut Transaction<'_>) -> Result<(), StoreError> {
        // A snapshot costs what the whole state does, so a large one is worth more events.
        let due = SNAPSHOT_EVENTS_MIN.max(self.state.size() as u64 / 2);
        if self.head - self.snapshot_at < due {
            return Ok(());
        }
        tx.save_state(&self.stream, (self.head, M::FORMAT), &self.state)?;
        self.snapshot_at = self.head;
        Ok(())
    }

    fn list(&self, tx: &mut Transaction<'_>) -> Result<(), StoreError> {
        if !M::IS_LISTED {
            return Ok(());
        }
        let Some(listing) = self.state.listing::<JsonCodec>() else {
            return tx.list(&self.stream, None);
        };
        let Listing { state, rank, since, is_hidden, text, row } = listing;
        let (text, body) = (text.to_lowercase(), String::from_utf8_lossy(&row));
        let row = NewListing { state, rank, since, is_hidden, text: &text, body: &body };
        tx.list(&self.stream, Some(&row))
    }

    fn keep_image(&mut self, place: &ImagePlace, view: &View<'_>, after: u64) {
        place.keep(view, self, after);
    }
}

/// Reads an event of a machine, in any format that this program knows.
pub(crate) fn decode<M: Machine>(entry: &EventRef<'_>) -> Result<M::Event, StoreError> {
    let undecodable = |detail| StoreError::Undecodable { seq: entry.seq, detail };
    if entry.format > M::FORMAT {
        return Err(undecodable(format!(
            "it has format {} of `{}`, and this program knows up to {}",
            entry.format,
            M::KIND,
            M::FORMAT
        )));
    }
    serde_json::from_str(entry.body).map_err(|error| undecodable(error.to_string()))
}

/// Records events in the order in which they became true, as many at once as belong together.
pub(super) fn record(tx: &mut Transaction<'_>, fresh: Vec<Fresh<'_>>) -> Result<(), StoreError> {
    let mut fresh = fresh.into_iter().peekable();
    while let Some(Fresh { stream, stream_seq, event, actor, at }) = fresh.next() {
        let is_like = |it: &Fresh<'_>| (&it.stream, it.actor, it.at) == (&stream, actor, at);
        let mut events = vec![event];
        while let Some(next) = fresh.next_if(is_like) {
            events.push(next.event);
        }
        tx.append(Append { stream: &stream, seen: stream_seq - 1, actor, at, events })?;
    }
    Ok(())
}
