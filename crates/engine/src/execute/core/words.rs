//! All that an executor's core hears, and all that it wants done: two closed types of plain data.

use super::super::{
    attempt::Attempt,
    audience::{Happening, Wish},
    conclude::Verdict,
    git_work::{GitJob, GitResult},
    workplace::Site,
};
use crate::{agent::Purse, error::EngineError, execute::RunEnd};
use std::{collections::BTreeMap, rc::Rc};
use waypost_model::{
    id::TaskId,
    run::{self, ParkCause},
    time::Time,
    trouble::Trouble,
};
use waypost_proc::{Report, Spec};

/// What the core hears.
#[derive(Debug)]
pub(crate) enum Input {
    /// A keeper tells of a child.
    Report(Report),
    /// The keeper has died; what it left is told by `Surveyed`.
    KeeperLost,
    /// What was found of earlier keepers and engines.
    Surveyed(Survey),
    /// What became of something that git was to do.
    Git(GitResult),
    /// Work trees were cleared away to make room for this task's; whether that helped.
    Reclaimed { id: TaskId, has_helped: bool },
    /// Work trees and branches that are there.
    TreesFound(TreesFound),
    /// An agent of an earlier engine works on an attempt, or has ended unheard.
    AgentFound { id: TaskId, attempt: u32 },
    /// An agent works on an attempt.
    Engaged { id: TaskId, attempt: u32 },
    /// An agent waits for a person, or goes on.
    AgentWaits { id: TaskId, is_waiting: bool },
    /// What became of an agent's work, and what is to be recorded with it.
    Concluded(Box<Concluded>),
    /// What agents may do from now on.
    Allowed(AgentLimits),
    /// What was last to be recorded is durable, and these tasks were claimed with it.
    Recorded { claims: Vec<TaskId>, refused: Vec<String> },
    /// Commits of others have changed the run.
    Changed,
    /// The machine was found to be in trouble; why.
    Troubled(Trouble, String),
    /// What a look at a trouble has shown.
    Probed { trouble: Trouble, is_gone: bool },
    /// What new attempts and checks get from now on: another wall than before.
    Site(Rc<Site>),
    /// What the audience wants.
    Wish(Wish),
    /// All that has happened was told: what follows from it?
    Now,
}

/// What the core wants done, in this order.
#[derive(Debug)]
pub(crate) enum Output {
    /// Start children; each is answered by reports.
    Start(Vec<Spec>),
    /// End a child, or withdraw it if it waits for a slot.
    Stop(String),
    /// Tell the keeper how many children may run at once.
    SetSlots(usize),
    /// Git has to do something; answered by its result.
    Git(GitJob),
    /// Clear away work trees that are not worked in, because there is no room for this task's.
    Reclaim(TaskId),
    /// Look whether a trouble is gone.
    Probe(Trouble),
    /// Look which work trees and branches are there.
    FindTrees,
    /// Put the agent of an attempt to work.
    Engage(Box<Attempt>),
    /// End the agent of a task: it waits again.
    Halt(TaskId),
    /// Record ends, and claim what `Core::claims` says then, in one transaction.
    Record(Vec<run::Command>),
    /// Record something else.
    Command(Vec<run::Command>),
    /// Tell those who watch what is in no journal.
    Say(Happening),
    /// Ask again at this time at the latest.
    WakeAt(Time),
    /// Nothing of the run is under way any more.
    Over(RunEnd),
    /// The run cannot go on.
    Fail(EngineError),
}

/// The end of an agent's work.
#[derive(Debug)]
pub(crate) struct Concluded {
    pub(in crate::execute) id: TaskId,
    pub(in crate::execute) attempt: u32,
    pub(in crate::execute) verdict: Verdict,
    /// Recorded before what the verdict leads to.
    pub(in crate::execute) with: Vec<run::Command>,
}

impl Concluded {
    pub(in crate::execute) fn has_failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }
}

/// What agents may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentLimits {
    /// How many may work at once.
    pub(in crate::execute) most: usize,
    /// Until when agents of a name are not started, and why.
    pub(in crate::execute) limited: BTreeMap<String, (Time, ParkCause)>,
    /// Whose money is used up, of run and phase.
    pub(in crate::execute) used_up: Option<Purse>,
}

impl AgentLimits {
    /// Whether agents of the phase that the run is at may spend more. The run may have gone on to another
    /// one since this was found out.
    pub(super) fn has_money(&self, active: &run::Active) -> bool {
        match self.used_up {
            None => true,
            Some(Purse::Phase(phase)) => phase != active.current_phase(),
            Some(Purse::Run | Purse::Day | Purse::Work) => false,
        }
    }
}

/// What was found of earlier keepers and engines.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(in crate::execute) children: Vec<Trace>,
    /// What git knows of attempts that are in progress.
    pub(in crate::execute) git: BTreeMap<TaskId, GitTrace>,
}

/// The last that is known of an attempt's children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The task and the number of the attempt; a child of no attempt has a name of its own here.
    pub(in crate::execute) task: String,
    pub(in crate::execute) attempt: u32,
    pub(in crate::execute) name: String,
    /// Which of the attempt's verify commands it is; 0: its command.
    pub(in crate::execute) step: usize,
    pub(in crate::execute) end: Option<Report>,
    /// Its keeper lives, so without an end it is running.
    pub(in crate::execute) is_kept: bool,
}

/// What git knows of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitTrace {
    /// It is in its phase's branch by this commit; the other one is what was joined.
    Joined { commit: String, work: Option<String> },
    /// What it did is committed in its own tree.
    Committed,
    /// Its own tree is at this commit.
    At(String),
}

/// Work trees and branches that are there.
#[derive(Debug, Default)]
pub(crate) struct TreesFound {
    /// Trees of attempts, by their names.
    pub(in crate::execute) attempts: Vec<String>,
    /// Phases that have a branch or a tree.
    pub(in crate::execute) phases: Vec<u32>,
}
