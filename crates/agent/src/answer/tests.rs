//! Answers in the form that each program wants, also to questions that make no sense.

use super::*;
use crate::stream;
use insta::assert_snapshot;
use serde_json::json;

fn asked(adapter: Adapter, line: &Value) -> Ask {
    stream::ask(adapter, &line.to_string()).unwrap()
}

fn shown(adapter: Adapter, line: &Value, given: &Answer) -> String {
    match answer(adapter, &asked(adapter, line), given) {
        Ok(line) => line,
        Err(error) => format!("! {error}"),
    }
}

fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: reason.to_owned() }
}

fn chosen(items: &[&[&str]]) -> Answer {
    let texts = |item: &&[&str]| item.iter().map(ToString::to_string).collect();
    Answer::Chosen(items.iter().map(texts).collect())
}

fn lines(lines: &[String]) -> String {
    lines.join("\n")
}

#[test]
fn a_call_that_is_said_back_is_not_made_with_a_mark_in_it() {
    let call = |input: Value| {
        let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": input});
        let line = json!({"type": "control_request", "request_id": "r1", "request": request});
        let answer = shown(Adapter::CLAUDE, &line, &Answer::Allow);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["response"]["response"]["behavior"].as_str().unwrap().to_owned()
    };
    assert_eq!(call(json!({"command": "curl -H \"$KEY\""})), "allow");
    assert_eq!(call(json!({"command": "curl -H [redacted]"})), "deny");
    assert_eq!(call(json!({"deep": [{"[redacted]": 1}]})), "deny");
}

