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
//!   "conversations": [{"marker": "TASK_ID: T1.2",
//!                      "turns": [{"blocks": [{"text": "Later."}], "until": "/tmp/go"}]}],
//!   "sub_turns": [{"blocks": [{"text": "I am the subagent."}]}],
//!   "sub_marker": "SUBAGENT",
//!   "side_text": "ok"
//! }
//! ```
//!
//! An error lasts for `times` requests, or with `"until": FILE` for as long as there is no such file.
//! The turn is chosen by how often the model has spoken in the conversation of the request, so a
//! request that is repeated gets the same answer. Conversations are told apart by a marker in what
//! the user said before the model's first answer; one without any has the plain `turns`. A tool's
//! input is an object; a text is for tools that take free text, which only the Responses API has.

use crate::source::{self, Checked};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use waypost_model::diagnostic::Diagnostic;

/// The errors that a program is expected to live with: too many requests, a fault, overload.
const STATUSES: &[u16] = &[429, 500, 503, 529];

/// What a conversation contains that belongs to a subagent, unless the script names another text.
const SUB_MARKER: &str = "SUBAGENT";

/// What the model says once the script has ended.
const END_TEXT: &str = "The script has no more turns.";

/// What the model says, in all conversations.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub turns: Vec<Turn>,
    /// For conversations that begin with a marker in a user's message; the first that fits counts.
    pub marked: Vec<Marked>,
    /// For conversations that begin with the marker in a user's message.
    pub sub_turns: Vec<Turn>,
    pub sub_marker: String,
    /// The answer to a request that offers no tools, as programs send to find a title.
    pub side_text: String,
}

/// What the model says in conversations that begin with a marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    pub marker: String,
    pub turns: Vec<Turn>,
}

/// One answer of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    pub blocks: Vec<Block>,
    /// How long the model thinks before it says anything.
    pub delay_ms: u64,
    /// A file that has to be there before the model says anything.
    pub until: Option<PathBuf>,
    pub trouble: Option<ScriptedError>,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedError {
    pub status: u16,
    pub lasts: Lasts,
}

/// How long an error lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// For so many requests.
    Times(u32),
    /// Until this file is there.
    Until(PathBuf),
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
pub enum TurnOwner {
    Main,
    /// The marked conversation of this number in the script.
    Marked(usize),
    Sub,
    /// A request without tools; it has no turns.
    Side,
}

impl Script {
    /// Reads a script; every fault that can be told at once is told.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<Diagnostic>> {
        let raw: RawScript = source::read(bytes, "waypost sim model")?;
        raw.settle()
    }

    /// What the model says as its answer number `index`, counted from 0.
    pub(crate) fn turn(&self, conversation: TurnOwner, index: usize) -> Turn {
        let turns = match conversation {
            TurnOwner::Main => &self.turns,
            TurnOwner::Marked(at) => &self.marked[at].turns,
            TurnOwner::Sub => &self.sub_turns,
            TurnOwner::Side => return Turn::text(&self.side_text),
        };
        turns.get(index).cloned().unwrap_or_else(|| Turn::text(END_TEXT))
    }

    /// What a conversation is called in the log.
    pub(crate) fn name(&self, conversation: TurnOwner) -> &str {
        match conversation {
            TurnOwner::Main => "main",
            TurnOwner::Marked(at) => &self.marked[at].marker,
            TurnOwner::Sub => "sub",
            TurnOwner::Side => "side",
        }
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
    conversations: Vec<RawConversation>,
    #[serde(default)]
    sub_turns: Vec<RawTurn>,
    sub_marker: Option<String>,
    side_text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConversation {
    marker: String,
    turns: Vec<RawTurn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    blocks: Vec<RawBlock>,
    #[serde(default)]
    delay_ms: u64,
    until: Option<PathBuf>,
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
    until: Option<PathBuf>,
}

impl RawScript {
    fn settle(self) -> Result<Script, Vec<Diagnostic>> {
        let mut findings = Vec::new();
        source::check_version(self.version, &mut findings);
        if self.turns.is_empty() {
            let finding = Diagnostic::error("no_turns", "there is no turn").path("turns");
            findings
                .push(finding.hint("write at least one: {\"blocks\": [{\"text\": \"Done.\"}]}"));
        }
        let marker = self.sub_marker.unwrap_or_else(|| SUB_MARKER.to_owned());
        if marker.is_empty() {
            findings.push(empty_marker("sub_marker", "of subagents only"));
        }
        let mut marked = Vec::new();
        for (index, RawConversation { marker, turns }) in self.conversations.into_iter().enumerate()
        {
            let path = format!("conversations[{index}]");
            if marker.is_empty() {
                findings.push(empty_marker(&format!("{path}.marker"), "of this conversation only"));
            }
            let turns = settle_turns(turns, &format!("{path}.turns"), &mut findings);
            marked.push(Marked { marker, turns });
        }
        let script = Script {
            turns: settle_turns(self.turns, "turns", &mut findings),
            marked,
            sub_turns: settle_turns(self.sub_turns, "sub_turns", &mut findings),
            sub_marker: marker,
            side_text: self.side_text.unwrap_or_else(|| "ok".to_owned()),
        };
        if findings.is_empty() { Ok(script) } else { Err(findings) }
    }
}

fn empty_marker(path: &str, whose: &str) -> Diagnostic {
    let finding = Diagnostic::error("empty_marker", "the marker is empty").path(path);
    finding.hint(format!("a text that stands in the prompt {whose}"))
}

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
    source::check_delay(raw.delay_ms, &format!("{path}.delay_ms"))?;
    let trouble = raw.error.map(|error| settle_trouble(error, path)).transpose()?;
    let mut blocks = Vec::new();
    for (index, block) in raw.blocks.into_iter().enumerate() {
        blocks.push(settle_block(block, &format!("{path}.blocks[{index}]"))?);
    }
    let (delay_ms, until) = (raw.delay_ms, raw.until);
    Ok(Turn { blocks, delay_ms, until, trouble, usage: raw.usage.unwrap_or_default() })
}

fn settle_trouble(raw: RawTrouble, path: &str) -> Checked<ScriptedError> {
    if !STATUSES.contains(&raw.status) {
        let words: Vec<String> = STATUSES.iter().map(ToString::to_string).collect();
        let message = format!("{} is not an error that a model server answers with", raw.status);
        let finding = Diagnostic::error("bad_status", message).path(format!("{path}.error.status"));
        return Err(Box::new(finding.expected(words.join(", "))));
    }
    let lasts = match (raw.times, raw.until) {
        (None, Some(file)) => Lasts::Until(file),
        (times, None) => Lasts::Times(times.unwrap_or(1)),
        (Some(_), Some(_)) => {
            let message = "an error lasts for a number of times or until a file is there";
            let finding = Diagnostic::error("bad_error", message).path(format!("{path}.error"));
            return Err(Box::new(finding.expected("`times` or `until`, and not both")));
        }
    };
    Ok(ScriptedError { status: raw.status, lasts })
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

#[cfg(test)]
mod tests;
