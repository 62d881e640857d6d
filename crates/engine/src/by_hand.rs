//! An agent session that is its own executor, in a run whose tasks have work trees.
//!
//! It asks for a task and is told where to work; what it did is committed, verified at that commit
//! and joined by Waypost when it says that the task is done, and a phase whose tasks have all ended
//! is merged then and there: no engine is at work that would do it. The rules are those of an
//! engine, and so is the order: git first, then the journal.

use crate::{
    check,
    children::Children,
    error::{EngineError, Problem},
    execute::{Made, make_attempt_tree},
    isolation,
    ledger::MachineCommand,
    mending,
    project::Project,
    tasks,
    worktrees::trees_of,
};
use std::{
    io,
    path::{Path, PathBuf},
};
use waypost_git::{
    Committed, Hold, Join, Land, Landing, Occupant, Outlook, PhaseBranch, Stamp, Trees, merge,
    name_some, tree,
};
use waypost_model::{
    actor::Actor,
    code::Code,
    declared::{self, are_disjoint},
    evidence::Evidence,
    id::TaskId,
    machine::Rejected,
    next::NextStep,
    run::{self, Active, EndStep, Isolation, PhaseStage, TaskStatus, TaskView},
};
use waypost_store::lock::Owner;

/// Where a task in progress is worked on, and what is said of it in commits.
struct Place {
    trees: Trees,
    phase: PhaseBranch,
    /// The work tree, which is the task's own or its phase's.
    name: String,
    stamp: Stamp,
    files: Vec<String>,
    verify: Vec<String>,
}

impl Place {
    fn folder(&self) -> PathBuf {
        self.trees.path(&self.name)
    }

    fn is_own(&self) -> bool {
        !self.phase.is_shared
    }

    /// The task as one of those that share the work tree of their phase.
    fn occupant(&self, is_alone: bool) -> Occupant {
        let (phase, stamp, files) = (self.phase.clone(), self.stamp.clone(), self.files.clone());
        Occupant { phase, stamp, files, is_alone }
    }
}

/// Starts a task. In an agent session this is where the first agent of a run starts: where its
/// tasks are worked on is decided now, and the task's work tree made where there is one; its
/// path is returned.
pub fn start_task(
    project: &mut Project,
    id: &TaskId,
    file: Option<&Path>,
    echo: &mut dyn io::Write,
) -> Result<Option<PathBuf>, EngineError> {
    let is_session = !project.actor().is_person();
    let mut commands = Vec::new();
    if is_session {
        commands.extend(decide_place_ahead(project, file)?);
    }
    commands.push(run::Command::Start { id: id.clone() });
    if !is_session {
        tasks::work_on_run(project, &commands, file)?;
        return Ok(None);
    }
    tasks::start_in_session(project, &commands, id, file)?;
    let made = make_place(project, id, echo);
    if made.is_err() {
        give_back(project, id)?;
    }
    made
}

/// What decides where tasks are worked on, before the run has begun or after.
fn decide_place_ahead(
    project: &mut Project,
    file: Option<&Path>,
) -> Result<Option<run::Command>, EngineError> {
    if !tasks::ahead(project, file, crate::Onward::GoOn)?.begins() {
        return isolation::decide_place(project);
    }
    let settings = project.configuration().values.run.settings();
    let settings = isolation::place_run(project, settings, None, (file, crate::Onward::GoOn))?;
    isolation::say_place(project, &settings);
    Ok(Some(run::Command::Configure { settings }))
}

fn make_place(
    project: &mut Project,
    id: &TaskId,
    echo: &mut dyn io::Write,
) -> Result<Option<PathBuf>, EngineError> {
    let Some(place) = place_of(project, id)? else { return Ok(None) };
    let is_based = project.run()?.active().is_some_and(|it| it.base(place.phase.number).is_some());
    if !is_based {
        let (phase, commit) = (place.phase.number, merge::open_phase(&place.trees, &place.phase)?);
        record(project, vec![run::Command::BasePhase { phase, commit }])?;
    }
    let made = match place.is_own() {
        true => make_attempt_tree(&place.trees, id, &place.name, &place.phase)?,
        false => {
            merge::enter(&place.trees, &place.occupant(is_alone(project, id)?), false)?;
            Made::Kept { without: None }
        }
    };
    match made {
        Made::NoSpace => {
            let message = "the disk is nearly full: there is no room for a work tree";
            return Err(Problem::new(Code::DiskFull, message).next(NextStep::ListTrees).into());
        }
        Made::New => set_up(project, &place.folder(), echo)?,
        Made::Kept { .. } => {}
    }
    Ok(Some(place.folder()))
}

