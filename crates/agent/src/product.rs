//! The agent programs whose hooks are answered.

use std::fmt;

/// An agent program that asks a hook before it acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    Claude,
    Codex,
    Gemini,
}

impl Product {
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The word for it in commands and arguments.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|product| product.as_str() == word)
    }

    /// Its name as people say it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// What a person still has to do before a hook in a settings file is heard.
    pub fn trust(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some(
                "Codex skips new hooks in silence until they are trusted: open `codex` in this \
                 folder once and confirm them, or give `codex exec` the option \
                 `--dangerously-bypass-hook-trust`",
            ),
            Self::Claude | Self::Gemini => None,
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
