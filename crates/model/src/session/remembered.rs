//! A request that is over, as an entry of the memory's history.

use super::state::RequestState;
use crate::{
    document::memory::{TaskMetrics, TaskResult},
    machine::Effect,
    memory::FinishedWork,
    time::Time,
};

/// The longest name of an entry, in characters.
const NAME_MAX: usize = 200;

impl RequestState {
    /// What the history is told.
    pub(super) fn remembered(&self, result: TaskResult, at: Time) -> Effect {
        let (steps_completed, steps_total) = self.progress();
        let word = if result == TaskResult::Success { "is complete" } else { "was stopped" };
        let id = &self.id;
        Effect::Remember(Box::new(FinishedWork {
            source: format!("session/{id}/{}", self.since),
            name: self.text.lines().next().unwrap_or_default().chars().take(NAME_MAX).collect(),
            result,
            started_at: self.since,
            completed_at: at,
            summary: format!("request {id} {word}: {steps_completed} of {steps_total} subtasks"),
            artifacts: Vec::new(),
            metrics: TaskMetrics {
                steps_total,
                steps_completed,
                retries: self.retries,
                tokens_used: 0,
            },
            lessons: self.lessons.clone(),
        }))
    }
}
