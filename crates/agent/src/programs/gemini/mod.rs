//! Gemini CLI, which speaks the Agent Client Protocol.

mod settings;

use crate::{
    adapter::Adapter,
    endpoint::{KEY, Rehearsal},
    hook::EventKind,
    prices::{Models, price},
    product::{Hooked, Product},
    programs::{AgentProgram, HomeFiles, KnownAgent},
    registration::{Handler, ServerForm, ServerSettings, Sharing, Subscription},
    settings::{Around, Obstacle},
    setup::Setup,
    versions::Version,
};
use serde_json::{Map, Value, json};
use std::{net::SocketAddr, path::PathBuf};
use waypost_model::tool::{Tool, ToolKind};

pub(super) static PROGRAM: AgentProgram = AgentProgram {
    file: Some("gemini"),
    agents: &[KnownAgent { name: "gemini", adapter: Adapter::ACP, command: &["gemini", "--acp"] }],
    tools: TOOLS,
    product: Some(Product::GEMINI),
    models: Some(&MODELS),
    setup: Some(&SETUP),
    instructions: &[".gemini"],
    folder: Some(".gemini"),
    own: HomeFiles {
        folders: &[".gemini"],
        unshared: &[],
        copied: &[],
        settings: &[
            ".gemini/.env",
            ".gemini/GEMINI.md",
            ".gemini/settings.json",
            ".gemini/trustedFolders.json",
        ],
        settings_folders: &[
            ".gemini/agents",
            ".gemini/commands",
            ".gemini/extensions",
            ".gemini/hooks",
            ".gemini/policies",
            ".gemini/skills",
            ".gemini/tmp/bin",
        ],
        moved_by: Some(("GEMINI_CLI_HOME", "")),
    },
    // By ACP it asks no hook, so its calls cannot be rewritten.
    shell_by_name: Some("bash"),
    project_variable: Some("GEMINI_PROJECT_DIR"),
    rehearsal: Some(rehearsal),
    ..AgentProgram::UNKNOWN
};

/// Its tools that write files or run commands; lists of what is allowed may have earlier names.
const TOOLS: &[Tool] = &[
    shell("run_shell_command"),
    shell("ShellTool"),
    writing("write_file"),
    writing("replace"),
    writing("edit"),
];

const fn shell(name: &'static str) -> Tool {
    let folders = &["dir_path", "directory"];
    Tool { name, kind: ToolKind::Shell, fields: &["command"], folders }
}

const fn writing(name: &'static str) -> Tool {
    let fields = &["file_path", "absolute_path", "path"];
    Tool { name, kind: ToolKind::Writing, fields, folders: &[] }
}

impl Product {
    pub const GEMINI: Self = Self::of(&Gemini);
}

#[derive(Debug)]
struct Gemini;

/// The name under which our hook is listed.
const HOOK: &str = "waypost";

/// A model of its list.
const REHEARSED_MODEL: &str = "gemini-2.5-pro";

/// It looks for credentials in more places than can be listed.
const SETUP: Setup = Setup {
    install: "npm install -g @google/gemini-cli",
    oldest: Version(0, 55, 1),
    sign_in: None,
};

#[rustfmt::skip]
static MODELS: Models = Models {
    prefix: "gemini",
    prices: &[
        ("gemini-3-pro",          price(4.0, 0.4, 4.0, 18.0)),
        ("gemini-2.5-pro",        price(2.5, 0.625, 2.5, 15.0)),
        ("gemini-2.5-flash",      price(0.3, 0.075, 0.3, 2.5)),
        ("gemini-2.5-flash-lite", price(0.1, 0.025, 0.1, 0.4)),
    ],
};

impl Hooked for Gemini {
    fn word(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn events(&self) -> &'static [(&'static str, EventKind)] {
        &[
            ("BeforeTool", EventKind::BeforeTool),
            ("AfterTool", EventKind::AfterTool),
            ("SessionStart", EventKind::SessionStart),
            ("PreCompress", EventKind::BeforeCompaction),
            ("AfterAgent", EventKind::Stop),
        ]
    }

    fn is_sender(&self, event: &str, fields: &Map<String, Value>) -> bool {
        event.starts_with("Before")
            || event.starts_with("After")
            || event == "PreCompress"
            || fields.contains_key("timestamp")
    }

    fn refusal(&self, event: &str, reason: &str) -> Option<Value> {
        let answer = || json!({ "decision": self.block_word(), "reason": reason });
        (event == "BeforeTool").then(answer)
    }

    fn block_word(&self) -> &'static str {
        "deny"
    }

    fn settings_file(&self, _sharing: Sharing) -> &'static str {
        ".gemini/settings.json"
    }

    fn server_settings(&self) -> Option<ServerSettings> {
        Some(ServerSettings { file: ".gemini/settings.json", form: ServerForm::Json })
    }

    fn subscriptions(&self) -> &'static [Subscription] {
        &[
            ("BeforeTool", None),
            ("AfterTool", Some("write_file|replace|run_shell_command")),
            ("SessionStart", None),
            ("PreCompress", None),
            ("AfterAgent", None),
        ]
    }

    /// Its own input keeps whatever is not named here.
    fn rewritten(&self, event: &str, _input: &Map<String, Value>, command: &str) -> Option<Value> {
        let answer = || {
            json!({ "hookSpecificOutput": {
                "hookEventName": event,
                "tool_input": { "command": command },
            }})
        };
        (event == "BeforeTool").then(answer)
    }

    /// The timeout is in milliseconds.
    fn handler(&self, _event: &str) -> Handler {
        let usual = Handler::default();
        Handler { name: Some(HOOK), timeout: usual.timeout * 1_000, ..usual }
    }

    fn files(&self, around: &Around<'_>) -> Vec<PathBuf> {
        settings::files(around)
    }

    fn obstacles(&self, around: &Around<'_>) -> Vec<Obstacle> {
        settings::obstacles(around)
    }
}

/// The environment in which the program talks to `server`. The name of the model keeps it from asking
/// another model first which one to use.
fn rehearsal(server: SocketAddr) -> Rehearsal {
    Rehearsal {
        environment: vec![
            ("GOOGLE_GEMINI_BASE_URL", format!("http://{server}")),
            ("GEMINI_API_KEY", KEY.to_owned()),
            ("GEMINI_MODEL", REHEARSED_MODEL.to_owned()),
            ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
        ],
        config: None,
    }
}
