//! The seeds' files as windows on the journal: shown after each commit, and edits taken up.
//!
//! A window is brought into step by one function, `sync`, whatever brought it out of step: a new
//! event, an edit, an earlier rendering that came back, a file that is gone, a crash between two
//! steps. The journal is the truth; the file only asks.

mod edit;
mod memory;
mod run;
mod run_text;
mod session;
mod window;
mod workflow;

pub(crate) use memory::{HistoryWindow, TaskStateWindow, memory_folder};
pub(crate) use run::RunWindow;
pub(crate) use session::{
    SessionStateWindow, SessionWindow, backup_of, session_folder, sessions_folder,
};
pub(crate) use window::{MachineWindow, WindowKind};
pub(crate) use workflow::WorkflowWindow;

use crate::{error::EngineError, init, ledger::run_stream, project::Project};
use edit::consider;
use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use waypost_model::{id::StreamName, layout, next::Remark, time::Time};
use waypost_store::{
    StoreError,
    file::{self, Aside, Mark, Shown},
    hash,
    journal::Journals,
    lock::{Owner, SeedLock, SeedRequest},
    windows::{KeptRendering, WindowArchive, WindowStamp},
};

/// More than any state file.
const WINDOW_SIZE_MAX: u64 = 64 << 20;

/// How often an edit may land between two renderings before the next command has to go on.
const ROUNDS_MAX: usize = 20;

/// How long another tool's lock on the run's file is waited for.
const SEED_LOCK_PATIENCE: Duration = Duration::from_secs(35);

/// The file of one machine, with everything that it has shown.
struct WindowFile {
    stream: StreamName,
    name: Option<&'static str>,
    path: PathBuf,
    archive: WindowArchive,
}

impl WindowFile {
    /// None where there is no work tree.
    fn of<W: MachineWindow>(project: &Project, stream: &StreamName) -> Option<Self> {
        let path = W::path(project, stream)?;
        let mut name = stream.as_str().replacen(':', "-", 1);
        if let Some(window) = W::NAME {
            name = format!("{name}.{window}");
        }
        let archive = WindowArchive::of(&project.setup.place, &name);
        Some(Self { stream: stream.clone(), name: W::NAME, path, archive })
    }

    /// Whether its machine has anything to show.
    fn is_shown<W: MachineWindow>(&self, project: &mut Project) -> Result<bool, EngineError> {
        let loaded = project.machine::<W::Machine>(&self.stream)?;
        Ok(loaded.is_some_and(|loaded| W::is_shown(&loaded.state)))
    }

    /// How many events its machine has.
    fn head(&self, project: &mut Project) -> Result<u64, EngineError> {
        let Some(journal) = &mut project.journal else { return Ok(0) };
        Ok(journal.view()?.head(&self.stream)?)
    }

    /// What the file should show, and after how many events; nothing before the first.
    fn document<W: MachineWindow>(
        &self,
        project: &mut Project,
    ) -> Result<Option<(u64, W::Document)>, EngineError> {
        let Some(loaded) = project.machine::<W::Machine>(&self.stream)? else { return Ok(None) };
        Ok(W::render(&loaded.state).map(|document| (loaded.head, document)))
    }

    /// What the file should say, and after how many events; nothing before the first.
    fn text<W: MachineWindow>(
        &self,
        project: &mut Project,
    ) -> Result<Option<(u64, String)>, EngineError> {
        let Some(loaded) = project.machine::<W::Machine>(&self.stream)? else { return Ok(None) };
        Ok(W::render_text(&loaded.state).map(|text| (loaded.head, text)))
    }

    /// An earlier rendering: as it is kept, else made again from the journal.
    fn rendering<W: MachineWindow>(
        &self,
        project: &mut Project,
        kept: &KeptRendering,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        if let Some(bytes) = self.archive.load(kept)? {
            return Ok(Some(bytes));
        }
        let then = project.machine_at::<W::Machine>(&self.stream, kept.version)?;
        let text = then.and_then(|machine| W::render_text(&machine));
        Ok(text.map(String::into_bytes).filter(|bytes| kept.is_of(bytes)))
    }

    /// Its path as the user knows it.
    fn shown(&self, project: &Project) -> String {
        shown(project, &self.path)
    }
}

/// What windows are brought into step for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A command begins, which may only look: some files are not made for that.
    Look,
    /// Something was recorded.
    Show,
}

/// Takes up what was done to the windows, and shows what they do not show yet.
pub(crate) fn reconcile(project: &mut Project) -> Result<(), EngineError> {
    reconcile_for(project, Purpose::Look)
}

