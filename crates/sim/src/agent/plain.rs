//! A program that reads and writes plain text.

use super::script::Trouble;
use super::sessions::Conversation;
use super::voice::{Asking, Call, End, Heard, Lines, Message, Outcome, Question, Report, Voice};
use serde_json::Value;
use waypost_agent::programs::MESSAGE_END;

/// Lines of a message that has no end yet.
#[derive(Debug, Default)]
pub(super) struct Plain {
    lines: Vec<String>,
    is_failed: bool,
}

impl Voice for Plain {
    fn read(&self, line: &[u8]) -> Value {
        Value::String(String::from_utf8_lossy(line).into_owned())
    }

    fn write(&self, line: &Value) -> String {
        line.as_str().unwrap_or_default().to_owned()
    }

    fn hear(&mut self, line: &Value) -> Heard {
        let line = line.as_str().unwrap_or_default();
        if line.trim_end() != MESSAGE_END {
            self.lines.push(line.to_owned());
            return Heard::Other(Vec::new());
        }
        let text = std::mem::take(&mut self.lines).join("\n");
        Heard::Message(Message { text, request: Value::Null })
    }

    fn opened(&mut self, _: &Value, _: Result<&Conversation, &str>) -> Lines {
        Vec::new()
    }

    fn began(&mut self, _: &Message, _: u64) -> Lines {
        Vec::new()
    }

    fn text(&mut self, _: u64, text: &str) -> Lines {
        vec![text.into()]
    }

    fn call(&mut self, call: &Call) -> Lines {
        vec![format!("> {} {}", call.tool, call.about()).into()]
    }

    /// What a tool says is quoted as code: it is not the agent's own word.
    fn result(&mut self, _: &Call, outcome: &Outcome) -> Lines {
        outcome.output.lines().map(|line| format!("    {line}").into()).collect()
    }

    fn permission(&mut self, _: &Call) -> Asking {
        Asking::Granted
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
        let trouble = match &report.end {
            End::Done => None,
            End::Interrupted(_) => Some("interrupted".to_owned()),
            End::Limited(limit) => {
                let seconds = limit.resets_in.as_secs();
                Some(format!("usage limit reached, retry after {seconds} seconds"))
            }
            End::Unavailable(trouble) => Some(told(*trouble)),
        };
        self.is_failed = trouble.is_some();
        let error = trouble.map(|it| {
            format!("[ERROR] type: recoverable, recovery: pause_and_retry, message: {it}")
        });
        error.into_iter().chain([MESSAGE_END.to_owned()]).map(Value::from).collect()
    }

    fn exit_code(&self) -> u8 {
        u8::from(self.is_failed)
    }
}

fn told(trouble: Trouble) -> String {
    super::codex::trouble_message(trouble).to_owned()
}
