//! What can be done next in a workflow, as commands to type.

use crate::{
    id::CheckpointId,
    workflow::{Checkpoint, CheckpointStatus, Feature, GateName, Phase},
};

/// The way to an earlier phase.
pub(super) const BACK: &str = "waypost develop back";

impl Feature {
    /// The command that leads on from here.
    pub fn next_command(&self) -> String {
        let is_open = |(_, each): &(&CheckpointId, &Checkpoint)| {
            each.status != CheckpointStatus::Passed && self.phase == Phase::Implement
        };
        let closed = self.closed_gates().find(|gate| gate.phase() <= self.phase);
        let checkpoint = self.checkpoints.iter().find(is_open);
        match (closed, checkpoint) {
            _ if self.is_done() => "waypost develop start FEATURE".to_owned(),
            // A gate of an earlier phase can only be passed there.
            (Some(gate), _) if gate.phase() < self.phase => BACK.to_owned(),
            (_, Some((id, each))) => next_step(id, each.status),
            // What the gate needs is configured; a report of the agent itself never opens the last.
            (Some(GateName::ReReviewClean), None) => {
                format!("waypost develop gate pass {}", GateName::ReReviewClean)
            }
            (Some(gate), None) => format!("waypost develop gate pass {gate} [--report FILE]"),
            (None, None) if self.phase == Phase::Design && self.contract.is_none() => {
                "waypost develop advance --checkpoint ID".to_owned()
            }
            (None, None) => "waypost develop advance".to_owned(),
        }
    }

    /// The commands that lead on from here, the most useful first.
    pub fn next_commands(&self) -> Vec<String> {
        let mut commands = vec![self.next_command()];
        if self.phase == Phase::Implement && commands[0] != BACK {
            let with = |status| {
                self.checkpoints.iter().filter(move |(_, it)| it.status == status).map(|(id, _)| id)
            };
            let fail = |id| format!("waypost develop checkpoint fail {id}");
            commands.extend(with(CheckpointStatus::InProgress).map(fail));
            let start = |id| next_step(id, CheckpointStatus::Pending);
            commands.extend(with(CheckpointStatus::Pending).take(1).map(start));
            commands.dedup();
        }
        commands
    }
}

/// The command that leads a checkpoint on.
pub(super) fn next_step(id: &CheckpointId, status: CheckpointStatus) -> String {
    match status {
        CheckpointStatus::Pending => format!("waypost develop checkpoint start {id}"),
        CheckpointStatus::InProgress => format!("waypost develop checkpoint pass {id}"),
        CheckpointStatus::Escalated => {
            format!("a person runs `waypost develop checkpoint reopen {id}`")
        }
        CheckpointStatus::Passed => "waypost develop advance".to_owned(),
    }
}
