//! What model agents leave at a task: their conversation, what they used up and said, what they
//! wait for.
//!
//! All of it is recorded before it has consequences, so that whoever takes up the task after a
//! crash goes on in the same conversation, spends no budget twice, and asks no question twice.

use crate::{
    actor::Actor,
    id::TaskId,
    inbox::Question,
    machine::{Decision, Effect, Rejected},
    run::{Active, Event, Parked, TaskStatus, TaskView, machine::fence, state::Task},
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What is known of the agents that worked on a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trail {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// Of all attempts together.
    #[serde(skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// What the last attempt said at its end, in brief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
    /// Questions to a person that have no answer yet, by their keys.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub asked: BTreeSet<String>,
    /// Answers for the agent, by the keys of the questions. They stay while the task is worked on:
    /// an agent that was interrupted before it heard one asks the same again.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, String>,
    /// The person who has the conversation open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<String>,
}

/// A conversation with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The agent's name in the configuration.
    pub agent: String,
    /// The id by which its program knows it.
    pub id: String,
    /// Whether the next attempt goes on in it.
    pub is_open: bool,
    /// How much of its usage, as its program counts it, is accounted for.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub counted: Usage,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All input, cached or not.
    pub input: u64,
    pub output: u64,
    pub cached: u64,
    /// In millionths of a dollar; 0 where nobody tells.
    pub cost_micros: u64,
}

impl Usage {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    pub fn add(&mut self, more: &Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cached = self.cached.saturating_add(more.cached);
        self.cost_micros = self.cost_micros.saturating_add(more.cost_micros);
    }

    /// What came on top of `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cached: self.cached.saturating_sub(before.cached),
            cost_micros: self.cost_micros.saturating_sub(before.cost_micros),
        }
    }
}

/// What is told of an attempt at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// What the attempt used up.
    #[serde(skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// What its program counts for the whole conversation.
    #[serde(skip_serializing_if = "Usage::is_nothing")]
    pub counted: Usage,
    /// What it said at its end, in brief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// What all agents of a run may spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// Nobody has said; then no model agent is started.
    #[default]
    Unset,
    Unlimited,
    Cents(u64),
}

impl Budget {
    pub(super) fn is_unset(&self) -> bool {
        *self == Self::Unset
    }

    /// Whether that much, in millionths of a dollar, uses it up.
    pub fn is_used_up(self, micros: u64) -> bool {
        matches!(self, Self::Cents(cents) if micros >= cents.saturating_mul(10_000))
    }
}

impl TaskView<'_> {
    /// The earliest time for the next attempt.
    pub fn not_before(&self) -> Option<Time> {
        let parked = self.trail.and_then(|trail| trail.parked.as_ref()?.until);
        self.last_failure.map(|failure| failure.not_before).into_iter().chain(parked).max()
    }

    /// Whether a person has to do something before the task can be started.
    pub fn waits_for_person(&self) -> bool {
        self.trail.is_some_and(|trail| {
            let is_held = trail.parked.as_ref().is_some_and(|parked| parked.until.is_none());
            is_held || !trail.asked.is_empty() || trail.taken_by.is_some()
        })
    }
}

impl Active {
    pub(super) fn engage(
        &self,
        id: &TaskId,
        attempt: u32,
        conversation: &Conversation,
    ) -> Result<Decision<Event>, Rejected> {
        self.live(id, attempt)?;
        let (id, conversation) = (id.clone(), conversation.clone());
        Ok(Decision::events([Event::AttemptEngaged { id, conversation }]))
    }

    /// What an attempt used up counts, whatever became of it.
    pub(super) fn account(
        &self,
        id: &TaskId,
        account: &Account,
    ) -> Result<Decision<Event>, Rejected> {
        self.find(id)?;
        let is_nothing = *account == Account::default();
        let (id, account) = (id.clone(), account.clone());
        Ok(Decision::events((!is_nothing).then_some(Event::AttemptAccounted { id, account })))
    }

    pub(super) fn ask(
        &self,
        id: &TaskId,
        attempt: u32,
        key: &str,
        question: &Question,
    ) -> Result<Decision<Event>, Rejected> {
        let view = self.live(id, attempt)?;
        let is_known = view.trail.is_some_and(|it| it.answers.contains_key(key));
        if is_known {
            return Ok(Decision::nothing());
        }
        let question = Question { subject: subject(id, key), ..question.clone() };
        let is_new = view.trail.is_none_or(|it| !it.asked.contains(key));
        let asked = is_new.then(|| Event::AgentAsked { id: id.clone(), key: key.to_owned() });
        Ok(Decision::events(asked).with(Effect::Ask(question)))
    }

