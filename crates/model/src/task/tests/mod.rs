//! The task machine against the seed's diagrams and the spec's rules.

mod arrows;
mod matrix;
mod phases;
mod rules;
mod seeds;

use super::*;
use crate::{
    actor::Actor,
    document::server::{AgentStatus, ServerTaskStatus, Transition},
    inbox::WantedKind,
    machine::{Asked, Decision, Effect, Machine as _, Rejected},
    run::{ParkCause, Parked, Usage},
    time::Time,
};
use std::collections::BTreeSet;

/// A task with its clock, and everything that it led to.
pub(super) struct World {
    pub(super) task: ServedTask,
    pub(super) now: Time,
    pub(super) log: Vec<Transition>,
    pub(super) effects: Vec<Effect>,
    pub(super) events: Vec<Event>,
    /// Both machines' states before and after each move.
    pub(super) moves: Vec<Arrow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrow {
    pub(super) task: (ServerTaskStatus, ServerTaskStatus),
    pub(super) agent: (AgentStatus, AgentStatus),
    pub(super) trigger: crate::document::server::Trigger,
}

pub(super) fn mina() -> Actor {
    Actor::User("mina".into())
}

pub(super) fn agent() -> Actor {
    Actor::Agent { id: "task_abc123".into(), attempt: 1 }
}

pub(super) fn id() -> crate::document::ServerTaskId {
    "task_abc123".parse().unwrap()
}

pub(super) fn fields() -> TaskFields {
    TaskFields {
        title: "a shop".into(),
        task_type: "create_app".into(),
        description: "sells tea".into(),
        ..TaskFields::default()
    }
}

pub(super) fn shape(phases: u32) -> TaskShape {
    let phase = |number: u32| ShapedPhase {
        name: format!("Phase {number}"),
        steps: vec!["one".into(), "two".into(), "three".into(), "four".into()],
    };
    TaskShape { phases: (1..=phases).map(phase).collect() }
}

pub(super) fn plan(number: u32) -> AttemptPlan {
    let (agent, values) = ("claude".to_owned(), BTreeSet::new());
    AttemptPlan { number, agent, conversation: None, values, from: None }
}

pub(super) fn workspace() -> TaskWorkspace {
    let (kind, folder) = (WorkspaceKind::Own, "/w/task_abc123".to_owned());
    TaskWorkspace { kind, folder, base: None }
}

impl World {
    pub(super) fn new() -> Self {
        let now = Time::from_millis(1_000_000);
        let (log, effects, events, moves) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { task: ServedTask::start(), now, log, effects, events, moves }
    }

    pub(super) fn draft() -> Self {
        let mut world = Self::new();
        let create = Command::Create { id: id(), fields: fields(), retry_of: None };
        world.give(&create);
        world
    }

    pub(super) fn pending(phases: u32) -> Self {
        let mut world = Self::draft();
        world.give(&Command::Submit { shape: shape(phases) });
        world
    }

    /// Assigned, and its agent is not started yet.
    pub(super) fn idle(phases: u32) -> Self {
        let mut world = Self::pending(phases);
        world.give(&assign(1));
        world
    }

    pub(super) fn running(phases: u32) -> Self {
        let mut world = Self::idle(phases);
        world.give(&Command::Launch { attempt: 1 });
        world
    }

    /// The phase is claimed and its verification is due.
    pub(super) fn verifying(phases: u32) -> Self {
        let mut world = Self::running(phases);
        world.say(10, complete(1));
        world
    }

    pub(super) fn review(phases: u32) -> Self {
        let mut world = Self::verifying(phases);
        world.give(&verify(1, true));
        world
    }

    pub(super) fn file(&self) -> &TaskFile {
        self.task.file().unwrap()
    }

    /// The states of both machines.
    pub(super) fn states(&self) -> (ServerTaskStatus, AgentStatus) {
        let file = self.task.trace().unwrap();
        (file.status, file.agent)
    }

    /// By Waypost.
    pub(super) fn give(&mut self, command: &Command) -> Decision<Event> {
        self.try_by(&Actor::Waypost, command).unwrap()
    }

    /// By a person.
    pub(super) fn person(&mut self, command: &Command) -> Decision<Event> {
        self.try_by(&mina(), command).unwrap()
    }

    pub(super) fn refused(&mut self, by: &Actor, command: &Command) -> Rejected {
        self.try_by(by, command).unwrap_err()
    }

    /// The agent says something at a place in the stream of its newest attempt.
    pub(super) fn say(&mut self, offset: u64, signal: TaskSignal) -> Decision<Event> {
        let attempt = self.file().attempt_number();
        let signals = vec![SpokenSignal { offset, signal, cut: Vec::new() }];
        self.give(&Command::Hear { attempt, signals, limits: SignalLimits::default() })
    }

