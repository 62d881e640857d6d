//! Finding and reading TASKS.md, and keeping a run in step with it.

mod fingerprint;
mod known;
mod live;

use crate::{
    adopt,
    by_hand::check_start,
    error::{EngineError, Problem},
    given,
    ledger::MachineCommand,
    mending,
    preflight::{Preflight, outlook_after},
    project::Project,
};
pub(crate) use known::KnownTasks;
pub(crate) use live::{LiveTasks, TasksEdit, left_over};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};
use waypost_model::{
    code::Code,
    diagnostic::Diagnostic,
    id::TaskId,
    machine::{Asked, Rejected},
    next::{NextStep, Remark},
    run::{self, Active, Earlier, Plan, PlanSource, Run, TaskStatus},
};
use waypost_store::{StoreError, hash, tasks_md};

/// Where TASKS.md is looked for, in this order.
const USUAL_PLACES: [&str; 3] = ["docs/planning/06-tasks.md", "docs/planning/TASKS.md", "TASKS.md"];

/// What is to become of the run that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Onward {
    /// It goes on; after one that is over the next begins, if TASKS.md has something new.
    #[default]
    GoOn,
    /// The same, and completed tasks that say something else now stay completed.
    KeepDone,
    /// It stays as it is: the commands that are given say what becomes of its plan.
    Stay,
    /// The next one begins, and one that is not finished is given up.
    New(Earlier),
}

/// What `waypost run` would do with the TASKS.md that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// No run has begun: the first one would.
    First,
    /// The run is not finished: it would go on.
    GoesOn,
    /// The same, and it has completed these tasks, which say something else now.
    Redefined(Vec<TaskId>),
    /// The run is over, and TASKS.md has nothing new.
    Over,
    /// The next run would begin.
    Next,
}

impl Ahead {
    /// Whether a run would begin.
    pub fn begins(&self) -> bool {
        matches!(self, Self::First | Self::Next)
    }
}

/// Who takes up a TASKS.md that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// A command about single tasks of the run that is there.
    Tasks,
    /// An agent session that asks for work or begins with some.
    Session,
    /// A command that is about to be the engine: no other process works on the run.
    Engine,
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

/// Reads `file`, or the first TASKS.md in the usual places.
pub fn read(project: &Project, file: Option<&Path>) -> Result<TasksSource, EngineError> {
    let path = match file {
        Some(path) => path.to_owned(),
        None => find(project).ok_or_else(|| {
            let message = format!("there is no {}", USUAL_PLACES.join(", no "));
            Problem::new(Code::TasksNotFound, message).hint("write one, or name the file")
        })?,
    };
    let bytes = read_bytes(project, &path)?.ok_or_else(|| no_such_file(&path))?;
    let root = project.root();
    let fallback = root.file_name().map_or_else(|| "project".into(), |name| name.to_string_lossy());
    let read = tasks_md::read(&String::from_utf8_lossy(&bytes), &fallback)
        .map_err(|diagnostics| EngineError::invalid(&path, &bytes, diagnostics))?;
    let shown = shown_path(project, &path);
    let mut plan = read.plan;
    plan.source = Some(PlanSource { path: shown, hash: hash::sha256_hex(&bytes) });
    Ok(TasksSource { path, plan, warnings: read.warnings })
}

/// The largest TASKS.md that is read, in bytes.
pub(crate) fn size_max(project: &Project) -> u64 {
    project.configuration().values.run.tasks_max_mb << 20
}

/// The file's bytes, if they are no more than the configuration allows; none if there is none.
fn read_bytes(project: &Project, path: &Path) -> Result<Option<Vec<u8>>, EngineError> {
    match given::read(path, size_max(project)) {
        Err(error @ StoreError::TooLarge { max, .. }) => {
            let message = format!("{} has more than {} MiB", path.display(), max >> 20);
            let hint = "raise `run.tasks_max_mb` in waypost.toml (up to 64), or split the file";
            Err(Problem::new(Code::TooLarge, message).hint(hint).because(error).into())
        }
        read => Ok(read?),
    }
}

fn find(project: &Project) -> Option<PathBuf> {
    USUAL_PLACES.iter().map(|place| project.root().join(place)).find(|path| path.is_file())
}

/// The run as it would begin with the TASKS.md that is there, after the run that was seen last:
/// one that another process has begun since then is for the next look.
pub fn preview_run(project: &mut Project, file: Option<&Path>) -> Result<Run, EngineError> {
    let plan = read(project, file)?.plan;
    let settings = project.configuration().values.run.settings();
    let (by, now) = (project.actor().clone(), project.clock().now());
    let begin = run::Command::Begin { plan, settings };
    Ok(project.run_seen()?.imagine_next([&begin], &Asked { by: &by, now })?)
}

