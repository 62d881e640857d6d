//! What holds an agent and what lets it go on: answers, values, pauses, limits.
//!
//! The reasons are recorded first; `align` then brings the agent's state in line with them, one arrow
//! at a time. It goes from one reason to another through `running` only.

use super::{
    ask,
    event::{Event, MoveFacts},
    item::{ItemKey, ItemWant},
    pause::PersonPause,
    state::TaskFile,
    topic::TaskTopic,
};
use crate::{
    accounts,
    actor::Actor,
    code::Code,
    document::server::{AgentStatus, ServerTaskStatus, Trigger},
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
    run::{ParkCause, Parked},
    time::Time,
};

impl TaskFile {
    /// The next arrow that the agent takes by itself; none where its state is what it waits for.
    pub(super) fn align(&self) -> Option<Decision<Event>> {
        if self.status != ServerTaskStatus::InProgress {
            return None;
        }
        let (to, trigger) = match (self.agent, self.hold()) {
            (AgentStatus::Running, Some(_)) if self.is_done_without_phases() => {
                // It follows in the same moment from what was heard last.
                return Some(self.completed(Trigger::PhaseComplete, self.times.updated));
            }
            (AgentStatus::Running, hold) => hold?,
            (AgentStatus::WaitingDependency, None) => {
                (AgentStatus::Running, Trigger::DependencyProvided)
            }
            (AgentStatus::WaitingQuestion, None) => {
                (AgentStatus::Running, Trigger::QuestionAnswered)
            }
            (
                from @ (AgentStatus::WaitingDependency | AgentStatus::WaitingQuestion),
                Some((hold, trigger)),
            ) => self.between_holds(from, hold, trigger)?,
            _ => return None,
        };
        let facts = self.facts_of(to);
        Some(Decision::events([Event::Moved { task: None, agent: Some(to), trigger, facts }]))
    }

    fn is_done_without_phases(&self) -> bool {
        self.pauses.is_none() && self.claim.is_some_and(|claim| claim.phase == 0)
    }

    /// What holds the agent, by what counts first, and what brought that about.
    fn hold(&self) -> Option<(AgentStatus, Trigger)> {
        let has_value = self.items.values().any(|item| item.want.is_value());
        let has_question =
            self.items.values().any(|item| !item.want.is_value()) || !self.trail.asked.is_empty();
        if self.pauses.person.is_some() {
            Some((AgentStatus::Paused, Trigger::Pause))
        } else if self.pauses.limit.is_some() {
            Some((AgentStatus::Paused, Trigger::RateLimit))
        } else if self.claim.is_some() {
            Some((AgentStatus::WaitingReview, Trigger::PhaseComplete))
        } else if has_value {
            Some((AgentStatus::WaitingDependency, Trigger::DependencyRequest))
        } else if has_question {
            Some((AgentStatus::WaitingQuestion, Trigger::UserQuestion))
        } else {
            None
        }
    }

    /// An agent that waits for one thing stays with it until it has it, unless what counts more has
    /// come up: then it goes there by way of `running`. A pause takes hold when it would go on.
    fn between_holds(
        &self,
        from: AgentStatus,
        hold: AgentStatus,
        trigger: Trigger,
    ) -> Option<(AgentStatus, Trigger)> {
        let waits_on = self.items.values().any(|item| match from {
            AgentStatus::WaitingDependency => item.want.is_value(),
            _ => !item.want.is_value(),
        });
        let waits_on =
            waits_on || (from == AgentStatus::WaitingQuestion && !self.trail.asked.is_empty());
        if !waits_on {
            let answered = match from {
                AgentStatus::WaitingDependency => Trigger::DependencyProvided,
                _ => Trigger::QuestionAnswered,
            };
            return Some((AgentStatus::Running, answered));
        }
        let is_higher = hold == AgentStatus::WaitingReview
            || (hold == AgentStatus::WaitingDependency && from == AgentStatus::WaitingQuestion);
        is_higher.then_some((AgentStatus::Running, trigger))
    }

