//! The workflow's rules: which command is legal when, and what it leads to.
//!
//! | command | legal when |
//! |---|---|
//! | start | no workflow, or DONE |
//! | advance | the gates of the phase are passed, its checkpoints too where it has them |
//! | back | REVIEW, IMPLEMENT, PR |
//! | gate pass | the phase that owns the gate, with the evidence it needs |
//! | checkpoint … | IMPLEMENT only |
//!
//! Apart from `gate pass` and `advance`, no command leaves an agent with more rights to commit,
//! push or open a pull request than it had before; `tests.rs` holds that as a property.

use crate::{
    actor::Actor,
    answer::{Answer, Consequence, OutsideFacts},
    code::Code,
    document::Document as _,
    evidence::Evidence,
    id::CheckpointId,
    inbox::{Question, QuestionKind, Topic},
    machine::{Asked, Decision, Effect, Machine, Rejected},
    next::NextStep,
    retry::{FailureClass, Outlook, Policy, Scope},
    time::Time,
    workflow::{
        Checkpoint, CheckpointContract, CheckpointStatus, Claim, Feature, GateName, Phase,
        Requirement, Review, Rights, RightsSettings, Strategy, Suspension, Workflow, WorkflowTopic,
        advice::step_of, gate, topic,
    },
};
use serde::{Deserialize, Serialize};

/// What an actor wants of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Start {
        feature: String,
        max_iterations: u32,
    },
    /// The next phase. `checkpoints` and `contract` matter in DESIGN, `strategy` in REVIEW.
    Advance {
        checkpoints: Vec<CheckpointId>,
        contract: Option<CheckpointContract>,
        strategy: Option<Strategy>,
    },
    Back,
    SetContract {
        contract: CheckpointContract,
    },
    /// Where only a person's word is missing, it is asked for in the inbox.
    PassGate {
        gate: GateName,
        claim: Claim,
        needs: Requirement,
    },
    /// By a person: what was asked for a gate is given. `tree` is the content as it is now.
    ConfirmGate {
        gate: GateName,
        tree: Option<String>,
    },
    /// By a person: what was asked for a gate is not given.
    DeclineGate {
        gate: GateName,
    },
    ResetGate {
        gate: GateName,
    },
    /// By Waypost: the content that the gate's evidence was about has changed.
    GateStale {
        gate: GateName,
    },
    /// By Waypost: what a reviewer found.
    Review {
        review: Review,
    },
    Checkpoint {
        id: CheckpointId,
        step: CheckpointStep,
    },
    Suspend {
        reason: String,
    },
    /// Ends a suspension.
    Resume,
    /// Begins again, with the same feature unless one is given.
    Restart {
        feature: Option<String>,
        max_iterations: u32,
    },
    /// Makes a state that was found in a file, without a journal, the beginning of one.
    Adopt {
        feature: Box<Feature>,
    },
}

impl Command {
    /// Whether it opens something, or may, by a person's word alone.
    pub fn opens_by_word(&self) -> bool {
        match self {
            Self::PassGate { claim, .. } => {
                claim.evidence.iter().any(|it| matches!(it, Evidence::Human { .. }))
            }
            // Without a feature, or with one that has just begun, nothing is closed.
            Self::ConfirmGate { .. }
            | Self::Suspend { .. }
            | Self::Restart { .. }
            | Self::Adopt { .. } => true,
            Self::Start { .. }
            | Self::Advance { .. }
            | Self::Back
            | Self::SetContract { .. }
            | Self::DeclineGate { .. }
            | Self::ResetGate { .. }
            | Self::GateStale { .. }
            | Self::Review { .. }
            | Self::Checkpoint { .. }
            | Self::Resume => false,
        }
    }
}

/// What can be done with one checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointStep {
    /// `conversation`: the agent's own, where it is an agent that starts it and its program says so.
    Start {
        conversation: Option<String>,
    },
    Pass {
        evidence: Evidence,
    },
    Fail {
        class: FailureClass,
    },
    Escalate,
    Reopen,
}

