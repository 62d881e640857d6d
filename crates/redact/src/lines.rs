//! A line of JSON from which values were taken stays JSON.
//!
//! Nearly always a mark in place of a value inside of a text changes nothing about that. Not so where
//! the value is a number that stands for itself, where it begins within an escape, or where what
//! looks like it reaches over the end of a text. Then the line is taken apart, each of its texts is
//! cleaned, and it is written again.

use crate::{MARK, Searcher};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Whether a line is JSON.
pub(crate) fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// What is left of a line: `clean`, or the same in another way if the line was JSON and that is not.
pub(crate) fn repaired(line: &[u8], searcher: &Searcher, clean: Vec<u8>) -> Vec<u8> {
    if is_json(&clean) {
        return clean;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(line) else { return clean };
    clean_value(&mut value, searcher);
    let text = value.to_string();
    match has_value(&text, searcher) {
        // A value that looks like the joints of the line itself; then nothing of it is kept.
        true => Value::String(MARK.to_owned()).to_string().into_bytes(),
        false => text.into_bytes(),
    }
}

fn clean_value(value: &mut Value, searcher: &Searcher) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            if has_value(&number.to_string(), searcher) {
                *value = Value::String(MARK.to_owned());
            }
        }
        Value::String(text) => clean_text(text, searcher),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_value(item, searcher)),
        Value::Object(members) => {
            for (mut name, mut member) in std::mem::take(members) {
                clean_text(&mut name, searcher);
                clean_value(&mut member, searcher);
                members.insert(name, member);
            }
        }
    }
}

fn has_value(text: &str, searcher: &Searcher) -> bool {
    let mut found = Vec::new();
    searcher.find(text.as_bytes(), &mut found);
    !found.is_empty()
}

fn clean_text(text: &mut String, searcher: &Searcher) {
    let mut found = Vec::new();
    searcher.find(text.as_bytes(), &mut found);
    for range in found.into_iter().rev() {
        let start = text.floor_char_boundary(range.start);
        let end = text.ceil_char_boundary(range.end);
        text.replace_range(start..end, MARK);
    }
}
