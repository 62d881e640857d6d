//! `[agents.NAME]`: the programs that work on tasks.
//!
//! Which programs are agents is the person's to say: a project's file may change how an agent works
//! that the person or Waypost knows, and neither add one nor name its program.
//!
//! What a table leaves out comes from the agent of the same name that Waypost brings along, if
//! there is one.

use crate::diagnostic::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of an agent that a repository cannot set: they say which program is started, with the
/// person's account.
pub const PROGRAM_KEYS: [&str; 2] = ["adapter", "command"];

/// `[agents.NAME]`: one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    /// How it is spoken with: claude, codex, codex-exec, acp or plain; empty: as the agent of this name.
    /// Not from the project's file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub adapter: String,
    /// The program and its first arguments; empty: as the agent of this name. Not from the project's
    /// file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The model; empty: the program's own choice.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// What it may change without asking: read, edit or unfenced.
    pub access: AgentAccess,
    /// Tools that need no permission, in the program's own notation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// The most turns of one attempt; 0 is no limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub max_turns: u32,
    /// Variables of the environment that it gets beside the usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Which of the person's own settings the program reads: user, project, local.
    pub settings: Vec<String>,
    /// Whether the program uses the tool servers (MCP) of the person and the project.
    pub mcp: bool,
    /// Dollars for a million tokens of input, where the program does not tell its cost; 0 is
    /// unknown.
    #[serde(skip_serializing_if = "is_free")]
    pub input_price: f64,
    /// Dollars for a million tokens of output; see `input_price`.
    #[serde(skip_serializing_if = "is_free")]
    pub output_price: f64,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            adapter: String::new(),
            command: Vec::new(),
            model: String::new(),
            access: AgentAccess::default(),
            allowed_tools: Vec::new(),
            max_turns: 0,
            environment: Vec::new(),
            settings: ["user", "project", "local"].map(str::to_owned).to_vec(),
            mcp: true,
            input_price: 0.0,
            output_price: 0.0,
        }
    }
}

impl AgentConfig {
    /// Findings about tools that the program would read as its own options, which could replace what
    /// Waypost starts it with.
    pub(super) fn check(&self, name: &str) -> Vec<Diagnostic> {
        let numbered = self.allowed_tools.iter().enumerate();
        let wrong = numbered.filter(|(_, tool)| tool.trim_start().starts_with('-'));
        let finding = |(at, tool): (usize, &String)| {
            Diagnostic::error("out_of_range", format!("`{tool}` is an option, and no tool"))
                .path(format!("agents.{name}.allowed_tools[{at}]"))
                .expected("tools in the program's own notation, such as Bash(cargo test:*)")
                .hint("remove it; options of the program belong to `command` in your own configuration")
        };
        wrong.map(finding).collect()
    }
}

/// What an agent may change without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentAccess {
    /// Nothing.
    Read,
    /// Files of its work tree; it asks for all else.
    #[default]
    Edit,
    /// Everything, without asking.
    Unfenced,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_free(value: &f64) -> bool {
    *value == 0.0
}