/// Gives commands to the run, beginning it first if there is none, and taking up a TASKS.md
/// that has changed since; not while a task is worked on that is no longer in it.
pub fn drive_run(
    project: &mut Project,
    commands: &[run::Command],
    file: Option<&Path>,
) -> Result<(), EngineError> {
    again_if_begun(project, |project| {
        let commands = with_plan(project, commands, file, (Onward::GoOn, By::Tasks))?;
        project.command(&commands)
    })
}

/// As `drive_run`, for an agent session that is its own executor: after a run that is over the
/// next one begins, if TASKS.md has something new.
pub fn work_on_run(
    project: &mut Project,
    commands: &[run::Command],
    file: Option<&Path>,
) -> Result<(), EngineError> {
    again_if_begun(project, |project| {
        let commands = with_plan(project, commands, file, (Onward::GoOn, By::Session))?;
        project.command(&commands)
    })
}

/// Tries once more if another process has begun the run between our look and our command: what
/// was meant to begin it is then meant for the run that is there.
fn again_if_begun<T>(
    project: &mut Project,
    mut attempt: impl FnMut(&mut Project) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let is_under_way = |run: &Run| run.active().is_some_and(|active| !active.is_over());
    let was_under_way = is_under_way(project.run()?);
    match attempt(project) {
        Err(error) if error.code() == Code::RunUnfinished && !was_under_way => {
            if is_under_way(project.run()?) { attempt(project) } else { Err(error) }
        }
        tried => tried,
    }
}

/// As `work_on_run`, if nothing stands against the work tree that the task is to have.
pub(crate) fn start_in_session(
    project: &mut Project,
    commands: &[run::Command],
    id: &TaskId,
    file: Option<&Path>,
) -> Result<(), EngineError> {
    again_if_begun(project, |project| {
        let commands = with_plan(project, commands, file, (Onward::GoOn, By::Session))?;
        let outlook = outlook_after(project, &commands)?;
        let check = |run: &Run| match (&outlook, run.active()) {
            (Some(outlook), Some(active)) => check_start(active, id, outlook),
            _ => Ok(()),
        };
        if !project.has_journal() {
            check(&imagined(project, &commands)?)?;
        }
        project.command_if(&commands, check)
    })
}

/// A run as these commands would begin it, where no journal has been made yet.
fn imagined(project: &Project, commands: &[MachineCommand]) -> Result<Run, EngineError> {
    let asked = Asked { by: project.actor(), now: project.clock().now() };
    let commands = commands.iter().filter_map(MachineCommand::wanted_of::<Run>);
    Ok(Run::imagine(commands, &asked)?)
}

/// As `work_on_run`, for a command that is about to be the engine: no other process works on the
/// run, so what is no longer in TASKS.md is not worked on either. It is shown by the engine,
/// when it has something to wait for. A run that could not be worked on, or in which there is no
/// such `phase`, is refused, and nothing has changed.
pub fn take_up_run(
    project: &mut Project,
    commands: Vec<run::Command>,
    file: Option<&Path>,
    phase: Option<u32>,
    onward: Onward,
) -> Result<(), EngineError> {
    mending::mend_if_idle(project)?;
    let mut preflight = Preflight::of(project, phase)?;
    let commands = with_plan(project, &commands, file, (onward, By::Engine))?;
    preflight.look_ahead(project, &commands)?;
    if !project.has_journal() {
        // No journal is made for a run that does not begin.
        preflight.check(&imagined(project, &commands)?)?;
    }
    let notices = project.commit_if(&commands, |run| preflight.check(run))?;
    notices.into_iter().for_each(|notice| project.notice(notice));
    Ok(())
}

/// What would be done with the TASKS.md that is there; refuses what cannot be done, and changes
/// nothing.
pub fn ahead(
    project: &mut Project,
    file: Option<&Path>,
    onward: Onward,
) -> Result<Ahead, EngineError> {
    let Some(is_over) = project.run()?.active().map(|active| active.is_over()) else {
        adopt::refuse_loose_run(project)?;
        return Ok(Ahead::First);
    };
    match onward {
        Onward::New(_) => return Ok(Ahead::Next),
        Onward::Stay => return Ok(Ahead::GoesOn),
        Onward::GoOn | Onward::KeepDone => {}
    }
    let read = changed_tasks(project, file, (onward, By::Engine))?;
    let Some(active) = project.run()?.active() else { return Ok(Ahead::First) };
    let Some(read) = read else {
        return Ok(if is_over { Ahead::Over } else { Ahead::GoesOn });
    };
    let ahead = match is_over {
        true if active.news(&read.plan).is_empty() => Ahead::Over,
        true => Ahead::Next,
        false => match active.redefined(&read.plan) {
            redefined if redefined.is_empty() || onward == Onward::KeepDone => Ahead::GoesOn,
            redefined => Ahead::Redefined(redefined),
        },
    };
    project.tasks.ahead = Some(read);
    Ok(ahead)
}

