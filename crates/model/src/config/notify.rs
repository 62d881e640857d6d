//! `[notify]`: what a person is told who is not looking, and where.
//!
//! Where notices go is a person's to say, so those keys count from the person's own file and
//! environment only; the engine refuses a repository's file that has them.

use crate::notice::NoticeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys about notices that a repository cannot set: who can change a repository could otherwise read
/// along, have a variable of the environment sent to a place of their choice, or have notices sent
/// unencrypted.
pub const PERSONAL_KEYS: [&str; 6] = [
    "notify.webhooks",
    "notify.ntfy",
    "notify.ntfy_token",
    "notify.heartbeat",
    "notify.allow_plain",
    "run.slack_webhook_url",
];

/// Keys that hold an address or a secret: a program that knows it can send messages.
pub const SECRET_KEYS: [&str; 5] = [
    "notify.webhooks",
    "notify.ntfy",
    "notify.ntfy_token",
    "notify.heartbeat",
    "run.slack_webhook_url",
];

/// What is shown in place of a secret.
pub const REDACTED: &str = "(redacted)";

/// `[notify]`: what a person is told who is not looking, and where.
///
/// `run.slack_webhook_url` is the address for Slack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the file")]
pub struct NotifyConfig {
    /// A run has begun.
    pub notify_on_start: bool,
    /// A task has failed for good.
    pub notify_on_task_failed: bool,
    /// A phase has ended.
    pub notify_on_phase_done: bool,
    /// A run waits for a person.
    pub notify_on_needs_you: bool,
    /// A question was not answered in time, and its default was taken.
    pub notify_on_default_taken: bool,
    /// A run is over.
    pub notify_on_all_done: bool,
    /// A run stands still because of the machine, or goes on after that.
    pub notify_on_run_stalled: bool,
    /// A run in the background has ended before its tasks.
    pub notify_on_run_stopped: bool,
    /// The engine of a run has died.
    pub notify_on_engine_lost: bool,
    /// For how many seconds a run stands still before that is told.
    pub stalled_after_seconds: u64,
    /// Places that get notices as JSON, signed as Standard Webhooks are.
    pub webhooks: Vec<WebhookConfig>,
    /// The address of a topic of ntfy, or `env:NAME` to take it from the environment; empty: none.
    pub ntfy: String,
    /// A token for that topic, or `env:NAME`; empty: none.
    pub ntfy_token: String,
    /// An address that is called while an engine works, for a service that misses the calls; or
    /// `env:NAME`; empty: none.
    pub heartbeat: String,
    /// How often it is called, in seconds.
    pub heartbeat_seconds: u64,
    /// Send to `http://` addresses of other machines too.
    pub allow_plain: bool,
}

/// One place that gets notices as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// Its address, or `env:NAME` to take it from the environment.
    pub url: String,
    /// What messages are signed with, or `env:NAME`; `whsec_` and base64, or any text; empty:
    /// they are not signed.
    #[serde(default)]
    pub secret: String,
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self {
            notify_on_start: true,
            notify_on_task_failed: true,
            notify_on_phase_done: true,
            notify_on_needs_you: true,
            notify_on_default_taken: true,
            notify_on_all_done: true,
            notify_on_run_stalled: true,
            notify_on_run_stopped: true,
            notify_on_engine_lost: true,
            stalled_after_seconds: 10,
            webhooks: Vec::new(),
            ntfy: String::new(),
            ntfy_token: String::new(),
            heartbeat: String::new(),
            heartbeat_seconds: 60,
            allow_plain: false,
        }
    }
}

impl NotifyConfig {
    pub fn wants(&self, kind: NoticeKind) -> bool {
        match kind {
            NoticeKind::Start => self.notify_on_start,
            NoticeKind::TaskFailed => self.notify_on_task_failed,
            NoticeKind::PhaseDone => self.notify_on_phase_done,
            NoticeKind::NeedsYou => self.notify_on_needs_you,
            NoticeKind::DefaultTaken => self.notify_on_default_taken,
            NoticeKind::AllDone => self.notify_on_all_done,
            NoticeKind::RunStalled => self.notify_on_run_stalled,
            NoticeKind::RunStopped => self.notify_on_run_stopped,
            NoticeKind::EngineLost => self.notify_on_engine_lost,
        }
    }
}

/// A value that may be shown and stored: the name of a variable, never an address or a secret.
pub fn reference(value: &str) -> Option<String> {
    match value.trim() {
        "" => None,
        name if name.starts_with("env:") => Some(name.to_owned()),
        _ => Some(REDACTED.to_owned()),
    }
}
