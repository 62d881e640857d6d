//! `.claude/memory/task-state.json` and `task-history.json`, one of each per repository, in the main
//! work tree.
//!
//! Both show one machine. A file that is missing is made when there is something new to show, never
//! because it was looked at.

use super::window::{MachineWindow, Translation};
use crate::{error::EngineError, ledger::memory_stream, project::Project};
use std::path::PathBuf;
use waypost_model::{
    document::memory::{TaskHistory, TaskState},
    id::StreamName,
    layout,
    memory::{
        Command, Memory, StepAct, TaskAct, differs_history, differs_state, translate_history,
        translate_state,
    },
    next::NextStep,
    time::Stamp,
};

/// The current task and those that wait.
pub(crate) struct TaskStateWindow;

/// What has ended.
pub(crate) struct HistoryWindow;

/// The folder of the memory's files; none where there is no work tree.
pub(crate) fn memory_folder(project: &Project) -> Option<PathBuf> {
    project.setup.main_root().map(|root| root.join(layout::window::MEMORY_FOLDER))
}

impl MachineWindow for TaskStateWindow {
    type Machine = Memory;
    type Document = TaskState;

    const NAME: Option<&'static str> = Some("task-state");
    const RETURNS: bool = false;
    const KEEPS_UNREADABLE: bool = true;

    fn streams(_project: &mut Project) -> Result<Vec<StreamName>, EngineError> {
        Ok(vec![memory_stream()])
    }

    fn path(project: &Project, _stream: &StreamName) -> Option<PathBuf> {
        project.setup.main_root().map(|root| root.join(layout::window::TASK_STATE))
    }

    fn render(machine: &Memory) -> Option<TaskState> {
        machine.render_state()
    }

    fn is_shown(machine: &Memory) -> bool {
        machine.is_open()
    }

    fn taken_up_by(_file: String) -> NextStep {
        NextStep::InitMemory
    }

    fn difference(one: &TaskState, other: &TaskState) -> usize {
        differs_state(one, other)
    }

    fn dated(document: &TaskState) -> Option<Stamp> {
        document.last_updated
    }

    fn translate(_machine: &Memory, base: &TaskState, edited: &TaskState) -> Translation<Self> {
        translate_state(base, edited)
    }

    fn describe(command: &Command) -> String {
        describe(command)
    }
}

impl MachineWindow for HistoryWindow {
    type Machine = Memory;
    type Document = TaskHistory;

    const NAME: Option<&'static str> = Some("task-history");
    const RETURNS: bool = false;
    const KEEPS_UNREADABLE: bool = true;

    fn streams(_project: &mut Project) -> Result<Vec<StreamName>, EngineError> {
        Ok(vec![memory_stream()])
    }

    fn path(project: &Project, _stream: &StreamName) -> Option<PathBuf> {
        project.setup.main_root().map(|root| root.join(layout::window::TASK_HISTORY))
    }

    fn render(machine: &Memory) -> Option<TaskHistory> {
        machine.render_history()
    }

    fn is_shown(machine: &Memory) -> bool {
        machine.is_open()
    }

    fn taken_up_by(_file: String) -> NextStep {
        NextStep::InitMemory
    }

    fn difference(one: &TaskHistory, other: &TaskHistory) -> usize {
        differs_history(one, other)
    }

    fn translate(machine: &Memory, base: &TaskHistory, edited: &TaskHistory) -> Translation<Self> {
        translate_history(machine, base, edited)
    }

    fn describe(command: &Command) -> String {
        describe(command)
    }
}

/// A command in a few words.
fn describe(command: &Command) -> String {
    match command {
        Command::NewTask { draft } => format!("make the task `{}`", draft.name),
        Command::AddStep { draft, .. } => format!("add the step `{}`", draft.name),
        Command::Task { act, .. } => match act {
            TaskAct::Start => "start the task",
            TaskAct::Pause => "pause the task",
            TaskAct::Resume => "resume the task",
            TaskAct::Fail { .. } => "fail the task",
            TaskAct::Recover { .. } => "recover the task",
            TaskAct::Cancel { .. } => "cancel the task",
            TaskAct::Close { .. } => "close the task",
            TaskAct::Complete { .. } => "complete the task",
            TaskAct::Replan => "make the plan anew",
            TaskAct::Amend { .. } => "change what the task says",
        }
        .to_owned(),
        Command::Step { step, act, .. } => {
            let verb = match act {
                StepAct::Start => "start",
                StepAct::Complete { .. } => "complete",
                StepAct::Fail { .. } => "fail",
                StepAct::Retry { .. } => "retry",
                StepAct::Escalate { .. } => "escalate",
                StepAct::SetOutput { .. } => "set the output of",
                StepAct::Change { .. } => "change",
                StepAct::Remove => "remove",
                StepAct::Overdue => "look at",
            };
            format!("{verb} step {step}")
        }
        _ => "change the memory".to_owned(),
    }
}
