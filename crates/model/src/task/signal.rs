//! What an agent says by the text protocol, as the task takes it in: each once, by the attempt and
//! the place in its stream at which it was said.

use crate::inbox::WantedKind;
use serde::{Deserialize, Serialize};

/// A signal with its place: reading the stream again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpokenSignal {
    /// Where it begins in the stream of its attempt, in bytes.
    pub offset: u64,
    pub signal: TaskSignal,
    /// The fields that were too long and lost their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<String>,
}

/// What an agent says to its task. What a verification's agent says is no signal of the task: it
/// comes as a `TaskReport`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskSignal {
    /// `=== PHASE N COMPLETE ===`
    PhaseComplete {
        phase: u32,
        /// How many deliverables it names.
        #[serde(default)]
        deliverables: u32,
    },
    /// `=== CUSTOM TASK COMPLETE ===`
    CustomComplete {},
    /// `[DEPENDENCY_REQUEST]`
    ValueWanted(ValueRequest),
    /// `[USER_QUESTION]`
    Question(SpokenQuestion),
    /// `[ERROR]`
    Problem(SpokenProblem),
    /// A block that cannot be understood, or a marker that cannot be meant now.
    Malformed(MalformedBlock),
}

/// Something that an agent asks for by name. Its value is a secret and never passes through here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueRequest {
    pub kind: WantedKind,
    /// The name of the variable in which the agent expects it.
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub is_required: bool,
    /// What it goes on with if none is given; said by the agent itself, so it is no secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpokenQuestion {
    pub category: QuestionCategory,
    pub question: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    pub is_required: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionCategory {
    Business,
    Clarification,
    Choice,
    Confirmation,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpokenProblem {
    pub is_fatal: bool,
    pub message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<ProblemRecovery>,
}

/// What an agent wants done about its own error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemRecovery {
    PauseAndRetry,
    CheckpointAndFail,
    NotifyUser,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MalformedBlock {
    /// `ERROR`, `USER_QUESTION`, …
    pub block: String,
    /// What is wrong, in words that help the agent to write it right.
    pub why: String,
    /// The beginning of the text, cut to a length that an inbox entry may have.
    pub text: String,
}