/// Makes a new work tree ready by the project's own command.
pub(crate) fn set_up(
    project: &mut Project,
    folder: &Path,
    echo: &mut dyn io::Write,
) -> Result<(), EngineError> {
    let setup = project.configuration().values.worktree.setup.trim().to_owned();
    if setup.is_empty() {
        return Ok(());
    }
    let result = check::run(&Children::of(project)?, &setup, folder, echo)?;
    match result.passed {
        true => Ok(()),
        false => Err(EngineError::CheckFailed { command: setup, outcome: result.outcome }),
    }
}

/// The attempt that was just begun has no place to work in: it is none.
fn give_back(project: &mut Project, id: &TaskId) -> Result<(), EngineError> {
    record(project, vec![run::Command::Interrupt { id: id.clone(), attempt: None }])
}

/// Whether no other task is in progress.
fn is_alone(project: &mut Project, id: &TaskId) -> Result<bool, EngineError> {
    let Some(active) = project.run()?.active() else { return Ok(true) };
    let mut others = active.tasks().filter(|view| view.planned.id != *id);
    Ok(!others.any(|view| view.status == TaskStatus::InProgress))
}

/// Where a task in progress is worked on; none if that is the project's folder.
fn place_of(project: &mut Project, id: &TaskId) -> Result<Option<Place>, EngineError> {
    let Some(active) = project.run()?.active() else { return Ok(None) };
    let view = active.task(id).filter(|view| view.status == TaskStatus::InProgress);
    let Some(view) = view else { return Ok(None) };
    let Some(phase) = PhaseBranch::of(active, view.planned.phase) else { return Ok(None) };
    let name = match active.settings().isolation {
        Isolation::Task => active.task_tree(id),
        _ => Some(phase.name.clone()),
    };
    let Some(name) = name else { return Ok(None) };
    let details = view.planned.details.as_deref();
    let (title, attempt) = (view.planned.title.clone(), view.attempts);
    let stamp = Stamp { id: id.clone(), attempt, title };
    let files = details.map(|it| it.files.clone()).unwrap_or_default();
    let verify = details.map(|it| it.verify.clone()).unwrap_or_default();
    let trees = trees_of(project)?;
    mending::restore_branches(project, &trees)?;
    Ok(Some(Place { trees, phase, name, stamp, files, verify }))
}

/// Commits, verifies and joins what a session did in the work tree that it was given; false if
/// it works in the project's folder, or an engine works for it.
pub(crate) fn finish_apart(
    project: &mut Project,
    id: &TaskId,
    attempt: Option<u32>,
    echo: &mut dyn io::Write,
) -> Result<bool, EngineError> {
    if project.actor().is_person() || project.is_in_attempt() {
        return Ok(false);
    }
    let Some(place) = place_of(project, id)? else { return Ok(false) };
    // One that was begun in the project's folder has no tree, and an older attempt no say.
    let is_current = attempt.is_none_or(|attempt| attempt == place.stamp.attempt);
    if !is_current || !place.folder().join(".git").exists() {
        return Ok(false);
    }
    let evidence = |tree: Option<String>| match place.verify.is_empty() {
        true => Evidence::Unverified,
        false => Evidence::Check { command: place.verify.join(" && "), tree },
    };
    let (commit, evidence) = match place.is_own() {
        true => {
            let Place { trees, name, phase, stamp, files, .. } = &place;
            let own = merge::commit_attempt(trees, name, phase, stamp, files)?;
            let (commit, changed) = place.proven(own)?;
            place.verify(&Children::of(project)?, echo)?;
            let evidence = evidence(Some(commit.clone()));
            (place.join(&commit, changed, &evidence)?, evidence)
        }
        false => {
            place.verify(&Children::of(project)?, echo)?;
            let evidence = evidence(None);
            let occupant = place.occupant(is_alone(project, id)?);
            let said = evidence.to_string();
            let shared = merge::commit_shared(&place.trees, &occupant, false, &said)?;
            let (commit, changed) = place.proven(shared)?;
            (changed.then_some(commit), evidence)
        }
    };
    let attempt = Some(place.stamp.attempt);
    record(project, vec![run::Command::Done { id: id.clone(), attempt, evidence, commit }])?;
    if place.is_own() {
        // A session may still be in it; then it is removed later.
        let _kept = tree::retire(&place.trees, &place.name, "its work is joined");
    }
    Ok(true)
}

