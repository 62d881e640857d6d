//! `codex app-server`, as the program answers and tells.

use super::codex::{FENCED, limit_message, shell_line, trouble_message};
use super::hooks::Hooks;
use super::script::{Spent, Trouble};
use super::sessions::Conversation;
use super::voice::{
    Asking, Call, End, Heard, Kind, Limit, Lines, Message, Outcome, Question, Reply, Report, Voice,
    before_tool, tag,
};
use serde_json::{Map, Value, json};

const INVALID_REQUEST: i64 = -32600;
const UNKNOWN_METHOD: i64 = -32601;

/// The length of the window whose limit is met.
const WINDOW_MINUTES: u32 = 300;

#[derive(Debug)]
pub(super) struct CodexServer {
    folder: String,
    thread: String,
    turn: String,
    policy: String,
    sandbox: String,
    model: String,
    /// The number of the next request to the client.
    request: u64,
    /// The request that waits for its answer.
    pending: Option<u64>,
    hooks: Hooks,
}

impl CodexServer {
    pub(super) fn new(folder: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            thread: String::new(),
            turn: String::new(),
            policy: "on-request".to_owned(),
            sandbox: "workspace-write".to_owned(),
            model: "sim".to_owned(),
            request: 0,
            pending: None,
            hooks: Hooks::default(),
        }
    }

    /// Takes over what a request for a thread says about it.
    fn configure(&mut self, params: &Value) {
        self.hooks = Hooks::of(&params["config"]);
        let settings = [
            ("approvalPolicy", &mut self.policy),
            ("sandbox", &mut self.sandbox),
            ("model", &mut self.model),
            ("cwd", &mut self.folder),
        ];
        for (key, setting) in settings {
            if let Some(value) = params[key].as_str() {
                value.clone_into(setting);
            }
        }
    }

    fn notice(&self, method: &str, mut params: Value) -> Value {
        params["threadId"] = json!(self.thread);
        json!({"method": method, "params": params})
    }

    fn item(&self, method: &str, item: &Value) -> Value {
        self.notice(method, json!({"turnId": self.turn, "item": item}))
    }

    fn call_id(&self, number: u64) -> String {
        format!("call_sim_{}_{number:08}", tag(&self.thread))
    }

    fn call_item(&self, call: &Call, status: &str, outcome: Option<&Outcome>) -> Value {
        item(&self.call_id(call.number), call, status, outcome)
    }

    fn turn_state(&self, status: &str, error: &Value) -> Value {
        json!({"id": self.turn, "rootTurnId": self.turn, "items": [], "itemsView": "notLoaded",
               "status": status, "error": error})
    }

    fn ask(&mut self, method: &str, params: Value) -> Asking {
        let number = self.request;
        self.request += 1;
        self.pending = Some(number);
        let mut line = self.notice(method, params);
        line["params"]["turnId"] = json!(self.turn);
        line["id"] = json!(number);
        Asking::Asked { request: number.to_string(), lines: vec![line] }
    }

    /// Says that the request which was pending is no more.
    fn resolved(&mut self) -> Lines {
        let number = self.pending.take();
        let line = |number| self.notice("serverRequest/resolved", json!({"requestId": number}));
        number.map(line).into_iter().collect()
    }

    fn usage(&self, total: Spent, last: Spent) -> Value {
        let counts = |spent: Spent| {
            json!({
                "totalTokens": spent.input.saturating_add(spent.output),
                "inputTokens": spent.input, "cachedInputTokens": 0, "cacheWriteInputTokens": 0,
                "outputTokens": spent.output, "reasoningOutputTokens": 0,
            })
        };
        let usage = json!({"total": counts(total), "last": counts(last)});
        self.notice("thread/tokenUsage/updated", json!({"turnId": self.turn, "tokenUsage": usage}))
    }

    /// News of the window, then the error; returned once more for the turn's end.
    fn limited(&self, limit: Limit) -> (Lines, Value) {
        let window = json!({"usedPercent": 100, "windowDurationMins": WINDOW_MINUTES,
                            "resetsAt": limit.resets_at_s()});
        let windows = json!({"limitId": "codex", "primary": window, "secondary": null,
                             "rateLimitReachedType": null});
        let error = json!({"message": limit_message(limit), "codexErrorInfo": "usageLimitExceeded",
                           "additionalDetails": null});
        let params = json!({"error": error, "willRetry": false, "turnId": self.turn});
        let lines = vec![
            json!({"method": "account/rateLimits/updated", "params": {"rateLimits": windows}}),
            self.notice("error", params),
        ];
        (lines, error)
    }

    fn request(&mut self, method: &str, id: &Value, params: &Value) -> Heard {
        match method {
            "initialize" => {
                let result = json!({"platformFamily": "unix", "platformOs": "linux"});
                Heard::Other(vec![json!({"id": id, "result": result})])
            }
            "thread/start" | "thread/resume" => {
                self.configure(params);
                let resume = params["threadId"].as_str().map(str::to_owned);
                Heard::Open { resume, request: id.clone() }
            }
            "turn/start" if self.thread.is_empty() || params["threadId"] != self.thread => {
                let message = format!("thread not found: {}", params["threadId"]);
                Heard::Other(vec![error(id, INVALID_REQUEST, &message)])
            }
            "turn/start" => {
                let parts = params["input"].as_array().into_iter().flatten();
                let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
                Heard::Message(Message { text: texts.join("\n"), request: id.clone() })
            }
            "turn/interrupt" => Heard::Interrupt(vec![json!({"id": id, "result": {}})]),
            _ if id.is_null() => Heard::Other(Vec::new()),
            _ => Heard::Other(vec![error(id, UNKNOWN_METHOD, "unknown method")]),
        }
    }
}

