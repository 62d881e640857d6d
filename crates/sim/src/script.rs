//! What the model says: turns of texts and tool calls, read from a strict JSON file.
//!
//! ```json
//! {
//!   "version": 1,
//!   "turns": [
//!     {"blocks": [{"text": "I write a file."},
//!                 {"tool": "Write", "input": {"file_path": "/tmp/a", "content": "x"}}]},
//!     {"blocks": [{"text": "Done."}],
//!      "delay_ms": 200,
//!      "error": {"status": 529, "times": 2},
//!      "usage": {"input_tokens": 1200, "cached_input_tokens": 1000, "output_tokens": 80}}
//!   ],
//!   "sub_turns": [{"blocks": [{"text": "I am the subagent."}]}],
//!   "sub_marker": "SUBAGENT",
//!   "side_text": "ok"
//! }
//! ```
//!
//! The turn is chosen by how often the model has spoken in the conversation of the request, so a
//! request that is repeated gets the same answer. A tool's input is an object; a text is for tools
//! that take free text, which only the Responses API has.

use serde::Deserialize;
use serde_json::Value;
use waypost_model::diagnostic::{Diagnostic, Place};

/// The version of the format that is read here.
const VERSION: u64 = 1;

/// A script that a person writes has some kilobytes; more is a mistake.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Agent programs give up on an answer after some minutes; a longer delay tests nothing more.
const DELAY_MS_MAX: u64 = 10 * 60 * 1000;

/// The errors that a program is expected to live with: too many requests, a fault, overload.
const STATUSES: &[u16] = &[429, 500, 503, 529];

/// What a conversation contains that belongs to a subagent, unless the script names another text.
const SUB_MARKER: &str = "SUBAGENT";

/// What the model says once the script has ended.
const END_TEXT: &str = "The script has no more turns.";

/// What the model says, in both conversations.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub turns: Vec<Turn>,
    /// For conversations that begin with the marker in a user's message.
    pub sub_turns: Vec<Turn>,
    pub sub_marker: String,
    /// The answer to a request that offers no tools, as programs send to find a title.
    pub side_text: String,
}

/// One answer of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    pub blocks: Vec<Block>,
    /// How long the model thinks before it says anything.
    pub delay_ms: u64,
    pub trouble: Option<Trouble>,
    pub usage: Usage,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Text(String),
    Tool { name: String, input: Input },
}

/// What a tool is called with.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// An object of named arguments.
    Fields(Value),
    /// Free text, such as a patch; the Messages API has no tools of this kind.
    Text(String),
}

/// An error that the first requests for a turn get instead of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub status: u16,
    pub times: u32,
}

/// The numbers that an answer reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    pub input_tokens: u64,
    #[serde(default)]
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input_tokens: 25, cached_input_tokens: 0, output_tokens: 10 }
    }
}

/// Whose turns answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversation {
    Main,
    Sub,
    /// A request without tools; it has no turns.
    Side,
}

impl Conversation {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Sub => "sub",
            Self::Side => "side",
        }
    }
}

impl Script {
    /// Reads a script; every fault that can be told at once is told.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<Diagnostic>> {
        if bytes.len() > BYTES_MAX {
            let message = format!("the script has {} bytes", bytes.len());
            let finding = Diagnostic::error("too_large", message);
            return Err(vec![finding.expected(format!("at most {BYTES_MAX}"))]);
        }
        let raw: RawScript = serde_json::from_slice(bytes).map_err(|error| vec![unread(&error)])?;
        raw.settle()
    }

    /// What the model says as its answer number `index`, counted from 0.
    pub(crate) fn turn(&self, conversation: Conversation, index: usize) -> Turn {
        let turns = match conversation {
            Conversation::Main => &self.turns,
            Conversation::Sub => &self.sub_turns,
            Conversation::Side => return Turn::text(&self.side_text),
        };
        turns.get(index).cloned().unwrap_or_else(|| Turn::text(END_TEXT))
    }
}

impl Turn {
    fn text(text: &str) -> Self {
        Self { blocks: vec![Block::Text(text.to_owned())], ..Self::default() }
    }
}