/// Commands after what has to be said of TASKS.md before them.
fn with_plan(
    project: &mut Project,
    commands: &[run::Command],
    file: Option<&Path>,
    how: (Onward, By),
) -> Result<Vec<MachineCommand>, EngineError> {
    let first = begin_or_replan(project, file, how)?;
    project.tasks.note_read(&first);
    // What an engine had to ask about the file is decided by what is done with it now.
    let settled = (!first.is_empty()).then(live::settle);
    let commands = first.into_iter().chain(commands.iter().cloned()).map(MachineCommand::run);
    Ok(commands.chain(settled).collect())
}

fn begin_or_replan(
    project: &mut Project,
    file: Option<&Path>,
    how: (Onward, By),
) -> Result<Vec<run::Command>, EngineError> {
    let settings = project.configuration().values.run.settings();
    let number = project.run()?.active().map(|active| active.number());
    let Some(number) = number else {
        adopt::refuse_loose_run(project)?;
        let read = read_ahead(project, file)?;
        note_warnings(project, &read);
        return Ok(vec![run::Command::Begin { plan: read.plan, settings }]);
    };
    if let (Onward::New(earlier), _) = how {
        let path = tasks_path(project, file, how)?;
        let read = read_ahead(project, path.as_deref())?;
        note_warnings(project, &read);
        project.notice(begins(number + 1, &read.plan, ""));
        return Ok(vec![run::Command::BeginNew { plan: read.plan, settings, earlier }]);
    }
    if how.0 == Onward::Stay {
        return Ok(Vec::new());
    }
    let Some(read) = changed_tasks(project, file, how)? else { return Ok(Vec::new()) };
    note_warnings(project, &read);
    let Some(active) = project.run()?.active() else { return Ok(Vec::new()) };
    let news = active.news(&read.plan);
    if active.is_over() && how.1 != By::Tasks && !news.is_empty() {
        project.notice(begins(number + 1, &read.plan, &new_or_changed(&news)));
        return Ok(vec![run::Command::Begin { plan: read.plan, settings }]);
    }
    replan(project, read.plan, how)
}

/// What was read before to find out how the run should begin, or what there is now.
fn read_ahead(project: &mut Project, file: Option<&Path>) -> Result<TasksSource, EngineError> {
    let ahead = project.tasks.ahead.take();
    let ahead = ahead.filter(|it| file.is_none_or(|file| file == it.path));
    ahead.map_or_else(|| read(project, file), Ok)
}

