//! The journal as a log: its newest entries, and those that come.

use super::Project;
use crate::{error::EngineError, ledger::run_stream};
use std::collections::VecDeque;
use waypost_model::id::StreamName;
use waypost_store::journal::{Cursor, Recorded};

/// How many entries are read at once when the log is searched.
pub(crate) const LOG_PAGE: usize = 1_000;

impl Project {
    /// The newest entries of the journal that `wanted` takes, oldest first.
    pub fn log(
        &mut self,
        limit: usize,
        wanted: impl Fn(&Recorded) -> bool,
    ) -> Result<Vec<Recorded>, EngineError> {
        let Some(journal) = &mut self.journal else { return Ok(Vec::new()) };
        let view = journal.view()?;
        let mut newest = VecDeque::new();
        let mut end = view.end()?;
        // An entry may be a plan of megabytes: at first not many more are read than are wanted.
        let mut at_once = limit;
        while newest.len() < limit {
            at_once = at_once.saturating_mul(2).min(LOG_PAGE);
            let page = view.feed_until(end, at_once)?;
            let Some(first) = page.first() else { break };
            end = first.cursor_before();
            for entry in page.into_iter().rev().filter(&wanted).take(limit - newest.len()) {
                newest.push_front(entry);
            }
        }
        Ok(newest.into())
    }

    /// Entries after `after`, for following the log.
    pub fn log_after(&mut self, after: Cursor) -> Result<Vec<Recorded>, EngineError> {
        match &mut self.journal {
            Some(journal) => Ok(journal.view()?.feed(after, LOG_PAGE)?),
            None => Ok(Vec::new()),
        }
    }

    /// The stream of the run, as the log names it.
    pub fn run_stream() -> StreamName {
        run_stream()
    }
}
