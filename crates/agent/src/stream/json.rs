//! Reading a line of JSON as tolerantly as it can be done.

use super::lines::Line;
use crate::hook::without_halves;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The object that a line holds. A line that was cut is read as far as it goes: the id of a tool
/// call stands before the megabytes of its result, and must not be lost with them.
pub(super) fn object(line: &Line<'_>) -> Option<Value> {
    if line.is_cut() {
        return parse(&complete(line.kept)?);
    }
    parse(line.kept)
}

pub(crate) fn parse(bytes: &[u8]) -> Option<Value> {
    let value = serde_json::from_slice(bytes).ok().or_else(|| {
        let text = String::from_utf8_lossy(bytes);
        serde_json::from_slice(&without_halves(text.as_bytes())).ok()
    });
    value.filter(Value::is_object)
}

/// JSON that lost its end, up to the last complete value, with everything closed.
fn complete(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = scan(bytes).0?;
    let mut whole = bytes[..end].to_vec();
    let mut open = scan(&whole).1;
    while let Some(closer) = open.pop() {
        whole.push(closer);
    }
    Some(whole)
}

/// Where a text can be cut last, and the brackets that are open at its end.
fn scan(bytes: &[u8]) -> (Option<usize>, Vec<u8>) {
    let (mut place, mut open) = (None, Vec::new());
    let (mut is_text, mut is_escaped) = (false, false);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => {
                open.push(if byte == b'{' { b'}' } else { b']' });
                place = Some(at + 1);
            }
            b'}' | b']' => {
                open.pop();
                place = Some(at + 1);
            }
            b',' => place = Some(at),
            _ => {}
        }
    }
    (place, open)
}

/// The text at `key`, unless it is empty.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value[key].as_str().filter(|text| !text.is_empty())
}

pub(crate) fn owned(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

/// Fields whose value says most about the use of a tool, the best first.
const GIST_FIELDS: &[&str] = &[
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "path",
    "plan",
    "url",
    "query",
    "pattern",
    "prompt",
    "question",
    "description",
];

/// The input of a tool in one line of at most `length_max` characters.
pub(crate) fn gist(input: &Value, length_max: usize) -> String {
    fn telling(fields: &Map<String, Value>) -> Option<&str> {
        let mut values = GIST_FIELDS.iter().filter_map(|key| fields.get(*key)?.as_str());
        values.find(|text| !text.is_empty())
    }
    let text: Cow<'_, str> = match input {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => text.as_str().into(),
        Value::Object(fields) if fields.is_empty() => Cow::Borrowed(""),
        Value::Object(fields) => {
            telling(fields).map_or_else(|| input.to_string().into(), Cow::Borrowed)
        }
        other => other.to_string().into(),
    };
    // Commands may be as long as files; no more of them is looked at than is shown.
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > length_max.saturating_mul(4) {
            break;
        }
    }
    shortened(&line, length_max)
}

pub(crate) fn shortened(text: &str, length_max: usize) -> String {
    match text.char_indices().nth(length_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(length_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_without_its_end_keeps_what_was_complete() {
        let table = [
            (r#"{"a":1,"b":{"c":"x","d":"yyy"#, r#"{"a":1,"b":{"c":"x"}}"#),
            (r#"{"a":[{"id":"t"},{"id":"#, r#"{"a":[{"id":"t"},{}]}"#),
            (r#"{"a":"}],{\"","b":12"#, r#"{"a":"}],{\""}"#),
            (r#"{"a":{}"#, r#"{"a":{}}"#),
            (r#"{"a"#, "{}"),
        ];
        for (text, want) in table {
            let whole = complete(text.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(whole).unwrap(), want, "{text}");
        }
        assert_eq!(complete(b"\"abc"), None);
    }

    #[test]
    fn half_a_surrogate_and_bad_bytes_do_not_hide_a_line() {
        let line = |kept| object(&Line { kept, bytes: kept.len(), start: 0 });
        assert_eq!(line(br#"{"a":"\ud83d"}"#), Some(json!({"a": "\u{fffd}"})));
        assert_eq!(line(b"{\"a\":\"\xff\"}"), Some(json!({"a": "\u{fffd}"})));
        assert_eq!(line(b"[1]"), None);
        assert_eq!(line(b"plain"), None);
    }

    #[test]
    fn the_gist_of_an_input_is_one_line() {
        let table = [
            (json!({"description": "x", "command": "a\n  b"}), "a b"),
            (json!({"file_path": "/a", "content": "long"}), "/a"),
            (json!({"n": 1}), r#"{"n":1}"#),
            (json!({}), ""),
            (json!("*** Begin Patch\n+1"), "*** Begin Patch +1"),
            (json!("123456789012345678901234567890"), "1234567890123456789…"),
            (Value::Null, ""),
        ];
        for (input, want) in table {
            assert_eq!(gist(&input, 20), want, "{input}");
        }
    }
}
