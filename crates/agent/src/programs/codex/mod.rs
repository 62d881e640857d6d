//! Codex, in two ways: `codex app-server`, which asks and takes messages at any time, and `codex
//! exec`, which takes one message and cannot ask.

mod answer;
mod exec;
mod launch;
mod server;
mod settings;

use crate::{
    adapter::{Adapter, CallGuard, Capability, Dialect, HookWay},
    answer::{Answer, Unanswerable},
    endpoint::{Config, KEY, Pointed, Rehearsal},
    hook::{EventKind, refusal_before_tool, rewritten_input},
    launch::{FirstStart, Launch, Order},
    prices::{Models, price},
    product::{Hooked, Product},
    programs::{AgentProgram, HomeFiles, KnownAgent},
    registration::{Handler, ServerForm, ServerSettings, Sharing, Subscription},
    settings::{Around, NamedVariables, Obstacle},
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
    file: Some("codex"),
    adapters: &[Adapter::CODEX, Adapter::CODEX_EXEC],
    agents: &[
        KnownAgent { name: "codex", adapter: Adapter::CODEX, command: &["codex"] },
        KnownAgent { name: "codex-exec", adapter: Adapter::CODEX_EXEC, command: &["codex"] },
    ],
    tools: TOOLS,
    product: Some(Product::CODEX),
    models: Some(&MODELS),
    setup: Some(&SETUP),
    more_settings: &[".codex/config.toml"],
    instructions: &[".codex"],
    folder: Some(".codex"),
    own: HomeFiles {
        folders: &[".codex"],
        unshared: &[".codex/shell_snapshots"],
        copied: &[],
        settings: &[
            ".codex/AGENTS.md",
            ".codex/AGENTS.override.md",
            ".codex/config.toml",
            ".codex/hooks.json",
            ".codex/requirements.toml",
        ],
        settings_folders: &[
            ".codex/agents",
            ".codex/plugins",
            ".codex/prompts",
            ".codex/rules",
            ".codex/skills",
        ],
        moved_by: Some(("CODEX_HOME", ".codex")),
    },
    conversation_variable: Some("CODEX_THREAD_ID"),
    rehearsal: Some(rehearsal),
    ..AgentProgram::UNKNOWN
};

impl Adapter {
    /// `codex app-server`: JSON-RPC in both directions. It asks, and takes messages at any time.
    pub const CODEX: Self = Self::of(&Server);
    /// `codex exec`: one message in, JSON lines out. It cannot ask.
    pub const CODEX_EXEC: Self = Self::of(&Exec);
}

/// Its tools that write files or run commands.
const TOOLS: &[Tool] = &[
    shell("exec_command"),
    shell("shell"),
    shell("shell_command"),
    shell("local_shell"),
    Tool { name: "write_stdin", kind: ToolKind::Typing, fields: &["chars", "input"], folders: &[] },
    Tool {
        name: "apply_patch",
        kind: ToolKind::Patch,
        fields: &["input", "patch", "command"],
        folders: &[],
    },
];

const fn shell(name: &'static str) -> Tool {
    let folders = &["workdir", "cwd"];
    Tool { name, kind: ToolKind::Shell, fields: &["command", "cmd"], folders }
}

impl Product {
    pub const CODEX: Self = Self::of(&Codex);
}

#[derive(Debug)]
struct Server;

#[derive(Debug)]
struct Exec;

/// What both have in common.
#[derive(Debug)]
struct Codex;

/// The variable that [`rehearsal`] makes Codex read its key from.
const KEY_VARIABLE: &str = "SIM_MODEL_KEY";

/// A model of Codex's list whose tools are offered one by one in each request.
const REHEARSED_MODEL: &str = "gpt-5.5";

const VARIABLES: &[&str] = &["CODEX_API_KEY", "CODEX_HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL"];

const FIRST_START: FirstStart = FirstStart {
    program: "codex",
    arguments: &["app-server"],
    home_variable: "CODEX_HOME",
    below_home: ".codex",
    sign: "state_",
};

const SETUP: Setup = Setup {
    install: "npm install -g @openai/codex",
    oldest: Version(0, 155, 1),
    sign_in: Some(SignIn {
        variables: &["OPENAI_", "CODEX_", "AZURE_"],
        files: &[".codex/auth.json", ".codex/config.toml", "/etc/codex"],
        project: &[(".codex/config.toml", &["env_key", "model_provider"])],
        remedy: "`codex login`, or set OPENAI_API_KEY",
    }),
};

