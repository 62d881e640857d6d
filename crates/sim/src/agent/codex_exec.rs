//! The JSON lines of `codex exec --json`, as the program writes them.

use super::arguments::Arguments;
use super::codex::{FENCED, limit_message, shell_line, trouble_message};
use super::sessions::Conversation;
use super::voice::{
    Asking, Call, End, Heard, Kind, Lines, Message, Outcome, Question, Report, Voice,
};
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct CodexExec {
    is_unfenced: bool,
    is_failed: bool,
}

impl CodexExec {
    pub(super) fn new(arguments: &Arguments<'_>) -> Self {
        let is_unfenced = arguments.has("sandbox_mode=\"danger-full-access\"");
        Self { is_unfenced, is_failed: false }
    }
}

impl Voice for CodexExec {
    fn hear(&mut self, _: &Value) -> Heard {
        Heard::Other(Vec::new())
    }

    fn opened(&mut self, _: &Value, found: Result<&Conversation, &str>) -> Lines {
        let started = |conversation: &Conversation| json!({"type": "thread.started", "thread_id": conversation.id});
        found.map(started).into_iter().collect()
    }

    fn began(&mut self, _: &Message, _: u64) -> Lines {
        vec![json!({"type": "turn.started"})]
    }

    fn text(&mut self, number: u64, text: &str) -> Lines {
        let item = json!({"id": item_id(number), "type": "agent_message", "text": text});
        vec![json!({"type": "item.completed", "item": item})]
    }

    fn call(&mut self, call: &Call) -> Lines {
        vec![json!({"type": "item.started", "item": item(call, "in_progress", None)})]
    }

    fn result(&mut self, call: &Call, outcome: &Outcome) -> Lines {
        let status = if outcome.is_error() { "failed" } else { "completed" };
        vec![json!({"type": "item.completed", "item": item(call, status, Some(outcome))})]
    }

    fn permission(&mut self, _: &Call) -> Asking {
        if self.is_unfenced {
            return Asking::Granted;
        }
        Asking::Refused { reason: FENCED.to_owned(), lines: Vec::new() }
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
        let message = match &report.end {
            End::Done => {
                let usage = json!({
                    "input_tokens": report.total.input, "cached_input_tokens": 0,
                    "cache_write_input_tokens": 0, "output_tokens": report.total.output,
                    "reasoning_output_tokens": 0,
                });
                return vec![json!({"type": "turn.completed", "usage": usage})];
            }
            End::Interrupted(_) => "interrupted".to_owned(),
            End::Limited(limit) => limit_message(*limit),
            End::Unavailable(trouble) => trouble_message(*trouble).to_owned(),
        };
        self.is_failed = true;
        vec![
            json!({"type": "error", "message": message}),
            json!({"type": "turn.failed", "error": {"message": message}}),
        ]
    }

    fn exit_code(&self) -> u8 {
        u8::from(self.is_failed)
    }
}

fn item_id(number: u64) -> String {
    format!("item_{number}")
}

fn item(call: &Call, status: &str, outcome: Option<&Outcome>) -> Value {
    let output = outcome.map(|outcome| outcome.output.as_str());
    let mut item = match (&call.change, call.kind()) {
        (Some(change), _) => {
            let kind = if change.is_new { "add" } else { "update" };
            json!({"type": "file_change", "changes": [{"path": change.path, "kind": kind}]})
        }
        (None, Kind::Edit) => {
            json!({"type": "file_change", "changes": [{"path": call.input, "kind": "update"}]})
        }
        (None, Kind::Shell) => json!({
            "type": "command_execution", "command": shell_line(&call.input),
            "aggregated_output": output.unwrap_or_default(),
            "exit_code": outcome.map(|outcome| outcome.code),
        }),
        (None, _) => json!({
            "type": "mcp_tool_call", "server": "sim", "tool": call.tool,
            "arguments": call.fields(), "result": output, "error": null,
        }),
    };
    item["id"] = item_id(call.number).into();
    item["status"] = status.into();
    item
}
