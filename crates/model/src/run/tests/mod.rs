//! The run's rules as the specification states them.
//!
//! Plans and commands are written in a few words, so that a test reads like the story that it
//! tells. The machine is driven as the engine drives it: after each command, whatever follows by
//! itself is decided too.

mod apart;
mod at_work;
mod holding;
mod matrix;
mod notices;
mod phases;
mod planning;
mod properties;
mod random;
mod scale;
mod sequence;
mod tasks;
mod trail;
mod window;

use super::{
    Account, Active, Before, Command, Conversation, Depends, Earlier, EndStep, Event, Failure,
    Isolation, Mode, ParkCause, Parked, PhaseStage, Plan, PlannedTask, Priority, Prompt, Run,
    Settings, TaskStatus, Usage,
};
use crate::{
    actor::Actor,
    evidence::Evidence,
    id::{StreamName, TaskId},
    inbox::{self, Entry, Inbox, Question, QuestionKind, Subject, Topic},
    machine::{Asked, Decision, Effect, Machine as _, Rejected},
    matrix::{outcome, steps},
    next::NextStep,
    notice::Notice,
    retry::FailureClass,
    time::Time,
    trouble::Trouble,
};
use std::{collections::BTreeMap, time::Duration};

/// The graph of the seed's example.
const SEED_PLAN: &str = "
    0: T0.5.1 -; T0.5.2 -; T0.5.3 -
    1: T1.1; T1.2; T1.3 T1.1,T1.2; T1.4 T1.1; T1.5 T1.3,T1.4; T1.6 T1.3; T1.7 T1.5,T1.6";

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

fn stream() -> StreamName {
    Run::KIND.parse().unwrap()
}

/// What a question is about, in the run's own words.
fn topic_of(entry: &Entry) -> String {
    let (asker, topic) = entry.question.subject.read().unwrap();
    assert_eq!(asker, stream());
    topic.to_string()
}

fn person() -> Actor {
    Actor::User("mina".into())
}

fn agent() -> Actor {
    Actor::Agent { id: "claude".into(), attempt: 0 }
}

/// Reads a plan: a line per phase, `NUMBER: TASK; TASK`, each task an id and then, in any order,
/// the ids it depends on joined by commas (`-`: none; left out: the phase before), a priority
/// (`!high`), `[x]` when it is ticked and `=WORD` when it says something else than usual.
fn plan(text: &str) -> Plan {
    let mut tasks = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (phase, list) = line.split_once(':').unwrap();
        for entry in list.split(';') {
            let line = u32::try_from(tasks.len() + 1).unwrap();
            tasks.push(planned(entry, phase.parse().unwrap(), line));
        }
    }
    Plan::new("example".into(), BTreeMap::new(), tasks).unwrap()
}

fn planned(entry: &str, phase: u32, line: u32) -> PlannedTask {
    let mut words = entry.split_whitespace();
    let name = words.next().unwrap();
    let mut task = PlannedTask {
        id: id(name),
        title: format!("the work of {name}"),
        phase,
        depends: Depends::PhaseBefore,
        ticked: false,
        priority: Priority::Normal,
        line,
        details: None,
    };
    for word in words {
        match word {
            "-" => task.depends = Depends::On(Vec::new()),
            "[x]" => task.ticked = true,
            "!low" => task.priority = Priority::Low,
            "!high" => task.priority = Priority::High,
            "!critical" => task.priority = Priority::Critical,
            word if word.starts_with('=') => word[1..].clone_into(&mut task.title),
            ids => task.depends = Depends::On(ids.split(',').map(id).collect()),
        }
    }
    task
}

/// Settings under which a run never asks and joins nothing.
fn plain() -> Settings {
    Settings { same_error_limit: 0, ..Settings::default() }
}

/// A run with everything that happened to it.
#[derive(Debug, Default)]
struct Walk {
    run: Run,
    journal: Vec<(Event, Time)>,
    notices: Vec<Notice>,
    inbox: Inbox,
    now: Time,
}

impl Walk {
    /// Begins a run and goes through `script`, commands separated by `;`, none of them refused.
    fn of(plan_text: &str, settings: Settings, script: &str) -> Self {
        let mut walk = Self::default();
        let begin = Command::Begin { plan: plan(plan_text), settings };
        walk.give(&begin, &agent()).unwrap();
        walk.go(script);
        walk
    }

