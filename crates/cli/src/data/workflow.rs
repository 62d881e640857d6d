//! Workflows, reviews and the state of everything as data.

use super::{
    inbox::{EntryReport, NoticesWaiting},
    memory::MemoryReport,
    run::RunReport,
    session::SessionReport,
    setup::AgentCheckReport,
};
use crate::spelling::Step;
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeMap, path::Path};
use waypost_model::{
    evidence::Evidence,
    run::Usage,
    workflow::{GateName, Review, ReviewFinding, WorkflowState},
};

/// How the workflow stands: the window's own fields and what goes beyond them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkflowReport<'a> {
    /// What the state file shows; none: no workflow is active.
    pub(crate) state: Option<WorkflowState>,
    /// What stands behind each gate that is passed.
    pub(crate) evidence: BTreeMap<String, PassReport<'a>>,
    pub(crate) reviews: &'a [Review],
    /// Why the gate is suspended, if it is.
    pub(crate) suspended: Option<&'a str>,
    pub(crate) next: Vec<String>,
    pub(crate) next_steps: Vec<Step<'static>>,
}

impl WorkflowReport<'_> {
    /// No workflow is active.
    pub(crate) fn none() -> Self {
        Self {
            state: None,
            evidence: BTreeMap::new(),
            reviews: &[],
            suspended: None,
            next: Vec::new(),
            next_steps: Vec::new(),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PassReport<'a> {
    pub(crate) at: String,
    pub(crate) evidence: &'a [Evidence],
}

/// What a reviewer had to say.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReviewReport<'a> {
    pub(crate) gate: GateName,
    pub(crate) agent: &'a str,
    /// The content that was looked at; none outside git.
    pub(crate) tree: Option<&'a str>,
    pub(crate) blocking: u32,
    pub(crate) findings: &'a [ReviewFinding],
    pub(crate) usage: &'a Usage,
    pub(crate) next: String,
}

/// Where everything stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusReport<'a> {
    pub(crate) root: &'a Path,
    pub(crate) workflow: Option<WorkflowReport<'a>>,
    pub(crate) run: Option<RunReport<'a>>,
    /// What state files say that no journal is behind.
    pub(crate) not_adopted: NotAdopted<'a>,
    /// How many tasks of the server there are in each state.
    pub(crate) tasks: BTreeMap<String, u64>,
    pub(crate) inbox: Vec<EntryReport<'a>>,
    /// Who acts for the project, in words.
    pub(crate) engine: Option<&'a str>,
    /// The engine of a run died and has left what it started.
    pub(crate) engine_gone: bool,
    /// How the session stands; none: no session has begun.
    pub(crate) session: Option<SessionReport>,
    /// How the memory stands; none: it is not in use.
    pub(crate) memory: Option<MemoryReport>,
    pub(crate) notices: Vec<NoticesWaiting<'a>>,
    /// What the last check of each agent's gate said.
    pub(crate) gates_of_agents: BTreeMap<&'a str, AgentCheckReport<'a>>,
    /// How far the wall around agents reaches on this machine, by a try: b, c or none.
    pub(crate) wall: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NotAdopted<'a> {
    pub(crate) workflow: Option<WorkflowReport<'a>>,
    pub(crate) run: Option<RunReport<'a>>,
}
