//! Work apart from the project's own work tree: what the trees of a request are called, and what is to be
//! done with them next.
//!
//! A name is a folder below the project and a branch at once, as those of a run. It follows from the request, the
//! task and a number alone, so that a process that comes after a crash looks in the same place.

use super::{
    machine::{held_merge, is_out_of_order},
    state::{JoinedWork, RequestState, RequestTrees, Session, SessionTaskState, TaskTree},
    topic::Hold,
    words::Event,
};
use crate::{
    code::Code,
    document::{
        SessionTaskId,
        session::{GlobalPhase, Status},
    },
    machine::{Decision, Rejected},
    next::NextStep,
    run::TREES,
};

/// What Waypost does next with the work trees of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeStep {
    /// The task that begins gets a tree.
    Place(SessionTaskId),
    /// The work of a task whose last gate is passed goes into the request's branch.
    Join(SessionTaskId),
    /// The request's branch goes into the target.
    Land,
    /// Everything is merged: the trees go.
    Close,
}

impl RequestState {
    /// `worktree/request-R1`: where the work of a request is joined.
    pub fn tree_name(&self) -> String {
        format!("{TREES}/request-{}", self.id)
    }

    /// `worktree/request-R1--T1-1`: where a task is worked on, with the number that its tree has or would have.
    pub fn task_tree_name(&self, id: &SessionTaskId) -> Option<String> {
        let number = self.tasks.get(id)?.tree_number();
        Some(format!("{}--{id}-{number}", self.tree_name()))
    }

    /// The tree in which a task is worked on now; none: in the project's own work tree, or nowhere yet.
    pub fn open_tree(&self, id: &SessionTaskId) -> Option<String> {
        self.tasks.get(id)?.open_tree()?;
        self.task_tree_name(id)
    }

    /// All trees that a request that goes on works in: its own, and that of its task.
    pub fn trees_at_work(&self) -> Vec<String> {
        if self.trees.as_ref().is_none_or(|trees| trees.is_closed) {
            return Vec::new();
        }
        let of_tasks = self.tasks.iter().filter_map(|(id, _)| self.open_tree(id));
        [self.tree_name()].into_iter().chain(of_tasks).collect()
    }

    /// What is to be done with its trees now; nothing where that waits for a person.
    pub fn tree_step(&self) -> Option<TreeStep> {
        let trees = self.trees.as_ref().filter(|trees| !trees.is_closed)?;
        if self.phase != GlobalPhase::TaskLoop {
            return None;
        }
        let step = match self.current() {
            Some((id, task)) if task.is_done() && task.open_tree().is_some() => {
                TreeStep::Join(id.clone())
            }
            Some((id, task)) if !task.is_done() && task.open_tree().is_none() => {
                TreeStep::Place(id.clone())
            }
            Some(_) => return None,
            None if self.is_any_open() => return None,
            None if trees.landed.is_none() => TreeStep::Land,
            None => TreeStep::Close,
        };
        let hold = match &step {
            TreeStep::Join(task) => Hold::Join { task: task.clone() },
            TreeStep::Land => Hold::Landing,
            TreeStep::Place(_) | TreeStep::Close => return Some(step),
        };
        self.held(&hold).is_none().then_some(step)
    }

    /// Whether a task is not completed.
    pub(super) fn is_any_open(&self) -> bool {
        self.tasks.values().any(|task| task.status != Status::Completed)
    }

    /// Whether its work has still to be brought together.
    pub(super) fn is_unmerged(&self) -> bool {
        self.trees.as_ref().is_some_and(|trees| !trees.is_closed)
    }

    /// Whether a subtask of it has begun, wherever.
    pub fn has_begun(&self) -> bool {
        let mut subtasks = self.tasks.values().flat_map(|task| task.subtasks.values());
        subtasks.any(|subtask| subtask.status != Status::Pending)
    }
}

impl SessionTaskState {
    /// The tree that it is worked on in.
    pub fn open_tree(&self) -> Option<&TaskTree> {
        self.tree.as_ref().filter(|tree| tree.joined.is_none())
    }

    /// The number of that tree, or of the one that it would get: one that was joined is not used again.
    pub fn tree_number(&self) -> u32 {
        match &self.tree {
            Some(tree) => tree.number + u32::from(tree.joined.is_some()),
            None => 1,
        }
    }
}

