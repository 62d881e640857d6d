//! What a server offers and does, without a word of the protocol.

use crate::call::Call;
use serde_json::{Map, Value};

/// Who the server is.
#[derive(Clone, Debug)]
pub struct About {
    pub name: &'static str,
    pub title: &'static str,
    pub version: &'static str,
    /// What a model should know before it uses the tools.
    pub instructions: String,
}

/// A tool that can be called.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// JSON Schemas of objects.
    pub input: Map<String, Value>,
    pub output: Map<String, Value>,
    /// Whether it changes nothing.
    pub is_reading: bool,
    /// Whether calling it twice is the same as calling it once.
    pub is_repeatable: bool,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// An object after the tool's output schema.
    pub data: Map<String, Value>,
    /// What is to be read besides: notices, answers that have come.
    pub remarks: Vec<String>,
}

/// Why a call came to nothing: for the model to read and act on.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFailure {
    /// A sentence, with what leads on.
    pub text: String,
    /// The same as an object: stable code, message, next steps.
    pub data: Map<String, Value>,
}

/// A document that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSpec {
    pub uri: String,
    pub name: String,
    pub title: String,
    pub media_type: &'static str,
    pub size: Option<u64>,
}

/// Documents that can be read by a name in their address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateSpec {
    /// As in `waypost://memory/agents/{name}`.
    pub uri_template: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub media_type: &'static str,
}

/// A document's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceText {
    pub uri: String,
    pub media_type: &'static str,
    pub text: String,
}

/// A text that a person hands to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSpec {
    pub name: &'static str,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

/// What a prompt is filled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: &'static str,
    pub description: &'static str,
    pub is_required: bool,
}

/// Does what clients ask for. Each call has a thread; several may come at once.
pub trait Desk: Send + Sync + 'static {
    fn about(&self) -> About;

    fn tools(&self) -> &[ToolSpec];

    /// Does what a tool does. Its name is one of `tools`.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        call: &Call,
    ) -> Result<ToolResult, ToolFailure>;

    fn resources(&self) -> Result<Vec<ResourceSpec>, ToolFailure>;

    fn templates(&self) -> &[TemplateSpec];

    /// The document at an address; none: there is no such address.
    fn read(&self, uri: &str) -> Result<Option<ResourceText>, ToolFailure>;

    fn prompts(&self) -> &[PromptSpec];

    /// A prompt filled in; none: an argument is missing, and which.
    fn prompt(&self, name: &str, arguments: &Map<String, Value>) -> Result<String, String>;
}
