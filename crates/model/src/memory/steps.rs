//! What can be done with a step, and what follows from its failure.
//!
//! ```text
//! pending → in_progress → completed
//!                      ↘ failed → retry (at most 3) → in_progress
//!                               ↘ escalated → a person's retry → in_progress
//! ```
//!
//! | class | what follows |
//! |---|---|
//! | transient | tried again after 2, 4 and 8 seconds, then escalated |
//! | validation | the same, with the reasons |
//! | dependency | what it needs is completed first |
//! | resource | another agent, or a person, who is asked |
//! | structural | a new plan |
//! | critical | escalated, and the task has failed |

use super::{
    state::{KeptTask, Memory, ReplanCause},
    words::{Event, StepAct, StepDraft, StepFailure},
};
use crate::{
    actor::Actor,
    code::Code,
    document::{
        MemoryTaskId,
        memory::{Step, StepStatus as Status},
    },
    inbox::{Question, QuestionKind},
    json::Json,
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
    retry::{FailureClass, Outlook, Policy, Scope},
    time::Time,
};
use std::time::Duration;

/// More steps than any plan has; a plan that an agent writes is bounded by something.
const STEPS_MAX: usize = 1_000;

/// The largest id of a step: far above any that is counted, and far below the end of the numbers.
const STEP_ID_MAX: u32 = 1_000_000;

/// So many failures in a row call for a new plan.
const FAILURES_TO_REPLAN: u32 = 3;

/// So many times as long as expected calls for a new plan.
const OVERDUE_FACTOR: u64 = 2;

impl Memory {
    pub(super) fn add_step(
        &self,
        task: Option<&MemoryTaskId>,
        draft: &StepDraft,
    ) -> Result<Decision<Event>, Rejected> {
        let kept = self.find(task)?;
        let step = draft.id.unwrap_or_else(|| kept.highest_step.saturating_add(1));
        if step > STEP_ID_MAX {
            let message = format!("the id of a step is at most {STEP_ID_MAX}, not {step}");
            return Err(Rejected::unknown(Code::BadArgument, message).next(NextStep::ShowMemory));
        }
        if step <= kept.highest_step && (kept.step(step).is_some() || draft.id.is_some()) {
            let message = format!("the id {step} was used before");
            return Err(Rejected::rule(Code::IdTaken, message).next(NextStep::AddStep));
        }
        if kept.task.plan.steps.len() >= STEPS_MAX {
            let message = format!("{} has {STEPS_MAX} steps, more are not kept", kept.task.id);
            return Err(Rejected::rule(Code::StepsOpen, message).next(NextStep::ShowMemory));
        }
        kept.is_sound(step, draft)?;
        let step = Box::new(Step {
            id: step,
            name: draft.name.trim().to_owned(),
            agent: draft.agent.clone(),
            cluster: draft.cluster.clone(),
            status: Status::Pending,
            dependencies: draft.dependencies.clone(),
            started_at: None,
            completed_at: None,
            output: Json::Null,
            error: None,
            retries: 0,
            expected_seconds: draft.expected_seconds,
        });
        Ok(Decision::events([Event::StepAdded { id: kept.task.id.clone(), step }]))
    }

