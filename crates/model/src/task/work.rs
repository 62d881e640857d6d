//! Attempts: how a task comes to its agent, and what is known of the agent's processes.

use super::{
    attempt::{AttemptLife, AttemptPlan, ExitCause, TaskWorkspace},
    event::{Event, MoveFacts},
    state::TaskFile,
    topic::TaskTopic,
};
use crate::{
    accounts,
    code::Code,
    document::{
        ServerTaskId,
        server::{AgentStatus, ServerTaskStatus, Trigger},
    },
    inbox::{Question, Topic},
    machine::{Decision, Effect, Rejected},
    retry::{FailureClass, Outlook, Policy, Scope},
    run::{Account, Conversation, Prompt},
    time::Time,
};

impl TaskFile {
    pub(super) fn assign(
        &self,
        plan: &AttemptPlan,
        workspace: &TaskWorkspace,
        met: &[ServerTaskId],
    ) -> Result<Decision<Event>, Rejected> {
        if self.status != ServerTaskStatus::Pending {
            return Err(self.unfit("assigned", "only what is pending can be"));
        }
        let open = self.fields.dependencies.iter().filter(|task| !met.contains(task));
        let open: Vec<&str> = open.map(ServerTaskId::as_str).collect();
        if !open.is_empty() {
            let message = format!("{} waits for {}", self.id, open.join(", "));
            return Err(Rejected::rule(Code::TaskWaits, message));
        }
        self.check_number(plan)?;
        let (plan, workspace) = (plan.clone(), workspace.clone());
        let facts = MoveFacts { attempt: Some(plan.number), ..MoveFacts::default() };
        let begun = Event::PhaseBegun { phase: self.first_phase() };
        let moved = Event::Moved {
            task: Some(ServerTaskStatus::InProgress),
            agent: None,
            trigger: Trigger::Assign,
            facts,
        };
        let assigned = Decision::events([Event::Assigned { plan, workspace }, moved, begun]);
        Ok(self.freed(assigned))
    }

    /// The phase with which the work begins: that of the checkpoint that it goes on from, else the
    /// first; 0 without phases.
    fn first_phase(&self) -> u32 {
        let checkpoint = self.retry_of.as_ref().and_then(|it| it.checkpoint.as_ref());
        let phase = checkpoint.and_then(|it| it.phase).unwrap_or(1);
        phase.min(self.shape.total())
    }

    fn check_number(&self, plan: &AttemptPlan) -> Result<(), Rejected> {
        let next = self.attempt_number() + 1;
        if plan.number == next {
            return Ok(());
        }
        let message = format!("attempt {} of {}: the next one is {next}", plan.number, self.id);
        Err(Rejected::fenced(message))
    }

    pub(super) fn engage(&self, plan: &AttemptPlan) -> Result<Decision<Event>, Rejected> {
        if !self.is_alive() {
            return Err(self.unfit("given to another process", "it is not being worked on"));
        }
        self.check_number(plan)?;
        if self.live_attempt().is_some() {
            let message = format!("attempt {} of {} is not over", self.attempt_number(), self.id);
            return Err(Rejected::rule(Code::TaskStatus, message));
        }
        Ok(Decision::events([Event::Engaged { plan: plan.clone() }]))
    }

    pub(super) fn launch(&self, attempt: u32) -> Decision<Event> {
        let newest = self.live_attempt().filter(|it| it.number() == attempt);
        let Some(newest) = newest.filter(|it| it.life == AttemptLife::Planned) else {
            return Decision::nothing();
        };
        let facts = MoveFacts { attempt: Some(newest.number()), ..MoveFacts::default() };
        let moved = |agent, trigger| Event::Moved { task: None, agent, trigger, facts };
        let moved = match self.agent {
            AgentStatus::Idle => Some(moved(Some(AgentStatus::Running), Trigger::Assign)),
            _ if self.restarts > 0 => Some(moved(None, Trigger::Recovered)),
            _ => None,
        };
        // Whether its program can be started is not known yet: a hindrance stands until something is heard.
        Decision::events([Event::Launched { attempt }].into_iter().chain(moved))
    }

    /// What was set up is not hindered any more.
    fn freed(&self, decision: Decision<Event>) -> Decision<Event> {
        let Decision { events, effects } = self.end_hindrance();
        effects.into_iter().fold(prefixed(events, decision), Decision::with)
    }

