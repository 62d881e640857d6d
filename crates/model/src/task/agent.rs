//! The agent machine: eight states, and the only arrows between them.
//!
//! An agent has no events of its own: its moves are events of its task (`Event::Moved`), and each is
//! one of the arrows here.

use crate::document::server::{AgentStatus, Trigger};

/// All states, in the order of the documentation.
pub const AGENT_STATES: [AgentStatus; 8] = [
    AgentStatus::Idle,
    AgentStatus::Running,
    AgentStatus::Paused,
    AgentStatus::WaitingDependency,
    AgentStatus::WaitingQuestion,
    AgentStatus::WaitingReview,
    AgentStatus::Completed,
    AgentStatus::Failed,
];

/// Whether an agent may go from one state to another because of a trigger.
pub fn may_move(from: AgentStatus, to: AgentStatus, trigger: Trigger) -> bool {
    use AgentStatus as S;
    use Trigger as T;
    match (from, to) {
        (S::Idle, S::Running) => trigger == T::Assign,
        // It could not be started, or its task was cancelled before it was.
        (S::Idle, S::Failed) => {
            matches!(trigger, T::ProcessExit | T::Cancel | T::FatalError)
        }
        (S::Running, S::WaitingDependency) => trigger == T::DependencyRequest,
        (S::Running, S::WaitingQuestion) => trigger == T::UserQuestion,
        (S::Running, S::WaitingReview) => trigger == T::PhaseComplete,
        (S::Running, S::Paused) => matches!(trigger, T::Pause | T::RateLimit),
        // Only a task without phases is complete without a review.
        (S::Running, S::Completed) => trigger == T::PhaseComplete,
        (S::Running, S::Failed) => {
            matches!(trigger, T::Cancel | T::FatalError | T::ProcessExit)
        }
        (S::WaitingDependency, S::Running) => {
            matches!(trigger, T::DependencyProvided | T::PhaseComplete | T::Recovered)
        }
        // By way of `running` to what counts more than the question.
        (S::WaitingQuestion, S::Running) => matches!(
            trigger,
            T::QuestionAnswered | T::DependencyRequest | T::PhaseComplete | T::Recovered
        ),
        (S::WaitingReview, S::Running) => {
            matches!(trigger, T::Approve | T::RequestChanges | T::VerificationFailed | T::Recovered)
        }
        (S::Paused, S::Running) => {
            matches!(trigger, T::Resume | T::RateLimitReset | T::Recovered)
        }
        (S::WaitingReview, S::Completed) => trigger == T::Approve,
        (S::WaitingReview, S::Failed) => {
            matches!(trigger, T::Cancel | T::FatalError | T::VerificationFailed)
        }
        (S::WaitingDependency | S::WaitingQuestion | S::Paused, S::Failed) => {
            matches!(trigger, T::Cancel | T::FatalError)
        }
        _ => false,
    }
}
