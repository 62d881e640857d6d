//! What is said to a running program: messages, answers to its questions, and to stop.
//!
//! Every function makes one line of input. All of them need only what was stored, so that any
//! process of ours can speak in a conversation that another one began.

use crate::adapter::Adapter;
use crate::rpc;
use crate::stream::json::{items, parse};
use crate::stream::{ALLOW, ASK_TOOL, Ask, AskKind, DENY};
use serde_json::{Map, Value, json};

/// What a person, or the engine in their place, answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Allow,
    /// The reason is told to the agent where the program has a place for it.
    Deny {
        reason: String,
    },
    /// For each item of the question, in order: the ids of the choices taken, or a free text.
    Chosen(Vec<Vec<String>>),
}

/// Why there is no line that would answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    #[error("the question was put off: its hook answers when the conversation is resumed")]
    Deferred,
    #[error("the program takes no answers")]
    Deaf,
    #[error("the stored question cannot be read")]
    Unreadable,
    #[error("the question has {wanted} items, and {given} were answered")]
    Count { wanted: usize, given: usize },
    #[error("the answer fits none of the choices")]
    NoSuchChoice,
}

/// A further message to the agent; none if the program takes only one. `number` differs between
/// the messages of a process. A message during a turn becomes part of that turn.
pub fn message(adapter: Adapter, session: &str, number: u32, text: &str) -> Option<String> {
    let id = format!("{}{number}", rpc::PROMPT);
    match adapter {
        Adapter::Claude => Some(claude_message(text)),
        Adapter::Codex => {
            let input = json!([{"type": "text", "text": text, "text_elements": []}]);
            let params = json!({"threadId": session, "input": input});
            Some(rpc::request(&id, "turn/start", &params))
        }
        Adapter::Acp => {
            let prompt = json!([{"type": "text", "text": text}]);
            let params = json!({"sessionId": session, "prompt": prompt});
            Some(rpc::request(&id, "session/prompt", &params))
        }
        Adapter::CodexExec => None,
    }
}

pub(crate) fn claude_message(text: &str) -> String {
    let message = json!({"role": "user", "content": text});
    json!({"type": "user", "message": message}).to_string()
}

/// Ends the turn and keeps the conversation; none if the program can only be stopped by a signal.
/// Codex wants the id of the turn.
pub fn interrupt(
    adapter: Adapter,
    session: &str,
    turn: Option<&str>,
    number: u32,
) -> Option<String> {
    let id = format!("{}{number}", rpc::INTERRUPT);
    match adapter {
        Adapter::Claude => {
            let request = json!({"subtype": "interrupt"});
            let line = json!({"type": "control_request", "request_id": id, "request": request});
            Some(line.to_string())
        }
        Adapter::Codex => {
            let params = json!({"threadId": session, "turnId": turn?});
            Some(rpc::request(&id, "turn/interrupt", &params))
        }
        Adapter::Acp => Some(rpc::notification("session/cancel", &json!({"sessionId": session}))),
        Adapter::CodexExec => None,
    }
}

/// The line that answers a question. A request of a kind that we do not know is refused, whatever
/// the answer is.
pub fn answer(adapter: Adapter, ask: &Ask, answer: &Answer) -> Result<String, Unanswerable> {
    let line = parse(ask.raw.as_bytes()).ok_or(Unanswerable::Unreadable)?;
    if let Answer::Chosen(chosen) = answer
        && chosen.len() != ask.items.len()
    {
        return Err(Unanswerable::Count { wanted: ask.items.len(), given: chosen.len() });
    }
    match adapter {
        Adapter::Claude => claude(ask, &line, answer),
        Adapter::Codex => codex(ask, &line, answer),
        Adapter::Acp => acp(ask, &line, answer),
        Adapter::CodexExec => Err(Unanswerable::Deaf),
    }
}

/// The refusal of a request that we do not know.
const UNKNOWN: &str = "this client does not know the request";

/// Whether a permission is given. The choices of a permission without own ones are ours.
fn is_allowed(answer: &Answer) -> Result<bool, Unanswerable> {
    match answer {
        Answer::Allow => Ok(true),
        Answer::Deny { .. } => Ok(false),
        Answer::Chosen(chosen) => {
            match chosen.first().and_then(|ids| ids.first()).map(String::as_str) {
                Some(ALLOW) => Ok(true),
                Some(DENY) => Ok(false),
                _ => Err(Unanswerable::NoSuchChoice),
            }
        }
    }
}

fn reason(answer: &Answer) -> &str {
    match answer {
        Answer::Deny { reason } if !reason.is_empty() => reason,
        _ => "refused",
    }
}

fn claude(ask: &Ask, line: &Value, answer: &Answer) -> Result<String, Unanswerable> {
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
        answer if is_allowed(answer)? => json!({"behavior": "allow", "updatedInput": input}),
        answer => json!({"behavior": "deny", "message": reason(answer)}),
    };
    Ok(respond(json!({"subtype": "success", "request_id": id, "response": decision})))
}

fn codex(ask: &Ask, line: &Value, answer: &Answer) -> Result<String, Unanswerable> {
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
            let field = |(item, texts): (&crate::stream::AskItem, &Vec<String>)| {
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

fn acp(ask: &Ask, line: &Value, answer: &Answer) -> Result<String, Unanswerable> {
    let id = &line["id"];
    if ask.kind == AskKind::Unknown {
        return Ok(rpc::refusal(id, UNKNOWN));
    }
    let options = items(&line["params"]["options"]);
    let of_kind = |kind: &str| options.iter().find(|option| option["kind"] == kind);
    let option = match answer {
        // A permission for ever is never given where one for this time is wanted.
        Answer::Allow => Some(of_kind("allow_once").ok_or(Unanswerable::NoSuchChoice)?),
        Answer::Deny { .. } => of_kind("reject_once").or_else(|| of_kind("reject_always")),
        Answer::Chosen(chosen) => {
            let wanted = chosen.first().and_then(|ids| ids.first());
            let option = options
                .iter()
                .find(|option| option["optionId"].as_str() == wanted.map(String::as_str));
            Some(option.filter(|_| wanted.is_some()).ok_or(Unanswerable::NoSuchChoice)?)
        }
    };
    let outcome = match option {
        Some(option) => json!({"outcome": "selected", "optionId": option["optionId"]}),
        None => json!({"outcome": "cancelled"}),
    };
    Ok(rpc::result(id, &json!({"outcome": outcome})))
}

#[cfg(test)]
mod tests;
