//! What others see of a task: the seed's task, agent and transition, as projections.

use super::{
    event::{Event, MoveFacts},
    state::TaskFile,
};
use crate::{
    document::server::{
        Agent, AgentCheckpoint, AgentStatus, BlockedBy, PausedBy, RecordType, ServerTask,
        ServerTaskStatus, ShownState, Transition,
    },
    json::{Json, OpenMap},
    time::{Stamp, Time},
};

/// What is known of an agent beside its task: it is derived from its stream, not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveAgent {
    /// Tokens of the live attempt that are not accounted for yet.
    pub tokens: u64,
    /// When it last said something.
    pub heard: Option<Time>,
    /// Milliseconds between two checkpoints; 0: the ten minutes of the seed.
    pub checkpoint_interval_ms: u64,
}

impl TaskFile {
    /// How much is done, in percent: finished phases, and the steps of the present one.
    pub fn progress(&self) -> u32 {
        if self.status == ServerTaskStatus::Completed {
            return 100;
        }
        let (Some(phase), total) = (self.phase, self.shape.total()) else { return 0 };
        if total == 0 {
            return 0;
        }
        let steps = self.shape.phase(phase).map_or(0, |it| it.steps.len());
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let finished = u64::from(phase.saturating_sub(1));
        // A phase without steps is finished when it is approved.
        let (done, of) = if steps == 0 {
            (finished, u64::from(total))
        } else {
            (finished * steps + u64::from(self.steps_done).min(steps), u64::from(total) * steps)
        };
        u32::try_from(done * 100 / of).unwrap_or(100).min(100)
    }

    /// The seed's `TaskMetadata` with the task's id.
    pub fn task_document(&self) -> ServerTask {
        let stamp = |time: Option<Time>| time.map(Stamp::from);
        let has_failed = self.status == ServerTaskStatus::Failed;
        ServerTask {
            id: self.id.clone(),
            status: self.status,
            current_phase: self.phase,
            total_phases: self.shape.total(),
            progress: self.progress(),
            created_at: Some(self.times.created.into()),
            started_at: stamp(self.times.started),
            completed_at: stamp(self.times.completed),
            failed_at: stamp(self.times.failed),
            cancelled_at: stamp(self.times.cancelled),
            reason: self.reason.clone().filter(|_| has_failed),
            // Where it is on the disk is known to the engine.
            error_log: None,
            paused_by: self.paused_by(),
        }
    }

    /// Who paused its agent, while it is in progress: a person counts before a limit.
    pub fn paused_by(&self) -> Option<PausedBy> {
        let paused = match (&self.pauses.person, &self.pauses.limit) {
            (Some(_), _) => Some(PausedBy::User),
            (None, Some(_)) => Some(PausedBy::RateLimit),
            (None, None) => None,
        };
        paused.filter(|_| self.agent == AgentStatus::Paused)
    }

    /// What its agent waits for.
    pub fn blocked_by(&self) -> Option<BlockedBy> {
        match self.agent {
            AgentStatus::WaitingDependency => Some(BlockedBy::Dependency),
            AgentStatus::WaitingQuestion => Some(BlockedBy::Question),
            AgentStatus::WaitingReview => Some(BlockedBy::Review),
            AgentStatus::Paused => Some(match self.paused_by() {
                Some(PausedBy::RateLimit) => BlockedBy::RateLimit,
                Some(PausedBy::User) | None => BlockedBy::User,
            }),
            AgentStatus::Idle
            | AgentStatus::Running
            | AgentStatus::Completed
            | AgentStatus::Failed => None,
        }
    }

    /// The seed's `AgentMetadata`.
    pub fn agent_document(&self, live: &LiveAgent) -> Agent {
        let default = AgentCheckpoint::default().auto_save_interval;
        let interval = Some(live.checkpoint_interval_ms).filter(|it| *it > 0);
        let heard = live.heard.max(Some(self.times.updated));
        Agent {
            status: self.agent,
            current_phase: self.phase,
            current_step: self.current_step.clone(),
            progress: self.progress(),
            tokens_used: self.trail.usage.tokens().saturating_add(live.tokens),
            blocked_by: self.blocked_by(),
            last_update: heard.map(Stamp::from),
            checkpoint: AgentCheckpoint {
                last_saved: self.checkpoints.last().map(|it| it.at.into()),
                auto_save_interval: interval.unwrap_or(default),
            },
        }
    }

