//! Tasks that wait for something that is not their fault: a limit, an outage, a sign-in, money, the machine.
//!
//! A parked task has not failed and spends no retry. Where its agent's service cannot be used, the
//! inbox has one entry for the account, however many tasks wait for it; an answer to that entry, or
//! an agent of the account that gets through, wakes all of them. The same holds for a trouble of the
//! machine: it is asked for when it does not pass quickly, and wakes all that wait when it is gone.

use crate::{
    accounts,
    actor::Actor,
    id::TaskId,
    inbox::{Question, QuestionKind, Topic},
    machine::{Decision, Effect, Rejected},
    run::{Active, Event, RunTopic, TaskStatus, TaskView},
    time::Time,
    trouble::Trouble,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
};

/// Why a task waits, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Parked {
    /// None: until a person has done something about the cause.
    #[serde(default)]
    pub until: Option<Time>,
    #[serde(default)]
    pub cause: ParkCause,
    pub why: String,
    /// The agent whose account is concerned: others of its name wait with it. Empty: none is.
    pub agent: String,
    /// How often in a row.
    pub in_a_row: u32,
    /// Which trouble of the machine it is, where the cause is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
}

/// What a parked task waits for.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ParkCause {
    /// A usage limit of the account, which ends by itself.
    #[default]
    Limit,
    /// The service is overloaded, broken, or cannot be reached.
    Outage,
    /// The program is not signed in, or its key is not accepted.
    SignIn,
    /// The account has no credit.
    Credit,
    /// The task, its phase or the run has spent what it may.
    Budget,
    /// The machine has no room for it, or Waypost's own work is in trouble; `trouble` says which. The
    /// word is older than the other half of that.
    #[serde(rename = "no_room")]
    Infrastructure,
    /// The agent has done something that Waypost was not asked about: its gate does not hold. Only a
    /// person lets it go on.
    Unproven,
    /// It cannot be begun or gone on with as things are set up: there is no such agent, its program, its
    /// type or its workspace cannot be used. It goes on by itself when that is fixed.
    SetUp,
}

impl ParkCause {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Outage => "outage",
            Self::SignIn => "sign_in",
            Self::Credit => "credit",
            Self::Budget => "budget",
            Self::Infrastructure => "no_room",
            Self::Unproven => "unproven",
            Self::SetUp => "set_up",
        }
    }

    /// Whether the agent's service cannot be used, by any agent with its account.
    pub fn is_unavailable(self) -> bool {
        matches!(self, Self::Outage | Self::SignIn | Self::Credit)
    }

    /// Whether others of the agent's name wait, too.
    pub fn holds_agent(self) -> bool {
        self == Self::Limit || self.is_asked_once()
    }

    /// Whether the inbox has one entry for the agent, however many tasks wait.
    pub fn is_asked_once(self) -> bool {
        self.is_unavailable() || self == Self::Unproven
    }

    /// Whether waiting alone does not help.
    pub fn needs_person(self) -> bool {
        matches!(self, Self::SignIn | Self::Credit | Self::Budget | Self::Unproven)
    }

    /// What a person can do about it.
    pub fn advice(self, agent: &str) -> String {
        match self {
            Self::Limit | Self::Infrastructure => "wait; it goes on by itself".to_owned(),
            Self::Outage => format!(
                "wait, or check the network and the status page of {agent}'s service; it is tried \
                 again by itself"
            ),
            Self::SignIn => format!("sign in with {agent}'s program, or set its key"),
            Self::Credit => format!("add credit to {agent}'s account"),
            Self::Budget => "give it a larger budget".to_owned(),
            Self::Unproven => {
                format!("find out why {agent}'s hook was not asked, and look at what it left")
            }
            Self::SetUp => "mend what is named; it goes on by itself then".to_owned(),
        }
    }
}

impl fmt::Display for ParkCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Limit => "usage limit",
            Self::Outage => "service unavailable",
            Self::SignIn => "not signed in",
            Self::Credit => "no credit",
            Self::Budget => "budget used up",
            Self::Infrastructure => "no room on this machine",
            Self::Unproven => "a tool call went past the hook",
            Self::SetUp => "it cannot be set up",
        })
    }
}

/// The answer by which a person says that the cause is gone.
pub const TRY_AGAIN: &str = "try again";

