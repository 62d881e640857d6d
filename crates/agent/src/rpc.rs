//! Lines of JSON-RPC, and the names that our requests have.
//!
//! A request is named after what it asks for, so that an answer can be understood by an engine that
//! did not see the request: a process of ours that took over the conversation.

use serde_json::{Value, json};

pub(crate) const INITIALIZE: &str = "initialize";

/// Begins or resumes a conversation; the answer tells its id.
pub(crate) const SESSION: &str = "session";

/// Resumes a conversation whose id is behind the colon, because the answer does not tell it.
pub(crate) const LOAD: &str = "load:";

/// Gives the agent a message; a number follows.
pub(crate) const PROMPT: &str = "prompt-";

/// Stops a turn; a number follows.
pub(crate) const INTERRUPT: &str = "interrupt-";

/// The error of a method that is not there.
const UNKNOWN_METHOD: i64 = -32601;

pub(crate) fn request(id: &str, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// The answer to a request, whose id may be a text or a number.
pub(crate) fn result(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

pub(crate) fn refusal(id: &Value, message: &str) -> String {
    let error = json!({"code": UNKNOWN_METHOD, "message": message});
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
}

/// Whether a line is a request to us, and by what name it is known.
pub(crate) fn asked(line: &Value) -> Option<String> {
    let is_request = line["method"].is_string() && !line["id"].is_null();
    is_request.then(|| name(&line["id"]))
}

/// A request's id as a text.
pub(crate) fn name(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}