impl CheckpointStep {
    /// A start by someone who is in no conversation.
    pub const START: Self = Self::Start { conversation: None };
}

/// What happened to a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Started {
        feature: String,
        max_iterations: u32,
    },
    CheckpointsSet {
        ids: Vec<CheckpointId>,
    },
    ContractSet {
        contract: CheckpointContract,
    },
    PhaseEntered {
        phase: Phase,
        strategy: Option<Strategy>,
    },
    WentBack {
        phase: Phase,
        commits_held: bool,
    },
    GatePassed {
        gate: GateName,
        evidence: Vec<Evidence>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// All but a person's word is there; it was asked for.
    GateAsked {
        gate: GateName,
        evidence: Vec<Evidence>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    GateDeclined {
        gate: GateName,
    },
    GateReset {
        gate: GateName,
        why: GateReset,
    },
    Reviewed {
        review: Review,
    },
    CheckpointStarted {
        id: CheckpointId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conversation: Option<String>,
    },
    CheckpointPassed {
        id: CheckpointId,
        evidence: Evidence,
    },
    CheckpointFailed {
        id: CheckpointId,
        iteration: u32,
        class: FailureClass,
    },
    CheckpointEscalated {
        id: CheckpointId,
        class: FailureClass,
    },
    CheckpointReopened {
        id: CheckpointId,
    },
    Suspended {
        reason: String,
        by: Actor,
    },
    Resumed,
    Adopted {
        feature: Box<Feature>,
    },
}

/// Why a gate is closed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateReset {
    Asked,
    WentBack,
    Stale,
}

impl Machine for Workflow {
    type Command = Command;
    type Event = Event;

    const KIND: &'static str = "workflow";
    // 2: a gate may be asked for. 3: a review is recorded.
    const FORMAT: u32 = 3;

    fn start() -> Self {
        Self::default()
    }

    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        match (&self.feature, command) {
            (None, Command::Start { .. }) => start(command),
            (Some(feature), Command::Start { .. }) if feature.is_done() => start(command),
            (Some(feature), Command::Start { .. }) => Err(Rejected::rule(
                Code::FeatureActive,
                format!("`{}` is in {}; only one feature at a time", feature.name, feature.phase),
            )
            .next(NextStep::ResumeFeature)),
            (found, Command::Adopt { feature }) => adopt(found.as_ref(), feature, asked.by),
            (None, _) => Err(Rejected::rule(Code::NoWorkflow, "no workflow is active")
                .next(NextStep::StartFeature)),
            (Some(feature), Command::Restart { feature: name, max_iterations }) => {
                restart(feature, name.as_ref(), *max_iterations, asked.by)
            }
            (Some(feature), _) if feature.is_done() => {
                Err(Rejected::rule(Code::FeatureDone, format!("`{}` is done", feature.name))
                    .next(NextStep::StartFeature))
            }
            (Some(feature), _) => feature.decide(command, asked),
        }
    }

    fn apply(&mut self, event: &Event, at: Time) {
        match event {
            Event::Started { feature, max_iterations } => {
                self.feature = Some(Feature::new(feature.clone(), *max_iterations, at));
            }
            Event::Adopted { feature } => self.feature = Some((**feature).clone()),
            _ => {}
        }
        if let Some(feature) = &mut self.feature {
            feature.apply(event, at);
            feature.updated_at = at;
        }
    }

    fn answered<F: OutsideFacts>(
        &self,
        answer: &Answer<'_>,
        facts: &F,
    ) -> Result<Consequence<Command>, F::Error> {
        topic::consequence_of(answer, facts)
    }

    fn event_kind(event: &Event) -> &'static str {
        match event {
            Event::Started { .. } => "started",
            Event::CheckpointsSet { .. } => "checkpoints_set",
            Event::ContractSet { .. } => "contract_set",
            Event::PhaseEntered { .. } => "phase_entered",
            Event::WentBack { .. } => "went_back",
            Event::GatePassed { .. } => "gate_passed",
            Event::GateAsked { .. } => "gate_asked",
            Event::GateDeclined { .. } => "gate_declined",
            Event::GateReset { .. } => "gate_reset",
            Event::Reviewed { .. } => "reviewed",
            Event::CheckpointStarted { .. } => "checkpoint_started",
            Event::CheckpointPassed { .. } => "checkpoint_passed",
            Event::CheckpointFailed { .. } => "checkpoint_failed",
            Event::CheckpointEscalated { .. } => "checkpoint_escalated",
            Event::CheckpointReopened { .. } => "checkpoint_reopened",
            Event::Suspended { .. } => "suspended",
            Event::Resumed => "resumed",
            Event::Adopted { .. } => "adopted",
        }
    }
}

