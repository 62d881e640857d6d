//! Workspaces of tasks that the journal does not know: it was lost, or is older than they are.
//!
//! What such a task was about is gone with the journal. What its agents have made is not: from the
//! deliverables follows of which type it was and how many of its phases are finished. A person can take
//! each up as a draft, which goes on in its workspace behind the last of them.

use super::{
    deliverables::DeliverableSurvey, folder::TaskFolder, order::PhaseOrder,
    workspaces::WorkspacesHome,
};
use crate::{
    doctor::WantedWorkspaces,
    error::{EngineError, Problem},
    project::Project,
    served::{self, command_for},
    task_types::{task_type, task_types},
};
use std::{path::Path, sync::Arc};
use waypost_model::{
    code::Code,
    document::{ServerTaskId, task_type::TaskType},
    machine::Rejected,
    task::{Command, RetriedCheckpoint, RetriedTask, TaskFields, WorkspaceKind},
};

/// A workspace without a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostWorkspace {
    pub(crate) id: ServerTaskId,
    /// The type whose deliverables it has the most of; empty: it has none of any.
    pub(crate) task_type: String,
    /// How many phases of that are finished.
    pub(crate) finished: u32,
    phases: u32,
}

impl LostWorkspace {
    /// In words.
    pub(crate) fn told(&self) -> String {
        let Self { id, task_type, finished, phases } = self;
        match task_type.as_str() {
            "" => format!("{id} (nothing tells of which type it was)"),
            kind => format!("{id} ({kind}, {finished} of {phases} phases finished)"),
        }
    }
}

/// The workspaces of this project that belong to no task.
pub(crate) fn lost_workspaces(
    project: &mut Project,
    data: Option<&Path>,
) -> Result<Vec<LostWorkspace>, EngineError> {
    let home = WorkspacesHome::of(&project.setup, data);
    let mut found = Vec::new();
    for id in home.tasks() {
        if served::trace(project, &id)?.is_none()
            && let Some(workspace) = home.left_by(&project.setup, &id)
        {
            let is_tree = workspace.common.is_some();
            found.push(infer(project, id, &workspace.folder, is_tree)?);
        }
    }
    Ok(found)
}

/// Finds out from what is there what a workspace was for, and how far it is.
fn infer(
    project: &Project,
    id: ServerTaskId,
    folder: &Path,
    is_tree: bool,
) -> Result<LostWorkspace, EngineError> {
    let mut best = (0, LostWorkspace { id, task_type: String::new(), finished: 0, phases: 0 });
    for known in task_types(&project.setup)? {
        // A type that cannot be read is told of elsewhere.
        let Ok(kind) = task_type(&project.setup, &known.name) else { continue };
        if (kind.workspace == WorkspaceKind::Tree) != is_tree {
            continue;
        }
        let (there, finished, phases) = progress(kind, folder);
        if there > best.0 {
            let id = best.1.id.clone();
            best = (there, LostWorkspace { id, task_type: known.name, finished, phases });
        }
    }
    Ok(best.1)
}

/// How many steps of a type are done in a folder, how many of its phases are finished, and how many there
/// are. A phase without deliverables leaves no trace, and neither does what follows it.
fn progress(kind: TaskType, folder: &Path) -> (u32, u32, u32) {
    let phases = u32::try_from(kind.phases.len()).unwrap_or(u32::MAX);
    let kind = Arc::new(kind);
    let (mut there, mut finished, mut is_behind) = (0, 0, true);
    for number in 1..=phases {
        let order = PhaseOrder { kind: Arc::clone(&kind), number };
        let steps = order.phase().map_or(0, |phase| phase.steps.len());
        let survey = DeliverableSurvey::of(&order, folder);
        there += survey.steps_done;
        is_behind &= steps > 0 && survey.findings.is_empty();
        finished += u32::from(is_behind);
    }
    (there, finished, phases)
}

/// Makes a draft of each wanted workspace without a task, under its id. By a person only.
pub(crate) fn take_up_workspaces(
    project: &mut Project,
    data: Option<&Path>,
    wanted: &WantedWorkspaces,
) -> Result<Vec<LostWorkspace>, EngineError> {
    if !project.actor().is_person() {
        return Err(Rejected::reserved("taking up tasks from their workspaces").into());
    }
    let mut found = lost_workspaces(project, data)?;
    match wanted {
        WantedWorkspaces::None => found.clear(),
        WantedWorkspaces::All => {}
        WantedWorkspaces::These(ids) => {
            let missing = ids.iter().find(|id| found.iter().all(|it| it.id != **id));
            if let Some(id) = missing {
                let message = format!("there is no workspace without a task for {id}");
                return Err(Problem::new(Code::TaskUnknown, message).into());
            }
            found.retain(|it| ids.contains(&it.id));
        }
    }
    for lost in &found {
        // What its agents said is not the new task's.
        TaskFolder::of(&project.setup, &lost.id).put_aside(project.clock.now())?;
        let phase = Some(lost.finished + 1).filter(|_| lost.phases > 0);
        let checkpoint = Some(RetriedCheckpoint { id: 0, commit: String::new(), phase });
        let retry_of = Some(RetriedTask { task: lost.id.clone(), checkpoint });
        let title = format!("{} (found in its workspace)", lost.id);
        let fields =
            TaskFields { title, task_type: lost.task_type.clone(), ..TaskFields::default() };
        let create = Command::Create { id: lost.id.clone(), fields, retry_of };
        project.command(&[command_for(&lost.id, create)])?;
    }
    Ok(found)
}
