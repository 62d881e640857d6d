//! The one stream of events: what was recorded, in the order of the journal.
//!
//! Live views, `--json`, `log --follow` and later faces read it. A place in it is an entry of the
//! journal, so a reader that was away goes on where it was.

use crate::{error::EngineError, ledger::decode, project::Project};
use std::{
    ops::Deref,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    time::Duration,
};
use waypost_model::machine::Machine;
use waypost_store::journal::{Changes, Cursor, EventRef, Recorded};

/// How many events may wait for a subscriber. One that is further behind is let go, and begins
/// again from the journal at its place.
const WAITING_MAX: usize = 16_384;

/// An entry of the journal, for all who follow it.
#[derive(Clone, Debug)]
pub struct Happened(Recorded);

impl Happened {
    pub(crate) fn new(entry: Recorded) -> Self {
        Self(entry)
    }

    /// What happened, if it happened to a machine of this kind and in a format that is known.
    pub fn event<M: Machine>(&self) -> Option<M::Event> {
        let Recorded { seq, stream, stream_seq, at, format, kind, body, .. } = &self.0;
        let entry = EventRef {
            seq: *seq,
            stream_seq: *stream_seq,
            at: *at,
            actor: "",
            format: *format,
            kind,
            body,
        };
        (stream.kind() == M::KIND).then(|| decode::<M>(&entry).ok())?
    }
}

impl Deref for Happened {
    type Target = Recorded;

    fn deref(&self) -> &Recorded {
        &self.0
    }
}

/// What was recorded, as it comes.
#[derive(Debug)]
pub struct Subscription {
    events: Receiver<Happened>,
    seen: Cursor,
}

/// What a subscriber gets when it waits.
#[derive(Clone, Debug)]
pub enum News {
    Happened(Box<Happened>),
    /// Nothing came in that time.
    Quiet,
    /// The host has ended, or this subscriber was too far behind: it may begin again here.
    Over {
        after: Cursor,
    },
}

impl Subscription {
    /// How far it has come.
    pub fn cursor(&self) -> Cursor {
        self.seen
    }

    /// Waits for the next event.
    pub fn next(&mut self, timeout: Duration) -> News {
        match self.events.recv_timeout(timeout) {
            Ok(happened) => {
                self.seen = happened.cursor();
                News::Happened(Box::new(happened))
            }
            Err(RecvTimeoutError::Timeout) => News::Quiet,
            Err(RecvTimeoutError::Disconnected) => News::Over { after: self.seen },
        }
    }
}

/// Follows the journal from a process that is not the host.
#[derive(Debug)]
pub struct Follower {
    changes: Changes,
    seen: Cursor,
}

impl Follower {
    /// Follows `project` from `after` on.
    pub fn new(project: &Project, after: Cursor) -> Self {
        Self { changes: project.journals.changes(), seen: after }
    }

    /// What was recorded since the last call, at most a page of it.
    pub fn take(&mut self, project: &mut Project) -> Result<Vec<Happened>, EngineError> {
        let news: Vec<Happened> =
            project.log_after(self.seen)?.into_iter().map(Happened::new).collect();
        self.seen = news.last().map_or(self.seen, |it| it.cursor());
        Ok(news)
    }

    /// Waits until something may have been recorded, or for so long.
    pub fn wait(&self, timeout: Duration) {
        self.changes.wait(timeout);
    }
}

/// Those who follow the journal in this process.
#[derive(Debug)]
pub(super) struct Subscribers {
    senders: Vec<SyncSender<Happened>>,
    /// What all of them were told.
    seen: Cursor,
}

impl Subscribers {
    pub(super) fn none() -> Self {
        Self { senders: Vec::new(), seen: Cursor::START }
    }

    /// Adds one, and tells it what it has missed.
    pub(super) fn add(&mut self, project: &mut Project, after: Cursor) -> Subscription {
        self.tell(project);
        let (sender, events) = sync_channel(WAITING_MAX);
        let mut told = after;
        let mut is_heard = true;
        for happened in FollowedEntries::after(project, after) {
            // What comes after that is told to all of them.
            if told == self.seen && !self.senders.is_empty() {
                break;
            }
            told = happened.cursor();
            is_heard &= sender.try_send(happened).is_ok();
        }
        self.seen = told;
        self.senders.extend(is_heard.then_some(sender));
        Subscription { events, seen: after }
    }

    /// Tells everything that was recorded since.
    pub(super) fn tell(&mut self, project: &mut Project) {
        if self.senders.is_empty() {
            return;
        }
        for happened in FollowedEntries::after(project, self.seen) {
            self.seen = happened.cursor();
            self.senders.retain(|sender| sender.try_send(happened.clone()).is_ok());
        }
    }
}

/// The entries of the journal from a place on, page by page; what cannot be read now is read later.
struct FollowedEntries<'a> {
    project: &'a mut Project,
    page: std::vec::IntoIter<Recorded>,
    seen: Cursor,
}

impl<'a> FollowedEntries<'a> {
    fn after(project: &'a mut Project, seen: Cursor) -> Self {
        Self { project, page: Vec::new().into_iter(), seen }
    }
}

impl Iterator for FollowedEntries<'_> {
    type Item = Happened;

    fn next(&mut self) -> Option<Happened> {
        if self.page.len() == 0 {
            self.page = self.project.log_after(self.seen).unwrap_or_default().into_iter();
        }
        let entry = self.page.next()?;
        self.seen = entry.cursor();
        Some(Happened::new(entry))
    }
}
