//! What a gate leads to.
//!
//! | gate | holds | does not hold | tried again |
//! |---|---|---|---|
//! | GATE-1 | test_first → implementation | test_first once more | twice in a row |
//! | GATE-3 | with GATE-4: implementation → verification | implementation once more | twice in a row |
//! | GATE-4 | with GATE-3: implementation → verification | design of the task, then test_first | twice in a row; a task goes back to its design twice |
//! | GATE-2, the code is wrong | verification → complete | implementation | three times |
//! | GATE-2, the tests are wrong | | test_first | twice |
//! | GATE-2, the design is wrong | | design of the task, then test_first | a task goes back to its design twice |
//! | GATE-2, the report is not as it has to be | | verification once more | twice in a row |
//!
//! A gate that a person passes is passed for the work as it is then, and for no other.
//!
//! A second look at the same files and contracts changes nothing. GATE-2 stands on GATE-3 and GATE-4 for
//! the same work: where files have changed since, these are looked at again first.

use super::{
    gate::{FailureKind, Gate, GateFinding},
    machine::{again_at, escalated, unknown_subtask},
    state::{OpenGate, RequestState, Session, SubtaskState},
    topic::Hold,
    words::{Event, Lead, Look},
};
use crate::{
    code::Code,
    document::{
        SubtaskId,
        session::{Status, SubtaskPhase},
    },
    machine::{Asked, Decision, Effect, Rejected},
    next::NextStep,
    retry::{FailureClass, Outlook, Policy, Scope},
};

impl Session {
    pub(super) fn judge(
        &self,
        (id, look): (&SubtaskId, &Look),
        finding: &GateFinding,
        base: Option<&String>,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        let request = self.find_request()?;
        let found = request.subtask(id).ok_or_else(|| unknown_subtask(request, id.as_str()))?;
        let gate = finding.gate;
        let is_overridden = found.is_overridden(gate, &look.work);
        let counts_again = is_overridden && !found.has_passed(gate, &look.work);
        if found.looks.get(&gate) == Some(look) && !(finding.holds && counts_again) {
            return Ok(Decision::nothing());
        }
        let subtask = self.due_subtask(id, gate)?;
        if let Some(held) = request.held.iter().find(|it| it.hold.is_of(id)) {
            let message = format!("{} waits for a person", held.hold);
            return Err(Rejected::rule(Code::PersonNeeded, message).next(NextStep::ShowInbox));
        }
        if let Some(not_before) = subtask.not_before.filter(|at| *at > asked.now) {
            let message = format!("{id} is not looked at again before {not_before}");
            return Err(Rejected::rule(Code::TaskDelayed, message).next(NextStep::CheckGates));
        }
        match finding.holds {
            // A person has passed it for this work.
            false if is_overridden => Ok(Decision::nothing()),
            // Nothing is wrong with it, and nothing is proven.
            false if finding.is_only_open() => {
                let is_same = |it: &OpenGate| {
                    it.gate == gate && it.work == look.work && it.points == finding.open
                };
                if subtask.open.as_ref().is_some_and(is_same) {
                    return Err(finding.unproven(id));
                }
                let (subtask, look, points) = (id.clone(), look.clone(), finding.open.clone());
                Ok(Decision::events([Event::GateLeftOpen { subtask, gate, look, points }]))
            }
            false => Ok(request.failed((id, subtask), finding, look, asked)),
            true if subtask.sent_back.as_ref() == Some(&look.work) => Ok(Decision::nothing()),
            true => {
                let evidence = finding.evidence.clone();
                let (subtask_id, look) = (id.clone(), look.clone());
                let work = look.work.clone();
                let passed = Event::GatePassed { subtask: subtask_id, gate, look, evidence };
                request.passed((id, subtask), (gate, passed), Some(&work), base)
            }
        }
    }

    pub(super) fn override_gate(
        &self,
        (id, gate): (&SubtaskId, Gate),
        (reason, work): (&str, Option<&String>),
        base: Option<&String>,
        asked: &Asked<'_>,
    ) -> Result<Decision<Event>, Rejected> {
        if !asked.by.is_person() {
            return Err(Rejected::reserved("overriding a gate"));
        }
        if reason.trim().is_empty() {
            return Err(Rejected::rule(Code::ReasonMissing, "it has to be said why"));
        }
        let request = self.find_request()?;
        let subtask = self.due_subtask(id, gate)?;
        let overridden = Event::GateOverridden {
            subtask: id.clone(),
            gate,
            by: asked.by.clone(),
            reason: reason.trim().to_owned(),
            work: work.cloned(),
        };
        request.passed((id, subtask), (gate, overridden), None, base)
    }

