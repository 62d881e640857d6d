//! The workflow's rules as the specification states them.
//!
//! Commands are written as a person or an agent would type them, so that a test reads like the
//! story that it tells: `start chat; advance cp-1; gate pass review_clean_pass`. An agent speaks
//! unless a line begins with `person:` or `waypost:`.

mod gates;
mod loading;
mod matrix;
mod properties;
mod rules;
mod translating;

use super::{
    CheckpointContract, CheckpointRow, CheckpointStep, Claim, Command, ContractCheckpoint, Event,
    Feature, FindingSeverity, GateName, Gates, Phase, Requirement, Review, ReviewFinding, Strategy,
    Validation, Workflow, WorkflowState,
};
use crate::{
    actor::Actor,
    evidence::Evidence,
    id::{CheckpointId, StreamName},
    inbox::{self, Entry, Inbox, Subject},
    machine::{Asked, Decision, Effect, Machine as _, Rejected},
    matrix::{outcome, steps},
    next::NextStep,
    retry::FailureClass,
    time::Time,
};

fn stream() -> StreamName {
    "workflow:main".parse().unwrap()
}

/// What a question is about, in the workflow's own words.
fn topic_of(entry: &Entry) -> String {
    let (asker, topic) = entry.question.subject.read().unwrap();
    assert_eq!(asker, stream());
    topic.to_string()
}

/// The limit that the seed has.
const MAX_ITERATIONS: u32 = 3;

/// The way from nothing into each phase, without the last gate of the phase.
const TO_REVIEW: &str = "start chat; advance cp-1 cp-2";
const TO_IMPLEMENT: &str =
    "start chat; advance cp-1 cp-2; gate pass review_clean_pass; advance --strategy subagent";
const TO_PR: &str = "start chat; advance cp-1; gate pass review_clean_pass; advance; \
     checkpoint start cp-1; checkpoint pass cp-1; gate pass architect_verified; advance";
const TO_DONE: &str = "start chat; advance cp-1; gate pass review_clean_pass; advance; \
     checkpoint start cp-1; checkpoint pass cp-1; gate pass architect_verified; advance; \
     gate pass re_review_clean; advance";

fn id(text: &str) -> CheckpointId {
    text.parse().unwrap()
}

fn person() -> Actor {
    Actor::User("mina".into())
}

fn agent() -> Actor {
    Actor::Agent { id: "claude".into(), attempt: 0 }
}

/// A workflow with everything that happened to it.
#[derive(Debug, Default)]
struct Walk {
    state: Workflow,
    journal: Vec<(Event, Time)>,
    inbox: Inbox,
    now: Time,
}

impl Walk {
    /// Goes through `script`, commands separated by `;`, none of which may be refused.
    fn of(script: &str) -> Self {
        let mut walk = Self::default();
        for line in script.split(';').map(str::trim).filter(|line| !line.is_empty()) {
            if let Err(rejected) = walk.say(line) {
                panic!("`{line}` of `{script}` was refused: {rejected}");
            }
        }
        walk
    }

    /// One command as it is typed.
    fn say(&mut self, line: &str) -> Result<Decision<Event>, Rejected> {
        let (by, command) = parse(line);
        self.give(&command, &by)
    }

    fn give(&mut self, command: &Command, by: &Actor) -> Result<Decision<Event>, Rejected> {
        self.now = Time::from_millis(self.now.millis() + 1_000);
        let decision = self.state.decide(command, &Asked { by, now: self.now })?;
        for event in &decision.events {
            self.state.apply(event, self.now);
            self.journal.push((event.clone(), self.now));
        }
        for effect in &decision.effects {
            self.put_into_inbox(effect);
        }
        Ok(decision)
    }

    fn put_into_inbox(&mut self, effect: &Effect) {
        let command = match effect {
            Effect::Ask(question) => inbox::Command::Ask(question.clone().asked_by(&stream())),
            Effect::Settle { topic } => {
                inbox::Command::Settle { subject: Subject::of(&stream(), topic) }
            }
            Effect::Notify(_)
            | Effect::Account(_)
            | Effect::Remember(_)
            | Effect::SetTimer { .. }
            | Effect::CancelTimer { .. } => return,
        };
        let asked = Asked { by: &Actor::Waypost, now: self.now };
        for event in self.inbox.decide(&command, &asked).unwrap().events {
            self.inbox.apply(&event, self.now);
        }
    }

