//! A task that is over, as an entry of the memory's history.

use super::state::TaskFile;
use crate::{
    document::memory::{Artifact, ArtifactForm, TaskMetrics, TaskResult},
    machine::Effect,
    memory::FinishedWork,
    time::Time,
};

impl TaskFile {
    /// What the history is told; `why` is what went wrong.
    pub(super) fn remembered(&self, result: TaskResult, why: Option<&str>, at: Time) -> Effect {
        let (total, at_phase) = (self.shape.total(), self.phase.unwrap_or_default());
        // A task without phases is one step.
        let (steps_total, steps_completed) = match (result, total) {
            (TaskResult::Success, _) => (total.max(1), total.max(1)),
            (_, 0) => (1, 0),
            (_, _) => (total, at_phase.saturating_sub(1)),
        };
        let word = match result {
            TaskResult::Success => "is completed",
            TaskResult::Cancelled => "was cancelled",
            TaskResult::Failure | TaskResult::Partial => "failed",
        };
        let reworked = (self.reworks > 0)
            .then(|| format!("its last phase was reworked {} times", self.reworks));
        let restarted = (self.restarts > 0)
            .then(|| format!("its agent ended {} times by itself", self.restarts));
        let lessons = [why.map(str::to_owned), reworked, restarted];
        let delivered = self.report.iter().flat_map(|report| &report.deliverables);
        Effect::Remember(Box::new(FinishedWork {
            source: format!("task/{}", self.id),
            name: self.fields.title.clone(),
            result,
            started_at: self.times.started.or(self.times.submitted).unwrap_or(self.times.created),
            completed_at: at,
            summary: format!("task {} {word}: {steps_completed} of {steps_total} phases", self.id),
            artifacts: delivered
                .map(|file| Artifact {
                    form: ArtifactForm::File,
                    path: file.path.clone(),
                    description: format!("deliverable of {}", self.id),
                })
                .collect(),
            metrics: TaskMetrics {
                steps_total,
                steps_completed,
                retries: self.attempt_number().saturating_sub(1),
                tokens_used: self.trail.usage.tokens(),
            },
            lessons: lessons.into_iter().flatten().collect(),
        }))
    }
}
