//! The workflow: one feature through DESIGN → REVIEW → IMPLEMENT → PR, held at gates.

mod advice;
mod contract;
mod machine;
mod requirement;
mod rights;
mod state;
mod window;

#[cfg(test)]
mod tests;

pub use contract::{CheckpointContract, ContractCheckpoint, Validation};
pub use machine::{CheckpointStep, Command, Event, GateReset};
pub use requirement::Requirement;
pub use rights::{Rights, RightsSettings};
pub use state::{
    Checkpoint, CheckpointStatus, Feature, GateName, Pass, Phase, Strategy, Suspension, Workflow,
};
pub use window::{CheckpointRow, Gates, WorkflowState, translate};