fn start(command: &Command) -> Result<Decision<Event>, Rejected> {
    let Command::Start { feature, max_iterations } = command else {
        return Err(Rejected::misrouted("start"));
    };
    Ok(Decision::events([started(feature, *max_iterations)?]))
}

fn started(feature: &str, max_iterations: u32) -> Result<Event, Rejected> {
    let feature = feature.trim().to_owned();
    if feature.is_empty() {
        return Err(Rejected::rule(Code::NameMissing, "a feature needs a name")
            .next(NextStep::StartFeature));
    }
    Ok(Event::Started { feature, max_iterations: max_iterations.max(1) })
}

fn restart(
    found: &Feature,
    name: Option<&String>,
    max_iterations: u32,
    by: &Actor,
) -> Result<Decision<Event>, Rejected> {
    if !by.is_person() {
        return Err(Rejected::reserved("restarting a workflow"));
    }
    let settled = settle_questions(found);
    let event = started(name.unwrap_or(&found.name), max_iterations)?;
    Ok(settled.into_iter().fold(Decision::events([event]), Decision::with))
}

fn adopt(found: Option<&Feature>, file: &Feature, by: &Actor) -> Result<Decision<Event>, Rejected> {
    if !by.is_person() {
        return Err(Rejected::reserved("adopting a state file"));
    }
    if let Some(found) = found {
        let message = format!("the journal already has `{}` in {}", found.name, found.phase);
        return Err(Rejected::rule(Code::JournalExists, message).next(NextStep::ShowWorkflow));
    }
    Ok(Decision::events([Event::Adopted { feature: Box::new(file.clone()) }]))
}

/// Takes back what was asked about a feature.
fn settle_questions(feature: &Feature) -> Vec<Effect> {
    let escalated = |(_, checkpoint): &(&CheckpointId, &Checkpoint)| {
        checkpoint.status == CheckpointStatus::Escalated
    };
    let settle = |id: &CheckpointId| Effect::Settle { topic: topic_of(id) };
    let escalated = feature.checkpoints.iter().filter(escalated).map(|(id, _)| settle(id));
    escalated.chain(feature.waiting.iter().map(|waiting| gate::settle(waiting.gate))).collect()
}

/// What an inbox entry about a checkpoint is about.
fn topic_of(id: &CheckpointId) -> Topic {
    WorkflowTopic::Checkpoint(id.clone()).into()
}

