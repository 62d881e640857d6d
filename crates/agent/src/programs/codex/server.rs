//! Notifications and requests of `codex app-server`.
//!
//! Subagents are threads of their own and speak in the same stream: their tools count, their words
//! and the ends of their turns do not.

use super::exec::{is_failed, paths};
use crate::limits::{self, Reset, Trouble};
use crate::rpc;
use crate::stream::calls::Calls;
use crate::stream::json::{items, number, owned, shortened, text};
use crate::stream::parts::{arguments, error, limit, options, permission, seconds};
use crate::stream::{Ask, AskItem, AskKind, End, LimitStatus, Said, Usage, Why};
use crate::stream::{DETAIL_LENGTH_MAX, LineUse, Listener, TEXT_LENGTH_MAX};
use serde_json::{Value, json};

/// From here on a window is called nearly used up.
const WARNING_PERCENT: f64 = 80.0;

/// A command for a shell.
pub(super) const COMMAND: &str = "commandExecution";
/// Files are changed.
pub(super) const CHANGE: &str = "fileChange";
/// How the names of tools begin that come from servers.
pub(super) const SERVERS_TOOL: &str = "mcp__";
/// More input for a command that runs.
const INTERACTION: &str = "unifiedExecInteraction";

#[derive(Debug, Default)]
pub(super) struct CodexStream {
    session: String,
    is_turning: bool,
    calls: Calls,
    last_text: String,
    is_limited: bool,
}

impl Listener for CodexStream {
    fn hear(&mut self, line: &Value, raw: &str, said: &mut Vec<Said>) -> LineUse {
        if rpc::asked(line).is_some() {
            said.extend(ask(line, raw, Some(&self.calls)).map(Said::Asked));
        } else if let Some(method) = line["method"].as_str() {
            self.notice(method, &line["params"], said);
        } else {
            self.answered(line, said);
        }
        LineUse::Said
    }
}

impl CodexStream {
    /// The answer to a request of ours.
    fn answered(&mut self, line: &Value, said: &mut Vec<Said>) {
        let id = line["id"].as_str().unwrap_or_default();
        // A turn goes on when a message or a stop that came in between was refused.
        if line["error"].is_object() && !self.is_turning {
            let detail = owned(&line["error"], "message");
            said.push(ended(error(&detail), &detail));
        } else if id == rpc::SESSION {
            self.session = owned(&line["result"]["thread"], "id");
            said.push(Said::Session { id: self.session.clone() });
            said.extend(text(&line["result"], "model").map(|it| Said::Model(it.to_owned())));
        }
    }

    fn notice(&mut self, method: &str, params: &Value, said: &mut Vec<Said>) {
        let is_ours = params["threadId"].as_str().is_none_or(|thread| thread == self.session);
        match method {
            "item/started" => self.begin(&params["item"], said),
            "item/completed" => self.complete(&params["item"], is_ours, said),
            "turn/started" if is_ours => {
                self.is_turning = true;
                said.push(Said::TurnBegan { id: text(&params["turn"], "id").map(str::to_owned) });
            }
            "turn/completed" if is_ours => self.end(&params["turn"], said),
            "thread/tokenUsage/updated" if is_ours => {
                said.push(Said::Usage(usage(&params["tokenUsage"]["total"])));
            }
            "account/rateLimits/updated" => said.extend(windows(&params["rateLimits"])),
            "error" if is_ours => {
                let limit = error_limit(&params["error"], params["willRetry"] == true);
                self.is_limited |= limit.is_some();
                let trouble = trouble(&params["error"]).filter(|_| params["willRetry"] == true);
                said.extend(limit.or_else(|| trouble.map(Said::Retrying)));
            }
            "serverRequest/resolved" => {
                said.push(Said::Withdrawn { request: rpc::name(&params["requestId"]) });
            }
            _ => {}
        }
    }

    fn begin(&mut self, item: &Value, said: &mut Vec<Said>) {
        if let Some((name, input)) = tool(item) {
            said.extend(self.calls.begin(&owned(item, "id"), &name, &input));
        }
    }

