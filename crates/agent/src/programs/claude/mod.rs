//! Claude Code, with JSON lines in both directions.

mod answer;
mod launch;
mod settings;
mod stream;

use crate::{
    adapter::{Adapter, CallGuard, Capability, Dialect, GivenSettings, HookWay},
    answer::{Answer, Unanswerable},
    endpoint::{KEY, Pointed, Rehearsal},
    hook::{EventKind, refusal_before_tool, rewritten_input},
    launch::{Launch, Order},
    prices::{Models, price},
    product::{Hooked, Product},
    programs::{AgentProgram, HomeFiles, KnownAgent},
    registration::{
        self, Handler, HookProgram, LocalServers, ServerForm, ServerSettings, Sharing, Subscription,
    },
    settings::{Around, Obstacle},
    setup::{Setup, SignIn},
    stream::{Ask, Listener},
    versions::Version,
};
use serde_json::{Map, Value, json};
use std::{net::SocketAddr, path::PathBuf};
use waypost_model::{
    permission::Want,
    tool::{Tool, ToolKind},
};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    file: Some("claude"),
    adapters: &[Adapter::CLAUDE],
    agents: &[KnownAgent { name: "claude", adapter: Adapter::CLAUDE, command: &["claude"] }],
    tools: TOOLS,
    product: Some(Product::CLAUDE),
    models: Some(&MODELS),
    setup: Some(&SETUP),
    more_settings: &[],
    instructions: &[
        ".claude/hooks",
        ".claude/commands",
        ".claude/agents",
        ".claude/skills",
        ".claude/plugins",
        ".claude.json",
        ".mcp.json",
    ],
    plans: Some(".claude/plans"),
    folder: Some(".claude"),
    shell_files: &[
        ".claude/CLAUDE.md",
        ".claude/agents",
        ".claude/commands",
        ".claude/hooks",
        ".claude/plugins",
        ".claude/session-env",
        ".claude/shell-snapshots",
        ".claude/skills",
        ".claude/local",
    ],
    own: HomeFiles {
        folders: &[".claude"],
        unshared: &[".claude/session-env", ".claude/shell-snapshots"],
        // It holds the servers of tools that are started for all projects.
        copied: &[(".claude.json", "{}\n")],
        settings: &[
            ".claude/CLAUDE.md",
            ".claude/keybindings.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
        ],
        settings_folders: &[
            ".claude/agents",
            ".claude/commands",
            ".claude/hooks",
            ".claude/local",
            ".claude/output-styles",
            ".claude/plugins",
            ".claude/rules",
            ".claude/skills",
            ".claude/workflows",
            ".local/share/claude",
        ],
        moved_by: Some(("CLAUDE_CONFIG_DIR", ".claude")),
    },
    shell_by_name: None,
    server_files: &[".mcp.json", ".claude.json"],
    conversation_variable: Some("CLAUDE_CODE_SESSION_ID"),
    project_variable: Some("CLAUDE_PROJECT_DIR"),
    rehearsal: Some(rehearsal),
};

impl Adapter {
    /// Claude Code with JSON lines in both directions.
    pub const CLAUDE: Self = Self::of(&Claude);
}

/// Its tools that write files or run commands.
const TOOLS: &[Tool] = &[
    shell("Bash"),
    shell("Monitor"),
    writing("Write"),
    writing("Edit"),
    writing("MultiEdit"),
    writing("NotebookEdit"),
];

const fn shell(name: &'static str) -> Tool {
    Tool { name, kind: ToolKind::Shell, fields: &["command"], folders: &["cwd"] }
}

const fn writing(name: &'static str) -> Tool {
    let fields = &["file_path", "notebook_path"];
    Tool { name, kind: ToolKind::Writing, fields, folders: &[] }
}

impl Product {
    pub const CLAUDE: Self = Self::of(&Claude);
}

#[derive(Debug)]
struct Claude;

/// What the program is told by the settings file that its command line names, beside the hook: where
/// nothing may be changed, no safety check of the program's own decides that something may be after
/// all.
const GIVEN_SETTINGS: &str = "{\n  \"useAutoModeDuringPlan\": false\n}\n";