    fn go(&mut self, script: &str) {
        for line in script.split(';').map(str::trim).filter(|line| !line.is_empty()) {
            if let Err(rejected) = self.say(line) {
                panic!("`{line}` of `{script}` was refused: {rejected}");
            }
        }
    }

    /// One command as it is typed; `wait` lets every back-off pass.
    fn say(&mut self, line: &str) -> Result<Decision<Event>, Rejected> {
        if line == "wait" {
            self.now = self.now.plus(Duration::from_secs(1_000));
            return Ok(Decision::nothing());
        }
        let (by, command) = parse(line);
        self.give(&command, &by)
    }

    /// Gives a command and then everything that follows from it.
    fn give(&mut self, command: &Command, by: &Actor) -> Result<Decision<Event>, Rejected> {
        self.now = self.now.plus(Duration::from_secs(1));
        let mut all = self.commit(command, by)?;
        // Each phase can be opened, settled and closed again, and then the next one.
        let steps_max = 4 * self.run.active().map_or(0, |active| active.phases().count()) + 4;
        for _ in 0..steps_max {
            let Some(next) = self.run.follow_up() else { return Ok(all) };
            let more = self.commit(&next, &Actor::Waypost).expect("what follows is legal");
            all.events.extend(more.events);
            all.effects.extend(more.effects);
        }
        panic!("after {steps_max} steps something still follows from {command:?}");
    }

    fn commit(&mut self, command: &Command, by: &Actor) -> Result<Decision<Event>, Rejected> {
        let decision = self.run.decide(command, &Asked { by, now: self.now })?;
        for event in &decision.events {
            self.run.apply(event, self.now);
            self.journal.push((event.clone(), self.now));
        }
        for effect in &decision.effects {
            self.perform(effect);
        }
        Ok(decision)
    }

    fn perform(&mut self, effect: &Effect) {
        let command = match effect {
            Effect::Ask(question) => inbox::Command::Ask(question.clone().asked_by(&stream())),
            Effect::Settle { topic } => {
                inbox::Command::Settle { subject: Subject::of(&stream(), topic) }
            }
            Effect::Notify(notice) => return self.notices.push(notice.clone()),
            Effect::Account(_) | Effect::Remember(_) => return,
            Effect::SetTimer { .. } | Effect::CancelTimer { .. } => {
                panic!("a run sets no timers: {effect:?}")
            }
        };
        let asked = Asked { by: &Actor::Waypost, now: self.now };
        for event in self.inbox.decide(&command, &asked).unwrap().events {
            self.inbox.apply(&event, self.now);
        }
    }

    fn active(&self) -> &Active {
        self.run.active().expect("the run has begun")
    }

    /// Every list that is not empty, in the order of the file: `ready: T1; blocked: T2 T3`.
    fn lists(&self) -> String {
        let shown = self.active().render().tasks;
        let lists = TaskStatus::ALL.into_iter().filter(|status| !shown.of(*status).is_empty());
        let words = |status| {
            let ids: Vec<&str> = shown.of(status).iter().map(TaskId::as_str).collect();
            format!("{status}: {}", ids.join(" "))
        };
        lists.map(words).collect::<Vec<_>>().join("; ")
    }