impl Feature {
    fn decide(&self, command: &Command, asked: &Asked<'_>) -> Result<Decision<Event>, Rejected> {
        match command {
            Command::Advance { checkpoints, contract, strategy } => match self.phase {
                phase if phase != Phase::Review && strategy.is_some() => {
                    Err(Rejected::rule(Code::WrongPhase, "the strategy is given when REVIEW ends")
                        .next(self.next_step()))
                }
                Phase::Design => self.enter_review(checkpoints, contract.as_ref()),
                _ if !checkpoints.is_empty() || contract.is_some() => {
                    Err(Rejected::rule(Code::WrongPhase, "checkpoints are given when DESIGN ends")
                        .next(self.next_step()))
                }
                Phase::Review => self.enter_implement(*strategy),
                Phase::Implement => self.enter_pr(),
                Phase::Pr => self.finish(asked.now),
                Phase::Done => Err(Rejected::rule(Code::FeatureDone, "the workflow is done")),
            },
            Command::Back => self.back(),
            Command::SetContract { contract } => self.set_contract(contract),
            Command::PassGate { gate, claim, needs } => {
                self.pass_or_ask(*gate, claim, needs, asked.by)
            }
            Command::ConfirmGate { gate, tree } => {
                self.confirm_gate(*gate, tree.as_ref(), asked.by)
            }
            Command::DeclineGate { gate } => self.decline_gate(*gate, asked.by),
            Command::ResetGate { gate } => Ok(self.reset_gate(*gate, GateReset::Asked)),
            Command::GateStale { gate } => Ok(self.reset_gate(*gate, GateReset::Stale)),
            Command::Review { review } => self.note_review(review, asked.by),
            Command::Checkpoint { id, step } => self.step(id, step, asked.by),
            Command::Suspend { reason } => self.suspend(reason, asked.by),
            Command::Resume => Ok(self.take_up()),
            Command::Start { .. } | Command::Restart { .. } | Command::Adopt { .. } => {
                Err(Rejected::rule(Code::FeatureActive, "a workflow is already active"))
            }
        }
    }

    fn enter_review(
        &self,
        checkpoints: &[CheckpointId],
        contract: Option<&CheckpointContract>,
    ) -> Result<Decision<Event>, Rejected> {
        if contract.is_some() && !checkpoints.is_empty() {
            return Err(Rejected::rule(
                Code::InputContradicts,
                "give either checkpoints or a contract, not both",
            )
            .next(NextStep::AdvanceWithContract));
        }
        let mut events = Vec::new();
        if let Some(contract) = contract {
            check_contract(contract)?;
            events.push(Event::ContractSet { contract: contract.clone() });
        }
        let contract =
            contract.or(if checkpoints.is_empty() { self.contract.as_ref() } else { None });
        let ids = contract.map_or_else(|| checkpoints.to_vec(), CheckpointContract::ids);
        if ids.is_empty() {
            return Err(Rejected::rule(
                Code::CheckpointsMissing,
                "REVIEW needs at least one checkpoint",
            )
            .next(self.next_step()));
        }
        if let Some(twice) = first_duplicate(&ids) {
            return Err(Rejected::rule(
                Code::CheckpointTwice,
                format!("checkpoint {twice} is given twice"),
            )
            .next(self.next_step()));
        }
        events.push(Event::CheckpointsSet { ids });
        events.push(Event::PhaseEntered { phase: Phase::Review, strategy: None });
        // What was asked about checkpoints that are replaced needs no answer any more.
        Ok(settle_questions(self).into_iter().fold(Decision::events(events), Decision::with))
    }

    fn enter_implement(&self, strategy: Option<Strategy>) -> Result<Decision<Event>, Rejected> {
        self.needs_gates(&[GateName::ReviewCleanPass], "IMPLEMENT")?;
        let strategy = Some(strategy.unwrap_or_else(|| self.usual_strategy()));
        Ok(Decision::events([Event::PhaseEntered { phase: Phase::Implement, strategy }]))
    }

    fn enter_pr(&self) -> Result<Decision<Event>, Rejected> {
        let open: Vec<String> = self
            .checkpoints
            .iter()
            .filter(|(_, checkpoint)| checkpoint.status != CheckpointStatus::Passed)
            .map(|(id, checkpoint)| format!("{id} {}", checkpoint.status))
            .collect();
        if !open.is_empty() {
            let message = format!("PR needs every checkpoint passed; open: {}", open.join(", "));
            return Err(Rejected::rule(Code::CheckpointsOpen, message).next(self.next_step()));
        }
        self.needs_gates(&[GateName::ReviewCleanPass, GateName::ArchitectVerified], "PR")?;
        Ok(Decision::events([Event::PhaseEntered { phase: Phase::Pr, strategy: self.strategy }]))
    }

    fn finish(&self, now: Time) -> Result<Decision<Event>, Rejected> {
        self.needs_gates(&GateName::ALL, "DONE")?;
        let done = Event::PhaseEntered { phase: Phase::Done, strategy: self.strategy };
        let remembered = Effect::Remember(Box::new(self.finished(now)));
        Ok(Decision::events([done]).with(remembered))
    }

