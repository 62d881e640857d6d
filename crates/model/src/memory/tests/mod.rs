//! The memory's rules, walked through with commands as they would be typed.

mod history;
mod matrix;
mod rules;
mod translating;

use super::*;
use crate::{
    actor::Actor,
    document::memory::{StepStatus, TaskResult},
    inbox::{self, Inbox, Subject},
    json::Json,
    machine::{Asked, Decision, Effect, Machine as _, Rejected},
    retry::FailureClass,
    time::Time,
};

/// 2026-11-17T10:00:00Z.
const TEN: i64 = 1_794_909_600_000;

/// A memory that commands are given to, one second after another.
#[derive(Debug)]
struct Walk {
    memory: Memory,
    inbox: Inbox,
    timers: Vec<(String, Time)>,
    now: Time,
    journal: Vec<(Event, Time)>,
}

impl Walk {
    fn new() -> Self {
        Self {
            memory: Memory::start(),
            inbox: Inbox::default(),
            timers: Vec::new(),
            now: Time::from_millis(TEN),
            journal: Vec::new(),
        }
    }

    /// Lines divided by `;`.
    fn of(script: &str) -> Self {
        let mut walk = Self::new();
        for line in script.split(';').map(str::trim).filter(|line| !line.is_empty()) {
            walk.give(line).unwrap_or_else(|rejected| panic!("{line}: {rejected}"));
        }
        walk
    }

    fn give(&mut self, line: &str) -> Result<Decision<Event>, Rejected> {
        if let Some(seconds) = line.strip_prefix("wait ") {
            self.now =
                Time::from_millis(self.now.millis() + seconds.parse::<i64>().unwrap() * 1_000);
            return Ok(Decision::nothing());
        }
        self.now = Time::from_millis(self.now.millis() + 1_000);
        let (by, command) = parse(line);
        self.command(&by, &command)
    }

    fn command(&mut self, by: &Actor, command: &Command) -> Result<Decision<Event>, Rejected> {
        let decision = self.memory.decide(command, &Asked { by, now: self.now })?;
        for event in &decision.events {
            self.memory.apply(event, self.now);
            self.journal.push((event.clone(), self.now));
        }
        decision.effects.iter().for_each(|effect| self.perform(effect));
        Ok(decision)
    }

    fn perform(&mut self, effect: &Effect) {
        let stream = "memory".parse().unwrap();
        let command = match effect {
            Effect::Ask(question) => inbox::Command::Ask(question.clone().asked_by(&stream)),
            Effect::Settle { topic } => {
                inbox::Command::Settle { subject: Subject::of(&stream, topic) }
            }
            Effect::SetTimer { topic, at } => {
                return self.timers.push((topic.to_string(), *at));
            }
            Effect::CancelTimer { topic } => {
                return self.timers.retain(|(known, _)| *known != topic.to_string());
            }
            other => panic!("the memory does not do this: {other:?}"),
        };
        let asked = Asked { by: &Actor::Waypost, now: self.now };
        for event in self.inbox.decide(&command, &asked).unwrap().events {
            self.inbox.apply(&event, self.now);
        }
    }

    fn ask(&self, line: &str) -> Result<Decision<Event>, Rejected> {
        let (by, command) = parse(line);
        self.memory.decide(&command, &Asked { by: &by, now: self.now })
    }

    fn kept(&self) -> &KeptTask {
        self.memory.current().expect("a task is current")
    }

    fn step(&self, id: u32) -> &crate::document::memory::Step {
        self.kept().step(id).expect("it is a step")
    }
}

fn ending() -> Ending {
    Ending::default()
}

/// `person: step retry 2` and the like; an agent gives it without a word in front.
fn parse(line: &str) -> (Actor, Command) {
    let (who, rest) = line.split_once(": ").unwrap_or(("agent", line));
    let by = match who {
        "person" => Actor::User("mina".into()),
        "waypost" => Actor::Waypost,
        _ => Actor::Agent { id: "T1".into(), attempt: 1 },
    };
    let mut words = rest.split(' ');
    let (part, verb) = (words.next().unwrap(), words.next().unwrap_or_default());
    let rest: Vec<&str> = words.collect();
    let command = match part {
        "open" => Command::Open,
        "prune" => Command::Prune,
        "mend" => Command::Mend,
        "note" => Command::Note {
            kind: NoteKind::Lesson,
            text: verb.into(),
            commit: None,
            files: Vec::new(),
        },
        "document" => Command::NoteDocument { file: verb.into(), hash: "abc".into() },
        "restore" => Command::Restore { state: Some(Box::default()), history: None },
        "take" => Command::TakeOver { state: Box::default(), history: Box::default() },
        "record" => Command::Record { work: Box::new(work(verb)) },
        "new" => {
            let draft = TaskDraft { name: verb.into(), ..TaskDraft::default() };
            Command::NewTask { draft: Box::new(draft) }
        }
        "add" => {
            let dependencies = rest.iter().filter_map(|word| word.parse().ok()).collect();
            let expected = rest.iter().find_map(|word| word.strip_suffix('s')?.parse().ok());
            let draft = StepDraft {
                name: verb.into(),
                dependencies,
                expected_seconds: expected,
                ..StepDraft::default()
            };
            Command::AddStep { task: None, draft: Box::new(draft) }
        }
        "task" => {
            let id = rest.iter().find_map(|word| word.parse().ok());
            Command::Task { id, act: task_act(verb) }
        }
        "step" => {
            let step = rest[0].parse().unwrap();
            Command::Step { task: None, step, act: step_act(verb, &rest[1..]) }
        }
        other => panic!("{other} is no command"),
    };
    (by, command)
}

