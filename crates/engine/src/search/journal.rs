//! Entries of the journal in words: every machine's, by the texts in their bodies.
//!
//! Machines are many and will be more; what a person or an agent wrote stands as text in an event,
//! whatever its field is called. Fields that hold no words (hashes, times, numbers) say nothing.

use serde_json::Value;
use waypost_store::{journal::Recorded, search::SearchEntry};

/// A body that is longer is a plan of thousands of tasks; its file is what one searches.
const PARSED_MAX: usize = 1 << 20;

/// How much text is taken from one event.
const TEXT_MAX: usize = 3_000;

/// Events that say nothing that one would look for.
const SILENT: [(&str, &[&str]); 3] = [
    ("verdicts", &["allowed", "started", "compacted"]),
    ("accounts", &[]),
    ("inbox", &["reminded", "settled", "reworded"]),
];

/// Events in which something was decided.
const DECISIONS: [&str; 12] = [
    "answered",
    "agent_answered",
    "adopted",
    "contract_set",
    "gate_passed",
    "gate_declined",
    "gate_reset",
    "reviewed",
    "checkpoint_escalated",
    "checkpoint_reopened",
    "suspended",
    "replanned",
];

/// Fields that name what an event is about, for its title.
const NAMES: [&str; 8] = ["id", "name", "title", "feature", "gate", "phase", "topic", "subject"];

/// Fields that hold paths.
const FILES: [&str; 5] = ["files", "file", "path", "paths", "refs"];

/// Fields without words.
const WORDLESS: [&str; 10] = [
    "hash",
    "commit",
    "content",
    "sha",
    "conversation",
    "session",
    "signature",
    "at",
    "timestamp",
    "stamp",
];

/// What an entry of the journal is found as; none: not at all.
pub(super) fn told(entry: &Recorded) -> Option<SearchEntry> {
    let stream = entry.stream.kind();
    let silent = SILENT.iter().find(|(silent, _)| *silent == stream);
    if silent.is_some_and(|(_, kinds)| kinds.is_empty() || kinds.contains(&entry.kind.as_str())) {
        return None;
    }
    let body: Value = match entry.body.len() <= PARSED_MAX {
        true => serde_json::from_str(&entry.body).ok()?,
        false => Value::Null,
    };
    let event = body.get(&entry.kind).unwrap_or(&Value::Null);
    let mut found = Words::default();
    found.collect("", event);
    let names: Vec<String> = NAMES.iter().filter_map(|name| plain(event.get(*name)?)).collect();
    let title = format!("{} {}", entry.kind.replace('_', " "), names.join(" "));
    Some(SearchEntry {
        place: entry.seq,
        kind: kind_of(entry, event).to_owned(),
        title: title.trim_end().to_owned(),
        body: found.text,
        at: entry.at,
        files: found.files,
        reference: entry.stream.to_string(),
    })
}

/// A note says itself what it is.
fn kind_of(entry: &Recorded, event: &Value) -> &'static str {
    let note = event.get("note").unwrap_or(event);
    match note.get("kind").and_then(Value::as_str) {
        Some("decision") => "decision",
        Some("lesson") => "lesson",
        Some("exploration") => "note",
        _ if DECISIONS.contains(&entry.kind.as_str()) => "decision",
        _ => "transition",
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The texts of an event, and the files that it names.
#[derive(Default)]
struct Words {
    text: String,
    files: Vec<String>,
}

impl Words {
    fn collect(&mut self, field: &str, value: &Value) {
        match value {
            Value::String(text) => self.take(field, text),
            Value::Array(values) => values.iter().for_each(|value| self.collect(field, value)),
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.collect(name, value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn take(&mut self, field: &str, text: &str) {
        if FILES.contains(&field) && !text.contains('\n') {
            self.files.push(text.trim_start_matches("./").to_owned());
        }
        let is_full = self.text.len() >= TEXT_MAX;
        if !is_full && !text.is_empty() && !WORDLESS.contains(&field) {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(text);
        }
    }
}
