//! The signals themselves.

use serde_json::Value;

/// Something that an agent tells by the text protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// `DONE:id`
    Done {
        task: String,
    },
    /// `FAIL:id:reason`
    Failed {
        task: String,
        reason: String,
    },
    /// `=== PHASE N COMPLETE ===`, with the lists that follow it.
    PhaseComplete {
        phase: u32,
        nonce: Option<String>,
        lists: Vec<(String, Vec<String>)>,
    },
    /// `=== CUSTOM TASK COMPLETE ===`
    CustomComplete {
        nonce: Option<String>,
    },
    /// `=== VERIFICATION_RESULT ===` and the JSON behind it.
    Verification(Value),
    Dependency(Dependency),
    Question(Question),
    Problem(Problem),
    /// Meant as a block, but not to be understood.
    Malformed(Malformed),
}

impl Signal {
    /// The order in which signals that come together are dealt with.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Problem(_) => 0,
            Self::Done { .. }
            | Self::Failed { .. }
            | Self::PhaseComplete { .. }
            | Self::CustomComplete { .. }
            | Self::Verification(_) => 1,
            Self::Dependency(_) => 2,
            Self::Question(_) => 3,
            Self::Malformed(_) => 4,
        }
    }
}

/// Puts signals of one moment in order; a fatal error drops the rest.
pub fn in_order(mut signals: Vec<Signal>) -> Vec<Signal> {
    signals.sort_by_key(Signal::rank);
    if let Some(at) = signals.iter().position(Signal::is_fatal) {
        signals.truncate(at + 1);
    }
    signals
}

/// `[DEPENDENCY_REQUEST]`: something without which the agent cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    pub kind: DependencyKind,
    pub name: String,
    pub description: String,
    pub is_required: bool,
    pub default: Option<String>,
    /// The fields that were too long and lost their end.
    pub cut: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyKind {
    ApiKey,
    EnvVariable,
    Service,
    File,
    Permission,
    Package,
}

/// `[USER_QUESTION]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub kind: QuestionKind,
    pub question: String,
    pub options: Vec<String>,
    pub default: Option<String>,
    pub is_required: bool,
    pub cut: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    Business,
    Clarification,
    Choice,
    Confirmation,
}

/// `[ERROR]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub severity: Severity,
    pub message: String,
    pub details: String,
    pub recovery: Option<Recovery>,
    pub cut: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Recoverable,
    Fatal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    PauseAndRetry,
    CheckpointAndFail,
    NotifyUser,
}

/// A block that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// `ERROR`, `USER_QUESTION`, …
    pub block: String,
    /// What is wrong, in words that help the agent to write it right.
    pub why: String,
    /// The text, up to the limit of a block.
    pub text: String,
}
