//! What makes each window different: its file, its machine, and what an edit of it means.

use crate::{error::EngineError, ledger::MachineCommand, project::Project};
use std::path::{Path, PathBuf};
use waypost_model::{
    document::Document,
    layout,
    machine::Rejected,
    run::{self, Run, RunState},
    workflow::{self, Workflow, WorkflowState},
};
use waypost_store::{file, windows::WindowArchive};

/// An edit as commands, or every reason why it cannot be one.
pub(super) type Translation = Result<Vec<MachineCommand>, Vec<Rejected>>;

/// A machine as a file shows it.
pub(super) trait Face {
    type Document: Document + Clone;

    /// What its part of the product is called in messages and in the inbox.
    const PART: &'static str;

    /// The name of its archive.
    fn name(project: &Project) -> String;

    /// Its file; none where there is no work tree.
    fn path(project: &Project) -> Option<PathBuf>;

    /// How many events its stream has.
    fn head(project: &mut Project) -> Result<u64, EngineError>;

    /// What the file should show, and after how many events; nothing before the first.
    fn document(project: &mut Project) -> Result<Option<(u64, Self::Document)>, EngineError>;

    fn difference(one: &Self::Document, other: &Self::Document) -> usize;

    fn translate(
        project: &mut Project,
        base: &Self::Document,
        edited: &Self::Document,
    ) -> Result<Translation, EngineError>;

    /// Whether an edit that could be taken up has to wait for a person first.
    fn waits_for_person(project: &Project) -> Result<bool, EngineError>;

    /// The lock file that other tools respect while the file is replaced.
    fn seed_lock(_path: &Path) -> Option<PathBuf> {
        None
    }

    /// What else is on disk beside the window.
    fn after(
        _project: &Project,
        _archive: &WindowArchive,
        _path: &Path,
    ) -> Result<(), EngineError> {
        Ok(())
    }
}

/// `.develop-workflow/state.json`, one per work tree.
pub(super) struct WorkflowFace;

/// `.claude/orchestrate-state.json`, one per repository, in the main work tree.
pub(super) struct RunFace;

impl Face for WorkflowFace {
    type Document = WorkflowState;

    const PART: &'static str = "workflow";

    fn name(project: &Project) -> String {
        format!("workflow-{}", project.place.tree)
    }

    fn path(project: &Project) -> Option<PathBuf> {
        Some(project.root().join(layout::window::WORKFLOW))
    }

    fn head(project: &mut Project) -> Result<u64, EngineError> {
        let stream = project.workflow_stream();
        let Some(journal) = &mut project.journal else { return Ok(0) };
        Ok(journal.view()?.head(&stream)?)
    }

    fn document(project: &mut Project) -> Result<Option<(u64, WorkflowState)>, EngineError> {
        let stream = project.workflow_stream();
        let Some(journal) = &mut project.journal else { return Ok(None) };
        let loaded = project.ledger.get::<Workflow>(&journal.view()?, &stream)?;
        let feature = loaded.state.feature.as_ref();
        Ok(feature.map(|feature| (loaded.head, feature.render())))
    }

    fn difference(one: &WorkflowState, other: &WorkflowState) -> usize {
        one.difference(other)
    }

    fn translate(
        project: &mut Project,
        base: &WorkflowState,
        edited: &WorkflowState,
    ) -> Result<Translation, EngineError> {
        let stream = project.workflow_stream();
        let wrap = |command| MachineCommand::workflow(stream.clone(), command);
        let commands = workflow::translate(base, edited);
        Ok(commands.map(|commands| commands.into_iter().map(wrap).collect()))
    }

    fn waits_for_person(_project: &Project) -> Result<bool, EngineError> {
        Ok(false)
    }
}

impl Face for RunFace {
    type Document = RunState;

    const PART: &'static str = "run";

    fn name(_project: &Project) -> String {
        "run".into()
    }

    fn path(project: &Project) -> Option<PathBuf> {
        project.main_root().map(|root| root.join(layout::window::RUN))
    }

    fn head(project: &mut Project) -> Result<u64, EngineError> {
        let Some(journal) = &mut project.journal else { return Ok(0) };
        Ok(journal.view()?.head(&Project::run_stream())?)
    }

    fn document(project: &mut Project) -> Result<Option<(u64, RunState)>, EngineError> {
        let Some(journal) = &mut project.journal else { return Ok(None) };
        let loaded = project.ledger.get::<Run>(&journal.view()?, &Project::run_stream())?;
        let active = loaded.state.active();
        Ok(active.map(|active| (loaded.head, active.render())))
    }

    fn difference(one: &RunState, other: &RunState) -> usize {
        one.difference(other)
    }

    fn translate(
        project: &mut Project,
        base: &RunState,
        edited: &RunState,
    ) -> Result<Translation, EngineError> {
        let Some(active) = project.run()?.active() else { return Ok(Ok(Vec::new())) };
        let commands = run::translate(base, edited, active.settings());
        Ok(commands.map(|commands| commands.into_iter().map(MachineCommand::run).collect()))
    }

    /// An agent cannot complete tasks by editing the file, and nobody can while a run is live.
    fn waits_for_person(project: &Project) -> Result<bool, EngineError> {
        Ok(!project.actor().is_person() || project.engine_holder()?.is_some())
    }

    fn seed_lock(path: &Path) -> Option<PathBuf> {
        Some(beside(path, ".lock"))
    }

    /// `.bak` is the rendering before the present one.
    fn after(_project: &Project, archive: &WindowArchive, path: &Path) -> Result<(), EngineError> {
        let Some(before) = archive.kept()?.into_iter().nth(1) else { return Ok(()) };
        if let Some(bytes) = archive.load(&before)? {
            file::replace_volatile(&beside(path, ".bak"), &bytes, file::SHARED)?;
        }
        Ok(())
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
