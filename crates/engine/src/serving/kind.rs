//! What the type of a task says, and what its agents are given of what a person keeps secret.

use super::{checkpoints::IsSecret, order::PhaseOrder};
use crate::{error::EngineError, project::Project, task_types::task_type, values};
use std::{collections::BTreeSet, fs, sync::Arc};
use waypost_model::{
    document::{ServerTaskId, task_type::TaskType},
    task::TaskFile,
};
use waypost_redact::{Searcher, Secret};

/// The type of a task.
#[derive(Clone, Debug)]
pub(super) struct Kind(Arc<TaskType>);

impl Kind {
    /// The work of a phase; none: of a task without phases.
    pub(super) fn order(&self, phase: Option<u32>) -> PhaseOrder {
        PhaseOrder { kind: Arc::clone(&self.0), number: phase.unwrap_or(0) }
    }
}

/// The type of a task, as it is now.
pub(super) fn of(project: &Project, file: &TaskFile) -> Result<Kind, EngineError> {
    task_type(&project.setup, &file.fields.task_type).map(|kind| Kind(Arc::new(kind)))
}

/// The values that a person has provided for a task, those of these names.
pub(super) fn values(
    project: &mut Project,
    id: &ServerTaskId,
    names: &BTreeSet<String>,
) -> Result<Vec<(String, Secret)>, EngineError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    values::environment_of(project, id.as_str())
}

/// Tells files that hold a value of the task's; none: it has none.
pub(super) fn secrets(
    project: &mut Project,
    file: &TaskFile,
) -> Result<Option<IsSecret>, EngineError> {
    let known = values(project, &file.id, &file.values)?;
    let searcher = Searcher::of(known.iter().map(|(_, value)| value.expose()));
    if searcher.is_empty() {
        return Ok(None);
    }
    // What cannot be read is left out for that reason.
    Ok(Some(Arc::new(move |path| fs::read(path).is_ok_and(|bytes| searcher.is_in(&bytes)))))
}
