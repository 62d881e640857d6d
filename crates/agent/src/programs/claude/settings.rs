//! The settings of Claude Code.

use crate::{
    registration::LocalServers,
    settings::{Around, Obstacle},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What an administrator decides for the whole machine.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";

/// Variables that start the program without hooks.
const WITHOUT_HOOKS: [&str; 2] = ["CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE"];

/// Our plugin, in whichever collection it comes.
const PLUGIN: &str = "waypost@";

pub(super) fn files(around: &Around<'_>) -> Vec<PathBuf> {
    vec![
        around.folder("CLAUDE_CONFIG_DIR", ".claude").join("settings.json"),
        around.root.join(".claude/settings.json"),
        around.root.join(".claude/settings.local.json"),
        PathBuf::from(MANAGED),
    ]
}

/// The servers of the scope that the program calls local: of one person, for a repository by the folder of
/// its first work tree.
pub(super) fn local_servers(around: &Around<'_>) -> Option<LocalServers> {
    let folder = (around.variable)("CLAUDE_CONFIG_DIR").filter(|folder| !folder.is_empty());
    let folder = folder.map_or_else(|| around.home.to_owned(), PathBuf::from);
    let project = around.main_root.to_str().filter(|_| folder.is_absolute())?;
    Some(LocalServers::new(folder.join(".claude.json"), &["projects", project]))
}

pub(super) fn obstacles(around: &Around<'_>) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let switch = |settings: &Value| settings["disableAllHooks"].as_bool();
    if let Some((path, true)) = last(around, switch) {
        let name = around.shown(&path);
        found.push(Obstacle {
            text: format!("`disableAllHooks` in {name} turns every hook off"),
            remedy: format!("take `disableAllHooks` out of {name}"),
        });
    }
    let managed = around.json(Path::new(MANAGED));
    if managed["allowManagedHooksOnly"] == Value::Bool(true) {
        found.push(Obstacle {
            text: format!("`allowManagedHooksOnly` in {MANAGED} allows no hooks but those in it"),
            remedy: "ask the administrator to add the hook there".to_owned(),
        });
    }
    for name in WITHOUT_HOOKS.into_iter().filter(|name| around.is_on(name)) {
        found.push(Obstacle {
            text: format!("the environment variable {name} turns every hook off"),
            remedy: format!("unset {name}"),
        });
    }
    found
}

/// The file that enables our plugin, if one does.
pub(super) fn plugin(around: &Around<'_>) -> Option<PathBuf> {
    let switch = |settings: &Value| {
        let plugins = settings["enabledPlugins"].as_object()?;
        plugins.iter().find(|(name, _)| name.starts_with(PLUGIN))?.1.as_bool()
    };
    last(around, switch).filter(|(_, is_enabled)| *is_enabled).map(|(path, _)| path)
}

/// The last file that says something, because that one wins.
fn last<T>(around: &Around<'_>, says: impl Fn(&Value) -> Option<T>) -> Option<(PathBuf, T)> {
    let said = |path: PathBuf| says(&around.json(&path)).map(|value| (path, value));
    files(around).into_iter().rev().find_map(said)
}
