//! Which tasks of a plan could run beside each other: waves, one after another within a phase.

use crate::run::{Plan, PlannedTask};
use std::collections::HashMap;

impl Plan {
    /// The wave of each task within its phase, from 0, in the order of the plan: a task comes one
    /// wave after the last task of its own phase that it waits for.
    pub fn waves(&self) -> Vec<usize> {
        let index: HashMap<&str, usize> =
            self.tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
        let own = |task: &PlannedTask| -> Vec<usize> {
            let here = |at: &usize| self.tasks[*at].phase == task.phase;
            task.stated()
                .iter()
                .filter_map(|id| index.get(id.as_str()).copied())
                .filter(here)
                .collect()
        };
        let before: Vec<Vec<usize>> = self.tasks.iter().map(own).collect();
        let mut after = vec![Vec::new(); self.tasks.len()];
        for (at, wanted) in before.iter().enumerate() {
            wanted.iter().for_each(|&wanted| after[wanted].push(at));
        }
        let mut open: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut waves = vec![0; self.tasks.len()];
        let mut free: Vec<usize> = (0..self.tasks.len()).filter(|&at| open[at] == 0).collect();
        while let Some(at) = free.pop() {
            for &next in &after[at] {
                waves[next] = waves[next].max(waves[at] + 1);
                open[next] -= 1;
                if open[next] == 0 {
                    free.push(next);
                }
            }
        }
        waves
    }
}

#[cfg(test)]
mod tests {
    use crate::run::{Depends, Plan, PlannedTask, Priority};
    use std::collections::BTreeMap;

    fn task(id: &str, phase: u32, depends: &[&str]) -> PlannedTask {
        PlannedTask {
            id: id.parse().unwrap(),
            title: id.into(),
            phase,
            depends: Depends::On(depends.iter().map(|id| id.parse().unwrap()).collect()),
            ticked: false,
            priority: Priority::Normal,
            line: 1,
            details: None,
        }
    }

    #[test]
    fn a_task_comes_after_everything_of_its_phase_that_it_waits_for() {
        let tasks = vec![
            task("T1.1", 1, &[]),
            task("T1.2", 1, &["T1.1"]),
            task("T1.3", 1, &["T1.1", "T1.2"]),
            task("T1.4", 1, &[]),
            task("T2.1", 2, &["T1.3"]),
            task("T2.2", 2, &["T2.1"]),
        ];
        let plan = Plan::new("x".into(), BTreeMap::new(), tasks).unwrap();
        assert_eq!(plan.waves(), [0, 1, 2, 0, 0, 1]);
    }
}