    pub(super) fn converse(&self, attempt: u32, conversation: &Conversation) -> Decision<Event> {
        let is_current = self.is_alive() && self.attempt_number() == attempt;
        let is_known = self.trail.conversation.as_ref().is_some_and(|it| it.id == conversation.id);
        let event = || Event::Conversed { conversation: conversation.clone() };
        Decision::events((is_current && !is_known).then(event))
    }

    /// A process that ended by itself while its agent was to work is one of the restarts; one that
    /// ended while its agent waited is simply started again when it goes on. One that could not be
    /// started is no failure of the agent's: what it lacks is told by `Hinder`.
    pub(super) fn exit(
        &self,
        (attempt, cause): (u32, ExitCause),
        why: &str,
        now: Time,
    ) -> Decision<Event> {
        let newest = self.attempt.as_ref().filter(|it| it.number() == attempt && !it.is_over());
        if newest.is_none() {
            return Decision::nothing();
        }
        let has_failed = matches!(cause, ExitCause::Itself | ExitCause::Stalled);
        let is_counted = has_failed && self.wants_agent();
        let exited = |not_before| {
            let why = why.to_owned();
            Event::Exited { attempt, cause, why, is_counted, not_before }
        };
        if !is_counted {
            return Decision::events([exited(None)]);
        }
        let policy = Policy::of(Scope::AgentProcess);
        match policy.after(self.restarts, FailureClass::Transient, self.id.as_str()) {
            Outlook::Again { delay } => {
                let reason = Some(why.to_owned());
                let facts = MoveFacts { attempt: Some(attempt), reason, ..MoveFacts::default() };
                let trigger = Trigger::ProcessExit;
                let moved = Event::Moved { task: None, agent: None, trigger, facts };
                Decision::events([exited(Some(now.plus(delay))), moved])
            }
            Outlook::GiveUp => {
                let tries = policy.limit + 1;
                let reason = format!("its agent ended by itself {tries} times: {why}");
                let failed = self.failed(Trigger::ProcessExit, &reason, now);
                prefixed([exited(None)], failed)
            }
        }
    }

    pub(super) fn account(&self, attempt: u32, account: &Account) -> Decision<Event> {
        if attempt <= self.trail.accounted || attempt > self.attempt_number() {
            return Decision::nothing();
        }
        let agent = self.attempt.as_ref().map(|it| it.plan.agent.clone()).unwrap_or_default();
        let micros = account.usage.cost_micros;
        let spent = Effect::Account(accounts::Command::Spend { agent, micros });
        let account = account.clone();
        let decision = Decision::events([Event::Accounted { attempt, account }]).with(spent);
        let total = self.spent_micros().saturating_add(micros);
        self.held_by_budget(decision, total)
    }

    pub(super) fn deliver(&self, attempt: u32, up_to: u32) -> Decision<Event> {
        let is_current = self.attempt_number() == attempt;
        let is_news = up_to > self.delivered && up_to <= self.message_count;
        Decision::events((is_current && is_news).then_some(Event::Delivered { up_to }))
    }

    /// A question of the agent's program, unless it has an answer or is allowed already.
    pub(super) fn ask(
        &self,
        attempt: u32,
        prompt: &Prompt,
        question: &Question<Topic>,
    ) -> Decision<Event> {
        let is_current = self.is_alive() && self.attempt_number() == attempt;
        let is_allowed = prompt.permit.as_ref().is_some_and(|it| self.trail.permits.contains(it));
        if !is_current || is_allowed || self.trail.answers.contains_key(&prompt.key) {
            return Decision::nothing();
        }
        let topic = TaskTopic::Prompt(prompt.key.clone()).into();
        let question = Question { subject: topic, ..question.clone() };
        let is_new = !self.trail.asked.contains(&prompt.key);
        let asked = is_new.then(|| Event::AgentAsked { prompt: prompt.clone() });
        Decision::events(asked).with(Effect::Ask(question))
    }

    pub(super) fn observe(
        &self,
        phase: Option<u32>,
        steps_done: u32,
        current_step: Option<&str>,
    ) -> Decision<Event> {
        let is_known =
            self.steps_done == steps_done && self.current_step.as_deref() == current_step;
        if phase != self.phase || self.is_over() || is_known {
            return Decision::nothing();
        }
        let current_step = current_step.map(str::to_owned);
        Decision::events([Event::Observed { steps_done, current_step }])
    }
}

/// The same decision with events before those that it has.
pub(super) fn prefixed(
    events: impl IntoIterator<Item = Event>,
    mut decision: Decision<Event>,
) -> Decision<Event> {
    decision.events.splice(0..0, events);
    decision
}
