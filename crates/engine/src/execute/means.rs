//! What there is for agents: money, and slots of this machine.

use super::{Executor, Happening, worker::Worker};
use crate::{
    accounts,
    agent::{Halt, Purse, Slots},
    error::EngineError,
    project::Project,
};
use waypost_model::{
    config,
    run::{self, Budget},
};

impl Executor<'_> {
    /// What is left of what agents may spend, in millionths of a dollar; none: no limit.
    pub(super) fn money_left(&mut self, project: &mut Project) -> Result<Option<u64>, EngineError> {
        let (run, day) = self.purses(project)?;
        Ok(run.into_iter().chain(day).min())
    }

    /// What is left of what the run and its phase may spend, and of what all agents may today.
    fn purses(&mut self, project: &mut Project) -> Result<(Option<u64>, Option<u64>), EngineError> {
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
        let Some(active) = project.run()?.active() else { return Ok((None, day)) };
        let left = |cents: u64, spent: u64| {
            cents.saturating_mul(10_000).saturating_sub(spent.saturating_add(working))
        };
        let run = match active.settings().budget {
            Budget::Cents(cents) => Some(left(cents, active.usage().cost_micros)),
            Budget::Unset | Budget::Unlimited => None,
        };
        let phase = phase_cents.map(|cents| {
            let current = active.current_phase();
            let of_phase = active.tasks().filter(|view| view.planned.phase == current);
            let spent = of_phase.filter_map(|view| view.trail).map(|it| it.usage.cost_micros).sum();
            left(cents, spent)
        });
        Ok((run.into_iter().chain(phase).min(), day))
    }

    /// Finds out what each agent at work may spend of what all of them may.
    pub(super) fn find_share(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let busy = self.workers.values().filter(|worker| worker.is_busy()).count() as u64;
        self.share = self.money_left(project)?.map(|left| left / busy.max(1));
        Ok(())
    }

    /// Ends all agents when the run may not spend more, or all agents may not today.
    pub(super) fn keep_budget(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let now = project.clock.now();
        let purse = match self.purses(project)? {
            (Some(0), _) if !self.is_out_of_money => {
                self.is_out_of_money = true;
                self.say(Happening::Note("the budget is used up".into()));
                Purse::Run
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
        if self.is_out_of_money || wanted == 0 {
            return Ok(0);
        }
        let free = Slots::of(project).free(wanted + claimed)?;
        Ok(free.saturating_sub(claimed).min(wanted))
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