    /// The subtask in progress, where this gate is one that leads on from its phase.
    fn due_subtask(&self, id: &SubtaskId, gate: Gate) -> Result<&SubtaskState, Rejected> {
        let request = self.find_request()?;
        let found = request.subtask(id).ok_or_else(|| unknown_subtask(request, id.as_str()))?;
        let not_due =
            |why: String| Err(Rejected::rule(Code::GateNotDue, why).next(NextStep::NextOfSession));
        let at_work = request.at_work().map(|(_, id, _)| id);
        if at_work != Some(id) {
            let state = match found.status {
                Status::Pending => "has not begun",
                Status::InProgress => "waits for the design of its task",
                Status::Completed => "is completed",
            };
            return not_due(format!("{id} {state}"));
        }
        match found.due().contains(&gate) {
            true => Ok(found),
            false => not_due(format!("{gate} does not lead on from {}", phase_word(found.phase))),
        }
    }
}

impl Hold {
    /// Whether it is a gate of this subtask.
    fn is_of(&self, id: &SubtaskId) -> bool {
        matches!(self, Self::Gate { subtask, .. } if subtask == id)
    }
}

impl RequestState {
    /// A gate is passed: by what was found, or by a person.
    fn passed(
        &self,
        (id, subtask): (&SubtaskId, &SubtaskState),
        (gate, passed): (Gate, Event),
        work: Option<&str>,
        base: Option<&String>,
    ) -> Result<Decision<Event>, Rejected> {
        // What a person passes stands for the work that the other gates were passed for.
        let stands = |other: Gate| match work {
            Some(work) => subtask.has_passed(other, work),
            None => {
                super::state::status_of(&subtask.gates, other)
                    == Some(crate::document::session::GateStatus::Passed)
            }
        };
        let moved = |to| Event::PhaseMoved { subtask: id.clone(), to };
        let mut events = vec![passed];
        match (gate, subtask.phase) {
            (Gate::Gate1, _) => events.push(moved(SubtaskPhase::Implementation)),
            (Gate::Gate3 | Gate::Gate4, SubtaskPhase::Implementation) => {
                let other = if gate == Gate::Gate3 { Gate::Gate4 } else { Gate::Gate3 };
                if stands(other) {
                    events.push(moved(SubtaskPhase::Verification));
                }
            }
            (Gate::Gate3 | Gate::Gate4, _) => {}
            (Gate::Gate2, _) => {
                let stale = [Gate::Gate3, Gate::Gate4].into_iter().find(|other| !stands(*other));
                if let Some(other) = stale {
                    let message = format!("files have changed since {other} of {id} was passed");
                    let rejected = Rejected::rule(Code::FilesChanged, message);
                    return Err(rejected.next(NextStep::CheckGates));
                }
                events.push(Event::SubtaskCompleted { subtask: id.clone() });
                events.extend(self.begun_after(id, base));
            }
        }
        let held = self.held.iter().filter(|held| match &held.hold {
            Hold::Gate { .. } => held.hold.is_of(id),
            Hold::Call { .. } => true,
            Hold::Plan | Hold::Join { .. } | Hold::Landing => false,
        });
        Ok(held.fold(Decision::events(events), |decision, held| {
            decision.with(Effect::Settle { topic: held.hold.topic() })
        }))
    }

    /// The subtask that begins when this one is completed, within its task.
    fn begun_after(&self, id: &SubtaskId, base: Option<&String>) -> Option<Event> {
        let task = self.tasks.get(self.owner(id)?)?;
        let mut pending = task.subtasks.iter().filter(|(_, it)| it.status == Status::Pending);
        let (subtask, _) = pending.next()?;
        Some(Event::SubtaskBegun { subtask: subtask.clone(), base: base.cloned() })
    }