#[test]
fn claude_is_answered_with_control_responses() {
    let request = |subtype: &str, tool: &str, input: Value| {
        let request = json!({"subtype": subtype, "tool_name": tool, "input": input});
        json!({"type": "control_request", "request_id": "r1", "request": request})
    };
    let bash = request("can_use_tool", "Bash", json!({"command": "git push"}));
    let questions = json!({"questions": [
        {"question": "Which?", "options": [{"label": "a"}, {"label": "b"}], "multiSelect": true},
        {"question": "Why?", "options": []},
    ]});
    let question = request("can_use_tool", "AskUserQuestion", questions);
    let odd = request("can_use_tool", "AskUserQuestion", json!(["no object"]));
    let deferred =
        json!({"type": "result", "deferred_tool_use": {"id": "t", "name": "Bash", "input": {}}});
    let told = [
        shown(Adapter::CLAUDE, &bash, &Answer::Allow),
        shown(Adapter::CLAUDE, &bash, &deny("not before the review")),
        shown(Adapter::CLAUDE, &bash, &deny("")),
        shown(Adapter::CLAUDE, &bash, &chosen(&[&["allow"]])),
        shown(Adapter::CLAUDE, &bash, &chosen(&[&["deny"]])),
        shown(Adapter::CLAUDE, &bash, &chosen(&[&["perhaps"]])),
        shown(Adapter::CLAUDE, &bash, &chosen(&[])),
        shown(Adapter::CLAUDE, &question, &chosen(&[&["a", "b"], &["because"]])),
        shown(Adapter::CLAUDE, &question, &deny("nobody is there")),
        shown(Adapter::CLAUDE, &odd, &chosen(&[])),
        shown(Adapter::CLAUDE, &request("hook_callback", "", json!({})), &Answer::Allow),
        shown(Adapter::CLAUDE, &deferred, &Answer::Allow),
    ];
    assert_snapshot!(lines(&told), @r#"
    {"response":{"request_id":"r1","response":{"behavior":"allow","updatedInput":{"command":"git push"}},"subtype":"success"},"type":"control_response"}
    {"response":{"request_id":"r1","response":{"behavior":"deny","message":"not before the review"},"subtype":"success"},"type":"control_response"}
    {"response":{"request_id":"r1","response":{"behavior":"deny","message":"refused"},"subtype":"success"},"type":"control_response"}
    {"response":{"request_id":"r1","response":{"behavior":"allow","updatedInput":{"command":"git push"}},"subtype":"success"},"type":"control_response"}
    {"response":{"request_id":"r1","response":{"behavior":"deny","message":"refused"},"subtype":"success"},"type":"control_response"}
    ! the answer fits none of the choices
    ! the question has 1 items, and 0 were answered
    {"response":{"request_id":"r1","response":{"behavior":"allow","updatedInput":{"answers":{"Which?":"a, b","Why?":"because"},"questions":[{"multiSelect":true,"options":[{"label":"a"},{"label":"b"}],"question":"Which?"},{"options":[],"question":"Why?"}]}},"subtype":"success"},"type":"control_response"}
    {"response":{"request_id":"r1","response":{"behavior":"deny","message":"nobody is there"},"subtype":"success"},"type":"control_response"}
    {"response":{"request_id":"r1","response":{"behavior":"allow","updatedInput":{"answers":{}}},"subtype":"success"},"type":"control_response"}
    {"response":{"error":"this client does not know the request","request_id":"r1","subtype":"error"},"type":"control_response"}
    ! the question was put off: its hook answers when the conversation is resumed
    "#);
}

#[test]
fn codex_is_answered_with_results() {
    let request =
        |method: &str, params: Value| json!({"id": 3, "method": method, "params": params});
    let command = request("item/commandExecution/requestApproval", json!({"command": "ls"}));
    let change = request("item/fileChange/requestApproval", json!({"itemId": "i"}));
    let permissions = request(
        "item/permissions/requestApproval",
        json!({"permissions": {"network": {"enabled": true}, "fileSystem": null}}),
    );
    let question = request(
        "item/tool/requestUserInput",
        json!({"questions": [{"id": "db", "question": "Which?", "options": [{"label": "a"}]}]}),
    );
    let form = request(
        "mcpServer/elicitation/request",
        json!({"message": "Please", "requestedSchema": {"properties": {
            "age": {"type": "integer"}, "name": {"type": "string", "title": "Your name"},
            "tags": {"type": "array"}}}}),
    );
    let page =
        request("mcpServer/elicitation/request", json!({"message": "Visit", "url": "http://x"}));
    let told = [
        shown(Adapter::CODEX, &command, &Answer::Allow),
        shown(Adapter::CODEX, &change, &deny("no")),
        shown(Adapter::CODEX, &permissions, &Answer::Allow),
        shown(Adapter::CODEX, &permissions, &deny("no")),
        shown(Adapter::CODEX, &question, &chosen(&[&["a"]])),
        shown(Adapter::CODEX, &question, &deny("no")),
        shown(Adapter::CODEX, &form, &chosen(&[&["7"], &["Ann"], &["x", "y"]])),
        shown(Adapter::CODEX, &form, &chosen(&[&["many"], &["Ann"], &[]])),
        shown(Adapter::CODEX, &form, &deny("no")),
        shown(Adapter::CODEX, &page, &Answer::Allow),
        shown(Adapter::CODEX, &request("attestation/generate", json!({})), &Answer::Allow),
    ];
    assert_snapshot!(lines(&told), @r#"
    {"id":3,"jsonrpc":"2.0","result":{"decision":"accept"}}
    {"id":3,"jsonrpc":"2.0","result":{"decision":"decline"}}
    {"id":3,"jsonrpc":"2.0","result":{"permissions":{"network":{"enabled":true}},"scope":"turn"}}
    {"id":3,"jsonrpc":"2.0","result":{"permissions":{},"scope":"turn"}}
    {"id":3,"jsonrpc":"2.0","result":{"answers":{"db":{"answers":["a"]}}}}
    {"id":3,"jsonrpc":"2.0","result":{"answers":{"db":{"answers":[]}}}}
    {"id":3,"jsonrpc":"2.0","result":{"_meta":null,"action":"accept","content":{"age":7,"name":"Ann","tags":["x","y"]}}}
    {"id":3,"jsonrpc":"2.0","result":{"_meta":null,"action":"accept","content":{"age":"many","name":"Ann","tags":[]}}}
    {"id":3,"jsonrpc":"2.0","result":{"_meta":null,"action":"decline","content":null}}
    {"id":3,"jsonrpc":"2.0","result":{"_meta":null,"action":"accept","content":{}}}
    {"error":{"code":-32601,"message":"this client does not know the request"},"id":3,"jsonrpc":"2.0"}
    "#);
}

#[test]
fn acp_agents_are_answered_with_one_of_their_options() {
    let request = |kinds: &[&str]| {
        let option =
            |kind: &&str| json!({"optionId": format!("id_{kind}"), "name": kind, "kind": kind});
        let options: Vec<Value> = kinds.iter().map(option).collect();
        json!({"jsonrpc": "2.0", "id": "x", "method": "session/request_permission",
               "params": {"options": options, "toolCall": {"toolCallId": "c", "title": "ls"}}})
    };
    let usual = request(&["allow_always", "allow_once", "reject_once"]);
    let table = [
        (usual.clone(), Answer::Allow),
        (usual.clone(), deny("no")),
        (usual.clone(), chosen(&[&["id_allow_always"]])),
        (usual.clone(), chosen(&[&["other"]])),
        (usual, chosen(&[&[]])),
        (request(&["allow_always"]), Answer::Allow),
        (request(&["allow_always"]), deny("no")),
        (request(&["reject_always"]), deny("no")),
        (json!({"id": 1, "method": "terminal/create", "params": {}}), Answer::Allow),
    ];
    let told = table.map(|(line, given)| shown(Adapter::ACP, &line, &given));
    assert_snapshot!(lines(&told), @r#"
    {"id":"x","jsonrpc":"2.0","result":{"outcome":{"optionId":"id_allow_once","outcome":"selected"}}}
    {"id":"x","jsonrpc":"2.0","result":{"outcome":{"optionId":"id_reject_once","outcome":"selected"}}}
    {"id":"x","jsonrpc":"2.0","result":{"outcome":{"optionId":"id_allow_always","outcome":"selected"}}}
    ! the answer fits none of the choices
    ! the answer fits none of the choices
    ! the answer fits none of the choices
    {"id":"x","jsonrpc":"2.0","result":{"outcome":{"outcome":"cancelled"}}}
    {"id":"x","jsonrpc":"2.0","result":{"outcome":{"optionId":"id_reject_always","outcome":"selected"}}}
    {"error":{"code":-32601,"message":"this client does not know the request"},"id":1,"jsonrpc":"2.0"}
    "#);
}

#[test]
fn messages_and_the_wish_to_stop_have_a_form_for_each_program() {
    let told = Adapter::all().map(|adapter| {
        let message = message(adapter, "s1", 2, "Go on,\n\"please\"");
        let stop = interrupt(adapter, "s1", Some("t1"), 3);
        format!("{adapter}\n{message:?}\n{stop:?}")
    });
    let told: Vec<String> = told.collect();
    assert_snapshot!(lines(&told), @r#"
    claude
    Some("{\"message\":{\"content\":\"Go on,\\n\\\"please\\\"\",\"role\":\"user\"},\"type\":\"user\"}")
    Some("{\"request\":{\"subtype\":\"interrupt\"},\"request_id\":\"interrupt-3\",\"type\":\"control_request\"}")
    codex
    Some("{\"id\":\"prompt-2\",\"jsonrpc\":\"2.0\",\"method\":\"turn/start\",\"params\":{\"input\":[{\"text\":\"Go on,\\n\\\"please\\\"\",\"text_elements\":[],\"type\":\"text\"}],\"threadId\":\"s1\"}}")
    Some("{\"id\":\"interrupt-3\",\"jsonrpc\":\"2.0\",\"method\":\"turn/interrupt\",\"params\":{\"threadId\":\"s1\",\"turnId\":\"t1\"}}")
    codex-exec
    None
    None
    acp
    Some("{\"id\":\"prompt-2\",\"jsonrpc\":\"2.0\",\"method\":\"session/prompt\",\"params\":{\"prompt\":[{\"text\":\"Go on,\\n\\\"please\\\"\",\"type\":\"text\"}],\"sessionId\":\"s1\"}}")
    Some("{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"s1\"}}")
    plain
    Some("Go on,\n\"please\"\n=== END OF MESSAGE ===")
    None
    "#);
    assert_eq!(interrupt(Adapter::CODEX, "s1", None, 3), None);
}

#[test]
fn what_is_no_question_is_not_answered() {
    let line = json!({"id": 3, "method": "item/fileChange/requestApproval", "params": {}});
    let ask = asked(Adapter::CODEX, &line);
    assert_eq!(answer(Adapter::CODEX_EXEC, &ask, &Answer::Allow), Err(Unanswerable::Deaf));
    let ask = Ask { raw: "no".to_owned(), ..ask };
    assert_eq!(answer(Adapter::CODEX, &ask, &Answer::Allow), Err(Unanswerable::Unreadable));
}
