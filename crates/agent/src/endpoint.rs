//! How an agent program is told to talk to another model server than its own.

use std::net::SocketAddr;

/// A key that no service knows; the programs want one before they ask anything.
const KEY: &str = "sk-sim-000";

/// The variable that [`codex_config`] makes Codex read its key from.
const CODEX_KEY: &str = "SIM_MODEL_KEY";

/// The environment in which Claude Code talks to `server`, and to nobody else.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_are_pointed_to_the_server() {
        let server: SocketAddr = ([127, 0, 0, 1], 4711).into();
        let claude = claude_environment(server);
        assert_eq!(claude[0], ("ANTHROPIC_BASE_URL", "http://127.0.0.1:4711".to_owned()));
        let config = codex_config(server);
        assert!(config.contains("base_url = \"http://127.0.0.1:4711/v1\""), "{config}");
        let [(variable, _)] = codex_environment().try_into().unwrap();
        assert!(config.contains(&format!("env_key = \"{variable}\"")), "{config}");
    }
}
