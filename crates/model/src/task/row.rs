//! A task as a list shows it, and as the queue looks at it.

use super::{fields::TaskFields, state::TaskFile};
use crate::{
    document::{
        ServerTaskId,
        server::{AgentStatus, PausedBy, ServerTaskStatus},
    },
    run::Priority,
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, time::Duration};

/// How long a task waits until it counts as of the next higher priority.
const AGEING: Duration = Duration::from_secs(60 * 60);

/// What a list shows of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRow {
    pub id: ServerTaskId,
    pub title: String,
    pub task_type: String,
    pub status: ServerTaskStatus,
    /// The agent machine's state.
    pub agent_status: AgentStatus,
    /// The agent's name; empty: the configured one.
    #[serde(default)]
    pub agent: String,
    pub priority: Priority,
    #[serde(default)]
    pub phase: Option<u32>,
    #[serde(default)]
    pub phases: u32,
    #[serde(default)]
    pub progress: u32,
    #[serde(default)]
    pub paused_by: Option<PausedBy>,
    /// Whether a person's pause waits until its agent would go on.
    #[serde(default)]
    pub is_to_be_paused: bool,
    /// Why it cannot be begun or gone on with as things are set up.
    #[serde(default)]
    pub hindrance: Option<String>,
    /// How many questions, values and prompts it waits for.
    #[serde(default)]
    pub open: u32,
    /// Tasks that have to be completed first.
    #[serde(default)]
    pub dependencies: Vec<ServerTaskId>,
    #[serde(default)]
    pub reason: Option<String>,
    pub created: Time,
    #[serde(default)]
    pub submitted: Option<Time>,
    pub updated: Time,
    #[serde(default)]
    pub is_archived: bool,
}

impl TaskRow {
    pub fn of(file: &TaskFile) -> Self {
        let TaskFields { title, task_type, agent, priority, dependencies, .. } = &file.fields;
        Self {
            id: file.id.clone(),
            title: title.clone(),
            task_type: task_type.clone(),
            status: file.status,
            agent_status: file.agent,
            agent: agent.clone(),
            priority: *priority,
            phase: file.phase,
            phases: file.shape.total(),
            progress: file.progress(),
            paused_by: file.paused_by(),
            is_to_be_paused: file.is_to_be_paused(),
            hindrance: file.hindrance().map(|it| it.why.clone()),
            open: u32::try_from(file.items.len() + file.trail.asked.len()).unwrap_or(u32::MAX),
            dependencies: dependencies.clone(),
            reason: file.reason.clone(),
            created: file.times.created,
            submitted: file.times.submitted,
            updated: file.times.updated,
            is_archived: file.is_archived,
        }
    }

    /// The place of a pending task in the queue, the smallest first: by priority, which grows by one
    /// for each hour of waiting, then by how long it has waited.
    pub fn turn(&self, now: Time) -> (Reverse<u64>, Time, &str) {
        turn(self.priority, (self.submitted.unwrap_or(self.created), now), &self.id)
    }
}

/// The place of a task that waits since a time, the smallest first.
pub fn turn(
    priority: Priority,
    (since, now): (Time, Time),
    id: &ServerTaskId,
) -> (Reverse<u64>, Time, &str) {
    let aged = now.since(since).as_secs() / AGEING.as_secs();
    (Reverse(u64::from(priority as u8) + aged), since, id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, priority: Priority, submitted_minutes: i64) -> TaskRow {
        let fields = TaskFields { priority, ..TaskFields::default() };
        let mut file = TaskFile::new(id.parse().unwrap(), fields, Time::from_millis(0));
        file.times.submitted = Some(Time::from_millis(submitted_minutes * 60_000));
        TaskRow::of(&file)
    }

    #[test]
    fn the_queue_is_by_priority_and_what_waits_long_comes_forward() {
        let rows = [
            row("task_low", Priority::Low, 0),
            row("task_old", Priority::Normal, 1),
            row("task_new", Priority::Normal, 9),
            row("task_high", Priority::High, 9),
        ];
        let order = |minutes: i64| {
            let now = Time::from_millis(minutes * 60_000);
            let mut sorted: Vec<&TaskRow> = rows.iter().collect();
            sorted.sort_by_key(|row| row.turn(now));
            sorted.into_iter().map(|row| row.id.as_str()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(10), "task_high task_old task_new task_low");
        // One hour lifts by one, and of those that are equal the one that has waited longest is first.
        assert_eq!(order(60), "task_high task_low task_old task_new");
        assert_eq!(order(65), "task_old task_high task_low task_new");
    }
}
