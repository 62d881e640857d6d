//! The memory as its two files show it, and how much two of them differ.

use super::state::Memory;
use crate::document::{
    TextVersion,
    memory::{MemoryTask, Step, TaskHistory, TaskState},
};

impl Memory {
    /// `task-state.json`; nothing before the memory is open.
    pub fn render_state(&self) -> Option<TaskState> {
        self.is_open.then(|| TaskState {
            version: TextVersion,
            current_task: self.current.as_ref().map(|kept| kept.task.clone()),
            pending_tasks: self.pending.iter().map(|kept| kept.task.clone()).collect(),
            last_updated: Some(self.updated_at.into()),
        })
    }

    /// `task-history.json`; nothing before the memory is open.
    pub fn render_history(&self) -> Option<TaskHistory> {
        self.is_open.then(|| TaskHistory {
            version: TextVersion,
            tasks: self.history.entries.clone(),
            statistics: self.history.totals.statistics(),
        })
    }
}

/// How much two states differ: tasks, fields of tasks, and fields of steps.
pub fn differs_state(one: &TaskState, other: &TaskState) -> usize {
    let of = |state: &TaskState| -> Vec<MemoryTask> {
        state.current_task.iter().chain(&state.pending_tasks).cloned().collect()
    };
    let (ones, others) = (of(one), of(other));
    let mut count = usize::from(one.last_updated != other.last_updated);
    count += usize::from(
        one.current_task.as_ref().map(|it| &it.id) != other.current_task.as_ref().map(|it| &it.id),
    );
    for task in &ones {
        count += others.iter().find(|it| it.id == task.id).map_or(100, |it| differs(task, it));
    }
    count + 100 * others.iter().filter(|it| !ones.iter().any(|one| one.id == it.id)).count()
}

fn differs(one: &MemoryTask, other: &MemoryTask) -> usize {
    let fields = [
        one.name != other.name,
        one.status != other.status,
        one.started_at != other.started_at,
        one.updated_at != other.updated_at,
        one.orchestrator != other.orchestrator,
        one.plan.goal != other.plan.goal,
        one.plan.success_criteria != other.plan.success_criteria,
        one.plan.current_step != other.plan.current_step,
        one.context != other.context,
        one.artifacts != other.artifacts,
        one.issues != other.issues,
    ];
    let mut count = fields.into_iter().filter(|differs| *differs).count();
    for (at, step) in one.plan.steps.iter().enumerate() {
        let found = other.plan.steps.iter().find(|it| it.id == step.id);
        count += match found {
            // Renumbered in its place: not a step that went and another that came.
            None if other.plan.steps.get(at).is_some_and(|it| it.name == step.name) => 1,
            // Taken out: one change, where a step that is new is more likely one of a later file.
            None => 1,
            Some(found) => {
                usize::from(found.status != step.status)
                    + usize::from(found.output != step.output)
                    + usize::from(found != step)
            }
        };
    }
    let is_new = |(at, new): &(usize, &Step)| {
        let is_known = one.plan.steps.iter().any(|step| step.id == new.id);
        !is_known && one.plan.steps.get(*at).is_none_or(|step| step.name != new.name)
    };
    count + 10 * other.plan.steps.iter().enumerate().filter(is_new).count()
}

/// How much two histories differ: entries, and whether the statistics do.
pub fn differs_history(one: &TaskHistory, other: &TaskHistory) -> usize {
    let missing = |from: &TaskHistory, of: &TaskHistory| {
        of.tasks.iter().filter(|entry| !from.tasks.contains(entry)).count()
    };
    missing(one, other) + missing(other, one) + usize::from(one.statistics != other.statistics)
}