    /// Decides as the ledger does: what follows by itself belongs to it.
    pub(super) fn try_by(
        &mut self,
        by: &Actor,
        command: &Command,
    ) -> Result<Decision<Event>, Rejected> {
        let mut all = self.step(by, command)?;
        while let Some(command) = self.task.follow_up() {
            let more = self.step(&Actor::Waypost, &command)?;
            assert!(!more.events.is_empty(), "what follows by itself changes something");
            all.events.extend(more.events);
            all.effects.extend(more.effects);
        }
        Ok(all)
    }

    fn step(&mut self, by: &Actor, command: &Command) -> Result<Decision<Event>, Rejected> {
        let decision = self.task.decide(command, &Asked { by, now: self.now })?;
        for event in &decision.events {
            let before = self.task.trace().cloned();
            self.log.extend(before.as_ref().and_then(|file| file.transition(event, self.now)));
            self.task.apply(event, self.now);
            if let (Event::Moved { trigger, .. }, Some(before)) = (event, before) {
                let after = self.task.trace().unwrap();
                let (task, agent) = ((before.status, after.status), (before.agent, after.agent));
                self.moves.push(Arrow { task, agent, trigger: *trigger });
            }
        }
        self.events.extend(decision.events.clone());
        self.effects.extend(decision.effects.clone());
        Ok(decision)
    }

    pub(super) fn pass(&mut self, seconds: u64) {
        self.now = self.now.plus(std::time::Duration::from_secs(seconds));
    }

    /// How many entries are open in the inbox, by what was asked and settled.
    pub(super) fn open_entries(&self) -> Vec<String> {
        let mut open: Vec<String> = Vec::new();
        for effect in &self.effects {
            match effect {
                Effect::Ask(question) => {
                    open.retain(|it| *it != question.subject.to_string());
                    open.push(question.subject.to_string());
                }
                Effect::Settle { topic } => open.retain(|it| *it != topic.to_string()),
                _ => {}
            }
        }
        open
    }
}

pub(super) fn assign(number: u32) -> Command {
    Command::Assign { plan: plan(number), workspace: workspace(), met: Vec::new() }
}

pub(super) fn complete(phase: u32) -> TaskSignal {
    TaskSignal::PhaseComplete { phase, deliverables: 9 }
}

pub(super) fn question(is_required: bool) -> TaskSignal {
    TaskSignal::Question(SpokenQuestion {
        category: QuestionCategory::Choice,
        question: "which tea?".into(),
        options: vec!["green".into(), "black".into()],
        default: Some("green".into()),
        is_required,
    })
}

pub(super) fn value(name: &str, is_required: bool) -> TaskSignal {
    TaskSignal::ValueWanted(ValueRequest {
        kind: WantedKind::ApiKey,
        name: name.into(),
        description: "to take money".into(),
        is_required,
        default: None,
    })
}

pub(super) fn problem(is_fatal: bool, recovery: Option<ProblemRecovery>) -> TaskSignal {
    let (message, details) = ("it broke".to_owned(), String::new());
    TaskSignal::Problem(SpokenProblem { is_fatal, message, details, recovery })
}

pub(super) fn report(is_passed: bool) -> TaskReport {
    let finding = |text: &str| crate::inbox::VerificationFinding {
        is_blocking: true,
        text: text.into(),
        file: Some("docs/a.md".into()),
        line: Some(3),
    };
    let findings = if is_passed { Vec::new() } else { vec![finding("too thin")] };
    TaskReport { is_passed, findings, deliverables: Vec::new() }
}

pub(super) fn verify(claim: u32, is_passed: bool) -> Command {
    Command::Verify {
        claim,
        report: report(is_passed),
        usage: Usage::default(),
        commit: Some("c0ffee".into()),
        diff: None,
        escalation_timeout: None,
    }
}

/// The verification's agent did not answer.
pub(super) fn give_up(claim: u32, why: &str) -> Command {
    let (why, seen) = (why.to_owned(), Box::default());
    Command::GiveUpVerifying { claim, why, seen, escalation_timeout: None }
}

pub(super) fn exit(attempt: u32, cause: ExitCause) -> Command {
    Command::Exit { attempt, cause, why: "killed".into() }
}

pub(super) fn parked(cause: ParkCause, until: Option<Time>) -> Parked {
    let (why, agent) = ("a limit".to_owned(), "claude".to_owned());
    Parked { until, cause, why, agent, in_a_row: 1, trouble: None }
}

pub(super) fn taken(reason: CheckpointReason) -> Command {
    let (commit, note) = (Some("c0ffee".to_owned()), String::new());
    Command::Checkpoint {
        taken: CheckpointTaken { reason, commit, deliverables: Vec::new(), said_to: 0, note },
    }
}

pub(super) fn approve() -> Command {
    Command::Approve { version: None }
}

pub(super) fn changes(text: &str) -> Command {
    Command::RequestChanges { version: None, text: text.into(), comments: Vec::new() }
}

pub(super) fn cancel() -> Command {
    Command::Cancel { why: String::new() }
}

pub(super) fn pause() -> Command {
    Command::Pause { why: String::new() }
}

pub(super) fn key(attempt: u32, offset: u64) -> ItemKey {
    ItemKey { attempt, offset }
}
