//! `[session]`: how the gates of a session are evaluated.

use crate::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[session]`: how the tests of a project are run for GATE-2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionConfig {
    /// The command that runs the tests; empty: as the project's build file says.
    pub test_command: String,
    /// Variables that the tests get beside PATH and HOME: they get no other.
    pub test_env: BTreeMap<String, String>,
    /// How long the tests may take, in seconds.
    pub test_timeout_seconds: u64,
}

impl Default for SessionConfig {
    fn default() -> Self {
        // As long as a model agent may be silent: what takes longer hangs.
        Self { test_command: String::new(), test_env: BTreeMap::new(), test_timeout_seconds: 1_800 }
    }
}

impl SessionConfig {
    /// The test command, if there is one.
    pub fn test_command(&self) -> Option<&str> {
        Some(self.test_command.trim()).filter(|it| !it.is_empty())
    }

    /// Findings about values that cannot work.
    pub(super) fn check(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        if self.test_timeout_seconds == 0 {
            let message = "`session.test_timeout_seconds` is 0";
            let finding = Diagnostic::error("out_of_range", message).expected("1 or more");
            findings.push(finding.path("session.test_timeout_seconds"));
        }
        let is_odd = |name: &str| {
            name.is_empty() || name.contains(['=', '\0']) || name.starts_with("WAYPOST_")
        };
        for name in self.test_env.keys().filter(|name| is_odd(name)) {
            let message = format!("`session.test_env` has `{name}`");
            let finding = Diagnostic::error("out_of_range", message);
            findings.push(finding.path("session.test_env").expected("names of variables"));
        }
        findings
    }
}
