//! The JSON lines of `codex exec --json`.

use crate::limits;
use crate::stream::calls::Calls;
use crate::stream::json::{items, number, owned, shortened, text};
use crate::stream::parts::{error, limit};
use crate::stream::{DETAIL_LENGTH_MAX, LineUse, Listener};
use crate::stream::{End, Said, Usage, Why};
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct CodexExecStream {
    calls: Calls,
    last_text: String,
    /// Whether a limit of this turn was told of.
    is_limited: bool,
}

impl Listener for CodexExecStream {
    fn hear(&mut self, line: &Value, _raw: &str, said: &mut Vec<Said>) -> LineUse {
        match line["type"].as_str().unwrap_or_default() {
            "thread.started" => {
                said.extend(text(line, "thread_id").map(|id| Said::Session { id: id.into() }));
            }
            "turn.started" => said.push(Said::TurnBegan { id: None }),
            "item.started" => self.begin(&line["item"], said),
            "item.completed" => self.complete(&line["item"], said),
            "turn.completed" => {
                said.push(Said::Usage(usage(&line["usage"])));
                let why = if self.calls.are_open() { Why::OpenTool } else { Why::Done };
                let detail = std::mem::take(&mut self.last_text);
                self.end(why, &detail, said);
            }
            "turn.failed" => {
                let detail = owned(&line["error"], "message");
                let limit = limit(&detail);
                let why = error(&detail);
                said.extend(limit.filter(|_| !self.is_limited));
                self.end(why, &detail, said);
            }
            "error" => {
                let limit = limit(&owned(line, "message"));
                self.is_limited |= limit.is_some();
                let trouble = limits::trouble(&owned(line, "message"));
                said.extend(limit.or_else(|| trouble.map(Said::Retrying)));
            }
            _ => {}
        }
        LineUse::Said
    }
}

impl CodexExecStream {
    fn begin(&mut self, item: &Value, said: &mut Vec<Said>) {
        if let Some((name, input)) = tool(item) {
            said.extend(self.calls.begin(&owned(item, "id"), &name, &input));
        }
    }

    fn complete(&mut self, item: &Value, said: &mut Vec<Said>) {
        if item["type"] == "agent_message" {
            if let Some(told) = text(item, "text") {
                self.last_text = shortened(told, DETAIL_LENGTH_MAX);
                said.push(Said::Text(told.to_owned()));
            }
        } else if tool(item).is_some() {
            // Some tools are told of only when they are done.
            self.begin(item, said);
            said.push(self.calls.end(&owned(item, "id"), is_failed(item)));
        }
    }

    fn end(&mut self, why: Why, detail: &str, said: &mut Vec<Said>) {
        said.push(Said::Ended(End { why, detail: shortened(detail, DETAIL_LENGTH_MAX) }));
        self.calls.clear();
        self.is_limited = false;
    }
}

/// The name and input of an item that is the use of a tool.
fn tool(item: &Value) -> Option<(String, Value)> {
    let kind = item["type"].as_str()?;
    let input = match kind {
        "agent_message" | "reasoning" | "todo_list" | "error" | "user_message" => return None,
        "command_execution" => json!({"command": item["command"]}),
        "file_change" => json!({"path": paths(item)}),
        "mcp_tool_call" => {
            let name = format!("mcp__{}__{}", owned(item, "server"), owned(item, "tool"));
            return Some((name, item["arguments"].clone()));
        }
        "web_search" => json!({"query": item["query"]}),
        "collab_tool_call" => json!({"command": item["tool"]}),
        _ => Value::Null,
    };
    Some((kind.to_owned(), input))
}

/// The files of a change, as one text.
pub(super) fn paths(item: &Value) -> String {
    let changes = items(&item["changes"]).iter();
    changes.filter_map(|change| change["path"].as_str()).collect::<Vec<_>>().join(" ")
}

pub(super) fn is_failed(item: &Value) -> bool {
    let is_bad = |code: &Value| code.as_i64().is_some_and(|code| code != 0);
    matches!(item["status"].as_str(), Some("failed" | "declined" | "interrupted"))
        || is_bad(&item["exit_code"])
        || is_bad(&item["exitCode"])
}

fn usage(told: &Value) -> Usage {
    Usage {
        input: number(told, "input_tokens"),
        output: number(told, "output_tokens"),
        cached: number(told, "cached_input_tokens"),
        written: number(told, "cache_write_input_tokens"),
        cost_usd: None,
    }
}
