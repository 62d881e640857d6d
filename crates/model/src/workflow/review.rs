//! Reviews that Waypost had made: what was found, by whom, and on which content.
//!
//! A review opens nothing. It is kept until the phase changes, and counts as evidence for its gate
//! as long as the files are those that were looked at.

use crate::{
    actor::Actor,
    code::Code,
    evidence::Evidence,
    machine::{Decision, Rejected},
    next::NextStep,
    run::Usage,
    workflow::{Event, Feature, GateName},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a reviewer had to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Review {
    pub gate: GateName,
    /// Who reviewed: the agent's name in the configuration.
    pub agent: String,
    /// The content that was looked at; none outside git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    pub findings: Vec<ReviewFinding>,
    /// What it used up.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
}

/// One thing that a reviewer found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReviewFinding {
    pub severity: FindingSeverity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub text: String,
}

/// How much a finding weighs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// The gate stays closed because of it.
    Blocking,
    Major,
    Minor,
}

impl FindingSeverity {
    pub const ALL: [Self; 3] = [Self::Blocking, Self::Major, Self::Minor];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Major => "major",
            Self::Minor => "minor",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word)
    }
}

impl fmt::Display for FindingSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Review {
    /// How many findings are blocking: those that are there, whatever number was stated.
    pub fn blocking(&self) -> u32 {
        self.count(FindingSeverity::Blocking)
    }

    pub fn count(&self, severity: FindingSeverity) -> u32 {
        let count = self.findings.iter().filter(|it| it.severity == severity).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    pub fn evidence(&self) -> Evidence {
        Evidence::Review { blocking: self.blocking(), tree: self.tree.clone() }
    }
}

impl Feature {
    /// The newest review for a gate.
    pub fn review_of(&self, gate: GateName) -> Option<&Review> {
        self.reviews.iter().find(|review| review.gate == gate)
    }

    /// A review is what Waypost had made, never what an actor says.
    pub(super) fn note_review(
        &self,
        review: &Review,
        by: &Actor,
    ) -> Result<Decision<Event>, Rejected> {
        if *by != Actor::Waypost {
            return Err(Rejected::rule(Code::WaypostOnly, "a review is made by Waypost")
                .next(NextStep::Review));
        }
        self.check_owner(review.gate)?;
        Ok(Decision::events([Event::Reviewed { review: review.clone() }]))
    }

    pub(super) fn apply_review(&mut self, review: &Review) {
        self.reviews.retain(|it| it.gate != review.gate);
        self.reviews.push(review.clone());
    }
}
