//! What other machines have finished, as entries of the history.
//!
//! | finished | `source` | name | result | lessons |
//! |---|---|---|---|---|
//! | a run | `run/NUMBER` | the plan's title | success: all tasks completed; partial: some; failure: none | failed tasks and those tried again |
//! | a workflow | `workflow/START/FEATURE` | the feature | success | checkpoints that took more than one try |
//! | a request of a session | `session/ID/START` | its first line | success, partial or cancelled | gates that took retries, questions to a person |
//! | a task of the server | `task/ID` | its title | success, failure or cancelled | why it failed, reworks, restarts |
//!
//! A part that is added makes a value of this type when it ends and hands it on as
//! `Effect::Remember`; nothing else has to be known here. `docs/memory.md` has the table in full.

use crate::{
    document::{
        MemoryTaskId,
        memory::{Artifact, HistoryEntry, TaskMetrics, TaskResult},
    },
    time::Time,
};

/// Something that has ended, in the words of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedWork {
    /// What it is, so that it has one entry however often it ends: `run/3`.
    pub source: String,
    pub name: String,
    pub result: TaskResult,
    pub started_at: Time,
    pub completed_at: Time,
    pub summary: String,
    pub artifacts: Vec<Artifact>,
    pub metrics: TaskMetrics,
    pub lessons: Vec<String>,
}

impl FinishedWork {
    pub(super) fn entry(&self, id: MemoryTaskId) -> HistoryEntry {
        HistoryEntry {
            id,
            name: self.name.clone(),
            result: self.result,
            started_at: Some(self.started_at.into()),
            completed_at: Some(self.completed_at.into()),
            duration_seconds: self.completed_at.since(self.started_at).as_secs(),
            summary: self.summary.clone(),
            artifacts: self.artifacts.clone(),
            metrics: self.metrics,
            lessons: self.lessons.clone(),
        }
    }
}
