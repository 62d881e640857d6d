//! Where each task of a plan stands, by its id.
//!
//! A hash table of positions alone, four bytes each: the ids are in the plan, which it shares. A map
//! with ids as keys would take ten times as much for each of the tasks that only wait.

use crate::{id::TaskId, run::PlannedTask};
use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

/// A slot that no task has.
const FREE: u32 = u32::MAX;

/// Positions by id.
#[derive(Debug)]
pub(super) struct Positions {
    tasks: Arc<Vec<PlannedTask>>,
    /// A power of two and at least half of them free, so that every search ends soon.
    slots: Vec<u32>,
    hasher: RandomState,
}

impl Positions {
    pub(super) fn new(tasks: &Arc<Vec<PlannedTask>>) -> Self {
        let slots = vec![FREE; (tasks.len() * 2).max(2).next_power_of_two()];
        let mut positions = Self { tasks: Arc::clone(tasks), slots, hasher: RandomState::new() };
        for (task, at) in tasks.iter().zip(0..) {
            let slot = positions.slot(&task.id);
            positions.slots[slot] = at;
        }
        positions
    }

    pub(super) fn find(&self, id: &TaskId) -> Option<usize> {
        let at = self.slots[self.slot(id)];
        (at != FREE).then_some(at as usize)
    }

    /// The slot of `id`, or the free one that it would get.
    fn slot(&self, id: &TaskId) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = usize::try_from(self.hasher.hash_one(id) & last as u64).unwrap_or(0);
        while self.slots[slot] != FREE && self.tasks[self.slots[slot] as usize].id != *id {
            slot = (slot + 1) & last;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Depends, Priority};

    fn check(count: usize) {
        let id = |number: usize| -> TaskId { format!("T{number}").parse().unwrap() };
        let task = |number| PlannedTask {
            id: id(number),
            title: String::new(),
            phase: 1,
            depends: Depends::PhaseBefore,
            ticked: false,
            priority: Priority::Normal,
            line: 1,
            details: None,
        };
        let positions = Positions::new(&Arc::new((0..count).map(task).collect()));
        let found: Vec<Option<usize>> = (0..=count).map(|at| positions.find(&id(at))).collect();
        let want: Vec<Option<usize>> = (0..count).map(Some).chain([None]).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn every_task_is_found_and_no_other() {
        [0, 1, 2, 3, 4, 5, 1_000].into_iter().for_each(check);
    }
}
