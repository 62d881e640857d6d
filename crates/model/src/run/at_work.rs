//! What a run that is at work takes up of a TASKS.md that has changed meanwhile.
//!
//! | in the file | what is taken up |
//! |---|---|
//! | a new task, one that says something else and is not begun, one that is gone and is not begun | at once |
//! | other dependencies, phases and priorities of what is not begun | at once |
//! | a task in progress says something else, has another phase, or is gone | when its attempt has ended |
//! | a completed task says something else | not by the run: a person has to say what it means |
//! | an open phase would have another branch | nothing, until the phase has ended |
//!
//! What is not taken up stays as it is in the plan, so that everything else can be; such a plan keeps
//! the mark of the file that the run had before, and so the file still counts as changed.

use super::{Active, Depends, Plan, PlannedTask};
use crate::id::TaskId;
use std::collections::{HashMap, HashSet};

/// The part of a changed plan that a run at work goes on with.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanAtWork {
    pub plan: Plan,
    /// Tasks in progress that say something else, have another phase, or are gone.
    pub in_progress: Vec<TaskId>,
    /// Completed tasks that say something else.
    pub completed: Vec<TaskId>,
}

impl Active {
    /// What is taken up of `plan` while tasks are worked on; none: nothing before an attempt or a
    /// phase has ended.
    pub fn at_work_with(&self, plan: &Plan) -> Option<PlanAtWork> {
        let completed = self.redefined(plan);
        let kept: HashSet<&TaskId> = completed.iter().collect();
        let mut running: HashMap<&TaskId, &PlannedTask> =
            self.running().map(|view| (&view.planned.id, view.planned)).collect();
        let mut in_progress = Vec::new();
        let mut tasks = Vec::with_capacity(plan.tasks.len());
        for task in plan.tasks.iter() {
            let running = running.remove(&task.id);
            let held = running.filter(|it| it.phase != task.phase || !it.says_the_same(task));
            in_progress.extend(held.map(|it| it.id.clone()));
            let own = || self.task(&task.id).map(|view| view.planned);
            match held.or_else(|| own().filter(|_| kept.contains(&task.id))) {
                Some(own) => tasks.push(PlannedTask {
                    depends: task.depends.clone(),
                    ticked: task.ticked,
                    line: task.line,
                    ..own.clone()
                }),
                // It was away when it was said otherwise, and stays away.
                None if kept.contains(&task.id) => {}
                None => tasks.push(task.clone()),
            }
        }
        // What they waited for is completed, whether or not it is still there.
        let mut gone: Vec<&PlannedTask> = running.into_values().collect();
        gone.sort_by_key(|task| task.line);
        in_progress.extend(gone.iter().map(|task| task.id.clone()));
        let stay =
            |task: &PlannedTask| PlannedTask { depends: Depends::On(Vec::new()), ..task.clone() };
        tasks.extend(gone.into_iter().map(stay));
        let plan =
            self.with_branches(plan, tasks, in_progress.is_empty() && completed.is_empty())?;
        Some(PlanAtWork { plan, in_progress, completed })
    }

    /// The plan of these tasks, in which open phases keep their branches; none if they cannot.
    fn with_branches(&self, plan: &Plan, tasks: Vec<PlannedTask>, is_whole: bool) -> Option<Plan> {
        let mut phases = plan.phases.clone();
        let open: Vec<u32> = self.core.bases.keys().copied().collect();
        for number in &open {
            if let Some(name) = self.core.plan.phases.get(number) {
                phases.insert(*number, name.clone());
            }
        }
        let mut taken = Plan::new(plan.project.clone(), phases, tasks).ok()?;
        let has_branch = |number: &u32| {
            taken.phases.contains_key(number)
                && taken.phase_tree(*number) == self.core.plan.phase_tree(*number)
        };
        if !open.iter().all(has_branch) {
            return None;
        }
        let source = if is_whole { &plan.source } else { &self.core.plan.source };
        taken.source.clone_from(source);
        Some(taken)
    }
}
