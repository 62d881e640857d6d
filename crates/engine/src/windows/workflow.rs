//! `.develop-workflow/state.json`, one per work tree.

use super::window::{MachineWindow, Translation};
use crate::{error::EngineError, project::Project};
use std::path::PathBuf;
use waypost_model::{
    id::StreamName,
    layout,
    workflow::{self, CheckpointStep, Command, Workflow, WorkflowState},
};

/// The workflow of the work tree that the command is given in.
pub(crate) struct WorkflowWindow;

impl MachineWindow for WorkflowWindow {
    type Machine = Workflow;
    type Document = WorkflowState;

    fn streams(project: &mut Project) -> Result<Vec<StreamName>, EngineError> {
        // A work tree of ours belongs to an attempt; a twin of the window in it means nothing.
        let is_attempt = project.setup.place.is_made_by_waypost();
        Ok(if is_attempt { Vec::new() } else { vec![project.workflow_stream()] })
    }

    fn path(project: &Project, _stream: &StreamName) -> Option<PathBuf> {
        Some(project.root().join(layout::window::WORKFLOW))
    }

    fn render(machine: &Workflow) -> Option<WorkflowState> {
        machine.feature.as_ref().map(workflow::Feature::render)
    }

    fn difference(one: &WorkflowState, other: &WorkflowState) -> usize {
        one.difference(other)
    }

    fn translate(
        _machine: &Workflow,
        base: &WorkflowState,
        edited: &WorkflowState,
    ) -> Translation<Self> {
        workflow::translate(base, edited)
    }

    fn describe(command: &Command) -> String {
        match command {
            Command::Checkpoint { id, step } => format!("{} {id}", step_word(step)),
            _ => "change the state".to_owned(),
        }
    }
}

fn step_word(step: &CheckpointStep) -> &'static str {
    match step {
        CheckpointStep::Start { .. } => "start",
        CheckpointStep::Pass { .. } => "pass",
        CheckpointStep::Fail { .. } => "fail",
        CheckpointStep::Escalate => "escalate",
        CheckpointStep::Reopen => "reopen",
    }
}
