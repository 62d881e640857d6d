//! The Gemini API: a list of contents in, a candidate out, as one object or as events.
//!
//! The model and whether the answer is streamed are in the path, not in the body.

use crate::protocol::{ModelReply, ModelRequest, Protocol, Wanted, conversation};
use crate::{Block, Input, Script, Turn, Usage};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Generate<'a> {
    model: &'a str,
    is_streamed: bool,
}

/// What a path below `models` asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ModelAsk<'a> {
    Content(Generate<'a>),
    /// The size of a request.
    Count,
}

/// Reads a path such as `/v1beta/models/NAME:streamGenerateContent`.
pub(crate) fn asked(path: &str) -> Option<ModelAsk<'_>> {
    let (_, name) = path.rsplit_once("/models/")?;
    let (model, method) = name.split_once(':')?;
    match method {
        "generateContent" => Some(ModelAsk::Content(Generate { model, is_streamed: false })),
        "streamGenerateContent" => Some(ModelAsk::Content(Generate { model, is_streamed: true })),
        "countTokens" => Some(ModelAsk::Count),
        _ => None,
    }
}

/// The answer to a question for the size of a request.
pub(crate) fn count(usage: Usage) -> Value {
    json!({"totalTokens": usage.input_tokens})
}

impl Protocol for Generate<'_> {
    fn name(&self) -> &'static str {
        "generate"
    }

    fn question(&self, script: &Script, body: &Value) -> Result<ModelRequest, &'static str> {
        let Some(contents) = body.get("contents").and_then(Value::as_array) else {
            return Err("a request has `contents`, a list");
        };
        let is_of_model = |content: &Value| content["role"] == "model";
        let opening = contents.iter().take_while(|content| !is_of_model(content));
        let starts =
            |at: usize| is_of_model(&contents[at]) && (at == 0 || !is_of_model(&contents[at - 1]));
        Ok(ModelRequest {
            conversation: conversation(
                script,
                has_functions(body),
                opening.map(|content| &content["parts"]),
            ),
            index: (0..contents.len()).filter(|at| starts(*at)).count(),
            is_streamed: self.is_streamed,
        })
    }

    fn answer(
        &self,
        turn: &Turn,
        wanted: &Wanted<'_>,
        next_id: &mut dyn FnMut() -> u64,
    ) -> ModelReply {
        let id = format!("gen_sim_{:08}", next_id());
        let mut parts = Vec::new();
        for block in &turn.blocks {
            parts.push(match block {
                Block::Text(text) => json!({"text": text}),
                Block::Tool { name, input: Input::Fields(input) } => {
                    let id = format!("call_sim_{:08}", next_id());
                    json!({"functionCall": {"id": id, "name": name, "args": input}})
                }
                Block::Tool { name, input: Input::Text(_) } => {
                    let message = format!(
                        "the script gives `{name}` a text, and this API has no tools that take \
                         one: write an object"
                    );
                    return ModelReply::Json(400, self.error(400, &message));
                }
            });
        }
        let answer = |parts: &[Value], finish: Option<&str>| {
            let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
            let mut answer = json!({"responseId": id, "modelVersion": self.model});
            if let Some(finish) = finish {
                candidate["finishReason"] = finish.into();
                answer["usageMetadata"] = usage(turn.usage);
            }
            answer["candidates"] = json!([candidate]);
            answer
        };
        if !wanted.is_streamed {
            return ModelReply::Json(200, answer(&parts, Some("STOP")));
        }
        let last = parts.len().saturating_sub(1);
        let piece = |(at, part): (usize, &Value)| {
            answer(std::slice::from_ref(part), (at == last).then_some("STOP"))
        };
        ModelReply::Data(parts.iter().enumerate().map(piece).collect())
    }

    fn error(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 | 529 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({"error": {"code": status, "message": message, "status": kind}})
    }
}

/// Whether the request offers functions to the model: the API keeps them in groups.
fn has_functions(body: &Value) -> bool {
    let tools = body["tools"].as_array().into_iter().flatten();
    let mut functions = tools.filter_map(|tool| tool["functionDeclarations"].as_array());
    functions.any(|functions| !functions.is_empty())
}

fn usage(usage: Usage) -> Value {
    json!({
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cached_input_tokens,
        "candidatesTokenCount": usage.output_tokens,
        "totalTokenCount": usage.input_tokens.saturating_add(usage.output_tokens),
    })
}
