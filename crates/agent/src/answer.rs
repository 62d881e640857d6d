//! What is said to a running program: messages, answers to its questions, and to stop.
//!
//! Every function makes one line of input. All of them need only what was stored, so that any
//! process of ours can speak in a conversation that another one began.

use crate::adapter::Adapter;
use crate::stream::json::parse;
use crate::stream::{ALLOW, Ask, DENY};
use serde_json::Value;

/// What a person, or the engine in their place, answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Allow,
    /// The reason is told to the agent where the program has a place for it.
    Deny {
        reason: String,
    },
    /// For each item of the question, in order: the ids of the choices taken, or a free text.
    Chosen(Vec<Vec<String>>),
}

/// Why there is no line that would answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    #[error("the question was put off: its hook answers when the conversation is resumed")]
    Deferred,
    #[error("the program takes no answers")]
    Deaf,
    #[error("the stored question cannot be read")]
    Unreadable,
    #[error("the question has {wanted} items, and {given} were answered")]
    Count { wanted: usize, given: usize },
    #[error("the answer fits none of the choices")]
    NoSuchChoice,
}

/// A further message to the agent; none if the program takes only one. `number` differs between
/// the messages of a process. A message during a turn becomes part of that turn.
pub fn message(adapter: Adapter, session: &str, number: u32, text: &str) -> Option<String> {
    adapter.message(session, number, text)
}

/// Ends the turn and keeps the conversation; none if the program can only be stopped by a signal.
/// Codex wants the id of the turn.
pub fn interrupt(
    adapter: Adapter,
    session: &str,
    turn: Option<&str>,
    number: u32,
) -> Option<String> {
    adapter.interrupt(session, turn, number)
}

/// The line that answers a question. A request of a kind that we do not know is refused, whatever
/// the answer is.
pub fn answer(adapter: Adapter, ask: &Ask, answer: &Answer) -> Result<String, Unanswerable> {
    let line = parse(ask.raw.as_bytes()).ok_or(Unanswerable::Unreadable)?;
    if let Answer::Chosen(chosen) = answer
        && chosen.len() != ask.items.len()
    {
        return Err(Unanswerable::Count { wanted: ask.items.len(), given: chosen.len() });
    }
    adapter.answer_line(ask, &line, answer)
}

/// Why a question cannot be answered with a yes by any person; none: it can be.
pub fn impossible(adapter: Adapter, ask: &Ask) -> Option<&'static str> {
    let line = parse(ask.raw.as_bytes())?;
    adapter.impossible(ask, &line)
}

/// The refusal of a request that we do not know.
pub(crate) const UNKNOWN: &str = "this client does not know the request";

/// What stands in a stream in place of a secret that its keeper took out.
pub const MARK: &str = "[redacted]";

/// The refusal of a call that is said back to the program, and of which a secret was taken out.
pub(crate) const CLEAR_SECRET: &str = "the call holds a secret in clear text, which is taken out on its way to \
                                       the person who allows it; take the value from the environment \
                                       variable instead";

/// Whether a secret was taken out of a part of a request.
pub(crate) fn has_mark(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MARK),
        Value::Array(items) => items.iter().any(has_mark),
        Value::Object(members) => {
            members.iter().any(|(name, member)| name.contains(MARK) || has_mark(member))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a permission is given. The choices of a permission without own ones are ours.
pub(crate) fn is_allowed(answer: &Answer) -> Result<bool, Unanswerable> {
    match answer {
        Answer::Allow => Ok(true),
        Answer::Deny { .. } => Ok(false),
        Answer::Chosen(chosen) => {
            match chosen.first().and_then(|ids| ids.first()).map(String::as_str) {
                Some(ALLOW) => Ok(true),
                Some(DENY) => Ok(false),
                _ => Err(Unanswerable::NoSuchChoice),
            }
        }
    }
}

pub(crate) fn reason(answer: &Answer) -> &str {
    match answer {
        Answer::Deny { reason } if !reason.is_empty() => reason,
        _ => "refused",
    }
}

#[cfg(test)]
mod tests;
