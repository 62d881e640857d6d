//! What became of the entries that are over, for one who comes late.

use super::ReplyVerb;
use crate::{actor::Actor, id::EntryId, time::Time};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, fmt};

/// How many are remembered; of earlier ones it is only known that they are over. The journal has all.
const CLOSED_MAX: usize = 100;

/// An entry that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedEntry {
    pub id: EntryId,
    pub how: Closing,
    pub at: Time,
}

/// How an entry came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    Answered {
        by: Actor,
        verb: ReplyVerb,
    },
    /// What asked has no question any more.
    Settled,
}

/// The last ones, the newest at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Closed(VecDeque<ClosedEntry>);

impl Closed {
    pub(super) fn note(&mut self, entry: ClosedEntry) {
        if self.0.len() == CLOSED_MAX {
            self.0.pop_front();
        }
        self.0.push_back(entry);
    }

    pub(super) fn find(&self, id: &EntryId) -> Option<&ClosedEntry> {
        self.0.iter().rev().find(|entry| entry.id == *id)
    }
}

impl fmt::Display for ClosedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.how {
            Closing::Answered { by: Actor::Waypost, verb } => {
                write!(f, "its default was taken ({verb}) at {}", self.at)
            }
            Closing::Answered { by, verb } => write!(f, "{by} said `{verb}` at {}", self.at),
            Closing::Settled => write!(f, "it was settled elsewhere at {}", self.at),
        }
    }
}