    /// Where each phase is: `0 closed, 1 open, 2 waiting`.
    fn phases(&self) -> String {
        let words = self.active().phases().map(|(number, stage)| {
            let word = match stage {
                PhaseStage::Waiting => "waiting",
                PhaseStage::Open { .. } => "open",
                PhaseStage::Ending { step: EndStep::Joining, .. } => "joining",
                PhaseStage::Ending { step: EndStep::Stopped, .. } => "stopped",
                PhaseStage::Ending { step: EndStep::Approval, .. } => "asking",
                PhaseStage::Closed { .. } => "closed",
            };
            format!("{number} {word}")
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// The titles of what waits for a person.
    fn asked(&self) -> Vec<&str> {
        self.inbox.open().iter().map(|entry| entry.question.title.as_str()).collect()
    }

    fn attempts(&self, name: &str) -> u32 {
        self.active().task(&id(name)).unwrap().attempts
    }
}

fn parse(line: &str) -> (Actor, Command) {
    let by = [("person: ", person()), ("waypost: ", Actor::Waypost)];
    let found = by.into_iter().find_map(|(word, by)| Some((by, line.strip_prefix(word)?)));
    let (by, rest) = found.unwrap_or_else(|| (agent(), line));
    (by, command(rest))
}

fn conversation(agent: &str, id: &str) -> Conversation {
    let (agent, id) = (agent.to_owned(), id.to_owned());
    Conversation { agent, id, is_open: true, counted: Usage::default(), wall: None }
}

fn question(title: &str) -> Question<Topic> {
    let question = Question::new(QuestionKind::Permission, Topic::default(), title, title);
    question.choices(["allow", "deny"])
}

/// Reads a command in the notation of these tests.
fn command(line: &str) -> Command {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["start", name] => Command::Start { id: id(name) },
        ["claim", name] => Command::Claim { id: id(name) },
        ["done", name, rest @ ..] => Command::Done {
            id: id(name),
            attempt: attempt(rest),
            evidence: Evidence::Unverified,
            commit: rest.iter().find_map(|word| word.strip_prefix('@')).map(str::to_owned),
        },
        ["fail", name, rest @ ..] => {
            Command::Fail { id: id(name), attempt: attempt(rest), failure: failure(rest) }
        }
        ["interrupt", name, rest @ ..] => {
            Command::Interrupt { id: id(name), attempt: attempt(rest) }
        }
        ["revert", name] => Command::Revert { id: id(name) },
        ["retry", name] => Command::Retry { id: id(name) },
        ["skip", name] => Command::Skip { id: id(name) },
        ["satisfy", name] => Command::Satisfy { id: id(name) },
        ["resume"] => Command::Resume,
        ["follow"] => Command::Follow,
        ["approve", phase] => Command::ApprovePhase { phase: phase.parse().unwrap() },
        ["base", phase, commit] => {
            Command::BasePhase { phase: phase.parse().unwrap(), commit: (*commit).to_owned() }
        }
        ["join", "again"] => Command::JoinAgain,
        ["joined", phase, commit] => Command::PhaseJoined {
            phase: phase.parse().unwrap(),
            result: Ok(Some((*commit).to_owned())),
        },
        ["conflict", phase] => Command::PhaseJoined {
            phase: phase.parse().unwrap(),
            result: Err("the merge has conflicts.".into()),
        },
        ["mode", word] => Command::Configure { settings: Settings { mode: mode(word), ..plain() } },
        words => agent_command(words),
    }
}

/// Reads a command about a task's agent.
fn agent_command(words: &[&str]) -> Command {
    match words {
        ["engage", name, number, conversation_id] => Command::Engage {
            id: id(name),
            attempt: number.parse().unwrap(),
            conversation: conversation("claude", conversation_id),
        },
        ["account", name, tokens] => {
            let usage =
                Usage { input: tokens.parse().unwrap(), cost_micros: 7, ..Usage::default() };
            let account = Account { usage, counted: usage, result: Some("it is there".into()) };
            Command::Account { id: id(name), account }
        }
        ["park", name, number, seconds] => {
            let until = Time::from_millis(1_000 * seconds.parse::<i64>().unwrap());
            let parked = parked(ParkCause::Limit, Some(until));
            Command::Park { id: id(name), attempt: number.parse().unwrap(), parked }
        }
        ["hold", name, number, cause, agent] => {
            let cause = [ParkCause::Outage, ParkCause::SignIn, ParkCause::Budget]
                .into_iter()
                .find(|it| it.as_str() == *cause)
                .unwrap();
            let until = (cause != ParkCause::Budget).then(|| Time::from_millis(500_000));
            let parked = Parked { agent: (*agent).to_owned(), ..parked(cause, until) };
            Command::Park { id: id(name), attempt: number.parse().unwrap(), parked }
        }
        ["trouble", name, number, word] => {
            let trouble = Trouble::from_word(word).unwrap();
            let (why, until) = ("it says so".to_owned(), Time::from_millis(500_000));
            let parked = Parked::troubled(trouble, why, (until, 1));
            Command::Park { id: id(name), attempt: number.parse().unwrap(), parked }
        }
        ["report", word] => {
            let (trouble, why) = (Trouble::from_word(word).unwrap(), "it says so".to_owned());
            Command::ReportTrouble { trouble, why }
        }
        ["wake", "trouble", word] => {
            Command::WakeTrouble { trouble: Trouble::from_word(word).unwrap() }
        }
        ["wake", "account", agent] => Command::WakeAccount { agent: (*agent).to_owned() },
        ["wake", name] => Command::WakeTask { id: id(name) },
        ["ask", name, number, key, permit @ ..] => Command::Ask {
            id: id(name),
            attempt: number.parse().unwrap(),
            prompt: Prompt {
                key: (*key).to_owned(),
                permit: permit.first().map(ToString::to_string),
                text: "may I?".to_owned(),
            },
            question: question("may I?"),
        },
        ["answer", name, key, text] => {
            Command::Answer { id: id(name), key: (*key).to_owned(), text: (*text).to_owned() }
        }
        ["take", name] => Command::TakeOver { id: id(name) },
        ["return", name] => Command::HandBack { id: id(name) },
        words => panic!("`{}` is no command of these tests", words.join(" ")),
    }
}

fn parked(cause: ParkCause, until: Option<Time>) -> Parked {
    let (why, agent) = ("limit".into(), "claude".into());
    Parked { until, cause, why, agent, in_a_row: 1, trouble: None }
}

fn attempt(words: &[&str]) -> Option<u32> {
    words.iter().find_map(|word| word.strip_prefix('#')).map(|number| number.parse().unwrap())
}

/// `=WORD` is the failure's signature; another word its class.
fn failure(words: &[&str]) -> Failure {
    let signature = words.iter().find_map(|word| word.strip_prefix('=')).unwrap_or_default();
    let class = words.iter().find_map(|word| FailureClass::from_word(word)).unwrap_or_default();
    let resumes = words.contains(&"resumes");
    Failure { text: "it broke".into(), class, signature: signature.into(), resumes }
}

fn mode(word: &str) -> Mode {
    let all = [Mode::Normal, Mode::UltraThin, Mode::Ralph];
    all.into_iter().find(|mode| mode.as_str() == word).unwrap()
}

/// What a command led to, in one line: events, then effects, or the refusal.
fn summary(result: &Result<Decision<Event>, Rejected>) -> String {
    outcome(result, event_line)
}

/// An event as the journal names it, with what tells it apart.
fn event_line(event: &Event) -> String {
    let kind = Run::event_kind(event);
    let rest = match event {
        Event::Begun { plan, settings } => {
            format!("{} tasks, {}", plan.tasks.len(), settings.mode.as_str())
        }
        Event::Restored { before } => {
            format!("{} phases", before.phases.len())
        }
        Event::Replanned { plan } => format!("{} tasks", plan.tasks.len()),
        Event::Configured { settings } => settings.mode.as_str().to_owned(),
        Event::TaskStarted { id, attempt } => format!("{id} #{attempt}"),
        Event::TaskCompleted { id, evidence, .. } => format!("{id} ({evidence})"),
        Event::TaskFailed { id, reason, .. } => format!("{id} ({reason:?})"),
        Event::AttemptFailed { id, .. }
        | Event::AttemptInterrupted { id }
        | Event::TaskReopened { id }
        | Event::TaskWoken { id }
        | Event::TaskReturned { id } => id.to_string(),
        Event::AttemptEngaged { id, conversation } => format!("{id} in {}", conversation.id),
        Event::AttemptAccounted { id, account } => format!("{id} {}", account.usage.tokens()),
        Event::AttemptParked { id, parked } => format!("{id} ({})", parked.cause.as_str()),
        Event::AgentAsked { id, prompt } => format!("{id} {}", prompt.key),
        Event::AgentAnswered { id, key, text } => format!("{id} {key} {text}"),
        Event::TaskTaken { id, by } => format!("{id} by {by}"),
        Event::PhaseOpened { phase } => phase.to_string(),
        Event::PhaseBased { phase, commit } => format!("{phase} on {commit}"),
        Event::PhaseSettled { phase, step, .. } => format!("{phase} ({step:?})"),
        Event::PhaseClosed { phase, merge_commit: None } => phase.to_string(),
        Event::PhaseClosed { phase, merge_commit: Some(commit) } => format!("{phase} at {commit}"),
    };
    format!("{kind} {rest}")
}