    fn facts_of(&self, to: AgentStatus) -> MoveFacts {
        let claim = self.claim.as_ref().filter(|_| to == AgentStatus::WaitingReview);
        let pause = self.pauses.limit.as_ref().filter(|_| to == AgentStatus::Paused);
        MoveFacts {
            phase: claim.map(|it| it.phase).or(self.phase),
            deliverables: claim.map(|it| it.deliverables),
            reason: pause.map(|it| it.why.clone()),
            attempt: None,
        }
    }

    pub(super) fn answer(
        &self,
        key: &str,
        text: &str,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if matches!(by, Actor::Agent { .. }) {
            return Err(Rejected::reserved("answering an agent"));
        }
        let item = key.parse().ok().and_then(|key: ItemKey| Some((key, self.items.get(&key)?)));
        let (text, by) = (text.to_owned(), by.clone());
        match item {
            Some((_, item)) if item.want.is_value() => {
                let message = "a value is provided, never answered: answers stand in the journal";
                Err(Rejected::rule(Code::AnswerUnknown, message))
            }
            Some((item, _)) => {
                Ok(settled_item(Decision::events([Event::Answered { item, text, by }]), item))
            }
            None if self.trail.asked.contains(key) => {
                let topic = TaskTopic::Prompt(key.to_owned()).into();
                let event = Event::PromptAnswered { key: key.to_owned(), text };
                Ok(Decision::events([event]).with(Effect::Settle { topic }))
            }
            // A question that is not open any more needs no answer.
            None => Ok(Decision::nothing()),
        }
    }

