//! What is known about a project: patterns, decisions and pitfalls (`knowledge.yaml`).

use super::check::Findings;
use super::fields::present;
use super::session::Project;
use super::{DateOrTime, DecisionId, Document, Kind, PitfallId, Version, code};
use crate::diagnostic::Diagnostic;
use crate::json::OpenMap;
use crate::time::Stamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What is known about a project (`knowledge.yaml`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Knowledge {
    /// The version of this format.
    pub version: Version<1>,
    /// The project that it is about.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Project")]
    pub project: Option<Project>,
    /// How things are done here; anything may stand in it.
    #[serde(default)]
    pub patterns: OpenMap,
    /// What was decided, one decision per topic.
    #[serde(default)]
    pub decisions: Vec<KnowledgeDecision>,
    /// What to look out for.
    #[serde(default)]
    pub pitfalls: Vec<Pitfall>,
    /// When this file was last written.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Stamp")]
    pub updated_at: Option<Stamp>,
}

/// Something that was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Decision")]
pub struct KnowledgeDecision {
    /// The decision's id.
    pub id: DecisionId,
    /// What it is about.
    pub topic: String,
    /// What was decided.
    pub decision: String,
    /// Why.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub rationale: Option<String>,
    /// The files in which it can be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    /// When it was decided: a day or a time.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DateOrTime")]
    pub created_at: Option<DateOrTime>,
}

/// Something to look out for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pitfall {
    /// The pitfall's id.
    pub id: PitfallId,
    /// What to look out for.
    pub description: String,
    /// Why it is so.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reason: Option<String>,
    /// The task from which it was learned.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub learned_from: Option<String>,
}

impl Document for Knowledge {
    const KIND: Kind = Kind::Knowledge;

    fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Findings::default();
        if let Some(project) = &self.project {
            project.check(&mut findings);
        }
        let decisions = self.decisions.iter().map(|decision| &decision.id);
        findings.unique(decisions, |at| format!("decisions[{at}].id"));
        let pitfalls = self.pitfalls.iter().map(|pitfall| &pitfall.id);
        findings.unique(pitfalls, |at| format!("pitfalls[{at}].id"));
        let mut topics = HashSet::new();
        for (at, decision) in self.decisions.iter().enumerate() {
            if !topics.insert(decision.topic.as_str()) {
                let message = format!("`{}` was decided before", decision.topic);
                let path = format!("decisions[{at}].topic");
                findings.warning(code::CONTRADICTION, path, message);
            }
        }
        findings.into_vec()
    }
}
