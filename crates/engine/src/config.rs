//! The configuration in layers: defaults, the user's file, the project's file, the environment.
//!
//! Later layers win. Every value knows where it came from.

use crate::error::EngineError;
use serde::Deserialize as _;
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};
use toml::{Table, Value};
use waypost_model::{config::Config, document::Document as _};
use waypost_store::{file, parse};

/// The largest configuration file that is read.
const FILE_SIZE_MAX: u64 = 1 << 20;

/// The environment variables that configure something start with this. What holds an agent at its
/// gates is not among it: the agent chooses the environment of the commands it runs.
const ENVIRONMENT_PREFIX: &str = "WAYPOST_RUN_";

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

/// One configured value, for showing.
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
        let merged = Table::try_from(Config::default()).expect("the defaults are plain values");
        let mut found = Self { values: Config::default(), merged, origins: BTreeMap::new() };
        for path in [&sources.user_file, &sources.project_file].into_iter().flatten() {
            if let Some(layer) = read_layer(path)? {
                found.overlay(&layer, &Origin::File(path.clone()));
            }
        }
        for (name, text) in &sources.environment {
            found.overlay_variable(name, text)?;
        }
        found.values =
            Config::deserialize(Value::Table(found.merged.clone())).map_err(|error| {
                EngineError::bad_input(format!("the configuration does not fit: {error}"))
            })?;
        if let Some(finding) = found.values.check().first() {
            return Err(EngineError::bad_input(finding.message.clone()));
        }
        Ok(found)
    }

    /// Every value that can be set, in order.
    pub fn settings(&self) -> Vec<Setting> {
        flatten(&self.merged)
            .into_iter()
            .map(|(key, value)| {
                let origin = self.origins.get(&key).cloned().unwrap_or(Origin::Default);
                Setting { key, value, origin }
            })
            .collect()
    }

    fn overlay(&mut self, layer: &Table, origin: &Origin) {
        for (key, value) in flatten(layer) {
            set(&mut self.merged, &key, value);
            self.origins.insert(key, origin.clone());
        }
    }

    fn overlay_variable(&mut self, name: &str, text: &str) -> Result<(), EngineError> {
        if !name.starts_with(ENVIRONMENT_PREFIX) {
            return Ok(());
        }
        let known = flatten(&self.merged);
        let Some((key, old)) = known.into_iter().find(|(key, _)| variable_name(key) == name) else {
            return Err(EngineError::BadInput {
                message: format!("the environment variable {name} configures nothing"),
                hint: Some("`waypost config show` lists what can be set".into()),
            });
        };
        let value = read_variable(&old, text).ok_or_else(|| {
            let expected = old.type_str();
            EngineError::bad_input(format!("{name}={text} is not of type {expected}"))
        })?;
        set(&mut self.merged, &key, value);
        self.origins.insert(key, Origin::Environment(name.to_owned()));
        Ok(())
    }
}

fn read_layer(path: &Path) -> Result<Option<Table>, EngineError> {
    let Some(bytes) = file::read_bounded(path, FILE_SIZE_MAX)? else { return Ok(None) };
    parse::parse::<Config>(&bytes)
        .map_err(|diagnostics| EngineError::invalid(path, &bytes, diagnostics))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.parse().expect("what was just read as TOML is TOML")))
}

/// The environment variable of a key: `run.retry_limit` is `WAYPOST_RUN_RETRY_LIMIT`.
fn variable_name(key: &str) -> String {
    format!("WAYPOST_{}", key.replace('.', "_").to_uppercase())
}

fn read_variable(old: &Value, text: &str) -> Option<Value> {
    Some(match old {
        Value::Integer(_) => Value::Integer(text.trim().parse().ok()?),
        Value::Boolean(_) => Value::Boolean(text.trim().parse().ok()?),
        Value::Array(_) => Value::Array(
            text.split(',').map(|part| Value::String(part.trim().to_owned())).collect(),
        ),
        _ => Value::String(text.to_owned()),
    })
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
