//! A job of an agent that is no task of a run: a review, a try at a checkpoint.
//!
//! What has to survive the process that looks after it is here: which conversation it is in, what
//! that has cost, and what a person was asked. It is recorded before a process of its agent is
//! started, so that the next one goes on in the same conversation and nothing is charged twice.

use crate::{
    accounts,
    id::EntryId,
    machine::{Asked, Decision, Effect, Machine, Rejected},
    run::Usage,
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A job of a name in a work tree; there is none before it is begun and after it has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    begun: Option<BegunJob>,
}

/// How a job stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunJob {
    /// What it is about. Another key is another job.
    pub key: String,
    /// The agent's name.
    pub agent: String,
    /// The conversation, where its name is known before anything was said.
    #[serde(default)]
    pub conversation: Option<String>,
    /// The number of the newest process.
    #[serde(default)]
    pub process: u32,
    /// The number of the last process whose usage is in `spent`.
    #[serde(default)]
    pub accounted: u32,
    /// How much of the conversation's usage, as its program counts it, is in `spent`.
    #[serde(default)]
    pub counted: Usage,
    /// What its processes used up.
    #[serde(default)]
    pub spent: Usage,
    /// Questions that were put to a person, by their keys.
    #[serde(default)]
    pub asked: BTreeMap<String, EntryId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// In place of what there was of this name.
    Begin { key: String, agent: String },
    /// Takes over what an earlier version has kept in a file.
    Import { job: BegunJob },
    /// A process is about to be started, in the conversation that is open or in a new one.
    Engage { process: u32, conversation: Option<String>, is_new: bool },
    /// What a process used up, once.
    Account { process: u32, usage: Usage, counted: Usage },
    /// A question was put to a person.
    Ask { key: String, entry: EntryId },
    /// What came of it is recorded elsewhere.
    End,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Begun { key: String, agent: String },
    Imported { job: BegunJob },
    Engaged { process: u32, conversation: Option<String>, is_new: bool },
    Accounted { process: u32, usage: Usage, counted: Usage },
    Asked { key: String, entry: EntryId },
    Ended {},
}

impl Job {
    pub const fn none() -> Self {
        Self { begun: None }
    }

    /// The job, if it was begun and has not ended.
    pub fn begun(&self) -> Option<&BegunJob> {
        self.begun.as_ref()
    }
}

impl Machine for Job {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "job";
    const FORMAT: u32 = 1;

    fn start() -> Self {
        Self::none()
    }

    fn decide(&self, command: &Command, _asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let event = match (command.clone(), &self.begun) {
            (Command::Begin { key, agent }, _) => Event::Begun { key, agent },
            (Command::Import { job }, None) => Event::Imported { job },
            // Late or repeated: it is over, or known.
            (Command::Import { .. }, Some(_)) | (_, None) => return Ok(Decision::nothing()),
            (Command::Engage { process, conversation, is_new }, Some(_)) => {
                Event::Engaged { process, conversation, is_new }
            }
            (Command::Account { process, .. }, Some(job)) if process <= job.accounted => {
                return Ok(Decision::nothing());
            }
            (Command::Account { process, usage, counted }, Some(job)) => {
                let (agent, micros) = (job.agent.clone(), usage.cost_micros);
                let spent = Effect::Account(accounts::Command::Spend { agent, micros });
                let event = Event::Accounted { process, usage, counted };
                return Ok(Decision::events([event]).with(spent));
            }
            (Command::Ask { key, entry }, Some(_)) => Event::Asked { key, entry },
            (Command::End, Some(_)) => Event::Ended {},
        };
        Ok(Decision::events([event]))
    }

    fn apply(&mut self, event: &Event, _at: Time) {
        match (event.clone(), &mut self.begun) {
            (Event::Begun { key, agent }, begun) => {
                *begun = Some(BegunJob { key, agent, ..BegunJob::default() });
            }
            (Event::Imported { job }, begun) => *begun = Some(job),
            (Event::Ended {}, begun) => *begun = None,
            (_, None) => {}
            (Event::Engaged { process, conversation, is_new }, Some(job)) => {
                (job.process, job.conversation) = (process, conversation);
                if is_new {
                    job.counted = Usage::default();
                }
            }
            (Event::Accounted { process, usage, counted }, Some(job)) => {
                (job.accounted, job.counted) = (process, counted);
                job.spent.add(&usage);
            }
            (Event::Asked { key, entry }, Some(job)) => {
                job.asked.insert(key, entry);
            }
        }
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Begun { .. } => "begun",
            Event::Imported { .. } => "imported",
            Event::Engaged { .. } => "engaged",
            Event::Accounted { .. } => "accounted",
            Event::Asked { .. } => "asked",
            Event::Ended {} => "ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        actor::Actor,
        matrix::{Matrix, command_variants, outcome},
    };

