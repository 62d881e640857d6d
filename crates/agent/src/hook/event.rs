//! One event as all programs mean it.

use crate::{product::Product, programs::BUILT_IN};
use serde_json::{Map, Value};

/// Variables in which programs tell a hook what they take for the project.
pub fn project_variables() -> impl Iterator<Item = &'static str> {
    BUILT_IN.all().filter_map(|program| program.project_variable)
}

/// The variables in which programs are told what wraps their shell calls.
pub(crate) fn shell_variables() -> impl Iterator<Item = &'static str> {
    BUILT_IN.all().filter_map(|program| program.product?.shell_variable())
}

/// What an event is, whatever a program calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    BeforeTool,
    AfterTool,
    SessionStart,
    BeforeCompaction,
    /// The program's settings have changed; it can be kept from taking them over.
    SettingsChange,
    Stop,
    SubagentStop,
}

/// Something that an agent program tells its hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub product: Product,
    /// The event as the program names it; answers have to repeat it.
    pub name: String,
    pub moment: Moment,
    /// The conversation.
    pub session: Option<String>,
    /// The folder that the program works in.
    pub folder: Option<String>,
    /// Set while a subagent acts.
    pub subagent: Option<String>,
}

/// When the event comes, and what matters about it then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A tool is about to be used; it can be refused.
    BeforeTool(ToolCall),
    /// A tool was used, with success or without.
    AfterTool(ToolCall),
    /// A conversation begins or goes on: `startup`, `resume`, `compact`, `clear` and others.
    SessionStart { source: String },
    /// The conversation is about to be compacted: `manual` or `auto`.
    BeforeCompaction { trigger: String },
    /// Settings have changed on the disk, of the named kind, and are about to count.
    SettingsChange { source: String },
    /// The agent is about to end its turn; `is_held` if a hook has kept it from that before.
    Stop { is_held: Option<bool> },
    /// A subagent is about to end. `kind` is empty where a compaction ends instead of an agent.
    SubagentStop { is_held: Option<bool>, kind: String },
    /// Nothing that we have an answer for.
    Other,
}

/// The use of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    pub id: Option<String>,
    pub name: String,
    /// The tool's input, all values as text. A list of words is one text, each word quoted for
    /// the shell; what is neither text nor such a list is JSON.
    pub fields: Vec<(String, String)>,
    /// The input as it came, where it has a command for a shell in it.
    pub input: Map<String, Value>,
}
