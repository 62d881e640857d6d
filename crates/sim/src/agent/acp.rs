//! The Agent Client Protocol, as an agent speaks it.

use super::script::{Spent, Trouble};
use super::sessions::Conversation;
use super::voice::{
    Asking, Call, End, Heard, Kind, Lines, Message, Outcome, Question, Reply, Report, Voice,
};
use serde_json::{Value, json};

const UNKNOWN_METHOD: i64 = -32601;
const UNKNOWN_SESSION: i64 = -32002;

/// The options of a permission that mean yes.
const ALLOW_ONCE: &str = "proceed_once";
const ALLOW_ALWAYS: &str = "proceed_always";

#[derive(Debug, Default)]
pub(super) struct Acp {
    session: String,
    /// The request whose answer is the end of the turn.
    prompt: Value,
    /// The number of the next request to the client.
    request: u64,
}

impl Acp {
    fn update(&self, update: Value) -> Value {
        let params = json!({"sessionId": self.session, "update": update});
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params})
    }

    fn request(&mut self, method: &str, id: &Value, params: &Value) -> Heard {
        match method {
            "initialize" => {
                let result = json!({
                    "protocolVersion": 1, "agentInfo": {"name": "sim", "title": "Sim"},
                    "agentCapabilities": {"loadSession": true},
                });
                Heard::Other(vec![result_of(id, &result)])
            }
            "session/new" => Heard::Open { resume: None, request: id.clone() },
            "session/load" => {
                let resume = Some(params["sessionId"].as_str().unwrap_or_default().to_owned());
                Heard::Open { resume, request: id.clone() }
            }
            "session/prompt" if self.session.is_empty() || params["sessionId"] != self.session => {
                Heard::Other(vec![error(id, UNKNOWN_SESSION, "unknown session")])
            }
            "session/prompt" => {
                let parts = params["prompt"].as_array().into_iter().flatten();
                let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
                Heard::Message(Message { text: texts.join("\n"), request: id.clone() })
            }
            "session/cancel" => Heard::Interrupt(Vec::new()),
            _ if id.is_null() => Heard::Other(Vec::new()),
            _ => Heard::Other(vec![error(id, UNKNOWN_METHOD, "Method not found")]),
        }
    }
}

impl Voice for Acp {
    fn is_server(&self) -> bool {
        true
    }

    fn hear(&mut self, line: &Value) -> Heard {
        let id = &line["id"];
        if let Some(method) = line["method"].as_str() {
            return self.request(method, id, &line["params"]);
        }
        let outcome = &line["result"]["outcome"];
        let reply = match outcome["optionId"].as_str() {
            Some(ALLOW_ONCE | ALLOW_ALWAYS) => Reply::Allowed,
            _ => Reply::Denied("rejected".to_owned()),
        };
        Heard::Answer { request: id.to_string(), reply }
    }

    fn opened(&mut self, request: &Value, found: Result<&Conversation, &str>) -> Lines {
        let conversation = match found {
            Ok(conversation) => conversation,
            Err(id) => {
                let message = format!("Resource not found: {id}");
                return vec![error(request, UNKNOWN_SESSION, &message)];
            }
        };
        self.session.clone_from(&conversation.id);
        if conversation.turns == 0 {
            return vec![result_of(request, &json!({"sessionId": self.session}))];
        }
        // What was said earlier is said again before the answer.
        let content = json!({"type": "text", "text": "What was said before."});
        let replay = json!({"sessionUpdate": "agent_message_chunk", "content": content});
        vec![self.update(replay), result_of(request, &json!({}))]
    }

    fn began(&mut self, message: &Message, _: u64) -> Lines {
        self.prompt = message.request.clone();
        Vec::new()
    }

    fn text(&mut self, number: u64, text: &str) -> Lines {
        let content = json!({"type": "text", "text": text});
        vec![self.update(json!({"sessionUpdate": "agent_message_chunk", "content": content,
                                "messageId": format!("msg_sim_{number:08}")}))]
    }

    fn call(&mut self, call: &Call) -> Lines {
        let mut update = tool_call(call, "in_progress");
        update["sessionUpdate"] = "tool_call".into();
        vec![self.update(update)]
    }

    fn result(&mut self, call: &Call, outcome: &Outcome) -> Lines {
        let status = if outcome.is_error() { "failed" } else { "completed" };
        let mut update = tool_call(call, status);
        update["sessionUpdate"] = "tool_call_update".into();
        let content = json!({"type": "text", "text": outcome.output});
        update["content"] = json!([{"type": "content", "content": content}]);
        vec![self.update(update)]
    }

    fn permission(&mut self, call: &Call) -> Asking {
        let number = self.request;
        self.request += 1;
        let option =
            |id: &str, name: &str, kind: &str| json!({"optionId": id, "name": name, "kind": kind});
        let options = [
            option(ALLOW_ALWAYS, "Allow for this session", "allow_always"),
            option(ALLOW_ONCE, "Allow", "allow_once"),
            option("cancel", "Reject", "reject_once"),
        ];
        let params = json!({"sessionId": self.session, "options": options,
                            "toolCall": tool_call(call, "pending")});
        let line = json!({"jsonrpc": "2.0", "id": number, "method": "session/request_permission",
                          "params": params});
        Asking::Asked { request: number.to_string(), lines: vec![line] }
    }

    fn decided(&mut self, call: &Call, is_allowed: bool, reason: &str) -> Lines {
        let outcome = if is_allowed { Outcome::ok(reason) } else { Outcome::error(reason) };
        self.result(call, &outcome)
    }

    fn question(&mut self, _: &Question) -> Asking {
        Asking::InText
    }

    fn answered(&mut self, _: &Question, _: Result<&str, &str>) -> Lines {
        Vec::new()
    }

    fn ended(&mut self, report: &Report) -> Lines {
        let mut lines = Vec::new();
        let reason = match &report.end {
            End::Done => "end_turn",
            End::Interrupted(call) => {
                let stopped = Outcome::error("cancelled");
                lines.extend(call.iter().flat_map(|call| self.result(call, &stopped)));
                "cancelled"
            }
            End::Limited(limit) => {
                let seconds = limit.resets_in.as_secs();
                let message = format!("Quota exceeded. Your quota will reset after {seconds}s.");
                return vec![error(&self.prompt, 429, &message)];
            }
            End::Unavailable(trouble) => {
                let code = match trouble {
                    Trouble::Outage => 503,
                    Trouble::SignIn => -32000,
                    Trouble::Credit => 402,
                };
                return vec![error(&self.prompt, code, trouble.message())];
            }
        };
        let mut result = json!({"stopReason": reason});
        if report.total != Spent::default() {
            let Spent { input, output, .. } = report.total;
            result["usage"] = json!({"inputTokens": input, "outputTokens": output,
                                     "cachedReadTokens": 0,
                                     "totalTokens": input.saturating_add(output)});
        }
        lines.push(result_of(&self.prompt, &result));
        lines
    }
}

fn result_of(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn tool_call(call: &Call, status: &str) -> Value {
    let kind = match call.kind() {
        Kind::Shell => "execute",
        Kind::Edit => "edit",
        Kind::Read => "read",
        Kind::Search => "search",
        Kind::Fetch => "fetch",
        Kind::Other => "other",
    };
    let is_edit = call.kind() == Kind::Edit;
    let locations: Vec<Value> =
        is_edit.then(|| json!({"path": call.about()})).into_iter().collect();
    json!({"toolCallId": format!("call_sim_{:08}", call.number), "title": call.about(),
           "kind": kind, "status": status, "locations": locations, "rawInput": call.fields()})
}