    fn decide(job: &mut Job, command: &Command) -> Decision<Event> {
        let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(0) };
        let decision = job.decide(command, &asked).unwrap();
        decision.events.iter().for_each(|event| job.apply(event, asked.now));
        decision
    }

    fn used(cost_micros: u64) -> Usage {
        Usage { input: 1, output: 1, cached: 0, cost_micros }
    }

    fn account(process: u32, micros: u64) -> Command {
        Command::Account { process, usage: used(micros), counted: used(micros) }
    }

    #[test]
    fn a_process_is_charged_once_and_reaches_the_accounts() {
        let mut job = Job::start();
        assert_eq!(decide(&mut job, &account(1, 5)), Decision::nothing());
        decide(&mut job, &Command::Begin { key: "k".into(), agent: "claude".into() });
        let conversation = Some("c".to_owned());
        decide(&mut job, &Command::Engage { process: 1, conversation, is_new: true });
        let decision = decide(&mut job, &account(1, 5));
        let spent = accounts::Command::Spend { agent: "claude".into(), micros: 5 };
        assert_eq!(decision.effects, [Effect::Account(spent)]);
        assert_eq!(decide(&mut job, &account(1, 5)), Decision::nothing());
        let conversation = Some("c".to_owned());
        decide(&mut job, &Command::Engage { process: 2, conversation, is_new: false });
        decide(&mut job, &account(2, 7));
        let begun = job.begun().unwrap();
        assert_eq!((begun.spent.cost_micros, begun.counted), (12, used(7)));
        decide(&mut job, &Command::Engage { process: 3, conversation: None, is_new: true });
        assert_eq!(job.begun().unwrap().counted, Usage::default());
    }

    #[test]
    fn a_job_that_has_ended_is_gone_and_another_key_is_another_job() {
        let mut job = Job::start();
        let begin = |key: &str| Command::Begin { key: key.into(), agent: "claude".into() };
        decide(&mut job, &begin("one"));
        let entry: EntryId = "q1".parse().unwrap();
        decide(&mut job, &Command::Ask { key: "why".into(), entry: entry.clone() });
        assert_eq!(job.begun().unwrap().asked["why"], entry);
        decide(&mut job, &begin("two"));
        assert_eq!(job.begun().unwrap().asked.len(), 0);
        decide(&mut job, &Command::End);
        assert_eq!(job, Job::none());
        assert_eq!(decide(&mut job, &Command::End), Decision::nothing());
    }

    #[test]
    fn what_an_earlier_version_kept_is_taken_over_once() {
        let kept = r#"{"v":1,"key":"k","agent":"claude","conversation":"c","process":2,
            "counted":{"input":1,"output":1,"cached":0,"cost_micros":9},"asked":{"why":"q3"}}"#;
        let kept: BegunJob = serde_json::from_str(kept).unwrap();
        let mut job = Job::start();
        decide(&mut job, &Command::Import { job: kept.clone() });
        assert_eq!(job.begun(), Some(&kept));
        assert_eq!(decide(&mut job, &Command::Import { job: kept }), Decision::nothing());
    }

    command_variants!(Command: Begin, Import, Engage, Account, Ask, End);

    fn event_line(event: &Event) -> String {
        Job::event_kind(event).to_owned()
    }

    #[test]
    fn every_command_has_an_answer_in_every_state() {
        let begin = Command::Begin { key: "k".into(), agent: "claude".into() };
        let kept = BegunJob { key: "k".into(), agent: "claude".into(), ..BegunJob::default() };
        let engage = Command::Engage { process: 1, conversation: None, is_new: true };
        let commands = [
            ("begin", begin.clone()),
            ("import", Command::Import { job: kept }),
            ("engage", engage.clone()),
            ("account 1", account(1, 5)),
            ("ask", Command::Ask { key: "why".into(), entry: "q1".parse().unwrap() }),
            ("end", Command::End),
        ];
        let mut matrix = Matrix::default();
        let accounted = account(1, 5);
        let states: [(&str, &[&Command]); 5] = [
            ("none", &[]),
            ("begun", &[&begin]),
            ("engaged", &[&begin, &engage]),
            ("accounted", &[&begin, &engage, &accounted]),
            ("ended", &[&begin, &Command::End]),
        ];
        for (name, before) in states {
            matrix.state(name);
            let mut job = Job::start();
            before.iter().for_each(|command| drop(decide(&mut job, command)));
            for (written, command) in &commands {
                let asked = Asked { by: &Actor::Waypost, now: Time::from_millis(0) };
                let line = outcome(&job.decide(command, &asked), event_line);
                matrix.row((written, 10), variant_of(command), &line);
            }
        }
        insta::assert_snapshot!("job_by_commands", matrix.page);
        Matrix::assert_shows_all(&[matrix], VARIANTS);
    }
}
