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

    /// Says what was held back and does not go on with this line, before that is heard.
    fn hear_before(&mut self, _line: &str, _said: &mut Vec<Said>) {}

    /// Takes a line of a program that writes plain text; none: this program writes JSON.
    fn hear_plain(&mut self, _line: &str, _said: &mut Vec<Said>) -> Option<LineUse> {
        None
    }

    /// Says what was held back for lines that need not come: the program is quiet.
    fn settle(&mut self, _said: &mut Vec<Said>) {}

    /// Whether there is something that it would say then.
    fn is_unsettled(&self) -> bool {
        false
    }

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

/// Something that a program said, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Where the first line that it was said in begins in the stream, in bytes. It depends neither on
    /// the chunks nor on times at which the program was quiet.
    pub offset: u64,
    pub said: Said,
}

/// Turns the output of one process into what it says.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    listener: Box<dyn Listener>,
    /// Where the first line begins that was held back.
    held_at: Option<u64>,
    /// Whether the last turn has ended, and no other began.
    is_settled: bool,
}

impl Reader {
    pub fn new(adapter: Adapter) -> Self {
        let (lines, listener) = (Lines::default(), adapter.listener());
        Self { lines, listener, held_at: None, is_settled: false }
    }

    /// Takes the next bytes and returns what they say.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Said> {
        self.read_placed(bytes).into_iter().map(|placed| placed.said).collect()
    }

    /// The same, with the place of each.
    pub fn read_placed(&mut self, bytes: &[u8]) -> Vec<Placed> {
        let mut all = Vec::new();
        let Self { lines, listener, held_at, .. } = self;
        lines.push(bytes, |line| hear(&mut **listener, line, held_at, &mut all));
        self.watch(&all);
        all
    }

    /// Says what waits for lines that may never come, for a time when the program is quiet.
    pub fn settle(&mut self) -> Vec<Placed> {
        let mut said = Vec::new();
        self.listener.settle(&mut said);
        let is_told = said.iter().any(|said| matches!(said, Said::Text(_)));
        let mut all = Vec::new();
        place(said, self.held_at.unwrap_or_default(), &mut all);
        if is_told {
            self.held_at = None;
        }
        self.watch(&all);
        all
    }

    /// Whether there is something that waits so.
    pub fn is_unsettled(&self) -> bool {
        self.listener.is_unsettled()
    }

    /// Ends the stream. A turn that has not ended will not end any more.
    pub fn finish(&mut self) -> Vec<Said> {
        self.finish_placed().into_iter().map(|placed| placed.said).collect()
    }

    /// The same, with the place of each.
    pub fn finish_placed(&mut self) -> Vec<Placed> {
        let mut all = Vec::new();
        let Self { lines, listener, held_at, .. } = self;
        let mut end = 0;
        lines.finish(|line| {
            hear(&mut **listener, line, held_at, &mut all);
            end = line.start + line.bytes as u64;
        });
        let mut said = Vec::new();
        listener.finish(&mut said);
        place(said, held_at.take().unwrap_or(end), &mut all);
        self.watch(&all);
        if !self.is_settled {
            self.is_settled = true;
            let said = Said::Ended(End { why: Why::Cut, detail: String::new() });
            all.push(Placed { offset: end, said });
        }
        all
    }

    fn watch(&mut self, said: &[Placed]) {
        for Placed { said, .. } in said {
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

fn hear(
    listener: &mut dyn Listener,
    line: &Line<'_>,
    held_at: &mut Option<u64>,
    all: &mut Vec<Placed>,
) {
    let mut said = Vec::new();
    let raw = String::from_utf8_lossy(line.kept);
    listener.hear_before(&raw, &mut said);
    if !said.is_empty() {
        place(std::mem::take(&mut said), held_at.take().unwrap_or(line.start), all);
    }
    let heard = listener.hear_plain(&raw, &mut said);
    let is_plain = heard.is_some();
    if !is_plain && line.kept.trim_ascii().is_empty() {
        return;
    }
    let heard =
        heard.or_else(|| json::object(line).map(|value| listener.hear(&value, &raw, &mut said)));
    if !is_plain && said.is_empty() && heard != Some(LineUse::Held) {
        said.push(Said::Other(raw.into_owned()));
    }
    if line.is_cut() {
        said.push(Said::Cut { bytes: line.bytes });
    }
    // What was held back has been said; else this line only adds to it.
    let is_told = said.iter().any(|said| matches!(said, Said::Text(_)));
    place(said, held_at.unwrap_or(line.start), all);
    *held_at = match (heard, *held_at) {
        (Some(LineUse::Held), Some(before)) if !is_told => Some(before),
        (Some(LineUse::Held), _) => Some(line.start),
        _ => None,
    };
}

fn place(said: Vec<Said>, offset: u64, all: &mut Vec<Placed>) {
    all.extend(said.into_iter().map(|said| Placed { offset, said }));
}

/// The question in a line that was stored.
pub fn ask(adapter: Adapter, raw: &str) -> Option<Ask> {
    adapter.ask(&json::parse(raw.as_bytes())?, raw)
}
