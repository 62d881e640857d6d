//! A job of an agent that is no task of a run: a review, a try at a checkpoint.
//!
//! What has to survive the process that looks after it is here: which conversation it is in, what
//! that has cost, and what a person was asked. It is recorded before a process of its agent is
//! started, so that the next one goes on in the same conversation and nothing is charged twice.

use crate::{
    accounts,
    answer::{Answer, Consequence, OutsideFacts},
    config::WallLevel,
    id::EntryId,
    inbox::{Question, Topic},
    machine::{Asked, Decision, Effect, Machine, Rejected},
    run::{Account, Conversation, Prompt, Trail, Usage},
    time::Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the keys begin of what is asked because a process went past the hook.
const UNPROVEN: &str = "unproven/";

/// Names the question that is asked because a process went past the hook.
pub fn unproven_key(process: u32) -> String {
    format!("{UNPROVEN}{process}")
}

/// A job of a name in a work tree; there is none before it is begun and after it has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    begun: Option<BegunJob>,
}

/// How a job stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BegunJob {
    /// What it is about. Another key is another job.
    pub key: String,
    /// The agent's name.
    pub agent: String,
    /// The number of the newest process.
    pub process: u32,
    /// How much of the newest conversation's usage, as its program counts it, is accounted for. It has
    /// no name before its program has said one.
    pub counted: Usage,
    /// What its agent has left: as at a task, with processes in the place of attempts.
    pub trail: Trail,
    /// Questions that an earlier version has put to a person, by their keys.
    pub asked: BTreeMap<String, EntryId>,
}

impl BegunJob {
    /// The conversation, where its name is known.
    pub fn conversation(&self) -> Option<&str> {
        self.trail.conversation.as_ref().map(|conversation| conversation.id.as_str())
    }

    /// Whether a process is the one that works on it.
    pub fn is_live(&self, process: u32) -> bool {
        self.process == process && self.trail.accounted < process
    }

    fn engage(&mut self, process: u32, conversation: Option<String>, is_new: bool) {
        self.process = process;
        if is_new {
            self.counted = Usage::default();
        }
        let (agent, counted) = (self.agent.clone(), self.counted);
        self.trail.conversation =
            conversation.map(|id| Conversation { agent, id, is_open: true, counted, wall: None });
    }
}

impl BegunJob {
    /// Puts a question to a person, unless it has an answer already.
    fn ask(&self, prompt: Prompt, question: Question<Topic>) -> Decision<Event> {
        if self.trail.answers.contains_key(&prompt.key) {
            return Decision::nothing();
        }
        let question = Question { subject: Topic::new(prompt.key.clone()), ..question };
        let is_new = !self.trail.asked.contains(&prompt.key);
        let asked = is_new.then_some(Event::AgentAsked { prompt });
        Decision::events(asked).with(Effect::Ask(question))
    }
}

/// A job as earlier versions kept it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierJob {
    pub key: String,
    pub agent: String,
    pub conversation: Option<String>,
    /// The number of the newest process.
    pub process: u32,
    /// The number of the last process whose usage is in `spent`.
    pub accounted: u32,
    pub counted: Usage,
    pub spent: Usage,
    pub asked: BTreeMap<String, EntryId>,
}

impl From<EarlierJob> for BegunJob {
    fn from(job: EarlierJob) -> Self {
        let EarlierJob { key, agent, conversation, process, accounted, counted, spent, asked } =
            job;
        let trail = Trail { usage: spent, accounted, ..Trail::default() };
        let mut begun = Self { key, agent, process, counted, trail, asked };
        begun.engage(process, conversation, false);
        begun
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// In place of what there was of this name.
    Begin { key: String, agent: String },
    /// Takes over what an earlier version has kept in a file.
    Import { job: EarlierJob },
    /// A process is about to be started, in the conversation that is open or in a new one.
    Engage { process: u32, conversation: Option<String>, is_new: bool, wall: WallLevel },
    /// What a process used up, once.
    Account { process: u32, usage: Usage, counted: Usage },
    /// Its agent asks a person.
    Ask { prompt: Prompt, question: Question<Topic> },
    /// A person has answered.
    Answer { key: String, text: String },
    /// What came of it is recorded elsewhere.
    End,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Begun {
        key: String,
        agent: String,
    },
    Imported {
        job: EarlierJob,
    },
    Engaged {
        process: u32,
        conversation: Option<String>,
        is_new: bool,
        /// The wall that the process is behind as a whole; earlier versions did not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wall: Option<WallLevel>,
    },
    Accounted {
        process: u32,
        usage: Usage,
        counted: Usage,
    },
    /// Written by earlier versions, which asked in the name of the workflow.
    Asked {
        key: String,
        entry: EntryId,
    },
    AgentAsked {
        prompt: Prompt,
    },
    AgentAnswered {
        key: String,
        text: String,
    },
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

    /// The job is over with this: no agent waits for an answer any more.
    fn settled(&self, decision: Decision<Event>) -> Decision<Event> {
        let open = self.begun.iter().flat_map(|job| &job.trail.asked);
        let settle = |key: &String| Effect::Settle { topic: Topic::new(key.clone()) };
        open.map(settle).fold(decision, Decision::with)
    }
}

impl Machine for Job {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "job";
    const FORMAT: u32 = 2;

