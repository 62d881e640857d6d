//! The settings of Codex: whether hooks are on, what a person has trusted, and which variables of
//! the environment they name.

use crate::settings::{Around, NamedVariables, Obstacle};
use crate::{product::Product, registration};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// What has to be done to make Codex trust something; it is a person's decision.
const TRUST: &str = "open `codex` in this folder once, and trust the folder and its hooks";

fn home(around: &Around<'_>) -> PathBuf {
    around.folder("CODEX_HOME", ".codex")
}

pub(super) fn files(around: &Around<'_>) -> Vec<PathBuf> {
    let home = home(around);
    let project = around.root.join(".codex");
    vec![
        home.join("config.toml"),
        home.join("hooks.json"),
        project.join("config.toml"),
        project.join("hooks.json"),
    ]
}

pub(super) fn obstacles(around: &Around<'_>) -> Vec<Obstacle> {
    let own = home(around).join("config.toml");
    let config = table(around, &own);
    let mut found = Vec::new();
    for path in [&own, &around.root.join(".codex/config.toml")] {
        let features = table(around, path).remove("features");
        let is_off = |name: &str| {
            let value = features.as_ref().and_then(|it| it.get(name)).and_then(Value::as_bool);
            value == Some(false)
        };
        if is_off("hooks") || is_off("codex_hooks") {
            let name = around.shown(path);
            found.push(Obstacle {
                text: format!("`features.hooks = false` in {name} turns every hook off"),
                remedy: format!("take it out of {name}"),
            });
        }
    }
    found.extend(untrusted(around, &config));
    found
}

/// Codex reads a project's hooks only in folders that a person trusts, and runs of these only the
/// hooks that a person trusts. It says nothing about the others.
fn untrusted(around: &Around<'_>, config: &Table) -> Option<Obstacle> {
    let path = around.root.join(".codex/hooks.json");
    let text = (around.read)(&path)?;
    registration::registered_program(Product::CODEX, &text)?;
    let obstacle = |text: &str| Some(Obstacle { text: text.to_owned(), remedy: TRUST.to_owned() });
    let trusts = |root: &Path| {
        let projects = config.get("projects").and_then(|it| it.get(root.to_str()?));
        projects?.get("trust_level")?.as_str().map(|level| level == "trusted")
    };
    if !trusts(around.root).or_else(|| trusts(around.main_root)).unwrap_or(false) {
        return obstacle(".codex/hooks.json is not read, because this folder is not trusted");
    }
    // Which list and which place in it: as the program counts them.
    let start = format!("{}:pre_tool_use:", path.display());
    let states = config.get("hooks").and_then(|hooks| hooks.get("state")?.as_table());
    let mut ours = states.into_iter().flatten().filter(|(key, _)| key.starts_with(&start));
    let is_trusted = |state: &Value| state.get("trusted_hash").is_some();
    let is_off = |state: &Value| state.get("enabled").and_then(Value::as_bool) == Some(false);
    match ours.find(|(_, state)| is_trusted(state)) {
        None => obstacle("the hook in .codex/hooks.json is skipped, because it is not trusted"),
        Some((_, state)) if is_off(state) => {
            obstacle("the hook in .codex/hooks.json is switched off in Codex")
        }
        Some(_) => None,
    }
}

/// Arguments with which Codex leaves its trust in a folder as it is. Without them it trusts every folder
/// in which it is started by us, and says so in the person's configuration.
pub(super) fn unchanged_trust(around: &Around<'_>) -> Vec<String> {
    let config = table(around, &home(around).join("config.toml"));
    let is_decided = |root: &Path| {
        let project = config.get("projects").and_then(|it| it.get(root.to_str()?));
        project.is_some_and(|project| project.get("trust_level").is_some())
    };
    if is_decided(around.root) || is_decided(around.main_root) {
        return Vec::new();
    }
    let root = Value::String(around.root.to_string_lossy().into_owned());
    vec!["-c".to_owned(), format!("projects={{{root}={{trust_level=\"untrusted\"}}}}")]
}

fn table(around: &Around<'_>, path: &Path) -> Table {
    (around.read)(path).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The variables that the configuration of Codex names.
pub(super) fn named_variables(around: &Around<'_>) -> NamedVariables {
    let mut found = NamedVariables::default();
    for path in files(around).iter().filter(|path| path.ends_with("config.toml")) {
        let config = table(around, path);
        let part = |name: &str| config.get(name).and_then(Value::as_table);
        let provider = config.get("model_provider").and_then(Value::as_str);
        for (name, each) in part("model_providers").into_iter().flatten() {
            let key = each.get("env_key").and_then(Value::as_str);
            if provider == Some(name) {
                found.key = key.map(str::to_owned);
            }
            found.all.extend(key.map(str::to_owned));
            found.all.extend(texts(each.get("env_http_headers")));
        }
        for (_, each) in part("mcp_servers").into_iter().flatten() {
            for name in ["bearer_token_env_var", "env_vars", "env_http_headers"] {
                found.all.extend(texts(each.get(name)));
            }
        }
    }
    found.all.sort();
    found.all.dedup();
    found
}

/// The texts in a value: itself, the items of a list, or the values of a table.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => items.iter().flat_map(|it| texts(Some(it))).collect(),
        Some(Value::Table(fields)) => match fields.get("name") {
            // `env_vars` knows a long form: what the variable is called, and where it is from.
            Some(Value::String(name)) if fields.contains_key("source") => vec![name.clone()],
            _ => fields.values().flat_map(|it| texts(Some(it))).collect(),
        },
        _ => Vec::new(),
    }
}