impl Parked {
    /// For a trouble of the machine, until a time at which it may be gone.
    pub fn troubled(trouble: Trouble, why: String, (until, in_a_row): (Time, u32)) -> Self {
        Self {
            until: Some(until),
            cause: ParkCause::Infrastructure,
            why,
            agent: String::new(),
            in_a_row,
            trouble: Some(trouble),
        }
    }

    /// The cause in words, as exactly as it is known.
    pub fn cause_in_words(&self) -> String {
        self.trouble.map_or_else(|| self.cause.to_string(), |trouble| trouble.to_string())
    }

    /// Whether it still holds its task.
    pub fn holds(&self, now: Time) -> bool {
        self.until.is_none_or(|until| until > now)
    }

    /// What the inbox asks for; the same for all tasks of the account.
    fn question(&self) -> Question<Topic> {
        self.question_about(account(&self.agent))
    }

    /// The same, where another machine than the run asks.
    pub fn question_about(&self, topic: Topic) -> Question<Topic> {
        let Self { cause, agent, why, .. } = self;
        let title = format!("{agent}: {cause}");
        let text = format!(
            "{agent} cannot work: {why}\nWhat to do: {}.\nThen answer `{TRY_AGAIN}`: every \
             task that waits for {agent} goes on at once. No retry was spent.",
            cause.advice(agent)
        );
        Question::new(QuestionKind::Unavailable, topic, title, text).choices([TRY_AGAIN])
    }
}

/// What the inbox asks for when the machine is in trouble.
fn troubled_question(trouble: Trouble, why: &str) -> Question<Topic> {
    let title = format!("the run waits: {trouble}");
    let text = format!(
        "Nothing can be started: {why}\nWhat to do: {}.\nIt goes on by itself when that is gone; \
         `{TRY_AGAIN}` tries it at once. No retry was spent.",
        trouble.advice()
    );
    let topic = RunTopic::Trouble(trouble).into();
    Question::new(QuestionKind::Unavailable, topic, title, text).choices([TRY_AGAIN])
}

/// What an account's entry in the inbox is about.
fn account(agent: &str) -> Topic {
    RunTopic::Account(agent.to_owned()).into()
}

impl<'a> TaskView<'a> {
    /// What holds the task now, if it is parked.
    pub fn parked(&self, now: Time) -> Option<&'a Parked> {
        let parked = self.trail.and_then(|trail| trail.parked.as_ref());
        parked.filter(|parked| parked.holds(now) && self.status == TaskStatus::Ready)
    }
}

impl Active {
    pub(super) fn park(
        &self,
        id: &TaskId,
        attempt: u32,
        parked: &Parked,
    ) -> Result<Decision<Event>, Rejected> {
        self.live(id, attempt)?;
        let (id, parked) = (id.clone(), parked.clone());
        let ask = parked.cause.is_asked_once().then(|| Effect::Ask(parked.question()));
        let held = parked
            .cause
            .holds_agent()
            .then(|| Effect::Account(accounts::Command::Hold { parked: parked.clone() }));
        let decision = Decision::events([Event::AttemptParked { id, parked }]);
        Ok(ask.into_iter().chain(held).fold(decision, Decision::with))
    }

    /// The account of an agent can be used again: what waits for it waits no longer.
    pub(super) fn wake_account(
        &self,
        agent: &str,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if *by != Actor::Waypost && !by.is_person() {
            return Err(Rejected::reserved("saying that an account can be used again"));
        }
        // That an agent gets through does not say that it is held by its gate.
        let is_meant = |view: &TaskView<'_>| by.is_person() || !is_unproven(view);
        let waits = |view: &TaskView<'_>| unavailable(view) == Some(agent) && is_meant(view);
        let ids = self.tasks().filter(waits).map(|view| view.planned.id.clone());
        let woken = Effect::Account(accounts::Command::Wake { agent: agent.to_owned() });
        Ok(Decision::events(ids.map(|id| Event::TaskWoken { id })).with(woken))
    }

    /// The machine is in trouble, and a first wait has not helped: a person is asked.
    pub(super) fn report_trouble(
        &self,
        trouble: Trouble,
        why: &str,
    ) -> Result<Decision<Event>, Rejected> {
        Ok(Decision::nothing().with(Effect::Ask(troubled_question(trouble, why))))
    }

