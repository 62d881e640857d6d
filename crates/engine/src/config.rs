//! The configuration in layers: defaults, the user's file, the project's file, the environment.
//!
//! Later layers win. Every value knows where it came from. What only the person may say is refused
//! in the project's file.

mod personal;

pub(crate) use personal::{Personal, USUAL_USER_FILE};

use crate::{
    agent::known_names,
    environment::Environment,
    error::{EngineError, Problem},
    home::Home,
};
use serde::Deserialize as _;
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};
use toml::{Table, Value};
use waypost_agent::programs::Programs;
use waypost_model::{
    code::Code,
    config::{Config, REDACTED, SECRET_KEYS, WallLevel, reference},
    diagnostic::Diagnostic,
    document::Document as _,
    next::NextStep,
};
use waypost_store::{file, parse};

/// The largest configuration file that is read.
const FILE_SIZE_MAX: u64 = 1 << 20;

/// The environment variables that configure something start with one of these. What holds an agent at its
/// gates is not among it: the agent chooses the environment of the commands it runs.
const ENVIRONMENT_PREFIXES: [&str; 3] = ["WAYPOST_RUN_", "WAYPOST_NOTIFY_", "WAYPOST_WORKTREE_"];

/// What a copy of the work begins with decides what the tests of a gate see, so that the caller of a gate has no say
/// in it.
const OF_FILES_ONLY: [&str; 3] = ["worktree.setup", "worktree.share", "worktree.keep"];

/// The configuration that holds, and where each value came from.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub values: Config,
    merged: Table,
    origins: BTreeMap<String, Origin>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
    Environment(String),
}

/// One configured value, for showing: of a secret only the variable's name.
#[derive(Clone, Debug)]
pub struct Setting {
    pub key: String,
    pub value: Value,
    pub origin: Origin,
}

/// Where the layers are.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub user_file: Option<PathBuf>,
    pub project_file: Option<PathBuf>,
    pub environment: Vec<(String, String)>,
    /// What may be an agent without a word in any layer.
    pub programs: Programs,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
        }
    }
}

impl Configuration {
    /// Reads every layer; the first that is not valid is an error with its place.
    pub fn load(sources: &Sources) -> Result<Self, EngineError> {
        let merged = defaults();
        let mut found = Self { values: Config::default(), merged, origins: BTreeMap::new() };
        if let Some(path) = &sources.user_file
            && let Some(layer) = read_own_layer(path)?
        {
            found.overlay(flatten(&layer), &Origin::File(path.clone()));
        }
        if let Some(path) = &sources.project_file
            && let Some(layer) = read_project_layer(path, &found.personal(sources))?
        {
            found.overlay(flatten(&layer), &Origin::File(path.clone()));
        }
        for (name, text) in &sources.environment {
            found.overlay_variable(name, text)?;
        }
        found.values =
            Config::deserialize(Value::Table(found.merged.clone())).map_err(|error| {
                Problem::new(Code::ConfigInvalid, "the configuration does not fit").because(error)
            })?;
        if let Some(finding) = found.values.check().first() {
            return Err(Problem::new(Code::ConfigInvalid, finding.message.clone()).into());
        }
        Ok(found)
    }

