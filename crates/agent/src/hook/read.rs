//! Reading an event from what a program writes to its hook.

use super::event::{Event, EventKind, Moment, ToolCall};
use crate::{product::Product, shell};
use serde_json::{Map, Value};

/// The largest event that is read: more than any tool call that a model writes in one go.
pub const INPUT_SIZE_MAX: usize = 8 << 20;

/// The field that a tool's input gets where it is no object.
const WHOLE_INPUT: &str = "input";

/// The field of a tool's input in which all programs have the command for a shell.
pub(super) const COMMAND: &str = "command";

/// Why an event cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum BadEvent {
    #[error("the event is larger than {INPUT_SIZE_MAX} bytes")]
    TooLarge,
    #[error("the event is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the event is not a JSON object")]
    NotAnObject,
    #[error("the event has no `hook_event_name`")]
    Unnamed,
    #[error("the event {event} names no tool")]
    NoTool { event: String },
}

/// Reads an event. Without a product, the event itself tells whose it is.
///
/// An unknown event about a tool that has not run yet counts as `BeforeTool`, so that a program
/// that renames its events is not let through.
pub fn read(product: Option<Product>, input: &[u8]) -> Result<Event, BadEvent> {
    if input.len() > INPUT_SIZE_MAX {
        return Err(BadEvent::TooLarge);
    }
    let value = serde_json::from_slice(input).or_else(|error| {
        let repaired = without_halves(input);
        if repaired == input { Err(error) } else { serde_json::from_slice(&repaired) }
    })?;
    let Value::Object(fields) = value else { return Err(BadEvent::NotAnObject) };
    let name = text(&fields, "hook_event_name").ok_or(BadEvent::Unnamed)?;
    let product = product.unwrap_or_else(|| product_of(&name, &fields));
    Ok(Event {
        product,
        moment: moment(product, &name, &fields)?,
        session: text(&fields, "session_id"),
        folder: text(&fields, "cwd"),
        subagent: text(&fields, "agent_id"),
        name,
    })
}

fn moment(product: Product, name: &str, fields: &Map<String, Value>) -> Result<Moment, BadEvent> {
    let or_empty = |key| text(fields, key).unwrap_or_default();
    let is_held = fields.get("stop_hook_active").and_then(Value::as_bool);
    Ok(match kind(product, name) {
        Some(EventKind::BeforeTool) => {
            let call = tool_call(fields);
            let nameless = || BadEvent::NoTool { event: name.to_owned() };
            Moment::BeforeTool(call.ok_or_else(nameless)?)
        }
        Some(EventKind::AfterTool) => Moment::AfterTool(tool_call(fields).unwrap_or_default()),
        Some(EventKind::SessionStart) => Moment::SessionStart { source: or_empty("source") },
        Some(EventKind::BeforeCompaction) => {
            Moment::BeforeCompaction { trigger: or_empty("trigger") }
        }
        Some(EventKind::SettingsChange) => Moment::SettingsChange { source: or_empty("source") },
        Some(EventKind::Stop) => Moment::Stop { is_held },
        Some(EventKind::SubagentStop) => {
            Moment::SubagentStop { is_held, kind: or_empty("agent_type") }
        }
        None => match tool_call(fields) {
            Some(call) if !has_run(fields) => Moment::BeforeTool(call),
            _ => Moment::Other,
        },
    })
}

/// What an event is. A name of another program's counts as well: the product that a hook is told may be
/// wrong, and a tool call must not pass for that.
fn kind(product: Product, name: &str) -> Option<EventKind> {
    let mut known = [product].into_iter().chain(Product::all()).flat_map(|it| it.events());
    known.find(|(event, _)| *event == name).map(|(_, kind)| *kind)
}

/// Whether the tool that an event is about has run already, or was denied without us.
fn has_run(fields: &Map<String, Value>) -> bool {
    ["tool_response", "error"].iter().any(|key| fields.contains_key(*key))
}

fn tool_call(fields: &Map<String, Value>) -> Option<ToolCall> {
    let input = match fields.get("tool_input") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(input)) => {
            input.iter().map(|(key, value)| (key.clone(), as_text(value))).collect()
        }
        Some(other) => vec![(WHOLE_INPUT.to_owned(), as_text(other))],
    };
    let id = text(fields, "tool_use_id");
    // Only a shell call is ever rewritten; others may be megabytes of a file.
    let whole = fields.get("tool_input").and_then(Value::as_object);
    let whole = whole.filter(|input| input.contains_key(COMMAND)).cloned().unwrap_or_default();
    Some(ToolCall { id, name: text(fields, "tool_name")?, fields: input, input: whole })
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            words.map_or_else(|| value.to_string(), shell::join)
        }
        other => other.to_string(),
    }
}

/// A text that is there and not empty.
fn text(fields: &Map<String, Value>, key: &str) -> Option<String> {
    fields.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Replaces halves of surrogate pairs, which JSON of JavaScript may hold where a text was cut, by
/// the character that such a program itself writes for them.
pub(crate) fn without_halves(input: &[u8]) -> Vec<u8> {
    const REPLACED: &[u8] = br"\ufffd";
    let mut repaired = Vec::with_capacity(input.len());
    let mut rest = input;
    while let Some(&first) = rest.first() {
        let length = match (escaped(rest), rest.get(6..).and_then(escaped)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                repaired.extend_from_slice(REPLACED);
                rest = &rest[REPLACED.len()..];
                continue;
            }
            // What stands behind a backslash is no start of an escape.
            _ if first == b'\\' => 2.min(rest.len()),
            _ => 1,
        };
        repaired.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
    }
    repaired
}

/// The number of an escape such as `\u00fc` at the start of a text.
fn escaped(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(digits).ok().filter(|_| is_hex)?;
    u32::from_str_radix(digits, 16).ok()
}

/// The program that an event looks like. The first of the table takes what is no other's.
fn product_of(name: &str, fields: &Map<String, Value>) -> Product {
    let mut known = Product::all().rev();
    let sender = known.find(|product| product.is_sender(name, fields));
    sender.expect("the first program takes every event")
}
