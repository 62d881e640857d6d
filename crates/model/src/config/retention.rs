//! `[retention]`: how much is kept of what piles up.

use crate::retention::RetentionLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Long enough that nothing goes which a person or an agent is just looking at.
const YOUNG: Duration = Duration::from_secs(600);

/// `[retention]`: how much is kept of what piles up. What a run that is not over or an open question
/// needs stays, whatever this says.
///
/// The defaults: a person who comes back after a month finds everything, and a run left alone for
/// weeks fills no disk. A log is a few kilobytes, so that a gigabyte is some hundred thousand of them;
/// snapshots are work that is nowhere else, and get twice as much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionConfig {
    /// After so many days a task's log is deleted; 0 is never.
    pub log_days: u32,
    /// So many megabytes all logs may take, the oldest go first; 0 is no limit.
    pub log_mb: u64,
    /// After so many days an earlier rendering of a window is deleted; 0 is never.
    pub rendering_days: u32,
    /// So many megabytes all earlier renderings may take; 0 is no limit.
    pub rendering_mb: u64,
    /// So many megabytes all snapshots of work trees may take; 0 is no limit. Their age is
    /// `worktree.snapshot_days`.
    pub snapshot_mb: u64,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            log_days: 30,
            log_mb: 1_024,
            rendering_days: 30,
            rendering_mb: 256,
            snapshot_mb: 2_048,
        }
    }
}

impl RetentionConfig {
    pub fn logs(&self) -> RetentionLimits {
        limits(self.log_days, self.log_mb)
    }

    pub fn renderings(&self) -> RetentionLimits {
        limits(self.rendering_days, self.rendering_mb)
    }

    /// With the age that is configured with the work trees.
    pub fn snapshots(&self, days: u32) -> RetentionLimits {
        limits(days, self.snapshot_mb)
    }
}

fn limits(days: u32, megabytes: u64) -> RetentionLimits {
    RetentionLimits {
        age: Some(days).filter(|days| *days > 0).map(|days| DAY * days),
        bytes: Some(megabytes).filter(|it| *it > 0).map(|it| it.saturating_mul(1 << 20)),
        young: YOUNG,
    }
}
