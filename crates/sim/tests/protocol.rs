//! All protocols, spoken with the real server by a client that knows nothing but TCP.

#![expect(clippy::unwrap_used, reason = "all of this crate is tests")]

use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use waypost_sim::{Options, Script, Server};

fn start(script: &Value, log: Option<&Path>) -> Server {
    let script = Script::parse(script.to_string().as_bytes()).unwrap();
    let log = log.map(Path::to_owned);
    Server::start(script, &Options { log, ..Options::default() }).unwrap()
}

/// Sends raw bytes and returns everything that comes back.
fn send(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(server: &Server, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: sim\r\nuser-agent: test\r\nx-api-key: secret\r\n\
         content-length: {length}\r\n\r\n"
    );
    send(server, format!("{head}{body}").as_bytes())
}

/// Status and body of an answer.
fn parts(answer: &str) -> (u16, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body)
}

fn json_body(answer: &str) -> (u16, Value) {
    let (status, body) = parts(answer);
    (status, serde_json::from_str(body).unwrap())
}

fn two_turns() -> Value {
    json!({
        "version": 1,
        "turns": [
            {
                "blocks": [{"text": "I write."}, {"tool": "Write", "input": {"path": "a"}}],
                "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2},
            },
            {"blocks": [{"text": "Done."}]},
        ],
        "conversations": [
            {"marker": "TASK_ID: T1.1\n", "turns": [{"blocks": [{"text": "I am at T1.1."}]}]},
            {"marker": "T1", "turns": [{"blocks": [{"text": "I am at the rest."}]}]},
        ],
        "sub_turns": [{"blocks": [{"text": "I am below."}]}],
    })
}

/// A conversation of the Messages API in which the model has spoken `count` times.
fn messages(prompt: &str, count: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": [{"type": "text", "text": prompt}]})];
    for _ in 0..count {
        messages.push(json!({"role": "assistant", "content": "SUBAGENT, go"}));
        messages.push(json!({"role": "user", "content": "SUBAGENT has answered"}));
    }
    json!({"model": "m", "stream": false, "tools": [{"name": "Write"}], "messages": messages})
}

/// The same for the Responses API; every answer is a text and a call.
fn responses(prompt: &str, count: usize) -> Value {
    let mut input = vec![
        json!({"role": "developer", "content": "obey"}),
        json!({"type": "message", "role": "user",
               "content": [{"type": "input_text", "text": prompt}]}),
    ];
    for _ in 0..count {
        input.push(json!({"type": "message", "role": "assistant", "content": []}));
        input.push(json!({"type": "function_call", "name": "a", "arguments": "{}"}));
        input.push(json!({"type": "function_call_output", "output": "SUBAGENT"}));
    }
    json!({"model": "m", "stream": false, "tools": [{"name": "a"}], "input": input})
}

/// The same for the Gemini API.
fn contents(prompt: &str, count: usize) -> Value {
    let mut contents = vec![
        json!({"role": "user", "parts": [{"text": "This is the folder."}]}),
        json!({"role": "user", "parts": [{"text": prompt}]}),
    ];
    for _ in 0..count {
        contents.push(json!({"role": "model", "parts": [{"text": "SUBAGENT, go"}]}));
        contents.push(json!({"role": "model", "parts": [{"functionCall": {"name": "a"}}]}));
        let response = json!({"name": "a", "response": {"output": "SUBAGENT"}});
        contents.push(json!({"role": "user", "parts": [{"functionResponse": response}]}));
    }
    json!({"contents": contents, "tools": [{"functionDeclarations": [{"name": "a"}]}]})
}

#[test]
fn the_gemini_api_answers_as_one_object_or_in_pieces() {
    let server = start(&two_turns(), None);
    let path = "/v1beta/models/m:generateContent";
    let (status, body) = json_body(&post(&server, path, &contents("go", 0)));
    let call = json!({"id": "call_sim_00000001", "name": "Write", "args": {"path": "a"}});
    let usage = json!({"promptTokenCount": 9, "cachedContentTokenCount": 4,
                       "candidatesTokenCount": 2, "totalTokenCount": 11});
    let want = json!({
        "responseId": "gen_sim_00000000", "modelVersion": "m", "usageMetadata": usage,
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "I write."}, {"functionCall": call},
        ]}}],
    });
    assert_eq!((status, body), (200, want));
    let path = "/v1beta/models/m:streamGenerateContent?alt=sse";
    let answer = post(&server, path, &contents("go", 0));
    let pieces: Vec<Value> = parts(&answer)
        .1
        .split("\r\n\r\n")
        .filter(|piece| !piece.is_empty())
        .map(|piece| serde_json::from_str(piece.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    let [first, last] = pieces.as_slice() else { panic!("{answer}") };
    assert_eq!(first["candidates"][0]["content"]["parts"], json!([{"text": "I write."}]));
    assert_eq!(first["candidates"][0]["finishReason"], Value::Null);
    assert_eq!(last["candidates"][0]["content"]["parts"][0]["functionCall"]["name"], "Write");
    assert_eq!(
        (&last["candidates"][0]["finishReason"], &last["usageMetadata"]["promptTokenCount"]),
        (&json!("STOP"), &json!(9))
    );
    let count = post(&server, "/v1beta/models/m:countTokens", &contents("go", 0));
    assert_eq!(json_body(&count), (200, json!({"totalTokens": 25})));
}

#[test]
fn the_messages_api_answers_as_one_object() {
    let server = start(&two_turns(), None);
    let (status, body) = json_body(&post(&server, "/v1/messages?beta=true", &messages("go", 0)));
    let want = json!({
        "id": "msg_sim_00000000", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "text", "text": "I write."},
            {"type": "tool_use", "id": "toolu_sim_00000001", "name": "Write",
             "input": {"path": "a"}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 9, "cache_creation_input_tokens": 0,
                  "cache_read_input_tokens": 4, "output_tokens": 2},
    });
    assert_eq!((status, body), (200, want));
}

