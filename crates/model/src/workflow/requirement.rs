//! What a gate needs before it is passed, and whether given evidence is enough.
//!
//! Whether the evidence is true is not decided here: Waypost ran the check, had the review made or
//! saw the person before it asked.

use crate::{
    actor::Actor, code::Code, evidence::Evidence, machine::Rejected, next::NextStep,
    workflow::GateName,
};

/// What a gate needs, from the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// A command that Waypost runs itself.
    pub check: Option<String>,
    /// A review that Waypost had made.
    pub review: bool,
    /// A person's word.
    pub human: bool,
}

/// What evidence amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Enough,
    /// Only a person's word is missing.
    NeedsPerson,
}

impl Requirement {
    /// Refuses evidence that is not enough for the gate, and names what is missing; a person's
    /// word can still be asked for.
    pub(super) fn judge(
        &self,
        gate: GateName,
        evidence: &[Evidence],
        by: &Actor,
    ) -> Result<Judgement, Rejected> {
        let has = |kind: fn(&Evidence) -> bool| evidence.iter().any(kind);
        let has_human = has(|piece| matches!(piece, Evidence::Human { .. }));
        if has_human && matches!(by, Actor::Agent { .. }) {
            return Err(Rejected::reserved("confirming a gate"));
        }
        if let Some(count) = evidence.iter().find_map(blocking) {
            let message = format!("{gate} needs a review with 0 blocking; this has {count}");
            return Err(Rejected::rule(Code::ProofMissing, message).next(NextStep::Review));
        }
        let has_review = has(|piece| matches!(piece, Evidence::Review { .. }));
        let has_check = |wanted: &String| {
            evidence
                .iter()
                .any(|piece| matches!(piece, Evidence::Check { command, .. } if command == wanted))
        };
        if let Some(command) = self.check.as_ref().filter(|command| !has_check(command)) {
            return Err(Rejected::rule(
                Code::ProofMissing,
                format!("{gate} needs `{command}` to pass"),
            )
            .next(NextStep::PassGate { gate }));
        }
        if self.review && !has_review {
            return Err(Rejected::rule(
                Code::ProofMissing,
                format!("{gate} needs a review made by Waypost"),
            )
            .next(NextStep::Review));
        }
        if self.human && !has_human {
            return Ok(Judgement::NeedsPerson);
        }
        if self.is_configured() || has_human || has_review {
            return Ok(Judgement::Enough);
        }
        let has_report = has(|piece| matches!(piece, Evidence::SelfReported { .. }));
        match gate {
            // The last gate opens the way out, so an agent's own word is never enough for it.
            GateName::ReReviewClean => Ok(Judgement::NeedsPerson),
            _ if has_report => Ok(Judgement::Enough),
            _ => Err(Rejected::rule(
                Code::ProofMissing,
                format!("{gate} needs a report with `Blocking: 0`"),
            )
            .next(NextStep::ReportGate { gate })),
        }
    }

    fn is_configured(&self) -> bool {
        self.check.is_some() || self.review || self.human
    }
}

/// How many blocking findings a piece of evidence admits, if any.
fn blocking(piece: &Evidence) -> Option<u32> {
    match piece {
        Evidence::Review { blocking, .. } | Evidence::SelfReported { blocking, .. } => {
            Some(*blocking).filter(|count| *count > 0)
        }
        _ => None,
    }
}
