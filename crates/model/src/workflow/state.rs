//! How a workflow stands.

use crate::{
    actor::Actor,
    evidence::Evidence,
    id::CheckpointId,
    ordered::Ordered,
    time::Time,
    workflow::{CheckpointContract, Review},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The workflow of one work tree: none yet, or one feature on its way (or through, when DONE).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Workflow {
    pub feature: Option<Feature>,
}

/// One feature and how far it got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// The user's request in a line.
    pub name: String,
    pub phase: Phase,
    /// Set on entering IMPLEMENT.
    pub strategy: Option<Strategy>,
    pub started_at: Time,
    pub updated_at: Time,
    /// Passed gates; a gate that is not here is closed.
    pub passes: Vec<Pass>,
    /// Gates for which only a person's word is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Waiting>,
    /// The newest review of each gate of this phase, whatever it found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Review>,
    pub checkpoints: Ordered<CheckpointId, Checkpoint>,
    pub contract: Option<CheckpointContract>,
    /// How often a checkpoint is tried before it escalates.
    pub max_iterations: u32,
    /// Whether it has ever been in IMPLEMENT: from then on DESIGN and REVIEW are no free ground.
    pub was_in_implement: bool,
    /// Commits stay refused after `back` from a place where they were, until a gate is passed.
    pub commits_held: bool,
    pub suspended: Option<Suspension>,
}

/// A gate that was passed, and what stands behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    pub gate: GateName,
    pub evidence: Vec<Evidence>,
    /// The content of the work tree that the evidence is about; none outside git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    pub at: Time,
}

/// What the caller brings along for a gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    pub evidence: Vec<Evidence>,
    /// The content of the work tree at that moment, where it can be told.
    pub tree: Option<String>,
}

/// A gate that waits for a person's word, and what else stands behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub gate: GateName,
    pub evidence: Vec<Evidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// The gate is switched off by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    pub reason: String,
    pub by: Actor,
    pub since: Time,
}

/// One checkpoint of the implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub status: CheckpointStatus,
    /// 0 before it starts, then which try it is.
    pub iteration: u32,
    /// What stands behind `passed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The conversation of the agent that started it, or `ralph`; none: a person did, or it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
}

/// The four phases and the end. `MERGE` is what older copies of the seed's hook wrote for `PR`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    Design,
    Review,
    Implement,
    #[serde(alias = "MERGE")]
    Pr,
    Done,
}

/// How the implementation is divided among agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    Direct,
    Subagent,
    AgentTeams,
}

/// The conditions between phases.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GateName {
    ReviewCleanPass,
    ArchitectVerified,
    ReReviewClean,
}

/// Where a checkpoint is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointStatus {
    /// Not started.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Its validation held.
    Passed,
    /// Out of tries; a person has to look.
    Escalated,
}

impl Phase {
    pub const ALL: [Self; 5] = [Self::Design, Self::Review, Self::Implement, Self::Pr, Self::Done];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Design => "DESIGN",
            Self::Review => "REVIEW",
            Self::Implement => "IMPLEMENT",
            Self::Pr => "PR",
            Self::Done => "DONE",
        }
    }

    /// The phase that `back` leads to.
    pub fn before(self) -> Option<Self> {
        match self {
            Self::Review => Some(Self::Design),
            Self::Implement => Some(Self::Review),
            Self::Pr => Some(Self::Implement),
            Self::Design | Self::Done => None,
        }
    }

    /// The gate that is passed in this phase.
    pub fn gate(self) -> Option<GateName> {
        GateName::ALL.into_iter().find(|gate| gate.phase() == self)
    }
}

impl GateName {
    pub const ALL: [Self; 3] =
        [Self::ReviewCleanPass, Self::ArchitectVerified, Self::ReReviewClean];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReviewCleanPass => "review_clean_pass",
            Self::ArchitectVerified => "architect_verified",
            Self::ReReviewClean => "re_review_clean",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.as_str() == word)
    }

    /// The phase that owns the gate.
    pub fn phase(self) -> Phase {
        match self {
            Self::ReviewCleanPass => Phase::Review,
            Self::ArchitectVerified => Phase::Implement,
            Self::ReReviewClean => Phase::Pr,
        }
    }
}

impl Strategy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Subagent => "subagent",
            Self::AgentTeams => "agent-teams",
        }
    }
}

impl CheckpointStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Passed => "passed",
            Self::Escalated => "escalated",
        }
    }
}

macro_rules! display_as_str {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    )*};
}
display_as_str!(Phase, GateName, Strategy, CheckpointStatus);

impl Feature {
    pub(super) fn new(name: String, max_iterations: u32, at: Time) -> Self {
        Self {
            name,
            phase: Phase::Design,
            strategy: None,
            started_at: at,
            updated_at: at,
            passes: Vec::new(),
            waiting: Vec::new(),
            reviews: Vec::new(),
            checkpoints: Ordered::default(),
            contract: None,
            max_iterations,
            was_in_implement: false,
            commits_held: false,
            suspended: None,
        }
    }

    pub fn has_passed(&self, gate: GateName) -> bool {
        self.passes.iter().any(|pass| pass.gate == gate)
    }

    /// Whether a gate was passed for other content than `tree`.
    pub fn is_stale(&self, gate: GateName, tree: &str) -> bool {
        let pass = self.passes.iter().find(|pass| pass.gate == gate);
        pass.and_then(|pass| pass.tree.as_deref()).is_some_and(|bound| bound != tree)
    }

    /// The gates that are still closed, in their order.
    pub fn closed_gates(&self) -> impl Iterator<Item = GateName> {
        GateName::ALL.into_iter().filter(|gate| !self.has_passed(*gate))
    }

    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }
}