#[rustfmt::skip]
static MODELS: Models = Models {
    prefix: "gpt",
    prices: &[
        ("gpt-5-pro",          price(15.0, 15.0, 15.0, 120.0)),
        ("gpt-5.2",            price(1.75, 0.175, 1.75, 14.0)),
        ("gpt-5.1",            price(1.25, 0.125, 1.25, 10.0)),
        ("gpt-5.1-codex",      price(1.25, 0.125, 1.25, 10.0)),
        ("gpt-5.1-codex-max",  price(1.25, 0.125, 1.25, 10.0)),
        ("gpt-5.1-codex-mini", price(0.25, 0.025, 0.25, 2.0)),
        ("gpt-5",              price(1.25, 0.125, 1.25, 10.0)),
        ("gpt-5-codex",        price(1.25, 0.125, 1.25, 10.0)),
        ("gpt-5-mini",         price(0.25, 0.025, 0.25, 2.0)),
        ("gpt-5-nano",         price(0.05, 0.005, 0.05, 0.4)),
        ("gpt-4.1",            price(2.0, 0.5, 2.0, 8.0)),
        ("gpt-4.1-mini",       price(0.4, 0.1, 0.4, 1.6)),
        ("gpt-4o",             price(2.5, 1.25, 2.5, 10.0)),
        ("o3",                 price(2.0, 0.5, 2.0, 8.0)),
        ("o4-mini",            price(1.1, 0.275, 1.1, 4.4)),
    ],
};

impl Dialect for Server {
    fn word(&self) -> &'static str {
        "codex"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::Asks, Capability::NamesConversationFirst, Capability::OwnSandbox]
    }

    fn hook_way(&self) -> HookWay {
        HookWay::CommandLine
    }

    fn call_guard(&self) -> CallGuard {
        CallGuard::Hook
    }

    /// What the service itself does, and what only talks with a command that was allowed, is not put to
    /// the hook.
    fn is_guarded(&self, tool: &str) -> bool {
        matches!(tool, server::COMMAND | server::CHANGE) || tool.starts_with(server::SERVERS_TOOL)
    }

    fn variables(&self) -> &'static [&'static str] {
        VARIABLES
    }

    fn product(&self, _command: &[String]) -> Option<Product> {
        Some(Product::CODEX)
    }

    fn models(&self) -> Option<&'static Models> {
        Some(&MODELS)
    }

    fn launch(&self, order: &Order) -> Launch {
        launch::server(order)
    }

    fn opening_words(&self, conversation: &str) -> Option<Vec<String>> {
        Some(opened(conversation))
    }

    fn first_start(&self) -> Option<FirstStart> {
        Some(FIRST_START)
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::<server::CodexStream>::default()
    }

    fn ask(&self, line: &Value, raw: &str) -> Option<Ask> {
        server::ask(line, raw, None)
    }

    fn message(&self, session: &str, number: u32, text: &str) -> Option<String> {
        Some(answer::message(session, number, text))
    }

    /// The program wants the id of the turn.
    fn interrupt(&self, session: &str, turn: Option<&str>, number: u32) -> Option<String> {
        Some(answer::interrupt(session, turn?, number))
    }

    fn answer_line(&self, ask: &Ask, line: &Value, given: &Answer) -> Result<String, Unanswerable> {
        answer::answer(ask, line, given)
    }

    fn want(&self, _ask: &Ask, line: &Value) -> Want {
        answer::want(line)
    }

    fn named_variables(&self, around: &Around<'_>) -> NamedVariables {
        settings::named_variables(around)
    }

    fn pointed(&self, server: SocketAddr) -> Option<Pointed> {
        Some(pointed(server))
    }

    fn shell_call(&self, command: &str) -> Option<(&'static str, String)> {
        Some(shell_call(command))
    }
}

impl Dialect for Exec {
    fn word(&self) -> &'static str {
        "codex-exec"
    }

    fn capabilities(&self) -> &'static [Capability] {
        &[Capability::EndsWithInput, Capability::OwnSandbox]
    }

    fn hook_way(&self) -> HookWay {
        HookWay::CommandLine
    }

    fn variables(&self) -> &'static [&'static str] {
        VARIABLES
    }

    fn product(&self, _command: &[String]) -> Option<Product> {
        Some(Product::CODEX)
    }

    fn models(&self) -> Option<&'static Models> {
        Some(&MODELS)
    }

    fn launch(&self, order: &Order) -> Launch {
        launch::exec(order)
    }

    fn opening_words(&self, conversation: &str) -> Option<Vec<String>> {
        Some(opened(conversation))
    }

    fn first_start(&self) -> Option<FirstStart> {
        Some(FIRST_START)
    }

    fn listener(&self) -> Box<dyn Listener> {
        Box::<exec::CodexExecStream>::default()
    }

    fn named_variables(&self, around: &Around<'_>) -> NamedVariables {
        settings::named_variables(around)
    }

    fn pointed(&self, server: SocketAddr) -> Option<Pointed> {
        Some(pointed(server))
    }

    fn shell_call(&self, command: &str) -> Option<(&'static str, String)> {
        Some(shell_call(command))
    }
}