    fn start() -> Self {
        Self::none()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        let event = match (command.clone(), &self.begun) {
            (Command::Begin { key, agent }, _) => {
                return Ok(self.settled(Decision::events([Event::Begun { key, agent }])));
            }
            (Command::Import { job }, None) => Event::Imported { job },
            // Late or repeated: it is over, or known.
            (Command::Import { .. }, Some(_)) | (_, None) => return Ok(Decision::nothing()),
            (Command::Engage { process, conversation, is_new, wall }, Some(_)) => {
                Event::Engaged { process, conversation, is_new, wall: Some(wall) }
            }
            (Command::Account { process, .. }, Some(job)) if process <= job.trail.accounted => {
                return Ok(Decision::nothing());
            }
            (Command::Account { process, usage, counted }, Some(job)) => {
                let (agent, micros) = (job.agent.clone(), usage.cost_micros);
                let spent = Effect::Account(accounts::Command::Spend { agent, micros });
                let event = Event::Accounted { process, usage, counted };
                return Ok(Decision::events([event]).with(spent));
            }
            (Command::Ask { prompt, question }, Some(job)) => {
                return Ok(job.ask(prompt, question));
            }
            (Command::Answer { .. }, Some(_)) if !asked.by.is_person() => {
                return Err(Rejected::reserved("answering an agent"));
            }
            // A question that is not open any more needs no answer.
            (Command::Answer { key, .. }, Some(job)) if !job.trail.asked.contains(&key) => {
                return Ok(Decision::nothing());
            }
            (Command::Answer { key, text }, Some(job)) => {
                let topic = Topic::new(key.clone());
                let agent = Some(job.agent.clone()).filter(|_| key.starts_with(UNPROVEN));
                let event = Event::AgentAnswered { key, text };
                let decision = Decision::events([event]).with(Effect::Settle { topic });
                let woken = agent.map(|agent| Effect::Account(accounts::Command::Wake { agent }));
                return Ok(woken.into_iter().fold(decision, Decision::with));
            }
            (Command::End, Some(_)) => {
                return Ok(self.settled(Decision::events([Event::Ended {}])));
            }
        };
        Ok(Decision::events([event]))
    }

    fn apply(&mut self, event: &Event, _at: Time) {
        match (event.clone(), &mut self.begun) {
            (Event::Begun { key, agent }, begun) => {
                *begun = Some(BegunJob { key, agent, ..BegunJob::default() });
            }
            (Event::Imported { job }, begun) => *begun = Some(job.into()),
            (Event::Ended {}, begun) => *begun = None,
            (_, None) => {}
            (Event::Engaged { process, conversation, is_new, wall }, Some(job)) => {
                job.engage(process, conversation, is_new);
                if let Some(conversation) = &mut job.trail.conversation {
                    conversation.wall = wall;
                }
            }
            (Event::Accounted { process, usage, counted }, Some(job)) => {
                job.counted = counted;
                let account = Account { usage, counted, result: None };
                job.trail.note_account(process, &account);
            }
            (Event::Asked { key, entry }, Some(job)) => {
                job.asked.insert(key, entry);
            }
            (Event::AgentAsked { prompt }, Some(job)) => job.trail.note_asked(&prompt),
            (Event::AgentAnswered { key, text }, Some(job)) => {
                job.trail.note_answered(&key, &text);
            }
        }
    }

