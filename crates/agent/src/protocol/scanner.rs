//! The scanner of a stream of plain text.

use super::block;
use super::line::{Marker, Name, Tag, can_matter, clean, fence, marker};
use super::signal::{Malformed, Signal};
use super::{BLOCK_BYTES_MAX, FIELD_LENGTH_MAX};
use crate::stream::lines::{LINE_BYTES_MAX, split};
use serde_json::Value;

/// More entries than any list of deliverables has.
const ENTRIES_MAX: usize = 1_000;

/// Finds signals in bytes that come in any chunks, with bounded memory.
///
/// What it finds does not depend on the chunks, unless [`Scanner::settle`] is called in between.
#[derive(Debug, Default)]
pub struct Scanner {
    /// The start of the unfinished line, if it can matter.
    held: Vec<u8>,
    /// Whether the unfinished line cannot matter.
    is_skipping: bool,
    /// The fence that is open: its character and its length.
    fence: Option<(char, usize)>,
    state: State,
}

/// What the next lines belong to.
#[derive(Debug, Default)]
enum State {
    #[default]
    Nothing,
    Block(Block),
    /// The lists behind the end of a phase.
    Lists(Phase),
    /// The JSON behind a verification's banner.
    Json(Object),
}

#[derive(Debug)]
struct Block {
    tag: Tag,
    body: String,
}

#[derive(Debug)]
struct Phase {
    phase: u32,
    nonce: Option<String>,
    lists: Vec<(String, Vec<String>)>,
    entries: usize,
}

