//! What is kept and looked at of a workspace: checkpoints, the steps of its phase, its verification.

use super::{
    super::{
        checkpoints::{Keeping, Moment, belonging, is_kept},
        deliverables::DeliverableSurvey,
        kind,
        verify::{Verification, Verified, verifier},
        workspaces::workspace_of,
    },
    SLOT_INTERVAL, SURVEY_INTERVAL, TaskRoom, Tools,
};
use crate::{accounts, agent, error::EngineError, project::Project};
use waypost_model::{
    task::{CheckpointReason, TaskFile},
    time::Time,
};

impl TaskRoom {
    /// Verifies what is claimed to be complete, once its content is kept.
    pub(super) fn verify(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        file: &TaskFile,
        now: Time,
    ) -> Result<(), EngineError> {
        let claim = file.unverified().copied();
        if let Some(verification) = &mut self.verification {
            if claim.is_none_or(|claim| claim.number != verification.claim) || tools.is_ending {
                verification.halt()?;
            }
            let command = match verification.attend(project, now) {
                Ok(command) => command,
                Err(error) => {
                    // It is begun again from its first check.
                    verification.halt()?;
                    self.verification = None;
                    return Err(error);
                }
            };
            let is_over = verification.is_over() || command.is_some();
            if let Some(command) = command {
                self.tell(project, vec![command])?;
                Verification::forget(project, &self.id)?;
            }
            if is_over {
                self.verification = None;
                self.wake(now.plus(SLOT_INTERVAL));
            }
            return Ok(());
        }
        let Some(claim) = claim.filter(|_| !tools.is_ending) else { return Ok(()) };
        if self.kept != Some(Moment::of(file)) || self.keeping.is_some() {
            return Ok(());
        }
        let Some(planned) = &file.workspace else { return Ok(()) };
        let kind = kind::of(project, file)?;
        let order = kind.order(Some(claim.phase));
        let name = file.attempt.as_ref().map(|it| it.plan.agent.clone()).unwrap_or_default();
        let own = agent::named(&project.setup, &name)?;
        let asked = match order.criteria().is_empty() {
            true => None,
            false => Some(verifier(project, &own)?),
        };
        if let Some(asked) = &asked
            && let Some(parked) = accounts::hindrance(project, &asked.name)?
        {
            self.wake(parked.until.unwrap_or_else(|| now.plus(tools.interval)));
            return Ok(());
        }
        let what = Verified {
            id: &self.id,
            claim: claim.number,
            order,
            workspace: Self::workspace_folder(file),
            commit: file.newest_checkpoint().and_then(|it| it.taken.commit.clone()),
            since: end_of_phase_before(file),
            repository: workspace_of(&project.setup, &self.id, planned),
            verifier: asked,
            escalation_timeout: tools.escalation_timeout,
            values: kind::values(project, &self.id, &file.values)?
                .into_iter()
                .map(|(_, value)| value)
                .collect(),
            keeper: &tools.keeper,
        };
        self.verification = Some(Verification::begin(project, what)?);
        Ok(())
    }

    /// Looks how far the steps of the phase are, now and then.
    pub(super) fn survey(
        &mut self,
        project: &mut Project,
        file: &TaskFile,
        now: Time,
    ) -> Result<(), EngineError> {
        let is_due = now >= self.next_survey && self.agent.is_some();
        if !is_due || !file.is_alive() || file.phase.is_none() {
            return Ok(());
        }
        self.next_survey = now.plus(SURVEY_INTERVAL);
        // Where its type is gone, that is told when it is needed.
        let Ok(kind) = kind::of(project, file) else { return Ok(()) };
        let order = kind.order(file.phase);
        let found = DeliverableSurvey::of(&order, &Self::workspace_folder(file));
        let is_known =
            found.steps_done == file.steps_done && found.current_step == file.current_step;
        if is_known {
            return Ok(());
        }
        self.tell(project, vec![found.observed(file.phase)])
    }

    pub(super) fn finish_keeping(&mut self, project: &mut Project) -> Result<(), EngineError> {
        let Some(keeping) = &mut self.keeping else { return Ok(()) };
        if let Some(command) = keeping.take()? {
            self.keeping = None;
            self.tell(project, vec![command])?;
        }
        Ok(())
    }

    /// Takes the checkpoint that is due.
    pub(super) fn keep(
        &mut self,
        project: &mut Project,
        tools: &Tools,
        file: &TaskFile,
        now: Time,
    ) -> Result<(), EngineError> {
        let Some(reason) = self.due(tools, file, now) else { return Ok(()) };
        // The workspace is to stand still while it is kept, but for those of every ten minutes.
        let is_at_work = self.agent.as_mut().is_some_and(|agent| !agent.life().is_paused());
        if self.keeping.is_some() || self.making.is_some() || self.aside.is_some() {
            return Ok(());
        }
        if is_at_work && !matches!(reason, CheckpointReason::Interval) {
            return Ok(());
        }
        let folder = Self::workspace_folder(file);
        let deliverables = match kind::of(project, file) {
            Ok(kind) => DeliverableSurvey::of(&kind.order(file.phase), &folder).paths(),
            // A type that is gone does not keep its tasks from being kept.
            Err(_) => Vec::new(),
        };
        let is_secret = kind::secrets(project, file)?;
        self.keeping = Keeping::begin(project, file, reason, (deliverables, is_secret))?;
        self.is_shut_down |= reason == CheckpointReason::Shutdown;
        if reason != CheckpointReason::Interval {
            self.kept = Some(Moment::of(file));
        }
        Ok(())
    }

    fn due(&mut self, tools: &Tools, file: &TaskFile, now: Time) -> Option<CheckpointReason> {
        let moment = Moment::of(file);
        match belonging(file) {
            Some(reason) if self.kept != Some(moment) => {
                if self.kept.is_none() && is_kept(file, reason) {
                    self.kept = Some(moment);
                    return None;
                }
                return Some(reason);
            }
            Some(_) => {}
            None => self.kept = Some(moment),
        }
        let is_working = file.is_alive() && self.is_made;
        let is_put_aside = self.aside.is_some() || file.is_quarantined();
        let is_left = self.agent.is_none() && !self.is_shut_down && !is_put_aside;
        if tools.is_ending && is_working && is_left {
            return Some(CheckpointReason::Shutdown);
        }
        let newest = file.checkpoints.last().map_or(file.times.started, |it| Some(it.at));
        let next = newest.map(|at| at.plus(tools.interval)).filter(|_| self.agent.is_some())?;
        if next <= now {
            return Some(CheckpointReason::Interval);
        }
        self.wake(next);
        None
    }
}

/// The commit that the phase before ended with, else the one that the workspace began with.
fn end_of_phase_before(file: &TaskFile) -> Option<String> {
    let before = file.checkpoints.iter().rev();
    let mut ended = before.filter(|it| it.taken.reason.ends_phase() && it.phase < file.phase);
    let base = || file.workspace.as_ref().and_then(|it| it.base.clone());
    ended.find_map(|it| it.taken.commit.clone()).or_else(base)
}
