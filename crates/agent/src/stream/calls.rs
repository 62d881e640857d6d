//! The tool calls of a stream that have no result yet.

use super::json::{gist, shortened};
use super::said::Said;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A program runs a handful of tools at once. Whatever opens more and closes none must not make
/// us grow.
const OPEN_MAX: usize = 10_000;

/// Long enough for a command, short enough for a line of a log.
const GIST_LENGTH_MAX: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Calls {
    open: BTreeMap<String, String>,
    /// Those among them that a person was asked about, and that did not begin since. One that is
    /// denied may have no result.
    asked: BTreeSet<String>,
}

impl Calls {
    /// A call began; nothing if that is known already.
    pub(crate) fn begin(&mut self, id: &str, name: &str, input: &Value) -> Option<Said> {
        let is_known = self.open.contains_key(id);
        if is_known {
            return None;
        }
        let input = gist(input, GIST_LENGTH_MAX);
        if self.open.len() < OPEN_MAX {
            let told = if input.is_empty() { name.to_owned() } else { format!("{name}: {input}") };
            self.open.insert(id.to_owned(), told);
        }
        let name = shortened(name, GIST_LENGTH_MAX);
        Some(Said::ToolCall { id: id.to_owned(), name, input })
    }

    pub(crate) fn end(&mut self, id: &str, is_error: bool) -> Said {
        self.open.remove(id);
        self.asked.remove(id);
        Said::ToolResult { id: id.to_owned(), is_error }
    }

    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// A person is asked whether the call may be made.
    pub(crate) fn ask(&mut self, id: &str) {
        if self.open.contains_key(id) {
            self.asked.insert(id.to_owned());
        }
    }

    /// The call that a person was asked about is made.
    pub(crate) fn go_on(&mut self, id: &str) {
        self.asked.remove(id);
    }

    /// Whether a call was made that has no result.
    pub(crate) fn are_open(&self) -> bool {
        self.open.keys().any(|id| !self.asked.contains(id))
    }

    /// What an open call is about.
    pub(crate) fn told(&self, id: &str) -> Option<&str> {
        self.open.get(id).map(String::as_str)
    }

    /// Forgets what a turn left open.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.asked.clear();
    }
}