fn reconcile_for(project: &mut Project, purpose: Purpose) -> Result<(), EngineError> {
    let before = end_of_journal(project)?;
    reconcile_once(project, purpose)?;
    // An edit of one window may be shown by another that was looked at before it.
    if end_of_journal(project)? == before { Ok(()) } else { reconcile_once(project, Purpose::Show) }
}

fn reconcile_once(project: &mut Project, purpose: Purpose) -> Result<(), EngineError> {
    let mut windows = project.ledger.kinds().iter().flat_map(|kind| kind.windows);
    windows.try_for_each(|window| window.reconcile(project, purpose))
}

fn end_of_journal(project: &mut Project) -> Result<Option<u64>, EngineError> {
    let Some(journal) = project.journal.as_mut() else { return Ok(None) };
    Ok(Some(journal.view()?.last_seq()?))
}

/// Notes that the file at `path` has become the truth, so that what differs from it in our words
/// is not taken for an edit. Files that are no windows are none of our business.
pub(crate) fn note_adopted_file(
    project: &mut Project,
    path: &Path,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let mut windows = project.ledger.kinds().iter().flat_map(|kind| kind.windows);
    windows.try_for_each(|window| window.note_adopted(project, path, bytes))
}

fn note_adopted<W: MachineWindow>(
    project: &mut Project,
    path: &Path,
    bytes: &[u8],
) -> Result<(), EngineError> {
    let path = path.canonicalize().ok();
    for stream in W::streams(project)? {
        let file = WindowFile::of::<W>(project, &stream);
        if let Some(file) = file.filter(|file| Some(&file.path) == path.as_ref()) {
            file.archive.keep(&KeptRendering::of(0, bytes), bytes)?;
        }
    }
    Ok(())
}

/// Shows the present state after a commit; the same thing, told from the other side.
pub(crate) fn render(project: &mut Project) -> Result<(), EngineError> {
    reconcile_for(project, Purpose::Show)
}

/// The file of this work tree's workflow.
pub(crate) fn workflow_path(project: &Project) -> PathBuf {
    project.root().join(layout::window::WORKFLOW)
}

/// The file of the run; none where there is no work tree.
pub(crate) fn run_path(project: &Project) -> Option<PathBuf> {
    RunWindow::path(project, &run_stream())
}

/// Says that a state file is there without a journal.
fn note_loose<W: MachineWindow>(project: &mut Project, stream: &StreamName) {
    let Some(path) = W::path(project, stream).filter(|path| path.is_file()) else { return };
    let path = path.strip_prefix(project.root()).unwrap_or(&path).display().to_string();
    let text = format!("{path} has no journal behind it; a person can make it the start of one");
    project.notice(Remark::from(text).next(W::taken_up_by(path)));
}

