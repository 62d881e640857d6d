//! What there is for agents: money, slots of this machine, and files that this process may open.

use super::{Executor, Happening, attempt::TaskWork, worker::Worker};
use crate::{
    accounts,
    agent::{Halt, Purse},
    error::EngineError,
    project::Project,
};
use waypost_model::{
    config,
    run::{self, Budget, TaskView},
};
use waypost_proc::open_files_max;

/// What this process has open for each agent: the way to its keeper.
const FILES_PER_AGENT: u64 = 1;

/// What it has open beside that: the journal, git, and pipes of what is being started.
const FILES_RESERVED: u64 = 128;

/// What is left of what agents may spend, in millionths of a dollar; none: no limit.
#[derive(Clone, Copy, Debug, Default)]
struct MoneyLeft {
    run: Option<u64>,
    /// Of the phase that the run is at.
    phase: Option<(u32, u64)>,
    day: Option<u64>,
}

impl Executor<'_> {
    /// What is left of what agents may spend, in millionths of a dollar; none: no limit.
    pub(super) fn money_left(&mut self, project: &mut Project) -> Result<Option<u64>, EngineError> {
        let MoneyLeft { run, phase, day } = self.purses(project)?;
        let phase = phase.map(|(_, left)| left);
        Ok(run.into_iter().chain(phase).chain(day).min())
    }

    fn purses(&mut self, project: &mut Project) -> Result<MoneyLeft, EngineError> {
        let phase_cents = config::cents(project.configuration().values.run.phase_budget_usd);
        let working: u64 = self.workers.values().map(|worker| worker.spent().cost_micros).sum();
        // What has ended and is not recorded yet was spent, too.
        let ended = self.unrecorded().map(|command| match command {
            run::Command::Account { account, .. } => account.usage.cost_micros,
            _ => 0,
        });
        let working = working.saturating_add(ended.sum());
        let now = project.clock.now();
        let day = accounts::day_left(project, now)?.map(|left| left.saturating_sub(working));
        let Some(active) = project.run()?.active() else {
            return Ok(MoneyLeft { day, ..MoneyLeft::default() });
        };
        let left = |cents: u64, spent: u64| {
            cents.saturating_mul(10_000).saturating_sub(spent.saturating_add(working))
        };
        let run = match active.settings().budget {
            Budget::Cents(cents) => Some(left(cents, active.usage().cost_micros)),
            Budget::Unset | Budget::Unlimited => None,
        };
        let phase = phase_cents.map(|cents| {
            let current = active.current_phase();
            (current, left(cents, active.spent_in(current)))
        });
        Ok(MoneyLeft { run, phase, day })
    }

    /// Notices that the run has gone on to another phase, which may spend as much again.
    pub(super) fn follow_phase(&mut self, project: &mut Project) -> Result<(), EngineError> {
        if let Some(Purse::Phase(phase)) = self.used_up
            && project.run()?.active().is_none_or(|active| active.current_phase() != phase)
        {
            self.used_up = None;
        }
        Ok(())
    }

    /// Finds out what each agent at work may spend of what all of them may.
    pub(super) fn find_share(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let busy = self.workers.values().filter(|worker| worker.is_busy()).count() as u64;
        self.share = self.money_left(project)?.map(|left| left / busy.max(1));
        Ok(())
    }

    /// Ends all agents when the run or its phase may not spend more, or all agents may not today.
    pub(super) fn keep_budget(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let now = project.clock.now();
        self.follow_phase(project)?;
        let left = self.purses(project)?;
        let used_up = match left {
            MoneyLeft { run: Some(0), .. } => Some(Purse::Run),
            MoneyLeft { phase: Some((phase, 0)), .. } => Some(Purse::Phase(phase)),
            MoneyLeft { .. } => None,
        };
        let purse = match (used_up, left.day) {
            (Some(purse), _) if self.used_up.is_none() => {
                self.used_up = Some(purse);
                self.say(Happening::Note(purse.used_up()));
                purse
            }
            (_, Some(0)) => {
                let next = now.next_day();
                if self.said.insert(format!("day {next}")) {
                    let text = format!("the budget of the day is used up; it goes on at {next}");
                    self.say(Happening::Note(text));
                }
                Purse::Day
            }
            _ => return Ok(()),
        };
        // One that is done already costs nothing more.
        let is_busy = |worker: &&mut Worker| worker.agent.life.heard().end.is_none();
        let mut busy = self.workers.values_mut().filter(is_busy);
        busy.try_for_each(|worker| worker.interrupt(Halt::Budget(purse), now))
    }

    /// How many more agents may start: by our own count, and by that of the machine. Those that wait
    /// for a person count in neither.
    pub(super) fn agents_free(
        &mut self,
        project: &Project,
        busy: usize,
    ) -> Result<usize, EngineError> {
        let limit = project.configuration().values.run.max_agents as usize;
        let coming = self.core.lives().filter(|it| it.wants_agent() && !it.is_with_agent());
        let claimed = coming.count();
        let wanted = limit.saturating_sub(busy + claimed);
        let open = self.workers.len() + self.remains.len();
        let wanted = wanted.min(files_for_agents().saturating_sub(open + claimed));
        if self.used_up.is_some() || wanted == 0 {
            return Ok(0);
        }
        let free = self.slots.free(wanted + claimed)?;
        Ok(free.saturating_sub(claimed).min(wanted))
    }

    /// Says once that there are tasks which wait for nothing but an agent.
    pub(super) fn say_full(
        &mut self,
        project: &mut Project,
        busy: usize,
    ) -> Result<(), EngineError> {
        const KEY: &str = "max_agents";
        let limit = project.configuration().values.run.max_agents as usize;
        let now = project.clock.now();
        let Some(active) = project.run_seen()?.active().filter(|_| !self.said.contains(KEY)) else {
            return Ok(());
        };
        let is_held = |view: &TaskView<'_>| match TaskWork::of(view.planned, active.settings()) {
            TaskWork::Agent(agent) => {
                let is_due = view.not_before().is_none_or(|time| time <= now);
                is_due && !view.waits_for_person() && !self.limited.contains_key(agent)
            }
            TaskWork::Command(_) | TaskWork::Nobody(_) => false,
        };
        let count = active.ready().filter(is_held).count();
        if count == 0 {
            return Ok(());
        }
        let files = files_for_agents();
        let why = match () {
            () if busy >= limit => format!("{busy} at work, and max_agents is {limit}"),
            () if self.workers.len() + self.remains.len() >= files => format!(
                "this process may open files for {files} agents, and max_agents is {limit}; raise \
                 the limit of open files (ulimit -n)"
            ),
            () => format!("as many as may work on this machine, and max_agents is {limit}"),
        };
        self.said.insert(KEY.to_owned());
        self.say(Happening::Note(format!("{count} more tasks wait for an agent: {why}")));
        Ok(())
    }

    /// Whether another agent may work.
    pub(super) fn has_room(&mut self, project: &mut Project) -> Result<bool, EngineError> {
        let limit = project.configuration().values.run.max_agents as usize;
        let slots = match project.run_seen()?.active().map_or(0, |it| it.settings().max_parallel) {
            0 => usize::MAX,
            slots => slots as usize,
        };
        let busy = self.workers.values().filter(|worker| !worker.waits()).count();
        let lives = || self.core.lives().filter(|life| !life.is_with_agent());
        let coming = lives().filter(|life| life.wants_agent()).count();
        Ok(busy + coming < limit && busy + lives().count() < slots)
    }
}

/// How many agents this process may open files for; one at least, which perhaps has to wait for some.
fn files_for_agents() -> usize {
    let most = open_files_max().saturating_sub(FILES_RESERVED) / FILES_PER_AGENT;
    usize::try_from(most).unwrap_or(usize::MAX).max(1)
}