    /// What a command would lead to, without doing it.
    fn ask(&self, line: &str) -> Result<Decision<Event>, Rejected> {
        let (by, command) = parse(line);
        self.state.decide(&command, &Asked { by: &by, now: self.now })
    }

    fn feature(&self) -> &Feature {
        self.state.feature.as_ref().expect("the script starts a feature")
    }

    /// The state in one line: phase, strategy, passed gates, checkpoints.
    fn line(&self) -> String {
        let feature = self.feature();
        let gates: Vec<&str> = feature.passes.iter().map(|pass| pass.gate.as_str()).collect();
        let rows = feature.checkpoints.iter();
        let rows: Vec<String> =
            rows.map(|(id, row)| format!("{id} {}/{}", row.status, row.iteration)).collect();
        let strategy = feature.strategy.map_or("-", Strategy::as_str);
        format!("{} {strategy} [{}] {}", feature.phase, gates.join(" "), rows.join(", "))
    }
}

fn parse(line: &str) -> (Actor, Command) {
    match line.strip_prefix("person: ") {
        Some(rest) => (person(), command(rest)),
        None => match line.strip_prefix("waypost: ") {
            Some(rest) => (Actor::Waypost, command(rest)),
            None => (agent(), command(line)),
        },
    }
}

/// Reads a command in the notation of these tests.
fn command(line: &str) -> Command {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["start", feature @ ..] => {
            Command::Start { feature: feature.join(" "), max_iterations: MAX_ITERATIONS }
        }
        ["advance", rest @ ..] => advance(rest),
        ["back"] => Command::Back,
        ["contract"] => Command::SetContract { contract: chain(&["cp-1", "cp-2"]) },
        ["gate", "pass", gate] => pass(gate, usual_evidence(gate), usual_needs(gate)),
        ["gate", "ask", gate] => {
            let needs = Requirement { human: true, ..usual_needs(gate) };
            pass(gate, usual_evidence(gate), needs)
        }
        ["gate", "confirm", gate] => Command::ConfirmGate { gate: gate_name(gate), tree: None },
        ["gate", "decline", gate] => Command::DeclineGate { gate: gate_name(gate) },
        ["gate", "reset", gate] => Command::ResetGate { gate: gate_name(gate) },
        ["gate", "stale", gate] => Command::GateStale { gate: gate_name(gate) },
        ["review", gate, blocking] => Command::Review { review: reviewed(gate, blocking) },
        ["checkpoint", verb, name, rest @ ..] => {
            Command::Checkpoint { id: id(name), step: step(verb, rest) }
        }
        ["suspend", reason @ ..] => Command::Suspend { reason: reason.join(" ") },
        ["resume"] => Command::Resume,
        ["restart", feature @ ..] => Command::Restart {
            feature: (!feature.is_empty()).then(|| feature.join(" ")),
            max_iterations: MAX_ITERATIONS,
        },
        ["adopt"] => Command::Adopt { feature: Box::new(found_in_a_file()) },
        _ => panic!("`{line}` is no command of these tests"),
    }
}

fn advance(words: &[&str]) -> Command {
    let (mut checkpoints, mut contract, mut strategy) = (Vec::new(), None, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--contract" => contract = Some(chain(&["cp-1", "cp-2"])),
            "--strategy" => {
                let named = |each: &Strategy| Some(&each.as_str()) == words.as_slice().first();
                let all = [Strategy::Direct, Strategy::Subagent, Strategy::AgentTeams];
                strategy = all.into_iter().find(named);
                words.next();
            }
            name => checkpoints.push(id(name)),
        }
    }
    Command::Advance { checkpoints, contract, strategy }
}

fn step(verb: &str, rest: &[&str]) -> CheckpointStep {
    match verb {
        "start" => CheckpointStep::START,
        "pass" if rest == ["checked"] => CheckpointStep::Pass { evidence: check("cargo test") },
        "pass" => CheckpointStep::Pass { evidence: Evidence::Claimed },
        "fail" => {
            let class = rest.first().map(|word| FailureClass::from_word(word).unwrap());
            CheckpointStep::Fail { class: class.unwrap_or_default() }
        }
        "escalate" => CheckpointStep::Escalate,
        "reopen" => CheckpointStep::Reopen,
        _ => panic!("`{verb}` is no step of a checkpoint"),
    }
}

fn gate_name(word: &str) -> GateName {
    GateName::from_word(word).unwrap()
}

fn pass(gate: &str, evidence: Vec<Evidence>, needs: Requirement) -> Command {
    Command::PassGate { gate: gate_name(gate), claim: Claim { evidence, tree: None }, needs }
}

