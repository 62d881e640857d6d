//! A model agent at work on an attempt.

use super::{Running, attempt::Attempt};
use crate::{
    agent::{Bounds, Halt, Purse, Slot, Slots, Supervised},
    error::EngineError,
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use waypost_model::{
    config::{self, RunConfig},
    run::{TaskView, Usage},
    time::Time,
};

/// An attempt, and the agent that works on it.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) attempt: Attempt,
    pub(super) agent: Supervised,
    /// Its answers are there, and it waits for a slot to go on with them.
    pub(super) is_held: bool,
    /// The content of the work tree at the start, where it was looked at.
    pub(super) before: Option<String>,
    /// The name of the conversation that was recorded last.
    pub(super) noted: Option<String>,
    /// Its right to work; one that waits for a person has none.
    pub(super) slot: Option<Slot>,
}

/// What is left of what the task may use up.
pub(super) fn bounds(attempt: &Attempt, view: &TaskView<'_>, config: &RunConfig) -> Bounds {
    Bounds {
        time: attempt.limits.time.or_else(|| Bounds::seconds(config.timeout_seconds)),
        stall: Bounds::seconds(config.stall_seconds),
        micros: money_left(view, config),
        purse: Purse::Work,
        unattended: Some(Duration::from_secs(config.unattended_seconds)),
    }
}

/// What a task may still spend, in millionths of a dollar; none: no limit.
pub(super) fn money_left(view: &TaskView<'_>, config: &RunConfig) -> Option<u64> {
    let cents = view.planned.details.as_deref().and_then(|it| it.budget_cents);
    let cents = cents.or_else(|| config::cents(config.task_budget_usd))?;
    let spent = view.trail.map_or(0, |trail| trail.usage.cost_micros);
    Some(cents.saturating_mul(10_000).saturating_sub(spent))
}

/// Where the content of the work tree at the start of an attempt is kept, for another engine.
pub(super) fn before_path(log: &Path) -> PathBuf {
    log.with_extension("before")
}

impl Worker {
    pub(super) fn new(attempt: Attempt, agent: Supervised, before: Option<String>) -> Self {
        Self { attempt, agent, is_held: false, before, noted: None, slot: None }
    }

    pub(super) fn spent(&self) -> Usage {
        self.agent.life.spent()
    }

    pub(super) fn waits(&self) -> bool {
        self.agent.life.waits()
    }

    /// Whether it works, or could go on by itself.
    pub(super) fn is_busy(&self) -> bool {
        self.is_held || !self.waits()
    }

    /// Whether there may be something to ask a person for, or to tell the agent.
    pub(super) fn may_ask(&self) -> bool {
        let heard = self.agent.life.heard();
        self.waits() || heard.end.is_some() || !heard.asks.is_empty()
    }

    pub(super) fn running(&self) -> Running<'_> {
        let life = &self.agent.life;
        Running {
            id: &self.attempt.id,
            attempt: self.attempt.number,
            since: life.since(),
            doing: super::Doing::Working,
            agent: Some(super::AgentView {
                name: &life.agent.name,
                doing: &life.heard().doing,
                usage: life.spent(),
                waits: life.waits(),
            }),
        }
    }

    /// Takes a slot, if it has none. Says whether it has one now.
    pub(super) fn take_slot(&mut self, slots: &Slots) -> Result<bool, EngineError> {
        if self.slot.is_none() {
            self.slot = slots.take()?;
        }
        Ok(self.slot.is_some())
    }

    /// The clock jumped: what was at the time `from` is at the time `to` now.
    pub(super) fn shift(&mut self, from: Time, to: Time) {
        self.agent.life.shift(from, to);
    }

    /// Ends it before its work is done; the first reason counts.
    pub(super) fn halt(&mut self, why: Halt) -> Result<(), EngineError> {
        self.agent.life.halt(why);
        self.agent.perform()
    }

    /// Ends its turn: a program that can be told so counts what it cost, others are stopped.
    pub(super) fn interrupt(&mut self, why: Halt, now: Time) -> Result<(), EngineError> {
        self.agent.life.interrupt(why, now);
        self.agent.perform()
    }
}
