//! What stands behind a claim that something is done or good.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One piece of evidence, from proven by Waypost itself down to merely claimed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// Waypost ran this command and it ended with 0.
    Check {
        command: String,
        /// The content it was run on: a commit or the hash of the work tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// A review that Waypost had made, with this many blocking findings.
    Review {
        blocking: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// A person confirmed it.
    Human { name: String },
    /// A report that the agent wrote about itself.
    SelfReported { blocking: u32, report: String },
    /// Its work is in the branch by this commit, which says so itself.
    Merged { commit: String },
    /// Its own process said so, and nothing checked it.
    Unverified,
    /// Said by the actor that gave the command, with nothing behind it.
    Claimed,
    /// Set by an edit of the state file, or by a person against the rules.
    Forced,
    /// The box in TASKS.md was ticked.
    Box,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check { command, .. } => write!(f, "check `{command}`"),
            Self::Review { blocking, .. } => write!(f, "review, {blocking} blocking"),
            Self::Human { name } => write!(f, "confirmed by {name}"),
            Self::SelfReported { report, .. } => write!(f, "self-reported in {report}"),
            Self::Merged { commit } => write!(f, "merged by {}", commit.get(..7).unwrap_or(commit)),
            Self::Unverified => f.write_str("unverified"),
            Self::Claimed => f.write_str("claimed"),
            Self::Forced => f.write_str("forced"),
            Self::Box => f.write_str("ticked box"),
        }
    }
}