    fn complete(&mut self, item: &Value, is_ours: bool, said: &mut Vec<Said>) {
        if item["type"] == "agentMessage" {
            if let Some(told) = text(item, "text").filter(|_| is_ours) {
                self.last_text = shortened(told, DETAIL_LENGTH_MAX);
                said.push(Said::Text(told.to_owned()));
            }
        } else if tool(item).is_some() {
            self.begin(item, said);
            said.push(self.calls.end(&owned(item, "id"), is_failed(item)));
        }
    }

    fn end(&mut self, turn: &Value, said: &mut Vec<Said>) {
        let error = owned(&turn["error"], "message");
        let why = match turn["status"].as_str() {
            Some("completed") if self.calls.are_open() => Why::OpenTool,
            Some("completed") => Why::Done,
            Some("interrupted") => Why::Interrupted,
            _ if let Some(trouble) = trouble(&turn["error"]) => Why::Unavailable(trouble),
            _ if self.is_limited => Why::RateLimited,
            _ => match error_limit(&turn["error"], false) {
                Some(limit) => {
                    said.push(limit);
                    Why::RateLimited
                }
                None => Why::Error,
            },
        };
        let last = std::mem::take(&mut self.last_text);
        said.push(ended(why, if error.is_empty() { &last } else { &error }));
        self.is_limited = false;
        self.is_turning = false;
        self.calls.clear();
    }
}

fn ended(why: Why, detail: &str) -> Said {
    Said::Ended(End { why, detail: shortened(detail, DETAIL_LENGTH_MAX) })
}

/// The name and input of an item that is the use of a tool.
fn tool(item: &Value) -> Option<(String, Value)> {
    let kind = item["type"].as_str()?;
    let input = match kind {
        "userMessage" | "hookPrompt" | "agentMessage" | "plan" | "reasoning"
        | "functionCallOutput" | "subAgentActivity" | "enteredReviewMode" | "exitedReviewMode"
        | "contextCompaction" | "sleep" => return None,
        COMMAND if item["source"] == INTERACTION => {
            return Some((INTERACTION.to_owned(), json!({"command": item["command"]})));
        }
        COMMAND => json!({"command": item["command"]}),
        CHANGE => json!({"path": paths(item)}),
        "mcpToolCall" => {
            let (server, tool) = (owned(item, "server"), owned(item, "tool"));
            let name = format!("{SERVERS_TOOL}{server}__{tool}");
            return Some((name, item["arguments"].clone()));
        }
        "dynamicToolCall" => return Some((owned(item, "tool"), item["arguments"].clone())),
        "collabAgentToolCall" => json!({"prompt": item["prompt"], "command": item["tool"]}),
        "webSearch" => json!({"query": item["query"]}),
        "imageView" => json!({"path": item["path"]}),
        _ => Value::Null,
    };
    Some((kind.to_owned(), input))
}

fn usage(told: &Value) -> Usage {
    Usage {
        input: number(told, "inputTokens"),
        output: number(told, "outputTokens"),
        cached: number(told, "cachedInputTokens"),
        written: number(told, "cacheWriteInputTokens"),
        cost_usd: None,
    }
}

/// News of the account's windows; none where the update has no window.
fn windows(told: &Value) -> Option<Said> {
    let windows = || [&told["primary"], &told["secondary"]].into_iter().filter(|it| it.is_object());
    let used = |window: &&Value, percent: f64| {
        window["usedPercent"].as_f64().is_some_and(|used| used >= percent)
    };
    let is_reached = told["rateLimitReachedType"].is_string();
    if windows().next().is_none() && !is_reached {
        return None;
    }
    let (status, percent) = if is_reached || windows().any(|window| used(&window, 100.0)) {
        (LimitStatus::Rejected, 100.0)
    } else if windows().any(|window| used(&window, WARNING_PERCENT)) {
        (LimitStatus::Warning, WARNING_PERCENT)
    } else {
        (LimitStatus::Allowed, 0.0)
    };
    // Work can go on when the last of the full windows is empty again.
    let full = windows().filter(|window| used(window, percent));
    let resets = full.filter_map(|window| window["resetsAt"].as_i64()).max();
    Some(Said::RateLimit { status, resets: resets.map(|at| Reset::At(seconds(at))) })
}

