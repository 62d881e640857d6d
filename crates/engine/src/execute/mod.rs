//! The executor: takes the ready tasks of a run, has them worked on, and records what came of them.
//!
//! It decides nothing about tasks: every start and every end is a command to the run's machine, and
//! nothing is started before its start is durable. Children belong to the keeper, so the executor
//! may die at any instant: the next one finds them again (`recover`).
//!
//! What is to be done when something has happened is decided by `core`, which does nothing itself; the
//! life of each attempt is a machine of its own (`life`). `driver` hears and does: keeper, git, agents,
//! journal, audience.
//!
//! Starts are claimed in the transaction that records ends, a few ahead of the free slots while
//! tasks end quickly, and the keeper gathers ends for a moment while it has others to start. So a
//! run of many short tasks costs one commit for many of them, and a slow one is shown as it is.

mod adopted;
mod agents;
mod attempt;
mod audience;
mod brief;
mod claims;
mod conclude;
mod core;
mod driver;
mod git_work;
mod ground_tried;
mod held;
mod life;
mod lingering;
mod losses;
mod means;
mod news;
mod recover;
mod showing;
mod signature;
mod worker;
mod workplace;

use attempt::{Attempt, TaskWork};
pub(crate) use attempt::{log_path, reason as ended_in_words, shortened, usual_environment};
pub use audience::{AgentView, Audience, Doing, Happening, Ring, Running, Voice, Wish};
pub(crate) use conclude::result as result_of;
pub(crate) use driver::Executor;
pub(crate) use git_work::{Made, make as make_attempt_tree};
pub use news::RunNews;
pub(crate) use news::{NewsReader, Starts};
use serde::{Deserialize, Serialize};
use waypost_model::run::{self, Active, TaskStatus};

/// How a run is executed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunOptions {
    /// The program that keeps children: `waypost keeper`.
    pub keeper: Vec<std::ffi::OsString>,
    /// Only this phase.
    pub phase: Option<u32>,
    /// Whether to wait for as long as it takes when only a person can help.
    pub waits: bool,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// Nothing is left to do.
    Over,
    /// A person has to answer first.
    Waits { phase: u32 },
    /// A phase could not be merged; why is in the inbox.
    NotJoined { phase: u32 },
    /// Nothing can go on before a person has answered what is in the inbox.
    Asks,
    /// Model agents have work, and may not spend more.
    OutOfMoney,
    /// The same, and it is the phase that may not.
    PhaseOutOfMoney { phase: u32 },
    /// No agent that has work can be used before a person has signed in or paid; what to do is in
    /// the inbox.
    Unavailable,
    /// The phase that was asked for is done.
    PhaseDone,
    /// It was asked to end.
    Stopped,
}

/// The model agent that works on a task, if one does.
pub(crate) fn agent_of<'a>(
    task: &'a run::PlannedTask,
    settings: &'a run::Settings,
) -> Option<&'a str> {
    match TaskWork::of(task, settings) {
        TaskWork::Agent(name) => Some(name),
        TaskWork::Command(_) | TaskWork::Nobody(_) => None,
    }
}

/// Whether a model agent works on a task.
pub(crate) fn is_agents(task: &run::PlannedTask, settings: &run::Settings) -> bool {
    agent_of(task, settings).is_some()
}

/// Whether a task is at this attempt.
fn is_at(active: &Active, attempt: &Attempt) -> bool {
    let view = active.task(&attempt.id);
    view.is_some_and(|it| it.status == TaskStatus::InProgress && it.attempts == attempt.number)
}
