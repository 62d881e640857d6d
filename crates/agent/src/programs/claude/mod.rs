//! Claude Code, with JSON lines in both directions.

mod answer;
mod launch;
mod settings;
mod stream;

use crate::{
    adapter::{Adapter, Capability, Dialect, GivenSettings, HookWay},
    answer::{Answer, Unanswerable},
    endpoint::{KEY, Pointed, Rehearsal},
    hook::{EventKind, refusal_before_tool},
    launch::{Launch, Order},
    prices::{Models, price},
    product::{Hooked, Product},
    programs::{AgentProgram, KnownAgent},
    registration::{self, Handler, HookProgram, Sharing, Subscription},
    settings::{Around, Obstacle},
    setup::{Setup, SignIn},
    stream::{Ask, Listener},
    versions::Version,
};
use serde_json::{Map, Value, json};
use std::{net::SocketAddr, path::PathBuf};
use waypost_model::permission::Want;

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    file: Some("claude"),
    adapters: &[Adapter::CLAUDE],
    agents: &[KnownAgent { name: "claude", adapter: Adapter::CLAUDE, command: &["claude"] }],
    product: Some(Product::CLAUDE),
    models: Some(&MODELS),
    setup: Some(&SETUP),
    more_settings: &[],
    folder: Some(".claude"),
    conversation_variable: Some("CLAUDE_CODE_SESSION_ID"),
    project_variable: Some("CLAUDE_PROJECT_DIR"),
    rehearsal: Some(rehearsal),
};

impl Adapter {
    /// Claude Code with JSON lines in both directions.
    pub const CLAUDE: Self = Self::of(&Claude);
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

    fn answer_line(&self, ask: &Ask, line: &Value, given: &Answer) -> Result<String, Unanswerable> {
        answer::answer(ask, line, given)
    }

    fn want(&self, ask: &Ask, line: &Value) -> Want {
        answer::want(ask, line)
    }

    fn given_settings(&self, hook: &HookProgram<'_>) -> Option<GivenSettings> {
        let text = registration::register(Product::CLAUDE, Some(GIVEN_SETTINGS), hook);
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

    fn subscriptions(&self) -> &'static [Subscription] {
        &[
            ("PreToolUse", None),
            ("PostToolUse", Some("Write|Edit|MultiEdit|NotebookEdit|Bash")),
            ("SessionStart", None),
            ("PreCompact", None),
            ("Stop", None),
        ]
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
