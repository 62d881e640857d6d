//! What model agents leave at a task or a job: their conversation, what they used up and said, what
//! they wait for. And what a run does with that of its tasks.
//!
//! All of it is recorded before it has consequences, so that the engine that takes up the task after a
//! crash goes on in the same conversation, spends no budget twice, and asks no question twice.

use crate::{
    accounts,
    actor::Actor,
    code::Code,
    config::WallLevel,
    id::TaskId,
    inbox::{Question, Topic},
    machine::{Decision, Effect, Rejected},
    next::NextStep,
    permission::Grant,
    run::{
        Active, Event, ParkCause, Parked, RunTopic, TaskStatus, TaskView,
        machine::fence,
        state::{Task, is_zero},
    },
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What is known of the agents that worked on a task or a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Trail {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// Of all attempts together.
    #[serde(skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// The last attempt whose usage is in that.
    #[serde(skip_serializing_if = "is_zero")]
    pub accounted: u32,
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
    /// What was asked, for as long as the answer is kept.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts: BTreeMap<String, Prompt>,
    /// What a person has allowed for all attempts at the task.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub permits: BTreeSet<String>,
    /// The person who has the conversation open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<String>,
}

impl Trail {
    /// What a process used up, and what it said at its end; `number` names it among all of them.
    pub(crate) fn note_account(&mut self, number: u32, account: &Account) {
        self.accounted = number;
        self.usage.add(&account.usage);
        if account.result.is_some() {
            self.result.clone_from(&account.result);
        }
        if let Some(conversation) = &mut self.conversation {
            conversation.counted = account.counted;
        }
    }

    pub(crate) fn note_asked(&mut self, prompt: &Prompt) {
        self.asked.insert(prompt.key.clone());
        self.prompts.insert(prompt.key.clone(), prompt.clone());
    }

    pub(crate) fn note_answered(&mut self, key: &str, text: &str) {
        self.asked.remove(key);
        self.answers.insert(key.to_owned(), text.to_owned());
        if Grant::from_word(text) == Some(Grant::Task) {
            let permit = self.prompts.get(key).and_then(|prompt| prompt.permit.clone());
            self.permits.extend(permit);
        }
    }

    /// The questions that have an answer, each with it.
    pub fn answered(&self) -> impl Iterator<Item = (&str, &str)> {
        self.answers.iter().map(|(key, answer)| {
            let asked = self.prompts.get(key).map_or("", |prompt| prompt.text.as_str());
            (asked, answer.as_str())
        })
    }
}

/// A question of an agent, as the machine remembers it that asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Prompt {
    /// Names the question and all that it is bound to.
    pub key: String,
    /// Names what would be allowed, whatever else the request says; none where only this request
    /// can be allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permit: Option<String>,
    /// What was asked, in brief, so that an answer can name it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A conversation with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// The wall that its newest process is behind as a whole; none: written by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<WallLevel>,
}

