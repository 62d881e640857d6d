//! Gates: passed in the phase that owns them, with evidence, for the content of that moment.
//!
//! A gate that lacks nothing but a person's word is asked for in the inbox. What was gathered for
//! it waits with the question, so that the answer is about the content that was looked at.

use crate::{
    actor::Actor,
    code::Code,
    evidence::Evidence,
    inbox::{Question, QuestionKind, Topic},
    machine::{Decision, Effect, Rejected},
    next::NextStep,
    time::Time,
    workflow::{
        Claim, Event, Feature, GateName, GateReset, Pass, Requirement, Waiting, WorkflowTopic,
        requirement::Judgement,
    },
};

/// Takes back what was asked about a gate.
pub(super) fn settle(gate: GateName) -> Effect {
    Effect::Settle { topic: topic(gate) }
}

/// What an inbox entry about a gate is about.
fn topic(gate: GateName) -> Topic {
    WorkflowTopic::Gate(gate).into()
}

impl Feature {
    pub(super) fn needs_gates(&self, gates: &[GateName], target: &str) -> Result<(), Rejected> {
        let closed: Vec<&str> = gates
            .iter()
            .filter(|gate| !self.has_passed(**gate))
            .map(|gate| gate.as_str())
            .collect();
        if closed.is_empty() {
            return Ok(());
        }
        let message = format!("{target} needs {}", closed.join(" and "));
        Err(Rejected::rule(Code::GateClosed, message).next(self.next_step()))
    }

    pub(super) fn pass_or_ask(
        &self,
        gate: GateName,
        claim: &Claim,
        needs: &Requirement,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        self.check_owner(gate)?;
        match needs.judge(gate, &claim.evidence, by)? {
            Judgement::Enough => Ok(self.pass_gate(gate, claim.clone())),
            // They are there and have just not said yes.
            Judgement::NeedsPerson if by.is_person() => {
                Err(Rejected::rule(Code::ProofMissing, format!("{gate} needs your confirmation"))
                    .next(NextStep::ConfirmGate { gate }))
            }
            Judgement::NeedsPerson => Ok(self.ask_for_gate(gate, claim)),
        }
    }

    /// A gate is passed in the phase that owns it and nowhere else.
    pub(super) fn check_owner(&self, gate: GateName) -> Result<(), Rejected> {
        let owner = gate.phase();
        if self.phase == owner {
            return Ok(());
        }
        let message = format!("{gate} is passed in {owner}, and this is {}", self.phase);
        let next = if self.phase < owner { self.next_step() } else { NextStep::GoBack };
        Err(Rejected::rule(Code::WrongPhase, message).next(next))
    }

    /// Passing it again counts where it was passed for other content.
    fn pass_gate(&self, gate: GateName, claim: Claim) -> Decision<Event> {
        let found = self.passes.iter().find(|pass| pass.gate == gate);
        if found.is_some_and(|pass| pass.tree == claim.tree) {
            return Decision::nothing();
        }
        let Claim { evidence, tree } = claim;
        let passed = Decision::events([Event::GatePassed { gate, evidence, tree }]);
        if self.waiting_for(gate).is_some() { passed.with(settle(gate)) } else { passed }
    }

    fn ask_for_gate(&self, gate: GateName, claim: &Claim) -> Decision<Event> {
        let found = self.passes.iter().find(|pass| pass.gate == gate);
        if found.is_some_and(|pass| pass.tree == claim.tree) {
            return Decision::nothing();
        }
        let Claim { evidence, tree } = claim.clone();
        let pieces: Vec<String> = evidence.iter().map(ToString::to_string).collect();
        let behind = match pieces.as_slice() {
            [] => "Nothing else stands behind it.".to_owned(),
            pieces => format!("Behind it: {}.", pieces.join(", ")),
        };
        let title = format!("{gate} of `{}` waits for your word", self.name);
        let text = format!(
            "`{}` is in {} and asks for {gate}. {behind} Look at the work, then `confirm` or \
             `decline`. It holds for the files as they are now; if they change first, it has to be \
             asked for again.",
            self.name, self.phase
        );
        let question = Question::new(QuestionKind::Gate, topic(gate), title, text)
            .choices(["confirm", "decline"]);
        Decision::events([Event::GateAsked { gate, evidence, tree }]).with(Effect::Ask(question))
    }

    pub(super) fn confirm_gate(
        &self,
        gate: GateName,
        tree: Option<&String>,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("confirming a gate"));
        }
        let again = NextStep::PassGate { gate };
        let Some(waiting) = self.waiting_for(gate) else {
            return Err(Rejected::rule(
                Code::NotAsked,
                format!("no question about {gate} is open"),
            )
            .next(again));
        };
        if waiting.tree.as_ref() != tree {
            let message = format!("files have changed since {gate} was asked for");
            return Err(Rejected::rule(Code::FilesChanged, message).next(again));
        }
        let human = Evidence::Human { name: by.to_string() };
        let evidence = waiting.evidence.iter().cloned().chain([human]).collect();
        Ok(self.pass_gate(gate, Claim { evidence, tree: tree.cloned() }))
    }

    pub(super) fn decline_gate(
        &self,
        gate: GateName,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if !by.is_person() {
            return Err(Rejected::reserved("declining a gate"));
        }
        Ok(match self.waiting_for(gate) {
            Some(_) => Decision::events([Event::GateDeclined { gate }]).with(settle(gate)),
            None => Decision::nothing(),
        })
    }

    pub(super) fn reset_gate(&self, gate: GateName, why: GateReset) -> Decision<Event> {
        Decision::events(self.has_passed(gate).then_some(Event::GateReset { gate, why }))
    }

    /// What was gathered for a gate that only lacks a person's word.
    pub fn waiting_for(&self, gate: GateName) -> Option<&Waiting> {
        self.waiting.iter().find(|waiting| waiting.gate == gate)
    }

    pub(super) fn apply_to_gate(&mut self, event: &Event, at: Time) {
        match event {
            Event::GatePassed { gate, evidence, tree } => {
                let (evidence, tree) = (evidence.clone(), tree.clone());
                self.waiting.retain(|waiting| waiting.gate != *gate);
                self.passes.retain(|pass| pass.gate != *gate);
                self.passes.push(Pass { gate: *gate, evidence, tree, at });
                self.passes.sort_by_key(|pass| pass.gate);
                self.commits_held = false;
            }
            Event::GateAsked { gate, evidence, tree } => {
                let (evidence, tree) = (evidence.clone(), tree.clone());
                self.waiting.retain(|waiting| waiting.gate != *gate);
                self.waiting.push(Waiting { gate: *gate, evidence, tree });
            }
            Event::GateDeclined { gate } => self.waiting.retain(|waiting| waiting.gate != *gate),
            Event::GateReset { gate, .. } => self.passes.retain(|pass| pass.gate != *gate),
            _ => {}
        }
    }
}
