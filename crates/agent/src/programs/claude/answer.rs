//! What is said to Claude Code, and what its permissions are for.

use super::stream::ASK_TOOL;
use crate::answer::{Answer, CLEAR_SECRET, UNKNOWN, Unanswerable, has_mark, is_allowed, reason};
use crate::rpc;
use crate::stream::{Ask, AskKind};
use crate::want::{edit, run};
use serde_json::{Map, Value, json};
use waypost_model::permission::Want;

pub(super) fn said(text: &str) -> String {
    let message = json!({"role": "user", "content": text});
    json!({"type": "user", "message": message}).to_string()
}

pub(super) fn interrupt(number: u32) -> String {
    let id = format!("{}{number}", rpc::INTERRUPT);
    let request = json!({"subtype": "interrupt"});
    json!({"type": "control_request", "request_id": id, "request": request}).to_string()
}

pub(super) fn answer(ask: &Ask, line: &Value, answer: &Answer) -> Result<String, Unanswerable> {
    if line["type"] != "control_request" {
        return Err(Unanswerable::Deferred);
    }
    let id = &line["request_id"];
    let respond =
        |response: Value| json!({"type": "control_response", "response": response}).to_string();
    if ask.kind == AskKind::Unknown {
        return Ok(respond(json!({"subtype": "error", "request_id": id, "error": UNKNOWN})));
    }
    let input = &line["request"]["input"];
    let decision = match answer {
        Answer::Chosen(chosen) if ask.tool == ASK_TOOL => {
            let answers = ask.items.iter().zip(chosen);
            let answers: Map<String, Value> =
                answers.map(|(item, ids)| (item.key.clone(), json!(ids.join(", ")))).collect();
            let mut input = input.as_object().cloned().unwrap_or_default();
            input.insert("answers".to_owned(), Value::Object(answers));
            json!({"behavior": "allow", "updatedInput": input})
        }
        // The call would be made as it is said back, with the mark in the place of the secret.
        answer if is_allowed(answer)? && has_mark(input) => {
            json!({"behavior": "deny", "message": CLEAR_SECRET})
        }
        answer if is_allowed(answer)? => json!({"behavior": "allow", "updatedInput": input}),
        answer => json!({"behavior": "deny", "message": reason(answer)}),
    };
    Ok(respond(json!({"subtype": "success", "request_id": id, "response": decision})))
}

/// A call that is said back with a mark in the place of a secret cannot be allowed.
pub(super) fn impossible(ask: &Ask, line: &Value) -> Option<&'static str> {
    let is_call = ask.kind == AskKind::Permission && has_mark(&line["request"]["input"]);
    is_call.then_some(CLEAR_SECRET)
}

pub(super) fn want(ask: &Ask, line: &Value) -> Want {
    let input = &line["request"]["input"];
    let path = |name: &str| input[name].as_str().map(str::to_owned).into_iter().collect();
    match ask.tool.as_str() {
        "Bash" => run(&input["command"]),
        "Edit" | "MultiEdit" | "Write" => edit(path("file_path")),
        "NotebookEdit" => edit(path("notebook_path")),
        _ => Want::Other,
    }
}
