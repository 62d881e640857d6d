//! Whatever bytes a file has, reading it ends with a value or with findings that can be shown.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

use proptest::prelude::*;
use std::fmt::Debug;
use std::path::Path;
use waypost_model::diagnostic::{Diagnostic, Severity};
use waypost_model::document::contract::{Explored, ExploredFile};
use waypost_model::document::knowledge::{Knowledge, KnowledgeDecision};
use waypost_model::document::memory::SharedContext;
use waypost_model::document::{Document, Kind, Version};
use waypost_model::json::{Json, Number, OpenMap};
use waypost_store::parse::{parse, render, validate};

/// The examples, each with the kinds that are read from its syntax.
fn examples() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/seeds");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Every finding of every kind stands inside the text.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.split('\n').collect();
    for kind in Kind::ALL {
        for finding in validate(kind, bytes) {
            let Some(place) = finding.place else {
                return Err(TestCaseError::fail(format!("{}: {finding:?}", kind.name())));
            };
            let width = lines.get(place.line as usize - 1).map(|line| line.chars().count());
            let is_inside =
                width.is_some_and(|width| (1..=width + 1).contains(&(place.column as usize)));
            prop_assert!(is_inside && place.length >= 1, "{}: {finding:?}\n{text}", kind.name());
        }
    }
    Ok(())
}

/// A change of an example's bytes.
#[derive(Clone, Debug)]
enum Change {
    Delete(usize),
    Insert(Vec<u8>),
    Repeat(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let pieces = [
        "\"",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\n",
        "\n  ",
        "null",
        "\"x\": 1,",
        "- ",
        "&a ",
        "*a",
        "!t ",
        "|",
        ">",
        "#",
        "'",
        "\\",
        "\\u0000",
        "\\ud800",
        "NaN",
        "1e999",
        "-",
        "\t",
        "\r\n",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "한글",
        "\u{feff}",
        "\u{2028}",
        "\0",
        "? ",
        "<<: ",
        "{{",
        "]]",
        "~",
    ];
    prop_oneof![
        (0_usize..40).prop_map(Change::Delete),
        prop::sample::select(pieces.to_vec()).prop_map(|piece| Change::Insert(piece.into())),
        prop::collection::vec(any::<u8>(), 1..4).prop_map(Change::Insert),
        (0_usize..60).prop_map(Change::Repeat),
    ]
}

fn apply(bytes: &mut Vec<u8>, at: prop::sample::Index, change: Change) {
    let at = at.index(bytes.len() + 1);
    match change {
        Change::Delete(count) => drop(bytes.drain(at..(at + count).min(bytes.len()))),
        Change::Insert(piece) => drop(bytes.splice(at..at, piece)),
        Change::Repeat(count) => {
            let piece = bytes[at..(at + count).min(bytes.len())].to_vec();
            drop(bytes.splice(at..at, piece));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes)?;
    }

    #[test]
    fn any_text_of_signs_is_answered(text in "[\\[\\]{}:,\"'&*!|>#%?~\\-a-c0-2 \t\r\n가]{0,80}") {
        check(text.as_bytes())?;
    }

    #[test]
    fn any_change_of_an_example_is_answered(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..4),
    ) {
        let mut bytes = which.get(&examples()).clone();
        for (at, change) in changes {
            apply(&mut bytes, at, change);
        }
        check(&bytes)?;
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(|value| Json::Number(value.into())),
        any::<u64>().prop_map(|value| Json::Number(value.into())),
        (-1e18..1e18).prop_map(|value| Json::Number(Number::from_f64(value).unwrap())),
        any_text().prop_map(Json::String),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let entries = prop::collection::vec((any_text(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Json::Array),
            entries.prop_map(|entries| entries.into_iter().collect::<OpenMap>().into()),
        ]
    })
}

/// Texts that look like something else, and any others.
fn any_text() -> impl Strategy<Value = String> {
    let traps = [
        "",
        " ",
        "no",
        "yes",
        "on",
        "~",
        "null",
        "true",
        "012",
        "0x1F",
        "1e3",
        "1_000",
        "-",
        "- a",
        "? a",
        "a: b",
        "a #b",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "'",
        "\"",
        "{a}",
        "[a]",
        "---",
        "...",
        "<<",
        "=",
        ".nan",
        ".inf",
        "2024-01-15",
        "12:30:45",
        " a",
        "a ",
        "a\nb",
        "a\n",
        "\n",
        "\na",
        "a\n\n",
        " a\nb",
        "a\tb",
        "\t",
        "a\r\nb",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{7f}",
        "\u{1b}[0m",
        "한글",
        "a\u{0}b",
    ];
    prop_oneof![
        3 => prop::sample::select(traps.to_vec()).prop_map(str::to_owned),
        2 => any::<String>(),
        1 => "[a-z ]{60,200}",
        1 => "[a-z #:\n]{0,120}",
    ]
}

fn any_map() -> impl Strategy<Value = OpenMap> {
    prop::collection::vec((any_text(), any_json()), 0..6)
        .prop_map(|list| list.into_iter().collect())
}

fn survives<D: Document + PartialEq + Debug>(value: &D) -> Result<(), TestCaseError> {
    let text = render(value);
    let errors = |found: Vec<Diagnostic>| {
        found.into_iter().filter(|finding| finding.severity == Severity::Error).collect::<Vec<_>>()
    };
    match parse::<D>(text.as_bytes()) {
        Ok(parsed) => prop_assert_eq!(&parsed.value, value, "{}", text),
        Err(found) => prop_assert!(false, "{:?}\n{}", errors(found), text),
    }
    prop_assert!(text.ends_with('\n'));
    Ok(())
}

proptest! {
    #[test]
    fn any_knowledge_survives_being_written(
        patterns in any_map(),
        texts in prop::collection::vec(any_text(), 3),
        refs in prop::collection::vec(any_text(), 0..3),
    ) {
        let [topic, decision, rationale] = texts.try_into().unwrap();
        let decision = KnowledgeDecision {
            id: "D1".parse().unwrap(),
            topic,
            decision,
            rationale: Some(rationale),
            refs,
            created_at: Some("2024-01-15".parse().unwrap()),
        };
        survives(&Knowledge {
            version: Version,
            project: None,
            patterns,
            decisions: vec![decision],
            pitfalls: Vec::new(),
            updated_at: Some("2024-01-15T12:00:00Z".parse().unwrap()),
        })?;
    }

    #[test]
    fn any_exploration_survives_being_written(
        files in prop::collection::vec((any_text(), prop::option::of(any_text())), 0..4),
        directory_structure in any_map(),
        created_by in any_text(),
    ) {
        survives(&Explored {
            version: Version,
            request_id: None,
            created_at: "2024-01-15T12:00:00Z".parse().unwrap(),
            created_by,
            project_manifest: Default::default(),
            explored_files: files.into_iter().map(|(path, summary)| ExploredFile { path, summary }).collect(),
            directory_structure,
        })?;
    }

    #[test]
    fn any_shared_context_survives_being_written(shared_data in any_map(), preferences in any_map()) {
        survives(&SharedContext { shared_data, preferences, ..SharedContext::default() })?;
    }
}
