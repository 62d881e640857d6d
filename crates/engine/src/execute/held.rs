//! What holds tasks that could be started otherwise: limits and troubles of an agent's account, money,
//! room, and people.

use super::{Executor, RunEnd, attempt::Work, is_agents, worker::money_left};
use crate::{error::EngineError, project::Project};
use std::collections::{BTreeMap, BTreeSet};
use waypost_model::{
    id::TaskId,
    run::{Command, ParkCause, Parked, Settings, TaskStatus, TaskView},
    time::Time,
};

/// Until when agents of a name are not started, and why.
pub(super) type Limited = BTreeMap<String, (Time, ParkCause)>;

impl Executor<'_> {
    /// Finds out which agents are not started before a time.
    pub(super) fn find_limits(
        &mut self,
        project: &mut Project,
        now: Time,
    ) -> Result<(), EngineError> {
        self.limited.clear();
        let held = project.accounts()?.all_held(now);
        let held: Vec<(String, Time, ParkCause)> = held
            .filter_map(|(agent, held)| Some((agent.to_owned(), held.until?, held.cause)))
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
        let held = project.accounts()?.all_held(now).filter(|(_, held)| is_tried(held.cause));
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
        let coming = self.request_micros.saturating_mul(busy as u64);
        Ok(self.money_left(project)?.is_none_or(|left| left > coming))
    }

    /// How often in a row tasks of an agent's account were parked.
    pub(super) fn parked_before(
        &mut self,
        project: &mut Project,
        agent: &str,
    ) -> Result<u32, EngineError> {
        let known = project.accounts()?.in_a_row(agent);
        let Some(active) = project.run()?.active() else { return Ok(known) };
        let parked = active.tasks().filter_map(|view| view.trail?.parked.as_ref());
        let of_account = parked.filter(|it| it.agent == agent && it.cause.holds_agent());
        Ok(of_account.map(|it| it.in_a_row).max().unwrap_or(0).max(known))
    }

    /// An agent came to the end of its turn: its account can be used, and what waits for it goes on.
    pub(super) fn got_through(
        &mut self,
        project: &mut Project,
        agent: &str,
    ) -> Result<(), EngineError> {
        let now = project.clock.now();
        let accounts = project.accounts()?;
        // A limit that others have met may still hold: this one was at work before.
        let is_woken = match accounts.held(agent, now) {
            Some(held) => held.cause.is_unavailable(),
            None => accounts.in_a_row(agent) > 0,
        };
        let Some(active) = project.run()?.active() else { return Ok(()) };
        let mut parked = active.tasks().filter_map(|view| view.trail?.parked.as_ref());
        if is_woken || parked.any(|it| it.agent == agent && it.cause.is_unavailable()) {
            self.ended.push(Command::WakeAccount { agent: agent.to_owned() });
        }
        if self.limited.get(agent).is_some_and(|(_, cause)| cause.is_unavailable()) {
            self.limited.remove(agent);
        }
        Ok(())
    }

    /// Others of the agent's name wait with a task that cannot use its account.
    pub(super) fn note_limit(&mut self, parked: &Parked) {
        let Some(until) = parked.until.filter(|_| parked.cause.holds_agent()) else { return };
        self.limit(&parked.agent, until, parked.cause);
    }

    fn limit(&mut self, agent: &str, until: Time, cause: ParkCause) {
        let held = self.limited.entry(agent.to_owned()).or_insert((until, cause));
        *held = (until, cause).max(*held);
    }

    /// Why nothing goes on, if only a person, or a process outside of the run, can change that.
    pub(super) fn standstill(
        &mut self,
        project: &mut Project,
    ) -> Result<Option<RunEnd>, EngineError> {
        let now = project.clock.now();
        let Some(active) = project.run()?.active() else { return Ok(Some(RunEnd::Over)) };
        let settings = active.settings();
        let is_ours = |id: &TaskId| self.workers.contains_key(id);
        // A session outside works on a task: what it leads to is not known yet.
        let is_outside = active.count(TaskStatus::InProgress) > self.workers.len();
        if is_outside {
            return Ok(None);
        }
        let mut ready = active.ready().filter(|view| !is_ours(&view.planned.id)).peekable();
        let is_asking = !self.workers.is_empty();
        if ready.peek().is_none() {
            return Ok(Some(RunEnd::Asks).filter(|_| is_asking && !self.options.waits));
        }
        let (mut asks, mut money, mut account) = (is_asking, false, false);
        for view in ready {
            let held = cause(&view, settings, &self.limited, now);
            match () {
                () if held == Some(ParkCause::Budget) => money = true,
                () if held.is_some() => account = true,
                () if view.waits_for_person() => asks = true,
                () if self.is_out_of_money && is_agents(view.planned, settings) => money = true,
                // It is about to be started, or will be when a delay is over.
                () => return Ok(None),
            }
        }
        let end = match () {
            () if money => return Ok(Some(RunEnd::OutOfMoney)),
            () if account => RunEnd::Unavailable,
            () if asks => RunEnd::Asks,
            () => return Ok(None),
        };
        Ok(Some(end).filter(|_| !self.options.waits))
    }
}

/// What a ready task waits for that only a person can change: its own reason, or that of others with
/// its agent.
fn cause(
    view: &TaskView<'_>,
    settings: &Settings,
    limited: &Limited,
    now: Time,
) -> Option<ParkCause> {
    let own = view.parked(now).map(|parked| (parked.cause, parked.until.is_some()));
    let (cause, ends) = own.or_else(|| {
        let Work::Agent(agent) = Work::of(view.planned, settings) else { return None };
        let (until, cause) = limited.get(agent)?;
        (*until > now).then_some((*cause, true))
    })?;
    // The budget of a day comes back by itself.
    (cause.needs_person() && !(cause == ParkCause::Budget && ends)).then_some(cause)
}

/// How a task waits that the machine has no room for.
pub(super) fn no_room(until: Time, why: String) -> Parked {
    let (cause, until) = (ParkCause::NoRoom, Some(until));
    Parked { until, cause, why, agent: String::new(), in_a_row: 1 }
}
