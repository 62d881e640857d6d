//! Recorded streams of the real programs, and what is understood of them.
//!
//! The lines under `streams/` were written by Claude Code 2.1.325, Codex 0.166.0, Gemini CLI 0.61.0
//! and codex-acp 0.16.0 while a scripted model answered them; long lists were taken out. Those of plain
//! programs are as shells and terminals show them.
#![expect(clippy::unwrap_used, reason = "all of this crate is tests")]

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, path::Path};
use waypost_agent::{
    Adapter,
    protocol::{Places, Spoken},
    stream::{End, LINE_BYTES_MAX, Placed, Reader, Said, Why, ask},
};

/// The recorded streams of an adapter by name, in order.
fn recorded(adapter: Adapter) -> Vec<(String, Vec<u8>)> {
    let folder = match adapter.as_str() {
        "codex" => "codex-server",
        word => word,
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams").join(folder);
    let mut streams: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_stem().unwrap().display().to_string(), fs::read(path).unwrap())
        })
        .collect();
    streams.sort();
    streams
}

/// All that is said in a stream that comes in pieces of `length` bytes.
fn said(adapter: Adapter, stream: &[u8], length: usize) -> Vec<Said> {
    let mut reader = Reader::new(adapter);
    let mut said: Vec<Said> = stream.chunks(length).flat_map(|chunk| reader.read(chunk)).collect();
    said.extend(reader.finish());
    said
}

/// What is said, line by line; of other lines only what kind they are.
fn shown(said: &[Said]) -> String {
    let mut text = String::new();
    for said in said {
        match said {
            Said::Other(raw) => {
                let value: Value = serde_json::from_str(raw).unwrap_or_default();
                let keys = ["type", "subtype", "method", "id"];
                let kinds: Vec<&str> = keys.iter().filter_map(|key| value[key].as_str()).collect();
                let update = value["params"]["update"]["sessionUpdate"].as_str();
                writeln!(text, "  ({} {})", kinds.join(" "), update.unwrap_or_default()).unwrap();
            }
            Said::Asked(ask) => {
                let (request, items) = (&ask.request, &ask.items);
                writeln!(text, "Asked {:?} {} {request}", ask.kind, ask.tool).unwrap();
                for item in items {
                    let choices: Vec<_> =
                        item.choices.iter().map(|it| (&it.id, &it.label)).collect();
                    writeln!(text, "  {:?} {:?} {choices:?}", item.key, item.text).unwrap();
                }
            }
            said => writeln!(text, "{said:?}").unwrap(),
        }
    }
    text
}

fn all(adapter: Adapter) -> String {
    let mut text = String::new();
    for (name, stream) in recorded(adapter) {
        let said = shown(&said(adapter, &stream, usize::MAX));
        write!(text, "## {name}\n{said}\n").unwrap();
    }
    text
}

#[test]
fn recorded_streams_of_claude_are_understood() {
    assert_snapshot!("claude", all(Adapter::CLAUDE));
}

#[test]
fn recorded_streams_of_codex_are_understood() {
    assert_snapshot!("codex_server", all(Adapter::CODEX));
    assert_snapshot!("codex_exec", all(Adapter::CODEX_EXEC));
}

#[test]
fn recorded_streams_of_acp_are_understood() {
    assert_snapshot!("acp", all(Adapter::ACP));
}

#[test]
fn recorded_streams_of_plain_programs_are_understood() {
    assert_snapshot!("plain", all(Adapter::PLAIN));
}

#[test]
fn a_recorded_stream_says_the_same_in_any_pieces() {
    for adapter in Adapter::all() {
        for (name, stream) in recorded(adapter) {
            let whole = said(adapter, &stream, usize::MAX);
            for length in [1, 2, 7, 100, 4096] {
                assert_eq!(said(adapter, &stream, length), whole, "{adapter} {name} {length}");
            }
        }
    }
}

