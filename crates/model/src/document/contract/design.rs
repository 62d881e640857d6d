//! What one task is to achieve, and the design that it must keep to.

use super::place::{ContractIds, ContractPlace};
use super::plan::{PlannedSubtask, check_owners, check_subtasks};
use crate::diagnostic::Diagnostic;
use crate::document::check::Findings;
use crate::document::fields::present;
use crate::document::{Document, Kind, RequestId, SessionTaskId, Version};
use crate::time::Stamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one task is to achieve (`design-brief.yaml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DesignBrief {
    /// The version of this format.
    pub version: Version<1>,
    /// The request that it belongs to.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RequestId")]
    pub request_id: Option<RequestId>,
    /// The task that it is about.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SessionTaskId")]
    pub task_id: Option<SessionTaskId>,
    /// When it was made.
    pub created_at: Stamp,
    /// The agent that made it.
    pub created_by: String,
    /// What the task is called.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub task_name: Option<String>,
    /// What the task is to achieve.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub objective: Option<String>,
    /// Its subtasks in the order in which they are to be done.
    #[serde(default)]
    pub subtasks: Vec<PlannedSubtask>,
    /// What must hold when the task is done.
    #[serde(default)]
    pub completion_criteria: Vec<String>,
    /// What the task covers; paths and globs are checked, prose is confirmed.
    #[serde(default)]
    pub scope_in: Vec<String>,
    /// What the task must leave alone.
    #[serde(default)]
    pub scope_out: Vec<String>,
    /// The files that the task is about.
    #[serde(default)]
    pub file_refs: Vec<FileRef>,
}

/// A file that a task is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileRef {
    /// The class, module or thing that the file holds.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub entity: Option<String>,
    /// Where the file is, or will be.
    pub path: String,
    /// What is to happen to it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "FileStatus")]
    pub status: Option<FileStatus>,
}

/// What is to happen to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// Nothing; it is there and is used.
    Exists,
    /// It is to be made.
    ToCreate,
    /// It is there and is to be changed.
    ToModify,
}

/// The design that one task must keep to (`design-contract.yaml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DesignContract {
    /// The version of this format.
    pub version: Version<1>,
    /// The request that it belongs to.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RequestId")]
    pub request_id: Option<RequestId>,
    /// The task that it is about.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SessionTaskId")]
    pub task_id: Option<SessionTaskId>,
    /// When it was made.
    pub created_at: Stamp,
    /// The agent that made it.
    pub created_by: String,
    /// What the task is called.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub task_name: Option<String>,
    /// What must always hold.
    pub invariants: Vec<Invariant>,
    /// What the parts offer to each other.
    pub interfaces: Vec<Interface>,
    /// Who may use whom.
    pub boundaries: Vec<Boundary>,
    /// The layer of each part.
    #[serde(default)]
    pub layer_assignments: Vec<LayerAssignment>,
    /// The files that the design is about.
    pub file_refs: Vec<FileRef>,
}

/// Something that must always hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invariant {
    /// Its name in reports, as in `INV-1`.
    pub id: String,
    /// What must hold.
    pub rule: String,
}

/// Something that a part offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// What it is called, as in `Service.method`.
    pub name: String,
    /// What it takes.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shape")]
    pub input: Option<Shape>,
    /// What it gives.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shape")]
    pub output: Option<Shape>,
    /// What it promises.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub contract: Option<String>,
}

/// The type of an input or output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The type's name.
    #[serde(rename = "type")]
    pub name: String,
    /// The type's fields, where they matter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
}

/// A field of a type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// The field's type.
    #[serde(
        default,
        rename = "type",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "String")]
    pub form: Option<String>,
}

/// Whether one part may use another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Boundary {
    /// The part that uses.
    pub from: String,
    /// The part that is used.
    pub to: String,
    /// Whether that is allowed.
    pub allowed: bool,
    /// Under which condition, or why.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub note: Option<String>,
}

/// The layer of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerAssignment {
    /// The part.
    pub component: String,
    /// The layer that it is in.
    pub layer: String,
}

impl Document for DesignBrief {
    const KIND: Kind = Kind::DesignBrief;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        check_subtasks(&mut findings, "subtasks", self.task_id.as_ref(), &self.subtasks);
        findings.into_vec()
    }

    fn check_place(&self, place: &ContractPlace) -> Vec<Diagnostic> {
        let (request, task) = (self.request_id.as_ref(), self.task_id.as_ref());
        let mut findings = place.check(Self::KIND, ContractIds { request, task, subtask: None });
        if task.is_none() {
            let mut owners = Findings::default();
            check_owners(&mut owners, "subtasks", place.task.as_ref(), &self.subtasks);
            findings.extend(owners.into_vec());
        }
        findings
    }
}

impl Document for DesignContract {
    const KIND: Kind = Kind::DesignContract;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        let ids = self.invariants.iter().map(|invariant| &invariant.id);
        findings.unique(ids, |at| format!("invariants[{at}].id"));
        findings.into_vec()
    }

    fn check_place(&self, place: &ContractPlace) -> Vec<Diagnostic> {
        let (request, task) = (self.request_id.as_ref(), self.task_id.as_ref());
        place.check(Self::KIND, ContractIds { request, task, subtask: None })
    }
}
