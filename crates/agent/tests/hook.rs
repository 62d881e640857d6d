//! Events as the real programs write them, and the answers that they understand.
#![expect(clippy::unwrap_used, reason = "all of this crate is tests")]

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, path::Path};
use waypost_agent::hook::{
    BadEvent, Event, HookAnswer, INPUT_SIZE_MAX, Moment, Product, Reply, ToolCall, read,
    refuse_unread,
};

/// The recorded events of a product by name, in order.
fn recorded(product: Product) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/events").join(product.as_str());
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() >= 10, "{product} has {} events", found.len());
    found
}

fn tell_event(told: &mut String, event: &Event) {
    let Event { product, name, moment, session, folder, subagent } = event;
    let session = session.as_deref().map(|id| &id[..8]);
    writeln!(told, "  {product} {name} in {folder:?}, session {session:?}, subagent {subagent:?}")
        .unwrap();
    match moment {
        Moment::BeforeTool(call) | Moment::AfterTool(call) => {
            let when = if matches!(moment, Moment::BeforeTool(_)) { "before" } else { "after" };
            let ToolCall { id, name, fields, .. } = call;
            writeln!(told, "  {when} {name} {id:?}").unwrap();
            for (field, text) in fields {
                writeln!(told, "    {field}: {text:?}").unwrap();
            }
        }
        other => writeln!(told, "  {other:?}").unwrap(),
    }
}

fn tell_replies(told: &mut String, event: &Event) {
    let answers = [
        HookAnswer::Silent,
        HookAnswer::Refuse("no".into()),
        HookAnswer::Context("so it is".into()),
        HookAnswer::Hold("go on".into()),
        HookAnswer::Rewrite("walled 'x'".into()),
    ];
    for answer in answers {
        let Reply { stdout, stderr, code } = event.reply(&answer);
        let said = [("", stdout), ("stderr: ", stderr)];
        let said: Vec<String> = said
            .iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(stream, text)| format!("{stream}{}", text.strip_suffix('\n').unwrap()))
            .collect();
        writeln!(told, "  {answer:?} -> exit {code} {}", said.join(" ")).unwrap();
    }
}

fn tell_all(product: Product) -> String {
    let mut told = String::new();
    for (name, bytes) in recorded(product) {
        let event = read(Some(product), &bytes).unwrap();
        writeln!(told, "{name}").unwrap();
        tell_event(&mut told, &event);
        tell_replies(&mut told, &event);
    }
    told
}

#[test]
fn claude_code_is_understood_and_answered() {
    assert_snapshot!("claude", tell_all(Product::CLAUDE));
}

#[test]
fn codex_is_understood_and_answered() {
    assert_snapshot!("codex", tell_all(Product::CODEX));
}

#[test]
fn gemini_is_understood_and_answered() {
    assert_snapshot!("gemini", tell_all(Product::GEMINI));
}

/// Where Codex cannot be told from Claude Code, all of its answers are the same.
#[test]
fn an_event_tells_whose_it_is() {
    for product in Product::all() {
        for (name, bytes) in recorded(product) {
            let told = read(None, &bytes).unwrap();
            let known = read(Some(product), &bytes).unwrap();
            for text in ["a", "b"].map(str::to_owned) {
                for answer in [
                    HookAnswer::Refuse(text.clone()),
                    HookAnswer::Context(text.clone()),
                    HookAnswer::Hold(text),
                ] {
                    assert_eq!(told.reply(&answer), known.reply(&answer), "{product} {name}");
                }
            }
            let is_plain_codex = product == Product::CODEX && name == "session_start";
            assert_eq!(told.product == product, !is_plain_codex, "{product} {name}");
        }
    }
}

fn event(value: &Value) -> Result<Event, BadEvent> {
    read(None, value.to_string().as_bytes())
}

#[test]
fn what_is_missing_or_odd_is_tolerated_where_nothing_hangs_on_it() {
    let check = |value: Value, want: Moment| {
        let event = event(&value).unwrap_or_else(|error| panic!("{value}: {error}"));
        assert_eq!(event.moment, want, "{value}");
    };
    let named = |name: &str| ToolCall { name: name.into(), ..ToolCall::default() };
    check(json!({ "hook_event_name": "Stop" }), Moment::Stop { is_held: None });
    check(
        json!({ "hook_event_name": "Stop", "stop_hook_active": "yes" }),
        Moment::Stop { is_held: None },
    );
    check(
        json!({ "hook_event_name": "SessionStart", "source": 3 }),
        Moment::SessionStart { source: String::new() },
    );
    check(json!({ "hook_event_name": "PostToolUse" }), Moment::AfterTool(ToolCall::default()));
    check(
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": null }),
        Moment::BeforeTool(named("Write")),
    );
    check(
        json!({ "hook_event_name": "ToolSoon", "tool_name": "Write" }),
        Moment::BeforeTool(named("Write")),
    );
    check(
        json!({ "hook_event_name": "ToolDone", "tool_name": "Write", "tool_response": {} }),
        Moment::Other,
    );
    check(
        json!({ "hook_event_name": "ToolFailed", "tool_name": "Write", "error": "x" }),
        Moment::Other,
    );
    check(json!({ "hook_event_name": "Thinking" }), Moment::Other);
}

