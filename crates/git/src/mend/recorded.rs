//! What the journal says that a repository has to have.

use crate::{
    merge::{PhaseBranch, joined_tasks},
    tree::name,
};
use std::collections::BTreeMap;
use waypost_model::{
    document::SessionTaskId,
    id::TaskId,
    run::{Active, PhaseStage, TaskView},
    session::{RequestState, SessionTaskState},
};

/// The work that a journal has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedWork {
    pub phases: Vec<RecordedPhase>,
    /// The branch that the run started on.
    pub target: Option<String>,
    /// The commits by which phases were merged into it, the last one last.
    pub landed: Vec<String>,
}

/// What was recorded of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPhase {
    pub branch: PhaseBranch,
    /// The commit that its branch was made from; none: it has no branch, or none any more.
    pub base: Option<String>,
    /// The commits by which tasks were joined to it.
    pub joined: Vec<(TaskId, String)>,
    /// How often each of its tasks was tried.
    pub attempts: BTreeMap<String, u32>,
}

impl RecordedWork {
    /// What the journal knows of a run; nothing where the project folder itself is worked in.
    pub fn of(active: &Active) -> Self {
        let mut this = Self { target: active.settings().target.clone(), ..Self::default() };
        for (number, stage) in active.phases() {
            let Some(branch) = PhaseBranch::of(active, number) else { continue };
            let commit = match stage {
                PhaseStage::Ending { merge_commit, .. }
                | PhaseStage::Closed { merge_commit, .. } => merge_commit.clone(),
                PhaseStage::Waiting | PhaseStage::Open { .. } => None,
            };
            this.landed.extend(commit);
            let its = |view: &TaskView<'_>| view.planned.phase == number;
            let joined =
                |view: TaskView<'_>| Some((view.planned.id.clone(), view.commit?.to_owned()));
            let attempts = |view: TaskView<'_>| (view.planned.id.to_string(), view.attempts);
            this.phases.push(RecordedPhase {
                attempts: active.tasks().filter(its).map(attempts).collect(),
                base: active.base(number).map(str::to_owned),
                joined: active.tasks().filter(its).filter_map(joined).collect(),
                branch,
            });
        }
        this
    }

    /// Adds what the journal knows of a request of a session; nothing where the project folder itself is worked in.
    pub fn with_request(mut self, request: &RequestState) -> Self {
        let Some(trees) = request.trees.as_ref().filter(|trees| !trees.is_closed) else {
            return self;
        };
        let Some(branch) = PhaseBranch::of_request(request) else { return self };
        let landed = trees.landed.as_ref().and_then(|landed| landed.commit.clone());
        self.landed.extend(landed);
        self.target.get_or_insert_with(|| trees.target.clone());
        let tried = |(id, task): (&SessionTaskId, &SessionTaskState)| {
            (id.to_string(), task.tree.as_ref().map_or(0, |tree| tree.number))
        };
        self.phases.push(RecordedPhase {
            branch,
            base: trees.base.clone(),
            joined: joined_tasks(request),
            attempts: request.tasks.iter().map(tried).collect(),
        });
        self
    }

    /// Whether this run has made a tree of this name.
    pub(super) fn knows(&self, tree: &str) -> bool {
        let Some(phase) = self.phase_of(tree).filter(|phase| phase.base.is_some()) else {
            return false;
        };
        let is_attempt = |(task, number): (&str, u32)| {
            let tried = phase.attempts.get(task).copied().unwrap_or(0);
            (1..=tried).contains(&number)
        };
        tree == phase.branch.name || name::attempt(tree).is_some_and(is_attempt)
    }

    /// The phase that a tree of this name is for.
    pub(super) fn phase_of(&self, tree: &str) -> Option<&RecordedPhase> {
        let is_of = |phase: &&RecordedPhase| {
            let rest = tree.strip_prefix(&phase.branch.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("--"))
        };
        self.phases.iter().find(is_of)
    }
}