    pub(super) fn act_on_step(
        &self,
        task: Option<&MemoryTaskId>,
        step: u32,
        act: &StepAct,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let kept = self.find(task)?;
        let id = kept.task.id.clone();
        let Some(found) = kept.step(step) else {
            let message = format!("{id} has no step {step}");
            return Err(Rejected::unknown(Code::StepUnknown, message).next(NextStep::ShowMemory));
        };
        match (act, found.status) {
            (StepAct::SetOutput { output }, _) if found.output == *output => {
                Ok(Decision::nothing())
            }
            (StepAct::SetOutput { output }, _) => {
                Ok(Decision::events([Event::OutputSet { id, step, output: output.clone() }]))
            }
            (StepAct::Overdue, _) => kept.overdue(found, asked),
            (StepAct::Change { draft }, status) if status != Status::Completed => {
                kept.is_sound(step, draft)?;
                Ok(Decision::events([Event::StepChanged { id, step, to: draft.clone() }]))
            }
            (StepAct::Remove, Status::Pending) => {
                kept.is_not_needed(step)?;
                Ok(Decision::events([Event::StepRemoved { id, step }]))
            }
            (StepAct::Start, Status::Pending) => {
                kept.is_at_work()?;
                kept.is_free(found)?;
                let started = Decision::events([Event::StepStarted { id, step }]);
                Ok(kept.timed(found, asked.now).into_iter().fold(started, Decision::with))
            }
            (StepAct::Complete { output, artifacts }, Status::InProgress) => {
                kept.is_at_work()?;
                let (output, artifacts) = (output.clone(), artifacts.clone());
                let completed = Event::StepCompleted { id, step, output, artifacts };
                Ok(kept.over(found, vec![completed], asked.now))
            }
            (StepAct::Fail { failure }, Status::InProgress) => {
                kept.is_at_work()?;
                kept.fail(found, failure, asked)
            }
            (StepAct::Retry { agent }, Status::Failed | Status::Escalated) => {
                kept.is_at_work()?;
                kept.retry(found, agent.as_deref(), asked)
            }
            (StepAct::Escalate { why }, Status::Failed) => {
                kept.is_at_work()?;
                let why = why.trim().to_owned();
                let asked = kept.ask(found, &why);
                Ok(Decision::events([Event::StepEscalated { id, step, why }]).with(asked))
            }
            // Repeated, or late: it is so already.
            (StepAct::Start | StepAct::Retry { .. }, Status::InProgress)
            | (StepAct::Complete { .. }, Status::Completed)
            | (StepAct::Fail { .. }, Status::Failed)
            | (StepAct::Escalate { .. }, Status::Escalated) => Ok(Decision::nothing()),
            (act, status) => Err(kept.step_out_of_place(found, act, status)),
        }
    }
}

impl KeptTask {
    /// A step has a name, and waits only for others, which are there and do not wait for it.
    fn is_sound(&self, step: u32, draft: &StepDraft) -> Result<(), Rejected> {
        if draft.name.trim().is_empty() {
            return Err(Rejected::rule(Code::NameMissing, "a step needs a name"));
        }
        if let Some(missing) = draft.dependencies.iter().find(|id| self.step(**id).is_none()) {
            let message = format!("{} has no step {missing} to wait for", self.task.id);
            return Err(Rejected::unknown(Code::StepUnknown, message).next(NextStep::ShowMemory));
        }
        match draft.dependencies.iter().find(|id| self.leads_to(**id, step)) {
            Some(other) => {
                let message = format!("steps {step} and {other} would wait for each other");
                Err(Rejected::rule(Code::StepWaits, message))
            }
            None => Ok(()),
        }
    }

    /// Whether `from` is `wanted`, or waits for it by any way.
    fn leads_to(&self, from: u32, wanted: u32) -> bool {
        let (mut open, mut seen) = (vec![from], Vec::new());
        while let Some(next) = open.pop() {
            if next == wanted {
                return true;
            }
            if !seen.contains(&next) {
                seen.push(next);
                open.extend(self.step(next).into_iter().flat_map(|it| &it.dependencies));
            }
        }
        false
    }

    /// No other step waits for one that is taken out.
    fn is_not_needed(&self, step: u32) -> Result<(), Rejected> {
        let steps = &self.task.plan.steps;
        match steps.iter().find(|other| other.dependencies.contains(&step)) {
            Some(other) => {
                let message = format!("step {} waits for step {step}", other.id);
                Err(Rejected::rule(Code::StepWaits, message))
            }
            None => Ok(()),
        }
    }

    /// Everything that a step waits for is completed.
    fn is_free(&self, step: &Step) -> Result<(), Rejected> {
        let waits_for = self.waits_for(step);
        let Some(first) = waits_for.first() else { return Ok(()) };
        let names: Vec<String> = waits_for.iter().map(ToString::to_string).collect();
        let steps = if names.len() == 1 { "step" } else { "steps" };
        let message = format!("step {} waits for {steps} {}", step.id, names.join(", "));
        Err(Rejected::rule(Code::StepWaits, message).next(NextStep::ShowStep { number: *first }))
    }

