//! What a permission is asked for: the files that would be changed, or the command that would run.
//!
//! Only fields that the program itself fills in from the call count, never its words for people: a
//! title may be shortened, or worded by the model.

use crate::adapter::Adapter;
use crate::stream::Ask;
use crate::stream::json::{items, parse};
use serde_json::Value;
use std::{ffi::OsStr, path::Path};
use waypost_model::permission::Want;

/// Reads what a permission is for; anything that is not certain is [`Want::Other`].
pub fn want(adapter: Adapter, ask: &Ask) -> Want {
    let Some(line) = parse(ask.raw.as_bytes()) else { return Want::Other };
    match adapter {
        Adapter::Claude => claude(ask, &line["request"]["input"]),
        Adapter::Codex => codex(&line),
        Adapter::Acp => acp(&line["params"]["toolCall"]),
        Adapter::CodexExec => Want::Other,
    }
}

/// Folders whose files tell git or an agent program what to run, or keep our own state.
const GUARDED: [&str; 5] = [".git", ".claude", ".codex", ".gemini", ".waypost"];

/// Whether a file below a work tree is one that no agent may change without a person's word.
pub fn is_guarded(path: &Path) -> bool {
    let is_guarded = |part: &OsStr| GUARDED.iter().any(|it| part.eq_ignore_ascii_case(it));
    path.iter().any(is_guarded)
}

fn run(command: &Value) -> Want {
    match command.as_str() {
        Some(command) if !command.is_empty() => Want::Run { command: command.to_owned() },
        _ => Want::Other,
    }
}

fn edit(paths: Vec<String>) -> Want {
    if paths.is_empty() { Want::Other } else { Want::Edit { paths } }
}

fn claude(ask: &Ask, input: &Value) -> Want {
    let path = |name: &str| input[name].as_str().map(str::to_owned).into_iter().collect();
    match ask.tool.as_str() {
        "Bash" => run(&input["command"]),
        "Edit" | "MultiEdit" | "Write" => edit(path("file_path")),
        "NotebookEdit" => edit(path("notebook_path")),
        _ => Want::Other,
    }
}

fn codex(line: &Value) -> Want {
    match line["method"].as_str() {
        Some("item/commandExecution/requestApproval") => run(&line["params"]["command"]),
        _ => Want::Other,
    }
}

/// An agent of the Agent Client Protocol tells the kind of a call and which files it is about.
fn acp(call: &Value) -> Want {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Reader, Said};
    use serde_json::json;

    fn wanted(adapter: Adapter, line: &Value) -> Want {
        let said = Reader::new(adapter).read(format!("{line}\n").as_bytes());
        let ask = said.into_iter().find_map(|said| match said {
            Said::Asked(ask) => Some(ask),
            _ => None,
        });
        want(adapter, &ask.unwrap())
    }

    fn edits(path: &str) -> Want {
        Want::Edit { paths: vec![path.to_owned()] }
    }

    fn runs(command: &str) -> Want {
        Want::Run { command: command.to_owned() }
    }

    #[test]
    fn the_files_and_commands_of_each_program_are_found() {
        let claude = |tool: &str, input: Value| {
            let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": input});
            json!({"type": "control_request", "request_id": "1", "request": request})
        };
        let acp = |call: Value| {
            json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
                   "params": {"sessionId": "s", "options": [], "toolCall": call}})
        };
        let codex = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params});
        let diff = json!([{"type": "diff", "path": "/w/a", "oldText": "", "newText": "x"}]);
        let table = [
            (Adapter::Claude, claude("Bash", json!({"command": "git tag x"})), runs("git tag x")),
            (Adapter::Claude, claude("Write", json!({"file_path": "/w/a"})), edits("/w/a")),
            (Adapter::Claude, claude("WebFetch", json!({"url": "https://x"})), Want::Other),
            (
                Adapter::Codex,
                codex(
                    "item/commandExecution/requestApproval",
                    json!({"itemId": "i", "command": "git tag x"}),
                ),
                runs("git tag x"),
            ),
            (
                Adapter::Acp,
                acp(json!({"toolCallId": "c", "kind": "edit", "title": "Writing to a",
                           "content": diff, "locations": [{"path": "/w/a"}]})),
                edits("/w/a"),
            ),
            (
                Adapter::Acp,
                acp(json!({"toolCallId": "c", "kind": "edit", "title": "/w/a"})),
                Want::Other,
            ),
            (
                Adapter::Acp,
                acp(json!({"toolCallId": "c", "kind": "execute", "title": "git tag x",
                           "locations": []})),
                runs("git tag x"),
            ),
            (
                Adapter::Acp,
                acp(json!({"toolCallId": "c", "kind": "fetch", "title": "https://x"})),
                Want::Other,
            ),
        ];
        for (adapter, line, want) in table {
            assert_eq!(wanted(adapter, &line), want, "{line}");
        }
    }
}
