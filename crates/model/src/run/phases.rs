//! How phases follow each other: when one ends, what its end waits for, and which comes next.
//!
//! A phase ends by a follow-up of the machine itself once all of its tasks are settled; whether
//! its work is joined first, or a person is asked first, depends on the settings.

use crate::{
    actor::Actor,
    code::Code,
    inbox::{Question, QuestionKind, Topic},
    machine::{Decision, Effect, Rejected},
    next::NextStep,
    run::{Active, EndStep, Event, Mode, PhaseStage, Plan, Progress, RunTopic, machine::STATUS},
    time::Time,
};

/// What the phases need next, given that some task or phase has just changed.
pub(super) enum PhaseStep {
    Open(u32),
    Settle(u32),
    Close(u32),
}

impl Active {
    pub(super) fn next_phase_step(&self) -> Option<PhaseStep> {
        let is_closed = |stage: &PhaseStage| matches!(stage, PhaseStage::Closed { .. });
        let not_closed = self.core.phases.iter().find(|(_, stage)| !is_closed(stage));
        let unsettled = self.graph.first_unsettled();
        let target = not_closed.map(|(number, _)| *number).into_iter().chain(unsettled).min()?;
        let is_current = target == self.core.current_phase;
        let is_settled = self.progress(target).is_settled();
        match self.core.phases.get(&target)? {
            PhaseStage::Open { .. } if is_current => {
                is_settled.then_some(PhaseStep::Settle(target))
            }
            // No person is asked any more once the mode was changed.
            PhaseStage::Ending { step: EndStep::Approval, .. }
                if is_current && is_settled && self.core.settings.mode != Mode::Normal =>
            {
                Some(PhaseStep::Close(target))
            }
            // A phase whose end is under way stays there, unless work in it was opened again.
            PhaseStage::Ending { .. } if is_current && is_settled => None,
            _ => Some(PhaseStep::Open(target)),
        }
    }

    pub(super) fn follow(&self) -> Decision<Event> {
        match self.next_phase_step() {
            None => Decision::nothing(),
            Some(PhaseStep::Open(phase)) => {
                let opened = Decision::events([Event::PhaseOpened { phase }]);
                match self.phase(phase) {
                    // The person who was asked about its end need not answer any more.
                    Some(PhaseStage::Ending { .. }) => opened.with(settle(phase)),
                    _ => opened,
                }
            }
            Some(PhaseStep::Settle(phase)) if self.core.settings.isolation.has_trees() => {
                Decision::events([settled(phase, EndStep::Joining, None)])
            }
            Some(PhaseStep::Settle(phase)) => self.end(phase, None),
            Some(PhaseStep::Close(phase)) => close(phase, self.merge_commit(phase)),
        }
    }

    /// Ends a phase whose work is joined: at once, or after a person's word.
    fn end(&self, phase: u32, merge_commit: Option<String>) -> Decision<Event> {
        let is_last = self.core.phases.keys().all(|number| *number <= phase);
        if self.core.settings.mode != Mode::Normal || is_last {
            return close(phase, merge_commit);
        }
        Decision::events([settled(phase, EndStep::Approval, merge_commit)])
            .with(Effect::Ask(self.phase_question(phase, EndStep::Approval, "")))
    }

    pub(super) fn joined(
        &self,
        phase: u32,
        result: &Result<Option<String>, String>,
    ) -> Result<Decision<Event>, Rejected> {
        match (self.phase(phase), result) {
            (
                Some(PhaseStage::Ending { step: EndStep::Joining | EndStep::Stopped, .. }),
                Ok(commit),
            ) => Ok(self.end(phase, commit.clone())),
            (
                Some(PhaseStage::Ending { step: EndStep::Joining | EndStep::Stopped, .. }),
                Err(reason),
            ) => {
                let question = self.phase_question(phase, EndStep::Stopped, reason);
                Ok(Decision::events([settled(phase, EndStep::Stopped, None)])
                    .with(Effect::Ask(question)))
            }
            // Told twice; the first result counted.
            (Some(PhaseStage::Ending { .. } | PhaseStage::Closed { .. }), _) => {
                Ok(Decision::nothing())
            }
            _ => Err(Rejected::rule(Code::PhaseStatus, format!("phase {phase} is not ending"))
                .next(STATUS)),
        }
    }