    fn usual_strategy(&self) -> Strategy {
        match self.checkpoints.len() {
            0 | 1 => Strategy::Direct,
            // A contract that was accepted has no file owned twice.
            2..=4 => Strategy::Subagent,
            _ => Strategy::AgentTeams,
        }
    }

    fn back(&self) -> Result<Decision<Event>, Rejected> {
        let Some(phase) = self.phase.before() else {
            return Err(Rejected::rule(
                Code::WrongPhase,
                format!("there is no phase before {}", self.phase),
            )
            .next(self.next_step()));
        };
        let reset = |gate| Event::GateReset { gate, why: GateReset::WentBack };
        let closing = GateName::ALL
            .into_iter()
            .filter(|gate| gate.phase() >= phase && self.has_passed(*gate))
            .map(reset);
        // A suspension lends rights; what it lends must not outlive it.
        let commits = Rights::by_gates(self, RightsSettings::default()).commit;
        let went = Event::WentBack { phase, commits_held: self.commits_held || !commits };
        let settled = self.waiting.iter().map(|waiting| gate::settle(waiting.gate));
        Ok(settled.fold(Decision::events(closing.chain([went])), Decision::with))
    }

    fn set_contract(&self, contract: &CheckpointContract) -> Result<Decision<Event>, Rejected> {
        if self.phase != Phase::Design {
            let message = format!("a contract is agreed in DESIGN, and this is {}", self.phase);
            return Err(Rejected::rule(Code::WrongPhase, message).next(NextStep::GoBack));
        }
        check_contract(contract)?;
        Ok(Decision::events([Event::ContractSet { contract: contract.clone() }]))
    }

    fn step(
        &self,
        id: &CheckpointId,
        step: &CheckpointStep,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if self.phase != Phase::Implement {
            let message =
                format!("checkpoints are worked on in IMPLEMENT, and this is {}", self.phase);
            let is_over = self.phase > Phase::Implement;
            let next = if is_over { NextStep::GoBack } else { self.next_step() };
            return Err(Rejected::rule(Code::WrongPhase, message).next(next));
        }
        let Some(checkpoint) = self.checkpoints.get(id) else {
            let known: Vec<&str> = self.checkpoints.iter().map(|(id, _)| id.as_str()).collect();
            let message = format!("there is no checkpoint {id}; there are {}", known.join(", "));
            return Err(
                Rejected::unknown(Code::CheckpointUnknown, message).next(NextStep::ShowWorkflow)
            );
        };
        use CheckpointStatus as S;
        use CheckpointStep as C;
        let id = id.clone();
        Ok(match (checkpoint.status, step) {
            (S::Pending, C::Start { conversation }) => {
                self.check_order(&id)?;
                let conversation = conversation.clone();
                Decision::events([Event::CheckpointStarted { id, conversation }])
            }
            (S::InProgress, C::Pass { evidence }) => {
                self.check_validation(&id, evidence)?;
                Decision::events([Event::CheckpointPassed { id, evidence: evidence.clone() }])
            }
            (S::InProgress, C::Fail { class }) => self.fail(id, checkpoint.iteration, *class),
            (S::InProgress, C::Escalate) => self.escalate(id, FailureClass::Critical),
            (S::Escalated, C::Reopen) if !by.is_person() => {
                return Err(Rejected::reserved("reopening what was escalated"));
            }
            (S::Escalated, C::Reopen) => {
                let settle = Effect::Settle { topic: topic_of(&id) };
                Decision::events([Event::CheckpointReopened { id }]).with(settle)
            }
            // Said twice: the first time counted.
            (S::InProgress, C::Start { .. })
            | (S::Passed, C::Pass { .. })
            | (S::Escalated, C::Escalate) => Decision::nothing(),
            (status, _) => return Err(self.wrong_status(&id, status)),
        })
    }

