//! What a person gets to see with a question beside its text: which value is wanted, and what a
//! review is about.
//!
//! All of it is in the journal, so all of it is bounded: what does not fit is left out and counted,
//! and a diff says where the whole of it is.

use super::comment::LineComment;
use crate::text::cut;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most entries of each list of a review.
pub const REVIEW_LINES_MAX: usize = 200;

/// The longest diff in the journal, in bytes: what a person reads on a few screens.
pub const DIFF_BYTES_MAX: usize = 64 * 1024;

/// The longest text of one finding or comment, in bytes.
pub const REMARK_BYTES_MAX: usize = 10_000;

/// What comes with a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Material {
    #[default]
    Nothing,
    /// Which value is wanted.
    Value(WantedValue),
    /// What is to be reviewed.
    Review(Box<PhaseReview>),
}

impl Material {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }

    /// The same within the bounds.
    pub(super) fn bounded(self) -> Self {
        match self {
            Self::Review(review) => Self::Review(Box::new(review.bounded())),
            other => other,
        }
    }
}

/// A value that an agent lacks. Its name goes into the journal, the value never does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WantedValue {
    /// The variable that it is given in.
    pub name: String,
    pub kind: WantedKind,
    /// What the agent goes on with if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// What kind of value is wanted, as the text protocol has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WantedKind {
    ApiKey,
    EnvVariable,
    Service,
    /// The path of a file that exists.
    File,
    Permission,
    Package,
}

/// What a phase has brought, for the person who approves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseReview {
    pub phase: u32,
    /// The name of the phase.
    pub name: String,
    pub deliverables: Vec<ReviewedFile>,
    /// What has changed since the last phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<ReviewedDiff>,
    /// What the verification has found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<VerificationFinding>,
    /// What was commented when changes were last asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<LineComment>,
    /// How many deliverables, findings and comments did not fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A deliverable as it lies in the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedFile {
    /// Below the workspace.
    pub path: String,
    pub bytes: u64,
}

/// What has changed between two commits of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedDiff {
    /// The workspace, where the whole of it can be seen.
    pub folder: String,
    pub base: String,
    pub head: String,
    pub files: u32,
    pub added: u32,
    pub removed: u32,
    /// The beginning of it, in the unified form.
    pub text: String,
    /// Whether the text is not all of it.
    #[serde(default)]
    pub is_cut: bool,
}

/// Something that the verification of a phase has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationFinding {
    /// Whether it stands against the phase.
    pub is_blocking: bool,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl PhaseReview {
    fn bounded(mut self) -> Self {
        self.left_out += shorten(&mut self.deliverables)
            + shorten(&mut self.findings)
            + shorten(&mut self.comments);
        let texts = self.findings.iter_mut().map(|it| &mut it.text);
        for text in texts.chain(self.comments.iter_mut().map(|it| &mut it.text)) {
            cut(text, REMARK_BYTES_MAX);
        }
        if let Some(diff) = &mut self.diff {
            diff.is_cut |= cut(&mut diff.text, DIFF_BYTES_MAX);
        }
        self
    }
}

/// Keeps the beginning of a list; how many were left out.
fn shorten<T>(list: &mut Vec<T>) -> u32 {
    let more = list.len().saturating_sub(REVIEW_LINES_MAX);
    list.truncate(REVIEW_LINES_MAX);
    u32::try_from(more).unwrap_or(u32::MAX)
}