    /// When a step is looked at that should have been done long ago.
    fn timed(&self, step: &Step, now: Time) -> Option<Effect> {
        let expected = step.expected_seconds?;
        let at = now.plus(Duration::from_secs(expected.saturating_mul(OVERDUE_FACTOR)));
        Some(Effect::SetTimer { topic: self.topic(step.id), at })
    }

    fn is_overdue(&self, step: &Step, now: Time) -> bool {
        let Some(expected) = step.expected_seconds else { return false };
        let started = self.clock(step.id).started;
        let bound = Duration::from_secs(expected.saturating_mul(OVERDUE_FACTOR));
        started.is_some_and(|started| now.since(started) >= bound)
    }

    fn overdue(&self, step: &Step, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        if *asked.by != Actor::Waypost {
            return Err(Rejected::rule(Code::WaypostOnly, "Waypost alone says that it is time"));
        }
        let is_so = step.status == Status::InProgress && self.is_overdue(step, asked.now);
        let is_new = self.replan.is_none();
        let called = (is_so && is_new).then(|| self.replan_called(step, ReplanCause::TwiceAsLong));
        Ok(Decision::events(called))
    }

    fn replan_called(&self, step: &Step, cause: ReplanCause) -> Event {
        Event::ReplanCalled { id: self.task.id.clone(), step: step.id, cause }
    }

    /// A try at a step is over. One that took too long calls for a new plan of what is left.
    fn over(&self, step: &Step, mut events: Vec<Event>, now: Time) -> Decision<Event> {
        let is_last = self.open_steps().all(|other| other.id == step.id)
            && matches!(events.first(), Some(Event::StepCompleted { .. }));
        let is_called = |it: &Event| matches!(it, Event::ReplanCalled { .. });
        let is_known = self.replan.is_some() || events.iter().any(is_called);
        if self.is_overdue(step, now) && !is_known && !is_last {
            events.push(self.replan_called(step, ReplanCause::TwiceAsLong));
        }
        let timer =
            step.expected_seconds.map(|_| Effect::CancelTimer { topic: self.topic(step.id) });
        timer.into_iter().fold(Decision::events(events), Decision::with)
    }

    fn fail(
        &self,
        step: &Step,
        failure: &StepFailure,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let StepFailure { class, message, needs } = failure;
        if message.trim().is_empty() {
            return Err(Rejected::rule(Code::ReasonMissing, "it has to be said why it failed"));
        }
        let mut dependencies = step.dependencies.clone();
        dependencies.extend(needs.iter().filter(|id| !step.dependencies.contains(id)));
        let (name, draft) = (step.name.clone(), StepDraft::default());
        self.is_sound(step.id, &StepDraft { name, dependencies, ..draft })?;
        let (id, class, message) = (self.task.id.clone(), *class, message.trim().to_owned());
        let outlook = Policy::of(Scope::Step).after(step.retries, class, id.as_str());
        let not_before = match outlook {
            Outlook::Again { delay } => Some(asked.now.plus(delay)),
            Outlook::GiveUp => None,
        };
        let needs = needs.clone();
        let is_spent = class.is_retryable() && not_before.is_none();
        let is_escalated = is_spent || class == FailureClass::Critical;
        let failed = Event::StepFailed {
            id: id.clone(),
            step: step.id,
            class,
            message: message.clone(),
            not_before,
            needs,
        };
        let mut events = vec![failed];
        let is_third = self.clock(step.id).failures + 1 >= FAILURES_TO_REPLAN;
        if self.replan.is_none() && class == FailureClass::Structural {
            events.push(self.replan_called(step, ReplanCause::Structural));
        } else if self.replan.is_none() && is_third {
            events.push(self.replan_called(step, ReplanCause::ThreeFailures));
        }
        if is_escalated {
            events.push(Event::StepEscalated {
                id: id.clone(),
                step: step.id,
                why: message.clone(),
            });
        }
        if class == FailureClass::Critical {
            let message = format!("step {}: {message}", step.id);
            events.push(Event::TaskFailed { id, message });
        }
        let asks = is_escalated || class == FailureClass::Resource;
        let question = asks.then(|| self.ask(step, &message));
        let over = self.over(step, events, asked.now);
        Ok(question.into_iter().fold(over, Decision::with))
    }

