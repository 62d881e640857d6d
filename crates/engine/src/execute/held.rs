//! What holds tasks that could be started otherwise: limits and troubles of an agent's account, money,
//! room, and people.

use super::{Executor, is_agents, worker::money_left};
use crate::{accounts, error::EngineError, ledger::run_stream, project::Project};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use waypost_model::{
    run::{Command, ParkCause, Parked, RunTopic, TaskView},
    time::Time,
};

/// Later than anything that is waited for: the end of the year 9999.
const NEVER: Time = Time::from_millis(253_402_300_799_000);

/// How often an agent that waits for a slot looks whether another process has given one back.
const SLOT_INTERVAL: Duration = Duration::from_secs(1);

/// Until when agents of a name are not started, and why.
pub(super) type Limited = BTreeMap<String, (Time, ParkCause)>;

impl Executor<'_> {
    /// An agent that has its answer and waits for a slot is looked at when one was given back in this
    /// process; others give theirs back without a word.
    pub(super) fn wait_for_slots(&mut self, now: Time) {
        let is_free = self.slots.were_given_back();
        if self.workers.values().any(|worker| worker.is_held) {
            let next = if is_free { now } else { now.plus(SLOT_INTERVAL) };
            self.wakes_at = Some(self.wakes_at.map_or(next, |at| at.min(next)));
        }
    }

    /// Finds out which agents are not started before a time.
    pub(super) fn find_limits(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<(), EngineError> {
        self.limited.clear();
        let held = accounts::current(project)?.all_held(now);
        let held: Vec<(String, Time, ParkCause)> = held
            .filter_map(|(agent, held)| {
                let until = until(held.until, held.cause)?;
                Some((agent.to_owned(), until, held.cause))
            })
            .collect();
        held.into_iter().for_each(|(agent, until, cause)| self.limit(&agent, until, cause));
        let Some(active) = project.run()?.active() else { return Ok(()) };
        let parked: Vec<Parked> = active
            .tasks()
            .filter_map(|view| view.trail?.parked.clone())
            .filter(|parked| parked.holds(now))
            .collect();
        parked.iter().for_each(|parked| self.note_limit(parked));
        Ok(())
    }

    /// A person who starts the run again has had the time to sign in or to pay: that is tried.
    pub(super) fn try_accounts(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let is_tried = |cause: ParkCause| cause.is_unavailable() && cause.needs_person();
        let now = project.clock.now();
        let held =
            accounts::current(project)?.all_held(now).filter(|(_, held)| is_tried(held.cause));
        let mut agents: BTreeSet<String> = held.map(|(agent, _)| agent.to_owned()).collect();
        let Some(active) = project.run()?.active() else { return Ok(()) };
        let parked = active.tasks().filter_map(|view| view.trail?.parked.as_ref());
        agents.extend(parked.filter(|it| is_tried(it.cause)).map(|it| it.agent.clone()));
        let commands = agents.into_iter().map(|agent| Command::WakeAccount { agent });
        match commands.collect::<Vec<_>>() {
            commands if commands.is_empty() => Ok(()),
            commands => self.commit(project, commands),
        }
    }

    /// What another engine could not do because the machine was in trouble is tried again.
    pub(super) fn try_troubles(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let mut found = BTreeSet::new();
        for entry in project.inbox()?.open() {
            if let Some((stream, topic)) = entry.question.subject.read()
                && stream == run_stream()
                && let Some(RunTopic::Trouble(trouble)) = RunTopic::read(&topic)
            {
                found.insert(trouble);
            }
        }
        let Some(active) = project.run()?.active() else { return Ok(()) };
        found.extend(active.tasks().filter_map(|view| view.trail?.parked.as_ref()?.trouble));
        match found.into_iter().map(|trouble| Command::WakeTrouble { trouble }).collect::<Vec<_>>()
        {
            commands if commands.is_empty() => Ok(()),
            commands => self.commit(project, commands),
        }
    }

    /// Tasks that were out of money and have some now go on.
    pub(super) fn try_budgets(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let config = project.configuration().values.run.clone();
        if self.money_left(project)? == Some(0) {
            return Ok(());
        }
        let Some(active) = project.run()?.active() else { return Ok(()) };
        let has_money = |view: &TaskView<'_>| {
            let parked = view.trail.and_then(|trail| trail.parked.as_ref());
            parked.is_some_and(|it| it.cause == ParkCause::Budget)
                && money_left(view, &config) != Some(0)
        };
        let ids = active.tasks().filter(has_money).map(|view| view.planned.id.clone());
        match ids.map(|id| Command::WakeTask { id }).collect::<Vec<_>>() {
            commands if commands.is_empty() => Ok(()),
            commands => self.commit(project, commands),
        }
    }

    /// Whether any task of the run is for an agent.
    pub(super) fn has_agents(&mut self, project: &mut Project) -> Result<bool, EngineError> {
        if let Some(known) = self.has_agents {
            return Ok(known);
        }
        let Some(active) = project.run_seen()?.active() else { return Ok(false) };
        let settings = active.settings();
        let found = active.tasks().any(|view| is_agents(view.planned, settings));
        self.has_agents = Some(found);
        Ok(found)
    }

    /// Whether there is money for another agent: what is spent, with one more request of every agent
    /// that works, has to be below the limit.
    pub(super) fn has_money(
        &mut self,
        project: &mut Project,
        busy: usize,
    ) -> Result<bool, EngineError> {
        self.follow_phase(project)?;
        let coming = self.request_micros.saturating_mul(busy as u64);
        Ok(self.money_left(project)?.is_none_or(|left| left > coming))
    }

    /// How often in a row tasks of an agent's account were parked.
    pub(super) fn parked_before(
        &mut self,
        project: &mut Project,
        agent: &str,
    ) -> Result<u32, EngineError> {
        let known = accounts::current(project)?.in_a_row(agent);
        let Some(active) = project.run()?.active() else { return Ok(known) };
        let parked = active.tasks().filter_map(|view| view.trail?.parked.as_ref());
        let of_account = parked.filter(|it| it.agent == agent && it.cause.holds_agent());
        Ok(of_account.map(|it| it.in_a_row).max().unwrap_or(0).max(known))
    }

    /// An agent came to the end of its turn: its account can be used, and what waits for it goes on.
    /// Says what is to be recorded for that.
    pub(super) fn got_through(
        &mut self,
        project: &mut Project,
        agent: &str,
    ) -> Result<Option<Command>, EngineError> {
        let now = project.clock.now();
        let accounts = accounts::current(project)?;
        // A limit that others have met may still hold: this one was at work before.
        let is_woken = match accounts.held(agent, now) {
            Some(held) => held.cause.is_unavailable(),
            None => accounts.in_a_row(agent) > 0,
        };
        let Some(active) = project.run()?.active() else { return Ok(None) };
        let mut parked = active.tasks().filter_map(|view| view.trail?.parked.as_ref());
        let is_parked = is_woken || parked.any(|it| it.agent == agent && it.cause.is_unavailable());
        if self.limited.get(agent).is_some_and(|(_, cause)| cause.is_unavailable()) {
            self.limited.remove(agent);
        }
        Ok(is_parked.then(|| Command::WakeAccount { agent: agent.to_owned() }))
    }

    /// Others of the agent's name wait with a task that cannot use its account.
    pub(super) fn note_limit(&mut self, parked: &Parked) {
        let until = until(parked.until, parked.cause).filter(|_| parked.cause.holds_agent());
        let Some(until) = until else { return };
        self.limit(&parked.agent, until, parked.cause);
    }

    fn limit(&mut self, agent: &str, until: Time, cause: ParkCause) {
        let held = self.limited.entry(agent.to_owned()).or_insert((until, cause));
        *held = (until, cause).max(*held);
    }
}

/// Until when an agent is not started. One whose gate does not hold waits for a person, however long
/// that takes.
fn until(known: Option<Time>, cause: ParkCause) -> Option<Time> {
    known.or_else(|| (cause == ParkCause::Unproven).then_some(NEVER))
}

/// How a task waits that the machine has no room for.
pub(super) fn no_room(until: Time, why: String) -> Parked {
    let (cause, until) = (ParkCause::Infrastructure, Some(until));
    Parked { until, cause, why, agent: String::new(), in_a_row: 1, trouble: None }
}