/// TASKS.md, if it is not as the run has read it.
fn changed_tasks(
    project: &mut Project,
    file: Option<&Path>,
    how: (Onward, By),
) -> Result<Option<TasksSource>, EngineError> {
    let Some(path) = tasks_path(project, file, how)? else { return Ok(None) };
    let Some(active) = project.run()?.active() else { return Ok(None) };
    let (source, is_over) = (active.plan().source.clone(), active.is_over());
    let has_changed = match fingerprint::of(project, &path) {
        Ok(Some(hash)) => source
            .is_none_or(|source| source.hash != hash || source.path != shown_path(project, &path)),
        // The run's own file that is gone or cannot be read leaves the run as it is; one that was
        // named does not.
        Ok(None) | Err(_) => file.is_some(),
    };
    if !has_changed {
        return Ok(None);
    }
    match read(project, Some(&path)) {
        Err(EngineError::Invalid(invalid)) if !is_over || how.1 == By::Tasks => {
            let first = invalid.diagnostics.first().map_or("", |finding| &finding.message);
            project.notice(format!(
                "{} has changed and cannot be read ({first}); the run goes on with what it has",
                path.display()
            ));
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// The file that the run's plan is in. Another one is refused while the run is not finished,
/// unless its own is gone.
fn tasks_path(
    project: &mut Project,
    file: Option<&Path>,
    (onward, _): (Onward, By),
) -> Result<Option<PathBuf>, EngineError> {
    let Some(active) = project.run()?.active() else { return Ok(file.map(Path::to_owned)) };
    let (number, is_over) = (active.number(), active.is_over());
    let source = active.plan().source.as_ref().map(|source| source.path.clone());
    let own = source.as_ref().map(|path| project.root().join(path)).filter(|path| path.is_file());
    let may_change = is_over || matches!(onward, Onward::New(_));
    match (file, own) {
        (Some(file), Some(own)) if is_same_file(file, &own) => Ok(Some(own)),
        (Some(file), Some(own)) if !may_change => {
            let (named, own) = (shown_path(project, file), shown_path(project, &own));
            let message =
                format!("run {number} works on {own} and is not finished; {named} is another file");
            let other = NextStep::BeginFrom { file: named };
            Err(Rejected::rule(Code::RunUnfinished, message)
                .next(NextStep::ResumeRun)
                .next(other)
                .into())
        }
        (Some(file), _) => Ok(Some(file.to_owned())),
        (None, None) if may_change => Ok(find(project)),
        (None, own) => Ok(own),
    }
}

fn shown_path(project: &Project, path: &Path) -> String {
    path.strip_prefix(project.root()).unwrap_or(path).display().to_string()
}

fn note_warnings(project: &mut Project, read: &TasksSource) {
    read.warning_lines().for_each(|line| project.notice(line));
}

fn replan(
    project: &mut Project,
    plan: Plan,
    (onward, by): (Onward, By),
) -> Result<Vec<run::Command>, EngineError> {
    let keep_done = onward == Onward::KeepDone;
    let Some(active) = project.run()?.active() else { return Ok(Vec::new()) };
    if active.plan().is_same_work(&plan) {
        return Ok(Vec::new());
    }
    let redefined = active.redefined(&plan);
    let change = PlanChange::of(active, &plan);
    let name = plan.source.as_ref().map_or("TASKS.md", |source| source.path.as_str()).to_owned();
    if let (Some(first), false, true) = (redefined.first(), keep_done, by != By::Engine) {
        let text = format!(
            "{name} has changed, and {first} is completed and says something else now: the run \
             keeps its plan until you say what to do"
        );
        let next = vec![NextStep::BeginKeepingDone, NextStep::BeginAfresh];
        project.notice(Remark { next, ..Remark::from(text) });
        return Ok(Vec::new());
    }
    if let Some((id, _)) = change.lost.first().filter(|_| by != By::Engine) {
        project.notice(format!(
            "{name} has changed and no longer has {id}, which is in progress; it is taken up \
             when that has ended"
        ));
        return Ok(Vec::new());
    }
    let PlanChange { added, gone, kept, lost } = change;
    project.notice(format!("{name} has changed: {added} tasks added, {gone} removed, {kept} kept"));
    let given_up = lost
        .into_iter()
        .map(|(id, attempt)| run::Command::Interrupt { id, attempt: Some(attempt) });
    Ok(given_up.chain([run::Command::Replan { plan, keep_done }]).collect())
}

/// What another plan means for a run.
struct PlanChange {
    added: usize,
    gone: usize,
    kept: usize,
    /// Tasks in progress that it does not have any more, with their attempts.
    lost: Vec<(TaskId, u32)>,
}

impl PlanChange {
    fn of(active: &Active, plan: &Plan) -> Self {
        let planned: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
        let is_lost = |view: &run::TaskView<'_>| {
            view.status == TaskStatus::InProgress && !planned.contains(&view.planned.id)
        };
        let lost = active.tasks().filter(is_lost);
        let lost = lost.map(|view| (view.planned.id.clone(), view.attempts)).collect();
        let added = plan.tasks.iter().filter(|task| active.task(&task.id).is_none()).count();
        let kept = plan.tasks.len() - added;
        Self { added, gone: active.plan().tasks.len() - kept, kept, lost }
    }
}

/// Refuses a file that was named and cannot be read, whatever a run would do with it.
pub fn refuse_unreadable(project: &Project, file: &Path) -> Result<(), EngineError> {
    match read_bytes(project, file)? {
        Some(_) => Ok(()),
        None => Err(no_such_file(file).into()),
    }
}

fn no_such_file(path: &Path) -> Problem {
    Problem::new(Code::TasksNotFound, format!("there is no {}", path.display()))
}

fn begins(number: u32, plan: &Plan, why: &str) -> String {
    let name = plan.source.as_ref().map_or("TASKS.md", |source| source.path.as_str());
    format!("run {number} begins with {name}{why}")
}

/// Says which tasks are the reason for a new run; at most five of them.
fn new_or_changed(news: &[TaskId]) -> String {
    const NAMED_MAX: usize = 5;
    let names: Vec<&str> = news.iter().take(NAMED_MAX).map(TaskId::as_str).collect();
    let more = match news.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(": new or changed since the run before: {}{more}", names.join(", "))
}

/// Whether two paths lead to one file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}
