//! What the protocols have in common: a request asks for a turn, a turn is written down.

use crate::{Script, Turn, TurnOwner};
use serde_json::Value;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelRequest {
    pub(crate) conversation: TurnOwner,
    /// How often the model has spoken in this conversation.
    pub(crate) index: usize,
    pub(crate) is_streamed: bool,
}

/// What goes over the wire in reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ModelReply {
    Json(u16, Value),
    Events(Vec<(&'static str, Value)>),
    /// Events without names.
    Data(Vec<Value>),
}

/// One of the protocols.
pub(crate) trait Protocol {
    /// The word for it in the log.
    fn name(&self) -> &'static str;

    /// Reads from a request what it asks for; a request of another form is an error.
    fn question(&self, script: &Script, body: &Value) -> Result<ModelRequest, &'static str>;

    /// Writes a turn down, with `next_id` numbering what needs an id.
    fn answer(
        &self,
        turn: &Turn,
        wanted: &Wanted<'_>,
        next_id: &mut dyn FnMut() -> u64,
    ) -> ModelReply;

    /// Writes an error down as this protocol does.
    fn error(&self, status: u16, message: &str) -> Value;
}

/// How the answer is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) model: &'a str,
    pub(crate) is_streamed: bool,
}

/// Whose conversation it is, from the texts that stand in front of the model's first answer.
pub(crate) fn conversation<'a>(
    script: &Script,
    has_tools: bool,
    opening: impl Iterator<Item = &'a Value>,
) -> TurnOwner {
    let opening: Vec<&Value> = opening.collect();
    let has = |marker: &str| opening.iter().any(|content| mentions(content, marker));
    if !has_tools {
        TurnOwner::Side
    } else if has(&script.sub_marker) {
        TurnOwner::Sub
    } else {
        let marked = script.marked.iter().position(|marked| has(&marked.marker));
        marked.map_or(TurnOwner::Main, TurnOwner::Marked)
    }
}

/// Whether a message's content, a text or a list of parts with a `text` each, has the marker.
fn mentions(content: &Value, marker: &str) -> bool {
    match content {
        Value::String(text) => text.contains(marker),
        Value::Array(parts) => parts.iter().any(|part| {
            part.get("text").and_then(Value::as_str).is_some_and(|text| text.contains(marker))
        }),
        _ => false,
    }
}

/// Whether the request offers tools to the model.
pub(crate) fn has_tools(body: &Value) -> bool {
    body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
}

pub(crate) fn is_streamed(body: &Value) -> bool {
    body.get("stream").and_then(Value::as_bool).unwrap_or(false)
}
