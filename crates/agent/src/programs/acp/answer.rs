//! What is said to an agent of the Agent Client Protocol, and what its permissions are for.

use crate::answer::{Answer, UNKNOWN, Unanswerable};
use crate::rpc;
use crate::stream::json::items;
use crate::stream::{Ask, AskKind};
use crate::want::{edit, run};
use serde_json::{Value, json};
use waypost_model::permission::Want;

pub(super) fn message(session: &str, number: u32, text: &str) -> String {
    let id = format!("{}{number}", rpc::PROMPT);
    let prompt = json!([{"type": "text", "text": text}]);
    rpc::request(&id, "session/prompt", &json!({"sessionId": session, "prompt": prompt}))
}

pub(super) fn interrupt(session: &str) -> String {
    rpc::notification("session/cancel", &json!({"sessionId": session}))
}

pub(super) fn answer(ask: &Ask, line: &Value, answer: &Answer) -> Result<String, Unanswerable> {
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

/// An agent of the Agent Client Protocol tells the kind of a call and which files it is about.
pub(super) fn want(line: &Value) -> Want {
    let call = &line["params"]["toolCall"];
    match call["kind"].as_str() {
        Some("edit" | "delete" | "move") => {
            let path = |it: &Value| it["path"].as_str().map(str::to_owned);
            let diffs = items(&call["content"]).iter().filter(|it| it["type"] == "diff");
            let paths = items(&call["locations"]).iter().chain(diffs).filter_map(path);
            let mut paths: Vec<String> = paths.collect();
            paths.sort();
            paths.dedup();
            edit(paths)
        }
        // Gemini CLI tells the command only as the title, which is the command as it is.
        Some("execute") => match &call["rawInput"]["command"] {
            Value::Null => run(&call["title"]),
            command => run(command),
        },
        _ => Want::Other,
    }
}