    /// A trouble of the machine is gone, or a person says so: what waits for that waits no longer.
    pub(super) fn wake_trouble(
        &self,
        trouble: Trouble,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if *by != Actor::Waypost && !by.is_person() {
            return Err(Rejected::reserved("saying that a trouble of the machine is gone"));
        }
        let waits = |view: &TaskView<'_>| {
            let parked = view.trail.and_then(|trail| trail.parked.as_ref());
            parked.is_some_and(|parked| parked.trouble == Some(trouble))
        };
        let ids = self.tasks().filter(waits).map(|view| view.planned.id.clone());
        let settle = Effect::Settle { topic: RunTopic::Trouble(trouble).into() };
        Ok(Decision::events(ids.map(|id| Event::TaskWoken { id })).with(settle))
    }

    /// A delayed task is wanted now. If it waits for an account, so may all others that do.
    pub(super) fn hurry(&self, view: &TaskView<'_>) -> Decision<Event> {
        let id = &view.planned.id;
        let agent = unavailable(view);
        let waits = |it: &TaskView<'_>| unavailable(it) == agent && it.planned.id != *id;
        // Mostly no other task waits for the same: then there is no need to look at every task.
        let others = agent.into_iter().flat_map(|_| self.tasks()).filter(waits);
        let woken = others.map(|it| Event::TaskWoken { id: it.planned.id.clone() });
        let decision =
            Decision::events([Event::TaskReopened { id: id.clone() }].into_iter().chain(woken));
        let parked = view.trail.and_then(|trail| trail.parked.as_ref());
        let held = parked.filter(|parked| parked.cause.holds_agent());
        let wake = held.map(|it| accounts::Command::Wake { agent: it.agent.clone() });
        wake.map(Effect::Account).into_iter().fold(decision, Decision::with)
    }

    /// One task need not wait any longer.
    pub(super) fn wake_task(&self, id: &TaskId) -> Result<Decision<Event>, Rejected> {
        let view = self.find(id)?;
        let is_parked = view.trail.is_some_and(|trail| trail.parked.is_some());
        Ok(Decision::events(is_parked.then(|| Event::TaskWoken { id: id.clone() })))
    }

    /// The accounts' entries that no task waits for any more after these events.
    pub(super) fn settled_accounts(&self, events: &[Event]) -> Vec<Effect> {
        let gone = self.no_longer_parked(events);
        // Nearly always no task is: then there is no need to look at every task.
        if gone.is_empty() {
            return Vec::new();
        }
        let left: BTreeSet<&str> = self
            .tasks()
            .filter(|view| !gone.contains_key(&view.planned.id))
            .filter_map(|view| unavailable(&view))
            .collect();
        let accounts: BTreeSet<&str> = gone.into_values().collect();
        let settled = accounts.difference(&left);
        settled.map(|agent| Effect::Settle { topic: account(agent) }).collect()
    }

    /// The tasks that wait for an account and will not any more, with its agent.
    fn no_longer_parked(&self, events: &[Event]) -> BTreeMap<&TaskId, &str> {
        let mut gone = BTreeMap::new();
        for event in events {
            match event {
                Event::TaskCompleted { id, .. }
                | Event::AttemptFailed { id, .. }
                | Event::TaskFailed { id, .. }
                | Event::TaskReopened { id }
                | Event::TaskWoken { id } => {
                    let view = self.task(id);
                    let found = view.and_then(|it| Some((&it.planned.id, unavailable(&it)?)));
                    gone.extend(found);
                }
                Event::Replanned { plan } => {
                    let kept: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
                    let left_out = self.tasks().filter(|it| !kept.contains(&it.planned.id));
                    gone.extend(
                        left_out.filter_map(|it| Some((&it.planned.id, unavailable(&it)?))),
                    );
                }
                Event::Begun { .. } => {
                    let all = self.tasks();
                    gone.extend(all.filter_map(|it| Some((&it.planned.id, unavailable(&it)?))));
                }
                _ => {}
            }
        }
        gone
    }
}

/// The agent whose account a task waits for.
fn unavailable<'a>(view: &TaskView<'a>) -> Option<&'a str> {
    let parked = view.trail.and_then(|trail| trail.parked.as_ref());
    parked.filter(|parked| parked.cause.is_asked_once()).map(|parked| parked.agent.as_str())
}

fn is_unproven(view: &TaskView<'_>) -> bool {
    let parked = view.trail.and_then(|trail| trail.parked.as_ref());
    parked.is_some_and(|parked| parked.cause == ParkCause::Unproven)
}