/// The file as it is written. Plain structs with optional fields, because serde gives the place of
/// an unknown field only for these, not for tagged enums.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    version: u64,
    turns: Vec<RawTurn>,
    #[serde(default)]
    sub_turns: Vec<RawTurn>,
    sub_marker: Option<String>,
    side_text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    blocks: Vec<RawBlock>,
    #[serde(default)]
    delay_ms: u64,
    error: Option<RawTrouble>,
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBlock {
    text: Option<String>,
    tool: Option<String>,
    input: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTrouble {
    status: u16,
    times: Option<u32>,
}

impl RawScript {
    fn settle(self) -> Result<Script, Vec<Diagnostic>> {
        let mut findings = Vec::new();
        if self.version != VERSION {
            let message = format!("version {} is not known", self.version);
            let finding = Diagnostic::error("unknown_version", message).path("version");
            findings.push(finding.expected(VERSION.to_string()));
        }
        if self.turns.is_empty() {
            let finding = Diagnostic::error("no_turns", "there is no turn").path("turns");
            findings
                .push(finding.hint("write at least one: {\"blocks\": [{\"text\": \"Done.\"}]}"));
        }
        let marker = self.sub_marker.unwrap_or_else(|| SUB_MARKER.to_owned());
        if marker.is_empty() {
            let finding = Diagnostic::error("empty_marker", "the marker is empty");
            let finding = finding.path("sub_marker");
            findings.push(finding.hint("a text that stands in the prompt of subagents only"));
        }
        let script = Script {
            turns: settle_turns(self.turns, "turns", &mut findings),
            sub_turns: settle_turns(self.sub_turns, "sub_turns", &mut findings),
            sub_marker: marker,
            side_text: self.side_text.unwrap_or_else(|| "ok".to_owned()),
        };
        if findings.is_empty() { Ok(script) } else { Err(findings) }
    }
}

/// A part of the script, or what is wrong with it.
type Checked<T> = Result<T, Box<Diagnostic>>;

fn settle_turns(raw: Vec<RawTurn>, name: &str, findings: &mut Vec<Diagnostic>) -> Vec<Turn> {
    let mut turns = Vec::new();
    for (index, turn) in raw.into_iter().enumerate() {
        match settle_turn(turn, &format!("{name}[{index}]")) {
            Ok(turn) => turns.push(turn),
            Err(finding) => findings.push(*finding),
        }
    }
    turns
}

fn settle_turn(raw: RawTurn, path: &str) -> Checked<Turn> {
    if raw.blocks.is_empty() {
        let finding = Diagnostic::error("no_blocks", "the model says nothing in this turn");
        let finding = finding.path(format!("{path}.blocks"));
        return Err(Box::new(finding.hint("a text block, such as {\"text\": \"Done.\"}")));
    }
    if raw.delay_ms > DELAY_MS_MAX {
        let message = format!("a delay of {} ms is too long", raw.delay_ms);
        let finding = Diagnostic::error("too_long", message).path(format!("{path}.delay_ms"));
        return Err(Box::new(finding.expected(format!("at most {DELAY_MS_MAX}"))));
    }
    let trouble = raw.error.map(|error| settle_trouble(&error, path)).transpose()?;
    let mut blocks = Vec::new();
    for (index, block) in raw.blocks.into_iter().enumerate() {
        blocks.push(settle_block(block, &format!("{path}.blocks[{index}]"))?);
    }
    Ok(Turn { blocks, delay_ms: raw.delay_ms, trouble, usage: raw.usage.unwrap_or_default() })
}

fn settle_trouble(raw: &RawTrouble, path: &str) -> Checked<Trouble> {
    if !STATUSES.contains(&raw.status) {
        let words: Vec<String> = STATUSES.iter().map(ToString::to_string).collect();
        let message = format!("{} is not an error that a model server answers with", raw.status);
        let finding = Diagnostic::error("bad_status", message).path(format!("{path}.error.status"));
        return Err(Box::new(finding.expected(words.join(", "))));
    }
    Ok(Trouble { status: raw.status, times: raw.times.unwrap_or(1) })
}

fn settle_block(raw: RawBlock, path: &str) -> Checked<Block> {
    const BLOCK: &str = "{\"text\": …} or {\"tool\": NAME, \"input\": {…}}";
    let finding =
        |code, message: &str| Box::new(Diagnostic::error(code, message).path(path).expected(BLOCK));
    match raw {
        RawBlock { text: Some(text), tool: None, input: None } => Ok(Block::Text(text)),
        RawBlock { text: None, tool: Some(name), input: Some(input) } if !name.is_empty() => {
            let input = match input {
                Value::Object(_) => Input::Fields(input),
                Value::String(text) => Input::Text(text),
                _ => return Err(finding("bad_input", "the input is neither an object nor a text")),
            };
            Ok(Block::Tool { name, input })
        }
        RawBlock { text: None, tool: Some(_), input: None } => {
            Err(finding("no_input", "the tool has no input"))
        }
        _ => Err(finding("bad_block", "the block is neither a text nor a tool call")),
    }
}

/// What serde says, without the place that it appends: the place is data.
fn unread(error: &serde_json::Error) -> Diagnostic {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let code = if error.is_data() { "bad_value" } else { "bad_json" };
    let finding = Diagnostic::error(code, message);
    let finding = finding.hint("`waypost sim model --help` shows the format");
    let place = |value: usize| u32::try_from(value.max(1)).unwrap_or(u32::MAX);
    match error.line() {
        0 => finding,
        line => finding.at(Place { line: place(line), column: place(error.column()), length: 1 }),
    }
}

#[cfg(test)]
mod tests;
