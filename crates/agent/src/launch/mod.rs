//! How agent programs are started: from one plain order to a command line, an environment and the
//! first lines of input. Nothing is started here.
//!
//! A prompt is never an argument: other users of the machine can read those, and a text that
//! begins with a dash would be an option.

use crate::adapter::Adapter;

/// What a program is to do, and within what bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The program and arguments that choose what of it runs: `claude`, `gemini --acp`.
    pub program: Vec<String>,
    /// The first message. Empty where a call that was put off is to go on: Claude Code then goes
    /// on by itself, and would take a message for another turn.
    pub task: String,
    pub conversation: Conversation,
    pub model: Option<String>,
    /// Kept by the program only where [`Adapter::keeps_limits`].
    pub turns_max: Option<u32>,
    /// For this process alone, not for earlier ones of the conversation. See `turns_max`.
    pub budget_cents: Option<u64>,
    /// The work tree. The process has to be started in it as well.
    pub folder: String,
    /// Folders beside the work tree that may be written.
    pub more_folders: Vec<String>,
    pub access: Access,
    /// Tools that need no permission, in the program's own notation; for Claude Code only.
    pub allowed_tools: Vec<String>,
    pub prompts: Prompts,
    /// Which of the person's own settings count, in the program's own words; for Claude Code only.
    pub setting_sources: Option<String>,
    /// Whether the program starts the tool servers (MCP) of its own settings; for Claude Code only.
    pub has_mcp: bool,
    /// A settings file outside the project, with the hook in it: for Claude Code.
    pub settings: Option<String>,
    /// The words of the hook's program: for Codex, which takes no settings file.
    pub hook: Vec<String>,
    /// The JSON schema of its last words; for Claude Code only.
    pub schema: Option<String>,
}

/// Which conversation a process works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversation {
    /// A new one. Claude Code gives it this id, a UUID that was never used before; other programs
    /// choose one themselves and say it.
    New { id: String },
    /// One that was begun earlier, by the id that the program knows it by.
    Resume { id: String },
}

/// What a program may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Edits in its folders without asking; for all else it asks.
    Edit,
    /// Everything, without asking: the person has the program fenced in by other means.
    Unfenced,
}

/// Who answers when the program wants a permission or asks a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompts {
    /// We are asked in the stream.
    Asked,
    /// No one is there: what would need an answer is refused.
    Refused,
}

/// How to start a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub program: Vec<String>,
    /// Variables to set.
    pub environment: Vec<(&'static str, String)>,
    /// Variables that must not be inherited: they tell a program that it runs inside another one,
    /// or switch hooks off.
    pub without: Vec<&'static str>,
    /// The first lines of input, without the break at the end of each. Where the input is closed
    /// behind them, they are plain text that may have breaks of its own.
    pub stdin: Vec<String>,
    pub opening: Opening,
}

/// What is to be done with the input after the first lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The task is in the first lines; the input stays open for messages and answers, and is
    /// closed when the work is done.
    Said,
    /// The task is in the first lines, and the program begins only when the input is closed.
    Closed,
    /// The task is sent as a message once the program has said what the conversation's id is.
    AfterSession,
}

/// How a program makes its home folder ready: by being started without work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstStart {
    /// The name of the program.
    pub program: &'static str,
    pub arguments: &'static [&'static str],
    /// The variable that names the home folder, and where it is otherwise.
    pub home_variable: &'static str,
    pub below_home: &'static str,
    /// How the name of a file begins that is there afterwards.
    pub sign: &'static str,
}

/// The words by which a person opens a conversation at a terminal; none where the program cannot.
pub fn interactive(
    adapter: Adapter,
    program: &[String],
    conversation: &str,
) -> Option<Vec<String>> {
    let words = adapter.opening_words(conversation)?;
    Some(program.iter().cloned().chain(words).collect())
}

#[cfg(test)]
mod tests;
