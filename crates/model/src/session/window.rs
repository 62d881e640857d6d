//! A session as its two files show it, and how much two of them differ.

use super::state::{RequestState, Session, SessionTaskState};
use crate::document::{
    Version,
    session::{Project, Request, SessionFile, SessionState as StateFile, SessionTask, Subtask},
};

/// More than all other fields of a file together.
const ANOTHER: usize = 100;

impl Session {
    /// `session.json`; nothing before the first session.
    pub fn render_session(&self) -> Option<SessionFile> {
        let facts = self.facts.as_ref()?;
        let project = &facts.project;
        Some(SessionFile {
            version: Version,
            project: Project {
                path: project.path.clone(),
                name: project.name.clone(),
                hash: project.hash.clone(),
            },
            status: facts.status,
            current_task: self.request.as_ref().and_then(|request| request.current_task.clone()),
            created_at: facts.created_at.into(),
            updated_at: facts.updated_at.into(),
            manifest: facts.manifest.clone(),
        })
    }

    /// `state.json`; nothing before the first request.
    pub fn render_state(&self) -> Option<StateFile> {
        self.request.as_ref().map(RequestState::render)
    }
}

impl RequestState {
    /// `state.json` of this request.
    pub fn render(&self) -> StateFile {
        StateFile {
            version: Version,
            request: Request {
                id: self.id.clone(),
                original_request: self.text.clone(),
                status: self.status,
                current_task: self.current_task.clone(),
                global_phase: self.phase,
            },
            tasks: crate::ordered::Ordered::of_distinct(
                self.tasks.iter().map(|(id, task)| (id.clone(), task.render())),
            ),
            task_order: self.tasks.keys().cloned().collect(),
        }
    }
}

impl SessionTaskState {
    fn render(&self) -> SessionTask {
        let subtasks = self.subtasks.iter().map(|(id, subtask)| {
            let file = Subtask {
                name: subtask.name.clone(),
                status: subtask.status,
                phase: subtask.phase,
                gates: subtask.gates,
            };
            (id.clone(), file)
        });
        SessionTask {
            name: self.name.clone(),
            status: self.status,
            current_subtask: self.current_subtask.clone(),
            subtasks: crate::ordered::Ordered::of_distinct(subtasks),
            subtask_order: self.subtasks.keys().cloned().collect(),
            created_at: Some(self.created_at.into()),
            updated_at: Some(self.updated_at.into()),
        }
    }
}

/// How many fields of two `session.json` differ.
pub fn differs_session(one: &SessionFile, other: &SessionFile) -> usize {
    let fields = [
        one.project.path != other.project.path,
        one.project.name != other.project.name,
        one.project.hash != other.project.hash,
        one.status != other.status,
        one.current_task != other.current_task,
        one.created_at != other.created_at,
        one.updated_at != other.updated_at,
        one.manifest != other.manifest,
    ];
    fields.into_iter().filter(|differs| *differs).count()
}

/// How many fields of two `state.json` differ.
pub fn differs_state(one: &StateFile, other: &StateFile) -> usize {
    let fields = [
        one.request.original_request != other.request.original_request,
        one.request.status != other.request.status,
        one.request.current_task != other.request.current_task,
        one.request.global_phase != other.request.global_phase,
        one.task_order != other.task_order,
    ];
    let mut count = fields.into_iter().filter(|differs| *differs).count();
    count += ANOTHER * usize::from(one.request.id != other.request.id);
    for (id, task) in one.tasks.iter() {
        count += other.tasks.get(id).map_or(ANOTHER, |it| differs(task, it));
    }
    count + ANOTHER * other.tasks.keys().filter(|id| !one.tasks.contains_key(*id)).count()
}

fn differs(one: &SessionTask, other: &SessionTask) -> usize {
    let fields = [
        one.name != other.name,
        one.status != other.status,
        one.current_subtask != other.current_subtask,
        one.subtask_order != other.subtask_order,
        one.created_at != other.created_at,
        one.updated_at != other.updated_at,
    ];
    let mut count = fields.into_iter().filter(|differs| *differs).count();
    for (id, subtask) in one.subtasks.iter() {
        count += other.subtasks.get(id).map_or(ANOTHER, |it| differs_subtask(subtask, it));
    }
    count + ANOTHER * other.subtasks.keys().filter(|id| !one.subtasks.contains_key(*id)).count()
}

fn differs_subtask(one: &Subtask, other: &Subtask) -> usize {
    let fields = [
        one.name != other.name,
        one.status != other.status,
        one.phase != other.phase,
        one.gates != other.gates,
    ];
    fields.into_iter().filter(|differs| *differs).count()
}