    /// What a project's file may not say over the layers that were read so far.
    fn personal<'a>(&self, sources: &'a Sources) -> Personal<'a> {
        let own = self.merged.get("agents").and_then(Value::as_table);
        let own = own.into_iter().flat_map(|agents| agents.keys().cloned());
        let known = known_names(&sources.programs).map(str::to_owned).chain(own).collect();
        let level = self.merged.get("wall").and_then(|wall| wall.get("require"));
        let level = level.and_then(Value::as_str).and_then(WallLevel::from_word);
        let level = level.unwrap_or_default();
        Personal { known, user_file: sources.user_file.as_deref(), level }
    }

    /// Every value that can be set, in order.
    pub fn settings(&self) -> Vec<Setting> {
        flatten(&self.merged)
            .into_iter()
            .map(|(key, mut value)| {
                if SECRET_KEYS.contains(&key.as_str()) {
                    hide(&mut value);
                }
                let origin = self.origins.get(&key).cloned().unwrap_or(Origin::Default);
                Setting { key, value, origin }
            })
            .collect()
    }

    fn overlay(&mut self, layer: Vec<(String, Value)>, origin: &Origin) {
        for (key, value) in layer {
            set(&mut self.merged, &key, value);
            self.origins.insert(key, origin.clone());
        }
    }

    fn overlay_variable(&mut self, name: &str, text: &str) -> Result<(), EngineError> {
        if !ENVIRONMENT_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            return Ok(());
        }
        if let Some(key) = OF_FILES_ONLY.into_iter().find(|key| variable_name(key) == name) {
            let message = format!("the environment variable {name} configures nothing");
            return Err(Problem::new(Code::VariableUnknown, message)
                .hint(format!(
                    "gates depend on {key}: say it in waypost.toml or in your own configuration"
                ))
                .into());
        }
        // The default has the right type; a file may have said `5` where `5.0` is meant.
        let known = flatten(&defaults());
        let Some((key, old)) = known.into_iter().find(|(key, _)| variable_name(key) == name) else {
            let message = format!("the environment variable {name} configures nothing");
            return Err(Problem::new(Code::VariableUnknown, message)
                .hint("the configuration lists what can be set")
                .next(NextStep::ShowConfiguration)
                .into());
        };
        let value = match key.as_str() {
            // An address has no secret beside it here.
            "notify.webhooks" => Some(read_addresses(text)),
            _ => read_variable(&old, text),
        };
        let value = value.ok_or_else(|| {
            let expected = old.type_str();
            Problem::new(Code::ConfigInvalid, format!("{name}={text} is not of type {expected}"))
        })?;
        set(&mut self.merged, &key, value);
        self.origins.insert(key, Origin::Environment(name.to_owned()));
        Ok(())
    }
}

/// The person's own file may be a link to where they keep it.
fn read_own_layer(path: &Path) -> Result<Option<Table>, EngineError> {
    match file::follow(path)?.pop() {
        Some(target) => Ok(read_layer_from(path, &target)?.map(|(layer, _)| layer)),
        None => Ok(None),
    }
}

/// What a project's file says, unless it says what only the person may.
fn read_project_layer(path: &Path, personal: &Personal<'_>) -> Result<Option<Table>, EngineError> {
    let Some((layer, bytes)) = read_layer_from(path, path)? else { return Ok(None) };
    let findings = personal.findings(&layer, &bytes);
    match findings.is_empty() {
        true => Ok(Some(layer)),
        false => Err(invalid(path, &bytes, findings)),
    }
}

/// A layer, and the bytes that it was read from.
fn read_layer_from(path: &Path, file: &Path) -> Result<Option<(Table, Vec<u8>)>, EngineError> {
    let bytes = match file::read_bounded(file, FILE_SIZE_MAX) {
        // Which of their files it is about would not be told.
        Err(error) if file != path => {
            let message = format!("{} is a link that leads to no settings", path.display());
            return Err(Problem::new(error.code(), message).because(error).into());
        }
        read => read?,
    };
    let Some(bytes) = bytes else { return Ok(None) };
    parse::parse::<Config>(&bytes).map_err(|findings| invalid(path, &bytes, findings))?;
    let text = String::from_utf8_lossy(&bytes);
    let layer = text.parse().expect("what was just read as TOML is TOML");
    Ok(Some((layer, bytes)))
}

fn invalid(path: &Path, bytes: &[u8], mut findings: Vec<Diagnostic>) -> EngineError {
    findings.iter_mut().for_each(hide_value);
    let text = String::from_utf8_lossy(bytes);
    EngineError::invalid(path, covered(&text).as_bytes(), findings)
}

