//! A request that is over, as an entry of the memory's history.

use super::state::{RequestState, Session, SessionFacts};
use crate::{
    document::{
        contract::CONTRACTS,
        memory::{Artifact, ArtifactForm, TaskMetrics, TaskResult},
    },
    layout::session::SESSIONS,
    machine::Effect,
    memory::FinishedWork,
    time::Time,
};

/// The longest name of an entry, in characters.
const NAME_MAX: usize = 200;

impl Session {
    /// What the history is told of a request.
    pub(super) fn remembered(
        &self,
        request: &RequestState,
        result: TaskResult,
        at: Time,
    ) -> Effect {
        let (steps_completed, steps_total) = request.progress();
        let word = if result == TaskResult::Success { "is complete" } else { "was stopped" };
        let id = &request.id;
        let contracts = |facts: &SessionFacts| Artifact {
            form: ArtifactForm::Data,
            path: format!("{SESSIONS}/{}/{CONTRACTS}/{id}", facts.project.hash),
            description: "the contracts of the request".to_owned(),
        };
        Effect::Remember(Box::new(FinishedWork {
            source: format!("session/{id}/{}", request.since),
            name: request.text.lines().next().unwrap_or_default().chars().take(NAME_MAX).collect(),
            result,
            started_at: request.since,
            completed_at: at,
            summary: format!("request {id} {word}: {steps_completed} of {steps_total} subtasks"),
            artifacts: self.facts().map(contracts).into_iter().collect(),
            metrics: TaskMetrics {
                steps_total,
                steps_completed,
                retries: request.retries,
                tokens_used: 0,
            },
            lessons: request.lessons.clone(),
        }))
    }
}