/// What is wrong with the service, by the program's name for an error or in its words.
fn trouble(error: &Value) -> Option<Trouble> {
    let kind = &error["codexErrorInfo"];
    let of_http = |value: &Value| match value["httpStatusCode"].as_u64() {
        Some(status) => Trouble::of_status(status),
        None => Some(Trouble::Outage),
    };
    let is_http = |name: &str| name.starts_with("http") || name.starts_with("response");
    let named = match kind.as_str() {
        Some("unauthorized") => Some(Trouble::SignIn),
        Some("serverOverloaded" | "internalServerError") => Some(Trouble::Outage),
        _ => kind
            .as_object()
            .and_then(|kinds| kinds.iter().find(|(name, _)| is_http(name)))
            .and_then(|(_, value)| of_http(value)),
    };
    named.or_else(|| limits::trouble(&owned(error, "message")))
}

/// News of a limit in an error.
fn error_limit(error: &Value, is_retried: bool) -> Option<Said> {
    let kind = &error["codexErrorInfo"];
    let has_status = |value: &Value| value["httpStatusCode"] == 429;
    let is_limit = matches!(kind.as_str(), Some("usageLimitExceeded" | "rateLimitExceeded"))
        || kind.as_object().is_some_and(|kinds| kinds.values().any(has_status));
    let message = owned(error, "message");
    let told = if is_limit {
        let resets = limits::read(&message).and_then(|limit| limit.resets);
        Some(Said::RateLimit { status: LimitStatus::Rejected, resets })
    } else {
        limit(&message)
    };
    match told? {
        Said::RateLimit { resets, .. } if is_retried => {
            Some(Said::RateLimit { status: LimitStatus::Retrying, resets })
        }
        told => Some(told),
    }
}

/// The question in a request of the server.
pub(super) fn ask(line: &Value, raw: &str, calls: Option<&Calls>) -> Option<Ask> {
    let request = rpc::asked(line)?;
    let method = line["method"].as_str()?;
    let params = &line["params"];
    let about = || {
        let call = calls.and_then(|calls| calls.told(params["itemId"].as_str()?));
        let told = text(params, "command").or(call).unwrap_or(method);
        match text(params, "reason") {
            Some(reason) => format!("{told} ({reason})"),
            None => told.to_owned(),
        }
    };
    let (kind, tool, items) = match method {
        "item/commandExecution/requestApproval" => {
            (AskKind::Permission, "commandExecution", vec![permission(&about())])
        }
        "item/fileChange/requestApproval" => {
            (AskKind::Permission, "fileChange", vec![permission(&about())])
        }
        "item/permissions/requestApproval" => {
            let told = format!("{}: {}", about(), params["permissions"]);
            (AskKind::Permission, "permissions", vec![permission(&told)])
        }
        "item/tool/requestUserInput" => {
            (AskKind::Question, "requestUserInput", questions(&params["questions"]))
        }
        "mcpServer/elicitation/request" => (AskKind::Question, "elicitation", fields(params)),
        _ => (AskKind::Unknown, "", vec![plain(method, method)]),
    };
    let arguments = arguments(params);
    Some(Ask { request, kind, tool: tool.to_owned(), items, arguments, raw: raw.to_owned() })
}

fn plain(key: &str, told: &str) -> AskItem {
    let text = shortened(told, TEXT_LENGTH_MAX);
    AskItem { key: key.to_owned(), text, choices: Vec::new(), is_many: false }
}

fn questions(list: &Value) -> Vec<AskItem> {
    let item = |question: &Value| AskItem {
        choices: options(&question["options"]),
        ..plain(&owned(question, "id"), &owned(question, "question"))
    };
    items(list).iter().map(item).collect()
}

/// The fields of a form, each of them a question; a page to visit is one without fields.
fn fields(params: &Value) -> Vec<AskItem> {
    let message = owned(params, "message");
    let Some(properties) = params["requestedSchema"]["properties"].as_object() else {
        return vec![plain("", &format!("{message} {}", owned(params, "url")))];
    };
    let item = |(key, field): (&String, &Value)| {
        let title = text(field, "title").or_else(|| text(field, "description")).unwrap_or(key);
        plain(key, &format!("{message}: {title}"))
    };
    properties.iter().map(item).collect()
}
