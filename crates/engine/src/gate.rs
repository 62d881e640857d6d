//! What the hook stands on: the gate record of a work tree, and whether a gate still holds.
//!
//! The record is compiled from the journal and the configuration. Every commit that touches a
//! workflow removes it first (`ledger.rs`) and writes it again afterwards; it also names the files
//! it was compiled from, so that one which lands late is seen to be old.

use crate::{error::EngineError, ledger::MachineCommand, project::Project, seal, worktrees};
use std::{io, mem, path::Path};
pub use waypost_git::Leaving;
use waypost_model::{
    actor::Actor,
    id::StreamName,
    layout,
    machine::Machine as _,
    workflow::{self, GateName, GateRecord, Held, Phase, RECORD_SIZE_MAX, Watched, Workflow},
};
use waypost_store::{
    StoreError,
    file::{self, Mark},
    journal::Mode,
    place::Place,
};

/// Opens the project to judge a tool call: nothing is changed, and no process is waited for.
pub fn open_to_judge(start: &Path) -> Result<Project, EngineError> {
    let unknown = Actor::Agent { id: "unknown".into(), attempt: 0 };
    let mut project = Project::find(start, unknown)?;
    match project.journals.open(Mode::ReadOnly) {
        Ok(mut journal) => {
            seal::check(&project.setup, &mut journal)?;
            project.journal = Some(journal);
        }
        Err(StoreError::Missing { .. }) => project.setup.refuse_vanished(&project.caller.actor)?,
        Err(error) => return Err(error.into()),
    }
    Ok(project)
}

/// The name of the journal around `start`, if there is one that can be read.
pub fn journal_id(start: &Path) -> Option<String> {
    open_to_judge(start).ok()?.journal.map(|journal| journal.id().to_owned())
}

/// Whether a workflow may be active around `start`, although it cannot be read: there is a
/// journal's folder, or something in its place, or there was one.
pub fn may_be_held(start: &Path, error: &EngineError) -> bool {
    if matches!(error, EngineError::Store(StoreError::Vanished { .. })) {
        return true;
    }
    let Ok(place) = Place::locate(start) else { return true };
    let found = place.state.symlink_metadata();
    !matches!(found, Err(error) if error.kind() == io::ErrorKind::NotFound)
}

/// How the workflow of this work tree holds an agent now, from the journal itself.
pub fn record(project: &mut Project) -> Result<GateRecord, EngineError> {
    // What is watched is looked at first: a change in between makes the record an old one.
    let watched = watched(project)?;
    let settings = project.configuration().values.workflow.clone();
    let feature = project.workflow()?.feature.as_ref();
    let held = feature.and_then(|feature| Held::by(feature, settings.rights()));
    let complete = |held| Held {
        design_paths: settings.design_paths.clone(),
        writing_tools: settings.writing_tools.clone(),
        free_tools: settings.free_tools.clone(),
        ..held
    };
    let held = held.map(complete);
    let journal = project.journal.as_ref().map_or_else(String::new, |it| it.id().to_owned());
    let wall = project.configuration().values.wall.clone();
    Ok(GateRecord { journal, watched, held, wall })
}

/// Puts a record beside the journal, signed. Whatever stands against it costs only time: without a
/// record the journal is read.
pub fn keep_record(project: &mut Project, record: &GateRecord) {
    let tree = project.setup.place.tree.to_string();
    let path = path_of(&project.setup.place, &tree);
    let Some(text) = record.render().filter(|_| project.has_journal()) else { return };
    let Some(seal) = seal::note(project) else { return };
    let text = seal.sign(&tree, &text);
    let found = file::read_bounded(&path, 2 * RECORD_SIZE_MAX as u64);
    if found.is_ok_and(|found| found.as_deref() == Some(text.as_bytes())) {
        return;
    }
    if file::replace_volatile(&path, text.as_bytes(), file::PRIVATE).is_err() {
        let _gone_or_never_there = file::remove(&path);
    }
}

/// Compiles the record again after a commit that may have touched the workflow.
pub(crate) fn renew_record(project: &mut Project) {
    if let Ok(record) = record(project) {
        keep_record(project, &record);
    }
}