    /// The record of one event in the log of transitions, where the task stands as it did before it;
    /// none for an event that moves nothing.
    pub fn transition(&self, event: &Event, at: Time) -> Option<Transition> {
        let Event::Moved { task, agent, trigger, facts } = event else { return None };
        let (task, agent) = (task.unwrap_or(self.status), agent.unwrap_or(self.agent));
        let mut metadata = OpenMap::default();
        let MoveFacts { phase, deliverables, attempt, reason } = facts;
        let numbers = [("phase", phase), ("deliverables", deliverables), ("attempt", attempt)];
        for (name, number) in numbers {
            if let Some(number) = number {
                metadata.insert(name.to_owned(), Json::from(u64::from(*number)));
            }
        }
        if let Some(reason) = reason {
            metadata.insert("reason".to_owned(), Json::from(reason.as_str()));
        }
        metadata.insert("task".to_owned(), moved(task_word(self.status), task_word(task)));
        metadata.insert("agent".to_owned(), moved(agent_word(self.agent), agent_word(agent)));
        Some(Transition {
            timestamp: at.into(),
            task_id: self.id.clone(),
            record: RecordType::StateTransition,
            from: shown(self.status, self.agent),
            to: shown(task, agent),
            trigger: *trigger,
            metadata,
        })
    }

    /// What a person sees of it.
    pub fn shown(&self) -> ShownState {
        shown(self.status, self.agent)
    }
}

/// A machine's own states before and after.
fn moved(from: &str, to: &str) -> Json {
    let mut states = OpenMap::default();
    states.insert("from".to_owned(), Json::from(from));
    states.insert("to".to_owned(), Json::from(to));
    Json::from(states)
}

/// The agent's state while it is paused or waits, else the task's.
fn shown(task: ServerTaskStatus, agent: AgentStatus) -> ShownState {
    match (task, agent) {
        (_, AgentStatus::Paused) => ShownState::Paused,
        (_, AgentStatus::WaitingDependency) => ShownState::WaitingDependency,
        (_, AgentStatus::WaitingQuestion) => ShownState::WaitingQuestion,
        (_, AgentStatus::WaitingReview) => ShownState::WaitingReview,
        (ServerTaskStatus::Draft, _) => ShownState::Draft,
        (ServerTaskStatus::Pending, _) => ShownState::Pending,
        (ServerTaskStatus::InProgress, _) => ShownState::InProgress,
        (ServerTaskStatus::Review, _) => ShownState::Review,
        (ServerTaskStatus::Completed, _) => ShownState::Completed,
        (ServerTaskStatus::Failed, _) => ShownState::Failed,
    }
}

/// The state's word, the same as serde's.
pub fn task_word(status: ServerTaskStatus) -> &'static str {
    match status {
        ServerTaskStatus::Draft => "draft",
        ServerTaskStatus::Pending => "pending",
        ServerTaskStatus::InProgress => "in_progress",
        ServerTaskStatus::Review => "review",
        ServerTaskStatus::Completed => "completed",
        ServerTaskStatus::Failed => "failed",
    }
}

/// The state's word, the same as serde's.
pub fn agent_word(status: AgentStatus) -> &'static str {
    match status {
        AgentStatus::Idle => "idle",
        AgentStatus::Running => "running",
        AgentStatus::Paused => "paused",
        AgentStatus::WaitingDependency => "waiting_dependency",
        AgentStatus::WaitingQuestion => "waiting_question",
        AgentStatus::WaitingReview => "waiting_review",
        AgentStatus::Completed => "completed",
        AgentStatus::Failed => "failed",
    }
}