/// Newer versions take it, older ones ignore it: a hook that fails to run then blocks the tool
/// instead of letting it through.
const ON_FAILURE: (&str, &str) = ("onFailure", "block");

const SETTINGS_WORDS: &[&str] = &["apiKeyHelper", "\"env\""];

const SETUP: Setup = Setup {
    install: "npm install -g @anthropic-ai/claude-code",
    oldest: Version(2, 1, 150),
    sign_in: Some(SignIn {
        variables: &["ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_", "CLOUD_ML_"],
        files: &[".claude.json", ".claude/.credentials.json", ".claude/settings.json"],
        project: &[
            (".claude/settings.json", SETTINGS_WORDS),
            (".claude/settings.local.json", SETTINGS_WORDS),
        ],
        remedy: "start `claude` once and use `/login`, or set ANTHROPIC_API_KEY",
    }),
};

#[rustfmt::skip]
static MODELS: Models = Models {
    prefix: "claude",
    prices: &[
        ("claude-opus-4-5",    price(5.0, 0.5, 6.25, 25.0)),
        ("claude-opus-4-1",    price(15.0, 1.5, 18.75, 75.0)),
        ("claude-opus-4",      price(15.0, 1.5, 18.75, 75.0)),
        ("claude-3-opus",      price(15.0, 1.5, 18.75, 75.0)),
        ("claude-sonnet-4-5",  price(3.0, 0.3, 3.75, 15.0)),
        ("claude-sonnet-4",    price(3.0, 0.3, 3.75, 15.0)),
        ("claude-3-7-sonnet",  price(3.0, 0.3, 3.75, 15.0)),
        ("claude-3-5-sonnet",  price(3.0, 0.3, 3.75, 15.0)),
        ("claude-haiku-4-5",   price(1.0, 0.1, 1.25, 5.0)),
        ("claude-3-5-haiku",   price(0.8, 0.08, 1.0, 4.0)),
        ("claude-3-haiku",     price(0.25, 0.03, 0.3, 1.25)),
    ],
};

impl Dialect for Claude {
    fn word(&self) -> &'static str {
        "claude"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[
            Capability::TakesConversationId,
            Capability::Asks,
            Capability::EndsWithInput,
            Capability::KeepsLimits,
        ]
    }

    fn hook_way(&self) -> HookWay {
        HookWay::SettingsFile
    }

    fn call_guard(&self) -> CallGuard {
        CallGuard::Hook
    }

    fn variables(&self) -> &'static [&'static str] {
        &[
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
        ]
    }

    fn product(&self, _command: &[String]) -> Option<Product> {
        Some(Product::CLAUDE)
    }

    fn models(&self) -> Option<&'static Models> {
        Some(&MODELS)
    }

    fn launch(&self, order: &Order) -> Launch {
        launch::launch(order)
    }

    fn opening_words(&self, conversation: &str) -> Option<Vec<String>> {
        Some(vec!["--resume".to_owned(), conversation.to_owned()])
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::<stream::ClaudeStream>::default()
    }

    fn ask(&self, line: &Value, raw: &str) -> Option<Ask> {
        match line["type"] == "result" {
            true => stream::deferred(line, raw),
            false => stream::ask(line, raw, None),
        }
    }

    fn message(&self, _session: &str, _number: u32, text: &str) -> Option<String> {
        Some(answer::said(text))
    }

    fn interrupt(&self, _session: &str, _turn: Option<&str>, number: u32) -> Option<String> {
        Some(answer::interrupt(number))
    }

    fn impossible(&self, ask: &Ask, line: &Value) -> Option<&'static str> {
        answer::impossible(ask, line)
    }

    fn answer_line(&self, ask: &Ask, line: &Value, given: &Answer) -> Result<String, Unanswerable> {
        answer::answer(ask, line, given)
    }

    fn want(&self, ask: &Ask, line: &Value) -> Want {
        answer::want(ask, line)
    }

    fn given_settings(&self, hook: &HookProgram<'_>) -> Option<GivenSettings> {
        let text = registration::register_given(Product::CLAUDE, GIVEN_SETTINGS, hook);
        Some(text.map(|text| ("claude-settings.json", text)))
    }

    fn pointed(&self, server: SocketAddr) -> Option<Pointed> {
        Some(Pointed {
            arguments: Vec::new(),
            environment: rehearsal(server).environment,
            folders: &["CLAUDE_CONFIG_DIR"],
        })
    }

    fn shell_call(&self, command: &str) -> Option<(&'static str, String)> {
        Some(("Bash", json!({"command": command, "description": "Run it"}).to_string()))
    }
}

