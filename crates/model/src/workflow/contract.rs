//! The checkpoint contract: what each checkpoint of an implementation has to deliver.

use crate::{
    diagnostic::Diagnostic,
    document::{Document, Kind},
    id::CheckpointId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// The checkpoints of one feature, agreed before REVIEW.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointContract {
    /// The checkpoints, in the order in which they are worked on where nothing else decides.
    pub checkpoints: Vec<ContractCheckpoint>,
}

/// What one checkpoint has to deliver, and how that is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractCheckpoint {
    /// Its name in the workflow, as in cp-1.
    pub id: CheckpointId,
    /// What it is about, in a sentence.
    pub description: String,
    /// What it offers to the others; an entry that starts with a path owns that file.
    pub interface: Vec<String>,
    /// The tests that show it; an entry that starts with a path owns that file.
    pub tests: Vec<String>,
    /// How it is shown to hold.
    pub validation: Validation,
    /// The checkpoints that must have passed before.
    #[serde(default)]
    pub dependencies: Vec<CheckpointId>,
}

/// How a checkpoint is validated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// Run by Waypost itself; it has to end with 0.
    pub command: String,
    /// What its output has to contain, where the exit code is not enough.
    #[serde(default)]
    pub expected: Option<String>,
}

impl Document for CheckpointContract {
    const KIND: Kind = Kind::CheckpointContract;

    /// Finds what is wrong with it as a whole: parts missing, unknown or circular dependencies,
    /// a file that two checkpoints own.
    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        if self.checkpoints.is_empty() {
            findings.push(
                Diagnostic::error("empty_contract", "the contract has no checkpoint")
                    .path("checkpoints")
                    .expected("at least one checkpoint"),
            );
        }
        self.check_parts(&mut findings);
        self.check_owners(&mut findings);
        self.check_dependencies(&mut findings);
        findings
    }
}

impl CheckpointContract {
    /// Whether it speaks of exactly these checkpoints, in whatever order.
    pub(super) fn is_about(&self, ids: &[CheckpointId]) -> bool {
        let agreed: HashSet<&CheckpointId> = self.checkpoints.iter().map(|each| &each.id).collect();
        agreed == ids.iter().collect()
    }

    pub fn checkpoint(&self, id: &CheckpointId) -> Option<&ContractCheckpoint> {
        self.checkpoints.iter().find(|checkpoint| checkpoint.id == *id)
    }

    pub fn ids(&self) -> Vec<CheckpointId> {
        self.checkpoints.iter().map(|checkpoint| checkpoint.id.clone()).collect()
    }

    fn check_parts(&self, findings: &mut Vec<Diagnostic>) {
        let mut seen = HashSet::new();
        for (position, checkpoint) in self.checkpoints.iter().enumerate() {
            let path = |field: &str| format!("checkpoints[{position}].{field}");
            let id = &checkpoint.id;
            if !seen.insert(id) {
                let message = format!("checkpoint {id} is there twice");
                findings.push(Diagnostic::error("duplicate_id", message).path(path("id")));
            }
            let parts = [
                ("description", checkpoint.description.trim().is_empty()),
                ("interface", checkpoint.interface.is_empty()),
                ("tests", checkpoint.tests.is_empty()),
                ("validation.command", checkpoint.validation.command.trim().is_empty()),
            ];
            for (field, _) in parts.into_iter().filter(|(_, is_missing)| *is_missing) {
                let message = format!("checkpoint {id} has an empty `{field}`");
                findings.push(Diagnostic::error("empty_part", message).path(path(field)));
            }
        }
    }

    fn check_owners(&self, findings: &mut Vec<Diagnostic>) {
        let mut owners: HashMap<&str, &CheckpointId> = HashMap::new();
        for (position, checkpoint) in self.checkpoints.iter().enumerate() {
            for file in checkpoint.files() {
                let owner = *owners.entry(file).or_insert(&checkpoint.id);
                if *owner != checkpoint.id {
                    let message = format!("`{file}` is owned by {owner} and {}", checkpoint.id);
                    findings.push(
                        Diagnostic::error("file_owned_twice", message)
                            .path(format!("checkpoints[{position}].interface"))
                            .hint("give the file to one checkpoint and let the other depend on it"),
                    );
                }
            }
        }
    }

    fn check_dependencies(&self, findings: &mut Vec<Diagnostic>) {
        let known: HashSet<&CheckpointId> = self.checkpoints.iter().map(|each| &each.id).collect();
        for (position, checkpoint) in self.checkpoints.iter().enumerate() {
            for (at, wanted) in checkpoint.dependencies.iter().enumerate() {
                if !known.contains(wanted) {
                    let message =
                        format!("{} depends on {wanted}, which is not there", checkpoint.id);
                    let path = format!("checkpoints[{position}].dependencies[{at}]");
                    findings.push(Diagnostic::error("unknown_id", message).path(path));
                }
            }
        }
        let left = self.without_order();
        if findings.is_empty() && !left.is_empty() {
            let names: Vec<&str> = left.iter().map(|id| id.as_str()).collect();
            let message = format!("these checkpoints wait for each other: {}", names.join(", "));
            findings.push(Diagnostic::error("circular", message).path("checkpoints"));
        }
    }

    /// The checkpoints that cannot be put into any order: each waits for one of them, and is
    /// waited for by one of them.
    fn without_order(&self) -> Vec<&CheckpointId> {
        let mut left: Vec<&ContractCheckpoint> = self.checkpoints.iter().collect();
        loop {
            let open: HashSet<&CheckpointId> = left.iter().map(|each| &each.id).collect();
            let wanted: HashSet<&CheckpointId> =
                left.iter().flat_map(|each| &each.dependencies).collect();
            let before = left.len();
            left.retain(|each| {
                wanted.contains(&each.id) && each.dependencies.iter().any(|id| open.contains(id))
            });
            if left.len() == before {
                return left.into_iter().map(|each| &each.id).collect();
            }
        }
    }
}

impl ContractCheckpoint {
    /// The files it owns: entries of `interface` and `tests` that start with a path.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.interface.iter().chain(&self.tests).filter_map(|entry| {
            let word = entry.split([' ', ':', '#', '(']).next().unwrap_or_default();
            let has_suffix = word.rsplit_once('.').is_some_and(|(stem, suffix)| {
                !stem.is_empty() && !suffix.is_empty() && suffix.len() <= 5
            });
            (word.contains('/') || has_suffix && !word.contains("..")).then_some(word)
        })
    }
}
