//! Ends: of attempts, which are recorded, and of the run.

use super::{
    super::{audience::Wish, git_work::GitJob},
    attempts::Core,
    words::Output,
};
use crate::{
    agent::Purse,
    error::EngineError,
    execute::{RunEnd, attempt::TaskWork, is_agents},
    preflight::require_phase,
};
use waypost_model::{
    id::TaskId,
    run::{self, EndStep, ParkCause, PhaseStage, Run, TaskStatus, TaskView},
    time::Time,
};

/// Ends that are being recorded.
#[derive(Debug, Default)]
pub(super) struct Recording {
    /// The work trees of attempts whose work is said to be done.
    trees: Vec<(TaskId, String)>,
}

impl Core {
    /// Has ends recorded, and with them what they make room for claimed.
    pub(super) fn record(&mut self, run: &Run) {
        let ended = std::mem::take(&mut self.ended);
        let mut recording = Recording::default();
        for command in &ended {
            let tree = |id: &TaskId| run.active()?.task_tree(id);
            if let run::Command::Done { id, .. } = command
                && let Some(tree) = tree(id).filter(|_| self.setup.has_trees)
            {
                recording.trees.push((id.clone(), tree));
            }
        }
        self.recording = recording;
        self.want(Output::Record(ended));
    }

    /// It is durable: trees of what is done go, and what was claimed begins.
    pub(super) fn recorded(
        &mut self,
        claims: &[TaskId],
        refused: Vec<String>,
        run: &Run,
        now: Time,
    ) {
        refused.into_iter().for_each(|text| self.note(text));
        let Recording { trees } = std::mem::take(&mut self.recording);
        let is_done = |id: &TaskId| {
            let view = run.active().and_then(|active| active.task(id));
            view.is_some_and(|view| view.status == TaskStatus::Completed)
        };
        for (_, name) in trees.into_iter().filter(|(id, _)| is_done(id)) {
            self.give(GitJob::Retire { name, why: "its work is joined".to_owned() });
        }
        self.take_claims(claims, run);
        // A claim that was refused is not tried again at once.
        match self.ended.is_empty() {
            true => self.rest(run, now),
            false => self.record(run),
        }
    }

    /// Whether the run is over, if nothing of it is under way but agents that wait for a person.
    pub(super) fn look_for_end(&mut self, run: &Run, now: Time) {
        let is_idle = self.ended.is_empty()
            && self.strays.is_empty()
            && self.lives.values().all(|life| life.is_waiting)
            && !self.phases.is_busy();
        if !is_idle {
            return;
        }
        match self.run_end(run, now) {
            None => {}
            Some(Err(error)) => self.want(Output::Fail(error)),
            Some(Ok(end)) if self.lives.is_empty() => {
                self.end = Some(end);
                match self.setup.has_trees {
                    // What is found there is removed before the run is over.
                    true => {
                        self.phases.is_tidying = true;
                        self.want(Output::FindTrees);
                    }
                    false => self.wind_up(),
                }
            }
            // They wait for a person: what they asked is in the inbox, and they come back.
            Some(Ok(_)) => {
                let ids: Vec<TaskId> = self.lives.keys().cloned().collect();
                ids.into_iter().for_each(|id| self.want(Output::Halt(id)));
            }
        }
    }

    /// The run has ended; it is over once git has removed what it left.
    pub(super) fn wind_up(&mut self) {
        let is_clear = self.phases.under_way == 0 && !self.phases.is_tidying;
        if let Some(end) = self.end.clone().filter(|_| is_clear) {
            self.want(Output::Over(end));
        }
    }

    /// How the run ends, now that nothing runs and nothing is claimed; none: it goes on.
    fn run_end(&self, run: &Run, now: Time) -> Option<Result<RunEnd, EngineError>> {
        let only = self.setup.phase;
        let Some(active) = run.active() else { return Some(Ok(RunEnd::Over)) };
        if active.is_over() {
            return Some(Ok(RunEnd::Over));
        }
        let is_done = |phase| {
            !matches!(active.phase(phase), Some(PhaseStage::Open { .. } | PhaseStage::Waiting))
        };
        if only.is_some_and(is_done) {
            return Some(Ok(RunEnd::PhaseDone));
        }
        if let Err(error) = require_phase(active, only) {
            return Some(Err(error));
        }
        let phase = active.current_phase();
        let end = match active.phase(phase) {
            Some(PhaseStage::Ending { step: EndStep::Stopped, .. }) => RunEnd::NotJoined { phase },
            Some(PhaseStage::Ending { step: EndStep::Joining, .. } | PhaseStage::Open { .. })
                if self.wish != Wish::GoOn =>
            {
                RunEnd::Stopped
            }
            Some(PhaseStage::Ending { step: EndStep::Joining, .. }) => return None,
            Some(PhaseStage::Open { .. }) => return self.standstill(active, now).map(Ok),
            _ => RunEnd::Waits { phase },
        };
        Some(Ok(end))
    }

    /// Why nothing goes on, if only a person or another process can change that.
    fn standstill(&self, active: &run::Active, now: Time) -> Option<RunEnd> {
        let is_ours = |id: &TaskId| self.lives.contains_key(id);
        // A process outside works on a task: what it leads to is not known yet.
        if active.count(TaskStatus::InProgress) > self.lives.len() {
            return None;
        }
        let mut ready = active.ready().filter(|view| !is_ours(&view.planned.id)).peekable();
        let is_asking = !self.lives.is_empty();
        if ready.peek().is_none() {
            return Some(RunEnd::Asks).filter(|_| is_asking && !self.setup.waits);
        }
        let (mut asks, mut money, mut account) = (is_asking, false, false);
        for view in ready {
            let held = self.held(&view, active.settings(), now);
            let is_agents = is_agents(view.planned, active.settings());
            match () {
                () if held == Some(ParkCause::Budget) => money = true,
                () if held.is_some() => account = true,
                () if view.waits_for_person() => asks = true,
                () if !self.allowance.has_money(active) && is_agents => money = true,
                // It is about to be started, or will be when a delay is over.
                () => return None,
            }
        }
        let end = match () {
            () if money => return Some(self.out_of_money()),
            () if account => RunEnd::Unavailable,
            () if asks => RunEnd::Asks,
            () => return None,
        };
        Some(end).filter(|_| !self.setup.waits)
    }

    fn out_of_money(&self) -> RunEnd {
        match self.allowance.used_up {
            Some(Purse::Phase(phase)) => RunEnd::PhaseOutOfMoney { phase },
            _ => RunEnd::OutOfMoney,
        }
    }

    /// What a ready task waits for that only a person can change: its own reason, or that of others
    /// with its agent.
    fn held(&self, view: &TaskView<'_>, settings: &run::Settings, now: Time) -> Option<ParkCause> {
        let own = view.parked(now).map(|parked| (parked.cause, parked.until.is_some()));
        let (cause, ends) = own.or_else(|| {
            let TaskWork::Agent(agent) = TaskWork::of(view.planned, settings) else { return None };
            let (until, cause) = self.allowance.limited.get(agent)?;
            (*until > now).then_some((*cause, true))
        })?;
        // The budget of a day comes back by itself.
        (cause.needs_person() && !(cause == ParkCause::Budget && ends)).then_some(cause)
    }
}
