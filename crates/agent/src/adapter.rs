//! The ways in which we talk to agent programs.

use crate::{product::Product, program::recognise};
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

    /// Variables by which a person signs in at the program's service or finds a way to it. They are
    /// secrets in part, and for the program alone.
    pub fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_BASE_URL",
                "ANTHROPIC_CUSTOM_HEADERS",
                "ANTHROPIC_MODEL",
                "AWS_BEARER_TOKEN_BEDROCK",
                "AWS_PROFILE",
                "AWS_REGION",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
                "CLAUDE_CONFIG_DIR",
                "DISABLE_ERROR_REPORTING",
                "DISABLE_TELEMETRY",
            ],
            Self::Codex | Self::CodexExec => {
                &["CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL"]
            }
            Self::Acp => &[
                "GEMINI_API_KEY",
                "GEMINI_CLI_HOME",
                "GEMINI_MODEL",
                "GEMINI_TELEMETRY_ENABLED",
                "GOOGLE_API_KEY",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "GOOGLE_CLOUD_LOCATION",
                "GOOGLE_CLOUD_PROJECT",
                "GOOGLE_GEMINI_BASE_URL",
                "GOOGLE_GENAI_USE_VERTEXAI",
            ],
        }
    }

    /// How the program learns of our hook when we start it.
    pub fn hook_way(self) -> HookWay {
        match self {
            Self::Claude => HookWay::SettingsFile,
            Self::Codex | Self::CodexExec => HookWay::CommandLine,
            Self::Acp => HookWay::OwnSettings,
        }
    }

    /// Whether the id of a new conversation is ours to choose, so that it is known before the
    /// program exists.
    pub fn takes_conversation_id(self) -> bool {
        self == Self::Claude
    }

    /// Whether the program can ask for permission while it works.
    pub fn can_ask(self) -> bool {
        self != Self::CodexExec
    }

    /// Whether the program is told its task only after it has named the conversation.
    pub fn names_conversation_first(self) -> bool {
        matches!(self, Self::Codex | Self::Acp)
    }

    /// The product that a program with this command line is, if it is one that has a hook.
    pub fn product(self, command: &[String]) -> Option<Product> {
        match self {
            Self::Claude => Some(Product::Claude),
            Self::Codex | Self::CodexExec => Some(Product::Codex),
            Self::Acp => Product::from_word(recognise(command.iter().map(String::as_str))?),
        }
    }

    /// Whether the program ends by itself when its input is closed.
    pub fn ends_with_input(self) -> bool {
        matches!(self, Self::Claude | Self::CodexExec)
    }

    /// Whether the program asks for each edit and each command, so that what its access level allows
    /// has to be answered for it. All others are told their access level at the start.
    pub fn asks_for_all(self) -> bool {
        self == Self::Acp
    }

    /// Whether the program itself ends at the limits of turns and money that it is started with.
    /// For all others the engine keeps count.
    pub fn keeps_limits(self) -> bool {
        self == Self::Claude
    }
}

/// How a program learns of our hook when we start it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookWay {
    /// By a settings file that its command line names.
    SettingsFile,
    /// By its command line itself.
    CommandLine,
    /// Only by settings that it finds by itself.
    OwnSettings,
}

/// An agent that needs no configuration.
#[derive(Clone, Copy, Debug)]
pub struct KnownAgent {
    pub name: &'static str,
    pub adapter: Adapter,
    /// The program and its first arguments.
    pub command: &'static [&'static str],
}

/// The way in which our own scripted agent speaks if nothing else is wanted.
pub const SIMULATED: Adapter = Adapter::Claude;

/// The agents that need no configuration.
pub const KNOWN_AGENTS: [KnownAgent; 4] = [
    KnownAgent { name: "claude", adapter: Adapter::Claude, command: &["claude"] },
    KnownAgent { name: "codex", adapter: Adapter::Codex, command: &["codex"] },
    KnownAgent { name: "codex-exec", adapter: Adapter::CodexExec, command: &["codex"] },
    KnownAgent { name: "gemini", adapter: Adapter::Acp, command: &["gemini", "--acp"] },
];

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
