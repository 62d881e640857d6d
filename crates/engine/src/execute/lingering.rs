//! Agents that wait for a person. A few of them keep their processes for a while, for a person who is
//! there; all others end and come back in their conversations, so that a wait holds nothing.

use super::{Executor, worker::Worker};
use crate::{agent::Halt, error::EngineError};
use std::time::Duration;
use waypost_model::time::Time;

/// How long a process waits with its agent: one who is there answers by then, and services forget
/// what they have read of a conversation after about as long.
const LINGER: Duration = Duration::from_secs(300);

/// How many processes wait at once: as many questions as a person may answer in that time.
const LINGERING_MAX: usize = 8;

impl Executor<'_> {
    /// Ends agents that wait, but for the few that began to of late. What they asked is in the inbox.
    pub(super) fn end_waiting(&mut self, now: Time) -> Result<(), EngineError> {
        let is_free = |worker: &&mut Worker| !worker.is_held && !worker.agent.life.is_halted();
        let workers = self.workers.values_mut().filter(is_free);
        let mut waiting: Vec<(Time, &mut Worker)> =
            workers.filter_map(|worker| Some((worker.agent.life.waits_since()?, worker))).collect();
        waiting.sort_by_key(|(since, _)| std::cmp::Reverse(*since));
        let ends = waiting.iter().map(|(since, _)| since.plus(LINGER));
        let ends: Vec<Time> = ends.take(LINGERING_MAX).collect();
        let stay = ends.iter().filter(|end| **end > now).count();
        for (_, worker) in waiting.into_iter().skip(stay) {
            worker.halt(Halt::Given)?;
        }
        // The newest come first: the last that stays is the first to go.
        if let Some(end) = ends[..stay].last() {
            self.wakes_at = Some(self.wakes_at.map_or(*end, |at| at.min(*end)));
        }
        Ok(())
    }
}
