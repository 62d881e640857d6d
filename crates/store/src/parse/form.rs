//! All that is wrong with the form of a document, by its schema, once it is known that something is.
//!
//! The reader ends an object with the first field that it cannot do without or cannot make a value of, and everything
//! around it with that. The author of the document wants to hear of all the rest at once. What the reader has told is
//! not told again; what a type alone can say of a value is left to it.

use super::failure::{BOOL, Failure, Fault, Sink, TEXT};
use super::text::Span;
use super::tree::{Entry, Node, Path, Value};
use serde::de::Error as _;
use serde_json::Value as Schema;
use waypost_model::document::code;
use waypost_model::document::{RequestId, SessionTaskId, SubtaskId};
use waypost_model::time::Stamp;

/// Records what does not fit a schema.
pub(super) fn complete(root: &Node<'_>, schema: &Schema, sink: &Sink<'_>) {
    let form = Form { definitions: &schema["$defs"], sink };
    form.look(root, None, (schema, &Path::Root));
}

struct Form<'a> {
    definitions: &'a Schema,
    sink: &'a Sink<'a>,
}

impl<'a> Form<'a> {
    fn look(&self, node: &Node<'_>, key: Option<Span>, (schema, path): (&'a Schema, &Path<'_>)) {
        // Whether something may be left out in this way is the reader's to know.
        if matches!(node.value, Value::Null) || self.sink.is_full() {
            return;
        }
        let record = |fault: Fault| self.sink.record(fault, node.anchor(key), path);
        if let Some(name) = schema["$ref"].as_str().and_then(|it| it.strip_prefix("#/$defs/")) {
            if let Some(failure) = malformed(name, node) {
                failure.0.into_iter().for_each(|fault| record(*fault));
                return;
            }
            return self.look(node, key, (&self.definitions[name], path));
        }
        if let Some(branches) = schema["anyOf"].as_array() {
            let mut branches = branches.iter().filter(|it| it["type"] != "null");
            // Of several that may be meant, none is the one.
            if let (Some(only), None) = (branches.next(), branches.next()) {
                self.look(node, key, (only, path));
            }
            return;
        }
        if let Some(words) = words(schema) {
            match &node.value {
                Value::Text(text) if words.contains(&text.as_ref()) => {}
                Value::Text(text) => record(Fault::unknown_value(text, &words)),
                other => {
                    let expected = format!("one of {}", words.join(", "));
                    record(Fault::wrong_type(other, &expected));
                }
            }
            return;
        }
        match (kind_of(schema), &node.value) {
            (Some("object"), Value::Map(entries)) => {
                self.object(node.anchor(key), entries, (schema, path));
            }
            (Some("array"), Value::List(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.look(item, None, (&schema["items"], &Path::Item(path, at)));
                }
            }
            (Some(kind), value) => {
                if let Some(expected) = unlike(kind, value) {
                    record(Fault::wrong_type(value, expected));
                }
            }
            (None, _) => {}
        }
    }

    fn object(&self, anchor: Span, entries: &[Entry<'_>], (schema, path): (&'a Schema, &Path<'_>)) {
        let fields = schema["properties"].as_object();
        let known: Vec<&str> =
            fields.into_iter().flat_map(|fields| fields.keys()).map(String::as_str).collect();
        let other = &schema["additionalProperties"];
        for Entry { key, key_span, node } in entries {
            let path = Path::Key(path, key);
            match fields.and_then(|fields| fields.get(key.as_ref())) {
                Some(field) => self.look(node, Some(*key_span), (field, &path)),
                None if *other == false => {
                    self.sink.record(Fault::unknown_field(key, &known), *key_span, &path);
                }
                None => self.look(node, Some(*key_span), (other, &path)),
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for field in required.filter_map(Schema::as_str) {
            if entries.iter().all(|entry| entry.key != field) {
                let message = format!("the field `{field}` is missing");
                let fault = Fault::new(code::MISSING_FIELD, message);
                self.sink.record(fault, anchor, &Path::Key(path, field));
            }
        }
    }
}

/// What is wrong with a text of a form that has a name of its own.
fn malformed(name: &str, node: &Node<'_>) -> Option<Failure> {
    let Value::Text(text) = &node.value else { return None };
    match name {
        "RequestId" => text.parse::<RequestId>().err().map(Failure::custom),
        "SessionTaskId" => text.parse::<SessionTaskId>().err().map(Failure::custom),
        "SubtaskId" => text.parse::<SubtaskId>().err().map(Failure::custom),
        "Stamp" => text.parse::<Stamp>().err().map(Failure::custom),
        _ => None,
    }
}

/// The words that are allowed, where only words are.
fn words(schema: &Schema) -> Option<Vec<&str>> {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Schema::as_str).collect();
    }
    schema["oneOf"].as_array()?.iter().map(|it| it["const"].as_str()).collect()
}

/// The one type that a schema asks for, whether it may be left out or not.
fn kind_of(schema: &Schema) -> Option<&str> {
    match &schema["type"] {
        Schema::String(kind) => Some(kind),
        Schema::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Schema::as_str).filter(|kind| *kind != "null");
            kinds.next().filter(|_| kinds.next().is_none())
        }
        _ => None,
    }
}

/// What was expected in place of a value of another type.
fn unlike(kind: &str, value: &Value<'_>) -> Option<&'static str> {
    match (kind, value) {
        ("object", _) => Some("an object"),
        ("array", _) => Some("a list"),
        ("string", Value::Text(_)) | ("boolean", Value::Bool(_)) => None,
        ("string", _) => Some(TEXT),
        ("boolean", _) => Some(BOOL),
        ("integer", Value::Unsigned(_) | Value::Negative(_)) => None,
        ("integer", _) => Some("a whole number"),
        ("number", Value::Unsigned(_) | Value::Negative(_) | Value::Float(_)) => None,
        ("number", _) => Some("a number"),
        _ => None,
    }
}
