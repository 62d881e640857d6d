//! How an agent program is told to talk to another model server than its own.

use crate::adapter::Adapter;
use serde_json::json;
use std::net::SocketAddr;

/// A key that no service knows; the programs want one before they ask anything.
const KEY: &str = "sk-sim-000";

/// The variable that [`codex_config`] makes Codex read its key from.
const CODEX_KEY: &str = "SIM_MODEL_KEY";

/// A model of Codex's list whose tools are offered one by one in each request.
const CODEX_MODEL: &str = "gpt-5.5";

/// A model of Gemini CLI's list.
const GEMINI_MODEL: &str = "gemini-2.5-pro";

/// The environment in which Claude Code talks to `server`, and to no other service.
pub fn claude_environment(server: SocketAddr) -> Vec<(&'static str, String)> {
    let on = || "1".to_owned();
    vec![
        ("ANTHROPIC_BASE_URL", format!("http://{server}")),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("DISABLE_TELEMETRY", on()),
        ("DISABLE_ERROR_REPORTING", on()),
        ("DISABLE_AUTOUPDATER", on()),
    ]
}

/// The environment that goes with [`codex_config`].
pub fn codex_environment() -> Vec<(&'static str, String)> {
    vec![(CODEX_KEY, KEY.to_owned())]
}

/// The `config.toml` with which Codex talks to `server`.
pub fn codex_config(server: SocketAddr) -> String {
    format!(
        "model_provider = \"sim\"\n\
         \n\
         [model_providers.sim]\n\
         name = \"sim\"\n\
         base_url = \"http://{server}/v1\"\n\
         wire_api = \"responses\"\n\
         env_key = \"{CODEX_KEY}\"\n"
    )
}

/// The environment in which Gemini CLI talks to `server`. The name of the model keeps it from asking
/// another model first which one to use.
pub fn gemini_environment(server: SocketAddr) -> Vec<(&'static str, String)> {
    vec![
        ("GOOGLE_GEMINI_BASE_URL", format!("http://{server}")),
        ("GEMINI_API_KEY", KEY.to_owned()),
        ("GEMINI_MODEL", GEMINI_MODEL.to_owned()),
        ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
    ]
}

/// What makes a program talk to another model server, whatever its own settings say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointed {
    /// Arguments that stand before all others.
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// Variables that say where the program's own settings are; these it keeps.
    pub folders: &'static [&'static str],
}

/// How a program is pointed to `server`; none where that is not known.
pub fn pointed(adapter: Adapter, server: SocketAddr) -> Option<Pointed> {
    let owned = |pairs: Vec<(&str, String)>| {
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    match adapter {
        Adapter::Claude => Some(Pointed {
            arguments: Vec::new(),
            environment: owned(claude_environment(server)),
            folders: &["CLAUDE_CONFIG_DIR"],
        }),
        Adapter::Codex | Adapter::CodexExec => {
            let settings = [
                format!("model=\"{CODEX_MODEL}\""),
                "model_provider=\"sim\"".to_owned(),
                "model_providers.sim.name=\"sim\"".to_owned(),
                format!("model_providers.sim.base_url=\"http://{server}/v1\""),
                "model_providers.sim.wire_api=\"responses\"".to_owned(),
                format!("model_providers.sim.env_key=\"{CODEX_KEY}\""),
            ];
            Some(Pointed {
                arguments: settings.into_iter().flat_map(|it| ["-c".to_owned(), it]).collect(),
                environment: owned(codex_environment()),
                folders: &["CODEX_HOME"],
            })
        }
        Adapter::Acp => None,
    }
}

/// The tool by which a model runs a shell command, and its input as JSON.
pub fn shell_call(adapter: Adapter, command: &str) -> Option<(&'static str, String)> {
    match adapter {
        Adapter::Claude => {
            Some(("Bash", json!({"command": command, "description": "Run it"}).to_string()))
        }
        Adapter::Codex | Adapter::CodexExec => {
            Some(("exec_command", json!({"cmd": command}).to_string()))
        }
        Adapter::Acp => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_pointed_to_the_server() {
        let server: SocketAddr = ([127, 0, 0, 1], 4711).into();
        let claude = claude_environment(server);
        assert_eq!(claude[0], ("ANTHROPIC_BASE_URL", "http://127.0.0.1:4711".to_owned()));
        let config = codex_config(server);
        assert!(config.contains("base_url = \"http://127.0.0.1:4711/v1\""), "{config}");
        let [(variable, _)] = codex_environment().try_into().unwrap();
        assert!(config.contains(&format!("env_key = \"{variable}\"")), "{config}");
        let gemini = gemini_environment(server);
        assert_eq!(gemini[0], ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:4711".to_owned()));
    }
}
