//! Finding and reading TASKS.md, and keeping a run in step with it.

use crate::{error::EngineError, ledger::MachineCommand, preflight::Preflight, project::Project};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};
use waypost_model::{
    diagnostic::Diagnostic,
    id::TaskId,
    machine::Asked,
    run::{self, Plan, PlanSource, Run, TaskStatus},
};
use waypost_store::{file, hash, tasks_md};

/// Where TASKS.md is looked for, in this order.
const USUAL_PLACES: [&str; 3] = ["docs/planning/06-tasks.md", "docs/planning/TASKS.md", "TASKS.md"];

/// The largest TASKS.md that is read.
const FILE_SIZE_MAX: u64 = 10 << 20;

/// What becomes of a task that is worked on and no longer in TASKS.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removed {
    /// The new TASKS.md waits until it has ended.
    Awaited,
    /// Its attempt ends without a result.
    GivenUp,
}

/// A TASKS.md that was read.
#[derive(Clone, Debug)]
pub struct TasksSource {
    pub path: PathBuf,
    pub plan: Plan,
    pub warnings: Vec<Diagnostic>,
}

impl TasksSource {
    /// The warnings, a line each.
    pub fn warning_lines(&self) -> impl Iterator<Item = String> {
        self.warnings.iter().map(|warning| {
            let line = warning.place.map_or(String::new(), |place| format!(":{}", place.line));
            format!("{}{line}: {}", self.path.display(), warning.message)
        })
    }
}

impl Project {
    /// Reads `file`, or the first TASKS.md in the usual places.
    pub fn read_tasks(&self, file: Option<&Path>) -> Result<TasksSource, EngineError> {
        let path = match file {
            Some(path) => path.to_owned(),
            None => self.find_tasks().ok_or_else(|| EngineError::BadInput {
                message: format!("TASKS_NOT_FOUND: there is no {}", USUAL_PLACES.join(", no ")),
                hint: Some(
                    "write one, or name the file: `waypost run start ID --tasks FILE`".into(),
                ),
            })?,
        };
        let bytes = file::read_bounded(&path, FILE_SIZE_MAX)?.ok_or_else(|| {
            EngineError::bad_input(format!("TASKS_NOT_FOUND: there is no {}", path.display()))
        })?;
        let root = self.root();
        let fallback =
            root.file_name().map_or_else(|| "project".into(), |name| name.to_string_lossy());
        let read = tasks_md::read(&String::from_utf8_lossy(&bytes), &fallback)
            .map_err(|diagnostics| EngineError::invalid(&path, &bytes, diagnostics))?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let mut plan = read.plan;
        plan.source = Some(PlanSource { path: shown, hash: hash::sha256_hex(&bytes) });
        Ok(TasksSource { path, plan, warnings: read.warnings })
    }

    fn find_tasks(&self) -> Option<PathBuf> {
        USUAL_PLACES.iter().map(|place| self.root().join(place)).find(|path| path.is_file())
    }

    /// The run as it would begin with the TASKS.md that is there.
    pub fn preview_run(&self, file: Option<&Path>) -> Result<Run, EngineError> {
        let plan = self.read_tasks(file)?.plan;
        let settings = self.configuration().values.run.settings();
        let asked = Asked { by: self.actor(), now: self.clock().now() };
        Ok(Run::imagine([&run::Command::Begin { plan, settings }], &asked)?)
    }

    /// Gives commands to the run, beginning it first if there is none, and taking up a TASKS.md
    /// that has changed since; not while a task is worked on that is no longer in it.
    pub fn drive_run(
        &mut self,
        commands: Vec<run::Command>,
        file: Option<&Path>,
    ) -> Result<(), EngineError> {
        let commands = self.with_plan(commands, file, Removed::Awaited)?;
        self.command(&commands)
    }

    /// As `drive_run`, for whoever is about to be the engine: nobody else works on the run, so what
    /// is no longer in TASKS.md is not worked on either. It is shown by the engine, when it has
    /// something to wait for. A run that could not be worked on, or in which there is no such
    /// `phase`, is refused, and nothing has changed.
    pub fn take_up_run(
        &mut self,
        commands: Vec<run::Command>,
        file: Option<&Path>,
        phase: Option<u32>,
    ) -> Result<(), EngineError> {
        let preflight = Preflight::of(self, phase)?;
        let commands = self.with_plan(commands, file, Removed::GivenUp)?;
        if !self.has_journal() {
            // No journal is made for a run that does not begin.
            let asked = Asked { by: self.actor(), now: self.clock().now() };
            preflight.check(&Run::imagine(commands.iter().filter_map(as_run), &asked)?)?;
        }
        let notices = self.commit_if(&commands, |run| preflight.check(run))?;
        notices.into_iter().for_each(|notice| self.notice(notice));
        Ok(())
    }

