//! What can be done next in a workflow.

use crate::{
    id::CheckpointId,
    next::NextStep,
    workflow::{Checkpoint, CheckpointStatus, Feature, GateName, Phase},
};

impl Feature {
    /// The step that leads on from here.
    pub fn next_step(&self) -> NextStep {
        let is_open = |(_, each): &(&CheckpointId, &Checkpoint)| {
            each.status != CheckpointStatus::Passed && self.phase == Phase::Implement
        };
        let closed = self.closed_gates().find(|gate| gate.phase() <= self.phase);
        let checkpoint = self.checkpoints.iter().find(is_open);
        match (closed, checkpoint) {
            _ if self.is_done() => NextStep::StartFeature,
            // A gate of an earlier phase can only be passed there.
            (Some(gate), _) if gate.phase() < self.phase => NextStep::GoBack,
            (_, Some((id, each))) => step_of(id, each.status),
            // What the gate needs is configured; a report of the agent itself never opens the last.
            (Some(GateName::ReReviewClean), None) => {
                NextStep::PassGate { gate: GateName::ReReviewClean }
            }
            (Some(gate), None) => NextStep::PassGateOrReport { gate },
            (None, None) if self.phase == Phase::Design && self.contract.is_none() => {
                NextStep::AdvanceWithCheckpoints
            }
            (None, None) => NextStep::Advance,
        }
    }

    /// The steps that lead on from here, the most useful first.
    pub fn next_steps(&self) -> Vec<NextStep> {
        let mut steps = vec![self.next_step()];
        if self.phase == Phase::Implement && steps[0] != NextStep::GoBack {
            let with = |status| {
                self.checkpoints.iter().filter(move |(_, it)| it.status == status).map(|(id, _)| id)
            };
            let fail = |id: &CheckpointId| NextStep::FailCheckpoint { id: id.clone() };
            steps.extend(with(CheckpointStatus::InProgress).map(fail));
            let start = |id| step_of(id, CheckpointStatus::Pending);
            steps.extend(with(CheckpointStatus::Pending).take(1).map(start));
            steps.dedup();
        }
        steps
    }
}

/// The step that leads a checkpoint on.
pub(super) fn step_of(id: &CheckpointId, status: CheckpointStatus) -> NextStep {
    let id = id.clone();
    match status {
        CheckpointStatus::Pending => NextStep::StartCheckpoint { id },
        CheckpointStatus::InProgress => NextStep::PassCheckpoint { id },
        CheckpointStatus::Escalated => NextStep::ReopenCheckpoint { id },
        CheckpointStatus::Passed => NextStep::Advance,
    }
}