impl Hooked for Claude {
    fn word(&self) -> &'static str {
        "claude"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[
            ("PreToolUse", EventKind::BeforeTool),
            ("PermissionRequest", EventKind::BeforeTool),
            ("PostToolUse", EventKind::AfterTool),
            ("PostToolUseFailure", EventKind::AfterTool),
            ("SessionStart", EventKind::SessionStart),
            ("PreCompact", EventKind::BeforeCompaction),
            ("ConfigChange", EventKind::SettingsChange),
            ("Stop", EventKind::Stop),
            ("SubagentStop", EventKind::SubagentStop),
        ]
    }

    /// Whatever is no other's: Codex has the same names and answers, so taking one for the other
    /// does no harm.
    fn is_sender(&self, _event: &str, _fields: &Map<String, Value>) -> bool {
        true
    }

    fn refusal(&self, event: &str, reason: &str) -> Option<Value> {
        refusal_before_tool(event, reason)
    }

    fn settings_file(&self, sharing: Sharing) -> &'static str {
        match sharing {
            Sharing::Private => ".claude/settings.local.json",
            Sharing::Shared => ".claude/settings.json",
        }
    }

    fn server_settings(&self) -> Option<ServerSettings> {
        Some(ServerSettings { file: ".mcp.json", form: ServerForm::Json })
    }

    fn local_servers(&self, around: &Around<'_>) -> Option<LocalServers> {
        settings::local_servers(around)
    }

    fn subscriptions(&self) -> &'static [Subscription] {
        &[
            ("PreToolUse", None),
            ("PostToolUse", Some("Write|Edit|MultiEdit|NotebookEdit|Bash")),
            ("SessionStart", None),
            ("PreCompact", None),
            ("ConfigChange", None),
            ("Stop", None),
        ]
    }

    /// It asks a person about every file below `.claude`, whatever mode it is in and whatever rules and other hooks
    /// say.
    fn given_subscriptions(&self) -> &'static [Subscription] {
        &[("PermissionRequest", Some("Write|Edit|MultiEdit"))]
    }

    fn permission(&self, event: &str) -> Option<Value> {
        let answer = json!({ "hookEventName": event, "decision": { "behavior": "allow" } });
        (event == "PermissionRequest").then(|| json!({ "hookSpecificOutput": answer }))
    }

    fn shell_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_CODE_SHELL_PREFIX")
    }

    fn takes_arguments(&self) -> bool {
        true
    }

    /// Without a decision, so that its person is still asked; the question then shows our text.
    fn rewritten(&self, event: &str, input: &Map<String, Value>, command: &str) -> Option<Value> {
        let input = rewritten_input(input, command).filter(|_| event == "PreToolUse")?;
        let answer = json!({ "hookEventName": event, "updatedInput": input });
        Some(json!({ "hookSpecificOutput": answer }))
    }

    fn handler(&self, event: &str) -> Handler {
        let last = (event == "PreToolUse").then_some(ON_FAILURE);
        Handler { last, ..Handler::default() }
    }

    fn files(&self, around: &Around<'_>) -> Vec<PathBuf> {
        settings::files(around)
    }

    fn obstacles(&self, around: &Around<'_>) -> Vec<Obstacle> {
        settings::obstacles(around)
    }

    fn plugin(&self, around: &Around<'_>) -> Option<PathBuf> {
        settings::plugin(around)
    }

    fn plugin_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PLUGIN_ROOT")
    }
}

/// The environment in which the program talks to `server`, and to no other service.
fn rehearsal(server: SocketAddr) -> Rehearsal {
    let on = || "1".to_owned();
    Rehearsal {
        environment: vec![
            ("ANTHROPIC_BASE_URL", format!("http://{server}")),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
            ("DISABLE_TELEMETRY", on()),
            ("DISABLE_ERROR_REPORTING", on()),
            ("DISABLE_AUTOUPDATER", on()),
        ],
        config: None,
    }
}