    /// Tries the end of a phase again after it was stopped; a person has fixed it by now.
    pub(super) fn join_again(&self) -> Decision<Event> {
        let is_stopped =
            |stage: &PhaseStage| matches!(stage, PhaseStage::Ending { step: EndStep::Stopped, .. });
        let stopped = self.phases().filter(|(_, stage)| is_stopped(stage));
        stopped.fold(Decision::nothing(), |mut decision, (phase, _)| {
            decision.events.push(settled(phase, EndStep::Joining, None));
            decision.with(settle(phase))
        })
    }

    pub(super) fn approve(&self, phase: u32, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("approving a phase"));
        }
        match self.phase(phase) {
            Some(PhaseStage::Ending { step: EndStep::Approval, .. }) => {
                Ok(close(phase, self.merge_commit(phase)))
            }
            Some(PhaseStage::Closed { .. }) => Ok(Decision::nothing()),
            _ => {
                let message = format!("phase {phase} does not wait for approval");
                Err(Rejected::rule(Code::PhaseStatus, message).next(STATUS))
            }
        }
    }

    /// Takes back what was asked about phases: the run is given up.
    pub(super) fn settle_phases(&self) -> Vec<Effect> {
        let is_ending = |stage: &PhaseStage| matches!(stage, PhaseStage::Ending { .. });
        let ending = self.phases().filter(|(_, stage)| is_ending(stage));
        ending.map(|(number, _)| settle(number)).collect()
    }

    /// Takes back what was asked about phases that the new plan does not have.
    pub(super) fn settle_missing(&self, plan: &Plan) -> Vec<Effect> {
        let is_ending = |stage: &PhaseStage| matches!(stage, PhaseStage::Ending { .. });
        self.phases()
            .filter(|(number, stage)| is_ending(stage) && !plan.phases.contains_key(number))
            .map(|(number, _)| settle(number))
            .collect()
    }

    fn merge_commit(&self, phase: u32) -> Option<String> {
        match self.phase(phase) {
            Some(PhaseStage::Ending { merge_commit, .. }) => merge_commit.clone(),
            _ => None,
        }
    }

    fn phase_question(&self, phase: u32, step: EndStep, reason: &str) -> Question<Topic> {
        let Progress { total, completed, failed, blocked } = self.progress(phase);
        let name = self.core.plan.phases.get(&phase).map_or("", String::as_str);
        let counts = format!("{completed}/{total} completed, {failed} failed, {blocked} blocked");
        match step {
            EndStep::Approval => {
                let title = format!("phase {phase} ({name}) is done: go on?");
                let text = format!(
                    "Phase {phase} ({name}) has ended: {counts}. `continue` starts the next phase."
                );
                let question = Question::new(QuestionKind::PhaseEnd, topic(phase), title, text);
                question.choices(["continue"])
            }
            EndStep::Stopped | EndStep::Joining => {
                let title = format!("phase {phase} ({name}) could not be joined");
                let text = format!(
                    "Phase {phase} ({name}): {counts}. {reason} Fix it, then let the run go on."
                );
                let question = Question::new(QuestionKind::HeldMerge, topic(phase), title, text);
                question.next(NextStep::ResumeRun)
            }
        }
    }
}

impl PhaseStage {
    /// A phase of which only its merge is known.
    pub fn closed(at: Time, merge_commit: Option<String>) -> Self {
        Self::Closed { since: at, at, merge_commit, merged_elsewhere: false }
    }

    /// When the phase was first opened; `now` if that is only happening.
    pub(super) fn since(&self, now: Time) -> Time {
        match self {
            Self::Waiting => now,
            Self::Open { since } | Self::Ending { since, .. } | Self::Closed { since, .. } => {
                *since
            }
        }
    }
}

/// Closes a phase; a person who was asked about its end need not answer any more.
fn close(phase: u32, merge_commit: Option<String>) -> Decision<Event> {
    Decision::events([Event::PhaseClosed { phase, merge_commit }]).with(settle(phase))
}

fn settle(phase: u32) -> Effect {
    Effect::Settle { topic: topic(phase) }
}

fn settled(phase: u32, step: EndStep, merge_commit: Option<String>) -> Event {
    Event::PhaseSettled { phase, step, merge_commit }
}

/// What an inbox entry about a phase is about.
fn topic(phase: u32) -> Topic {
    RunTopic::Phase(phase).into()
}