/// Merges a phase whose tasks have all ended, where an agent session is its own executor.
pub fn end_phase(project: &mut Project, echo: &mut dyn io::Write) -> Result<(), EngineError> {
    if project.actor().is_person() || project.is_in_attempt() || project.engine_holder()?.is_some()
    {
        return Ok(());
    }
    let Some(active) = project.run()?.active() else { return Ok(()) };
    let number = active.current_phase();
    let is_joining =
        matches!(active.phase(number), Some(PhaseStage::Ending { step: EndStep::Joining, .. }));
    let (true, Some(landing)) = (is_joining, Landing::of(active, number)) else {
        return Ok(());
    };
    let owner = Owner::this_process("run", project.clock.now());
    let _lock = project.journals.lease(&owner)?;
    let trees = trees_of(project)?.held(Hold::acquire(&project.setup.place.state)?);
    let result = land(project, &trees, &landing, echo)?;
    match &result {
        Ok(_) => project.notice(format!("phase {number} is merged into {}", landing.phase.target)),
        Err(why) => project.notice(format!("phase {number} could not be merged: {why}")),
    }
    let is_merged = result.is_ok();
    record(project, vec![run::Command::PhaseJoined { phase: number, result }])?;
    if is_merged {
        merge::close_phase(&trees, &landing.phase)?;
    }
    Ok(())
}

/// Lands the work of a phase or of a request; why not, where a person has to do something first, to whom its work tree
/// is left.
pub(crate) fn land(
    project: &mut Project,
    trees: &Trees,
    landing: &Landing,
    echo: &mut dyn io::Write,
) -> Result<Result<Option<String>, String>, EngineError> {
    let result = match land_phase(project, trees, landing, echo) {
        Err(EngineError::CheckFailed { command, outcome }) => {
            Err(format!("`{command}` did not pass in {}: {outcome}.", landing.phase.name))
        }
        Err(error) => Err(format!("{error}.")),
        Ok(Land::Held(why)) => Err(why),
        Ok(Land::Nothing) => Ok(None),
        Ok(Land::Done { commit, .. }) => Ok(Some(commit)),
    };
    if result.is_err() {
        merge::hand_over(trees, &landing.phase)?;
    }
    Ok(result)
}

fn land_phase(
    project: &mut Project,
    trees: &Trees,
    landing: &Landing,
    echo: &mut dyn io::Write,
) -> Result<Land, EngineError> {
    mending::restore_branches(project, trees)?;
    merge::settle_phase(trees, &landing.phase)?;
    let folder = trees.path(&landing.phase.name);
    let checks = project.configuration().values.run.checks.clone();
    if !checks.is_empty() {
        set_up(project, &folder, echo)?;
    }
    let children = Children::of(project)?;
    for command in &checks {
        let result = check::run(&children, command, &folder, echo)?;
        if !result.passed {
            let (command, outcome) = (command.clone(), result.outcome);
            return Err(EngineError::CheckFailed { command, outcome });
        }
    }
    Ok(merge::land(trees, landing)?)
}

/// Records what Waypost itself has done for a session, and shows it.
fn record(project: &mut Project, commands: Vec<run::Command>) -> Result<(), EngineError> {
    let commands: Vec<MachineCommand> = commands.into_iter().map(MachineCommand::run).collect();
    let refused = project.commit_each(&Actor::Waypost, &commands, |_| Vec::new())?;
    match refused.into_iter().next() {
        Some(refused) => Err(refused.next(NextStep::ShowRun).into()),
        None => project.command(&[]),
    }
}