    /// Commands after what has to be said of TASKS.md before them.
    fn with_plan(
        &mut self,
        commands: Vec<run::Command>,
        file: Option<&Path>,
        removed: Removed,
    ) -> Result<Vec<MachineCommand>, EngineError> {
        let first = self.begin_or_replan(file, removed)?;
        Ok(first.into_iter().chain(commands).map(MachineCommand::Run).collect())
    }

    fn begin_or_replan(
        &mut self,
        file: Option<&Path>,
        removed: Removed,
    ) -> Result<Vec<run::Command>, EngineError> {
        let settings = self.configuration().values.run.settings();
        let source = match self.run()?.active() {
            None => {
                let ahead = self.tasks_ahead.take();
                let ahead = ahead.filter(|it| file.is_none_or(|file| file == it.path));
                let read = ahead.map_or_else(|| self.read_tasks(file), Ok)?;
                self.note_warnings(&read);
                // Work trees are made by an engine: whoever works without one has none.
                let isolation = run::Isolation::None;
                let settings = run::Settings { isolation, ..settings };
                return Ok(vec![run::Command::Begin { plan: read.plan, settings }]);
            }
            Some(active) => active.plan().source.clone(),
        };
        let path = file.map(Path::to_owned);
        let path = path.or_else(|| source.as_ref().map(|source| self.root().join(&source.path)));
        let Some(path) = path else { return Ok(Vec::new()) };
        let has_changed = match file::read_bounded(&path, FILE_SIZE_MAX) {
            Ok(Some(bytes)) => source.is_none_or(|source| source.hash != hash::sha256_hex(&bytes)),
            // A file that is gone or cannot be read leaves the run as it is.
            Ok(None) | Err(_) => false,
        };
        if !has_changed {
            return Ok(Vec::new());
        }
        match self.read_tasks(Some(&path)) {
            Ok(read) => {
                self.note_warnings(&read);
                self.replan(read.plan, removed)
            }
            Err(EngineError::Invalid(invalid)) => {
                let first = invalid.diagnostics.first().map_or("", |finding| &finding.message);
                self.notice(format!(
                    "{} has changed and cannot be read ({first}); the run goes on with what it has",
                    path.display()
                ));
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    fn note_warnings(&mut self, read: &TasksSource) {
        read.warning_lines().for_each(|line| self.notice(line));
    }

    fn replan(&mut self, plan: Plan, removed: Removed) -> Result<Vec<run::Command>, EngineError> {
        let Some(active) = self.run()?.active() else { return Ok(Vec::new()) };
        if active.plan().is_same_work(&plan) {
            return Ok(Vec::new());
        }
        let planned: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
        let is_lost = |view: &run::TaskView<'_>| {
            view.status == TaskStatus::InProgress && !planned.contains(&view.planned.id)
        };
        let lost: Vec<(TaskId, u32)> = active
            .tasks()
            .filter(is_lost)
            .map(|view| (view.planned.id.clone(), view.attempts))
            .collect();
        let added = plan.tasks.iter().filter(|task| active.task(&task.id).is_none()).count();
        let kept = plan.tasks.len() - added;
        let gone = active.plan().tasks.len() - kept;
        let name =
            plan.source.as_ref().map_or("TASKS.md", |source| source.path.as_str()).to_owned();
        if let Some((id, _)) = lost.first().filter(|_| removed == Removed::Awaited) {
            self.notice(format!(
                "{name} has changed and no longer has {id}, which is in progress; it is taken up \
                 when that has ended"
            ));
            return Ok(Vec::new());
        }
        self.notice(format!(
            "{name} has changed: {added} tasks added, {gone} removed, {kept} kept"
        ));
        let given_up = lost
            .into_iter()
            .map(|(id, attempt)| run::Command::Interrupt { id, attempt: Some(attempt) });
        Ok(given_up.chain([run::Command::Replan { plan }]).collect())
    }
}

fn as_run(command: &MachineCommand) -> Option<&run::Command> {
    match command {
        MachineCommand::Run(command) => Some(command),
        _ => None,
    }
}
