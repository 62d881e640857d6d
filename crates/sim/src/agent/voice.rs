//! How programs speak: what a scripted agent does, as the lines of each protocol.
//!
//! A voice is pure: lines in, lines out, of JSON but for one. It does not know the script.

use super::hooks::{BEFORE_TOOL, Hooks};
use super::script::{Spent, Trouble};
use super::sessions::Conversation;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use waypost_model::time::Time;

/// Lines of output, in order.
pub(super) type Lines = Vec<Value>;

/// What the engine said to the program.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heard {
    /// Begin a conversation, or resume the one of that id.
    Open {
        resume: Option<String>,
        request: Value,
    },
    Message(Message),
    /// The answer to a request of ours.
    Answer {
        request: String,
        reply: Reply,
    },
    /// Stop the turn; the lines say that this was heard.
    Interrupt(Lines),
    /// Something that is answered at once and changes nothing.
    Other(Lines),
}

/// A message to the agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) text: String,
    /// The id of the request that it came with; null where the protocol has none.
    pub(super) request: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Allowed,
    Denied(String),
    Answered(String),
}

/// The use of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) number: u64,
    pub(super) tool: String,
    /// In one line.
    pub(super) input: String,
    /// What is written, where the tool writes a file.
    pub(super) change: Option<Change>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) is_new: bool,
}

/// What kind of tool it is, as far as protocols tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Shell,
    Edit,
    Read,
    Search,
    Fetch,
    Other,
}

impl Call {
    pub(super) fn kind(&self) -> Kind {
        match self.tool.as_str() {
            "Bash" => Kind::Shell,
            "Write" | "Edit" | "NotebookEdit" => Kind::Edit,
            "Read" => Kind::Read,
            "Grep" | "Glob" | "WebSearch" => Kind::Search,
            "WebFetch" => Kind::Fetch,
            _ => Kind::Other,
        }
    }

    /// The input of the tool, with the field that a tool of that name has.
    pub(super) fn fields(&self) -> Value {
        if let Some(change) = &self.change {
            return json!({"file_path": change.path, "content": change.text});
        }
        let field = match (self.kind(), self.tool.as_str()) {
            (Kind::Shell, _) => "command",
            (Kind::Edit | Kind::Read, _) => "file_path",
            (_, "WebSearch") => "query",
            (Kind::Search, _) => "pattern",
            (Kind::Fetch, _) => "url",
            (_, "Agent" | "Task") => "prompt",
            _ => "description",
        };
        if self.input.is_empty() { json!({}) } else { json!({field: self.input}) }
    }

    /// What a person is told that the call is about.
    pub(super) fn about(&self) -> String {
        match (&self.change, self.kind()) {
            (Some(change), _) => change.path.display().to_string(),
            (None, Kind::Other) => format!("{} {}", self.tool, self.input).trim().to_owned(),
            (None, _) => self.input.clone(),
        }
    }
}

/// What a hook is told before a call, in the form that Claude Code and Codex share.
pub(super) fn before_tool(session: &str, folder: &str, id: &str, call: (&str, Value)) -> Value {
    let (tool, input) = call;
    json!({"session_id": session, "cwd": folder, "hook_event_name": BEFORE_TOOL,
           "permission_mode": "default", "tool_name": tool, "tool_input": input,
           "tool_use_id": id})
}

/// The part of a conversation's id by which calls are told apart from those of others: its end, which
/// also differs where ids are counted.
pub(super) fn tag(session: &str) -> &str {
    session.get(session.len().saturating_sub(8)..).unwrap_or(session)
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) output: String,
    /// The exit code, where it was a command; else 1 is an error.
    pub(super) code: u8,
}

impl Outcome {
    pub(super) fn ok(output: impl Into<String>) -> Self {
        Self { output: output.into(), code: 0 }
    }

    pub(super) fn error(output: impl Into<String>) -> Self {
        Self { output: output.into(), code: 1 }
    }

    pub(super) fn is_error(&self) -> bool {
        self.code != 0
    }
}

/// A question to a person, which is a tool as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) choices: Vec<String>,
}

/// What becomes of the wish to ask.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asking {
    /// The answer will carry this name.
    Asked { request: String, lines: Lines },
    /// No permission is needed.
    Granted,
    /// The program has no way to ask.
    Refused { reason: String, lines: Lines },
    /// The program has no means to ask: the agent asks in its text.
    InText,
}

/// A limit that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) resets_in: Duration,
    pub(super) resets_at: Time,
}

impl Limit {
    /// Whole seconds since 1970, at or after the instant.
    pub(super) fn resets_at_s(self) -> i64 {
        self.resets_at.millis().saturating_add(999).div_euclid(1_000)
    }
}

/// How a turn ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Done,
    /// The engine stopped it, within a call where there is one.
    Interrupted(Option<Call>),
    Limited(Limit),
    Unavailable(Trouble),
}

/// What a turn's end reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) end: End,
    pub(super) last_text: String,
    /// In this turn.
    pub(super) spent: Spent,
    /// In the whole conversation, this turn included.
    pub(super) total: Spent,
    /// How often the model was asked.
    pub(super) steps: u64,
}

/// One of the protocols.
pub(super) trait Voice {
    /// A line of input as the program reads it; what is no JSON is not for a program that speaks it.
    fn read(&self, line: &[u8]) -> Value {
        serde_json::from_slice(line).unwrap_or_default()
    }

    /// A line of output as the program writes it.
    fn write(&self, line: &Value) -> String {
        line.to_string()
    }

    /// Whether the program ends at once when its input is closed, be it in the middle of a turn.
    fn is_server(&self) -> bool {
        false
    }

    fn hear(&mut self, line: &Value) -> Heard;

    /// A conversation is opened, or cannot be.
    fn opened(&mut self, request: &Value, found: Result<&Conversation, &str>) -> Lines;

    fn began(&mut self, message: &Message, turn: u64) -> Lines;

    fn text(&mut self, number: u64, text: &str) -> Lines;

    fn call(&mut self, call: &Call) -> Lines;

    /// The hook that the program was told of.
    fn hooks(&mut self) -> Option<&mut Hooks> {
        None
    }

    /// What the hook is told before a call.
    fn hook_event(&self, _call: &Call) -> Value {
        Value::Null
    }

    /// The tool by which the program asks a person, where that is one.
    fn question_tool(&self) -> Option<&'static str> {
        None
    }

    /// Whether the hook is asked before anything is said of a call, so that nothing is if it refuses.
    fn asks_hook_first(&self) -> bool {
        false
    }

    fn result(&mut self, call: &Call, outcome: &Outcome) -> Lines;

    /// Asks whether a call that was told of may be made.
    fn permission(&mut self, call: &Call) -> Asking;

    /// What became of a call that was asked for. The output of one that was refused is the reason.
    fn decided(&mut self, call: &Call, is_allowed: bool, reason: &str) -> Lines;

    fn question(&mut self, question: &Question) -> Asking;

    /// The answer came; none if it was refused.
    fn answered(&mut self, question: &Question, answer: Result<&str, &str>) -> Lines;

    /// A request to the model was answered; `total` is what the conversation has used up. Programs
    /// that tell usage only at the end of a turn say nothing.
    fn spent(&mut self, _number: u64, _spent: Spent, _total: Spent) -> Lines {
        Vec::new()
    }

    fn ended(&mut self, report: &Report) -> Lines;

    /// The code with which the program ends by itself.
    fn exit_code(&self) -> u8 {
        0
    }
}
