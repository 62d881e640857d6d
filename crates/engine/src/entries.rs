//! What waits in the inbox, as a person sees it: with what each entry holds up, the most first.
//!
//! How many tasks wait behind an entry follows from the state of the machine that asked. It is found
//! out when the list is looked at: what was true when the question was asked would soon be wrong.

use crate::{error::EngineError, machines, project::Project};
use std::cmp::Reverse;
use waypost_model::inbox::Entry;

/// An entry that waits, with the number of tasks behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingEntry {
    pub entry: Entry,
    /// How many tasks wait for its answer, directly or not.
    pub holds: usize,
}

/// All that waits: what holds up the most tasks first, then the oldest.
pub fn waiting(project: &mut Project) -> Result<Vec<WaitingEntry>, EngineError> {
    let inbox = project.inbox()?;
    let mut waiting = Vec::with_capacity(inbox.open().len());
    for entry in inbox.open() {
        let holds = held_by(project, entry)?;
        waiting.push(WaitingEntry { entry: entry.clone(), holds });
    }
    // Entries are in the order in which they were asked, and the sort keeps that.
    waiting.sort_by_key(|it| Reverse(it.holds));
    Ok(waiting)
}

/// How many tasks wait behind an entry.
pub fn held_by(project: &mut Project, entry: &Entry) -> Result<usize, EngineError> {
    match entry.question.subject.read() {
        Some((stream, topic)) => machines::held_by(project, &stream, &topic),
        None => Ok(0),
    }
}
