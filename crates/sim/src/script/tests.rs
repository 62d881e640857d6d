//! What a script may say, and where a bad one goes wrong.

use super::*;
use serde_json::json;
use std::fmt::Write as _;

fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

#[test]
fn a_full_script_is_read() {
    let source = json!({
        "version": 1,
        "turns": [
            {"blocks": [{"text": "a"}, {"tool": "Write", "input": {"file_path": "/a"}}]},
            {
                "blocks": [{"tool": "apply_patch", "input": "*** Begin Patch"}],
                "delay_ms": 7,
                "error": {"status": 529, "times": 2},
                "usage": {"input_tokens": 3, "cached_input_tokens": 2, "output_tokens": 1},
            },
        ],
        "conversations": [{"marker": "T1.2", "turns": [{"blocks": [{"text": "c"}], "until": "/go"}]}],
        "sub_turns": [{"blocks": [{"text": "b"}], "error": {"status": 429}}],
        "sub_marker": "BELOW",
        "side_text": "title",
    });
    let tool = |name: &str, input| Block::Tool { name: name.to_owned(), input };
    let write = tool("Write", Input::Fields(json!({"file_path": "/a"})));
    let patch = tool("apply_patch", Input::Text("*** Begin Patch".to_owned()));
    let want = Script {
        turns: vec![
            Turn { blocks: vec![text("a"), write], ..Turn::default() },
            Turn {
                blocks: vec![patch],
                delay_ms: 7,
                until: None,
                trouble: Some(ScriptedError { status: 529, lasts: Lasts::Times(2) }),
                usage: Usage { input_tokens: 3, cached_input_tokens: 2, output_tokens: 1 },
            },
        ],
        marked: vec![Marked {
            marker: "T1.2".to_owned(),
            turns: vec![Turn {
                blocks: vec![text("c")],
                until: Some("/go".into()),
                ..Turn::default()
            }],
        }],
        sub_turns: vec![Turn {
            blocks: vec![text("b")],
            trouble: Some(ScriptedError { status: 429, lasts: Lasts::Times(1) }),
            ..Turn::default()
        }],
        sub_marker: "BELOW".to_owned(),
        side_text: "title".to_owned(),
    };
    assert_eq!(Script::parse(source.to_string().as_bytes()), Ok(want));
}

#[test]
fn a_turn_is_found_by_its_number_and_the_end_is_said() {
    let source = r#"{"version": 1, "turns": [{"blocks": [{"text": "a"}]}],
        "conversations": [{"marker": "m", "turns": [{"blocks": [{"text": "c"}]}]}],
        "sub_turns": [{"blocks": [{"text": "b"}]}]}"#;
    let script = Script::parse(source.as_bytes()).unwrap();
    let table = [
        (TurnOwner::Main, 0, "a"),
        (TurnOwner::Main, 1, END_TEXT),
        (TurnOwner::Marked(0), 0, "c"),
        (TurnOwner::Marked(0), 1, END_TEXT),
        (TurnOwner::Sub, 0, "b"),
        (TurnOwner::Sub, 9, END_TEXT),
        (TurnOwner::Side, 5, "ok"),
    ];
    for (conversation, index, want) in table {
        let turn = script.turn(conversation, index);
        assert_eq!(turn, Turn { blocks: vec![text(want)], ..Turn::default() }, "{conversation:?}");
    }
}

#[test]
fn a_bad_script_is_refused_with_its_place_and_a_remedy() {
    let sources = [
        "{",
        "{\"version\": 1}",
        "{\"version\": 1, \"turns\": [],\n  \"sub_marker\": \"\"}",
        r#"{"version": 1, "turns": [{"blocks": [{"text": "a"}]}], "conversations": [
            {"marker": "", "turns": [{"blocks": []}]}]}"#,
        "{\"version\": 2, \"turns\": [{\"blocks\": []}]}",
        "{\"version\": 1, \"turns\": [\n  {\"blocks\": [{\"test\": \"a\"}]}]}",
        "{\"version\": 1, \"turns\": [\n  {\"blocks\": \"a\"}]}",
        r#"{"version": 1, "turns": [{"blocks": [{}]}, {"blocks": [{"tool": "Bash"}]}]}"#,
        r#"{"version": 1, "turns": [{"blocks": [{"text": "a", "tool": "b", "input": {}}]}]}"#,
        r#"{"version": 1, "turns": [{"blocks": [{"tool": "", "input": {}}]}]}"#,
        r#"{"version": 1, "turns": [{"blocks": [{"tool": "a", "input": 1}]}]}"#,
        r#"{"version": 1, "turns": [{"blocks": [{"text": "a"}], "error": {"status": 404}}]}"#,
        r#"{"version": 1, "turns": [{"blocks": [{"text": "a"}], "delay_ms": 600001}]}"#,
        r#"{"version": 1, "turns": [{"blocks": [{"text": "a"}], "usage": {"tokens": 1}}]}"#,
    ];
    let mut told = String::new();
    for source in sources {
        writeln!(told, "{source}").unwrap();
        for finding in Script::parse(source.as_bytes()).unwrap_err() {
            let Diagnostic { code, place, path, message, expected, hint, .. } = finding;
            let place = place.map(|place| format!("{}:{}", place.line, place.column));
            let place = place.unwrap_or(path);
            writeln!(told, "=> {code} at {place}: {message}").unwrap();
            let remedies = [("expected", expected), ("hint", hint)];
            for (word, remedy) in remedies {
                if let Some(remedy) = remedy {
                    writeln!(told, "   {word}: {remedy}").unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_script_of_many_megabytes_is_not_read() {
    let findings = Script::parse(&vec![b' '; source::BYTES_MAX + 1]).unwrap_err();
    assert_eq!(findings[0].code, "too_large");
}