fn task_act(verb: &str) -> TaskAct {
    match verb {
        "start" => TaskAct::Start,
        "pause" => TaskAct::Pause,
        "resume" => TaskAct::Resume,
        "fail" => TaskAct::Fail { message: "no".into() },
        "recover" => TaskAct::Recover { how: String::new() },
        "cancel" => TaskAct::Cancel { ending: ending() },
        "close" => TaskAct::Close { ending: ending() },
        "complete" => TaskAct::Complete { partial: false, ending: ending() },
        "partial" => TaskAct::Complete { partial: true, ending: ending() },
        "replan" => TaskAct::Replan,
        "amend" => {
            let amendment = Amendment { goal: Some("another".into()), ..Amendment::default() };
            TaskAct::Amend { amendment: Box::new(amendment) }
        }
        other => panic!("{other} is nothing to do with a task"),
    }
}

fn step_act(verb: &str, rest: &[&str]) -> StepAct {
    match verb {
        "start" => StepAct::Start,
        "complete" => StepAct::Complete { output: Json::Null, artifacts: Vec::new() },
        "fail" => {
            let class = rest.first().and_then(|word| FailureClass::from_word(word));
            let needs = rest.iter().filter_map(|word| word.parse().ok()).collect();
            let (class, message) = (class.unwrap_or_default(), "broke".into());
            StepAct::Fail { failure: StepFailure { class, message, needs } }
        }
        "retry" => StepAct::Retry { agent: rest.first().map(|name| (*name).to_owned()) },
        "escalate" => StepAct::Escalate { why: "stuck".into() },
        "output" => StepAct::SetOutput { output: Json::from("text") },
        "change" => {
            let draft = StepDraft { name: "other".into(), ..StepDraft::default() };
            StepAct::Change { draft: Box::new(draft) }
        }
        "remove" => StepAct::Remove,
        "overdue" => StepAct::Overdue,
        other => panic!("{other} is nothing to do with a step"),
    }
}

fn work(source: &str) -> FinishedWork {
    FinishedWork {
        source: source.into(),
        name: format!("work {source}"),
        result: TaskResult::Success,
        started_at: Time::from_millis(TEN - 60_000),
        completed_at: Time::from_millis(TEN),
        summary: "done".into(),
        artifacts: Vec::new(),
        metrics: crate::document::memory::TaskMetrics::default(),
        lessons: vec!["a lesson".into()],
    }
}

/// A task in progress with three steps, of which the second waits for the first.
const THREE: &str = "new cart; add design; add build 1; add test; task start";

#[test]
fn a_replayed_journal_gives_the_same_memory() {
    let walk = Walk::of(&format!(
        "{THREE}; step start 1; step complete 1; step start 2; step fail 2; wait 2; step retry 2; \
         step fail 2 structural; task replan; add again 1; note n; record run/1; new next; \
         task cancel; task start; task complete"
    ));
    let mut again = Memory::start();
    for (event, at) in &walk.journal {
        let text = serde_json::to_string(event).unwrap();
        let kind = Memory::event_kind(event);
        assert!(text.contains(kind), "{kind} is not in {text}");
        let read: Event = serde_json::from_str(&text).unwrap();
        assert_eq!(read, *event);
        again.apply(&read, *at);
    }
    assert_eq!(again, walk.memory);
    let text = serde_json::to_string(&again).unwrap();
    assert_eq!(serde_json::from_str::<Memory>(&text).unwrap(), again);
    assert_eq!(walk.step_statuses(), Vec::<StepStatus>::new());
}

impl Walk {
    fn step_statuses(&self) -> Vec<StepStatus> {
        let steps = self.memory.current().map(|kept| kept.task.plan.steps.clone());
        steps.unwrap_or_default().iter().map(|step| step.status).collect()
    }
}
