//! How many tasks wait behind a question of the run.
//!
//! Phases are worked through one after another: whatever holds a task holds what depends on it in
//! its phase, and all that is left of the later ones. Tasks that have failed, or never can be
//! completed as things stand, wait for nothing.

use super::{
    Active, RunTopic, TaskStatus,
    state::{Progress, Run},
};
use crate::inbox::Topic;
use std::collections::BTreeSet;

impl Run {
    pub(super) fn held_by(&self, topic: &Topic) -> Option<usize> {
        let active = self.active()?;
        Some(match RunTopic::read(topic)? {
            RunTopic::Task { id, .. } => active.behind(active.graph.position(&id)),
            RunTopic::Phase(phase) => active.after(phase),
            RunTopic::Account(agent) => active.behind(active.waiting_for(&agent)),
            RunTopic::Trouble(_) => active.phases().map(|(phase, _)| active.left(phase)).sum(),
        })
    }
}

impl Active {
    /// The tasks that are parked because of this agent's account.
    fn waiting_for(&self, agent: &str) -> Vec<usize> {
        let is_meant = |view: &super::TaskView<'_>| {
            let parked = view.trail.and_then(|trail| trail.parked.as_ref());
            parked.is_some_and(|parked| parked.agent == agent)
        };
        let waiting = self.parked().filter(is_meant);
        waiting.filter_map(|view| self.graph.position(&view.planned.id)).collect()
    }

    /// These tasks, and all that wait for one of them.
    fn behind(&self, tasks: impl IntoIterator<Item = usize>) -> usize {
        let phase_of = |at: usize| self.core.plan.tasks[at].phase;
        let tasks: Vec<usize> = tasks.into_iter().filter(|at| self.waits(*at)).collect();
        let Some(first) = tasks.iter().map(|at| phase_of(*at)).min() else { return 0 };
        let mut open: Vec<usize> = tasks.into_iter().filter(|at| phase_of(*at) == first).collect();
        let mut held: BTreeSet<usize> = open.iter().copied().collect();
        while let Some(at) = open.pop() {
            for next in self.graph.dependents(at) {
                if phase_of(next) == first && self.waits(next) && held.insert(next) {
                    open.push(next);
                }
            }
        }
        held.len() + self.after(first)
    }

    /// Whether a task may still be worked on.
    fn waits(&self, position: usize) -> bool {
        let status = self.status(position);
        !matches!(status, TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Blocked)
    }

    /// What is left to do in the phases after this one.
    fn after(&self, phase: u32) -> usize {
        let later = self.phases().filter(|(number, _)| *number > phase);
        later.map(|(number, _)| self.left(number)).sum()
    }

    fn left(&self, phase: u32) -> usize {
        let Progress { total, completed, failed, blocked } = self.progress(phase);
        total.saturating_sub(completed + failed + blocked)
    }
}