/// A report of the agent itself where that is enough, else a check.
fn usual_evidence(gate: &str) -> Vec<Evidence> {
    match gate {
        "re_review_clean" => vec![check("cargo test")],
        _ => vec![report(0)],
    }
}

fn usual_needs(gate: &str) -> Requirement {
    let check = (gate == "re_review_clean").then(|| "cargo test".to_owned());
    Requirement { check, ..Requirement::default() }
}

fn check(command: &str) -> Evidence {
    Evidence::Check { command: command.into(), tree: None }
}

/// A review with so many blocking findings and a minor one.
fn reviewed(gate: &str, blocking: &str) -> Review {
    let finding = |severity| ReviewFinding {
        severity,
        file: Some("src/chat.rs".into()),
        line: Some(7),
        text: "a message can be lost".into(),
    };
    let blocking: usize = blocking.parse().unwrap();
    let blocking = (0..blocking).map(|_| finding(FindingSeverity::Blocking));
    Review {
        gate: gate_name(gate),
        agent: "claude".into(),
        tree: Some("t1".into()),
        findings: blocking.chain([finding(FindingSeverity::Minor)]).collect(),
        usage: crate::run::Usage::default(),
    }
}

fn report(blocking: u32) -> Evidence {
    Evidence::SelfReported { blocking, report: "review.md".into() }
}

/// A contract in which each checkpoint waits for the one before.
fn chain(ids: &[&str]) -> CheckpointContract {
    let before = [None].into_iter().chain(ids.iter().map(|id| Some(*id)));
    let each = |(name, before): (&&str, Option<&str>)| ContractCheckpoint {
        id: id(name),
        description: format!("what {name} is for"),
        interface: vec![format!("src/{name}.rs: fn run()")],
        tests: vec![format!("tests/{name}.rs")],
        validation: Validation { command: "cargo test".into(), expected: None },
        dependencies: before.map(id).into_iter().collect(),
    };
    CheckpointContract { checkpoints: ids.iter().zip(before).map(each).collect() }
}

/// The seed's example as a person adopts it.
fn found_in_a_file() -> Feature {
    let file: WorkflowState = serde_json::from_str(loading::SEED).unwrap();
    file.to_feature(MAX_ITERATIONS, "mina", |stamp| {
        stamp.to_time(|_| jiff::tz::Offset::constant(9))
    })
}

/// What a command led to, in one line: events, then effects, or the refusal.
fn summary(result: &Result<Decision<Event>, Rejected>) -> String {
    outcome(result, event_line)
}

/// An event as the journal names it, with what tells it apart.
fn event_line(event: &Event) -> String {
    let kind = Workflow::event_kind(event);
    let rest = match event {
        Event::Started { feature, .. } => feature.clone(),
        Event::CheckpointsSet { ids } => {
            ids.iter().map(CheckpointId::as_str).collect::<Vec<_>>().join(" ")
        }
        Event::ContractSet { contract } => format!("of {}", contract.checkpoints.len()),
        Event::PhaseEntered { phase, strategy: None } => phase.to_string(),
        Event::PhaseEntered { phase, strategy: Some(strategy) } => format!("{phase} {strategy}"),
        Event::WentBack { phase, commits_held: false } => phase.to_string(),
        Event::WentBack { phase, commits_held: true } => format!("{phase}, commits held"),
        Event::GatePassed { gate, evidence, .. } => {
            let evidence: Vec<String> = evidence.iter().map(ToString::to_string).collect();
            format!("{gate} ({})", evidence.join(", "))
        }
        Event::GateAsked { gate, .. } | Event::GateDeclined { gate } => gate.to_string(),
        Event::GateReset { gate, why } => format!("{gate} ({why:?})"),
        Event::Reviewed { review } => {
            format!("{} ({} blocking)", review.gate, review.blocking())
        }
        Event::CheckpointStarted { id, .. } | Event::CheckpointReopened { id } => id.to_string(),
        Event::CheckpointPassed { id, evidence } => format!("{id} ({evidence})"),
        Event::CheckpointFailed { id, iteration, .. } => format!("{id}, iteration {iteration}"),
        Event::CheckpointEscalated { id, class } => format!("{id} ({class:?})"),
        Event::Suspended { reason, by } => format!("{reason} (by {by})"),
        Event::Resumed => String::new(),
        Event::Adopted { feature } => format!("{} in {}", feature.name, feature.phase),
    };
    format!("{kind} {rest}").trim_end().to_owned()
}
