//! A session of a project: its metadata and the state of its request, tasks and subtasks.
//!
//! Counters such as retries are not here; they live in the journal.

use super::check::Findings;
use super::fields::present;
use super::{Document, Kind, ProjectHash, RequestId, SessionTaskId, SubtaskId, Version, code};
use crate::diagnostic::Diagnostic;
use crate::ordered::Ordered;
use crate::time::Stamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

/// The metadata of a session (`session.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionFile {
    /// The version of this format.
    pub version: Version<1>,
    /// The project that the session belongs to.
    pub project: Project,
    /// Whether the session goes on.
    pub status: SessionStatus,
    /// The task that is being worked on, null if none; the same as the request's.
    #[serde(default)]
    pub current_task: Option<SessionTaskId>,
    /// When the session was started.
    pub created_at: Stamp,
    /// When this file was last written.
    pub updated_at: Stamp,
    /// The instructions for agents that the project has.
    #[serde(default)]
    pub manifest: Manifest,
}

/// The project that a session or a knowledge file belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// The absolute path of the project.
    pub path: String,
    /// What the project is called.
    pub name: String,
    /// The hash of the path, which is also the folder's name.
    pub hash: ProjectHash,
}

impl Project {
    pub(super) fn check(&self, findings: &mut Findings) {
        findings.absolute("project.path", &self.path);
    }
}

/// The instructions for agents that a project has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Manifest {
    /// The path of CLAUDE.md, null if there is none.
    pub claude_md: Option<String>,
    /// The path of AGENTS.md, null if there is none.
    pub agents_md: Option<String>,
}

/// Whether a session or a request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It goes on.
    Active,
    /// Everything in it is done.
    Completed,
    /// It was ended before everything was done.
    Stopped,
}

/// The state of a request, its tasks and their subtasks (`state.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionState {
    /// The version of this format.
    pub version: Version<2>,
    /// The request that is being worked on.
    pub request: Request,
    /// The tasks by id; one that is in the order and not here is pending.
    #[serde(default)]
    pub tasks: Ordered<SessionTaskId, SessionTask>,
    /// The ids of all tasks in the order in which they are done.
    #[serde(default)]
    pub task_order: Vec<SessionTaskId>,
}

/// A request of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The request's id.
    pub id: RequestId,
    /// The request in the user's words.
    pub original_request: String,
    /// Whether it goes on.
    pub status: SessionStatus,
    /// The task that is being worked on, null if none.
    #[serde(default)]
    pub current_task: Option<SessionTaskId>,
    /// How far the request is as a whole.
    pub global_phase: GlobalPhase,
}

/// How far a request is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GlobalPhase {
    /// The code is being explored and the request planned.
    GlobalDiscovery,
    /// The tasks are done one after another.
    TaskLoop,
    /// Every task is done.
    Complete,
}

/// A task of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Task")]
pub struct SessionTask {
    /// What the task is called.
    pub name: String,
    /// Where the task is in its life.
    pub status: Status,
    /// The subtask that is being worked on; null while the task is in design, or not in progress.
    #[serde(default)]
    pub current_subtask: Option<SubtaskId>,
    /// The subtasks by id; one that is in the order and not here is pending.
    #[serde(default)]
    pub subtasks: Ordered<SubtaskId, Subtask>,
    /// The ids of all subtasks in the order in which they are done.
    #[serde(default)]
    pub subtask_order: Vec<SubtaskId>,
    /// When the task was planned.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Stamp")]
    pub created_at: Option<Stamp>,
    /// When something about it last changed.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Stamp")]
    pub updated_at: Option<Stamp>,
}

/// Where a task or a subtask is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not started yet.
    Pending,
    /// Being worked on, or out of retries and waiting for a person.
    InProgress,
    /// Done.
    Completed,
}

/// A subtask of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subtask {
    /// What the subtask is called.
    pub name: String,
    /// Where the subtask is in its life.
    pub status: Status,
    /// What is being done for it.
    pub phase: SubtaskPhase,
    /// The gates that were looked at; one that is absent was not.
    #[serde(default)]
    pub gates: SubtaskGates,
}

/// What is being done for a subtask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubtaskPhase {
    /// Its tests are being written.
    TestFirst,
    /// It is being implemented.
    Implementation,
    /// What was implemented is being checked.
    Verification,
    /// Nothing more; it is done.
    Complete,
}

