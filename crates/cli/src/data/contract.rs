//! Contracts as data.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use waypost_engine::contracts::{ContractChange, ContractFile};
use waypost_model::{
    diagnostic::Diagnostic,
    document::{RequestId, SessionTaskId, SubtaskId},
};

/// A contract of the session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContractLine<'a> {
    pub(crate) kind: &'static str,
    pub(crate) request: &'a RequestId,
    pub(crate) task: Option<&'a SessionTaskId>,
    pub(crate) subtask: Option<&'a SubtaskId>,
    pub(crate) path: &'a Path,
    pub(crate) valid: bool,
}

impl<'a> ContractLine<'a> {
    pub(crate) fn of(file: &'a ContractFile, valid: bool) -> Self {
        Self {
            kind: file.kind.name(),
            request: &file.place.request,
            task: file.place.task.as_ref(),
            subtask: file.place.subtask.as_ref(),
            path: &file.path,
            valid,
        }
    }
}

/// A contract that was put in place.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContractPut<'a> {
    pub(crate) contract: ContractLine<'a>,
    /// Whether it is another one than before.
    pub(crate) changed: bool,
    /// Its SHA-256.
    pub(crate) hash: &'a str,
    /// What should be corrected.
    pub(crate) findings: &'a [Diagnostic],
}

/// A contract with its text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContractText<'a> {
    pub(crate) contract: ContractLine<'a>,
    /// As it is in the file.
    pub(crate) text: &'a str,
    /// With its fields by their names; null where it is not valid.
    pub(crate) document: Option<Value>,
}

/// What has changed between two versions of a contract.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContractDiffReport<'a> {
    pub(crate) contract: ContractLine<'a>,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) changes: Vec<ContractChangeLine<'a>>,
}

/// A field that is another one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContractChangeLine<'a> {
    /// As in `test_cases[TC-1].category`.
    pub(crate) path: &'a str,
    /// As JSON; null: it was not there.
    pub(crate) before: Option<&'a str>,
    pub(crate) after: Option<&'a str>,
}

impl<'a> From<&'a ContractChange> for ContractChangeLine<'a> {
    fn from(change: &'a ContractChange) -> Self {
        Self {
            path: &change.path,
            before: change.before.as_deref(),
            after: change.after.as_deref(),
        }
    }
}
