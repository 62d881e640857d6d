//! The work of one phase, as the type of its task has it.

use std::sync::Arc;
use waypost_model::document::task_type::{TaskType, TypePhase};

/// A phase of a task; of one that has none, the whole of it.
#[derive(Clone, Debug)]
pub(super) struct PhaseOrder {
    pub(super) kind: Arc<TaskType>,
    /// From 1; 0: the whole task.
    pub(super) number: u32,
}

impl PhaseOrder {
    /// What its type says of it; none where the type has changed and has no such phase any more.
    pub(super) fn phase(&self) -> Option<&TypePhase> {
        self.kind.phase(self.number)
    }

    pub(super) fn total(&self) -> usize {
        self.kind.phases.len()
    }

    pub(super) fn name(&self) -> &str {
        self.phase().map_or("", |phase| &phase.name)
    }

    pub(super) fn criteria(&self) -> &[String] {
        self.phase().map_or(&[], |phase| &phase.verification.criteria)
    }

    pub(super) fn commands(&self) -> &[String] {
        self.phase().map_or(&[], |phase| &phase.verification.commands)
    }
}
