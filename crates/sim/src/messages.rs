//! The Messages API: a list of messages in, content blocks out, as one object or as events.

use crate::protocol::{
    ModelReply, ModelRequest, Protocol, Wanted, conversation, has_tools, is_streamed,
};
use crate::{Block, Input, Script, Turn, Usage};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages;

impl Protocol for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn question(&self, script: &Script, body: &Value) -> Result<ModelRequest, &'static str> {
        let Some(messages) = body.get("messages").and_then(Value::as_array) else {
            return Err("a request has `messages`, a list");
        };
        let role = |message: &Value, role: &str| message["role"] == role;
        let opening = messages.iter().take_while(|message| !role(message, "assistant"));
        let prompts = opening.filter(|message| role(message, "user")).map(|each| &each["content"]);
        Ok(ModelRequest {
            conversation: conversation(script, has_tools(body), prompts),
            index: messages.iter().filter(|message| role(message, "assistant")).count(),
            is_streamed: is_streamed(body),
        })
    }

    fn answer(
        &self,
        turn: &Turn,
        wanted: &Wanted<'_>,
        next_id: &mut dyn FnMut() -> u64,
    ) -> ModelReply {
        let id = format!("msg_sim_{:08}", next_id());
        let mut content = Vec::new();
        for block in &turn.blocks {
            content.push(match block {
                Block::Text(text) => json!({"type": "text", "text": text}),
                Block::Tool { name, input: Input::Fields(input) } => {
                    let id = format!("toolu_sim_{:08}", next_id());
                    json!({"type": "tool_use", "id": id, "name": name, "input": input})
                }
                Block::Tool { name, input: Input::Text(_) } => {
                    let message = format!(
                        "the script gives `{name}` a text, and this API has no \
                                           tools that take one: write an object"
                    );
                    return ModelReply::Json(400, self.error(400, &message));
                }
            });
        }
        let has_tool = turn.blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
        let stop = if has_tool { "tool_use" } else { "end_turn" };
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": wanted.model,
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": usage(turn.usage),
        });
        if wanted.is_streamed {
            ModelReply::Events(events(message))
        } else {
            ModelReply::Json(200, message)
        }
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 => "invalid_request_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": message}})
    }
}

/// The answer to a question for the size of a request.
pub(crate) fn count(usage: Usage) -> Value {
    json!({"input_tokens": usage.input_tokens})
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_input_tokens,
        "output_tokens": usage.output_tokens,
    })
}

/// The message as a stream: its frame, then every block with one piece of content, then its end.
fn events(mut message: Value) -> Vec<(&'static str, Value)> {
    let content = message["content"].take();
    let stop = message["stop_reason"].take();
    let usage = message["usage"].clone();
    message["content"] = json!([]);
    let mut events = vec![("message_start", json!({"message": message}))];
    for (index, block) in content.as_array().into_iter().flatten().enumerate() {
        let mut empty = block.clone();
        let delta = if block["type"] == "text" {
            empty["text"] = "".into();
            json!({"type": "text_delta", "text": block["text"]})
        } else {
            empty["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        };
        let start = json!({"index": index, "content_block": empty});
        events.push(("content_block_start", start));
        events.push(("content_block_delta", json!({"index": index, "delta": delta})));
        events.push(("content_block_stop", json!({"index": index})));
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events.push(("message_delta", json!({"delta": delta, "usage": usage})));
    events.push(("message_stop", json!({})));
    events
}