    /// A value is there. Whatever else waits for the same name has it too.
    pub(super) fn provide(&self, key: ItemKey, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("providing a value"));
        }
        let Some(ItemWant::Value(value)) = self.items.get(&key).map(|item| &item.want) else {
            return Err(self.not_asked());
        };
        let same = self.items.iter().filter(|(_, item)| match &item.want {
            ItemWant::Value(other) => other.name == value.name,
            ItemWant::Answer(_) => false,
        });
        let same: Vec<ItemKey> = same.map(|(key, _)| *key).collect();
        let name = &value.name;
        let provided = |item| Event::Provided { item, name: name.clone(), by: by.clone() };
        let decision = Decision::events(same.iter().copied().map(provided));
        Ok(same.into_iter().fold(decision, settled_item))
    }

    pub(super) fn decline(
        &self,
        key: ItemKey,
        why: &str,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let by = asked.by;
        if matches!(by, Actor::Agent { .. }) {
            return Err(Rejected::reserved("declining"));
        }
        let Some(item) = self.items.get(&key) else {
            return if by.is_person() { Err(self.not_asked()) } else { Ok(Decision::nothing()) };
        };
        let declined = Event::Declined { item: key, by: by.clone(), why: why.to_owned() };
        if item.want.is_required() {
            let because = if why.is_empty() { String::new() } else { format!(" ({why})") };
            let reason = match &item.want {
                ItemWant::Value(value) => format!("{} was declined{because}", value.name),
                ItemWant::Answer(question) => format!("declined: {}{because}", question.question),
            };
            let failed = self.failed(Trigger::FatalError, &reason, asked.now);
            return Ok(super::work::prefixed([declined], failed));
        }
        Ok(settled_item(Decision::events([declined]), key))
    }

    pub(super) fn tell(&self, text: &str, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("telling an agent something"));
        }
        let is_heard = self.is_alive() && !text.trim().is_empty();
        let told = || Event::Told { text: text.to_owned(), by: by.clone() };
        Ok(Decision::events(is_heard.then(told)))
    }

    fn not_asked(&self) -> Rejected {
        let message = format!("{} does not wait for this", self.id);
        Rejected::rule(Code::NotAsked, message).next(NextStep::ShowInbox)
    }

    pub(super) fn pause(&self, why: &str, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        if self.status != ServerTaskStatus::InProgress {
            return Err(self.unfit("paused", "only what is in progress can be"));
        }
        if self.pauses.person.is_some() {
            return Ok(Decision::nothing());
        }
        let (since, by, why, kept) = (asked.now, asked.by.clone(), why.to_owned(), None);
        let pause = PersonPause { since, by, why, kept, is_taken: false };
        Ok(Decision::events([Event::Paused { pause }]))
    }

    /// A person takes the conversation over; it goes on when the person resumes it.
    pub(super) fn take_over(&self, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        if !asked.by.is_person() {
            return Err(Rejected::reserved("taking over a conversation"));
        }
        if self.status != ServerTaskStatus::InProgress {
            return Err(self.unfit("taken over", "only what is in progress can be"));
        }
        if self.is_quarantined() {
            return Err(self.unfit("taken over", "what its agent did has to be looked at first"));
        }
        if self.trail.conversation.is_none() {
            let message = format!("no agent has worked on {}: there is nothing to open", self.id);
            let step = NextStep::ShowServedTask { task: self.id.clone() };
            return Err(Rejected::rule(Code::NoConversation, message).next(step));
        }
        let (since, by, kept) = (asked.now, asked.by.clone(), None);
        let why = "its conversation is open".to_owned();
        let pause = PersonPause { since, by, why, kept, is_taken: true };
        Ok(Decision::events([Event::Paused { pause }]))
    }

    /// A person's pause ends first; asked once more, the person ends a limit before its time.
    pub(super) fn resume(&self, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("resuming what was paused"));
        }
        if !self.is_alive() || self.pauses.is_none() {
            return Err(self.unfit("resumed", "it is not paused"));
        }
        if self.pauses.person.is_none() {
            if self.has_no_money() {
                return Err(self.money_spent());
            }
            return Ok(self.limit_ended(Decision::nothing(), by));
        }
        let mut decision = Decision::events([Event::Resumed { by: by.clone() }]);
        if self.agent == AgentStatus::Paused && self.pauses.limit.is_none() {
            decision.events.push(self.running(Trigger::Resume));
        }
        let kept = self.attempt.as_ref().map(|it| TaskTopic::Quarantine(it.number()).into());
        let settled = kept.map(|topic| Effect::Settle { topic });
        Ok(settled.into_iter().fold(decision, Decision::with))
    }

    /// Whether it is held for money and has still none.
    fn has_no_money(&self) -> bool {
        self.is_out_of_money() && self.fields.budget.is_used_up(self.spent_micros())
    }

    fn money_spent(&self) -> Rejected {
        let message = format!("{} has spent what it may; give it a larger budget", self.id);
        let step = NextStep::EditServedTask { task: self.id.clone() };
        Rejected::rule(Code::BudgetSpent, message).next(step)
    }

    pub(super) fn running(&self, trigger: Trigger) -> Event {
        let facts = MoveFacts { phase: self.phase, ..MoveFacts::default() };
        Event::Moved { task: None, agent: Some(AgentStatus::Running), trigger, facts }
    }

    pub(super) fn limit(&self, attempt: u32, parked: &Parked) -> Decision<Event> {
        let is_current = self.attempt_number() == attempt;
        let is_known = self.pauses.limit.as_ref() == Some(parked);
        if !is_current || is_known || self.status != ServerTaskStatus::InProgress {
            return Decision::nothing();
        }
        self.limited(parked)
    }

    pub(super) fn limited(&self, parked: &Parked) -> Decision<Event> {
        let topic = || TaskTopic::Limit.into();
        let timer = parked.until.map(|at| Effect::SetTimer { topic: topic(), at });
        let held = parked.cause.holds_agent();
        let held =
            held.then(|| Effect::Account(accounts::Command::Hold { parked: parked.clone() }));
        let asks = parked.cause.is_asked_once() || parked.cause == ParkCause::Budget;
        let ask = asks.then(|| Effect::Ask(ask::limit(&self.id, parked)));
        // What is told of a hindrance does not hold for this.
        let is_told = !asks && self.hindrance().is_some();
        let settled = is_told.then(|| Effect::Settle { topic: topic() });
        let decision = Decision::events([Event::Limited { parked: parked.clone() }]);
        timer.into_iter().chain(held).chain(ask).chain(settled).fold(decision, Decision::with)
    }

    /// It cannot be begun or gone on with as things are set up. That waits for what else holds it.
    pub(super) fn hinder(&self, why: &str, next: &[NextStep]) -> Decision<Event> {
        let is_open = self.is_alive() || self.status == ServerTaskStatus::Pending;
        let limit = self.pauses.limit.as_ref();
        let is_known = limit.is_some_and(|it| it.cause != ParkCause::SetUp || it.why == why);
        if !is_open || is_known {
            return Decision::nothing();
        }
        let parked = Parked {
            until: None,
            cause: ParkCause::SetUp,
            why: why.to_owned(),
            agent: String::new(),
            in_a_row: self.limits_in_a_row,
            trouble: None,
        };
        let ask = Effect::Ask(ask::hindrance(&self.id, &parked, next));
        Decision::events([Event::Limited { parked }]).with(ask)
    }

    /// It can be set up.
    pub(super) fn end_hindrance(&self) -> Decision<Event> {
        match self.hindrance() {
            Some(_) => self.limit_ended(Decision::nothing(), &Actor::Waypost),
            None => Decision::nothing(),
        }
    }

    /// Holds the agent if all that it may spend is spent.
    pub(super) fn held_by_budget(
        &self,
        decision: Decision<Event>,
        total_micros: u64,
    ) -> Decision<Event> {
        let is_open = self.status == ServerTaskStatus::InProgress && self.pauses.limit.is_none();
        if !is_open || !self.fields.budget.is_used_up(total_micros) {
            return decision;
        }
        let parked = Parked {
            until: None,
            cause: ParkCause::Budget,
            why: "the task has spent what it may".to_owned(),
            agent: String::new(),
            in_a_row: 1,
            trouble: None,
        };
        let Decision { events, effects } = self.limited(&parked);
        let mut decision = decision;
        decision.events.extend(events);
        decision.effects.extend(effects);
        decision
    }

    pub(super) fn end_limit(&self, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let Some(limit) = &self.pauses.limit else { return Ok(Decision::nothing()) };
        match asked.by {
            Actor::Waypost if limit.holds(asked.now) => Ok(Decision::nothing()),
            Actor::User(_) if self.has_no_money() => Err(self.money_spent()),
            Actor::Waypost | Actor::User(_) => Ok(self.limit_ended(Decision::nothing(), asked.by)),
            Actor::Agent { .. } => Err(Rejected::reserved("ending a limit")),
        }
    }

    /// The limit is over; a person's pause holds on.
    pub(super) fn limit_ended(&self, mut decision: Decision<Event>, by: &Actor) -> Decision<Event> {
        decision.events.push(Event::LimitEnded { by: by.clone() });
        if self.agent == AgentStatus::Paused && self.pauses.person.is_none() {
            let trigger = if by.is_person() { Trigger::Resume } else { Trigger::RateLimitReset };
            decision.events.push(self.running(trigger));
        }
        let topic = || TaskTopic::Limit.into();
        let limit = self.pauses.limit.as_ref();
        let has_timer = limit.is_some_and(|it| it.until.is_some()) && by.is_person();
        let timer = has_timer.then(|| Effect::CancelTimer { topic: topic() });
        let held = limit.filter(|it| it.cause.holds_agent() && by.is_person());
        let woken =
            held.map(|it| Effect::Account(accounts::Command::Wake { agent: it.agent.clone() }));
        let settled = Effect::Settle { topic: topic() };
        timer.into_iter().chain(woken).fold(decision.with(settled), Decision::with)
    }

    /// An attempt without a proof of life is stopped; only a person lets the task go on.
    pub(super) fn quarantine(
        &self,
        attempt: u32,
        (why, kept): (&str, Option<&str>),
        now: Time,
    ) -> Decision<Event> {
        if self.live_attempt().is_none_or(|it| it.number() != attempt) {
            return Decision::nothing();
        }
        let (why, kept) = (why.to_owned(), kept.map(str::to_owned));
        let pause = PersonPause { since: now, by: Actor::Waypost, why, kept, is_taken: false };
        let ask = Effect::Ask(ask::quarantine(&self.id, attempt, &pause));
        Decision::events([Event::Quarantined { attempt, pause }]).with(ask)
    }
}

/// Nothing of an item waits any more.
fn settled_item(decision: Decision<Event>, key: ItemKey) -> Decision<Event> {
    decision.with(Effect::Settle { topic: TaskTopic::Item(key).into() })
}
