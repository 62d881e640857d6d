//! Ticking the boxes of TASKS.md where tasks are worked on in the project folder itself: at the end
//! of a phase, in the file as it is then.
//!
//! With work trees, boxes are ticked in the merge of their phase (`waypost_git`); here no commit
//! would have them. Nothing but the boxes changes. A file that says something else about its tasks
//! than the run knows is being edited, and is left alone: the next phase's end ticks it.

use crate::{error::EngineError, project::Project, tasks};
use serde::{Deserialize, Serialize};
use std::path::Path;
use waypost_model::{
    id::TaskId,
    layout,
    run::{Active, EndStep, PhaseStage, TaskStatus},
};
use waypost_store::{
    file::{self, Mark},
    hash,
    lock::FileLock,
    tasks_md,
};

/// Much more than a stamp has.
const STAMP_SIZE_MAX: u64 = 4 << 10;

/// A file in which everything is ticked that was completed then. Reading the boxes of 10,000 tasks
/// costs more than all else that a command does, and nearly every command finds nothing to tick. A
/// cache: without it the file is read.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    mark: Mark,
    /// A hash of the plan, and of how many tasks are completed in which phases that have ended: of
    /// one plan what is completed stays so, so another number is what tells other tasks.
    tasks: String,
}

impl Stamp {
    fn of(path: &Path, active: &Active) -> Option<Self> {
        let count = |(phase, _)| (phase, active.progress(phase).completed);
        let ended: Vec<(u32, usize)> = over(active).map(count).collect();
        let source = active.plan().source.as_ref().map(|source| &source.hash);
        let tasks = format!("{} {source:?} {ended:?}", active.number());
        let tasks = hash::sha256_hex(tasks.as_bytes());
        Some(Self { mark: Mark::of(path).ok()??, tasks })
    }

    fn load(path: &Path) -> Option<Self> {
        let bytes = file::read_bounded(path, STAMP_SIZE_MAX).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    fn save(&self, path: &Path) {
        let bytes = serde_json::to_vec(self).expect("a stamp is plain data");
        // What cannot be kept only costs time later.
        drop(file::replace_cache(path, &bytes, file::PRIVATE));
    }
}

/// Ticks what is completed in phases that have ended; with work trees, nothing. What the run has
/// recorded stands, whatever becomes of the file: a failure is said and goes no further.
pub(crate) fn tick(project: &mut Project) -> Result<(), EngineError> {
    let Some(active) = project.run_seen()?.active() else { return Ok(()) };
    let Some(source) = &active.plan().source else { return Ok(()) };
    if active.settings().isolation.has_trees() {
        return Ok(());
    }
    let name = source.path.clone();
    let why = match try_to_tick(project, &name) {
        Ok(true) => return Ok(()),
        Ok(false) => format!("{name} is being edited"),
        Err(error) => format!("{name} cannot be written ({error})"),
    };
    project.notice(format!(
        "{why}: the boxes of what is completed are not ticked; the end of the next phase or \
         run does it"
    ));
    Ok(())
}

/// `false`: the file is being edited.
fn try_to_tick(project: &mut Project, name: &str) -> Result<bool, EngineError> {
    let path = project.root().join(name);
    let state = project.place().state.clone();
    // A larger one was never read.
    let size_max = tasks::size_max(project);
    let stamp_path = state.join(layout::state::BOXES_STAMP);
    let Some(active) = project.run_seen()?.active() else { return Ok(true) };
    // Taken before the file is read: an edit after that is seen by the next command.
    let stamp = Stamp::of(&path, active);
    if stamp.is_some() && stamp == Stamp::load(&stamp_path) {
        return Ok(true);
    }
    let done = completed(active);
    // A file that is gone or cannot be read has no boxes; the command that needs it says so.
    let Ok(Some(bytes)) = file::read_bounded(&path, size_max) else { return Ok(true) };
    let Ok(text) = str::from_utf8(&bytes) else { return Ok(true) };
    let ticked = tasks_md::tick(text, &done);
    if ticked == text && (done.is_empty() || file::leftovers(&path)?.is_empty()) {
        stamp.iter().for_each(|stamp| stamp.save(&stamp_path));
        return Ok(true);
    }
    let _turn = FileLock::acquire(&state.join(layout::state::BOXES_TURN))?;
    clear_leftovers(&path, text, active)?;
    if ticked == text {
        return Ok(true);
    }
    let plan = active.plan().clone();
    let is_known = project.tasks.reads_as(&hash::sha256_hex(&bytes), &plan)
        || tasks_md::read(text, &plan.project).is_ok_and(|read| plan.is_same_work(&read.plan));
    if !is_known || is_open_in_editor(&path) || !put(&path, &bytes, &ticked)? {
        return Ok(false);
    }
    // What is there now is not read again by the next that asks whether anything is to be done with it.
    project.tasks.note(hash::sha256_hex(ticked.as_bytes()), &plan);
    let stamp = project.run_seen()?.active().and_then(|active| Stamp::of(&path, active));
    // Looked at behind the stamp: what is there is what we wrote, or an edit that the stamp must not hide.
    let there = file::read_bounded(&path, size_max).ok().flatten();
    let is_ours = there.is_some_and(|it| it == ticked.as_bytes());
    stamp.filter(|_| is_ours).iter().for_each(|stamp| stamp.save(&stamp_path));
    Ok(true)
}

fn is_over(stage: &PhaseStage) -> bool {
    matches!(stage, PhaseStage::Closed { .. } | PhaseStage::Ending { step: EndStep::Approval, .. })
}

/// The phases that have ended.
fn over(active: &Active) -> impl Iterator<Item = (u32, &PhaseStage)> {
    active.phases().filter(|(_, stage)| is_over(stage))
}

/// The completed tasks of phases that have ended.
fn completed(active: &Active) -> Vec<TaskId> {
    over(active).flat_map(|(number, _)| active.ids_of(number, TaskStatus::Completed)).collect()
}

/// Whether an editor says that it has the file open: Vim by its swap file, Emacs by its lock.
fn is_open_in_editor(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return false };
    let marks = [format!(".{name}.swp"), format!(".#{name}")];
    marks.iter().any(|mark| path.with_file_name(mark).symlink_metadata().is_ok())
}

/// Removes what a process that was killed while it ticked has left beside the file: the text of
/// before. One that differs in more than boxes is a person's edit, and stays.
fn clear_leftovers(path: &Path, text: &str, active: &Active) -> Result<(), EngineError> {
    let ids: Vec<TaskId> = active.tasks().map(|view| view.planned.id.clone()).collect();
    file::sweep(path)?;
    for left in file::leftovers(path)? {
        let is_ours = str::from_utf8(left.bytes())
            .is_ok_and(|left| tasks_md::untick(left, &ids) == tasks_md::untick(text, &ids));
        if is_ours {
            left.discard();
        }
    }
    Ok(())
}

/// Puts a text in the place of another one. `false`: something else stood there by then, and does
/// so again.
fn put(path: &Path, old: &[u8], new: &str) -> Result<bool, EngineError> {
    let Some(displaced) = file::exchange(path, new.as_bytes())?.displaced else {
        // It was removed meanwhile.
        file::remove(path)?;
        return Ok(false);
    };
    let is_same = displaced.bytes() == old;
    if !is_same {
        let ours = file::exchange(path, displaced.bytes())?.displaced;
        ours.into_iter().for_each(|ours| drop(ours.discard()));
    }
    displaced.discard();
    Ok(is_same)
}
