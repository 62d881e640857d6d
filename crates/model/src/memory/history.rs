//! The history: what has ended, how much of it is kept, and totals that outlast it.

use super::state::KeptTask;
use crate::{
    document::{
        MemoryTaskId,
        memory::{HistoryEntry, Statistics, TaskHistory, TaskMetrics, TaskResult},
    },
    memory::Ending,
    time::{Stamp, Time},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// So many entries are listed, the newest.
pub const HISTORY_MAX: usize = 100;

/// After so many days an entry keeps its summary and loses artifacts and lessons.
pub const HISTORY_DAYS: u64 = 30;

/// Tasks that have ended, and totals over all that ever did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Oldest first.
    pub(super) entries: Vec<HistoryEntry>,
    pub(super) totals: Totals,
    /// Which entry came of what another machine has finished, by the word of that.
    #[serde(default)]
    pub(super) sources: BTreeMap<String, MemoryTaskId>,
}

/// Sums over all tasks that ever ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub success: u64,
    pub failure: u64,
    pub partial: u64,
    pub cancelled: u64,
    /// How long those took that were not cancelled, in seconds.
    pub seconds: u64,
    /// As a file had them, shown until another task ends: rates of a file need not be exact.
    pub found: Option<Statistics>,
}

impl Totals {
    pub const fn none() -> Self {
        Self { success: 0, failure: 0, partial: 0, cancelled: 0, seconds: 0, found: None }
    }

    /// Those that were worked to an end.
    fn judged(&self) -> u64 {
        self.success + self.failure + self.partial
    }

    fn count(&mut self, result: TaskResult) -> &mut u64 {
        match result {
            TaskResult::Success => &mut self.success,
            TaskResult::Failure => &mut self.failure,
            TaskResult::Partial => &mut self.partial,
            TaskResult::Cancelled => &mut self.cancelled,
        }
    }

    fn add(&mut self, entry: &HistoryEntry) {
        *self.count(entry.result) += 1;
        if entry.result != TaskResult::Cancelled {
            self.seconds = self.seconds.saturating_add(entry.duration_seconds);
        }
        self.found = None;
    }

    fn subtract(&mut self, entry: &HistoryEntry) {
        let count = self.count(entry.result);
        *count = count.saturating_sub(1);
        if entry.result != TaskResult::Cancelled {
            self.seconds = self.seconds.saturating_sub(entry.duration_seconds);
        }
    }

    /// The totals behind statistics that a file has.
    fn of(found: Statistics, entries: &[HistoryEntry]) -> Self {
        let mut listed = Self::none();
        entries.iter().for_each(|entry| listed.add(entry));
        let total = found.total_tasks.max(listed.judged() + listed.cancelled);
        let unlisted = total - listed.judged() - listed.cancelled;
        // Of those that are not listed only the rate is known, over all of them.
        let judged = (listed.judged() + unlisted) as f64;
        let success = (found.success_rate * judged).round() as u64;
        let success = success.clamp(listed.success, listed.success + unlisted);
        let seconds = (found.avg_duration_seconds * judged).round() as u64;
        Self {
            success,
            failure: listed.failure + (listed.success + unlisted - success),
            seconds: seconds.max(listed.seconds),
            found: Some(found),
            ..listed
        }
    }

    pub fn statistics(&self) -> Statistics {
        if let Some(found) = self.found {
            return found;
        }
        let per_judged = |sum: u64| match self.judged() {
            0 => 0.0,
            judged => sum as f64 / judged as f64,
        };
        Statistics {
            total_tasks: self.judged() + self.cancelled,
            success_rate: per_judged(self.success),
            avg_duration_seconds: per_judged(self.seconds),
        }
    }
}

impl History {
    pub const fn none() -> Self {
        Self { entries: Vec::new(), totals: Totals::none(), sources: BTreeMap::new() }
    }

    /// A history as a file has it.
    pub(super) fn of(found: &TaskHistory) -> Self {
        let entries = found.tasks.clone();
        let totals = Totals::of(found.statistics, &entries);
        Self { entries, totals, sources: BTreeMap::new() }
    }

    /// Those that are kept, oldest first.
    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries
    }

    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    pub fn entry(&self, id: &MemoryTaskId) -> Option<&HistoryEntry> {
        self.entries.iter().find(|entry| entry.id == *id)
    }

    pub(super) fn add(&mut self, entry: &HistoryEntry, at: Time) {
        self.totals.add(entry);
        self.entries.push(entry.clone());
        self.retain(at);
    }

    /// Adds what came of `source`, in the place of what it came to before.
    pub(super) fn record(&mut self, source: &str, entry: &HistoryEntry, at: Time) {
        let before = self.sources.insert(source.to_owned(), entry.id.clone());
        let before = before.and_then(|id| self.entries.iter().position(|entry| entry.id == id));
        if let Some(before) = before {
            let before = self.entries.remove(before);
            self.totals.subtract(&before);
        }
        self.add(entry, at);
    }

    /// Keeps the newest entries, and of old ones the summary.
    pub(super) fn retain(&mut self, at: Time) {
        let excess = self.entries.len().saturating_sub(HISTORY_MAX);
        self.entries.drain(..excess);
        let Self { entries, sources, .. } = self;
        sources.retain(|_, id| entries.iter().any(|entry| entry.id == *id));
        for entry in entries.iter_mut().filter(|entry| is_old(entry, at)) {
            entry.artifacts = Vec::new();
            entry.lessons = Vec::new();
        }
    }

    /// Whether there is something that `retain` would take away.
    pub(super) fn has_excess(&self, at: Time) -> bool {
        let is_full = |entry: &HistoryEntry| {
            is_old(entry, at) && !(entry.artifacts.is_empty() && entry.lessons.is_empty())
        };
        self.entries.len() > HISTORY_MAX || self.entries.iter().any(is_full)
    }
}

fn is_old(entry: &HistoryEntry, at: Time) -> bool {
    let Some(Stamp::At(ended)) = entry.completed_at else { return false };
    at.since(ended) > Duration::from_secs(HISTORY_DAYS * 24 * 3_600)
}

impl KeptTask {
    /// What the history says of the task when it ends now.
    pub(super) fn entry(&self, result: TaskResult, ending: &Ending, now: Time) -> HistoryEntry {
        let (steps_completed, steps_total) = self.progress();
        let retries = self.task.plan.steps.iter().map(|step| step.retries).sum();
        let tokens_used = ending.tokens_used;
        let summary = match ending.summary.trim() {
            "" => format!("{steps_completed} of {steps_total} steps completed"),
            said => said.to_owned(),
        };
        let duration = self.started.map_or(Duration::ZERO, |started| now.since(started));
        HistoryEntry {
            id: self.task.id.clone(),
            name: self.task.name.clone(),
            result,
            started_at: self.task.started_at,
            completed_at: Some(now.into()),
            duration_seconds: duration.as_secs(),
            summary,
            artifacts: self.task.artifacts.iter().chain(&ending.artifacts).cloned().collect(),
            metrics: TaskMetrics { steps_total, steps_completed, retries, tokens_used },
            lessons: ending.lessons.clone(),
        }
    }
}