/// The files that a record follows from.
fn watched(project: &Project) -> Result<Vec<Watched>, EngineError> {
    let user = project.setup.home.config_file();
    let own = project.setup.place.root.join(layout::CONFIGURATION);
    let mut found = Vec::new();
    for file in project.journals.files() {
        let seen = look_at(&file.path)?;
        found.push(if file.changes { seen } else { Watched { content: None, ..seen } });
    }
    found.push(look_at(&own)?);
    // The person's own file may be a link: each step of the way to it counts.
    for path in user.map(|path| file::follow(&path)).transpose()?.unwrap_or_default() {
        found.push(look_at(&path)?);
    }
    Ok(found)
}

/// Closes a gate whose evidence is about other content than there is now; says whether it did.
pub fn close_if_stale(project: &mut Project, gate: GateName) -> Result<bool, EngineError> {
    let is_bound = |pass: &workflow::Pass| pass.gate == gate && pass.tree.is_some();
    let feature = project.workflow()?.feature.as_ref();
    if !feature.is_some_and(|feature| feature.passes.iter().any(is_bound)) {
        return Ok(false);
    }
    let Some(tree) = worktrees::content(project)? else { return Ok(false) };
    let feature = project.workflow()?.feature.as_ref();
    if !feature.is_some_and(|feature| feature.is_stale(gate, &tree)) {
        return Ok(false);
    }
    let stream = project.workflow_stream();
    let command = workflow::Command::GateStale { gate };
    by_waypost(project, &[MachineCommand::workflow(stream, command)])?;
    Ok(true)
}

/// A path that would be committed or pushed with other content than the last gate was passed for,
/// although the files have that content.
pub fn stray(project: &mut Project, leaving: Leaving) -> Result<Option<String>, EngineError> {
    let is_bound =
        |pass: &workflow::Pass| pass.gate == GateName::ReReviewClean && pass.tree.is_some();
    let feature = project.workflow()?.feature.as_ref();
    match feature.is_some_and(|feature| feature.passes.iter().any(is_bound)) {
        true => Ok(waypost_git::stray(project.place(), leaving)?),
        false => Ok(None),
    }
}

/// Enters the next phase; out of PR only with a last gate that still holds for the files.
pub fn advance(project: &mut Project, command: workflow::Command) -> Result<(), EngineError> {
    project.refuse_stale()?;
    let phase = project.workflow()?.feature.as_ref().map(|feature| feature.phase);
    if phase == Some(Phase::Pr) {
        close_if_stale(project, GateName::ReReviewClean)?;
    }
    project.develop(command)
}

/// Takes the feature up again. REVIEW and PR begin again, so what their gate was passed for
/// has to be what is there.
pub fn take_up(project: &mut Project) -> Result<(), EngineError> {
    project.refuse_stale()?;
    let phase = project.workflow()?.feature.as_ref().map(|feature| feature.phase);
    let gate = phase.filter(|phase| *phase != Phase::Implement).and_then(Phase::gate);
    if let Some(gate) = gate {
        close_if_stale(project, gate)?;
    }
    project.develop(workflow::Command::Resume)
}

/// Gives commands in Waypost's own name.
pub(crate) fn by_waypost(
    project: &mut Project,
    commands: &[MachineCommand],
) -> Result<(), EngineError> {
    if project.journal.is_some() {
        // It may have been opened to read only.
        project.journal = Some(project.journals.open(Mode::ReadWrite)?);
    }
    let asked_by = mem::replace(&mut project.caller.actor, Actor::Waypost);
    let outcome = project.command(commands);
    project.caller.actor = asked_by;
    outcome
}

/// Removes the record of the work tree that a workflow's stream belongs to, durably: after a power
/// cut it must not be there beside a journal that has gone on.
pub(crate) fn invalidate(state: &Path, stream: &StreamName) -> Result<(), StoreError> {
    match stream.as_str().split_once(':') {
        Some((Workflow::KIND, tree)) => {
            file::remove_durably(&state.join(layout::state::GATES).join(tree))
        }
        _ => Ok(()),
    }
}

fn path_of(place: &Place, tree: &str) -> std::path::PathBuf {
    place.state.join(layout::state::GATES).join(tree)
}

fn look_at(path: &Path) -> Result<Watched, EngineError> {
    let mark = Mark::of(path)?;
    Ok(Watched {
        path: path.to_str().unwrap_or("\n").to_owned(),
        inode: mark.as_ref().map(|mark| mark.ino),
        content: mark.as_ref().map(|mark| (mark.size, mark.mtime_ns)),
    })
}
