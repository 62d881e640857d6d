//! Claude Code's `stream-json`, as the program writes it.

use super::arguments::Arguments;
use super::hooks::Hooks;
use super::script::{Spent, Trouble};
use super::sessions::Conversation;
use super::voice::{
    Asking, Call, End, Heard, Kind, Lines, Message, Outcome, Question, Reply, Report, Voice,
    before_tool, tag,
};
use serde_json::{Map, Value, json};
use std::fs;

/// The author of messages that the program makes up itself.
const SYNTHETIC: &str = "<synthetic>";

const ASK_TOOL: &str = "AskUserQuestion";

/// What the model hears when no person is there to permit a call.
const NEEDS_APPROVAL: &str = "This command requires approval";

#[derive(Debug)]
pub(super) struct Claude {
    session: String,
    folder: String,
    model: String,
    mode: String,
    can_ask: bool,
    /// The request that waits for its answer.
    pending: Option<String>,
    /// The calls of this turn that were refused.
    denials: Vec<Value>,
    results: u64,
    is_last_an_error: bool,
    hooks: Hooks,
}

impl Claude {
    pub(super) fn new(arguments: &Arguments<'_>, folder: &str) -> Self {
        let option = |name, otherwise: &str| arguments.option(name).unwrap_or(otherwise).to_owned();
        Self {
            session: String::new(),
            folder: folder.to_owned(),
            model: option("--model", "sim"),
            mode: option("--permission-mode", "default"),
            can_ask: arguments.option("--permission-prompt-tool") == Some("stdio"),
            pending: None,
            denials: Vec::new(),
            results: 0,
            is_last_an_error: false,
            hooks: arguments.option("--settings").map(given_hooks).unwrap_or_default(),
        }
    }

    fn call_id(&self, number: u64) -> String {
        format!("toolu_sim_{}_{number:08}", tag(&self.session))
    }

    fn assistant(&self, number: u64, content: &Value) -> Value {
        let message = json!({
            "id": format!("msg_sim_{number:08}"), "type": "message", "role": "assistant",
            "model": self.model, "content": [content], "stop_reason": null, "stop_sequence": null,
            "usage": usage(Spent::default()),
        });
        json!({"type": "assistant", "message": message, "parent_tool_use_id": null,
               "session_id": self.session})
    }

    fn tool_use(&self, number: u64, name: &str, input: &Value) -> Value {
        let id = self.call_id(number);
        self.assistant(number, &json!({"type": "tool_use", "id": id, "name": name, "input": input}))
    }

    fn tool_result(&self, number: u64, content: &str, is_error: bool) -> Value {
        let block = json!({"type": "tool_result", "tool_use_id": self.call_id(number),
                           "content": content, "is_error": is_error});
        self.user(&block)
    }

    fn user(&self, block: &Value) -> Value {
        json!({"type": "user", "message": {"role": "user", "content": [block]},
               "parent_tool_use_id": null, "session_id": self.session})
    }

    /// The request for a decision about a call that the model has made.
    fn ask(&mut self, number: u64, tool: &str, input: &Value) -> Asking {
        let name = format!("request_sim_{number:08}");
        let request = json!({"subtype": "can_use_tool", "tool_name": tool, "display_name": tool,
                             "input": input, "tool_use_id": self.call_id(number)});
        let line = json!({"type": "control_request", "request_id": name, "request": request});
        self.pending = Some(name.clone());
        Asking::Asked { request: name, lines: vec![line] }
    }

    fn deny(&mut self, number: u64, tool: &str, input: &Value) {
        let id = self.call_id(number);
        self.denials.push(json!({"tool_name": tool, "tool_use_id": id, "tool_input": input}));
    }

    /// What the program says when its service cannot be used: it has tried again before.
    fn unavailable(&mut self, trouble: Trouble, report: &Report) -> Lines {
        let (status, told) = (trouble.status(), trouble.message());
        let word = match trouble {
            Trouble::Outage => "overloaded",
            Trouble::SignIn => "authentication_failed",
            Trouble::Credit => "billing_error",
        };
        let retry = json!({"type": "system", "subtype": "api_retry", "attempt": 1,
            "max_retries": 10, "retry_delay_ms": 500, "error_status": status, "error": word,
            "session_id": self.session});
        let mut message = self.assistant(0, &json!({"type": "text", "text": told}));
        message["message"]["model"] = SYNTHETIC.into();
        message["error"] = word.into();
        let result = self.result_line(
            report,
            &json!({
                "is_error": true, "api_error_status": status, "terminal_reason": "api_error",
                "stop_reason": "stop_sequence", "result": told,
            }),
        );
        vec![retry, message, result]
    }

