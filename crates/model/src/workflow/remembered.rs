//! A feature that is done, as an entry of the memory's history.

use super::{Checkpoint, CheckpointStatus, Feature};
use crate::{
    document::memory::{Artifact, ArtifactForm, TaskMetrics, TaskResult},
    evidence::Evidence,
    memory::FinishedWork,
    time::Time,
};

impl Feature {
    pub(super) fn finished(&self, at: Time) -> FinishedWork {
        let checkpoints = || self.checkpoints.values();
        let passed = checkpoints().filter(|it| it.status == CheckpointStatus::Passed).count();
        let retries = |it: &Checkpoint| it.iteration.saturating_sub(1);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let again = self.checkpoints.iter().filter(|(_, it)| it.iteration > 1);
        let reports = self.passes.iter().flat_map(|pass| {
            let gate = pass.gate;
            pass.evidence.iter().filter_map(move |evidence| match evidence {
                Evidence::SelfReported { report, .. } => Some((report.clone(), gate)),
                _ => None,
            })
        });
        FinishedWork {
            source: format!("workflow/{}/{}", self.started_at.millis(), self.name),
            name: self.name.clone(),
            result: TaskResult::Success,
            started_at: self.started_at,
            completed_at: at,
            summary: format!("`{}` is done: {passed} checkpoints passed", self.name),
            artifacts: reports
                .map(|(path, gate)| Artifact {
                    form: ArtifactForm::File,
                    path,
                    description: format!("report for {gate}"),
                })
                .collect(),
            metrics: TaskMetrics {
                steps_total: number(self.checkpoints.len()),
                steps_completed: number(passed),
                retries: checkpoints().map(retries).fold(0, u32::saturating_add),
                tokens_used: 0,
            },
            lessons: again
                .map(|(id, it)| format!("checkpoint {id} took {} tries", it.iteration))
                .collect(),
        }
    }
}
