//! The accounts that agents work with: until when one is not used and why, and what was spent each
//! day. They belong to all agents, whatever these work on: tasks of a run, reviews, checkpoints.
//!
//! An account is named by its agent. What a machine knows of one reaches this one as an effect, in
//! the same transaction (`Effect::Account`): so nothing is spent that is not counted here.

use crate::{
    machine::{Asked, Decision, Machine, Rejected},
    run::{ParkCause, Parked},
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many days are remembered: enough to look back over a month.
const DAYS_KEPT: usize = 40;

/// What is known of all accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounts {
    /// What each agent has spent on a day (its first moment in UTC), in millionths of a dollar.
    days: BTreeMap<Time, BTreeMap<String, u64>>,
    /// Those that are not used, by their agents.
    held: BTreeMap<String, AccountHold>,
}

/// Why an account is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountHold {
    /// None: until a person has done something about it.
    pub until: Option<Time>,
    pub cause: ParkCause,
    pub why: String,
    /// How often in a row.
    pub in_a_row: u32,
}

impl AccountHold {
    pub fn holds(&self, now: Time) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// What became of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// So many millionths of a dollar were spent.
    Spend { agent: String, micros: u64 },
    /// It met a limit, or cannot be used.
    Hold { parked: Parked },
    /// It can be used again, as far as is known.
    Wake { agent: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Spent {
        day: Time,
        agent: String,
        micros: u64,
    },
    Held {
        agent: String,
        held: AccountHold,
    },
    /// By whom: a person who answered, or Waypost, which got through.
    Woken {
        agent: String,
        by: String,
    },
}

impl Accounts {
    /// Nothing is known of any.
    pub const fn none() -> Self {
        Self { days: BTreeMap::new(), held: BTreeMap::new() }
    }

    /// What all agents have spent on the day of `now`, in millionths of a dollar.
    pub fn spent_on(&self, now: Time) -> u64 {
        let day = self.days.get(&now.day());
        day.map_or(0, |agents| agents.values().fold(0, |sum, it| it.saturating_add(sum)))
    }

    /// The days that are remembered, with what each agent spent.
    pub fn days(&self) -> impl Iterator<Item = (Time, &BTreeMap<String, u64>)> {
        self.days.iter().map(|(day, agents)| (*day, agents))
    }

    /// Why an agent's account is not used now.
    pub fn held(&self, agent: &str, now: Time) -> Option<&AccountHold> {
        self.held.get(agent).filter(|held| held.holds(now))
    }

    /// All that are not used now, by their agents.
    pub fn all_held(&self, now: Time) -> impl Iterator<Item = (&str, &AccountHold)> {
        let held = self.held.iter().filter(move |(_, held)| held.holds(now));
        held.map(|(agent, held)| (agent.as_str(), held))
    }

    /// How often in a row an account could not be used.
    pub fn in_a_row(&self, agent: &str) -> u32 {
        self.held.get(agent).map_or(0, |held| held.in_a_row)
    }

    /// Whether a hold says nothing that is not known: many may meet the same limit at once.
    fn is_known(&self, agent: &str, held: &AccountHold) -> bool {
        let known = self.held.get(agent);
        known.is_some_and(|it| {
            let is_shorter = it.until.is_none_or(|known| held.until.is_some_and(|it| it <= known));
            it.cause == held.cause && is_shorter && it.in_a_row >= held.in_a_row
        })
    }
}

impl Machine for Accounts {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "accounts";
    const FORMAT: u32 = 1;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let event = match command {
            Command::Spend { micros: 0, .. } => None,
            Command::Spend { agent, micros } => {
                let (day, agent) = (asked.now.day(), agent.clone());
                Some(Event::Spent { day, agent, micros: *micros })
            }
            Command::Hold { parked } if parked.cause.holds_agent() => {
                let Parked { until, cause, why, agent, in_a_row, .. } = parked.clone();
                let held = AccountHold { until, cause, why, in_a_row };
                (!self.is_known(&agent, &held)).then_some(Event::Held { agent, held })
            }
            // It is about one task alone.
            Command::Hold { .. } => None,
            Command::Wake { agent } => {
                let by = asked.by.to_string();
                // Waypost gets through where a gate does not hold: that says nothing.
                let is_held = self
                    .held
                    .get(agent)
                    .is_some_and(|held| asked.by.is_person() || held.cause != ParkCause::Unproven);
                is_held.then(|| Event::Woken { agent: agent.clone(), by })
            }
        };
        Ok(Decision::events(event))
    }