impl Voice for CodexServer {
    fn is_server(&self) -> bool {
        true
    }

    fn hear(&mut self, line: &Value) -> Heard {
        let id = &line["id"];
        if let Some(method) = line["method"].as_str() {
            return self.request(method, id, &line["params"]);
        }
        let result = &line["result"];
        let reply = if let Some(answers) = result["answers"].as_object() {
            let texts = answers.values().filter_map(|answer| answer["answers"].as_array());
            let texts: Vec<&str> = texts.flatten().filter_map(Value::as_str).collect();
            Reply::Answered(texts.join(", "))
        } else if result["decision"] == "accept" {
            Reply::Allowed
        } else {
            Reply::Denied(line["error"]["message"].as_str().unwrap_or("declined").to_owned())
        };
        Heard::Answer { request: id.to_string(), reply }
    }

    fn opened(&mut self, request: &Value, found: Result<&Conversation, &str>) -> Lines {
        let conversation = match found {
            Ok(conversation) => conversation,
            Err(id) => {
                let message = format!("no rollout found for thread id {id}");
                return vec![error(request, INVALID_REQUEST, &message)];
            }
        };
        self.thread.clone_from(&conversation.id);
        let thread = json!({"id": self.thread, "sessionId": self.thread,
                            "status": {"type": "idle"}, "cwd": self.folder});
        let result = json!({"thread": thread, "model": self.model, "cwd": self.folder,
                            "approvalPolicy": self.policy});
        let more = if conversation.turns == 0 {
            json!({"method": "thread/started", "params": {"thread": thread}})
        } else {
            self.usage(conversation.spent, Spent::default())
        };
        vec![json!({"id": request, "result": result}), more]
    }

    fn began(&mut self, message: &Message, turn: u64) -> Lines {
        self.turn = format!("turn_sim_{turn:08}");
        let state = self.turn_state("inProgress", &Value::Null);
        let item = json!({"type": "userMessage", "id": format!("user_sim_{turn:08}"),
                          "content": [{"type": "text", "text": message.text}]});
        vec![
            json!({"id": message.request, "result": {"turn": state}}),
            self.notice("turn/started", json!({"turn": state})),
            self.item("item/started", &item),
            self.item("item/completed", &item),
        ]
    }

    fn text(&mut self, number: u64, text: &str) -> Lines {
        let item =
            json!({"type": "agentMessage", "id": format!("msg_sim_{number:08}"), "text": text});
        vec![self.item("item/started", &item), self.item("item/completed", &item)]
    }

    fn call(&mut self, call: &Call) -> Lines {
        vec![self.item("item/started", &self.call_item(call, "inProgress", None))]
    }

    fn hooks(&mut self) -> Option<&mut Hooks> {
        Some(&mut self.hooks)
    }

    fn hook_event(&self, call: &Call) -> Value {
        let id = self.call_id(call.number);
        let told = match (&call.change, call.kind()) {
            (None, Kind::Shell) => ("Bash".to_owned(), json!({"command": call.input})),
            (Some(_), _) | (None, Kind::Edit) => {
                ("apply_patch".to_owned(), json!({"command": patch(call)}))
            }
            (None, _) => (format!("mcp__sim__{}", call.tool), call.fields()),
        };
        before_tool(&self.thread, &self.folder, &id, (&told.0, told.1))
    }

    fn asks_hook_first(&self) -> bool {
        true
    }

    fn result(&mut self, call: &Call, outcome: &Outcome) -> Lines {
        let status = if outcome.is_error() { "failed" } else { "completed" };
        vec![self.item("item/completed", &self.call_item(call, status, Some(outcome)))]
    }

