//! The reader of one stream.

use super::json;
use super::lines::{Line, Lines};
use super::said::{Ask, End, Said, Why};
use crate::adapter::Adapter;
use serde_json::Value;
use std::fmt;

/// One who understands what a program says, line by line.
pub trait Listener: fmt::Debug + Send + Sync {
    /// Takes a line, and says what it means. Foreign lines may be anything, and never panic.
    fn hear(&mut self, line: &Value, raw: &str, said: &mut Vec<Said>) -> LineUse;

    /// Says what was held back: there are no more lines.
    fn finish(&mut self, _said: &mut Vec<Said>) {}
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineUse {
    /// What it means is said; where nothing is, it means nothing to us.
    Said,
    /// It was put to use, and nothing can be said yet.
    Held,
}

/// Turns the output of one process into what it says.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    listener: Box<dyn Listener>,
    /// Whether the last turn has ended, and no other began.
    is_settled: bool,
}

impl Reader {
    pub fn new(adapter: Adapter) -> Self {
        Self { lines: Lines::default(), listener: adapter.listener(), is_settled: false }
    }

    /// Takes the next bytes and returns what they say.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Said> {
        let mut said = Vec::new();
        let Self { lines, listener, .. } = self;
        lines.push(bytes, |line| hear(&mut **listener, line, &mut said));
        self.watch(&said);
        said
    }

    /// Ends the stream. A turn that has not ended will not end any more.
    pub fn finish(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        let Self { lines, listener, .. } = self;
        lines.finish(|line| hear(&mut **listener, line, &mut said));
        listener.finish(&mut said);
        self.watch(&said);
        if !self.is_settled {
            self.is_settled = true;
            said.push(Said::Ended(End { why: Why::Cut, detail: String::new() }));
        }
        said
    }

    fn watch(&mut self, said: &[Said]) {
        for said in said {
            match said {
                Said::TurnBegan { .. } | Said::Text(_) | Said::ToolCall { .. } => {
                    self.is_settled = false;
                }
                Said::Ended(end) => self.is_settled = end.why != Why::Background,
                _ => {}
            }
        }
    }
}

fn hear(listener: &mut dyn Listener, line: &Line<'_>, said: &mut Vec<Said>) {
    if line.kept.trim_ascii().is_empty() {
        return;
    }
    let count = said.len();
    let raw = String::from_utf8_lossy(line.kept);
    let heard = json::object(line).map(|value| listener.hear(&value, &raw, said));
    if said.len() == count && heard != Some(LineUse::Held) {
        said.push(Said::Other(raw.into_owned()));
    }
    if line.is_cut() {
        said.push(Said::Cut { bytes: line.bytes });
    }
}

/// The question in a line that was stored.
pub fn ask(adapter: Adapter, raw: &str) -> Option<Ask> {
    adapter.ask(&json::parse(raw.as_bytes())?, raw)
}
