//! What has changed between two contents of a contract: by fields, not by lines.
//!
//! Order and layout of a YAML file say nothing. Entries of a list that have an id or a name are the same by
//! that, wherever they stand; others by their place.

use super::{
    ContractFile,
    versions::{self, versions},
};
use crate::error::{EngineError, Problem};
use crate::project::Project;
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};
use waypost_model::{
    code::Code,
    document::{Kind, contract::ContractPlace},
};
use waypost_store::parse;

/// Fields by which entries of lists are told apart.
const NAMES: [&str; 6] = ["id", "path", "name", "entity", "component", "topic"];

/// A field that is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractChange {
    /// As in `test_cases[TC-1].category`.
    pub path: String,
    /// What it was, as JSON; none: it was not there.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// What has changed between two versions of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractDiff {
    pub file: ContractFile,
    /// The numbers of the two versions.
    pub from: usize,
    pub to: usize,
    pub changes: Vec<ContractChange>,
}

/// Compares two versions of a contract, by their numbers; without any, the newest one with that before it.
pub fn diff(
    project: &Project,
    kind: Kind,
    place: &ContractPlace,
    (from, to): (Option<usize>, Option<usize>),
) -> Result<ContractDiff, EngineError> {
    let file = versions::file_of(project, kind, place)?;
    let kept = versions(project, kind, place)?;
    let to = to.unwrap_or(kept.len());
    let from = from.unwrap_or_else(|| to.saturating_sub(1).max(1));
    let find = |number: usize| {
        kept.iter().find(|it| it.number == number).ok_or_else(|| {
            let message = format!("{} has no version {number}", place.path(kind));
            let hint = match kept.len() {
                0 => "it was never put".to_owned(),
                count => format!("there are 1 to {count}"),
            };
            Problem::new(Code::VersionUnknown, message).hint(hint)
        })
    };
    let read = |number: usize| -> Result<Value, EngineError> {
        let version = find(number)?;
        value_of(kind, &versions::bytes(version)?, &version.path)
    };
    let (before, after) = (read(from)?, read(to)?);
    Ok(ContractDiff { file, from, to, changes: changes(&before, &after) })
}

/// A document without its form.
fn value_of(kind: Kind, bytes: &[u8], path: &Path) -> Result<Value, EngineError> {
    parse::value(kind, bytes).map_err(|findings| EngineError::invalid(path, bytes, findings))
}

fn changes(before: &Value, after: &Value) -> Vec<ContractChange> {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    flatten("", before, &mut old);
    flatten("", after, &mut new);
    let mut found = Vec::new();
    for (path, value) in &old {
        if new.get(path) != Some(value) {
            let (before, after) = (Some(value.clone()), new.get(path).cloned());
            found.push(ContractChange { path: path.clone(), before, after });
        }
    }
    for (path, value) in new.iter().filter(|(path, _)| !old.contains_key(*path)) {
        let after = Some(value.clone());
        found.push(ContractChange { path: path.clone(), before: None, after });
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(&format!("{path}{dot}{name}"), value, found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let mut used = BTreeMap::new();
            for (at, item) in items.iter().enumerate() {
                let name = NAMES.iter().find_map(|name| item.get(name)?.as_str());
                let mut key = name.map_or_else(|| at.to_string(), str::to_owned);
                let count = used.entry(key.clone()).or_insert(0_usize);
                *count += 1;
                if *count > 1 {
                    key = format!("{key}#{count}");
                }
                flatten(&format!("{path}[{key}]"), item, found);
            }
        }
        value => {
            found.insert(path.to_owned(), value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn entries_of_lists_are_known_by_their_names_and_not_by_their_place() {
        let before = json!({"cases": [{"id": "TC-1", "then": "a"}, {"id": "TC-2", "then": "b"}],
                            "covers": ["x", "y"], "gone": 1});
        let after = json!({"cases": [{"id": "TC-2", "then": "c"}, {"id": "TC-1", "then": "a"}],
                           "covers": ["x"]});
        let told: Vec<String> = changes(&before, &after)
            .into_iter()
            .map(|it| format!("{} {:?} {:?}", it.path, it.before, it.after))
            .collect();
        assert_eq!(
            told,
            [
                r#"cases[TC-2].then Some("\"b\"") Some("\"c\"")"#,
                r#"covers[1] Some("\"y\"") None"#,
                r#"gone Some("1") None"#,
            ]
        );
        assert!(changes(&after, &after).is_empty());
    }
}
