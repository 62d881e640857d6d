//! What a permission is asked for: the files that would be changed, or the command that would run.
//!
//! Only fields that the program itself fills in from the call count, never its words for people: a
//! title may be shortened, or worded by the model.

use crate::adapter::Adapter;
use crate::programs::Programs;
use crate::stream::Ask;
use crate::stream::json::parse;
use serde_json::Value;
use std::{ffi::OsStr, path::Path};
use waypost_model::permission::Want;

/// Reads what a permission is for; anything that is not certain is [`Want::Other`].
pub fn want(adapter: Adapter, ask: &Ask) -> Want {
    let Some(line) = parse(ask.raw.as_bytes()) else { return Want::Other };
    adapter.want(ask, &line)
}

/// Folders whose files tell git what to run, or keep our own state. Those of agent programs count as
/// well.
const GUARDED: [&str; 2] = [".git", ".waypost"];

impl Programs {
    /// Whether a file below a work tree is one that no agent may change without a person's word.
    pub fn is_guarded(&self, path: &Path) -> bool {
        let is_guarded = |part: &OsStr| {
            let folders = self.all().filter_map(|program| program.folder);
            folders.chain(GUARDED).any(|it| part.eq_ignore_ascii_case(it))
        };
        path.iter().any(is_guarded)
    }
}

pub(crate) fn run(command: &Value) -> Want {
    match command.as_str() {
        Some(command) if !command.is_empty() => Want::Run { command: command.to_owned() },
        _ => Want::Other,
    }
}

pub(crate) fn edit(paths: Vec<String>) -> Want {
    if paths.is_empty() { Want::Other } else { Want::Edit { paths } }
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
            (Adapter::CLAUDE, claude("Bash", json!({"command": "git tag x"})), runs("git tag x")),
            (Adapter::CLAUDE, claude("Write", json!({"file_path": "/w/a"})), edits("/w/a")),
            (Adapter::CLAUDE, claude("WebFetch", json!({"url": "https://x"})), Want::Other),
            (
                Adapter::CODEX,
                codex(
                    "item/commandExecution/requestApproval",
                    json!({"itemId": "i", "command": "git tag x"}),
                ),
                runs("git tag x"),
            ),
            (
                Adapter::ACP,
                acp(json!({"toolCallId": "c", "kind": "edit", "title": "Writing to a",
                           "content": diff, "locations": [{"path": "/w/a"}]})),
                edits("/w/a"),
            ),
            (
                Adapter::ACP,
                acp(json!({"toolCallId": "c", "kind": "edit", "title": "/w/a"})),
                Want::Other,
            ),
            (
                Adapter::ACP,
                acp(json!({"toolCallId": "c", "kind": "execute", "title": "git tag x",
                           "locations": []})),
                runs("git tag x"),
            ),
            (
                Adapter::ACP,
                acp(json!({"toolCallId": "c", "kind": "fetch", "title": "https://x"})),
                Want::Other,
            ),
        ];
        for (adapter, line, want) in table {
            assert_eq!(wanted(adapter, &line), want, "{line}");
        }
    }
}
