//! JSON with comments as a tree that knows where everything stands in the text.
//!
//! It keeps only what editing needs. Trailing commas are read; depth is bounded.

use serde_json::Value;

/// As deep as the parsers of the programs themselves go, and no danger for the stack.
const DEPTH_MAX: usize = 128;

/// Settings that cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct BadSettings {
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1, in characters.
    pub column: u32,
    pub message: String,
}

/// A whole text.
#[derive(Debug)]
pub(super) struct Document<'t> {
    pub(super) text: &'t str,
    /// None where there is only white space and comments.
    pub(super) root: Option<Node>,
}

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Object(Vec<Item>),
    Array(Vec<Item>),
    Text(String),
    /// A number, `true`, `false` or `null`, as it is written.
    Word(String),
}

/// One part of an object or a list.
#[derive(Debug)]
pub(super) struct Item {
    /// Where the white space directly before it begins.
    pub(super) space: usize,
    /// Where the key begins, or the value where there is none.
    pub(super) start: usize,
    pub(super) key: Option<String>,
    pub(super) value: Node,
    /// Where the comma after it stands.
    pub(super) comma: Option<usize>,
}

impl Node {
    pub(super) fn items(&self) -> &[Item] {
        match &self.content {
            Content::Object(items) | Content::Array(items) => items,
            Content::Text(_) | Content::Word(_) => &[],
        }
    }

    /// The value of a key; of several the last, as the programs read it.
    pub(super) fn member(&self, key: &str) -> Option<&Self> {
        let found = self.items().iter().rfind(|item| item.key.as_deref() == Some(key));
        found.map(|item| &item.value)
    }

    /// Itself as a plain value.
    pub(super) fn to_value(&self) -> Value {
        match &self.content {
            Content::Object(items) => {
                let member = |item: &Item| Some((item.key.clone()?, item.value.to_value()));
                Value::Object(items.iter().filter_map(member).collect())
            }
            Content::Array(items) => {
                Value::Array(items.iter().map(|item| item.value.to_value()).collect())
            }
            Content::Text(text) => Value::String(text.clone()),
            Content::Word(word) => serde_json::from_str(word).unwrap_or_default(),
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'t> Document<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, BadSettings> {
        let mut scan = Scan { text, at: 0 };
        // Some editors put a byte order mark in front.
        scan.skip('\u{feff}');
        scan.trivia()?;
        if scan.rest().is_empty() {
            return Ok(Self { text, root: None });
        }
        let root = scan.value(0)?;
        scan.trivia()?;
        if !scan.rest().is_empty() {
            return Err(scan.expected("the end of the file"));
        }
        if !matches!(root.content, Content::Object(_)) {
            return Err(bad(text, root.start, "the settings are not an object"));
        }
        Ok(Self { text, root: Some(root) })
    }
}

/// An error at a place of a text.
pub(super) fn bad(text: &str, at: usize, message: impl Into<String>) -> BadSettings {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
    BadSettings { line: number(line), column: number(column), message: message.into() }
}

pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// How long the comment at the start of `rest` is; without its line end. `None`: it has no end.
pub(super) fn comment_length(rest: &str) -> Option<usize> {
    if rest.starts_with("/*") {
        return rest.get(2..)?.find("*/").map(|at| at + 4);
    }
    let line = rest.split('\n').next().unwrap_or_default();
    Some(line.strip_suffix('\r').filter(|_| line.len() < rest.len()).unwrap_or(line).len())
}

pub(super) fn is_comment(rest: &str) -> bool {
    rest.starts_with("//") || rest.starts_with("/*")
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scan<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self, c: char) -> bool {
        let is_there = self.rest().starts_with(c);
        self.at += if is_there { c.len_utf8() } else { 0 };
        is_there
    }

    fn expected(&self, what: &str) -> BadSettings {
        bad(self.text, self.at, format!("expected {what}"))
    }

    /// Skips white space and comments; returns where the last white space begins.
    fn trivia(&mut self) -> Result<usize, BadSettings> {
        loop {
            let space = self.at;
            self.at += self.rest().len() - self.rest().trim_start_matches(is_space).len();
            if !is_comment(self.rest()) {
                return Ok(space);
            }
            let length = comment_length(self.rest());
            self.at += length.ok_or_else(|| self.expected("the end of this comment"))?;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, BadSettings> {
        let start = self.at;
        if depth > DEPTH_MAX {
            return Err(bad(self.text, start, "this is nested too deeply"));
        }
        let content = match self.rest().chars().next() {
            Some('{') => Content::Object(self.items('}', depth)?),
            Some('[') => Content::Array(self.items(']', depth)?),
            Some('"') => Content::Text(self.string()?),
            _ => Content::Word(self.word()?),
        };
        Ok(Node { start, end: self.at, content })
    }

    /// The parts of an object or a list, up to and with its end.
    fn items(&mut self, close: char, depth: usize) -> Result<Vec<Item>, BadSettings> {
        let mut items: Vec<Item> = Vec::new();
        self.at += 1;
        loop {
            let space = self.trivia()?;
            if self.skip(close) {
                return Ok(items);
            }
            if items.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
            let start = self.at;
            let key = if close == '}' { Some(self.key()?) } else { None };
            let value = self.value(depth + 1)?;
            let mut item = Item { space, start, key, value, comma: None };
            self.trivia()?;
            let comma = self.at;
            item.comma = self.skip(',').then_some(comma);
            if item.comma.is_none() {
                // What stands between a value and what ends it is looked at again.
                self.at = item.value.end;
            }
            items.push(item);
        }
    }

    fn key(&mut self) -> Result<String, BadSettings> {
        if !self.rest().starts_with('"') {
            return Err(self.expected("a key in double quotes or `}`"));
        }
        let key = self.string()?;
        self.trivia()?;
        if !self.skip(':') {
            return Err(self.expected("`:`"));
        }
        self.trivia()?;
        Ok(key)
    }

    fn string(&mut self) -> Result<String, BadSettings> {
        let start = self.at;
        let mut is_escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => {
                    self.at += at + 1;
                    let raw = &self.text[start..self.at];
                    // Escapes that only some parsers take mean nothing to us.
                    return Ok(serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned()));
                }
                '\n' => break,
                _ => {}
            }
        }
        Err(bad(self.text, start, "this text has no end"))
    }

    fn word(&mut self) -> Result<String, BadSettings> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let word = self.rest();
        let word = &word[..word.len() - word.trim_start_matches(is_part).len()];
        if serde_json::from_str::<Value>(word).is_err() {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(word.to_owned())
    }
}
