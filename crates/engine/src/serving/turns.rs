//! Whose turn it is among tasks in progress that wait for a slot: by priority, which grows with waiting, as in
//! the queue of those that have not begun.

use std::{cell::RefCell, collections::BTreeMap};
use waypost_model::{
    document::ServerTaskId,
    run::Priority,
    task::{TaskRow, turn},
    time::Time,
};

/// One that waits.
#[derive(Clone, Copy, Debug)]
struct SlotWish {
    priority: Priority,
    since: Time,
    /// Whether it has asked since it was last looked after.
    asks: bool,
}

/// The tasks that wait for a slot.
#[derive(Debug, Default)]
pub(super) struct Turns(RefCell<BTreeMap<ServerTaskId, SlotWish>>);

impl Turns {
    /// A task is looked after: it waits on if it asks again until `settle`.
    pub(super) fn begin(&self, id: &ServerTaskId) {
        if let Some(waiting) = self.0.borrow_mut().get_mut(id) {
            waiting.asks = false;
        }
    }

    /// One that has not asked again waits no more.
    pub(super) fn settle(&self, id: &ServerTaskId) {
        self.0.borrow_mut().retain(|it, waiting| it != id || waiting.asks);
    }

    pub(super) fn leave(&self, id: &ServerTaskId) {
        self.0.borrow_mut().remove(id);
    }

    /// A task asks for a slot.
    pub(super) fn ask(&self, id: &ServerTaskId, priority: Priority, now: Time) {
        let mut all = self.0.borrow_mut();
        let fresh = SlotWish { priority, since: now, asks: true };
        let waiting = all.entry(id.clone()).or_insert(fresh);
        (waiting.priority, waiting.asks) = (priority, true);
    }

    pub(super) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// How many come before one that asks.
    pub(super) fn ahead_of(&self, id: &ServerTaskId, now: Time) -> usize {
        let all = self.0.borrow();
        let of = |(id, it): (&'_ ServerTaskId, &SlotWish)| {
            let (place, since, name) = turn(it.priority, (it.since, now), id);
            (place, since, name.to_owned())
        };
        let Some(own) = all.get_key_value(id).map(of) else { return all.len() };
        all.iter().filter(|it| of(*it) < own).count()
    }

    /// How many come before a task that has not begun: those that count as much as it does, or more.
    pub(super) fn ahead_of_pending(&self, row: &TaskRow, now: Time) -> usize {
        let (own, ..) = row.turn(now);
        let all = self.0.borrow();
        all.iter().filter(|(id, it)| turn(it.priority, (it.since, now), id).0 <= own).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urgent_come_first_and_those_that_wait_long_come_forward() {
        let turns = Turns::default();
        let at = |minutes: i64| Time::from_millis(minutes * 60_000);
        let ids = ["task_low", "task_new", "task_high"].map(|id| id.parse().unwrap());
        let [low, new, high]: [ServerTaskId; 3] = ids;
        turns.ask(&low, Priority::Low, at(0));
        turns.ask(&new, Priority::Normal, at(5));
        turns.ask(&high, Priority::High, at(9));
        let ahead = |minutes: i64| [&low, &new, &high].map(|id| turns.ahead_of(id, at(minutes)));
        assert_eq!(ahead(10), [2, 1, 0]);
        assert_eq!(
            ahead(64),
            [1, 2, 0],
            "after an hour low counts as normal, and has waited longer"
        );
        // What does not ask again when it is looked after waits no more.
        turns.begin(&high);
        turns.settle(&high);
        turns.begin(&new);
        turns.ask(&new, Priority::Normal, at(11));
        turns.settle(&new);
        assert_eq!((turns.len(), turns.ahead_of(&new, at(12))), (2, 0));
    }
}