/// The gates of a subtask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Gates")]
pub struct SubtaskGates {
    /// The tests are written.
    #[serde(
        rename = "GATE-1",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "GateStatus")]
    pub tests_written: Option<GateStatus>,
    /// The tests pass.
    #[serde(
        rename = "GATE-2",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "GateStatus")]
    pub tests_pass: Option<GateStatus>,
    /// Only what the task covers was changed.
    #[serde(
        rename = "GATE-3",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "GateStatus")]
    pub in_scope: Option<GateStatus>,
    /// The design was kept to.
    #[serde(
        rename = "GATE-4",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "GateStatus")]
    pub design_kept: Option<GateStatus>,
}

/// How a gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    /// Not looked at yet.
    Pending,
    /// It held.
    Passed,
    /// It did not hold.
    Failed,
}

impl Document for SessionFile {
    const KIND: Kind = Kind::Session;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        self.project.check(&mut findings);
        findings.in_order("updated_at", Some(self.created_at), Some(self.updated_at));
        findings.into_vec()
    }
}

impl Document for SessionState {
    const KIND: Kind = Kind::SessionState;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        check_order(&mut findings, "task", &self.tasks, &self.task_order);
        let known =
            |id: &SessionTaskId| self.tasks.contains_key(id) || self.task_order.contains(id);
        if let Some(id) = self.request.current_task.as_ref().filter(|id| !known(id)) {
            let path = "request.current_task".to_owned();
            findings.error(code::MISSING_REFERENCE, path, format!("there is no task {id}"));
        }
        for (id, task) in self.tasks.iter() {
            task.check(&mut findings, id);
        }
        findings.into_vec()
    }
}

impl SessionState {
    /// Says whether this state and its session agree about the task that is being worked on.
    pub fn check_with(&self, session: &SessionFile) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        if self.request.current_task != session.current_task {
            let show = |task: &Option<SessionTaskId>| {
                task.as_ref().map_or_else(|| "null".to_owned(), ToString::to_string)
            };
            let message = format!(
                "{} is not what session.json says, which is {}",
                show(&self.request.current_task),
                show(&session.current_task)
            );
            let path = "request.current_task".to_owned();
            findings.error(code::CONTRADICTION, path, message);
        }
        findings.into_vec()
    }
}

impl SessionTask {
    fn check(&self, findings: &mut Findings, id: &SessionTaskId) {
        let at = format!("tasks.{id}");
        check_order(findings, &format!("{at}.subtask"), &self.subtasks, &self.subtask_order);
        for (subtask, path) in self.named_subtasks(&at) {
            if !subtask.belongs_to(id) {
                let message = format!("{subtask} does not belong to {id}");
                findings.error(code::WRONG_OWNER, path, message);
            }
        }
        let known =
            |id: &SubtaskId| self.subtasks.contains_key(id) || self.subtask_order.contains(id);
        if let Some(missing) = self.current_subtask.as_ref().filter(|id| !known(id)) {
            let path = format!("{at}.current_subtask");
            findings.error(code::MISSING_REFERENCE, path, format!("there is no subtask {missing}"));
        }
        for (id, subtask) in self.subtasks.iter() {
            let path = format!("{at}.subtasks.{id}");
            findings.test_subtask(format!("{path}.name"), &subtask.name);
            let is_done = subtask.status == Status::Completed;
            if is_done != (subtask.phase == SubtaskPhase::Complete) {
                let message = "a subtask is completed when its phase is complete".to_owned();
                findings.error(code::CONTRADICTION, format!("{path}.phase"), message);
            }
        }
        findings.in_order(&format!("{at}.updated_at"), self.created_at, self.updated_at);
    }

    /// Every place that names a subtask, with its path.
    fn named_subtasks<'a>(&'a self, at: &str) -> Vec<(&'a SubtaskId, String)> {
        let keys = self.subtasks.keys().map(|id| (id, format!("{at}.subtasks.{id}")));
        let order = self.subtask_order.iter().enumerate();
        let order = order.map(|(nth, id)| (id, format!("{at}.subtask_order[{nth}]")));
        keys.chain(order).collect()
    }
}

/// An order names each id once, and all that are in the map; `path` is that of one, as `task`.
fn check_order<I: Eq + Hash + Clone + Display, V>(
    findings: &mut Findings,
    path: &str,
    map: &Ordered<I, V>,
    order: &[I],
) {
    findings.unique(order, |at| format!("{path}_order[{at}]"));
    let ordered: HashSet<&I> = order.iter().collect();
    for id in map.keys().filter(|id| !ordered.contains(id)) {
        let message = format!("{id} is not in the order");
        let finding = Diagnostic::error(code::MISSING_REFERENCE, message);
        findings
            .add(finding.path(format!("{path}s.{id}")).expected(format!("{id} in {path}_order")));
    }
}