    fn permission(&mut self, call: &Call) -> Asking {
        if self.policy == "never" && self.sandbox == "danger-full-access" {
            return Asking::Granted;
        }
        if self.policy == "never" {
            return Asking::Refused { reason: FENCED.to_owned(), lines: Vec::new() };
        }
        let id = self.call_id(call.number);
        if call.kind() == Kind::Edit {
            let params = json!({"itemId": id, "reason": null, "grantRoot": null});
            return self.ask("item/fileChange/requestApproval", params);
        }
        let params = json!({"kind": "command", "itemId": id, "cwd": self.folder,
                            "command": shell_line(&call.about())});
        self.ask("item/commandExecution/requestApproval", params)
    }

    fn decided(&mut self, call: &Call, is_allowed: bool, reason: &str) -> Lines {
        let status = match (is_allowed, self.pending) {
            (true, _) => "completed",
            (false, Some(_)) => "declined",
            (false, None) => "failed",
        };
        let outcome = Outcome::ok(reason);
        let mut lines = self.resolved();
        let item = self.call_item(call, status, Some(&outcome).filter(|_| is_allowed));
        lines.push(self.item("item/completed", &item));
        lines
    }

    fn question(&mut self, question: &Question) -> Asking {
        let option = |label: &String| json!({"label": label, "description": ""});
        let options: Vec<Value> = question.choices.iter().map(option).collect();
        let asked = json!({"id": "question", "header": "Question", "question": question.text,
                           "isOther": true, "isSecret": false, "options": options});
        let params = json!({"itemId": self.call_id(question.number), "questions": [asked]});
        self.ask("item/tool/requestUserInput", params)
    }

    fn answered(&mut self, _: &Question, _: Result<&str, &str>) -> Lines {
        self.resolved()
    }

    fn spent(&mut self, _: u64, spent: Spent, total: Spent) -> Lines {
        vec![self.usage(total, spent)]
    }

    fn ended(&mut self, report: &Report) -> Lines {
        let mut lines = self.resolved();
        if report.spent != Spent::default() {
            lines.push(self.usage(report.total, report.spent));
        }
        let (status, error) = match &report.end {
            End::Done => ("completed", Value::Null),
            End::Interrupted(_) => ("interrupted", Value::Null),
            End::Limited(limit) => {
                let (told, error) = self.limited(*limit);
                lines.extend(told);
                ("failed", error)
            }
            End::Unavailable(trouble) => {
                let info = match trouble {
                    Trouble::Outage => json!({"responseTooManyFailedAttempts":
                                              {"httpStatusCode": 503}}),
                    Trouble::SignIn => json!("unauthorized"),
                    Trouble::Credit => json!("other"),
                };
                let message = trouble_message(*trouble);
                ("failed", json!({"message": message, "codexErrorInfo": info}))
            }
        };
        let state = self.turn_state(status, &error);
        lines.push(self.notice("turn/completed", json!({"turn": state})));
        lines
    }
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"id": id, "error": {"code": code, "message": message}})
}

/// A change in the form in which the model hands it to the program.
fn patch(call: &Call) -> String {
    let Some(change) = &call.change else {
        return format!("*** Begin Patch\n*** Update File: {}\n*** End Patch", call.input);
    };
    let kind = if change.is_new { "Add" } else { "Update" };
    let lines: String = change.text.lines().map(|line| format!("+{line}\n")).collect();
    let path = change.path.display();
    format!("*** Begin Patch\n*** {kind} File: {path}\n{lines}*** End Patch")
}

fn item(id: &str, call: &Call, status: &str, outcome: Option<&Outcome>) -> Value {
    let output = outcome.map(|outcome| outcome.output.as_str());
    let file_change = |path: &Value, kind: &str, diff: &str| {
        let change = json!({"path": path, "kind": {"type": kind}, "diff": diff});
        json!({"type": "fileChange", "changes": [change]})
    };
    let item = match (&call.change, call.kind()) {
        (Some(change), _) => {
            let kind = if change.is_new { "add" } else { "update" };
            file_change(&json!(change.path), kind, &change.text)
        }
        (None, Kind::Edit) => file_change(&json!(call.input), "update", ""),
        (None, Kind::Shell) => json!({
            "type": "commandExecution", "command": shell_line(&call.input),
            "aggregatedOutput": output, "exitCode": outcome.map(|outcome| outcome.code),
        }),
        (None, _) => json!({
            "type": "mcpToolCall", "server": "sim", "tool": call.tool,
            "arguments": call.fields(), "result": output, "error": null,
        }),
    };
    let mut fields =
        Map::from_iter([("id".to_owned(), id.into()), ("status".to_owned(), status.into())]);
    fields.extend(item.as_object().cloned().unwrap_or_default());
    fields.into()
}