#[test]
fn the_messages_api_streams() {
    let server = start(&two_turns(), None);
    let mut request = messages("go", 0);
    request["stream"] = true.into();
    insta::assert_snapshot!("messages_stream", post(&server, "/v1/messages", &request));
}

#[test]
fn the_responses_api_streams() {
    let server = start(&two_turns(), None);
    let mut request = responses("go", 0);
    request["stream"] = true.into();
    insta::assert_snapshot!("responses_stream", post(&server, "/v1/responses", &request));
}

#[test]
fn a_tool_of_free_text_is_a_custom_call_and_unknown_to_the_messages_api() {
    let script = json!({"version": 1, "turns": [
        {"blocks": [{"tool": "apply_patch", "input": "*** Begin Patch"}]},
    ]});
    let server = start(&script, None);
    let (status, body) = json_body(&post(&server, "/v1/responses", &responses("go", 0)));
    let want = json!([{
        "type": "custom_tool_call", "id": "ctc_sim_00000001", "call_id": "call_sim_00000001",
        "name": "apply_patch", "input": "*** Begin Patch", "status": "completed",
    }]);
    assert_eq!((status, &body["output"]), (200, &want));
    let (status, body) = json_body(&post(&server, "/v1/messages", &messages("go", 0)));
    assert_eq!(status, 400);
    let message = "the script gives `apply_patch` a text, and this API has no tools that take \
                   one: write an object";
    assert_eq!(body["error"]["message"], message);
}

const GENERATE: &str = "/v1beta/models/m:generateContent";

/// What the model says to a request of any protocol.
fn said(server: &Server, path: &str, request: &Value) -> String {
    let (status, body) = json_body(&post(server, path, request));
    assert_eq!(status, 200, "{body}");
    let text = match path {
        "/v1/messages" => &body["content"][0]["text"],
        GENERATE => &body["candidates"][0]["content"]["parts"][0]["text"],
        _ => &body["output"][0]["content"][0]["text"],
    };
    text.as_str().unwrap().to_owned()
}

#[test]
fn the_turn_follows_from_the_request_alone_in_all_protocols() {
    let server = start(&two_turns(), None);
    let end = "The script has no more turns.";
    // A repeated request gets the same answer, in whatever order they come.
    let table = [
        ("go", 1, "Done."),
        ("go", 0, "I write."),
        ("go", 0, "I write."),
        ("go", 2, end),
        ("you are the SUBAGENT", 0, "I am below."),
        ("you are the SUBAGENT", 1, end),
        ("TASK_ID: T1.1\ngo", 0, "I am at T1.1."),
        ("TASK_ID: T1.1\ngo", 1, end),
        ("TASK_ID: T1.12\ngo", 0, "I am at the rest."),
        ("SUBAGENT of TASK_ID: T1.1\n", 0, "I am below."),
    ];
    for (prompt, count, want) in table {
        let got = said(&server, "/v1/messages", &messages(prompt, count));
        assert_eq!(got, want, "messages, {prompt}, {count}");
        let got = said(&server, "/v1/responses", &responses(prompt, count));
        assert_eq!(got, want, "responses, {prompt}, {count}");
        let got = said(&server, GENERATE, &contents(prompt, count));
        assert_eq!(got, want, "generate, {prompt}, {count}");
    }
    for (path, mut request) in [
        ("/v1/messages", messages("go", 1)),
        ("/v1/responses", responses("go", 1)),
        (GENERATE, contents("go", 1)),
    ] {
        request.as_object_mut().unwrap().remove("tools");
        assert_eq!(said(&server, path, &request), "ok", "a title for {path}");
    }
}

#[test]
fn a_turn_waits_for_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (go, log) = (folder.path().join("go"), folder.path().join("log"));
    let turns = json!([{"blocks": [{"text": "at last"}], "until": go}]);
    let server = start(&json!({"version": 1, "turns": turns}), Some(&log));
    let told = std::thread::scope(|scope| {
        let told = scope.spawn(|| said(&server, "/v1/messages", &messages("go", 0)));
        // The request is logged before the model thinks about it.
        while std::fs::read_to_string(&log).unwrap_or_default().is_empty() {
            std::thread::yield_now();
        }
        assert!(!told.is_finished());
        drop(std::fs::File::create(&go).unwrap());
        told.join().unwrap()
    });
    assert_eq!(told, "at last");
}