/// Tokens and money.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct Usage {
    /// All input, cached or not.
    pub input: u64,
    pub output: u64,
    pub cached: u64,
    /// In millionths of a dollar; 0 where the program does not tell.
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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// The person has not said; then no model agent is started.
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
        let view = self.find(id)?;
        let is_nothing = *account == Account::default();
        let conversation = view.trail.and_then(|trail| trail.conversation.as_ref());
        let spent = conversation.map(|it| accounts::Command::Spend {
            agent: it.agent.clone(),
            micros: account.usage.cost_micros,
        });
        let (id, account) = (id.clone(), account.clone());
        let decision =
            Decision::events((!is_nothing).then_some(Event::AttemptAccounted { id, account }));
        let spent = spent.filter(|_| !is_nothing).map(Effect::Account);
        Ok(spent.into_iter().fold(decision, Decision::with))
    }

    pub(super) fn ask(
        &self,
        id: &TaskId,
        attempt: u32,
        prompt: &Prompt,
        question: &Question<Topic>,
    ) -> Result<Decision<Event>, Rejected> {
        let view = self.live(id, attempt)?;
        let key = prompt.key.as_str();
        let is_known = view.trail.is_some_and(|it| it.answers.contains_key(key));
        if is_known || self.is_permitted(id, prompt) {
            return Ok(Decision::nothing());
        }
        let question = Question { subject: topic(id, key), ..question.clone() };
        let is_new = view.trail.is_none_or(|it| !it.asked.contains(key));
        let asked = is_new.then(|| Event::AgentAsked { id: id.clone(), prompt: prompt.clone() });
        Ok(Decision::events(asked).with(Effect::Ask(question)))
    }

    /// Whether a person has allowed it for the task or for all of the run.
    pub fn is_permitted(&self, id: &TaskId, prompt: &Prompt) -> bool {
        let Some(permit) = &prompt.permit else { return false };
        let trail = self.task(id).and_then(|view| view.trail);
        self.core.permits.contains(permit) || trail.is_some_and(|it| it.permits.contains(permit))
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
        let mut open = vec![(id.clone(), key.to_owned())];
        open.extend(self.asking_the_same(&view, key, text));
        let settled = open.iter().map(|(id, key)| Effect::Settle { topic: topic(id, key) });
        let settled: Vec<Effect> = settled.collect();
        let told = |(id, key)| Event::AgentAnswered { id, key, text: text.to_owned() };
        let decision = Decision::events(open.into_iter().map(told));
        Ok(settled.into_iter().fold(decision, Decision::with))
    }

    /// Other open questions that a permission for the task or the run answers as well.
    fn asking_the_same(&self, view: &TaskView<'_>, key: &str, text: &str) -> Vec<(TaskId, String)> {
        let permit = view.trail.and_then(|trail| trail.prompts.get(key)?.permit.clone());
        let own = &view.planned.id;
        let is_meant = |id: &TaskId| match Grant::from_word(text) {
            Some(Grant::Run | Grant::Project) => true,
            Some(Grant::Task) => id == own,
            Some(Grant::Once) | None => false,
        };
        let mut found = Vec::new();
        for other in self.tasks().filter(|it| permit.is_some() && is_meant(&it.planned.id)) {
            let Some(trail) = other.trail else { continue };
            let same = trail.prompts.values().filter(|it| it.permit == permit);
            let open = same.filter(|it| trail.asked.contains(&it.key));
            let id = &other.planned.id;
            let others = open.filter(|it| id != own || it.key != key);
            found.extend(others.map(|it| (id.clone(), it.key.clone())));
        }
        found
    }

    /// A person takes over the conversation; an attempt that is under way ends without a result.
    pub(super) fn take_over(&self, id: &TaskId, by: &Actor) -> Result<Decision<Event>, Rejected> {
        let Actor::User(name) = by else {
            return Err(Rejected::reserved("taking over a conversation"));
        };
        let view = self.find(id)?;
        if view.trail.is_none_or(|trail| trail.conversation.is_none()) {
            return Err(Rejected::rule(
                Code::NoConversation,
                format!("no agent has worked on {id}: there is nothing to open"),
            )
            .next(NextStep::ExplainTask { id: id.clone() }));
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
            keys.map(|key| Effect::Settle { topic: topic(id, key) }).collect::<Vec<_>>()
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
fn topic(id: &TaskId, key: &str) -> Topic {
    RunTopic::Task { id: id.clone(), key: key.to_owned() }.into()
}

impl Task {
    /// Notes what an event says of the task's agents.
    pub(super) fn note_agents(&mut self, event: &Event) {
        match event {
            Event::AttemptEngaged { conversation, .. } => {
                self.trail().conversation = Some(conversation.clone());
            }
            Event::AttemptAccounted { account, .. } => {
                let attempts = self.attempts;
                self.trail().note_account(attempts, account);
            }
            Event::AttemptParked { parked, .. } => {
                let trail = self.trail();
                trail.parked = Some(parked.clone());
                // The next attempt begins without what this one left, which is kept aside.
                let conversation = trail.conversation.as_mut();
                conversation
                    .filter(|_| parked.cause == ParkCause::Unproven)
                    .into_iter()
                    .for_each(|it| it.is_open = false);
            }
            Event::TaskWoken { .. } => self.trail().parked = None,
            Event::AgentAsked { prompt, .. } => self.trail().note_asked(prompt),
            Event::AgentAnswered { key, text, .. } => self.trail().note_answered(key, text),
            Event::TaskTaken { by, .. } => self.trail().taken_by = Some(by.clone()),
            Event::TaskReturned { .. } => self.trail().taken_by = None,
            Event::AttemptFailed { resumes, .. } => self.end_conversation(*resumes),
            Event::TaskCompleted { .. } | Event::TaskFailed { .. } | Event::TaskReopened { .. } => {
                self.end_conversation(false);
            }
            _ => {}
        }
    }

    /// The task is not in the plan any more: no agent waits for an answer.
    pub(super) fn forget_questions(&mut self) {
        if let Some(trail) = &mut self.trail {
            trail.asked.clear();
            trail.prompts.retain(|key, _| trail.answers.contains_key(key));
        }
    }

    /// Whether its next attempt goes on in the conversation that is there.
    pub(super) fn has_open_conversation(&self) -> bool {
        let conversation = self.trail.as_ref().and_then(|trail| trail.conversation.as_ref());
        conversation.is_some_and(|it| it.is_open)
    }

    /// What would be allowed by a yes to the question.
    pub(super) fn permit(&self, key: &str) -> Option<&String> {
        self.trail.as_ref()?.prompts.get(key)?.permit.as_ref()
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
            trail.prompts.clear();
        }
    }
}