    /// The end of a turn in the form that all ends have; `more` makes the difference.
    fn result_line(&mut self, report: &Report, more: &Value) -> Value {
        let models: Map<String, Value> = if report.total == Spent::default() {
            Map::new()
        } else {
            let Spent { input, output, cost_micros } = report.total;
            let model = json!({
                "inputTokens": input, "outputTokens": output, "cacheReadInputTokens": 0,
                "cacheCreationInputTokens": 0, "costUSD": dollars(cost_micros),
            });
            Map::from_iter([(self.model.clone(), model)])
        };
        let mut line = json!({
            "type": "result", "subtype": "success", "is_error": false, "api_error_status": null,
            "stop_reason": "end_turn", "terminal_reason": "completed", "session_id": self.session,
            "num_turns": report.steps, "total_cost_usd": dollars(report.total.cost_micros),
            "usage": usage(report.spent), "modelUsage": models,
            "permission_denials": std::mem::take(&mut self.denials), "result_index": self.results,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        self.results += 1;
        self.is_last_an_error = line["is_error"] == true;
        line
    }
}

impl Voice for Claude {
    fn hear(&mut self, line: &Value) -> Heard {
        match line["type"].as_str().unwrap_or_default() {
            "user" => Heard::Message(Message {
                text: text_of(&line["message"]["content"]),
                request: Value::Null,
            }),
            "control_response" => answer(&line["response"]),
            "control_request" => {
                let heard = |response: Value| {
                    let id = &line["request_id"];
                    vec![json!({"type": "control_response", "response": {
                        "subtype": "success", "request_id": id, "response": response}})]
                };
                match line["request"]["subtype"].as_str() {
                    Some("interrupt") => Heard::Interrupt(heard(json!({"still_queued": []}))),
                    _ => Heard::Other(heard(json!({}))),
                }
            }
            _ => Heard::Other(Vec::new()),
        }
    }

    fn opened(&mut self, request: &Value, found: Result<&Conversation, &str>) -> Lines {
        match found {
            Ok(conversation) => {
                self.session.clone_from(&conversation.id);
                Vec::new()
            }
            Err(message) => vec![json!({
                "type": "result", "subtype": "error_during_execution", "is_error": true,
                "num_turns": 0, "stop_reason": null, "session_id": request, "total_cost_usd": 0,
                "usage": usage(Spent::default()), "modelUsage": {}, "permission_denials": [],
                "errors": [message], "result_index": 0,
            })],
        }
    }

    fn began(&mut self, _: &Message, _: u64) -> Lines {
        vec![json!({
            "type": "system", "subtype": "init", "cwd": self.folder, "session_id": self.session,
            "model": self.model, "permissionMode": self.mode, "tools": [], "mcp_servers": [],
            "apiKeySource": "none", "claude_code_version": "sim",
        })]
    }

    fn text(&mut self, number: u64, text: &str) -> Lines {
        vec![self.assistant(number, &json!({"type": "text", "text": text}))]
    }

    fn call(&mut self, call: &Call) -> Lines {
        vec![self.tool_use(call.number, &call.tool, &call.fields())]
    }

    fn hooks(&mut self) -> Option<&mut Hooks> {
        Some(&mut self.hooks)
    }

    fn question_tool(&self) -> Option<&'static str> {
        Some(ASK_TOOL)
    }

    fn hook_event(&self, call: &Call) -> Value {
        let id = self.call_id(call.number);
        before_tool(&self.session, &self.folder, &id, (&call.tool, call.fields()))
    }

    fn result(&mut self, call: &Call, outcome: &Outcome) -> Lines {
        let content = match call.kind() {
            Kind::Shell if outcome.is_error() => {
                format!("Exit code {}\n{}", outcome.code, outcome.output)
            }
            _ => outcome.output.clone(),
        };
        vec![self.tool_result(call.number, content.trim_end(), outcome.is_error())]
    }

    fn permission(&mut self, call: &Call) -> Asking {
        if self.mode == "bypassPermissions" {
            return Asking::Granted;
        }
        if self.can_ask {
            return self.ask(call.number, &call.tool, &call.fields());
        }
        let line = json!({
            "type": "system", "subtype": "permission_denied", "tool_name": call.tool,
            "tool_use_id": self.call_id(call.number), "message": NEEDS_APPROVAL,
            "session_id": self.session,
        });
        Asking::Refused { reason: NEEDS_APPROVAL.to_owned(), lines: vec![line] }
    }

    fn decided(&mut self, call: &Call, is_allowed: bool, reason: &str) -> Lines {
        self.pending = None;
        if !is_allowed {
            self.deny(call.number, &call.tool, &call.fields());
        }
        vec![self.tool_result(call.number, reason, !is_allowed)]
    }

    fn question(&mut self, question: &Question) -> Asking {
        let input = questions(question);
        let call = self.tool_use(question.number, ASK_TOOL, &input);
        if !self.can_ask {
            return Asking::Refused { reason: NEEDS_APPROVAL.to_owned(), lines: vec![call] };
        }
        match self.ask(question.number, ASK_TOOL, &input) {
            Asking::Asked { request, mut lines } => {
                lines.insert(0, call);
                Asking::Asked { request, lines }
            }
            other => other,
        }
    }

    fn answered(&mut self, question: &Question, answer: Result<&str, &str>) -> Lines {
        self.pending = None;
        let content = match answer {
            Ok(answer) => format!(
                "Your questions have been answered: {:?}={answer:?}. You can now continue with \
                 these answers in mind.",
                question.text
            ),
            Err(reason) => {
                self.deny(question.number, ASK_TOOL, &questions(question));
                reason.to_owned()
            }
        };
        vec![self.tool_result(question.number, &content, answer.is_err())]
    }

    fn spent(&mut self, number: u64, spent: Spent, _: Spent) -> Lines {
        let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
        let mut line = self.assistant(number, &thinking);
        line["message"]["usage"] = usage(spent);
        vec![line]
    }

    fn ended(&mut self, report: &Report) -> Lines {
        match &report.end {
            End::Done => vec![self.result_line(report, &json!({"result": report.last_text}))],
            End::Interrupted(call) => {
                let reason = if call.is_some() { "aborted_tools" } else { "aborted_streaming" };
                let stop = "The user doesn't want to proceed with this tool use.";
                let cancel = |name| json!({"type": "control_cancel_request", "request_id": name});
                let mut lines: Lines = self.pending.take().map(cancel).into_iter().collect();
                lines.extend(call.iter().map(|call| self.tool_result(call.number, stop, true)));
                let told = "[Request interrupted by user]";
                lines.push(self.user(&json!({"type": "text", "text": told})));
                lines.push(self.result_line(
                    report,
                    &json!({
                        "subtype": "error_during_execution", "is_error": true, "stop_reason": null,
                        "terminal_reason": reason, "errors": ["the turn was interrupted"],
                    }),
                ));
                lines
            }
            End::Limited(limit) => {
                let at = limit.resets_at_s();
                let told = format!("Claude AI usage limit reached|{at}");
                let event = json!({"type": "rate_limit_event", "session_id": self.session,
                    "rate_limit_info": {"status": "rejected", "resetsAt": at,
                                        "rateLimitType": "five_hour"}});
                let mut message = self.assistant(0, &json!({"type": "text", "text": told}));
                message["message"]["model"] = SYNTHETIC.into();
                message["error"] = "rate_limit".into();
                let result = self.result_line(
                    report,
                    &json!({
                        "is_error": true, "api_error_status": 429, "terminal_reason": "api_error",
                        "stop_reason": "stop_sequence", "result": told,
                    }),
                );
                vec![event, message, result]
            }
            End::Unavailable(trouble) => self.unavailable(*trouble, report),
        }
    }

    fn exit_code(&self) -> u8 {
        u8::from(self.is_last_an_error)
    }
}

/// The hooks of the settings that are given on the command line: a file, or the text itself.
fn given_hooks(given: &str) -> Hooks {
    let text = match given.trim_start().starts_with('{') {
        true => given.to_owned(),
        false => fs::read_to_string(given).unwrap_or_default(),
    };
    Hooks::of(&serde_json::from_str(&text).unwrap_or_default())
}

/// A message's text, which may be in blocks.
fn text_of(content: &Value) -> String {
    match content {
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

fn answer(response: &Value) -> Heard {
    let decision = &response["response"];
    let reason = decision["message"].as_str().or_else(|| response["error"].as_str());
    let reply =
        match (decision["behavior"].as_str(), decision["updatedInput"]["answers"].as_object()) {
            (Some("allow"), Some(answers)) => {
                let texts = answers.values().filter_map(Value::as_str);
                Reply::Answered(texts.collect::<Vec<_>>().join("\n"))
            }
            (Some("allow"), None) => Reply::Allowed,
            _ => Reply::Denied(reason.unwrap_or("refused").to_owned()),
        };
    let request = response["request_id"].as_str().unwrap_or_default().to_owned();
    Heard::Answer { request, reply }
}

fn questions(question: &Question) -> Value {
    let option = |label: &String| json!({"label": label, "description": ""});
    let options: Vec<Value> = question.choices.iter().map(option).collect();
    json!({"questions": [{"question": question.text, "header": "Question", "options": options,
                          "multiSelect": false}]})
}

fn usage(spent: Spent) -> Value {
    json!({"input_tokens": spent.input, "cache_creation_input_tokens": 0,
           "cache_read_input_tokens": 0, "output_tokens": spent.output})
}

/// Millions of dollars have fewer digits than the number can hold, so this is exact enough.
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}