#[test]
fn a_stored_question_is_understood_again() {
    for adapter in [Adapter::CLAUDE, Adapter::CODEX, Adapter::ACP] {
        for (name, stream) in recorded(adapter) {
            for said in said(adapter, &stream, usize::MAX) {
                let Said::Asked(asked) = said else { continue };
                let again = ask(adapter, &asked.raw).unwrap();
                assert_eq!((again.request, again.kind), (asked.request, asked.kind), "{name}");
                assert_eq!(again.items.len(), asked.items.len(), "{name}");
            }
        }
    }
    assert_eq!(ask(Adapter::CLAUDE, "{}"), None);
    assert_eq!(ask(Adapter::CODEX_EXEC, r#"{"id":1,"method":"x"}"#), None);
}

/// What is said in lines that no recording has.
fn heard(adapter: Adapter, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut reader = Reader::new(adapter);
    shown(&reader.read(text.as_bytes()))
}

#[test]
fn limits_of_claude_are_heard_in_every_form() {
    let limit = |status: &str| {
        json!({"type": "rate_limit_event",
               "rate_limit_info": {"status": status, "resetsAt": 1_794_729_600, "rateLimitType": "five_hour"}})
    };
    let message = json!({"model": "<synthetic>", "content": [
        {"type": "text", "text": "Claude AI usage limit reached|1794729600"}]});
    let lines = [
        limit("allowed"),
        limit("allowed_warning"),
        limit("rejected"),
        limit("unheard-of"),
        json!({"type": "assistant", "message": message, "parent_tool_use_id": null}),
        // Older versions called this a success.
        json!({"type": "result", "subtype": "success", "is_error": false, "stop_reason": "end_turn",
               "result": "Claude AI usage limit reached|1794729600", "total_cost_usd": 0}),
        json!({"type": "result", "subtype": "success", "is_error": true,
               "result": "You've hit your session limit · resets 3pm (Asia/Seoul)"}),
    ];
    assert_snapshot!(heard(Adapter::CLAUDE, &lines), @r#"
    RateLimit { status: Allowed, resets: Some(At(Time(1794729600000))) }
    RateLimit { status: Warning, resets: Some(At(Time(1794729600000))) }
    RateLimit { status: Rejected, resets: Some(At(Time(1794729600000))) }
      (rate_limit_event )
    RateLimit { status: Rejected, resets: Some(At(Time(1794729600000))) }
    Ended(End { why: RateLimited, detail: "Claude AI usage limit reached|1794729600" })
    RateLimit { status: Rejected, resets: Some(Clock(WallClock { day: Any, hour: 15, minute: 0, zone: Some("Asia/Seoul") })) }
    Ended(End { why: RateLimited, detail: "You've hit your session limit · resets 3pm (Asia/Seoul)" })
    "#);
}

#[test]
fn requests_that_are_not_known_are_passed_on_so_that_they_can_be_refused() {
    let lines = [
        json!({"type": "control_request", "request_id": "r1", "request": {"subtype": "hook_callback"}}),
        json!({"type": "control_cancel_request", "request_id": "r1"}),
    ];
    assert_snapshot!(heard(Adapter::CLAUDE, &lines), @r#"
    Asked Unknown  r1
      "hook_callback" "hook_callback" []
    Withdrawn { request: "r1" }
    "#);
    let line = [json!({"jsonrpc": "2.0", "id": 7, "method": "fs/read_text_file", "params": {}})];
    assert_snapshot!(heard(Adapter::ACP, &line), @r#"
    Asked Unknown  7
      "fs/read_text_file" "fs/read_text_file" []
    "#);
    assert_snapshot!(heard(Adapter::CODEX, &line), @r#"
    Asked Unknown  7
      "fs/read_text_file" "fs/read_text_file" []
    "#);
}

#[test]
fn windows_and_errors_of_codex_are_limits() {
    let window = |used: u32, at: u32| json!({"usedPercent": used, "windowDurationMins": 300, "resetsAt": at});
    let update = |primary: Value, secondary: Value, reached: Value| {
        json!({"method": "account/rateLimits/updated", "params": {"rateLimits": {
            "primary": primary, "secondary": secondary, "rateLimitReachedType": reached}}})
    };
    let error = |kind: Value, message: &str, retry: bool| {
        json!({"method": "error", "params": {"willRetry": retry,
               "error": {"message": message, "codexErrorInfo": kind}}})
    };
    let lines = [
        update(window(10, 5), window(20, 9), Value::Null),
        update(window(85, 5), window(20, 9), Value::Null),
        update(window(100, 5), window(100, 9), Value::Null),
        update(Value::Null, Value::Null, json!("rate_limit_reached")),
        error(
            json!("usageLimitExceeded"),
            "You've hit your usage limit. Try again in 2 hours.",
            false,
        ),
        error(json!({"httpConnectionFailed": {"httpStatusCode": 429}}), "no", true),
        error(json!("other"), "no", false),
    ];
    assert_snapshot!(heard(Adapter::CODEX, &lines), @"
    RateLimit { status: Allowed, resets: Some(At(Time(9000))) }
    RateLimit { status: Warning, resets: Some(At(Time(5000))) }
    RateLimit { status: Rejected, resets: Some(At(Time(9000))) }
    RateLimit { status: Rejected, resets: None }
    RateLimit { status: Rejected, resets: Some(After(7200s)) }
    RateLimit { status: Retrying, resets: None }
      (error )
    ");
}

#[test]
fn words_and_ends_of_a_subagents_thread_are_not_the_agents() {
    let item = |kind: &str| json!({"type": kind, "id": "i", "text": "DONE:T1", "command": "ls", "status": "completed"});
    let lines = [
        json!({"id": "session", "result": {"thread": {"id": "main"}}}),
        json!({"method": "item/completed", "params": {"threadId": "sub", "item": item("agentMessage")}}),
        json!({"method": "item/completed", "params": {"threadId": "sub", "item": item("commandExecution")}}),
        json!({"method": "turn/completed", "params": {"threadId": "sub", "turn": {"status": "completed"}}}),
        json!({"method": "item/completed", "params": {"threadId": "main", "item": item("agentMessage")}}),
        json!({"method": "turn/completed", "params": {"threadId": "main", "turn": {"status": "completed"}}}),
    ];
    assert_snapshot!(heard(Adapter::CODEX, &lines), @r#"
    Session { id: "main" }
      (item/completed )
    ToolCall { id: "i", name: "commandExecution", input: "ls" }
    ToolResult { id: "i", is_error: false }
      (turn/completed )
    Text("DONE:T1")
    Ended(End { why: Done, detail: "DONE:T1" })
    "#);
}

#[test]
fn a_message_that_codex_refuses_ends_no_turn_that_goes_on() {
    let refused = json!({"id": "prompt-2", "error": {"code": -32600, "message": "not now"}});
    let lines = [
        json!({"id": "session", "result": {"thread": {"id": "main"}}}),
        json!({"method": "turn/started", "params": {"threadId": "main", "turn": {"id": "t1"}}}),
        refused.clone(),
        json!({"method": "turn/completed", "params": {"threadId": "main", "turn": {"status": "completed"}}}),
        refused,
    ];
    assert_snapshot!(heard(Adapter::CODEX, &lines), @r#"
    Session { id: "main" }
    TurnBegan { id: Some("t1") }
      (prompt-2 )
    Ended(End { why: Done, detail: "" })
    Ended(End { why: Error, detail: "not now" })
    "#);
}

#[test]
fn a_turn_with_an_open_tool_is_no_success() {
    let call = json!({"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}});
    let result = |reason: &str| json!({"type": "result", "subtype": "success", "is_error": false, "stop_reason": reason});
    let ends = |lines: &[Value]| {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let said = Reader::new(Adapter::CLAUDE).read(text.as_bytes());
        let ends = said.into_iter().filter_map(|said| match said {
            Said::Ended(End { why, .. }) => Some(why),
            _ => None,
        });
        ends.collect::<Vec<_>>()
    };
    let lines = [call, result("end_turn"), result("end_turn"), result("tool_use")];
    assert_eq!(ends(&lines), [Why::OpenTool, Why::Done, Why::OpenTool]);
    assert_eq!(ends(&[json!({"type": "result"})]), [Why::Error]);
}

#[test]
fn a_line_that_is_too_long_is_cut_and_keeps_its_call() {
    let content = "x".repeat(LINE_BYTES_MAX);
    // The real program writes the kind of a line first, and the id before the content.
    let text = format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"t","type":"tool_result","content":"{content}"}}]}}}}"#
    );
    let said = said(Adapter::CLAUDE, format!("{text}\n").as_bytes(), 1000);
    let want = [
        Said::ToolResult { id: "t".to_owned(), is_error: false },
        Said::Cut { bytes: text.len() },
        Said::Ended(End { why: Why::Cut, detail: String::new() }),
    ];
    assert_eq!(said, want);
}

#[test]
fn what_is_no_json_is_kept() {
    let said = said(Adapter::CODEX_EXEC, b"WARNING: \xff\n\n[1]\n{\"a\":\n", 3);
    let other = |text: &str| Said::Other(text.to_owned());
    let cut = Said::Ended(End { why: Why::Cut, detail: String::new() });
    assert_eq!(said, [other("WARNING: \u{fffd}"), other("[1]"), other("{\"a\":"), cut]);
}

#[test]
fn a_message_in_pieces_is_said_once_and_a_replayed_one_never() {
    let update = |update: Value| json!({"method": "session/update", "params": {"update": update}});
    let piece = |text: &str| {
        update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}),
        )
    };
    let lines = [
        piece("DONE:T0"),
        json!({"id": "load:s1", "result": {}}),
        piece("DONE"),
        update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2,
                      "cost": {"amount": 0.5, "currency": "USD"}})),
        piece(":T1"),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "kind": "execute"}),
        ),
        piece("more"),
        json!({"id": "prompt-1", "result": {"stopReason": "end_turn",
               "usage": {"inputTokens": 9, "outputTokens": 2, "cachedReadTokens": 4}}}),
        json!({"id": "prompt-2", "error": {"code": 429, "message": "Quota exceeded, retry after 5 seconds"}}),
        json!({"id": "prompt-3", "result": {"stopReason": "max_tokens"}}),
    ];
    assert_snapshot!(heard(Adapter::ACP, &lines), @r#"
      (session/update agent_message_chunk)
    Session { id: "s1" }
    Usage(Usage { input: 0, output: 0, cached: 0, written: 0, cost_usd: Some(0.5) })
    Text("DONE:T1")
    ToolCall { id: "c", name: "execute", input: "ls" }
    Text("more")
    Usage(Usage { input: 9, output: 2, cached: 4, written: 0, cost_usd: Some(0.5) })
    Ended(End { why: OpenTool, detail: "more" })
    RateLimit { status: Rejected, resets: Some(After(5s)) }
    Ended(End { why: RateLimited, detail: "Quota exceeded, retry after 5 seconds" })
    Ended(End { why: Error, detail: "max_tokens" })
    "#);
}

