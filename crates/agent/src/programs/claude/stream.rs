//! Claude Code's `stream-json`.

use crate::limits::{self, Reset, Trouble};
use crate::stream::calls::Calls;
use crate::stream::json::{gist, items, number, owned, shortened, text};
use crate::stream::parts::{options, permission, seconds};
use crate::stream::{Ask, AskItem, AskKind, End, LimitStatus, Said, Usage, Why};
use crate::stream::{DETAIL_LENGTH_MAX, LineUse, Listener, TEXT_LENGTH_MAX};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// The author of messages that the program makes up itself, such as an error of the API.
const SYNTHETIC: &str = "<synthetic>";

/// How long a token is on the average.
const BYTES_PER_TOKEN: u64 = 4;

/// The tool with which the model asks a person.
pub(crate) const ASK_TOOL: &str = "AskUserQuestion";

/// What the result of a call begins with that the program has turned down by itself. The output of a
/// command that failed begins with its exit code.
const NOT_MADE: &str = "<tool_use_error>";

#[derive(Debug, Default)]
pub(super) struct ClaudeStream {
    session: Option<String>,
    calls: Calls,
    /// The message that is being told, in a line for each of its parts, and how long it is.
    message: (String, u64),
    /// What works in the background: subagents and commands.
    tasks: BTreeSet<String>,
    /// Whether this turn ran into a limit.
    is_limited: bool,
    /// What is wrong with the service, as the program says in this turn.
    trouble: Option<Trouble>,
}

impl Listener for ClaudeStream {
    fn hear(&mut self, line: &Value, raw: &str, said: &mut Vec<Said>) -> LineUse {
        match line["type"].as_str().unwrap_or_default() {
            "system" => self.system(line, said),
            "assistant" => self.assistant(line, said),
            "user" => self.user(line, said),
            "result" => self.result(line, raw, said),
            "rate_limit_event" => said.extend(rate_limit(&line["rate_limit_info"])),
            "control_request" => said.extend(ask(line, raw, Some(&self.calls)).map(Said::Asked)),
            "control_cancel_request" => {
                said.push(Said::Withdrawn { request: owned(line, "request_id") });
            }
            _ => {}
        }
        LineUse::Said
    }
}

impl ClaudeStream {
    fn system(&mut self, line: &Value, said: &mut Vec<Said>) {
        let task = || owned(line, "task_id");
        match line["subtype"].as_str().unwrap_or_default() {
            "init" => {
                let session = text(line, "session_id").map(str::to_owned);
                if session != self.session {
                    said.extend(session.clone().map(|id| Said::Session { id }));
                    self.session = session;
                }
                said.push(Said::TurnBegan { id: None });
            }
            "api_retry" if line["error_status"] == 429 || line["error"] == "rate_limit" => {
                let delay = Duration::from_millis(number(line, "retry_delay_ms"));
                let resets = Some(Reset::After(delay));
                said.push(Said::RateLimit { status: LimitStatus::Retrying, resets });
            }
            "api_retry" => {
                let status = line["error_status"].as_u64().and_then(Trouble::of_status);
                let word = line["error"].as_str().and_then(Trouble::of_word);
                said.push(Said::Retrying(status.or(word).unwrap_or(Trouble::Outage)));
            }
            "background_tasks_changed" => {
                let tasks = items(&line["tasks"]).iter();
                self.tasks = tasks.map(|task| owned(task, "task_id")).collect();
            }
            "task_started" if line["is_backgrounded"] == true => {
                self.tasks.insert(task());
            }
            "task_notification" => {
                self.tasks.remove(&task());
            }
            _ => {}
        }
    }

    fn assistant(&mut self, line: &Value, said: &mut Vec<Said>) {
        let message = &line["message"];
        let is_made_up = message["model"] == SYNTHETIC || !line["error"].is_null();
        let is_ours = line["parent_tool_use_id"].is_null();
        if !is_made_up {
            said.extend(self.request(message));
        }
        for block in items(&message["content"]) {
            match block["type"].as_str().unwrap_or_default() {
                "text" if is_made_up => self.problem(line, &owned(block, "text"), said),
                "text" if is_ours => {
                    said.extend(text(block, "text").map(|it| Said::Text(it.into())));
                }
                "tool_use" => {
                    let (id, name) = (owned(block, "id"), owned(block, "name"));
                    said.extend(self.calls.begin(&id, &name, &block["input"]));
                }
                _ => {}
            }
        }
    }

