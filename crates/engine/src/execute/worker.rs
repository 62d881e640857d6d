//! A model agent at work on an attempt: its limits, and whether it waits for a person.

use super::{Running, attempt::Attempt, conclude::Halt};
use crate::{
    agent::{Agent, Meter, Talking},
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
use waypost_proc::Stop;

/// How long a program may take to end after its turn is done.
const FAREWELL: Duration = Duration::from_secs(10);

/// An agent, its task, and what it may use up.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) attempt: Attempt,
    pub(super) agent: Agent,
    pub(super) talking: Talking,
    pub(super) meter: Meter,
    pub(super) bounds: Bounds,
    since: Time,
    /// When it last said something.
    heard_at: Time,
    /// Since when it waits for a person; its limits stand still meanwhile.
    waits_since: Option<Time>,
    waited: Duration,
    /// Its answers are there, and it waits for a slot to go on with them.
    pub(super) is_held: bool,
    pub(super) halt: Option<Halt>,
    /// When it is stopped if it does not end by itself.
    stop_at: Option<Time>,
    /// The content of the work tree at the start, where it was looked at.
    pub(super) before: Option<String>,
}

/// What one attempt may use up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub(super) time: Option<Duration>,
    pub(super) stall: Option<Duration>,
    /// What the task may still spend, in millionths of a dollar.
    pub(super) micros: Option<u64>,
}

impl Bounds {
    /// What is left of what the task may use up.
    pub(super) fn of(attempt: &Attempt, view: &TaskView<'_>, config: &RunConfig) -> Self {
        let seconds = |seconds: u64| (seconds > 0).then(|| Duration::from_secs(seconds));
        Self {
            time: attempt.limits.time.or_else(|| seconds(config.timeout_seconds)),
            stall: seconds(config.stall_seconds),
            micros: money_left(view, config),
        }
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
    pub(super) fn new(
        attempt: Attempt,
        agent: Agent,
        talking: Talking,
        meter: Meter,
        since: (Time, Time),
    ) -> Self {
        let (since, now) = since;
        Self {
            attempt,
            agent,
            talking,
            meter,
            bounds: Bounds::default(),
            since,
            heard_at: now,
            waits_since: None,
            waited: Duration::ZERO,
            is_held: false,
            halt: None,
            stop_at: None,
            before: None,
        }
    }

    pub(super) fn spent(&self) -> Usage {
        self.meter.spent()
    }

    pub(super) fn waits(&self) -> bool {
        self.waits_since.is_some()
    }

    /// Whether it works, or could go on by itself.
    pub(super) fn is_busy(&self) -> bool {
        self.is_held || !self.waits()
    }

    pub(super) fn running(&self) -> Running<'_> {
        Running {
            id: &self.attempt.id,
            attempt: self.attempt.number,
            since: self.since,
            doing: super::Doing::Working,
            agent: Some(super::AgentView {
                name: &self.agent.name,
                doing: &self.talking.heard.doing,
                usage: self.spent(),
                waits: self.waits(),
            }),
        }
    }

    /// Hears what is new.
    pub(super) fn look(&mut self, now: Time) -> Result<(), EngineError> {
        if self.talking.look()? {
            self.heard_at = now;
        }
        self.meter.read(&self.talking.heard.tally, &self.agent);
        Ok(())
    }

    /// The clock jumped: what was at the time `from` is at the time `to` now.
    pub(super) fn shift(&mut self, from: Time, to: Time) {
        let by = to.millis().saturating_sub(from.millis());
        let times = [&mut self.since, &mut self.heard_at];
        let others = [&mut self.waits_since, &mut self.stop_at].into_iter().flatten();
        for time in times.into_iter().chain(others) {
            *time = Time::from_millis(time.millis().saturating_add(by));
        }
    }

    /// Notes whether it waits for a person.
    pub(super) fn set_waits(&mut self, waits: bool, now: Time) {
        match (self.waits_since, waits) {
            (None, true) => self.waits_since = Some(now),
            (Some(since), false) => {
                self.waited += now.since(since);
                self.heard_at = now;
                self.waits_since = None;
            }
            _ => {}
        }
    }

    /// Nothing more is said to it.
    pub(super) fn dismiss(&mut self, now: Time) -> Result<(), EngineError> {
        if !self.talking.is_hung_up() {
            self.talking.hang_up()?;
            self.stop_at = Some(now.plus(FAREWELL));
        }
        Ok(())
    }

    /// Ends it before its work is done; the first reason counts.
    pub(super) fn halt(&mut self, why: Halt) -> Result<(), EngineError> {
        if self.halt.is_some() {
            return Ok(());
        }
        // Its work is done, and counts; it only has to go sooner.
        if why == Halt::Given && self.talking.is_hung_up() {
            return self.talking.stop(Stop::Asked);
        }
        self.halt = Some(why);
        self.talking.stop(match why {
            Halt::TimedOut => Stop::TimedOut,
            Halt::Stalled => Stop::Stalled,
            Halt::Given | Halt::RunBudget | Halt::TaskBudget | Halt::Unanswerable => Stop::Asked,
        })
    }

    /// Ends its turn: a program that can be told so counts what it cost, others are stopped.
    pub(super) fn interrupt(&mut self, why: Halt, now: Time) -> Result<(), EngineError> {
        if self.halt.is_some() {
            return Ok(());
        }
        if !self.talking.interrupt()? {
            return self.halt(why);
        }
        self.halt = Some(why);
        self.stop_at = Some(now.plus(FAREWELL));
        Ok(())
    }

    /// Ends it if it has used up what it may.
    pub(super) fn keep_bounds(&mut self, now: Time) -> Result<(), EngineError> {
        if self.stop_at.is_some_and(|at| now >= at) {
            self.stop_at = None;
            self.talking.stop(Stop::Asked)?;
        }
        if self.halt.is_some() && self.talking.heard.end.is_some() {
            // The turn was interrupted, and its program has counted what it cost.
            self.dismiss(now)?;
        }
        if self.waits() || self.talking.is_hung_up() {
            return Ok(());
        }
        let Bounds { time, stall, micros } = self.bounds;
        let worked = now.since(self.since).saturating_sub(self.waited);
        if micros.is_some_and(|micros| self.spent().cost_micros >= micros) {
            self.interrupt(Halt::TaskBudget, now)?;
        } else if time.is_some_and(|time| worked >= time) {
            self.halt(Halt::TimedOut)?;
        } else if stall.is_some_and(|stall| now.since(self.heard_at) >= stall) {
            self.halt(Halt::Stalled)?;
        }
        Ok(())
    }
}