impl Session {
    /// The tasks of the request are worked on in work trees. What has begun in the project's own work tree
    /// stays there.
    pub(super) fn set_apart(&self, target: &str) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        if request.trees.is_some() {
            return Ok(Decision::nothing());
        }
        if request.has_begun() {
            let message = format!("{} is worked on in the project's own work tree", request.id);
            return Err(Rejected::rule(Code::TaskStatus, message).next(NextStep::NextOfSession));
        }
        let (request, target) = (request.id.clone(), target.to_owned());
        Ok(Decision::events([Event::SetApart { request, target }]))
    }

    pub(super) fn place_task(
        &self,
        id: &SessionTaskId,
        base: &str,
    ) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        let task = Self::find_task(request, id)?;
        if task.open_tree().is_some() {
            return Ok(Decision::nothing());
        }
        if request.tree_step() != Some(TreeStep::Place(id.clone())) {
            return Err(is_out_of_order(format!("{id} gets no work tree now")));
        }
        let (number, base) = (task.tree_number(), base.to_owned());
        Ok(Decision::events([Event::TaskPlaced { task: id.clone(), number, base }]))
    }

    pub(super) fn join_task(
        &self,
        id: &SessionTaskId,
        result: &Result<Option<String>, String>,
    ) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        let task = Self::find_task(request, id)?;
        let hold = Hold::Join { task: id.clone() };
        if task.open_tree().is_none() || request.held(&hold).is_some() {
            return Ok(Decision::nothing());
        }
        if request.tree_step() != Some(TreeStep::Join(id.clone())) {
            return Err(is_out_of_order(format!("{id} is not done")));
        }
        Ok(match result {
            Ok(commit) => {
                Decision::events([Event::TaskJoined { task: id.clone(), commit: commit.clone() }])
            }
            Err(why) => held_merge(&request.id, hold, why),
        })
    }

    pub(super) fn land(
        &self,
        result: &Result<Option<String>, String>,
    ) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        let is_landed = request.trees.as_ref().is_some_and(|trees| trees.landed.is_some());
        if is_landed || request.held(&Hold::Landing).is_some() {
            return Ok(Decision::nothing());
        }
        if request.tree_step() != Some(TreeStep::Land) {
            return Err(is_out_of_order(format!("the tasks of {} are not done", request.id)));
        }
        Ok(match result {
            Ok(commit) => {
                let (request, commit) = (request.id.clone(), commit.clone());
                Decision::events([Event::RequestLanded { request, commit }])
            }
            Err(why) => held_merge(&request.id, Hold::Landing, why),
        })
    }

    pub(super) fn close_trees(&self) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        if request.tree_step() != Some(TreeStep::Close) {
            return Err(is_out_of_order(format!("the work of {} is not merged", request.id)));
        }
        Ok(Decision::events([Event::TreesClosed { request: request.id.clone() }]))
    }
}

/// What these events do to a request.
pub(super) fn apply(request: &mut RequestState, event: &Event) {
    match event {
        Event::SetApart { target, .. } => {
            let target = target.clone();
            request.trees =
                Some(RequestTrees { target, base: None, landed: None, is_closed: false });
        }
        Event::TaskPlaced { task, number, base } => {
            if let Some(trees) = &mut request.trees {
                trees.base.get_or_insert_with(|| base.clone());
                // What is done from here on is merged as well.
                trees.landed = None;
            }
            let (number, base) = (*number, base.clone());
            if let Some(task) = request.task_mut(task) {
                task.tree = Some(TaskTree { number, base, joined: None });
            }
        }
        Event::TaskJoined { task, commit } => {
            let tree = request.task_mut(task).and_then(|task| task.tree.as_mut());
            if let Some(tree) = tree {
                tree.joined = Some(JoinedWork { commit: commit.clone() });
            }
        }
        Event::RequestLanded { commit, .. } => {
            if let Some(trees) = &mut request.trees {
                trees.landed = Some(JoinedWork { commit: commit.clone() });
            }
        }
        Event::TreesClosed { .. } => {
            if let Some(trees) = &mut request.trees {
                trees.is_closed = true;
            }
        }
        _ => {}
    }
}