    fn answered<F: OutsideFacts>(
        &self,
        answer: &Answer<'_>,
        _facts: &F,
    ) -> Result<Consequence<Command>, F::Error> {
        let (key, text) = (answer.topic.as_str().to_owned(), answer.text.to_owned());
        Ok(Consequence::command(Command::Answer { key, text }))
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Begun { .. } => "begun",
            Event::Imported { .. } => "imported",
            Event::Engaged { .. } => "engaged",
            Event::Accounted { .. } => "accounted",
            Event::Asked { .. } => "asked",
            Event::AgentAsked { .. } => "agent_asked",
            Event::AgentAnswered { .. } => "agent_answered",
            Event::Ended {} => "ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        actor::Actor,
        inbox::QuestionKind,
        matrix::{Matrix, command_variants, outcome},
    };

    fn decide(job: &mut Job, command: &Command) -> Decision<Event> {
        decide_by(&Actor::Waypost, job, command).unwrap()
    }

    fn decide_by(
        by: &Actor,
        job: &mut Job,
        command: &Command,
    ) -> Result<Decision<Event>, Rejected> {
        let asked = Asked { by, now: Time::from_millis(0) };
        let decision = job.decide(command, &asked)?;
        decision.events.iter().for_each(|event| job.apply(event, asked.now));
        Ok(decision)
    }

    fn ask(key: &str) -> Command {
        let prompt = Prompt { key: key.into(), ..Prompt::default() };
        let (kind, topic) = (QuestionKind::AgentQuestion, Topic::new("any"));
        let question = Question::new(kind, topic, "may I?", "");
        Command::Ask { prompt, question }
    }

    fn answer(key: &str) -> Command {
        Command::Answer { key: key.into(), text: "allow".into() }
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
        decide(
            &mut job,
            &Command::Engage { process: 1, conversation, is_new: true, wall: WallLevel::A },
        );
        let decision = decide(&mut job, &account(1, 5));
        let spent = accounts::Command::Spend { agent: "claude".into(), micros: 5 };
        assert_eq!(decision.effects, [Effect::Account(spent)]);
        assert_eq!(decide(&mut job, &account(1, 5)), Decision::nothing());
        let conversation = Some("c".to_owned());
        decide(
            &mut job,
            &Command::Engage { process: 2, conversation, is_new: false, wall: WallLevel::A },
        );
        decide(&mut job, &account(2, 7));
        let begun = job.begun().unwrap();
        assert_eq!((begun.trail.usage.cost_micros, begun.counted), (12, used(7)));
        assert_eq!(begun.trail.conversation.as_ref().unwrap().counted, used(7));
        assert!(!begun.is_live(2), "it is accounted for");
        decide(
            &mut job,
            &Command::Engage { process: 3, conversation: None, is_new: true, wall: WallLevel::A },
        );
        assert_eq!(job.begun().unwrap().counted, Usage::default());
    }

    #[test]
    fn a_job_that_has_ended_is_gone_and_another_key_is_another_job() {
        let mut job = Job::start();
        let begin = |key: &str| Command::Begin { key: key.into(), agent: "claude".into() };
        decide(&mut job, &begin("one"));
        decide(&mut job, &ask("why"));
        let settle = Effect::Settle { topic: Topic::new("why") };
        assert_eq!(decide(&mut job, &begin("two")).effects, [settle]);
        assert_eq!(job.begun().unwrap().trail, Trail::default());
        decide(&mut job, &Command::End);
        assert_eq!(job, Job::none());
        assert_eq!(decide(&mut job, &Command::End), Decision::nothing());
    }

    #[test]
    fn what_an_earlier_version_kept_is_taken_over_once() {
        let kept = r#"{"v":1,"key":"k","agent":"claude","conversation":"c","process":2,
            "counted":{"input":1,"output":1,"cached":0,"cost_micros":9},"asked":{"why":"q3"}}"#;
        let kept: EarlierJob = serde_json::from_str(kept).unwrap();
        let mut job = Job::start();
        decide(&mut job, &Command::Import { job: kept.clone() });
        let begun = job.begun().unwrap();
        assert_eq!((begun.conversation(), begun.process), (Some("c"), 2));
        assert_eq!((begun.counted.cost_micros, begun.asked["why"].to_string()), (9, "q3".into()));
        assert_eq!(decide(&mut job, &Command::Import { job: kept }), Decision::nothing());
    }

