//! `[roles.NAME]`: who plays which part in a session.

use crate::{diagnostic::Diagnostic, session::Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[roles.NAME]`: code-explore, planner, orchestrator, architect, qa-engineer or implementer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoleConfig {
    /// The agent, by name; empty: `run.agent`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The model; empty: as the agent has it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// What it is told beside its work.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Tools that need no permission, beside those of the agent, in the program's own notation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// Findings about roles that there are not, and about tools that the program would read as its own options.
pub(super) fn check(roles: &BTreeMap<String, RoleConfig>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (name, role) in roles {
        if !Role::ALL.iter().any(|known| known.as_str() == name) {
            let known: Vec<&str> = Role::ALL.iter().map(|role| role.as_str()).collect();
            let finding = Diagnostic::error("out_of_range", format!("there is no role `{name}`"));
            findings.push(finding.path(format!("roles.{name}")).expected(known.join(", ")));
        }
        let numbered = role.tools.iter().enumerate();
        for (at, tool) in numbered.filter(|(_, tool)| tool.trim_start().starts_with('-')) {
            let message = format!("`{tool}` is an option, and no tool");
            let finding = Diagnostic::error("out_of_range", message);
            findings.push(finding.path(format!("roles.{name}.tools[{at}]")));
        }
    }
    findings
}
