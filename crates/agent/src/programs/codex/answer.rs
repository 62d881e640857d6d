//! What is said to the server of Codex, and what its permissions are for.

use crate::answer::{Answer, UNKNOWN, Unanswerable, is_allowed};
use crate::rpc;
use crate::stream::{Ask, AskItem};
use crate::want::run;
use serde_json::{Map, Value, json};
use waypost_model::permission::Want;

pub(super) fn message(session: &str, number: u32, text: &str) -> String {
    let id = format!("{}{number}", rpc::PROMPT);
    let input = json!([{"type": "text", "text": text, "text_elements": []}]);
    rpc::request(&id, "turn/start", &json!({"threadId": session, "input": input}))
}

pub(super) fn interrupt(session: &str, turn: &str, number: u32) -> String {
    let id = format!("{}{number}", rpc::INTERRUPT);
    rpc::request(&id, "turn/interrupt", &json!({"threadId": session, "turnId": turn}))
}

pub(super) fn answer(ask: &Ask, line: &Value, answer: &Answer) -> Result<String, Unanswerable> {
    let id = &line["id"];
    let params = &line["params"];
    let result = match line["method"].as_str().unwrap_or_default() {
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            json!({"decision": if is_allowed(answer)? { "accept" } else { "decline" }})
        }
        "item/permissions/requestApproval" => {
            let granted =
                if is_allowed(answer)? { without_nulls(&params["permissions"]) } else { json!({}) };
            json!({"permissions": granted, "scope": "turn"})
        }
        "item/tool/requestUserInput" => {
            let answers = match answer {
                Answer::Chosen(chosen) => chosen.clone(),
                // The tool has no refusal: no answer is one.
                _ => vec![Vec::new(); ask.items.len()],
            };
            let answers = ask.items.iter().zip(answers);
            let answers: Map<String, Value> = answers
                .map(|(item, texts)| (item.key.clone(), json!({"answers": texts})))
                .collect();
            json!({"answers": answers})
        }
        "mcpServer/elicitation/request" => elicited(ask, params, answer),
        _ => return Ok(rpc::refusal(id, UNKNOWN)),
    };
    Ok(rpc::result(id, &result))
}

fn without_nulls(value: &Value) -> Value {
    let fields = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    fields.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into()
}

/// A filled form. Numbers and the like are read from the text that a person wrote.
fn elicited(ask: &Ask, params: &Value, answer: &Answer) -> Value {
    let content = match answer {
        Answer::Deny { .. } => return json!({"action": "decline", "content": null, "_meta": null}),
        Answer::Allow => json!({}),
        Answer::Chosen(chosen) => {
            let fields = ask.items.iter().zip(chosen).filter(|(item, _)| !item.key.is_empty());
            let field = |(item, texts): (&AskItem, &Vec<String>)| {
                let text = texts.join(", ");
                let kind = params["requestedSchema"]["properties"][&item.key]["type"].as_str();
                let value = match kind {
                    Some("number" | "integer" | "boolean") => serde_json::from_str(&text).ok(),
                    Some("array") => Some(json!(texts)),
                    _ => None,
                };
                (item.key.clone(), value.unwrap_or(Value::String(text)))
            };
            Value::Object(fields.map(field).collect())
        }
    };
    json!({"action": "accept", "content": content, "_meta": null})
}

pub(super) fn want(line: &Value) -> Want {
    match line["method"].as_str() {
        Some("item/commandExecution/requestApproval") => run(&line["params"]["command"]),
        _ => Want::Other,
    }
}