/// Brings one window into step with its machine.
fn sync<W: MachineWindow>(
    project: &mut Project,
    stream: &StreamName,
    purpose: Purpose,
) -> Result<(), EngineError> {
    let Some(window) = WindowFile::of::<W>(project, stream) else { return Ok(()) };
    let WindowFile { archive, path, .. } = &window;
    let head = window.head(project)?;
    if head == 0 {
        // A journal that has lost everything is not one in which nothing has happened yet.
        refuse_lost_entries(&project.journals, archive, head)?;
        note_loose::<W>(project, stream);
        return Ok(());
    }
    if is_in_step(archive, path, head) {
        return Ok(());
    }
    if !window.is_shown::<W>(project)? {
        note_loose::<W>(project, stream);
        return Ok(());
    }
    let is_new = path.symlink_metadata().is_err();
    // It was there and showed the newest event: nothing is new, so it is not made again. A command that
    // only looks makes none that was there at all; what a process died over before it was ever there, any
    // command makes.
    let is_left_away = || -> Result<bool, StoreError> {
        Ok(archive.last_stamp()?.is_some_and(|it| purpose == Purpose::Look || it.version == head))
    };
    if is_new && !W::RETURNS && is_left_away()? {
        return Ok(());
    }
    let outcome = sync_locked::<W>(project, &window);
    if is_new {
        init::hide_windows(project);
    }
    match outcome {
        // The commit stands; the window is tried again at the next load.
        Err(EngineError::Store(
            error @ (StoreError::File { .. }
            | StoreError::Full { .. }
            | StoreError::NotRegular { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Busy { .. }),
        )) => {
            project.notice(format!(
                "{} is not up to date, the next command tries again: {}",
                window.shown(project),
                obstacle(&error)
            ));
            Ok(())
        }
        other => other,
    }
}

/// What stands in the way of a window, without the names of our temporary files.
fn obstacle(error: &StoreError) -> String {
    match error {
        StoreError::File { source, .. } | StoreError::Full { source, .. } => source.to_string(),
        StoreError::NotRegular { what, .. } => format!("it is {what}, not a regular file"),
        other => other.to_string(),
    }
}

/// Whether the file is as we left it and shows the newest event; costs a `stat`.
fn is_in_step(archive: &WindowArchive, path: &Path, head: u64) -> bool {
    archive.untouched(path).ok().flatten().is_some_and(|stamp| stamp.version == head)
}

fn sync_locked<W: MachineWindow>(
    project: &mut Project,
    window: &WindowFile,
) -> Result<(), EngineError> {
    let WindowFile { archive, path, .. } = window;
    let _turn = archive.lock()?;
    let head = window.head(project)?;
    refuse_lost_entries(&project.journals, archive, head)?;
    for leftover in file::leftovers(path)? {
        consider::<W>(project, window, leftover.bytes())?;
        drop(leftover.discard());
    }
    file::sweep(path)?;
    let mut found = found::<W>(project, window)?;
    if matches!(found, Found::Nothing) && !archive.kept()?.is_empty() {
        project.notice(format!("{} was gone and is shown again", window.shown(project)));
    }
    for _ in 0..ROUNDS_MAX {
        let Some((version, text)) = window.text::<W>(project)? else { return Ok(()) };
        let bytes = text.into_bytes();
        let kept = KeptRendering::of(version, &bytes);
        let hash = kept.hash.clone();
        if found.hash() == Some(&hash) && Mark::of(path)?.is_some() {
            remove_dead_lock::<W>(project, path)?;
            return Ok(restamp(archive, path, kept, &bytes)?);
        }
        archive.announce(&kept)?;
        let shown = put::<W>(project, path, (&bytes, &hash), found.mark())?;
        drop(bytes);
        let has_landed = put_away::<W>(project, window, shown.displaced, &found)?;
        // The stamp comes last: after a death before it, everything is looked at again.
        found = match shown.mark {
            Some(mark) => Found::AsLeft(WindowStamp { version, hash, mark }),
            None => Found::Touched { hash },
        };
        if let Found::AsLeft(stamp) = &found {
            archive.stamp(stamp)?;
        }
        if !has_landed || window.head(project)? == version {
            return Ok(());
        }
    }
    Ok(())
}

/// The file as it stands there, after what was done to it is taken up.
enum Found {
    Nothing,
    /// As a rendering was left.
    AsLeft(WindowStamp),
    Touched {
        hash: String,
    },
}

impl Found {
    fn hash(&self) -> Option<&String> {
        match self {
            Self::Nothing => None,
            Self::AsLeft(WindowStamp { hash, .. }) | Self::Touched { hash } => Some(hash),
        }
    }

    fn mark(&self) -> Option<&Mark> {
        match self {
            Self::AsLeft(stamp) => Some(&stamp.mark),
            Self::Nothing | Self::Touched { .. } => None,
        }
    }
}

/// Deals with the file that a rendering has taken the place of; says whether an edit had landed in
/// it since it was looked at.
fn put_away<W: MachineWindow>(
    project: &mut Project,
    window: &WindowFile,
    displaced: Option<Aside>,
    expected: &Found,
) -> Result<bool, EngineError> {
    let backup = W::backup(&window.path);
    let has_landed = match (displaced, expected) {
        (Some(Aside::Expected(before)), Found::AsLeft(stamp)) => {
            let kept = KeptRendering { version: stamp.version, hash: stamp.hash.clone() };
            window.archive.take_in(&kept, before, backup.as_deref())?;
            return Ok(false);
        }
        (Some(Aside::Expected(before)), Found::Nothing | Found::Touched { .. }) => {
            before.discard();
            false
        }
        (Some(Aside::Other(displaced)), _) => {
            let has_landed = expected.hash() != Some(&hash::blake3_hex(displaced.bytes()));
            if has_landed {
                consider::<W>(project, window, displaced.bytes())?;
            }
            drop(displaced.discard());
            has_landed
        }
        (None, _) => false,
    };
    if let Some(backup) = backup {
        keep_backup::<W>(project, window, &backup)?;
    }
    Ok(has_landed)
}

/// Makes the backup of the rendering before the present one, which is not what stood in its place.
fn keep_backup<W: MachineWindow>(
    project: &mut Project,
    window: &WindowFile,
    backup: &Path,
) -> Result<(), EngineError> {
    let Some(before) = window.archive.kept()?.into_iter().nth(1) else { return Ok(()) };
    match window.rendering::<W>(project, &before)? {
        Some(bytes) => Ok(file::replace_volatile(backup, &bytes, file::SHARED)?),
        None => Ok(()),
    }
}

fn found<W: MachineWindow>(
    project: &mut Project,
    window: &WindowFile,
) -> Result<Found, EngineError> {
    let WindowFile { archive, path, .. } = window;
    if let Some(stamp) = archive.untouched(path)? {
        return Ok(Found::AsLeft(stamp));
    }
    let Some(bytes) = file::read_bounded(path, WINDOW_SIZE_MAX)? else { return Ok(Found::Nothing) };
    consider::<W>(project, window, &bytes)?;
    Ok(Found::Touched { hash: hash::blake3_hex(&bytes) })
}

/// Refuses a journal that has fewer events than were shown: its log was removed, or an older one
/// was put in its place.
///
/// A rendering is kept only after what it shows is durable, so this cannot happen by itself.
fn refuse_lost_entries(
    journals: &Journals,
    archive: &WindowArchive,
    head: u64,
) -> Result<(), StoreError> {
    match archive.kept()?.first() {
        Some(newest) if newest.version > head => Err(journals.lost(&format!(
            "a window has shown event {}, and the journal ends with {head}: entries are gone",
            newest.version
        ))),
        _ => Ok(()),
    }
}

/// The file already shows the present state: only its mark has to be taken again.
fn restamp(
    archive: &WindowArchive,
    path: &Path,
    shown: KeptRendering,
    bytes: &[u8],
) -> Result<(), StoreError> {
    archive.keep(&shown, bytes)?;
    let KeptRendering { version, hash } = shown;
    match Mark::of(path)? {
        // Between reading and marking another program may have written: then it is read next time.
        Some(mark) if file::read_bounded(path, WINDOW_SIZE_MAX)?.as_deref() == Some(bytes) => {
            archive.stamp(&WindowStamp { version, hash, mark })
        }
        _ => Ok(()),
    }
}

/// Puts a rendering in place, holding the lock file that other tools know where there is one.
fn put<W: MachineWindow>(
    project: &mut Project,
    path: &Path,
    rendering: (&[u8], &str),
    expected: Option<&Mark>,
) -> Result<Shown, EngineError> {
    let Some(lock_path) = W::seed_lock(path) else {
        return Ok(file::show(path, rendering, expected)?);
    };
    let (clock, start) = (project.clock, project.clock.now());
    let patience = if project.is_hurried { Duration::ZERO } else { SEED_LOCK_PATIENCE };
    let owner = Owner::this_process("waypost", start);
    let request =
        SeedRequest { place: &project.setup.place, path: &lock_path, owner: &owner, now: start };
    let mut wait = |span: Duration| -> Option<Time> {
        if patience.is_zero() {
            return None;
        }
        thread::sleep(span);
        Some(clock.now()).filter(|now| now.since(start) < patience)
    };
    let lock = SeedLock::acquire(&request, &mut wait)?;
    let mut shown = file::show(path, rendering, expected)?;
    let taken_over = lock.taken_over().map(str::to_owned);
    drop(lock);
    if Mark::of(&lock_path)?.is_some() {
        // It could not be removed: without a mark the next command comes by and tries again.
        shown.mark = None;
    }
    if let Some(why) = taken_over {
        project.notice(format!("took over {}: {why}", self::shown(project, &lock_path)));
    }
    Ok(shown)
}

/// Removes the lock file of a process that died after it had replaced the file.
fn remove_dead_lock<W: MachineWindow>(project: &Project, path: &Path) -> Result<(), StoreError> {
    let Some(lock_path) = W::seed_lock(path) else { return Ok(()) };
    if Mark::of(&lock_path)?.is_none() {
        return Ok(());
    }
    let now = project.clock.now();
    let owner = Owner::this_process("waypost", now);
    let request = SeedRequest { place: &project.setup.place, path: &lock_path, owner: &owner, now };
    match SeedLock::acquire(&request, &mut |_| None) {
        // One that another tool holds is its own to remove.
        Ok(_) | Err(StoreError::Busy { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A path as the user knows it.
fn shown(project: &Project, path: &Path) -> String {
    path.strip_prefix(project.root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests;
