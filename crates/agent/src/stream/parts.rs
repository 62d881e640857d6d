//! What the streams of several programs have in common.

use super::json::{items, owned, shortened, text};
use super::said::{AskItem, Choice, LimitStatus, Said, Why};
use super::{ALLOW, DENY, TEXT_LENGTH_MAX};
use crate::limits;
use serde_json::Value;
use waypost_model::time::Time;

pub(crate) fn seconds(at: i64) -> Time {
    Time::from_millis(at.saturating_mul(1_000))
}

/// A permission without choices of its own.
pub(crate) fn permission(told: &str) -> AskItem {
    let choice = |id: &str, label: &str| Choice { id: id.to_owned(), label: label.to_owned() };
    let choices = vec![choice(ALLOW, "Allow"), choice(DENY, "Refuse")];
    let text = shortened(told, TEXT_LENGTH_MAX);
    AskItem { key: String::new(), text, choices, is_many: false }
}

/// Choices that are named by their label.
pub(crate) fn options(list: &Value) -> Vec<Choice> {
    let choice = |option: &Value| {
        let label = owned(option, "label");
        let shown = match text(option, "description") {
            Some(description) => format!("{label}: {description}"),
            None => label.clone(),
        };
        Choice { id: label, label: shown }
    };
    items(list).iter().map(choice).collect()
}

/// What it means that a turn ended with this error.
pub(crate) fn error(message: &str) -> Why {
    match limits::trouble(message) {
        Some(trouble) => Why::Unavailable(trouble),
        None if limits::read(message).is_some() => Why::RateLimited,
        None => Why::Error,
    }
}

/// News of a limit in an error's words.
pub(crate) fn limit(message: &str) -> Option<Said> {
    let limit = limits::read(message)?;
    let is_retried = message.starts_with("Reconnecting");
    let status = if is_retried { LimitStatus::Retrying } else { LimitStatus::Rejected };
    Some(Said::RateLimit { status, resets: limit.resets })
}

/// Fields of a request that differ when the same is asked again.
const NAMES: [&str; 11] = [
    "_meta",
    "approvalId",
    "callId",
    "elicitationId",
    "itemId",
    "sessionId",
    "startedAtMs",
    "status",
    "threadId",
    "toolCallId",
    "turnId",
];

/// What a request of JSON-RPC asks for, without the fields that only name the request.
pub(crate) fn arguments(params: &Value) -> String {
    let mut found = params.clone();
    if let Value::Object(fields) = &mut found {
        fields.retain(|name, _| !NAMES.contains(&name.as_str()));
        if let Some(Value::Object(call)) = fields.get_mut("toolCall") {
            call.retain(|name, _| !NAMES.contains(&name.as_str()));
        }
    }
    found.to_string()
}
