//! The Agent Client Protocol, as an agent speaks it.
//!
//! Messages come in pieces and are put together. A conversation that is loaded is replayed before
//! the answer to `session/load`; nothing of that is said again.

use super::calls::Calls;
use super::codex_exec::limit;
use super::json::{gist, items, number, owned, shortened, text};
use super::said::{Ask, AskItem, AskKind, Choice, End, Said, Usage, Why};
use super::{DETAIL_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::rpc;
use serde_json::{Value, json};

/// A message that grows beyond this is said in parts.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Acp {
    is_ready: bool,
    calls: Calls,
    /// The message so far.
    message: String,
    /// The program's name for that message, where it has one.
    message_id: Option<String>,
    last_text: String,
    usage: Usage,
}

impl Acp {
    /// Whether the line was put to use, be it that nothing can be said yet.
    pub(super) fn hear(&mut self, line: &Value, raw: &str, said: &mut Vec<Said>) -> bool {
        if rpc::asked(line).is_some() {
            self.asked(line, raw, said);
        } else if line["method"] == "session/update" {
            return self.is_ready && self.update(&line["params"]["update"], said);
        } else if line["method"].is_null() {
            self.answered(line, said);
        }
        false
    }

    /// Says what was held back.
    pub(super) fn flush(&mut self, said: &mut Vec<Said>) {
        if !self.message.is_empty() {
            let message = std::mem::take(&mut self.message);
            self.last_text = shortened(&message, DETAIL_LENGTH_MAX);
            said.push(Said::Text(message));
        }
    }

    fn update(&mut self, update: &Value, said: &mut Vec<Said>) -> bool {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => return self.piece(update, said),
            "agent_thought_chunk" | "user_message_chunk" => self.flush(said),
            "tool_call" | "tool_call_update" => {
                self.flush(said);
                self.call(update, said);
            }
            "usage_update" => {
                let cost = &update["cost"];
                if let Some(amount) = cost["amount"].as_f64().filter(|_| cost["currency"] == "USD")
                {
                    self.usage.cost_usd = Some(amount);
                    said.push(Said::Usage(self.usage));
                }
            }
            _ => {}
        }
        false
    }

    fn piece(&mut self, update: &Value, said: &mut Vec<Said>) -> bool {
        let id = text(update, "messageId").map(str::to_owned);
        if id != self.message_id {
            self.flush(said);
            self.message_id = id;
        }
        let Some(piece) = update["content"]["text"].as_str() else { return false };
        self.message.push_str(piece);
        if self.message.len() > MESSAGE_BYTES_MAX {
            self.flush(said);
        }
        true
    }

    /// Tells of a call when it is first heard of, and of its result.
    fn call(&mut self, call: &Value, said: &mut Vec<Said>) {
        let id = owned(call, "toolCallId");
        let status = call["status"].as_str();
        let is_over = matches!(status, Some("completed" | "failed"));
        if call["sessionUpdate"] != "tool_call_update" || !self.calls.is_open(&id) {
            let name = text(call, "kind").unwrap_or("other");
            said.extend(self.calls.begin(&id, name, &what(call)));
        }
        if is_over {
            said.push(self.calls.end(&id, status == Some("failed")));
        }
    }

    fn asked(&mut self, line: &Value, raw: &str, said: &mut Vec<Said>) {
        self.flush(said);
        // Some programs tell of a call only by asking for it.
        let call = &line["params"]["toolCall"];
        if line["method"] == "session/request_permission" && call.is_object() {
            let name = text(call, "kind").unwrap_or("other");
            said.extend(self.calls.begin(&owned(call, "toolCallId"), name, &what(call)));
        }
        said.extend(ask(line, raw).map(Said::Asked));
    }

    /// The answer to a request of ours.
    fn answered(&mut self, line: &Value, said: &mut Vec<Said>) {
        let id = line["id"].as_str().unwrap_or_default();
        let result = &line["result"];
        if line["error"].is_object() {
            self.flush(said);
            let detail = owned(&line["error"], "message");
            let limit = limit(&detail).or_else(|| limit(&line["error"]["data"].to_string()));
            let why = if limit.is_some() { Why::RateLimited } else { Why::Error };
            said.extend(limit);
            self.end(why, &detail, said);
        } else if id == rpc::SESSION {
            self.is_ready = true;
            said.push(Said::Session { id: owned(result, "sessionId") });
        } else if let Some(session) = id.strip_prefix(rpc::LOAD) {
            self.is_ready = true;
            said.push(Said::Session { id: session.to_owned() });
        } else if id.starts_with(rpc::PROMPT) {
            self.flush(said);
            if self.count(result) {
                said.push(Said::Usage(self.usage));
            }
            let why = match result["stopReason"].as_str() {
                Some("end_turn") if self.calls.are_open() => Why::OpenTool,
                Some("end_turn") => Why::Done,
                Some("cancelled") => Why::Interrupted,
                Some("refusal") => Why::Refused,
                Some("max_turn_requests") => Why::TurnLimit,
                _ => Why::Error,
            };
            let detail = match (why, result["stopReason"].as_str()) {
                (Why::Error, Some(reason)) => reason.to_owned(),
                _ => std::mem::take(&mut self.last_text),
            };
            self.end(why, &detail, said);
        }
    }

    fn end(&mut self, why: Why, detail: &str, said: &mut Vec<Said>) {
        said.push(Said::Ended(End { why, detail: shortened(detail, DETAIL_LENGTH_MAX) }));
        self.calls.clear();
    }

    /// Takes over the tokens that a turn's end tells of.
    fn count(&mut self, result: &Value) -> bool {
        let (told, turn) = (&result["usage"], &result["_meta"]["quota"]["token_count"]);
        if told.is_object() {
            self.usage.input = number(told, "inputTokens");
            self.usage.output = number(told, "outputTokens");
            self.usage.cached = number(told, "cachedReadTokens");
        } else if turn.is_object() {
            // Gemini CLI counts each turn by itself.
            self.usage.input = self.usage.input.saturating_add(number(turn, "input_tokens"));
            self.usage.output = self.usage.output.saturating_add(number(turn, "output_tokens"));
        }
        told.is_object() || turn.is_object()
    }
}

/// What a call is about: its title, which programs write for people, else its input.
fn what(call: &Value) -> Value {
    match text(call, "title") {
        Some(title) => json!(title),
        None => call["rawInput"].clone(),
    }
}

/// The question in a request of the agent.
pub(super) fn ask(line: &Value, raw: &str) -> Option<Ask> {
    let request = rpc::asked(line)?;
    let method = line["method"].as_str()?;
    let params = &line["params"];
    let (kind, tool, item) = if method == "session/request_permission" {
        let call = &params["toolCall"];
        let item = AskItem {
            key: owned(call, "toolCallId"),
            text: gist(&what(call), TEXT_LENGTH_MAX),
            choices: items(&params["options"]).iter().map(choice).collect(),
            is_many: false,
        };
        (AskKind::Permission, text(call, "kind").unwrap_or("other"), item)
    } else {
        let (key, text) = (method.to_owned(), method.to_owned());
        (AskKind::Unknown, "", AskItem { key, text, choices: Vec::new(), is_many: false })
    };
    Some(Ask { request, kind, tool: tool.to_owned(), items: vec![item], raw: raw.to_owned() })
}

fn choice(option: &Value) -> Choice {
    Choice { id: owned(option, "optionId"), label: owned(option, "name") }
}