/// JavaScript cuts texts in the middle of a character, and writes the half that is left.
#[test]
fn half_a_character_does_not_hide_the_event() {
    let check = |written: &str, want: &str| {
        let text = format!(
            r#"{{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"{written}"}}}}"#
        );
        let event =
            read(None, text.as_bytes()).unwrap_or_else(|error| panic!("{written}: {error}"));
        let fields = vec![("command".to_owned(), want.to_owned())];
        let input = json!({ "command": want }).as_object().cloned().unwrap();
        let call = ToolCall { id: None, name: "Bash".into(), fields, input };
        assert_eq!(event.moment, Moment::BeforeTool(call), "{written}");
    };
    check(r"\ud83d", "\u{fffd}");
    check(r"git push \uDE00!", "git push \u{fffd}!");
    check(r"\ud83d\ude00 \ud83d\ud83d\ude00", "😀 \u{fffd}😀");
    check(r"\\ud83d \ud83d\n", "\\ud83d \u{fffd}\n");
    check(r"\\\ud83d\\", "\\\u{fffd}\\");
}

#[test]
fn a_permission_is_given_only_where_a_person_would_be_asked() {
    let silent = Reply { stdout: String::new(), stderr: String::new(), code: 0 };
    for (name, asks) in [("PermissionRequest", true), ("PreToolUse", false), ("PostToolUse", false)]
    {
        let event = event(&json!({ "hook_event_name": name, "tool_name": "Write" })).unwrap();
        assert_eq!(event.asks_a_person(), asks, "{name}");
        let reply = event.reply(&HookAnswer::Allow);
        if !asks {
            assert_eq!(reply, silent, "{name}");
            continue;
        }
        let value: Value = serde_json::from_str(&reply.stdout).unwrap();
        assert_eq!(value["hookSpecificOutput"]["decision"], json!({ "behavior": "allow" }));
    }
}

#[test]
fn a_tool_call_under_an_unknown_event_is_refused_by_the_exit_code() {
    let event = event(&json!({ "hook_event_name": "ToolSoon", "tool_name": "Write" })).unwrap();
    let reply = event.reply(&HookAnswer::Refuse("no".into()));
    assert_eq!(reply, Reply { stdout: String::new(), stderr: "no\n".into(), code: 2 });
    assert_eq!(refuse_unread(None, "no"), reply);
}

#[test]
fn what_could_hide_a_tool_call_is_an_error() {
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(INPUT_SIZE_MAX));
    let table: [(&[u8], &str); 9] = [
        (b"", "the event is not JSON: EOF while parsing a value at line 1 column 0"),
        (
            b"{\"hook_event_name\":\"PreTool",
            "the event is not JSON: EOF while parsing a string at line 1 column 27",
        ),
        (b"[]", "the event is not a JSON object"),
        (b"{}", "the event has no `hook_event_name`"),
        (b"{\"hook_event_name\":7}", "the event has no `hook_event_name`"),
        (b"{\"hook_event_name\":\"PreToolUse\"}", "the event PreToolUse names no tool"),
        (
            b"{\"hook_event_name\":\"BeforeTool\",\"tool_name\":[]}",
            "the event BeforeTool names no tool",
        ),
        (deep.as_bytes(), "the event is not JSON: recursion limit exceeded at line 1 column 132"),
        (large.as_bytes(), "the event is larger than 8388608 bytes"),
    ];
    for (input, want) in table {
        assert_eq!(read(None, input).unwrap_err().to_string(), want);
    }
}

#[test]
fn long_texts_are_cut_and_say_so() {
    let event = event(&json!({ "hook_event_name": "Stop" })).unwrap();
    let reply = event.reply(&HookAnswer::Hold("ü".repeat(20_000)));
    let value: Value = serde_json::from_str(&reply.stdout).unwrap();
    assert_eq!(value["reason"], format!("{} […]", "ü".repeat(8_996)));
    let whole = "ü".repeat(9_000);
    let reply = event.reply(&HookAnswer::Hold(whole.clone()));
    assert_eq!(serde_json::from_str::<Value>(&reply.stdout).unwrap()["reason"], whole);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drop(read(None, &bytes));
    }

    /// A recorded event that was cut off is never taken for another one.
    #[test]
    fn a_part_of_an_event_is_an_error(which in 0_usize..10, part in 0.0_f64..1.0) {
        for product in Product::all() {
            let (_, bytes) = recorded(product).swap_remove(which);
            let object = bytes.trim_ascii_end();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length times a part of one")]
            let end = (object.len() as f64 * part) as usize;
            prop_assert!(read(Some(product), &object[..end]).is_err());
        }
    }
}