    /// A checkpoint starts only after the ones that the contract puts before it.
    fn check_order(&self, id: &CheckpointId) -> Result<(), Rejected> {
        let agreed = self.contract.as_ref().and_then(|contract| contract.checkpoint(id));
        let status =
            |id: &CheckpointId| self.checkpoints.get(id).map(|checkpoint| checkpoint.status);
        let before = agreed.iter().flat_map(|agreed| &agreed.dependencies);
        let open = before
            .filter_map(|id| status(id).map(|status| (id, status)))
            .find(|(_, status)| *status != CheckpointStatus::Passed);
        match open {
            Some((open, status)) => Err(Rejected::rule(
                Code::CheckpointWaits,
                format!("{id} depends on {open}, which has not passed"),
            )
            .next(step_of(open, status))),
            None => Ok(()),
        }
    }

    /// Where the contract says how a checkpoint is validated, nothing else shows that it passed.
    fn check_validation(&self, id: &CheckpointId, evidence: &Evidence) -> Result<(), Rejected> {
        let agreed = self.contract.as_ref().and_then(|contract| contract.checkpoint(id));
        let Some(wanted) = agreed.map(|agreed| &agreed.validation.command) else { return Ok(()) };
        match evidence {
            Evidence::Check { command, .. } if command == wanted => Ok(()),
            _ => Err(Rejected::rule(Code::ProofMissing, format!("{id} needs `{wanted}` to pass"))
                .next(step_of(id, CheckpointStatus::InProgress))),
        }
    }

    fn wrong_status(&self, id: &CheckpointId, status: CheckpointStatus) -> Rejected {
        let next = match status {
            CheckpointStatus::Passed => self.next_step(),
            _ => step_of(id, status),
        };
        Rejected::rule(Code::CheckpointStatus, format!("{id} is {status}")).next(next)
    }

    fn fail(&self, id: CheckpointId, iteration: u32, class: FailureClass) -> Decision<Event> {
        let policy = Policy::of(Scope::Checkpoint).limit(self.max_iterations.saturating_sub(1));
        let used = iteration.saturating_sub(1);
        match policy.after(used, class, id.as_str()) {
            Outlook::Again { .. } => {
                Decision::events([Event::CheckpointFailed { id, iteration: iteration + 1, class }])
            }
            Outlook::GiveUp => self.escalate(id, class),
        }
    }

    fn escalate(&self, id: CheckpointId, class: FailureClass) -> Decision<Event> {
        let ask = self.ask_about(&id, &format!("was escalated ({})", class.as_reason()));
        Decision::events([Event::CheckpointEscalated { id, class }]).with(ask)
    }

    fn ask_about(&self, id: &CheckpointId, what: &str) -> Effect {
        let title = format!("checkpoint {id} of `{}` was escalated", self.name);
        let text = format!(
            "Checkpoint {id} of `{}` {what}. Look at it, then `reopen` it for a new round of \
             tries, or `leave` it as it is.",
            self.name
        );
        let question = Question::new(QuestionKind::Escalation, topic_of(id), title, text);
        Effect::Ask(question.choices(["reopen", "leave"]))
    }

    /// Ends a suspension, and asks again about what was escalated and left.
    fn take_up(&self) -> Decision<Event> {
        let is_escalated = |(_, checkpoint): &(&CheckpointId, &Checkpoint)| {
            self.phase == Phase::Implement && checkpoint.status == CheckpointStatus::Escalated
        };
        let resumed = Decision::events(self.suspended.as_ref().map(|_| Event::Resumed));
        let escalated = self.checkpoints.iter().filter(is_escalated);
        let asks = escalated.map(|(id, _)| self.ask_about(id, "is still escalated"));
        asks.fold(resumed, Decision::with)
    }