    fn apply(&mut self, event: &Event, _at: Time) {
        match event {
            Event::Spent { day, agent, micros } => {
                let spent = self.days.entry(*day).or_default().entry(agent.clone()).or_default();
                *spent = spent.saturating_add(*micros);
                while self.days.len() > DAYS_KEPT {
                    self.days.pop_first();
                }
            }
            Event::Held { agent, held } => {
                self.held.insert(agent.clone(), held.clone());
            }
            Event::Woken { agent, .. } => {
                self.held.remove(agent);
            }
        }
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Spent { .. } => "spent",
            Event::Held { .. } => "held",
            Event::Woken { .. } => "woken",
        }
    }

    fn size(&self) -> usize {
        self.days.len() + self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        actor::Actor,
        matrix::{Matrix, command_variants, outcome},
    };

    const DAY: i64 = 24 * 60 * 60 * 1_000;

    fn decide(accounts: &mut Accounts, command: &Command, now: i64) -> Vec<Event> {
        let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(now) };
        let events = accounts.decide(command, &asked).unwrap().events;
        events.iter().for_each(|event| accounts.apply(event, asked.now));
        events
    }

    fn spend(agent: &str, micros: u64) -> Command {
        Command::Spend { agent: agent.into(), micros }
    }

    fn hold(cause: ParkCause, until: i64, in_a_row: u32) -> Command {
        let until = Some(Time::from_millis(until));
        let (why, agent) = ("a limit".into(), "claude".into());
        Command::Hold { parked: Parked { until, cause, why, agent, in_a_row, trouble: None } }
    }

    #[test]
    fn what_is_spent_counts_for_its_day_in_utc() {
        let mut accounts = Accounts::start();
        decide(&mut accounts, &spend("claude", 5), DAY - 1);
        decide(&mut accounts, &spend("codex", 7), DAY - 1);
        assert_eq!(decide(&mut accounts, &spend("codex", 0), DAY), []);
        decide(&mut accounts, &spend("codex", 1), DAY);
        let spent = |now| accounts.spent_on(Time::from_millis(now));
        assert_eq!([spent(0), spent(DAY - 1), spent(DAY), spent(2 * DAY)], [12, 12, 1, 0]);
    }

    #[test]
    fn days_long_past_are_forgotten() {
        let mut accounts = Accounts::start();
        for day in 0..100 {
            decide(&mut accounts, &spend("claude", 1), day * DAY);
        }
        let days: Vec<Time> = accounts.days().map(|(day, _)| day).collect();
        assert_eq!((days.len(), days[0]), (DAYS_KEPT, Time::from_millis(60 * DAY)));
    }

    #[test]
    fn an_account_is_held_until_its_time_or_until_it_is_woken() {
        let mut accounts = Accounts::start();
        let held = |accounts: &Accounts, now| {
            accounts.held("claude", Time::from_millis(now)).map(|held| held.cause)
        };
        assert_eq!(decide(&mut accounts, &Command::Wake { agent: "claude".into() }, 0), []);
        assert_eq!(decide(&mut accounts, &hold(ParkCause::Limit, 100, 1), 0).len(), 1);
        // Another agent meets the same limit.
        assert_eq!(decide(&mut accounts, &hold(ParkCause::Limit, 100, 1), 1), []);
        assert_eq!(held(&accounts, 99), Some(ParkCause::Limit));
        assert_eq!((held(&accounts, 100), accounts.in_a_row("claude")), (None, 1));
        assert_eq!(decide(&mut accounts, &hold(ParkCause::Limit, 200, 2), 100).len(), 1);
        assert_eq!(
            (held(&accounts, 150), accounts.in_a_row("claude")),
            (Some(ParkCause::Limit), 2)
        );
        assert_eq!(accounts.held("codex", Time::from_millis(150)), None);
        let woken = decide(&mut accounts, &Command::Wake { agent: "claude".into() }, 150);
        assert_eq!(woken, [Event::Woken { agent: "claude".into(), by: "waypost".into() }]);
        assert_eq!((held(&accounts, 150), accounts.in_a_row("claude")), (None, 0));
        // What holds one task alone holds no account.
        assert_eq!(decide(&mut accounts, &hold(ParkCause::Budget, 900, 1), 150), []);
        assert_eq!(decide(&mut accounts, &hold(ParkCause::Infrastructure, 900, 1), 150), []);
    }

    command_variants!(Command: Spend, Hold, Wake);

    fn event_line(event: &Event) -> String {
        let rest = match event {
            Event::Spent { day, agent, micros } => format!("{agent} {micros} on {day}"),
            Event::Held { agent, held } => format!("{agent} for {}", held.cause),
            Event::Woken { agent, by } => format!("{agent} by {by}"),
        };
        format!("{} {rest}", Accounts::event_kind(event))
    }

    #[test]
    fn every_command_has_an_answer_in_every_state() {
        let commands = [
            ("spend nothing", spend("claude", 0)),
            ("spend 5", spend("claude", 5)),
            ("met a limit", hold(ParkCause::Limit, 500, 1)),
            ("met a limit again", hold(ParkCause::Limit, 900, 2)),
            ("not signed in", hold(ParkCause::SignIn, 500, 1)),
            ("task out of money", hold(ParkCause::Budget, 500, 1)),
            ("wake claude", Command::Wake { agent: "claude".into() }),
            ("wake codex", Command::Wake { agent: "codex".into() }),
        ];
        let limited = hold(ParkCause::Limit, 500, 1);
        let mut matrix = Matrix::default();
        for (name, before, now) in [
            ("nothing known", None, 0),
            ("claude is limited", Some(&limited), 0),
            ("claude was limited", Some(&limited), DAY),
        ] {
            matrix.state(name);
            let mut accounts = Accounts::start();
            before.into_iter().for_each(|command| drop(decide(&mut accounts, command, 0)));
            for (written, command) in &commands {
                let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(now) };
                let line = outcome(&accounts.decide(command, &asked), event_line);
                matrix.row((written, 18), variant_of(command), &line);
            }
        }
        insta::assert_snapshot!("accounts_by_commands", matrix.page);
        Matrix::assert_shows_all(&[matrix], VARIANTS);
    }
}
