//! The machines of the product: one line for each kind.
//!
//! Everything that has to find a machine by the name of its stream goes through this table: answers
//! from the inbox, timers, windows, and the ledger when it loads one. Of a kind there may be any number of
//! instances, each with a stream of its own (`KIND:NAME`). A journal may hold streams of kinds that
//! this program does not know; they are left alone.

use crate::{
    error::EngineError,
    ledger::{MachineCommand, Work},
    outbox,
    project::Project,
    windows::{
        HistoryWindow, RunWindow, SessionStateWindow, SessionWindow, TaskStateWindow, WindowKind,
        WorkflowWindow,
    },
};
use std::{any::TypeId, fmt};
use waypost_model::{
    accounts::Accounts,
    answer::{Answer, Consequence, OutsideFacts},
    id::StreamName,
    inbox::{Inbox, Topic},
    job::Job,
    knowledge::KnowledgeLog,
    machine::Machine,
    memory::Memory,
    run::Run,
    session::Session,
    task::ServedTask,
    verdict::Verdicts,
    workflow::Workflow,
};
use waypost_store::{StoreError, place::Place};

#[cfg(test)]
mod tests;

/// Every kind of machine that there is.
pub(crate) static MACHINES: &[MachineKind] = &[
    MachineKind::of::<Workflow>().shown_in(const { &[WindowKind::of::<WorkflowWindow>()] }),
    MachineKind::of::<Run>().shown_in(const { &[WindowKind::of::<RunWindow>()] }),
    MachineKind::of::<Memory>().shown_in(
        const { &[WindowKind::of::<TaskStateWindow>(), WindowKind::of::<HistoryWindow>()] },
    ),
    MachineKind::of::<Session>().shown_in(
        const { &[WindowKind::of::<SessionWindow>(), WindowKind::of::<SessionStateWindow>()] },
    ),
    MachineKind::of::<KnowledgeLog>(),
    MachineKind::of::<Inbox>(),
    MachineKind::of::<Verdicts>(),
    MachineKind::of::<Accounts>(),
    MachineKind::of::<Job>(),
    MachineKind::of::<ServedTask>(),
];

/// What the engine has to know of a kind of machine.
#[derive(Clone, Copy)]
pub(crate) struct MachineKind {
    pub(crate) word: &'static str,
    type_id: fn() -> TypeId,
    answered: fn(&mut Project, &Answer<'_>) -> Result<Consequence<MachineCommand>, EngineError>,
    holds: fn(&mut Project, &StreamName, &Topic) -> Result<Option<usize>, EngineError>,
    pub(crate) due:
        fn(&mut Work<'_>, &StreamName, &Topic) -> Result<Option<MachineCommand>, StoreError>,
    /// The files that show it.
    pub(crate) windows: &'static [WindowKind],
}

impl MachineKind {
    pub(crate) const fn of<M: Machine>() -> Self {
        Self {
            word: M::KIND,
            type_id: TypeId::of::<M>,
            answered: answered::<M>,
            holds: holds::<M>,
            due: outbox::due::<M>,
            windows: &[],
        }
    }

    /// Its machines are shown in files.
    pub(crate) const fn shown_in(self, windows: &'static [WindowKind]) -> Self {
        Self { windows, ..self }
    }

    pub(crate) fn is_of<M: Machine>(&self) -> bool {
        self.word == M::KIND && (self.type_id)() == TypeId::of::<M>()
    }
}

impl fmt::Debug for MachineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

/// What an answer means to the machine that asked, or to its window.
pub(crate) fn consequence_of(
    project: &mut Project,
    answer: &Answer<'_>,
) -> Result<Consequence<MachineCommand>, EngineError> {
    let word = answer.stream.kind();
    let Some(kind) = project.ledger.kinds().iter().find(|kind| kind.word == word) else {
        return Ok(Consequence::nothing());
    };
    for window in kind.windows {
        if let Some(commands) = window.answered(project, answer)? {
            return Ok(Consequence { commands, permit: None });
        }
    }
    (kind.answered)(project, answer)
}

/// How many tasks wait behind a question of a machine.
pub(crate) fn held_by(
    project: &mut Project,
    stream: &StreamName,
    topic: &Topic,
) -> Result<usize, EngineError> {
    let kinds = project.ledger.kinds();
    let Some(kind) = kinds.iter().find(|kind| kind.word == stream.kind()) else { return Ok(0) };
    Ok((kind.holds)(project, stream, topic)?.unwrap_or(0))
}

fn holds<M: Machine>(
    project: &mut Project,
    stream: &StreamName,
    topic: &Topic,
) -> Result<Option<usize>, EngineError> {
    Ok(project.machine::<M>(stream)?.and_then(|loaded| loaded.state.holds(topic)))
}

fn answered<M: Machine>(
    project: &mut Project,
    answer: &Answer<'_>,
) -> Result<Consequence<MachineCommand>, EngineError> {
    let facts = Facts { place: project.setup.place.clone() };
    let Some(loaded) = project.machine::<M>(answer.stream)? else {
        return Ok(Consequence::nothing());
    };
    let consequence = loaded.state.answered(answer, &facts)?;
    Ok(consequence.map(|command| MachineCommand::of::<M>(answer.stream.clone(), command)))
}

/// What machines may ask about this project.
struct Facts {
    place: Place,
}

impl OutsideFacts for Facts {
    type Error = EngineError;

    fn content_of_tree(&self, tree: &str) -> Result<Option<String>, EngineError> {
        Ok(waypost_git::content_of_tree(&self.place, tree)?)
    }
}