    fn suspend(&self, reason: &str, by: &Actor) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("suspending the gate"));
        }
        if reason.trim().is_empty() {
            return Err(Rejected::rule(Code::ReasonMissing, "a suspension needs a reason")
                .next(NextStep::Suspend));
        }
        if self.suspended.is_some() {
            return Ok(Decision::nothing());
        }
        Ok(Decision::events([Event::Suspended {
            reason: reason.trim().to_owned(),
            by: by.clone(),
        }]))
    }

    fn apply(&mut self, event: &Event, at: Time) {
        match event {
            Event::CheckpointsSet { ids } => {
                let fresh = |id: &CheckpointId| (id.clone(), Checkpoint::default());
                self.checkpoints = ids.iter().map(fresh).collect();
                // A contract that does not speak of these checkpoints is not theirs.
                self.contract = self.contract.take().filter(|contract| contract.is_about(ids));
            }
            Event::ContractSet { contract } => self.contract = Some(contract.clone()),
            Event::PhaseEntered { phase, strategy } => {
                self.phase = *phase;
                self.strategy = *strategy;
                self.was_in_implement |= *phase == Phase::Implement;
                self.commits_held = false;
                self.waiting.clear();
                self.reviews.clear();
            }
            Event::WentBack { phase, commits_held } => {
                self.phase = *phase;
                self.commits_held = *commits_held;
                self.waiting.clear();
                self.reviews.clear();
                if *phase < Phase::Implement {
                    self.strategy = None;
                }
            }
            Event::GatePassed { .. }
            | Event::GateAsked { .. }
            | Event::GateDeclined { .. }
            | Event::GateReset { .. } => self.apply_to_gate(event, at),
            Event::Reviewed { review } => self.apply_review(review),
            Event::Suspended { reason, by } => {
                self.suspended =
                    Some(Suspension { reason: reason.clone(), by: by.clone(), since: at });
            }
            Event::Resumed => self.suspended = None,
            Event::Started { .. } | Event::Adopted { .. } => {}
            Event::CheckpointStarted { .. }
            | Event::CheckpointPassed { .. }
            | Event::CheckpointFailed { .. }
            | Event::CheckpointEscalated { .. }
            | Event::CheckpointReopened { .. } => self.apply_to_checkpoint(event),
        }
    }

    fn apply_to_checkpoint(&mut self, event: &Event) {
        use CheckpointStatus as S;
        let (id, status, iteration, evidence) = match event {
            Event::CheckpointStarted { id, .. } | Event::CheckpointReopened { id } => {
                (id, S::InProgress, Some(1), None)
            }
            Event::CheckpointPassed { id, evidence } => {
                (id, S::Passed, None, Some(evidence.clone()))
            }
            Event::CheckpointFailed { id, iteration, .. } => {
                (id, S::InProgress, Some(*iteration), None)
            }
            Event::CheckpointEscalated { id, .. } => (id, S::Escalated, None, None),
            _ => return,
        };
        if let Some(checkpoint) = self.checkpoints.get_mut(id) {
            checkpoint.status = status;
            checkpoint.iteration = iteration.unwrap_or(checkpoint.iteration);
            checkpoint.evidence = evidence;
            match event {
                Event::CheckpointStarted { conversation, .. } => {
                    checkpoint.conversation.clone_from(conversation);
                }
                Event::CheckpointReopened { .. } => checkpoint.conversation = None,
                _ => {}
            }
        }
    }
}

fn check_contract(contract: &CheckpointContract) -> Result<(), Rejected> {
    match contract.check().first() {
        Some(finding) => Err(Rejected::rule(
            Code::ContractInvalid,
            format!("the contract does not hold: {}", finding.message),
        )
        .next(NextStep::ValidateFile { file: "FILE".into() })),
        None => Ok(()),
    }
}

fn first_duplicate(ids: &[CheckpointId]) -> Option<&CheckpointId> {
    ids.iter().enumerate().find(|(at, id)| ids[..*at].contains(id)).map(|(_, id)| id)
}

impl FailureClass {
    fn as_reason(self) -> &'static str {
        match self {
            Self::Transient => "it kept failing",
            Self::Validation => "its validation kept failing",
            Self::Dependency => "something it depends on is missing",
            Self::Resource => "the environment lacks something",
            Self::Structural => "the design does not fit",
            Self::Critical => "asked for",
        }
    }
}
