//! What was found in the code, and the request as tasks and subtasks.

use super::check_owner;
use super::place::{ContractIds, ContractPlace};
use crate::diagnostic::Diagnostic;
use crate::document::check::Findings;
use crate::document::fields::present;
use crate::document::session::Manifest;
use crate::document::{Document, Kind, RequestId, SessionTaskId, SubtaskId, Version, code};
use crate::json::OpenMap;
use crate::time::Stamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What was found in the code (`explored.yaml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explored {
    /// The version of this format.
    pub version: Version<1>,
    /// The request that it was made for.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RequestId")]
    pub request_id: Option<RequestId>,
    /// When it was made.
    pub created_at: Stamp,
    /// The agent that made it.
    pub created_by: String,
    /// The instructions for agents that the project has.
    #[serde(default)]
    pub project_manifest: Manifest,
    /// The files that matter for the request.
    #[serde(default)]
    pub explored_files: Vec<ExploredFile>,
    /// What the folders are for, by path.
    #[serde(default)]
    pub directory_structure: OpenMap,
}

/// A file that matters for a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExploredFile {
    /// Where the file is.
    pub path: String,
    /// What the file is for.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub summary: Option<String>,
}

/// A request as tasks and subtasks (`task-breakdown.yaml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskBreakdown {
    /// The version of this format.
    pub version: Version<1>,
    /// The request that it was made for.
    pub request_id: RequestId,
    /// When it was made.
    pub created_at: Stamp,
    /// The agent that made it.
    pub created_by: String,
    /// The request in the user's words.
    pub original_request: String,
    /// What is to be achieved as a whole.
    pub objective: String,
    /// The tasks, each with its subtasks.
    pub tasks: Vec<BreakdownTask>,
    /// What the plan takes for granted and the exploration has to confirm.
    pub assumptions: Vec<String>,
    /// The ids of all tasks in the order in which they are to be done.
    pub task_order: Vec<SessionTaskId>,
}

/// A task of a breakdown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlannedTask")]
pub struct BreakdownTask {
    /// The task's id.
    pub id: SessionTaskId,
    /// What the task is called.
    pub name: String,
    /// What the task is to achieve.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub objective: Option<String>,
    /// Its subtasks in the order in which they are to be done.
    #[serde(default)]
    pub subtasks: Vec<PlannedSubtask>,
}

/// A subtask of a breakdown or a brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedSubtask {
    /// The subtask's id, which begins with its task's.
    pub id: SubtaskId,
    /// What the subtask is called.
    pub name: String,
    /// What is to be done.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub description: Option<String>,
}

impl Document for Explored {
    const KIND: Kind = Kind::Explored;

    fn check(&self) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn check_place(&self, place: &ContractPlace) -> Vec<Diagnostic> {
        let ids = ContractIds { request: self.request_id.as_ref(), ..ContractIds::default() };
        place.check(Self::KIND, ids)
    }
}

impl Document for TaskBreakdown {
    const KIND: Kind = Kind::TaskBreakdown;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        findings.unique(self.tasks.iter().map(|task| &task.id), |at| format!("tasks[{at}].id"));
        for (at, task) in self.tasks.iter().enumerate() {
            let path = format!("tasks[{at}].subtasks");
            check_subtasks(&mut findings, &path, Some(&task.id), &task.subtasks);
        }
        self.check_order(&mut findings);
        findings.into_vec()
    }

    fn check_place(&self, place: &ContractPlace) -> Vec<Diagnostic> {
        let ids = ContractIds { request: Some(&self.request_id), ..ContractIds::default() };
        place.check(Self::KIND, ids)
    }
}

impl TaskBreakdown {
    /// The order names every task, each once, and nothing else.
    fn check_order(&self, findings: &mut Findings) {
        findings.unique(&self.task_order, |at| format!("task_order[{at}]"));
        let tasks: HashSet<&SessionTaskId> = self.tasks.iter().map(|task| &task.id).collect();
        let ordered: HashSet<&SessionTaskId> = self.task_order.iter().collect();
        for (at, id) in self.task_order.iter().enumerate().filter(|(_, id)| !tasks.contains(id)) {
            let path = format!("task_order[{at}]");
            findings.error(code::MISSING_REFERENCE, path, format!("there is no task {id}"));
        }
        for (at, task) in
            self.tasks.iter().enumerate().filter(|(_, task)| !ordered.contains(&task.id))
        {
            let message = format!("{} is not in the order", task.id);
            let finding = Diagnostic::error(code::MISSING_REFERENCE, message);
            let expected = format!("{} in task_order", task.id);
            findings.add(finding.path(format!("tasks[{at}].id")).expected(expected));
        }
    }
}

/// Subtask ids are unique and begin with their task's, and none is about nothing but tests.
pub(super) fn check_subtasks(
    findings: &mut Findings,
    path: &str,
    task: Option<&SessionTaskId>,
    subtasks: &[PlannedSubtask],
) {
    findings.unique(subtasks.iter().map(|subtask| &subtask.id), |at| format!("{path}[{at}].id"));
    check_owners(findings, path, task, subtasks);
    for (at, subtask) in subtasks.iter().enumerate() {
        findings.test_subtask(format!("{path}[{at}].name"), &subtask.name);
    }
}

/// Subtask ids begin with their task's.
pub(super) fn check_owners(
    findings: &mut Findings,
    path: &str,
    task: Option<&SessionTaskId>,
    subtasks: &[PlannedSubtask],
) {
    for (at, subtask) in subtasks.iter().enumerate() {
        check_owner(findings, &format!("{path}[{at}].id"), task, &subtask.id);
    }
}