#[derive(Debug, Default)]
struct Object {
    text: String,
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl Scanner {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and returns the signals that are complete with them.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Signal> {
        let mut signals = Vec::new();
        while let Some((line, rest)) = split(bytes) {
            if self.is_skipping {
                self.is_skipping = false;
            } else if !self.held.is_empty() {
                self.hold(line);
                self.end_line(&mut signals);
            } else {
                self.line(line, &mut signals);
            }
            bytes = rest;
        }
        if !bytes.is_empty() && !self.is_skipping {
            self.hold(bytes);
            if !self.is_reading() && !can_matter(&self.held) {
                self.held.clear();
                self.is_skipping = true;
            }
        }
        signals
    }

    /// Returns what waits for lines that may never come, for a time when the output is quiet: a
    /// phase's end may be followed by lists, and need not be. Blocks wait on.
    pub fn settle(&mut self) -> Vec<Signal> {
        let mut signals = Vec::new();
        if self.held.is_empty() {
            self.end_lists(&mut signals);
        }
        signals
    }

    /// Ends the text: the last line is complete, and a block that is still open will stay so.
    pub fn finish(&mut self) -> Vec<Signal> {
        let mut signals = Vec::new();
        self.end_line(&mut signals);
        self.is_skipping = false;
        self.end_lists(&mut signals);
        self.abandon("it was not closed", &mut signals);
        self.fence = None;
        signals
    }

    /// Whether lists behind the end of a phase may go on.
    pub fn is_listing(&self) -> bool {
        matches!(self.state, State::Lists(_))
    }

    /// Whether the next line, without its end, belongs to these lists.
    pub fn goes_on(&self, line: &[u8]) -> bool {
        let line = clean(&line[..line.len().min(LINE_BYTES_MAX)]);
        matches!(&self.state, State::Lists(phase) if phase.fits(line.trim_end()))
    }

    /// Whether a code fence is open.
    pub fn is_fenced(&self) -> bool {
        self.fence.is_some()
    }

    /// Whether every line matters: something was opened and is not complete.
    pub fn is_reading(&self) -> bool {
        !matches!(self.state, State::Nothing)
    }

    fn hold(&mut self, part: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.held.len());
        self.held.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn end_line(&mut self, signals: &mut Vec<Signal>) {
        if !self.held.is_empty() {
            let line = std::mem::take(&mut self.held);
            self.line(&line, signals);
        }
    }

    fn line(&mut self, line: &[u8], signals: &mut Vec<Signal>) {
        if !self.is_reading() && !can_matter(line) {
            return;
        }
        let line = clean(&line[..line.len().min(LINE_BYTES_MAX)]);
        let line = line.trim_end();
        match &mut self.state {
            State::Nothing => self.outside(line, signals),
            State::Block(_) => self.inside(line, signals),
            State::Lists(phase) => {
                if !phase.take(line) {
                    self.end_lists(signals);
                    self.outside(line, signals);
                }
            }
            State::Json(_) => self.json(line, signals),
        }
    }

    fn outside(&mut self, line: &str, signals: &mut Vec<Signal>) {
        if let Some((mark, length, has_more)) = fence(line) {
            match self.fence {
                None => self.fence = Some((mark, length)),
                Some((open, least)) if mark == open && length >= least && !has_more => {
                    self.fence = None;
                }
                Some(_) => {}
            }
        } else if self.fence.is_none()
            && let Some(marker) = marker(line)
        {
            self.begin(&marker, line, signals);
        }
    }

    fn begin(&mut self, marker: &Marker<'_>, line: &str, signals: &mut Vec<Signal>) {
        match *marker {
            Marker::Done { task } => signals.push(Signal::Done { task: task.to_owned() }),
            Marker::Failed { task, reason } => {
                let reason = reason.chars().take(FIELD_LENGTH_MAX).collect();
                signals.push(Signal::Failed { task: task.to_owned(), reason });
            }
            Marker::Phase { phase, nonce } => {
                let nonce = nonce.map(str::to_owned);
                self.state = State::Lists(Phase { phase, nonce, lists: Vec::new(), entries: 0 });
            }
            Marker::Custom { nonce } => {
                signals.push(Signal::CustomComplete { nonce: nonce.map(str::to_owned) });
            }
            Marker::Verification { rest } => {
                self.state = State::Json(Object::default());
                if !rest.is_empty() {
                    self.json(rest, signals);
                }
            }
            Marker::Close { tag } => {
                signals.push(malformed(tag.name, "it closes a block that was not opened", line));
            }
            Marker::Open { tag, rest } => self.open(tag, rest, line, signals),
        }
    }

    fn open(&mut self, tag: Tag, rest: &str, line: &str, signals: &mut Vec<Signal>) {
        let name = tag.name;
        if let Some(inner) = rest.strip_suffix(&tag.closing()) {
            let read = if tag.is_json { block::from_json } else { block::from_line };
            let made = read(name, inner);
            signals.push(made.unwrap_or_else(|why| malformed(name, &why, line)));
        } else if rest.is_empty() || tag.is_json {
            self.state = State::Block(Block { tag, body: rest.to_owned() });
        } else if name != Name::Error || block::begins_with_field(name, rest) {
            let made = block::from_line(name, rest);
            signals.push(made.unwrap_or_else(|why| malformed(name, &why, line)));
        }
        // Else it is a log line: many programs begin those of errors just so.
    }

    fn inside(&mut self, line: &str, signals: &mut Vec<Signal>) {
        let State::Block(block) = &mut self.state else { return };
        let Tag { name, is_json } = block.tag;
        let closing = block.tag.closing();
        let body = match line.trim() {
            text if text == closing => Some(""),
            text if is_json => text.strip_suffix(&closing),
            _ => None,
        };
        if let Some(last) = body {
            let mut body = std::mem::take(&mut block.body);
            body.push_str(last);
            self.state = State::Nothing;
            let read = if is_json { block::from_json } else { block::from_lines };
            let made = read(name, &body);
            signals.push(made.unwrap_or_else(|why| malformed(name, &why, &body)));
        } else if !line.starts_with(' ') && marker(line).is_some() {
            // A marker counts also behind a block that the agent forgot to close.
            self.abandon("another signal came before it was closed", signals);
            self.outside(line, signals);
        } else if name == Name::Error && !is_json && block.is_log(line) {
            self.state = State::Nothing;
            self.outside(line, signals);
        } else if block.body.len() + line.len() > BLOCK_BYTES_MAX {
            self.abandon("it is longer than 100 KB", signals);
        } else {
            block.body.push_str(line);
            block.body.push('\n');
        }
    }

    fn json(&mut self, line: &str, signals: &mut Vec<Signal>) {
        const VERIFICATION: &str = "VERIFICATION_RESULT";
        let State::Json(object) = &mut self.state else { return };
        let is_first = object.depth == 0;
        if is_first && line.trim().is_empty() {
            return;
        }
        if is_first && let Some((mark, length, _)) = fence(line) {
            // The fence around the object is closed behind it.
            self.fence = Some((mark, length));
            return;
        }
        let told = |why: &str, text: &str| {
            let (block, why, text) = (VERIFICATION.to_owned(), why.to_owned(), text.to_owned());
            Signal::Malformed(Malformed { block, why, text })
        };
        if is_first && !line.trim_start().starts_with('{') {
            signals.push(told("no JSON object follows", line));
            self.state = State::Nothing;
            self.outside(line, signals);
        } else if object.text.len() + line.len() > BLOCK_BYTES_MAX {
            signals.push(told("it is longer than 100 KB", &object.text));
            self.state = State::Nothing;
        } else if object.take(line) {
            signals.push(match serde_json::from_str::<Value>(&object.text) {
                Ok(value) => Signal::Verification(value),
                Err(error) => told(&format!("not JSON: {error}"), &object.text),
            });
            self.state = State::Nothing;
        }
    }

    fn end_lists(&mut self, signals: &mut Vec<Signal>) {
        if let State::Lists(_) = self.state
            && let State::Lists(Phase { phase, nonce, lists, .. }) = std::mem::take(&mut self.state)
        {
            signals.push(Signal::PhaseComplete { phase, nonce, lists });
        }
    }

    /// Gives up what is open, and says so.
    fn abandon(&mut self, why: &str, signals: &mut Vec<Signal>) {
        match std::mem::take(&mut self.state) {
            // A log may have an empty line of an error.
            State::Block(block)
                if block.tag.name == Name::Error && block.body.trim().is_empty() => {}
            State::Block(Block { tag, body }) => signals.push(malformed(tag.name, why, &body)),
            State::Json(Object { text, .. }) => signals.push(Signal::Malformed(Malformed {
                block: "VERIFICATION_RESULT".to_owned(),
                why: why.to_owned(),
                text,
            })),
            State::Lists(_) | State::Nothing => {}
        }
    }
}

fn malformed(name: Name, why: &str, text: &str) -> Signal {
    let block = name.as_str().to_owned();
    let end = text.floor_char_boundary(BLOCK_BYTES_MAX);
    Signal::Malformed(Malformed { block, why: why.to_owned(), text: text[..end].to_owned() })
}

impl Block {
    /// Whether the block's first line shows that it is none: a bare `[ERROR]` may be a log's.
    fn is_log(&self, line: &str) -> bool {
        let is_first = self.body.trim().is_empty() && !line.trim().is_empty();
        is_first && !block::begins_with_field(self.tag.name, line)
    }
}

impl Phase {
    /// Whether a line belongs to the lists: `key:`, `key: value`, `- item`, or an empty one before
    /// anything else.
    fn fits(&self, line: &str) -> bool {
        let text = line.trim();
        if text.is_empty() {
            return self.lists.is_empty();
        }
        let is_entry =
            text.starts_with("- ") || text.split_once(':').is_some_and(|(key, _)| is_key(key));
        is_entry && self.entries < ENTRIES_MAX && marker(line).is_none() && fence(line).is_none()
    }

