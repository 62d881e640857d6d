//! A process that watches a run: what is told, what is asked.

use super::news::RunNews;
use crate::attendance::Haste;
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use waypost_model::{
    id::TaskId,
    next::Remark,
    run::{Active, ParkCause, Usage},
    time::Time,
};

/// What a process that watches a run is told. What is in the journal is read from there (`news`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// An attempt has begun; a word of the host.
    Started {
        id: TaskId,
        attempt: u32,
    },
    Completed {
        id: TaskId,
    },
    /// It is tried again.
    Retried {
        id: TaskId,
        text: String,
        not_before: Time,
    },
    Failed {
        id: TaskId,
        text: String,
    },
    /// The attempt ended without a result; the task waits again.
    Interrupted {
        id: TaskId,
        why: String,
    },
    /// It waits for something that is not its fault: a limit, a service, money, room.
    Parked {
        id: TaskId,
        cause: ParkCause,
        why: String,
        /// None: until a person has done something about it.
        until: Option<Time>,
    },
    /// Its agent needs a person.
    Asked {
        id: TaskId,
        title: String,
    },
    PhaseClosed {
        phase: u32,
        /// What brought its work into the branch that the run started on.
        merge_commit: Option<String>,
        /// How many of its tasks were not completed.
        missing: usize,
    },
    Note(String),
    /// A note with what leads on from it.
    Remark(Remark),
}

impl Happening {
    /// Whether it is in no journal: a host has to say it.
    pub(crate) fn is_word(&self) -> bool {
        matches!(self, Self::Started { .. } | Self::Note(_) | Self::Remark(_))
    }
}

/// What a process that watches wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    #[default]
    GoOn,
    /// Running tasks finish, none is started.
    Finish,
    /// Running tasks are stopped and wait again.
    Stop,
}

/// Wakes the engine of a run, from any thread.
pub type Ring = Arc<dyn Fn() + Send + Sync>;

/// Says something to a person, from any thread.
pub type Voice = Arc<dyn Fn(&str) + Send + Sync>;

/// A process that watches a run.
pub trait Audience {
    /// Something has happened: it is in the journal, or the host says it.
    fn tell(&mut self, news: &RunNews);
    /// Called up to ten times a second while something happens, and as often as `pace` says while
    /// nothing does.
    fn look(&mut self, active: &Active, running: &[Running<'_>], now: Time);
    fn wish(&mut self) -> Wish;
    /// Another process wants the run to end: it wishes for that from here on.
    fn end(&mut self, haste: Haste);

    /// How often it wants to look while nothing happens: for what changes with time alone.
    fn pace(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Takes what to ring when the wish has changed; else that is found within a second.
    fn ring_when_wished(&mut self, _ring: Ring) {}

    /// Reaches a person from any thread, while the one that tells may hang.
    fn voice(&self) -> Option<Voice> {
        None
    }
}

/// An audience that is looked at from outside as well: it is told in the host's own thread.
impl<A: Audience> Audience for Arc<Mutex<A>> {
    fn tell(&mut self, news: &RunNews) {
        locked(self).tell(news);
    }

    fn look(&mut self, active: &Active, running: &[Running<'_>], now: Time) {
        locked(self).look(active, running, now);
    }

    fn wish(&mut self) -> Wish {
        locked(self).wish()
    }

    fn end(&mut self, haste: Haste) {
        locked(self).end(haste);
    }

    fn pace(&self) -> Duration {
        locked(self).pace()
    }

    fn ring_when_wished(&mut self, ring: Ring) {
        locked(self).ring_when_wished(ring);
    }

    fn voice(&self) -> Option<Voice> {
        locked(self).voice()
    }
}

impl<A: Audience + ?Sized> Audience for Box<A> {
    fn tell(&mut self, news: &RunNews) {
        (**self).tell(news);
    }

    fn look(&mut self, active: &Active, running: &[Running<'_>], now: Time) {
        (**self).look(active, running, now);
    }

    fn wish(&mut self) -> Wish {
        (**self).wish()
    }

    fn end(&mut self, haste: Haste) {
        (**self).end(haste);
    }

    fn pace(&self) -> Duration {
        (**self).pace()
    }

    fn ring_when_wished(&mut self, ring: Ring) {
        (**self).ring_when_wished(ring);
    }

    fn voice(&self) -> Option<Voice> {
        (**self).voice()
    }
}

/// An audience that panicked has shown a part of something; it goes on with the next.
fn locked<A>(audience: &Mutex<A>) -> MutexGuard<'_, A> {
    audience.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A task that is being worked on.
#[derive(Clone, Copy, Debug)]
pub struct Running<'a> {
    pub id: &'a TaskId,
    pub attempt: u32,
    pub since: Time,
    pub doing: Doing,
    /// The model agent that works on it.
    pub agent: Option<AgentView<'a>>,
}

/// What is being done for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// Its work tree is made and set up.
    Preparing,
    Working,
    Verifying,
    /// What was done is committed and joined to its phase.
    Joining,
}

/// A model agent at work.
#[derive(Clone, Copy, Debug)]
pub struct AgentView<'a> {
    pub name: &'a str,
    /// What it does now, in a few words.
    pub doing: &'a str,
    /// What it has used up for this attempt so far.
    pub usage: Usage,
    /// Whether it waits for a person.
    pub waits: bool,
}
