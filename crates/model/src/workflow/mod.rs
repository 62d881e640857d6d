//! The workflow: one feature through DESIGN → REVIEW → IMPLEMENT → PR, held at gates.

mod advice;
mod contract;
mod gate;
mod machine;
mod record;
mod remembered;
mod requirement;
mod review;
mod rights;
mod state;
mod topic;
mod window;

#[cfg(test)]
mod tests;

pub use contract::{CheckpointContract, ContractCheckpoint, Validation};
pub use machine::{CheckpointStep, Command, Event, GateReset};
pub use record::{BadRecord, GateRecord, Held, RECORD_SIZE_MAX, Watched};
pub use requirement::Requirement;
pub use review::{FindingSeverity, Review, ReviewFinding};
pub use rights::{Rights, RightsSettings};
pub use state::{
    Checkpoint, CheckpointStatus, Claim, Feature, GateName, Pass, Phase, Strategy, Suspension,
    Waiting, Workflow,
};
pub use topic::WorkflowTopic;
pub use window::{CheckpointRow, Gates, WorkflowState, translate};