    /// A person is asked about a step that cannot go on by itself.
    fn ask(&self, step: &Step, why: &str) -> Effect {
        let why = match (why, &step.error) {
            ("", Some(error)) => error.message.as_str(),
            (why, _) => why,
        };
        let (task, number, name) = (&self.task, step.id, &step.name);
        let title = format!("step {number} of {} cannot go on: {name}", task.id);
        let text = format!(
            "Step {number} ({name}) of `{}` was tried {} times. {why}. `retry` lets it go on, \
             counting from zero; `fail` ends the task as failed, from which it may recover.",
            task.name,
            step.retries + 1,
        );
        let question = Question::new(QuestionKind::Escalation, self.topic(number), title, text);
        let question = question.choices(["retry", "fail"]);
        Effect::Ask(question.next(NextStep::RetryStep { number }))
    }

    fn retry(
        &self,
        step: &Step,
        agent: Option<&str>,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let (id, number) = (self.task.id.clone(), step.id);
        let is_person = asked.by.is_person();
        if step.status == Status::Escalated && !is_person {
            return Err(
                Rejected::reserved("letting an escalated step go on").next(NextStep::ShowInbox)
            );
        }
        let class = step.error.as_ref().and_then(|it| FailureClass::from_word(&it.class));
        let is_other = agent.is_some_and(|agent| step.agent.as_deref() != Some(agent));
        let is_spent = step.retries >= Policy::of(Scope::Step).limit;
        match class {
            _ if step.status == Status::Escalated => {}
            Some(FailureClass::Structural) if self.replan.is_some() => {
                let message = format!("step {number} failed because the plan does not hold");
                return Err(Rejected::rule(Code::ReplanNeeded, message).next(NextStep::Replan));
            }
            Some(FailureClass::Resource) if !is_person && !is_other => {
                let message = format!("step {number} lacks something; another agent or a person");
                let rejected = Rejected::rule(Code::PersonNeeded, message);
                return Err(rejected.next(NextStep::RetryStepWith { number }));
            }
            _ if is_spent => {
                let message = format!("step {number} was tried again {} times", step.retries);
                let rejected = Rejected::rule(Code::StepStatus, message);
                return Err(rejected.next(NextStep::EscalateStep { number }));
            }
            _ => {}
        }
        self.is_free(step)?;
        let clock = self.clock(number);
        if let Some(not_before) = clock.not_before.filter(|at| *at > asked.now) {
            let message = format!("step {number} is not tried again before {not_before}");
            let rejected = Rejected::rule(Code::StepDelayed, message);
            return Err(rejected.next(NextStep::RetryStep { number }));
        }
        let afresh = step.status == Status::Escalated;
        let agent = agent.map(str::to_owned);
        let retried = Decision::events([Event::StepRetried { id, step: number, agent, afresh }]);
        let settled = clock.is_asked.then(|| self.settle(number));
        Ok(settled.into_iter().chain(self.timed(step, asked.now)).fold(retried, Decision::with))
    }

    fn step_out_of_place(&self, step: &Step, act: &StepAct, status: Status) -> Rejected {
        let number = step.id;
        let verb = match act {
            StepAct::Start => "started",
            StepAct::Complete { .. } => "completed",
            StepAct::Fail { .. } => "failed",
            StepAct::Retry { .. } => "tried again",
            StepAct::Escalate { .. } => "escalated",
            StepAct::Remove => "removed",
            StepAct::SetOutput { .. } | StepAct::Change { .. } | StepAct::Overdue => "changed",
        };
        let message = format!("step {number} is {} and cannot be {verb}", status.as_str());
        let next = match status {
            Status::Pending => NextStep::StartStep { number },
            Status::InProgress => NextStep::CompleteStep { number },
            Status::Failed => NextStep::RetryStep { number },
            Status::Escalated => NextStep::ShowInbox,
            Status::Completed => NextStep::ShowMemory,
        };
        Rejected::rule(Code::StepStatus, message).next(next)
    }
}
