//! The Agent Client Protocol, as an agent speaks it.
//!
//! Messages come in pieces and are put together. A conversation that is loaded is replayed before
//! the answer to `session/load`; nothing of that is said again. Gemini CLI answers first and replays
//! afterwards, and then lists its commands: until that list, everything is held back.

use crate::limits::{self, Trouble};
use crate::rpc;
use crate::stream::calls::Calls;
use crate::stream::json::{gist, items, number, owned, shortened, text};
use crate::stream::parts::{arguments, limit};
use crate::stream::{Ask, AskItem, AskKind, Choice, End, Said, Usage, Why};
use crate::stream::{DETAIL_LENGTH_MAX, LineUse, Listener, TEXT_LENGTH_MAX};
use serde_json::{Value, json};

/// A message that grows beyond this is said in parts.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The program that replays a conversation after it has answered.
const REPLAYS_LATE: &str = "gemini-cli";

/// The error of a request that needs a person to sign in first.
const SIGN_IN_REQUIRED: i64 = -32000;

#[derive(Debug, Default)]
pub(super) struct AcpStream {
    is_ready: bool,
    /// Whether the program is one that replays late.
    replays_late: bool,
    /// What may be a replay: dropped at its end, said if a turn ends first.
    held: Option<Vec<Said>>,
    calls: Calls,
    /// The message so far.
    message: String,
    /// The program's name for that message, where it has one.
    message_id: Option<String>,
    last_text: String,
    usage: Usage,
}

impl Listener for AcpStream {
    fn hear(&mut self, line: &Value, raw: &str, said: &mut Vec<Said>) -> LineUse {
        if rpc::asked(line).is_some() {
            self.release(said);
            self.asked(line, raw, said);
        } else if line["method"] == "session/update" {
            let is_held = self.is_ready && self.updated(&line["params"]["update"], said);
            return if is_held { LineUse::Held } else { LineUse::Said };
        } else if line["method"].is_null() {
            self.release(said);
            self.answered(line, said);
        }
        LineUse::Said
    }

    fn finish(&mut self, said: &mut Vec<Said>) {
        self.flush(said);
    }
}

impl AcpStream {
    /// Whether the update was put to use, be it that nothing can be said yet.
    fn updated(&mut self, update: &Value, said: &mut Vec<Said>) -> bool {
        let Some(mut held) = self.held.take() else { return self.update(update, said) };
        if update["sessionUpdate"] == "available_commands_update" {
            self.message.clear();
            self.last_text.clear();
            self.calls.clear();
            return true;
        }
        self.update(update, &mut held);
        self.held = Some(held);
        true
    }

    /// What was held back was no replay: the program goes on without having ended one.
    fn release(&mut self, said: &mut Vec<Said>) {
        said.extend(self.held.take().into_iter().flatten());
    }