    /// Takes a line that belongs to the lists.
    fn take(&mut self, line: &str) -> bool {
        let text = line.trim();
        if text.is_empty() || !self.fits(line) {
            return text.is_empty() && self.lists.is_empty();
        }
        self.entries += 1;
        if let Some(item) = text.strip_prefix("- ") {
            if self.lists.is_empty() {
                self.lists.push((String::new(), Vec::new()));
            }
            self.lists.last_mut().expect("one was just made").1.push(item.trim().to_owned());
            return true;
        }
        let Some((key, value)) = text.split_once(':') else { return false };
        let value = Some(value.trim()).filter(|value| !value.is_empty());
        let values = value.map(str::to_owned).into_iter().collect();
        self.lists.push((key.trim().to_owned(), values));
        true
    }
}

/// A few words, not a sentence that happens to have a colon.
fn is_key(text: &str) -> bool {
    !text.is_empty() && text.len() <= 40 && !text.contains(['.', '!', '?', '`', '/'])
}

impl Object {
    /// Takes a line, and says whether the object is complete with it.
    fn take(&mut self, line: &str) -> bool {
        for c in line.chars() {
            self.text.push(c);
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' if self.is_text => self.is_escaped = true,
                '"' => self.is_text = !self.is_text,
                _ if self.is_text => {}
                '{' | '[' => self.depth += 1,
                '}' | ']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return true;
                    }
                }
                _ => {}
            }
        }
        self.text.push('\n');
        false
    }
}