    /// A gate does not hold: tried again where that leads, or handed to a person.
    fn failed(
        &self,
        (id, subtask): (&SubtaskId, &SubtaskState),
        finding: &GateFinding,
        look: &Look,
        asked: &Asked<'_>,
    ) -> Decision<Event> {
        let gate = finding.gate;
        let lead = lead_of(finding);
        let (outlook, used) = self.outlook((id, subtask), finding, lead);
        let not_before = again_at(outlook, asked.now);
        let failed = Event::GateFailed {
            subtask: id.clone(),
            gate,
            look: look.clone(),
            faults: finding.faults.clone(),
            evidence: finding.evidence.clone(),
            kind: finding.leads_to,
            not_before,
        };
        let mut events = vec![failed];
        if not_before.is_some() {
            events.extend(self.led(id, lead));
            return Decision::events(events);
        }
        let why = match finding.faults.as_slice() {
            [] => "it does not hold".to_owned(),
            faults => faults.join("; "),
        };
        let hold = Hold::Gate { subtask: id.clone(), gate };
        escalated(events, hold, lead, (&why, used + 1))
    }

    /// Whether it is tried again, and how often it was.
    fn outlook(
        &self,
        (id, subtask): (&SubtaskId, &SubtaskState),
        finding: &GateFinding,
        lead: Lead,
    ) -> (Outlook, u32) {
        let (gate, tries) = (finding.gate, &subtask.tries);
        let after = |scope, used| {
            let key = format!("{id}/{gate}");
            (Policy::of(scope).after(used, FailureClass::Validation, &key), used)
        };
        let of_gate = || after(Scope::Gate, tries.gates.get(&gate).copied().unwrap_or(0));
        let redesigns = || {
            let task = self.owner(id).and_then(|owner| self.tasks.get(owner));
            after(Scope::Phase, task.map_or(0, |task| task.redesigns))
        };
        match (gate, lead) {
            (Gate::Gate2, Lead::Implementation) => after(Scope::TestRun, tries.test_runs),
            (Gate::Gate2, Lead::TestFirst) => after(Scope::Phase, tries.test_rewrites),
            (Gate::Gate2, Lead::Design) => redesigns(),
            (_, Lead::Design) => match redesigns() {
                spent @ (Outlook::GiveUp, _) => spent,
                _ => of_gate(),
            },
            _ => of_gate(),
        }
    }

    /// What brings a subtask to where a gate has led it.
    pub(super) fn led(&self, id: &SubtaskId, lead: Lead) -> Option<Event> {
        let phase = self.subtask(id)?.phase;
        let moved = |to| (phase != to).then(|| Event::PhaseMoved { subtask: id.clone(), to });
        match lead {
            Lead::Stay => None,
            Lead::Implementation => moved(SubtaskPhase::Implementation),
            Lead::TestFirst => moved(SubtaskPhase::TestFirst),
            Lead::Design => {
                let task = self.owner(id)?.clone();
                Some(Event::DesignReopened { task, subtask: id.clone() })
            }
        }
    }
}

impl GateFinding {
    /// Whether nothing is wrong, and nothing is proven.
    pub fn is_only_open(&self) -> bool {
        !self.holds && self.faults.is_empty() && !self.open.is_empty()
    }

    /// What is said where a report has to confirm something.
    pub fn unproven(&self, subtask: &SubtaskId) -> Rejected {
        let message = format!("{} of {subtask} leaves open: {}", self.gate, self.open.join("; "));
        Rejected::rule(Code::ProofMissing, message).next(NextStep::ReportGates)
    }
}

/// Where a gate that does not hold leads to.
fn lead_of(finding: &GateFinding) -> Lead {
    match (finding.gate, finding.leads_to) {
        (Gate::Gate1, _) => Lead::Stay,
        // In verification files were changed that should not have been: that is implementation.
        (Gate::Gate3, _) => Lead::Implementation,
        (Gate::Gate4, _) | (Gate::Gate2, Some(FailureKind::DesignViolation)) => Lead::Design,
        (Gate::Gate2, Some(FailureKind::ImplementationError)) => Lead::Implementation,
        (Gate::Gate2, Some(FailureKind::TestError)) => Lead::TestFirst,
        (Gate::Gate2, None) => Lead::Stay,
    }
}

pub(super) fn phase_word(phase: SubtaskPhase) -> &'static str {
    match phase {
        SubtaskPhase::TestFirst => "test_first",
        SubtaskPhase::Implementation => "implementation",
        SubtaskPhase::Verification => "verification",
        SubtaskPhase::Complete => "complete",
    }
}