/// What is wrong with a project's file beside its form, as the person's own file stands now.
pub(crate) fn validate_project_file(bytes: &[u8]) -> Vec<Diagnostic> {
    let home = Home::from_environment(&Environment::of_this_process());
    let sources = Sources { user_file: home.config_file(), ..Sources::default() };
    let layer = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<Table>().ok());
    let own = Configuration::load(&sources);
    let (Some(layer), Ok(own)) = (layer, own) else { return Vec::new() };
    own.personal(&sources).findings(&layer, bytes)
}

fn defaults() -> Table {
    Table::try_from(Config::default()).expect("the defaults are plain values")
}

/// Takes a secret out of what is said of it.
pub(crate) fn hide_value(finding: &mut Diagnostic) {
    if !SECRET_KEYS.iter().any(|key| finding.path.starts_with(key)) {
        return;
    }
    finding.message = without_quoted(&finding.message);
    finding.hint = finding.hint.as_deref().map(without_quoted);
}

fn without_quoted(text: &str) -> String {
    match (text.find('"'), text.rfind('"')) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{REDACTED}{}", &text[..start], &text[end + 1..])
        }
        _ => text.to_owned(),
    }
}

/// A configuration file as it may be shown beside what is wrong with it: what may be an address or a
/// secret is covered letter by letter, so that every place stays where it is.
pub(crate) fn covered(text: &str) -> String {
    const SECRET_WORDS: [&str; 5] = ["webhook", "ntfy", "url", "secret", "token"];
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let small = line.to_ascii_lowercase();
        let is_secret = SECRET_WORDS.iter().any(|word| small.contains(word));
        let value = line.find('=').filter(|_| is_secret).map(|at| at + 1);
        let address = line.find("://").map(|at| at + 3);
        let open = value.or(address).unwrap_or(line.len());
        shown.push_str(&line[..open]);
        shown.extend(line[open..].chars().map(|c| if c.is_whitespace() { c } else { '*' }));
    }
    shown
}

/// The environment variable of a key: `run.retry_limit` is `WAYPOST_RUN_RETRY_LIMIT`.
fn variable_name(key: &str) -> String {
    format!("WAYPOST_{}", key.replace('.', "_").to_uppercase())
}

fn read_variable(old: &Value, text: &str) -> Option<Value> {
    Some(match old {
        Value::Integer(_) => Value::Integer(text.trim().parse().ok()?),
        Value::Float(_) => Value::Float(text.trim().parse().ok()?),
        Value::Boolean(_) => Value::Boolean(text.trim().parse().ok()?),
        Value::Array(_) => Value::Array(
            text.split(',').map(|part| Value::String(part.trim().to_owned())).collect(),
        ),
        _ => Value::String(text.to_owned()),
    })
}

/// Takes out addresses and secrets; the name of a variable is none.
fn hide(value: &mut Value) {
    match value {
        Value::String(text) => *text = reference(text).unwrap_or_default(),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Table(fields) => fields.iter_mut().for_each(|(_, value)| hide(value)),
        _ => {}
    }
}

/// Webhooks from their addresses alone.
fn read_addresses(text: &str) -> Value {
    let addresses = text.split(',').map(str::trim).filter(|address| !address.is_empty());
    let table = |address: &str| Table::from_iter([("url".to_owned(), address.into())]);
    Value::Array(addresses.map(|address| Value::Table(table(address))).collect())
}

/// All leaves with their dotted keys.
fn flatten(table: &Table) -> Vec<(String, Value)> {
    let mut leaves = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => leaves.extend(
                flatten(inner).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)),
            ),
            leaf => leaves.push((key.clone(), leaf.clone())),
        }
    }
    leaves
}

fn set(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((head, rest)) => {
            let entry = table.entry(head).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = entry {
                set(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::covered;

    #[test]
    fn what_is_secret_is_covered_where_it_stands() {
        let text = r#"
[notify]
ntfy_token = "tk_1"
webhooks = [
  { url = "https://é/x" },
  'https://b/y']
on_start = 3 # no
"#;
        let shown = r#"
[notify]
ntfy_token = ******
webhooks = *
  { url = ************* **
  'https://*****
on_start = 3 # no
"#;
        assert_eq!(covered(text), shown);
        assert_eq!(covered(""), "");
    }
}