    /// Says what was held back.
    fn flush(&mut self, said: &mut Vec<Said>) {
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
        self.calls.go_on(&id);
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
            let id = owned(call, "toolCallId");
            said.extend(self.calls.begin(&id, name, &what(call)));
            self.calls.ask(&id);
        }
        said.extend(ask(line, raw).map(Said::Asked));
    }

    /// The answer to a request of ours.
    fn answered(&mut self, line: &Value, said: &mut Vec<Said>) {
        let id = line["id"].as_str().unwrap_or_default();
        let result = &line["result"];
        if id == rpc::INITIALIZE {
            self.replays_late = result["agentInfo"]["name"] == REPLAYS_LATE;
        }
        if id.starts_with(rpc::LOAD)
            && line["error"].is_object()
            && line["error"]["code"] != SIGN_IN_REQUIRED
        {
            said.push(Said::Forgotten);
        } else if line["error"].is_object() {
            self.flush(said);
            let detail = error_text(&line["error"]);
            let limit = limit(&detail).or_else(|| limit(&line["error"]["data"].to_string()));
            let why = match trouble(&line["error"]) {
                Some(trouble) => Why::Unavailable(trouble),
                None if limit.is_some() => Why::RateLimited,
                None => Why::Error,
            };
            said.extend(limit);
            self.end(why, &detail, said);
        } else if id == rpc::SESSION {
            self.is_ready = true;
            said.push(Said::Session { id: owned(result, "sessionId") });
        } else if let Some(session) = id.strip_prefix(rpc::LOAD) {
            self.is_ready = true;
            self.held = self.replays_late.then(Vec::new);
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

/// What an error says: its message, and the details behind it where the message says nothing.
fn error_text(error: &Value) -> String {
    let message = owned(error, "message");
    match error["data"]["details"].as_str().or_else(|| error["data"].as_str()) {
        Some(details) if !details.is_empty() => format!("{message}: {details}"),
        _ => message,
    }
}

/// What is wrong with the service, by an error's code or in its words.
fn trouble(error: &Value) -> Option<Trouble> {
    let of_code = |code: &Value| match code.as_i64() {
        Some(SIGN_IN_REQUIRED) => Some(Trouble::SignIn),
        code => code.and_then(|code| u64::try_from(code).ok()).and_then(Trouble::of_status),
    };
    let words = || {
        let words = limits::trouble(&owned(error, "message"));
        words.or_else(|| limits::trouble(&error["data"].to_string()))
    };
    words().or_else(|| of_code(&error["code"]))
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
    let (tool, items, arguments) = (tool.to_owned(), vec![item], arguments(params));
    Some(Ask { request, kind, tool, items, arguments, raw: raw.to_owned() })
}

fn choice(option: &Value) -> Choice {
    Choice { id: owned(option, "optionId"), label: owned(option, "name") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hear(lines: &[Value]) -> Vec<Said> {
        let (mut stream, mut said) = (AcpStream::default(), Vec::new());
        for line in lines {
            stream.hear(line, &line.to_string(), &mut said);
        }
        stream.flush(&mut said);
        said
    }

    fn initialized(name: &str) -> Value {
        json!({"id": "initialize", "result": {"agentInfo": {"name": name}}})
    }

    fn loaded() -> Value {
        json!({"id": "load:s1", "result": {}})
    }

    fn update(update: Value) -> Value {
        json!({"method": "session/update", "params": {"sessionId": "s1", "update": update}})
    }

    fn words(text: &str) -> Value {
        let content = json!({"type": "text", "text": text});
        update(json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    }

    fn ended() -> Value {
        json!({"id": "prompt-1", "result": {"stopReason": "end_turn"}})
    }

    fn texts(said: &[Said]) -> Vec<&str> {
        let mut texts = Vec::new();
        for said in said {
            if let Said::Text(text) = said {
                texts.push(text.as_str());
            }
        }
        texts
    }

    #[test]
    fn a_replay_that_comes_after_the_answer_is_not_said_again() {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "edit",
                          "status": "completed", "title": "WriteFile"});
        let commands = update(json!({"sessionUpdate": "available_commands_update"}));
        let said = hear(&[
            initialized("gemini-cli"),
            loaded(),
            update(call),
            words("DONE:T1"),
            commands,
            words("I go on."),
            ended(),
        ]);
        assert_eq!(texts(&said), ["I go on."]);
        assert!(!said.iter().any(|said| matches!(said, Said::ToolCall { .. })), "{said:?}");
    }

    #[test]
    fn what_a_program_says_without_a_replay_is_not_lost() {
        for name in ["gemini-cli", "goose"] {
            let said = hear(&[initialized(name), loaded(), words("DONE:T1"), ended()]);
            assert_eq!(texts(&said), ["DONE:T1"], "{name}");
        }
    }

    /// Gemini tells its model that the call was cancelled, and us nothing.
    #[test]
    fn a_call_that_a_person_denied_needs_no_result() {
        let call = json!({"toolCallId": "c", "kind": "execute", "title": "git push"});
        let asked = json!({"id": 7, "method": "session/request_permission",
                           "params": {"sessionId": "s1", "toolCall": call, "options": []}});
        let why = |lines: &[Value]| {
            let ready = [initialized("other"), loaded()];
            let said = hear(&[&ready[..], lines].concat());
            let ends = said.into_iter().filter_map(|said| match said {
                Said::Ended(end) => Some(end.why),
                _ => None,
            });
            ends.collect::<Vec<_>>()
        };
        assert_eq!(why(&[asked.clone(), words("DONE:T1"), ended()]), [Why::Done]);
        let began = update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c",
                                  "status": "in_progress"}));
        assert_eq!(why(&[asked, began, words("DONE:T1"), ended()]), [Why::OpenTool]);
    }

    #[test]
    fn a_conversation_that_cannot_be_loaded_is_forgotten_and_a_missing_sign_in_is_told() {
        let refused = |code: i64, text: &str| {
            let data = json!({"details": text});
            let error = json!({"code": code, "message": "Internal error", "data": data});
            hear(&[json!({"id": "load:s1", "error": error})])
        };
        assert_eq!(refused(-32603, "No previous sessions found"), [Said::Forgotten]);
        let why = Why::Unavailable(Trouble::SignIn);
        let want = End { why, detail: "Internal error: Sign in first".to_owned() };
        assert_eq!(refused(-32000, "Sign in first"), [Said::Ended(want)]);
    }
}
