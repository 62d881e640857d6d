//! How an agent program is told to talk to another model server than its own.

/// A key that no service knows; the programs want one before they ask anything.
pub(crate) const KEY: &str = "sk-sim-000";

/// What makes a program talk to another model server, whatever its own settings say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointed {
    /// Arguments that stand before all others.
    pub arguments: Vec<String>,
    pub environment: Vec<(&'static str, String)>,
    /// Variables that say where the program's own settings are; these it keeps.
    pub folders: &'static [&'static str],
}

/// What a person gives a program so that it talks to a scripted model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rehearsal {
    pub environment: Vec<(&'static str, String)>,
    pub config: Option<Config>,
}

/// A file of a program's own settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub place: &'static str,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use crate::programs::BUILT_IN;
    use std::net::SocketAddr;

    #[test]
    fn the_programs_are_pointed_to_the_server() {
        let server: SocketAddr = ([127, 0, 0, 1], 4711).into();
        let rehearsal = |file: &str| BUILT_IN.program(file).unwrap().rehearsal.unwrap()(server);
        let claude = rehearsal("claude").environment;
        assert_eq!(claude[0], ("ANTHROPIC_BASE_URL", "http://127.0.0.1:4711".to_owned()));
        let codex = rehearsal("codex");
        let config = codex.config.unwrap().text;
        assert!(config.contains("base_url = \"http://127.0.0.1:4711/v1\""), "{config}");
        let [(variable, _)] = codex.environment.try_into().unwrap();
        assert!(config.contains(&format!("env_key = \"{variable}\"")), "{config}");
        let gemini = rehearsal("gemini").environment;
        assert_eq!(gemini[0], ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:4711".to_owned()));
    }
}
