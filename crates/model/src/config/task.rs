//! `[task]`, `[protocol]` and `[pause]`: how tasks of the server are worked on, and how long an agent is paused with
//! its process.

use super::cents;
use crate::run::Budget;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// `[task]`: how tasks of the server are worked on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskConfig {
    /// Who works on tasks that name no agent; empty: `run.agent`.
    pub agent: String,
    /// Who verifies phases; empty: the agent that works on the task, in a conversation of its own.
    pub verifier: String,
    /// What the agents of one task may spend, in dollars; 0 is no limit. A task may say more or less.
    pub budget_usd: f64,
    /// How many minutes a question or a value that is not required waits before its default is taken.
    pub optional_wait_minutes: u64,
    /// After how many hours a phase that did not hold fails its task when no person decides; 0 is never.
    pub escalation_timeout_hours: u64,
    /// How many minutes lie between two checkpoints of an agent that works.
    pub checkpoint_minutes: u64,
}

impl Default for TaskConfig {
    fn default() -> Self {
        Self {
            agent: String::new(),
            verifier: String::new(),
            budget_usd: 0.0,
            optional_wait_minutes: 30,
            escalation_timeout_hours: 0,
            checkpoint_minutes: 10,
        }
    }
}

impl TaskConfig {
    /// What a task may spend that says nothing itself.
    pub fn budget(&self) -> Budget {
        cents(self.budget_usd).map_or(Budget::Unlimited, Budget::Cents)
    }

    pub fn optional_wait(&self) -> Duration {
        minutes(self.optional_wait_minutes)
    }

    pub fn escalation_timeout(&self) -> Option<Duration> {
        let hours = Some(self.escalation_timeout_hours).filter(|hours| *hours > 0);
        hours.map(|hours| minutes(hours.saturating_mul(60)))
    }

    pub fn checkpoint_interval(&self) -> Duration {
        minutes(self.checkpoint_minutes.max(1))
    }
}

/// `[protocol]`: how agents of tasks say how they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProtocolConfig {
    /// Whether the end of a phase has to name a word that its agent was told, so that no text which it
    /// only repeats ends a phase.
    pub nonce: bool,
}

/// `[pause]`: what becomes of the process of an agent that is paused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PauseConfig {
    /// After how many minutes a paused agent is parked: its process ends, and its conversation is taken
    /// up again when it goes on.
    pub park_after_minutes: u64,
}

impl Default for PauseConfig {
    fn default() -> Self {
        Self { park_after_minutes: 10 }
    }
}

impl PauseConfig {
    pub fn park_after(&self) -> Duration {
        minutes(self.park_after_minutes)
    }
}

fn minutes(count: u64) -> Duration {
    MINUTE.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}
