//! The tree's reader and serde_json agree about what is a document and what it says.
//!
//! One difference is meant: serde_json takes a list for an object and fills the fields in turn,
//! so no list is put where an object belongs here.

use super::failure::Sink;
use super::tree::Path;
use super::{json, reader};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fmt::Debug;
use waypost_model::document::Document;
use waypost_model::document::memory::{AgentMemory, SharedContext, TaskHistory, TaskState};
use waypost_model::document::server::{Agent, ServerTask, Transition};
use waypost_model::document::session::{SessionFile, SessionState};

/// What the tree makes of a text, as `Debug` shows it.
fn by_tree<D: Document + Debug>(text: &str) -> Option<String> {
    let mut root = json::tree(text).ok()?;
    let mut found = Vec::new();
    root.drop_duplicates(text, &Path::Root, &mut found);
    let sink = Sink::new(text);
    let value = reader::read::<D>(&root, &sink);
    let is_faultless = found.is_empty() && sink.into_found().is_empty();
    value.filter(|_| is_faultless).map(|value| format!("{value:?}"))
}

fn by_serde<D: Document + Debug>(text: &str) -> Option<String> {
    serde_json::from_str::<D>(text).ok().map(|value| format!("{value:?}"))
}

/// An example and the two readings of texts of its kind.
type Example = (&'static str, fn(&str) -> [Option<String>; 2]);

fn example<D: Document + Debug>(text: &'static str) -> Example {
    (text, |text| [by_serde::<D>(text), by_tree::<D>(text)])
}

fn examples() -> Vec<Example> {
    vec![
        example::<Transition>(include_str!("../../tests/fixtures/seeds/002-1-transition.json")),
        example::<ServerTask>(include_str!("../../tests/fixtures/seeds/002-2-task.json")),
        example::<Agent>(include_str!("../../tests/fixtures/seeds/002-3-agent.json")),
        example::<TaskState>(include_str!("../../tests/fixtures/seeds/003-1-task-state.json")),
        example::<TaskHistory>(include_str!("../../tests/fixtures/seeds/003-2-task-history.json")),
        example::<SharedContext>(include_str!(
            "../../tests/fixtures/seeds/003-3-shared-context.json"
        )),
        example::<AgentMemory>(include_str!("../../tests/fixtures/seeds/003-4-agent-memory.json")),
        example::<TaskState>(include_str!("../../tests/fixtures/seeds/003-5-new-task-state.json")),
        example::<SessionFile>(include_str!("../../tests/fixtures/seeds/004-1-session.json")),
        example::<SessionState>(include_str!(
            "../../tests/fixtures/seeds/004-2-session-state.json"
        )),
    ]
}

/// Every value of a document, each with the way to it.
fn pointers(value: &Value, here: String, out: &mut Vec<String>) {
    out.push(here.clone());
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                pointers(item, format!("{here}/{at}"), out);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                pointers(item, format!("{here}/{key}"), out);
            }
        }
        _ => {}
    }
}

/// Values that stand where others belong.
fn intruder() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![Just(-1_i64), Just(0), Just(1), Just(4_294_967_296), any::<i64>()]
            .prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop_oneof![Just(1.0), Just(-0.0), Just(1e300), Just(0.5)].prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "T1",
            "T1-S1",
            "R1",
            "1.0",
            "pending",
            "completed",
            "user",
            "ISO-8601",
            "2024-01-15T10:00:00Z",
            "2024-01-15",
            "task-2025-11-18-001",
            "a1b2c3d4",
            "\u{1}\n\"한",
        ])
        .prop_map(Value::from),
        Just(json!({})),
        Just(json!({"type": "file", "path": "p"})),
        Just(json!({"id": 1, "name": "n"})),
    ]
}

#[derive(Clone, Debug)]
enum Change {
    Replace(Value),
    Remove,
    Rename(&'static str),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => intruder().prop_map(Change::Replace),
        1 => Just(Change::Remove),
        1 => prop::sample::select(vec!["name", "extra", "T9", "version"]).prop_map(Change::Rename),
    ]
}

fn apply(document: &mut Value, pointer: &str, change: Change) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    match (document.pointer_mut(parent), change) {
        (Some(Value::Object(map)), Change::Replace(new)) => drop(map.insert(key.to_owned(), new)),
        (Some(Value::Object(map)), Change::Remove) => drop(map.remove(key)),
        (Some(Value::Object(map)), Change::Rename(new)) => {
            if let Some(value) = map.remove(key) {
                map.insert(new.to_owned(), value);
            }
        }
        (Some(Value::Array(items)), Change::Replace(new)) => {
            if let Some(item) = key.parse::<usize>().ok().and_then(|at| items.get_mut(at)) {
                *item = new;
            }
        }
        _ => {}
    }
}

#[test]
fn examples_that_load_load_both_ways() {
    let loaded = examples().into_iter().filter(|(text, read)| {
        let [serde, tree] = read(text);
        assert_eq!(serde, tree, "{text}");
        serde.is_some()
    });
    assert_eq!(loaded.count(), 6, "the other four are templates");
}

proptest! {
    #[test]
    fn both_ways_agree_about_changed_examples(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..4),
        pretty in any::<bool>(),
    ) {
        let examples = examples();
        let (text, read) = which.get(&examples);
        let mut document: Value = serde_json::from_str(text).unwrap();
        for (at, change) in changes {
            let mut all: Vec<String> = Vec::new();
            pointers(&document, String::new(), &mut all);
            apply(&mut document, at.get(&all[..]).as_str(), change);
        }
        let text = if pretty { format!("{document:#}") } else { document.to_string() };
        let [serde, tree] = read(&text);
        prop_assert_eq!(serde, tree, "{}", text);
    }
}
