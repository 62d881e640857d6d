//! The settings of Gemini CLI, and the folders in which it reads a project's.

use super::HOOK;
use crate::product::Product;
use crate::registration;
use crate::settings::{Around, Obstacle};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// `--skip-trust` does not help: with it the program starts, and reads no hook of the project.
const TRUST: &str = "open `gemini` in this folder once and trust it";

/// The folder of the person's own settings.
fn own(around: &Around<'_>) -> PathBuf {
    around.folder("GEMINI_CLI_HOME", "").join(".gemini")
}

fn system(around: &Around<'_>, variable: &str, name: &str) -> PathBuf {
    let named = around.set(variable).map(PathBuf::from);
    named.unwrap_or_else(|| Path::new("/etc/gemini-cli").join(name))
}

pub(super) fn files(around: &Around<'_>) -> Vec<PathBuf> {
    vec![
        system(around, "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "system-defaults.json"),
        own(around).join("settings.json"),
        around.root.join(".gemini/settings.json"),
        system(around, "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "settings.json"),
    ]
}

pub(super) fn obstacles(around: &Around<'_>) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let read: Vec<(PathBuf, Value)> = files(around)
        .into_iter()
        .map(|path| {
            let settings = around.json(&path);
            (path, settings)
        })
        .collect();
    let switch = |(path, settings): &(PathBuf, Value)| {
        Some((path.clone(), settings["hooksConfig"]["enabled"].as_bool()?))
    };
    if let Some((path, false)) = read.iter().rev().find_map(switch) {
        let name = around.shown(&path);
        found.push(Obstacle {
            text: format!("`hooksConfig.enabled` in {name} turns every hook off"),
            remedy: format!("set it to true in {name}"),
        });
    }
    for (path, settings) in &read {
        let disabled = settings["hooksConfig"]["disabled"].as_array();
        if disabled.into_iter().flatten().any(|name| name == HOOK) {
            let name = around.shown(path);
            found.push(Obstacle {
                text: format!("`hooksConfig.disabled` in {name} names our hook"),
                remedy: format!("take `{HOOK}` out of that list"),
            });
        }
    }
    // What a project says about its own trust does not count.
    let project = around.root.join(".gemini/settings.json");
    let others = read.iter().rev().filter(|(path, _)| *path != project);
    let mut decided =
        others.filter_map(|(_, it)| it["security"]["folderTrust"]["enabled"].as_bool());
    let has_hook = registration::registered_program(
        Product::GEMINI,
        &(around.read)(&project).unwrap_or_default(),
    );
    if has_hook.is_some() && !is_trusted(around, decided.next().unwrap_or(true)) {
        found.push(Obstacle {
            text: ".gemini/settings.json is not read, because this folder is not trusted"
                .to_owned(),
            remedy: TRUST.to_owned(),
        });
    }
    found
}

/// Whether the program takes the project's settings.
fn is_trusted(around: &Around<'_>, is_asked_for: bool) -> bool {
    let says = |name: &str, word: &str| around.set(name).as_deref() == Some(word);
    if says("GEMINI_RESTRICTED_MODE", "true") || says("GEMINI_CLI_TRUST_WORKSPACE", "false") {
        return false;
    }
    if says("GEMINI_CLI_TRUST_WORKSPACE", "true") || !is_asked_for {
        return true;
    }
    let list = around.set("GEMINI_CLI_TRUSTED_FOLDERS_PATH").map(PathBuf::from);
    let list = around.json(&list.unwrap_or_else(|| own(around).join("trustedFolders.json")));
    let rules = list.as_object().into_iter().flatten().filter_map(|(path, level)| {
        let path = Path::new(path);
        let (folder, is_trusted) = match level.as_str()? {
            "TRUST_FOLDER" => (path, true),
            "TRUST_PARENT" => (path.parent().unwrap_or(path), true),
            "DO_NOT_TRUST" => (path, false),
            _ => return None,
        };
        around.root.starts_with(folder).then(|| (folder.components().count(), is_trusted))
    });
    // The rule for the nearest folder holds.
    rules.max_by_key(|(depth, _)| *depth).is_some_and(|(_, is_trusted)| is_trusted)
}
