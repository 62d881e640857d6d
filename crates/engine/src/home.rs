//! The user's own folders, from the environment.

use crate::environment::Environment;
use std::path::PathBuf;

/// Where the user's configuration and state are.
#[derive(Clone, Debug)]
pub struct Home {
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    pub config: Option<PathBuf>,
    /// `$XDG_STATE_HOME`, or `~/.local/state`.
    pub state: Option<PathBuf>,
}

impl Home {
    pub fn from_environment(environment: &Environment) -> Self {
        let home = environment.path("HOME");
        let below = |rest: &str| home.as_ref().map(|home| home.join(rest));
        Self {
            config: environment.path("XDG_CONFIG_HOME").or_else(|| below(".config")),
            state: environment.path("XDG_STATE_HOME").or_else(|| below(".local/state")),
        }
    }

    pub fn config_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join("waypost/config.toml"))
    }
}