proptest! {
    #[test]
    fn any_bytes_say_the_same_in_any_pieces(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        length in 1_usize..50,
    ) {
        for adapter in Adapter::all() {
            prop_assert_eq!(said(adapter, &bytes, length), said(adapter, &bytes, usize::MAX));
        }
    }

    /// Recorded lines with values in the wrong places: nothing panics, and every line is heard.
    #[test]
    fn lines_that_were_changed_are_never_lost(
        pick: prop::sample::Index,
        at: prop::sample::Index,
        byte: u8,
        length in 1_usize..300,
    ) {
        for adapter in Adapter::all() {
            let mut streams = recorded(adapter);
            let (_, mut stream) = streams.swap_remove(pick.index(streams.len()));
            let at = at.index(stream.len());
            stream[at] = byte;
            let whole = said(adapter, &stream, usize::MAX);
            prop_assert_eq!(&said(adapter, &stream, length), &whole);
            // Plain text is told by messages, which have several lines.
            if adapter != Adapter::ACP && adapter != Adapter::PLAIN {
                let lines = stream.split(|byte| *byte == b'\n');
                let count = lines.filter(|line| !line.trim_ascii().is_empty()).count();
                prop_assert!(whole.len() >= count);
            }
        }
    }

    /// Wherever the pieces end, and whenever the program was quiet, each signal is said at the same place.
    #[test]
    fn signals_have_one_place_whenever_they_are_heard(
        picks in prop::collection::vec(0_usize..9, 0..30),
        length in 1_usize..40,
        quiet in prop::collection::vec(any::<bool>(), 1..8),
    ) {
        let words = [
            "=== PHASE 1 COMPLETE ===", "- a", "Documents:", "", "Some words.", "DONE:T1",
            "[USER_QUESTION]", "question: a\n[/USER_QUESTION]", "```",
        ];
        let text: String = picks.iter().map(|pick| format!("{}\n", words[*pick])).collect();
        let places = |placed: Vec<Placed>| -> Vec<(u64, String)> {
            let mut places = Places::default();
            let spoken: Vec<Spoken> = placed.iter().flat_map(|it| places.spoken(it)).collect();
            let kind = |it: &Spoken| format!("{:?}", it.signal).split([' ', '(']).next().unwrap().to_owned();
            spoken.iter().map(|it| (it.offset, kind(it))).collect()
        };
        let mut whole = Reader::new(Adapter::PLAIN);
        let mut want = whole.read_placed(text.as_bytes());
        want.extend(whole.finish_placed());
        let (mut reader, mut got) = (Reader::new(Adapter::PLAIN), Vec::new());
        for (piece, is_quiet) in text.as_bytes().chunks(length).zip(quiet.iter().cycle()) {
            got.extend(reader.read_placed(piece));
            if *is_quiet {
                got.extend(reader.settle());
            }
        }
        got.extend(reader.finish_placed());
        prop_assert_eq!(places(got), places(want));
    }
}
