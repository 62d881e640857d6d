//! What makes a window: the machines that it shows, their files, and what an edit of one means.

use super::{
    Purpose,
    edit::{self, WindowTopic},
    note_adopted, note_loose, sync,
};
use crate::{error::EngineError, ledger::MachineCommand, project::Project};
use std::path::{Path, PathBuf};
use waypost_model::{
    answer::Answer, document::Form, id::StreamName, machine::Machine, machine::Rejected,
    next::NextStep, time::Stamp,
};
use waypost_store::parse;

/// The command of the machine that a window shows.
pub(crate) type CommandOf<W> = <<W as MachineWindow>::Machine as Machine>::Command;

/// An edit as commands, or every reason why it cannot be one.
pub(crate) type Translation<W> = Result<Vec<CommandOf<W>>, Vec<Rejected>>;

/// Machines of one kind as files show them.
pub(crate) trait MachineWindow: 'static {
    type Machine: Machine;
    type Document: Form + Clone;

    /// Tells it apart from other windows on the same machine; none where there is one.
    const NAME: Option<&'static str> = None;

    /// Whether a file that is gone comes back with the next command, also one that only looks. If
    /// not, it is made again when there is something new to show.
    const RETURNS: bool = true;

    /// Whether a file that cannot be read is also kept beside its place.
    const KEEPS_UNREADABLE: bool = false;

    /// The machines that have a file here, by their streams.
    fn streams(project: &mut Project) -> Result<Vec<StreamName>, EngineError>;

    /// The file of one of them; none where there is no work tree.
    fn path(project: &Project, stream: &StreamName) -> Option<PathBuf>;

    /// What the file should show; nothing before the machine has anything to show.
    fn render(machine: &Self::Machine) -> Option<Self::Document>;

    /// The same as text.
    fn render_text(machine: &Self::Machine) -> Option<String> {
        Self::render(machine).map(|document| parse::render(&document))
    }

    /// Whether there is anything to show; cheaper than to render it.
    fn is_shown(_machine: &Self::Machine) -> bool {
        true
    }

    /// What makes a file that has no journal behind it the beginning of one.
    fn taken_up_by(file: String) -> NextStep {
        NextStep::AdoptFile { file }
    }

    /// How much two documents differ.
    fn difference(one: &Self::Document, other: &Self::Document) -> usize;

    /// When a document says that it was written: an edit keeps that of what it was made from, or is
    /// dated again. None where its documents do not say so.
    fn dated(_document: &Self::Document) -> Option<Stamp> {
        None
    }

    /// What an edit means, as commands.
    fn translate(
        machine: &Self::Machine,
        base: &Self::Document,
        edited: &Self::Document,
    ) -> Translation<Self>;

    /// Gives these commands what no document says.
    fn find_out(
        _project: &mut Project,
        _commands: &mut [CommandOf<Self>],
    ) -> Result<(), EngineError> {
        Ok(())
    }

    /// One of these commands in a few words.
    fn describe(command: &CommandOf<Self>) -> String;

    /// Whether an edit that could be taken up has to wait for a person first.
    fn waits_for_person(_project: &Project) -> Result<bool, EngineError> {
        Ok(false)
    }

    /// The lock file that other tools respect while the file is replaced.
    fn seed_lock(_path: &Path) -> Option<PathBuf> {
        None
    }

    /// Where the rendering before the present one is kept beside the window.
    fn backup(_path: &Path) -> Option<PathBuf> {
        None
    }
}

/// A window as the table of machines knows it.
#[derive(Clone, Copy)]
pub(crate) struct WindowKind {
    name: Option<&'static str>,
    reconcile: fn(&mut Project, Purpose) -> Result<(), EngineError>,
    note_adopted: fn(&mut Project, &Path, &[u8]) -> Result<(), EngineError>,
    accept: fn(&mut Project, &Answer<'_>, &str) -> Result<Vec<MachineCommand>, EngineError>,
}

impl WindowKind {
    pub(crate) const fn of<W: MachineWindow>() -> Self {
        Self {
            name: W::NAME,
            reconcile: reconcile::<W>,
            note_adopted: note_adopted::<W>,
            accept: edit::accept::<W>,
        }
    }

    /// Takes up what was done to its files, and shows what they do not show yet.
    pub(super) fn reconcile(
        &self,
        project: &mut Project,
        purpose: Purpose,
    ) -> Result<(), EngineError> {
        (self.reconcile)(project, purpose)
    }

    /// Notes that the file at `path` has become the truth, if it is one of this window.
    pub(super) fn note_adopted(
        &self,
        project: &mut Project,
        path: &Path,
        bytes: &[u8],
    ) -> Result<(), EngineError> {
        (self.note_adopted)(project, path, bytes)
    }

    /// What an answer about an edit of one of its files means; none if it is about something else.
    pub(crate) fn answered(
        &self,
        project: &mut Project,
        answer: &Answer<'_>,
    ) -> Result<Option<Vec<MachineCommand>>, EngineError> {
        match WindowTopic::read(answer.topic, self.name) {
            Some(WindowTopic::WaitingEdit(name)) if answer.is("accept") => {
                (self.accept)(project, answer, &name).map(Some)
            }
            Some(_) => Ok(Some(Vec::new())),
            None => Ok(None),
        }
    }
}

fn reconcile<W: MachineWindow>(project: &mut Project, purpose: Purpose) -> Result<(), EngineError> {
    for stream in W::streams(project)? {
        match project.has_journal() {
            true => sync::<W>(project, &stream, purpose)?,
            false => note_loose::<W>(project, &stream),
        }
    }
    Ok(())
}
