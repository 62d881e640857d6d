//! Scripts of `package.json`.

use serde_json::Value;
use waypost_guard::{Recipe, Script};

use crate::look::Files;
use crate::look::lines::{Source, source};

/// The named script of the nearest `package.json`, from the folder up to the project's top.
pub(super) fn find(files: &Files, recipe: &Recipe<'_>) -> Script {
    let start = files.absolute(recipe.folder);
    for folder in start.ancestors() {
        match source(folder, &["package.json"]) {
            Source::Text(text) => return script(&text, recipe.name),
            Source::TooLong => return Script::TooLong,
            Source::None if folder == files.root => break,
            Source::None => {}
        }
    }
    Script::Absent
}

fn script(text: &str, name: &str) -> Script {
    // What is not JSON, the package manager refuses too.
    let Ok(package) = serde_json::from_str::<Value>(text) else { return Script::Absent };
    match package.get("scripts").and_then(|scripts| scripts.get(name)) {
        Some(Value::String(line)) => Script::Shell(line.clone()),
        _ => Script::Absent,
    }
}