/// Refuses a task that has no place to work in: its phase cannot be opened, or another task works in
/// the tree that they would share, and may touch the same files.
pub(crate) fn check_start(
    active: &Active,
    id: &TaskId,
    outlook: &Outlook,
) -> Result<(), EngineError> {
    let Some(task) = active.task(id) else { return Ok(()) };
    let Some(phase) = PhaseBranch::of(active, task.planned.phase) else { return Ok(()) };
    outlook.check(&phase)?;
    let mut beside = active
        .tasks()
        .filter(|view| view.status == TaskStatus::InProgress && view.planned.id != *id);
    let other = beside.find(|view| !are_disjoint(declared_files(view), declared_files(&task)));
    match other.filter(|_| phase.is_shared) {
        Some(other) => {
            let other = other.planned.id.clone();
            let message = format!(
                "{other} is in progress in the work tree that {id} would share with it, and their \
                 `files:` do not say that they touch different ones"
            );
            let next = NextStep::CompleteTask { id: other };
            Err(Rejected::rule(Code::ParallelLimit, message).next(next).into())
        }
        None => Ok(()),
    }
}

fn declared_files<'a>(view: &TaskView<'a>) -> &'a [String] {
    view.planned.details.as_deref().map_or(&[], |details| &details.files)
}

impl Place {
    /// The commit that has the work, and whether it changed anything.
    fn proven(&self, committed: Committed) -> Result<(String, bool), EngineError> {
        let failed = |message: String| Problem::new(Code::NothingProven, message).into();
        match committed {
            Committed::At { commit, changed, ignored } => {
                let task = (self.stamp.id.as_str(), self.files.as_slice());
                match declared::proves_nothing(task, false, &changed) {
                    Some(why) => {
                        let told = ignored.told().map(|told| format!("; {told}"));
                        Err(failed(format!("{why}{}", told.unwrap_or_default())))
                    }
                    None => Ok((commit, !changed.is_empty())),
                }
            }
            Committed::Gone => Err(failed(format!("{} is not there any more", self.name))),
            Committed::Astray(why) => Err(failed(why)),
        }
    }

    fn verify(&self, children: &Children, echo: &mut dyn io::Write) -> Result<(), EngineError> {
        for command in &self.verify {
            let result = check::run(children, command, &self.folder(), echo)?;
            if !result.passed {
                let (command, outcome) = (command.clone(), result.outcome);
                return Err(EngineError::CheckFailed { command, outcome });
            }
        }
        Ok(())
    }

    /// Joins the commit to the phase; none if there is nothing to join.
    fn join(
        &self,
        commit: &str,
        changed: bool,
        evidence: &Evidence,
    ) -> Result<Option<String>, EngineError> {
        let unclean = match self.verify.is_empty() {
            true => Vec::new(),
            false => merge::changed_since(&self.trees, &self.name, commit)?,
        };
        if !unclean.is_empty() {
            let message = format!(
                "verification has changed files that are committed: {}",
                name_some(&unclean)
            );
            return Err(Problem::new(Code::VerifyChangedFiles, message)
                .hint("let it leave them as they are")
                .into());
        }
        if !changed {
            return Ok(None);
        }
        tree::keep_outputs(&self.trees, &self.name)?;
        match merge::join(&self.trees, &self.phase, commit, &self.stamp, &evidence.to_string())? {
            Join::Done { commit } => Ok(Some(commit)),
            Join::Nothing => Ok(None),
            Join::Conflict { files } | Join::Unclean { files } => {
                let message = format!(
                    "it conflicts with what was joined meanwhile, in {}",
                    name_some(&files)
                );
                let (folder, phase) = (self.folder(), &self.phase.name);
                let hint = format!(
                    "`git -C {} merge {phase}`, resolve it there, then complete the task again",
                    folder.display()
                );
                let id = self.stamp.id.clone();
                Err(Problem::new(Code::MergeConflict, message)
                    .hint(hint)
                    .next(NextStep::CompleteTask { id })
                    .into())
            }
        }
    }
}
