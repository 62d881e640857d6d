//! Looking after children whose tree is being stopped, paused or waited for.
//!
//! All of them share one look at the processes of the machine; how often that is done depends on
//! how long it takes.

use super::{child::Care, family::Families, keeping::Keeping};
use crate::{
    clock,
    process::{self, Process},
};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// The shortest time between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Looking may take at most one part in this many of the time.
const LOOK_SHARE: u32 = 4;
/// After a look that failed.
const LOOK_FAILED: Duration = Duration::from_millis(100);
/// What belongs to no child has this long to end.
const STRAY_GRACE: Duration = Duration::from_secs(2);

impl Keeping {
    /// Does what is due for every child and says when to come back.
    pub(super) fn attend(&mut self, now: Instant) {
        self.wake = None;
        let is_needed = self.has_orphans
            || !self.strays.is_empty()
            || self.children.values().any(|child| !child.is_quiet());
        let families = if is_needed {
            match self.kinship.look(&self.children) {
                Ok(families) => families,
                // Out of files, most likely. No engine is taken for gone because of that.
                Err(_) => return self.wake_at(now + LOOK_FAILED),
            }
        } else {
            Families::default()
        };
        let again = now + LOOK_AGAIN.max((clock::now() - now) * LOOK_SHARE);
        let keys: Vec<_> = self.children.keys().copied().collect();
        for key in keys {
            let members = families.members.get(&key).map_or(&[][..], Vec::as_slice);
            let Some(child) = self.children.get_mut(&key) else { continue };
            let was_quiet = child.is_quiet();
            match child.attend(members, now) {
                // A limit that was reached just now: its tree has not been looked at.
                _ if was_quiet && !child.is_quiet() && !is_needed => self.wake_at(now),
                Care::Until(Some(at)) => self.wake_at(at),
                Care::Until(None) => {}
                Care::Again => self.wake_at(again),
                Care::Over => self.finish(key, now),
            }
        }
        self.end_strays(&families.strays, now, again);
        if self.has_orphans && self.children.is_empty() {
            // Nothing but these keeps the keeper here, and no report tells when they end.
            self.is_reap_due = true;
            self.wake_at(again);
        }
    }

    /// Ends what no child can be the reason for any more.
    fn end_strays(&mut self, strays: &[Process], now: Instant, again: Instant) {
        self.strays.retain(|identity, _| strays.iter().any(|stray| stray.identity == *identity));
        for stray in strays {
            let identity = stray.identity;
            match self.strays.get(&identity) {
                None => {
                    self.strays.insert(identity, now + STRAY_GRACE);
                    process::signal(identity, Signal::TERM);
                    process::signal(identity, Signal::CONT);
                }
                Some(kill_at) if now >= *kill_at => {
                    process::signal(identity, Signal::KILL);
                }
                Some(_) => {}
            }
        }
        if !strays.is_empty() {
            self.wake_at(again);
        }
    }
}