#[test]
fn scripted_errors_come_first_and_then_the_answer() {
    let script = json!({"version": 1, "turns": [
        {"blocks": [{"text": "late"}], "error": {"status": 529, "times": 2}},
        {"blocks": [{"text": "later"}], "error": {"status": 429}},
        {"blocks": [{"text": "last"}], "error": {"status": 503}},
    ]});
    let server = start(&script, None);
    for _ in 0..2 {
        let (status, body) = json_body(&post(&server, "/v1/messages", &messages("go", 0)));
        assert_eq!((status, &body["error"]["type"]), (529, &json!("overloaded_error")));
    }
    assert_eq!(said(&server, "/v1/messages", &messages("go", 0)), "late");
    let (status, body) = json_body(&post(&server, "/v1/responses", &responses("go", 1)));
    assert_eq!((status, &body["error"]["code"]), (429, &json!("rate_limit_exceeded")));
    assert_eq!(said(&server, "/v1/responses", &responses("go", 1)), "later");
    let (status, body) = json_body(&post(&server, GENERATE, &contents("go", 2)));
    assert_eq!((status, &body["error"]["status"]), (503, &json!("UNAVAILABLE")));
    assert_eq!(said(&server, GENERATE, &contents("go", 2)), "last");
}

#[test]
fn an_outage_lasts_until_its_file_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let back = folder.path().join("back");
    let turn = json!({"blocks": [{"text": "again"}], "error": {"status": 503, "until": &back}});
    let server = start(&json!({"version": 1, "turns": [turn]}), None);
    for _ in 0..3 {
        let (status, _) = json_body(&post(&server, "/v1/messages", &messages("go", 0)));
        assert_eq!(status, 503);
    }
    drop(std::fs::File::create(&back).unwrap());
    assert_eq!(said(&server, "/v1/messages", &messages("go", 0)), "again");
}

#[test]
fn a_turn_that_is_delayed_keeps_nobody_else_waiting() {
    let script = json!({"version": 1, "turns": [
        {"blocks": [{"text": "late"}], "delay_ms": 600_000},
        {"blocks": [{"text": "at once"}]},
    ]});
    let server = start(&script, None);
    let body = messages("go", 0).to_string();
    let head = format!("POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
    let mut waiting = TcpStream::connect(server.address()).unwrap();
    waiting.write_all(format!("{head}{body}").as_bytes()).unwrap();
    assert_eq!(said(&server, "/v1/messages", &messages("go", 1)), "at once");
    waiting.set_nonblocking(true).unwrap();
    let error = waiting.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

#[test]
fn every_request_is_logged_with_what_the_model_was_shown_and_without_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let server = start(&two_turns(), Some(&path));
    send(&server, b"HEAD / HTTP/1.1\r\n\r\n");
    post(&server, "/v1/messages?beta=true", &messages("go", 1));
    post(&server, "/v1/responses", &json!({"input": 7}));
    let log = std::fs::read_to_string(&path).unwrap();
    assert!(!log.contains("secret"), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let want = [
        json!({"method": "HEAD", "path": "/", "user_agent": null, "protocol": null,
               "conversation": null, "turn": null, "status": 200, "body": null}),
        json!({"method": "POST", "path": "/v1/messages?beta=true", "user_agent": "test",
               "protocol": "messages", "conversation": "main", "turn": 1, "status": 200,
               "body": messages("go", 1)}),
        json!({"method": "POST", "path": "/v1/responses", "user_agent": "test",
               "protocol": "responses", "conversation": null, "turn": null, "status": 400,
               "body": {"input": 7}}),
    ];
    assert_eq!(lines, want);
}

#[test]
fn what_is_not_a_question_to_a_model_has_an_answer_too() {
    let server = start(&two_turns(), None);
    let status = |bytes: &[u8]| parts(&send(&server, bytes)).0;
    assert_eq!(status(b"HEAD / HTTP/1.1\r\n\r\n"), 200);
    assert_eq!(status(b"GET /v1/models HTTP/1.1\r\n\r\n"), 200);
    assert_eq!(status(b"GET /v1/elsewhere HTTP/1.1\r\n\r\n"), 404);
    assert_eq!(status(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 4\r\n\r\n{{{{"), 400);
    assert_eq!(status(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n"), 413);
    assert_eq!(status(b"nonsense\r\n\r\n"), 400);
    let count = post(&server, "/v1/messages/count_tokens", &messages("go", 0));
    assert_eq!(json_body(&count), (200, json!({"input_tokens": 25})));
}

#[test]
fn a_server_that_is_dropped_listens_no_more() {
    let server = start(&two_turns(), None);
    let address = server.address();
    assert!(address.ip().is_loopback());
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}
