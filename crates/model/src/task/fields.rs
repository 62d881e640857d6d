//! What a person says of a task: its fields, and how they may be changed.

use crate::{
    document::ServerTaskId,
    run::{Budget, Priority},
};
use serde::{Deserialize, Serialize};

/// The longest title, in characters: it is one line of a list.
pub const TITLE_LENGTH_MAX: usize = 200;

/// The longest description, in bytes: it is part of every first message to an agent.
pub const DESCRIPTION_BYTES_MAX: usize = 100 * 1024;

/// How many other tasks one may wait for.
pub const DEPENDENCIES_MAX: usize = 100;

/// What a person says of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskFields {
    /// One line; empty: not said yet.
    pub title: String,
    /// The name of its task type, as in `create_app`; empty: not chosen yet.
    pub task_type: String,
    /// What is to be done; empty: not said yet.
    pub description: String,
    pub priority: Priority,
    /// The agent that works on it, by its name in the configuration; empty: the configured one.
    pub agent: String,
    /// Tasks that have to be completed first.
    pub dependencies: Vec<ServerTaskId>,
    /// What its agents may spend.
    pub budget: Budget,
}

/// What is to be said differently of a task; what is none stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<ServerTaskId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

impl TaskFields {
    /// The fields that have to be said before the task can be submitted, and are not.
    pub fn missing(&self) -> Vec<&'static str> {
        let said =
            [("title", &self.title), ("type", &self.task_type), ("description", &self.description)];
        let missing = said.into_iter().filter(|(_, text)| text.trim().is_empty());
        missing.map(|(name, _)| name).collect()
    }

    pub(super) fn change(&mut self, change: &TaskChange) {
        let TaskChange { title, task_type, description, priority, agent, dependencies, budget } =
            change.clone();
        self.title = title.unwrap_or_else(|| std::mem::take(&mut self.title));
        self.task_type = task_type.unwrap_or_else(|| std::mem::take(&mut self.task_type));
        self.description = description.unwrap_or_else(|| std::mem::take(&mut self.description));
        self.agent = agent.unwrap_or_else(|| std::mem::take(&mut self.agent));
        self.priority = priority.unwrap_or(self.priority);
        self.budget = budget.unwrap_or(self.budget);
        self.dependencies = dependencies.unwrap_or_else(|| std::mem::take(&mut self.dependencies));
    }
}

impl TaskChange {
    /// Whether only that is changed which may be changed as long as the task is not over.
    pub(super) fn is_about_order_and_money(&self) -> bool {
        let Self { title, task_type, description, agent, dependencies, .. } = self;
        let texts = [title, task_type, description, agent];
        texts.into_iter().all(Option::is_none) && dependencies.is_none()
    }

    /// Whether only that is changed which may be changed before an agent has begun.
    pub(super) fn is_about_the_queue(&self) -> bool {
        let Self { title, task_type, description, .. } = self;
        [title, task_type, description].into_iter().all(Option::is_none)
    }
}

/// The phases of a task as they were when it was submitted: its type may be edited meanwhile. Of each
/// phase its name and the names of its steps, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskShape {
    /// None: a task without phases and without reviews.
    pub phases: Vec<ShapedPhase>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapedPhase {
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
}

impl TaskShape {
    pub fn total(&self) -> u32 {
        u32::try_from(self.phases.len()).unwrap_or(u32::MAX)
    }

    /// A phase by its number, from 1.
    pub fn phase(&self, number: u32) -> Option<&ShapedPhase> {
        self.phases.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }
}
