//! The ways in which we talk to agent programs.

use std::fmt;

/// A way to start a program, to feed it and to understand it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Adapter {
    /// Claude Code with JSON lines in both directions.
    Claude,
    /// `codex app-server`: JSON-RPC in both directions. It asks, and takes messages at any time.
    Codex,
    /// `codex exec`: one message in, JSON lines out. It cannot ask.
    CodexExec,
    /// Any program that speaks the Agent Client Protocol.
    Acp,
}

impl Adapter {
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::CodexExec, Self::Acp];

    /// The word for it in configurations and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::CodexExec => "codex-exec",
            Self::Acp => "acp",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|adapter| adapter.as_str() == word)
    }

    /// Whether the program itself ends at the limits of turns and money that it is started with.
    /// Of all others somebody else has to keep count.
    pub fn keeps_limits(self) -> bool {
        self == Self::Claude
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