impl Hooked for Codex {
    fn word(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn trust(&self) -> Option<&'static str> {
        Some(
            "Codex skips new hooks in silence until they are trusted: open `codex` in this \
             folder once and confirm them, or give `codex exec` the option \
             `--dangerously-bypass-hook-trust`",
        )
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[
            ("PreToolUse", EventKind::BeforeTool),
            ("PermissionRequest", EventKind::BeforeTool),
            ("PostToolUse", EventKind::AfterTool),
            ("SessionStart", EventKind::SessionStart),
            ("PreCompact", EventKind::BeforeCompaction),
            ("Stop", EventKind::Stop),
            ("SubagentStop", EventKind::SubagentStop),
        ]
    }

    fn is_sender(&self, _event: &str, fields: &Map<String, Value>) -> bool {
        fields.contains_key("turn_id")
    }

    fn refusal(&self, event: &str, reason: &str) -> Option<Value> {
        refusal_before_tool(event, reason)
    }

    fn settings_file(&self, _sharing: Sharing) -> &'static str {
        ".codex/hooks.json"
    }

    fn server_settings(&self) -> Option<ServerSettings> {
        Some(ServerSettings { file: ".codex/config.toml", form: ServerForm::Toml })
    }

    fn subscriptions(&self) -> &'static [Subscription] {
        &[
            ("PreToolUse", None),
            ("PostToolUse", Some("Bash|apply_patch|Write|Edit")),
            ("SessionStart", None),
            ("PreCompact", None),
            ("Stop", None),
        ]
    }

    /// Without the word `allow` it runs what the model wrote, and says nothing.
    fn rewritten(&self, event: &str, input: &Map<String, Value>, command: &str) -> Option<Value> {
        let input = rewritten_input(input, command).filter(|_| event == "PreToolUse")?;
        let answer = json!({
            "hookEventName": event,
            "permissionDecision": "allow",
            "updatedInput": input,
        });
        Some(json!({ "hookSpecificOutput": answer }))
    }

    fn handler(&self, _event: &str) -> Handler {
        Handler::default()
    }

    fn files(&self, around: &Around<'_>) -> Vec<PathBuf> {
        settings::files(around)
    }

    fn obstacles(&self, around: &Around<'_>) -> Vec<Obstacle> {
        settings::obstacles(around)
    }

    fn trust_arguments(&self, around: &Around<'_>) -> Vec<String> {
        settings::unchanged_trust(around)
    }
}

fn opened(conversation: &str) -> Vec<String> {
    vec!["resume".to_owned(), conversation.to_owned()]
}

fn shell_call(command: &str) -> (&'static str, String) {
    ("exec_command", json!({"cmd": command}).to_string())
}

fn pointed(server: SocketAddr) -> Pointed {
    let settings = [
        format!("model=\"{REHEARSED_MODEL}\""),
        "model_provider=\"sim\"".to_owned(),
        "model_providers.sim.name=\"sim\"".to_owned(),
        format!("model_providers.sim.base_url=\"http://{server}/v1\""),
        "model_providers.sim.wire_api=\"responses\"".to_owned(),
        format!("model_providers.sim.env_key=\"{KEY_VARIABLE}\""),
    ];
    Pointed {
        arguments: settings.into_iter().flat_map(|it| ["-c".to_owned(), it]).collect(),
        environment: rehearsal(server).environment,
        folders: &["CODEX_HOME"],
    }
}

/// The `config.toml` with which Codex talks to `server`, and the environment that goes with it.
fn rehearsal(server: SocketAddr) -> Rehearsal {
    let text = format!(
        "model_provider = \"sim\"\n\
         \n\
         [model_providers.sim]\n\
         name = \"sim\"\n\
         base_url = \"http://{server}/v1\"\n\
         wire_api = \"responses\"\n\
         env_key = \"{KEY_VARIABLE}\"\n"
    );
    Rehearsal {
        environment: vec![(KEY_VARIABLE, KEY.to_owned())],
        config: Some(Config { place: "$CODEX_HOME/config.toml", text }),
    }
}
