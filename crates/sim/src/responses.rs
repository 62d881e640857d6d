//! The Responses API: a list of items in, items out, as one object or as events.

use crate::protocol::{
    ModelReply, ModelRequest, Protocol, Wanted, conversation, has_tools, is_streamed,
};
use crate::{Block, Input, Script, Turn, Usage};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Responses;

impl Protocol for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn question(&self, script: &Script, body: &Value) -> Result<ModelRequest, &'static str> {
        let input = match body.get("input") {
            Some(Value::Array(items)) => items.as_slice(),
            Some(text @ Value::String(_)) => std::slice::from_ref(text),
            _ => return Err("a request has `input`, a text or a list"),
        };
        let opening = input.iter().take_while(|item| !is_of_model(item));
        let prompts = opening.filter_map(|item| match item {
            Value::String(_) => Some(item),
            item => (item["role"] == "user").then(|| &item["content"]),
        });
        Ok(ModelRequest {
            conversation: conversation(script, has_tools(body), prompts),
            index: count_answers(input),
            is_streamed: is_streamed(body),
        })
    }

    fn answer(
        &self,
        turn: &Turn,
        wanted: &Wanted<'_>,
        next_id: &mut dyn FnMut() -> u64,
    ) -> ModelReply {
        let id = format!("resp_sim_{:08}", next_id());
        let items: Vec<Value> = turn.blocks.iter().map(|block| item(block, next_id())).collect();
        let response = json!({
            "id": id, "object": "response", "status": "completed", "model": wanted.model,
            "output": items, "usage": usage(turn.usage),
        });
        if wanted.is_streamed {
            ModelReply::Events(events(response))
        } else {
            ModelReply::Json(200, response)
        }
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            400..500 if status != 429 => "invalid_request_error",
            429 => "rate_limit_exceeded",
            _ => "server_error",
        };
        json!({"error": {"type": kind, "code": kind, "message": message}})
    }
}

/// How often the model has spoken: an answer is a run of items that are the model's.
fn count_answers(input: &[Value]) -> usize {
    let starts = |at: usize| is_of_model(&input[at]) && (at == 0 || !is_of_model(&input[at - 1]));
    (0..input.len()).filter(|at| starts(*at)).count()
}

fn is_of_model(item: &Value) -> bool {
    match item["type"].as_str() {
        Some("function_call" | "custom_tool_call" | "reasoning") => true,
        _ => item["role"] == "assistant",
    }
}

fn item(block: &Block, id: u64) -> Value {
    match block {
        Block::Text(text) => json!({
            "type": "message", "id": format!("msg_sim_{id:08}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Block::Tool { name, input: Input::Fields(input) } => {
            let (namespace, name) = parts_of_name(name);
            let mut call = json!({
                "type": "function_call", "id": format!("fc_sim_{id:08}"),
                "call_id": format!("call_sim_{id:08}"), "name": name,
                "arguments": input.to_string(), "status": "completed",
            });
            if let Some(namespace) = namespace {
                call["namespace"] = json!(namespace);
            }
            call
        }
        Block::Tool { name, input: Input::Text(input) } => json!({
            "type": "custom_tool_call", "id": format!("ctc_sim_{id:08}"),
            "call_id": format!("call_sim_{id:08}"), "name": name, "input": input,
            "status": "completed",
        }),
    }
}

/// The tools of a server have a namespace of their own here: `mcp__SERVER__TOOL` is TOOL of `mcp__SERVER`.
fn parts_of_name(name: &str) -> (Option<&str>, &str) {
    let rest = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    match rest.filter(|(server, tool)| !server.is_empty() && !tool.is_empty()) {
        Some((_, tool)) => (name.strip_suffix(tool).and_then(|it| it.strip_suffix("__")), tool),
        None => (None, name),
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens.saturating_add(usage.output_tokens),
    })
}

/// The response as a stream: every item is added and done at once.
fn events(response: Value) -> Vec<(&'static str, Value)> {
    let begun = json!({"id": response["id"], "object": "response", "status": "in_progress",
                       "model": response["model"], "output": []});
    let mut events = vec![("response.created", json!({"response": begun}))];
    for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
        let item = json!({"output_index": index, "item": item});
        events.push(("response.output_item.added", item.clone()));
        events.push(("response.output_item.done", item));
    }
    events.push(("response.completed", json!({"response": response})));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_a_server_are_called_in_its_namespace() {
        for (name, want) in [
            ("exec_command", (None, "exec_command")),
            ("mcp__waypost__task_next", (Some("mcp__waypost"), "task_next")),
            ("mcp__a__b__c", (Some("mcp__a"), "b__c")),
            ("mcp__waypost", (None, "mcp__waypost")),
        ] {
            assert_eq!(parts_of_name(name), want);
        }
    }
}
