//! Whether a tool call ends up behind the wall, and by which way.
//!
//! The guide lets pass what it cannot tell only where it does. A wall is to be had where
//! `waypost-shell` stands beside this program and a real try has found a level; the agent program
//! then either wraps all its shell calls itself, or has this one rewritten.

use std::path::PathBuf;
use waypost_agent::{
    hook::{Product, ToolCall, quoted},
    programs::BUILT_IN,
};
use waypost_model::{
    layout::variable,
    tool::{Tool, ToolKind},
};
use waypost_wall::Level;

/// How a shell call gets behind the wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wall {
    /// The agent program wraps it by itself.
    Wrapped,
    /// The call has to be rewritten, so that this program runs it.
    Rewritten(PathBuf),
}

impl Wall {
    /// The wall that this call gets; none where there is none, or where it is no shell call.
    pub fn around(product: Product, call: &ToolCall) -> Option<Self> {
        shell_tool(call).filter(|_| !call.input.is_empty())?;
        let shell = crate::level::shell_with_a_wall()?;
        let prefix = product.shell_variable().and_then(std::env::var_os);
        match prefix {
            Some(prefix) if prefix == shell.as_os_str() => Some(Self::Wrapped),
            // Its permissions are for the words that it was given: rewritten, they would not fit. An agent
            // that Waypost starts is asked for none, so its calls are judged as without a wall.
            _ if product.shell_variable().is_some() && is_sent() => None,
            _ => Some(Self::Rewritten(shell)),
        }
    }

    /// The command to run in the place of the one in a call; none where it stays as it is.
    pub fn rewrite(&self, call: &ToolCall) -> Option<String> {
        let Self::Rewritten(shell) = self else { return None };
        let fields = shell_tool(call)?.fields;
        let find = |field: &&str| call.fields.iter().find(|(name, _)| name == field);
        let text = fields.iter().find_map(find)?.1.as_str();
        Some(quoted(&[shell.to_str()?, text]))
    }
}

/// What is known of the tool of a call, if that runs a command in a shell.
fn shell_tool(call: &ToolCall) -> Option<Tool> {
    BUILT_IN.tool(&call.name).filter(|tool| tool.kind == ToolKind::Shell)
}

/// Why a shell call cannot be run at all: the program is gone that the agent program runs all of them by.
pub fn lost_shell(product: Product, call: &ToolCall) -> Option<String> {
    let name = product.shell_variable().filter(|_| shell_tool(call).is_some())?;
    let path = PathBuf::from(std::env::var_os(name)?);
    (path.file_name()? == crate::shell::SHELL && !path.exists()).then(|| {
        format!(
            "{} is gone, and every command here is run by it: put it back where it was, or a person runs \
             `waypost init` in this folder, or `waypost init --remove`",
            path.display()
        )
    })
}

/// Whether the agent is behind a wall as a whole. Then its calls get one of their own also where no workflow
/// holds them: they must not read what it signs in with.
pub fn is_whole() -> bool {
    std::env::var(variable::WALL).is_ok_and(|level| level == Level::A.as_str())
}

/// Whether Waypost has started the agent.
fn is_sent() -> bool {
    [variable::ATTEMPT, variable::JOB].into_iter().any(|name| std::env::var_os(name).is_some())
}
