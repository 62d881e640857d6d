//! `.claude/orchestrate-state.json`, one per repository, in the main work tree.

use super::{
    run_text,
    window::{MachineWindow, Translation},
};
use crate::{error::EngineError, ledger::run_stream, project::Project};
use std::path::{Path, PathBuf};
use waypost_model::{
    id::StreamName,
    layout,
    run::{self, Command, Run, RunState},
};

/// The run of the repository, wherever the command is given.
pub(crate) struct RunWindow;

impl MachineWindow for RunWindow {
    type Machine = Run;
    type Document = RunState;

    fn streams(_project: &mut Project) -> Result<Vec<StreamName>, EngineError> {
        Ok(vec![run_stream()])
    }

    fn path(project: &Project, _stream: &StreamName) -> Option<PathBuf> {
        project.setup.main_root().map(|root| root.join(layout::window::RUN))
    }

    fn render(machine: &Run) -> Option<RunState> {
        machine.active().map(run::Active::render)
    }

    fn render_text(machine: &Run) -> Option<String> {
        machine.active().map(run_text::text_of)
    }

    fn difference(one: &RunState, other: &RunState) -> usize {
        one.difference(other)
    }

    fn translate(machine: &Run, base: &RunState, edited: &RunState) -> Translation<Self> {
        let Some(active) = machine.active() else { return Ok(Vec::new()) };
        run::translate(base, edited, active.settings())
    }

    fn describe(command: &Command) -> String {
        match command {
            Command::Satisfy { id } | Command::Done { id, .. } => format!("complete {id}"),
            Command::Fail { id, .. } => format!("fail {id}"),
            Command::Skip { id } => format!("skip {id}"),
            Command::Retry { id } => format!("retry {id}"),
            Command::Start { id } => format!("start {id}"),
            Command::Configure { .. } => "change the settings".to_owned(),
            _ => "change the state".to_owned(),
        }
    }

    /// An agent cannot complete tasks by editing the file, and no one can while a run is live.
    fn waits_for_person(project: &Project) -> Result<bool, EngineError> {
        Ok(!project.actor().is_person() || project.engine_holder()?.is_some())
    }

    fn seed_lock(path: &Path) -> Option<PathBuf> {
        Some(beside(path, ".lock"))
    }

    fn backup(path: &Path) -> Option<PathBuf> {
        Some(beside(path, ".bak"))
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