    /// A message of the program about itself: of interest only where it is about a limit.
    fn problem(&mut self, line: &Value, told: &str, said: &mut Vec<Said>) {
        let limit = limits::read(told);
        if limit.is_some() || line["error"] == "rate_limit" {
            self.is_limited = true;
            let resets = limit.and_then(|limit| limit.resets);
            said.push(Said::RateLimit { status: LimitStatus::Rejected, resets });
        } else {
            let word = line["error"].as_str().and_then(Trouble::of_word);
            self.trouble = word.or_else(|| limits::trouble(told));
        }
    }

    fn user(&mut self, line: &Value, said: &mut Vec<Said>) {
        for block in items(&line["message"]["content"]) {
            if block["type"] == "tool_result" || !block["tool_use_id"].is_null() {
                let (id, is_error) = (owned(block, "tool_use_id"), block["is_error"] == true);
                if is_error && told(&block["content"]).starts_with(NOT_MADE) {
                    said.push(Said::NotMade { id: id.clone() });
                }
                said.push(self.calls.end(&id, is_error));
            }
        }
    }

    fn result(&mut self, line: &Value, raw: &str, said: &mut Vec<Said>) {
        let errors = items(&line["errors"]).iter().filter_map(Value::as_str);
        let errors = errors.collect::<Vec<_>>().join("; ");
        let detail = text(line, "result").map_or(errors, str::to_owned);
        let why = self.why(line, &detail);
        if why == Why::RateLimited && !self.is_limited {
            let resets = limits::read(&detail).and_then(|limit| limit.resets);
            said.push(Said::RateLimit { status: LimitStatus::Rejected, resets });
        }
        said.extend(usage(line).map(Said::Usage));
        // What was asked for in a form is said in that form, and by the agent itself.
        if line["structured_output"].is_object() {
            said.push(Said::Text(line["structured_output"].to_string()));
        }
        if why == Why::Deferred {
            said.extend(deferred(line, raw).map(Said::Asked));
        }
        said.push(Said::Ended(End { why, detail: shortened(&detail, DETAIL_LENGTH_MAX) }));
        self.is_limited = false;
        self.trouble = None;
        if why != Why::Background {
            self.calls.clear();
        }
    }

    fn why(&self, line: &Value, detail: &str) -> Why {
        let is_aborted = || owned(line, "terminal_reason").starts_with("aborted");
        if self.is_limited || line["api_error_status"] == 429 {
            return Why::RateLimited;
        }
        if line["is_error"] != false || line["subtype"] != "success" {
            return match line["subtype"].as_str() {
                Some("error_max_turns") => Why::TurnLimit,
                Some("error_max_budget_usd") => Why::Budget,
                _ if is_aborted() => Why::Interrupted,
                _ => self.error(line, detail),
            };
        }
        match line["stop_reason"].as_str() {
            Some("tool_deferred" | "tool_deferred_unavailable") => Why::Deferred,
            Some("refusal") => Why::Refused,
            _ if !self.tasks.is_empty() => Why::Background,
            // The tool that takes the form ends the turn, and nothing is said after it.
            Some("tool_use") if !line["structured_output"].is_object() => Why::OpenTool,
            _ if self.calls.are_open() => Why::OpenTool,
            _ => Why::Done,
        }
    }
}

impl ClaudeStream {
    /// What the request behind a message used up. Its lines are told while it is written, with the
    /// output counted so far: what stands in them is more.
    fn request(&mut self, message: &Value) -> Option<Said> {
        let (id, told) = (owned(message, "id"), &message["usage"]);
        if id.is_empty() || !told.is_object() {
            return None;
        }
        let length = message["content"].to_string().len() as u64;
        let before = if self.message.0 == id { self.message.1 } else { 0 };
        self.message = (id.clone(), before.saturating_add(length));
        let (cached, written) =
            (number(told, "cache_read_input_tokens"), number(told, "cache_creation_input_tokens"));
        let input = number(told, "input_tokens").saturating_add(cached).saturating_add(written);
        let output = number(told, "output_tokens");
        if input.saturating_add(output) == 0 {
            return None;
        }
        let output = output.max(self.message.1 / BYTES_PER_TOKEN);
        let usage = Usage { input, output, cached, written, cost_usd: None };
        Some(Said::Message { id, model: owned(message, "model"), usage })
    }

