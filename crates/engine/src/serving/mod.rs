//! Tasks of the server: handed in by a person, worked on by agents phase by phase, in workspaces of their
//! own.
//!
//! The rules are the task machine's (`waypost_model::task`). Here is what acts: one guest of the host for
//! all tasks (`guest`), with a `room` for each that is worked on: its agent's process (`agent`), its
//! checkpoints, its verification (`verify`). What there is to do follows from the task as the journal has
//! it and from what processes there are, so that a host which comes after one that died goes on by the
//! same steps.

mod agent;
mod archive;
mod brief;
mod checkpoints;
mod deliverables;
mod folder;
mod guest;
mod kind;
mod live;
mod order;
mod questions;
mod room;
mod scan;
mod signals;
mod turns;
mod verify;
mod workspaces;

pub use archive::{Archive, archive};
pub use folder::attempt_output;
pub(crate) use folder::{end_left, is_at_work};
pub use guest::ServeOptions;
pub(crate) use guest::TaskGuest;
pub use live::{error_log, live_agent};
pub(crate) use scan::{LostWorkspace, lost_workspaces, take_up_workspaces};
pub(crate) use workspaces::as_it_lies;

use self::{folder::TaskFolder, workspaces::WorkspacesHome};
use crate::{error::EngineError, project::Project, values};
use std::collections::BTreeSet;
use waypost_model::{document::ServerTaskId, machine::Machine as _, task::ServedTask};
use waypost_store::journal::ListingQuery;

/// How many of the tasks that were over last are looked at when a host begins: one that died may not have
/// kept what they left.
const LAST_OVER: usize = 20;

/// Tasks of which something is there: one that was deleted while no host worked on tasks is among them.
fn left_behind(
    project: &mut Project,
    data: &WorkspacesHome,
) -> Result<BTreeSet<ServerTaskId>, EngineError> {
    let mut all: BTreeSet<ServerTaskId> = data.tasks().into_iter().collect();
    all.extend(folder::tasks(&project.setup));
    if project.journal.is_some() {
        let with_values = values::vault(project)?.tasks()?;
        all.extend(with_values.iter().filter_map(|name| name.parse().ok()));
    }
    Ok(all)
}

/// Whether a task has left a workspace, what its agents said, or values.
fn has_left(
    project: &mut Project,
    data: &WorkspacesHome,
    id: &ServerTaskId,
) -> Result<bool, EngineError> {
    Ok(data.left_by(&project.setup, id).is_some()
        || TaskFolder::of(&project.setup, id).path().is_dir()
        || !values::names_of(project, id.as_str())?.is_empty())
}

/// The tasks that something may have to be done for.
fn open_tasks(project: &mut Project) -> Result<Vec<ServerTaskId>, EngineError> {
    let Some(journal) = &mut project.journal else { return Ok(Vec::new()) };
    let view = journal.view()?;
    let all = ListingQuery { with_hidden: true, ..ListingQuery::of(ServedTask::KIND) };
    let open = view
        .listings(&ListingQuery { states: &["pending", "in_progress", "review"], ..all.clone() })?;
    let over = ["completed", "failed"];
    let over = view.listings(&ListingQuery { states: &over, limit: LAST_OVER, ..all })?;
    let listed = open.into_iter().chain(over);
    Ok(listed.filter_map(|it| it.stream.instance()?.parse().ok()).collect())
}
