//! Answers in the form that each program understands.
//!
//! Codex refuses answers with keys that it does not know, so nothing is said that is not needed.

use super::{
    event::{Event, Moment},
    read::COMMAND,
};
use crate::product::Product;
use serde_json::{Map, Value, json};

/// Programs cut texts at 10,000 characters; ours end before, and say that they were cut.
const TEXT_LENGTH_MAX: usize = 9_000;

/// The exit code that every program takes for "no", with the reason on stderr.
const BLOCKED: u8 = 2;

/// Said where a shell call cannot be put behind the wall.
const NOT_REWRITTEN: &str = "this shell call cannot be put behind the wall; run it with the usual \
                             shell tool";

/// What is answered to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookAnswer {
    /// Nothing is to be said.
    Silent,
    /// The tool must not be used.
    Refuse(String),
    /// The tool may be used, and no person is asked about it.
    Allow,
    /// The tool may be used, with this command for a shell in the place of its own.
    Rewrite(String),
    /// Something that the model should know.
    Context(String),
    /// The agent should go on instead of ending.
    Hold(String),
}

/// What a hook prints, and its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub stdout: String,
    pub stderr: String,
    pub code: u8,
}

impl Reply {
    fn silent() -> Self {
        Self { stdout: String::new(), stderr: String::new(), code: 0 }
    }

    fn json(value: &Value) -> Self {
        Self { stdout: format!("{value}\n"), ..Self::silent() }
    }

    /// For a person who reads the program's log; stops nothing.
    fn aside(text: &str) -> Self {
        Self { stderr: format!("{text}\n"), ..Self::silent() }
    }

    fn blocked(text: &str) -> Self {
        Self { stderr: format!("{text}\n"), code: BLOCKED, ..Self::silent() }
    }
}

impl Event {
    /// Puts an answer into the form that the program expects at this event.
    ///
    /// An answer that the moment has no place for is not lost: a refusal after the fact becomes
    /// context, and anything else is said on stderr without stopping the program.
    pub fn reply(&self, answer: &HookAnswer) -> Reply {
        match (&self.moment, answer) {
            (_, HookAnswer::Silent) => Reply::silent(),
            (
                Moment::BeforeTool(_) | Moment::SettingsChange { .. },
                HookAnswer::Refuse(reason) | HookAnswer::Hold(reason),
            ) => self.refusal(&shortened(reason)),
            (Moment::BeforeTool(call), HookAnswer::Rewrite(command)) => {
                let answer = self.product.rewritten(&self.name, &call.input, command);
                // A call that should be walled in and cannot be is not let through.
                answer.map_or_else(|| Reply::blocked(NOT_REWRITTEN), |answer| Reply::json(&answer))
            }
            (Moment::BeforeTool(_), HookAnswer::Allow) => {
                let answer = self.product.permission(&self.name);
                answer.map_or_else(Reply::silent, |answer| Reply::json(&answer))
            }
            (_, HookAnswer::Rewrite(_) | HookAnswer::Allow) => Reply::silent(),
            (
                Moment::SessionStart { .. } | Moment::AfterTool(_),
                HookAnswer::Context(text) | HookAnswer::Refuse(text) | HookAnswer::Hold(text),
            ) => Reply::json(&json!({ "hookSpecificOutput": {
                "hookEventName": self.name,
                "additionalContext": shortened(text),
            }})),
            (Moment::Stop { .. } | Moment::SubagentStop { .. }, HookAnswer::Hold(reason)) => {
                let decision = self.product.block_word();
                Reply::json(&json!({ "decision": decision, "reason": shortened(reason) }))
            }
            (_, HookAnswer::Refuse(text) | HookAnswer::Context(text) | HookAnswer::Hold(text)) => {
                Reply::aside(&shortened(text))
            }
        }
    }

    /// Whether the program is about to ask a person, and would take an answer of ours instead.
    pub fn asks_a_person(&self) -> bool {
        self.product.permission(&self.name).is_some()
    }

    fn refusal(&self, reason: &str) -> Reply {
        match self.product.refusal(&self.name, reason) {
            Some(answer) => Reply::json(&answer),
            // What JSON an event that we do not know wants cannot be known either.
            None => Reply::blocked(reason),
        }
    }
}

/// The rewritten input of a shell call, all else in it as it was.
pub(crate) fn rewritten_input(input: &Map<String, Value>, command: &str) -> Option<Value> {
    let mut input = input.clone();
    *input.get_mut(COMMAND)? = Value::from(command);
    Some(Value::Object(input))
}

/// The refusal of a tool in the form that Claude Code began with and others took over.
pub(crate) fn refusal_before_tool(event: &str, reason: &str) -> Option<Value> {
    let answer = match event {
        "PreToolUse" => json!({
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }),
        // The one event at which the exit code is not heard.
        "PermissionRequest" => json!({
            "hookEventName": event,
            "decision": { "behavior": "deny", "message": reason },
        }),
        _ => return None,
    };
    Some(json!({ "hookSpecificOutput": answer }))
}

/// The answer to an event that could not be read: the exit code, which blocks in every program.
///
/// There is no JSON with it. All programs take the reason from stderr then, and an answer in the
/// form of the wrong event would be an error of its own.
pub fn refuse_unread(_product: Option<Product>, reason: &str) -> Reply {
    Reply::blocked(&shortened(reason))
}

fn shortened(text: &str) -> String {
    const CUT: &str = " […]";
    if text.chars().count() <= TEXT_LENGTH_MAX {
        return text.to_owned();
    }
    let kept = text.chars().take(TEXT_LENGTH_MAX - CUT.chars().count());
    kept.chain(CUT.chars()).collect()
}