    /// What an error of the program means that it did not name.
    fn error(&self, line: &Value, detail: &str) -> Why {
        let status = line["api_error_status"].as_u64().and_then(Trouble::of_status);
        let trouble = status.or(self.trouble).or_else(|| limits::trouble(detail));
        match trouble {
            Some(trouble) => Why::Unavailable(trouble),
            None if limits::read(detail).is_some() => Why::RateLimited,
            None => Why::Error,
        }
    }
}

/// The text of a result, which may be in blocks.
fn told(content: &Value) -> &str {
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default()
}

/// The sum over all models; none where nothing was counted, as after a start that failed.
fn usage(line: &Value) -> Option<Usage> {
    let models = line["modelUsage"].as_object().filter(|models| !models.is_empty())?;
    let sum = |key| models.values().map(|model| number(model, key)).fold(0, u64::saturating_add);
    let (cached, written) = (sum("cacheReadInputTokens"), sum("cacheCreationInputTokens"));
    Some(Usage {
        input: sum("inputTokens").saturating_add(cached).saturating_add(written),
        output: sum("outputTokens"),
        cached,
        written,
        cost_usd: line["total_cost_usd"].as_f64(),
    })
}

fn rate_limit(told: &Value) -> Option<Said> {
    let status = match told["status"].as_str()? {
        "allowed" => LimitStatus::Allowed,
        "allowed_warning" => LimitStatus::Warning,
        "rejected" => LimitStatus::Rejected,
        _ => return None,
    };
    let resets = told["resetsAt"].as_i64().map(|at| Reset::At(seconds(at)));
    Some(Said::RateLimit { status, resets })
}

/// The question in a control request.
pub(super) fn ask(line: &Value, raw: &str, calls: Option<&Calls>) -> Option<Ask> {
    let request = &line["request"];
    let kind = owned(request, "subtype");
    let call = Call { id: text(line, "request_id")?, input: &request["input"], raw };
    if kind != "can_use_tool" {
        let item = AskItem { key: kind.clone(), text: kind, choices: Vec::new(), is_many: false };
        return Some(call.ask(AskKind::Unknown, "", vec![item]));
    }
    let tool = owned(request, "tool_name");
    if tool == ASK_TOOL {
        return Some(call.ask(AskKind::Question, &tool, questions(call.input)));
    }
    let told = match gist(call.input, TEXT_LENGTH_MAX) {
        gist if gist.is_empty() => {
            let call = calls.and_then(|calls| calls.told(request["tool_use_id"].as_str()?));
            call.unwrap_or(&tool).to_owned()
        }
        gist => format!("{tool}: {gist}"),
    };
    Some(call.ask(AskKind::Permission, &tool, vec![permission(&told)]))
}

/// The question behind a call that was put off. It is answered by the hook when the conversation
/// is resumed.
pub(super) fn deferred(line: &Value, raw: &str) -> Option<Ask> {
    let told = &line["deferred_tool_use"];
    let call = Call { id: text(told, "id")?, input: &told["input"], raw };
    let tool = owned(told, "name");
    if tool == ASK_TOOL {
        return Some(call.ask(AskKind::Question, &tool, questions(call.input)));
    }
    let told = format!("{tool}: {}", gist(call.input, TEXT_LENGTH_MAX));
    Some(call.ask(AskKind::Permission, &tool, vec![permission(&told)]))
}

/// A tool call that waits for an answer.
struct Call<'a> {
    id: &'a str,
    input: &'a Value,
    raw: &'a str,
}

impl Call<'_> {
    fn ask(&self, kind: AskKind, tool: &str, items: Vec<AskItem>) -> Ask {
        Ask {
            request: self.id.to_owned(),
            kind,
            tool: tool.to_owned(),
            items,
            arguments: self.input.to_string(),
            raw: self.raw.to_owned(),
        }
    }
}

fn questions(input: &Value) -> Vec<AskItem> {
    let item = |question: &Value| AskItem {
        key: owned(question, "question"),
        text: owned(question, "question"),
        choices: options(&question["options"]),
        is_many: question["multiSelect"] == true,
    };
    items(&input["questions"]).iter().map(item).collect()
}
