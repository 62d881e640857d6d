//! The user's own folders, from the environment.

use std::{env, path::PathBuf};

/// Where the user's configuration and state are.
#[derive(Clone, Debug)]
pub struct Home {
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    pub config: Option<PathBuf>,
    /// `$XDG_STATE_HOME`, or `~/.local/state`.
    pub state: Option<PathBuf>,
}

impl Home {
    pub fn from_environment() -> Self {
        let home = absolute("HOME");
        let below = |rest: &str| home.as_ref().map(|home| home.join(rest));
        Self {
            config: absolute("XDG_CONFIG_HOME").or_else(|| below(".config")),
            state: absolute("XDG_STATE_HOME").or_else(|| below(".local/state")),
        }
    }

    pub fn config_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|folder| folder.join("waypost/config.toml"))
    }
}

/// A relative path in such a variable means nothing and is ignored.
fn absolute(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