    #[test]
    fn events_of_earlier_versions_are_read() {
        let events = [
            r#"{"begun":{"key":"k","agent":"claude"}}"#,
            r#"{"engaged":{"process":3,"conversation":null,"is_new":true}}"#,
            r#"{"accounted":{"process":3,"usage":{"cost_micros":4},"counted":{"cost_micros":4}}}"#,
            r#"{"engaged":{"process":4,"conversation":"c","is_new":false}}"#,
            r#"{"asked":{"key":"why","entry":"q1"}}"#,
        ];
        let mut job = Job::start();
        for event in events {
            job.apply(&serde_json::from_str(event).unwrap(), Time::from_millis(0));
        }
        let begun = job.begun().unwrap();
        assert_eq!((begun.conversation(), begun.counted.cost_micros), (Some("c"), 4));
        assert_eq!((begun.is_live(4), begun.is_live(3)), (true, false));
        assert_eq!(begun.asked["why"], "q1".parse().unwrap());
    }

    #[test]
    fn a_question_is_asked_once_and_a_persons_answer_stays_with_the_job() {
        let mut job = Job::start();
        decide(&mut job, &Command::Begin { key: "k".into(), agent: "claude".into() });
        let first = decide(&mut job, &ask("why"));
        let [Effect::Ask(question)] = &first.effects[..] else { panic!("{first:?}") };
        assert_eq!((question.subject.as_str(), first.events.len()), ("why", 1));
        // The wording may have changed; the inbox knows the question by its topic.
        assert_eq!(decide(&mut job, &ask("why")).events, []);
        let refused = decide_by(&Actor::Waypost, &mut job, &answer("why")).unwrap_err();
        assert_eq!(refused, Rejected::reserved("answering an agent"));
        let person = Actor::User("alice".into());
        let told = decide_by(&person, &mut job, &answer("why")).unwrap();
        assert_eq!(told.effects, [Effect::Settle { topic: Topic::new("why") }]);
        assert_eq!(job.begun().unwrap().trail.answers["why"], "allow");
        assert_eq!(decide(&mut job, &ask("why")), Decision::nothing());
        assert_eq!(decide_by(&person, &mut job, &answer("other")).unwrap(), Decision::nothing());
    }

    command_variants!(Command: Begin, Import, Engage, Account, Ask, Answer, End);

    fn event_line(event: &Event) -> String {
        Job::event_kind(event).to_owned()
    }

    #[test]
    fn every_command_has_an_answer_in_every_state() {
        let begin = Command::Begin { key: "k".into(), agent: "claude".into() };
        let kept = EarlierJob { key: "k".into(), agent: "claude".into(), ..EarlierJob::default() };
        let engage =
            Command::Engage { process: 1, conversation: None, is_new: true, wall: WallLevel::A };
        let commands = [
            ("begin", begin.clone()),
            ("import", Command::Import { job: kept }),
            ("engage", engage.clone()),
            ("account 1", account(1, 5)),
            ("ask", ask("why")),
            ("answer", answer("why")),
            ("end", Command::End),
        ];
        let mut matrix = Matrix::default();
        let accounted = account(1, 5);
        let asking = ask("why");
        let states: [(&str, &[&Command]); 6] = [
            ("none", &[]),
            ("begun", &[&begin]),
            ("engaged", &[&begin, &engage]),
            ("asking", &[&begin, &engage, &asking]),
            ("accounted", &[&begin, &engage, &accounted]),
            ("ended", &[&begin, &Command::End]),
        ];
        for (name, before) in states {
            matrix.state(name);
            let mut job = Job::start();
            before.iter().for_each(|command| drop(decide(&mut job, command)));
            for (written, command) in &commands {
                let person = Actor::User("alice".into());
                let is_answer = matches!(command, Command::Answer { .. });
                let by = if is_answer { &person } else { &Actor::Waypost };
                let asked = Asked { by, now: Time::from_millis(0) };
                let line = outcome(&job.decide(command, &asked), event_line);
                matrix.row((written, 10), variant_of(command), &line);
            }
        }
        insta::assert_snapshot!("job_by_commands", matrix.page);
        Matrix::assert_shows_all(&[matrix], VARIANTS);
    }
}