    /// A person has answered in the inbox. A question that is not open any more needs no answer.
    pub(super) fn answered(
        &self,
        id: &TaskId,
        key: &str,
        text: &str,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("answering an agent"));
        }
        let view = self.find(id)?;
        if view.trail.is_none_or(|it| !it.asked.contains(key)) {
            return Ok(Decision::nothing());
        }
        let settled = Effect::Settle { subject: subject(id, key) };
        let (id, key, text) = (id.clone(), key.to_owned(), text.to_owned());
        Ok(Decision::events([Event::AgentAnswered { id, key, text }]).with(settled))
    }

    /// A person takes over the conversation; an attempt that is under way ends without a result.
    pub(super) fn take_over(&self, id: &TaskId, by: &Actor) -> Result<Decision<Event>, Rejected> {
        let Actor::User(name) = by else {
            return Err(Rejected::reserved("taking over a conversation"));
        };
        let view = self.find(id)?;
        if view.trail.is_none_or(|trail| trail.conversation.is_none()) {
            return Err(Rejected::rule(format!(
                "no agent has worked on {id}: there is nothing to open"
            ))
            .next(format!("waypost why {id}")));
        }
        let is_running = view.status == TaskStatus::InProgress;
        let interrupted = is_running.then(|| Event::AttemptInterrupted { id: id.clone() });
        let taken = Event::TaskTaken { id: id.clone(), by: name.clone() };
        Ok(Decision::events(interrupted.into_iter().chain([taken])))
    }

    pub(super) fn hand_back(&self, id: &TaskId, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("handing back a conversation"));
        }
        let view = self.find(id)?;
        let is_taken = view.trail.is_some_and(|trail| trail.taken_by.is_some());
        Ok(Decision::events(is_taken.then(|| Event::TaskReturned { id: id.clone() })))
    }

    pub(super) fn live(&self, id: &TaskId, attempt: u32) -> Result<TaskView<'_>, Rejected> {
        let view = self.find(id)?;
        fence(&view, Some(attempt))?;
        if view.status != TaskStatus::InProgress {
            return Err(Rejected::fenced(format!("attempt {attempt} of {id} is over")));
        }
        Ok(view)
    }

    /// The questions that lose their reason by these events.
    pub(super) fn settled_questions(&self, events: &[Event]) -> Vec<Effect> {
        let questions = |id: &TaskId| {
            let trail = self.task(id).and_then(|view| view.trail);
            let keys = trail.iter().flat_map(|trail| &trail.asked);
            keys.map(|key| Effect::Settle { subject: subject(id, key) }).collect::<Vec<_>>()
        };
        let mut settled = Vec::new();
        for event in events {
            match event {
                Event::TaskCompleted { id, .. }
                | Event::AttemptFailed { id, .. }
                | Event::TaskFailed { id, .. }
                | Event::TaskReopened { id } => settled.extend(questions(id)),
                Event::Replanned { plan } => {
                    let kept: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
                    let ids = self.tasks().map(|view| &view.planned.id);
                    settled.extend(ids.filter(|id| !kept.contains(id)).flat_map(questions));
                }
                Event::Begun { .. } => {
                    settled.extend(self.tasks().flat_map(|view| questions(&view.planned.id)));
                }
                _ => {}
            }
        }
        settled.extend(self.settled_accounts(events));
        settled
    }
}

/// What a question of a task's agent is about.
fn subject(id: &TaskId, key: &str) -> String {
    format!("task/{id}/{key}")
}

impl Task {
    /// Notes what an event says of the task's agents.
    pub(super) fn note_agents(&mut self, event: &Event) {
        match event {
            Event::AttemptEngaged { conversation, .. } => {
                self.trail().conversation = Some(conversation.clone());
            }
            Event::AttemptAccounted { account, .. } => {
                let trail = self.trail();
                trail.usage.add(&account.usage);
                if account.result.is_some() {
                    trail.result.clone_from(&account.result);
                }
                if let Some(conversation) = &mut trail.conversation {
                    conversation.counted = account.counted;
                }
            }
            Event::AttemptParked { parked, .. } => self.trail().parked = Some(parked.clone()),
            Event::TaskWoken { .. } => self.trail().parked = None,
            Event::AgentAsked { key, .. } => {
                self.trail().asked.insert(key.clone());
            }
            Event::AgentAnswered { key, text, .. } => {
                let trail = self.trail();
                trail.asked.remove(key);
                trail.answers.insert(key.clone(), text.clone());
            }
            Event::TaskTaken { by, .. } => self.trail().taken_by = Some(by.clone()),
            Event::TaskReturned { .. } => self.trail().taken_by = None,
            Event::AttemptFailed { resumes, .. } => self.end_conversation(*resumes),
            Event::TaskCompleted { .. } | Event::TaskFailed { .. } | Event::TaskReopened { .. } => {
                self.end_conversation(false);
            }
            _ => {}
        }
    }

    /// The task is not in the plan any more: nobody waits for an answer.
    pub(super) fn forget_questions(&mut self) {
        if let Some(trail) = &mut self.trail {
            trail.asked.clear();
        }
    }

    /// Whether its next attempt goes on in the conversation that is there.
    pub(super) fn has_open_conversation(&self) -> bool {
        let conversation = self.trail.as_ref().and_then(|trail| trail.conversation.as_ref());
        conversation.is_some_and(|it| it.is_open)
    }

    fn trail(&mut self) -> &mut Trail {
        self.trail.get_or_insert_default()
    }

    fn end_conversation(&mut self, resumes: bool) {
        let Some(trail) = &mut self.trail else { return };
        if let Some(conversation) = &mut trail.conversation {
            conversation.is_open = resumes;
        }
        trail.asked.clear();
        trail.parked = None;
        trail.taken_by = None;
        if !resumes {
            trail.answers.clear();
        }
    }
}
