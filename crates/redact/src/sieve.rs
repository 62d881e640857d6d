//! A stream of bytes on its way to a file, in whatever pieces it comes.

use crate::{MARK, Searcher, lines};
use std::{ops::Range, sync::Arc};

/// A line of JSON that is longer is let through in parts, with all values taken out; as long as the
/// longest that a reader of streams takes for one.
const LINE_SIZE_MAX: usize = 1 << 20;

/// So much of a value at the end of a stream gives it away.
const EDGE_MIN: usize = 6;

/// What a stream is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Anything. It is let through at once, but for what may be the beginning of a value.
    Text,
    /// Lines, which may be JSON. They are let through as a whole, and what was JSON is so afterwards.
    Lines,
}

/// One stream. What is let through has a mark in place of each value.
#[derive(Debug)]
pub struct Sieve {
    searcher: Arc<Searcher>,
    form: Form,
    /// What came and was not let through.
    held: Vec<u8>,
    /// So much of that belongs to a value whose mark was let through.
    covered: usize,
    /// Whether this line was let through in part.
    is_long_line: bool,
    found: Vec<Range<usize>>,
}

impl Sieve {
    pub fn new(searcher: Arc<Searcher>, form: Form) -> Self {
        let (held, found) = (Vec::new(), Vec::new());
        Self { searcher, form, held, covered: 0, is_long_line: false, found }
    }

    /// Takes the next bytes and lets through what may be seen.
    pub fn push(&mut self, bytes: &[u8], mut through: impl FnMut(&[u8])) {
        if self.searcher.is_empty() {
            return through(bytes);
        }
        match self.form {
            Form::Text => self.push_text(bytes, &mut through),
            Form::Lines => self.push_lines(bytes, &mut through),
        }
    }

    /// The stream is over: lets through what is left, unless that is the beginning of a value.
    pub fn finish(&mut self, mut through: impl FnMut(&[u8])) {
        let rest = std::mem::take(&mut self.held);
        let covered = std::mem::take(&mut self.covered);
        let is_line = self.form == Form::Lines && !std::mem::take(&mut self.is_long_line);
        if is_line && lines::is_json(&rest) {
            return self.sift_lines(&rest, &mut through);
        }
        self.found.clear();
        let end = self.searcher.find(&rest, &mut self.found);
        if rest.len() - end >= EDGE_MIN {
            self.found.retain(|range| range.start < end);
            let start = self.found.last().map_or(end, |last| last.end.max(end));
            self.found.extend((start < rest.len()).then_some(start..rest.len()));
        }
        splice(&rest, &self.found, covered, &mut through);
    }

    fn push_text(&mut self, bytes: &[u8], through: &mut dyn FnMut(&[u8])) {
        if self.held.is_empty() {
            return self.sift(bytes, through);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        self.sift(&all, through);
    }

    /// Lets through all of `text` but what may be the beginning of a value.
    fn sift(&mut self, text: &[u8], through: &mut dyn FnMut(&[u8])) {
        self.found.clear();
        let end = self.searcher.find(text, &mut self.found);
        let covered = std::mem::take(&mut self.covered);
        self.found.retain(|range| range.start < end);
        // A match that reaches into what is held back has its mark now.
        if let Some(last) = self.found.last_mut().filter(|last| last.end > end) {
            self.covered = last.end - end;
            last.end = end;
        }
        self.covered = self.covered.max(covered.saturating_sub(end));
        splice(&text[..end], &self.found, covered.min(end), through);
        self.held.extend_from_slice(&text[end..]);
        debug_assert!(self.held.len() <= self.searcher.longest(), "more is held than may be one");
    }

    fn push_lines(&mut self, mut bytes: &[u8], through: &mut dyn FnMut(&[u8])) {
        if self.is_long_line {
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                return self.push_text(bytes, through);
            };
            let (line, rest) = bytes.split_at(end + 1);
            self.push_text(line, through);
            self.is_long_line = false;
            bytes = rest;
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (lines, rest) = bytes.split_at(whole);
        if !lines.is_empty() {
            match self.held.is_empty() {
                true => self.sift_lines(lines, through),
                false => {
                    // Only the first of them goes on from what is held.
                    let first = lines.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                    let mut line = std::mem::take(&mut self.held);
                    line.extend_from_slice(&lines[..first]);
                    self.sift_lines(&line, through);
                    self.sift_lines(&lines[first..], through);
                }
            }
        }
        self.held.extend_from_slice(rest);
        if self.held.len() > LINE_SIZE_MAX {
            self.is_long_line = true;
            self.push_text(&[], through);
        }
    }

    /// Lets through lines that are there as a whole.
    fn sift_lines(&mut self, text: &[u8], through: &mut dyn FnMut(&[u8])) {
        self.found.clear();
        self.searcher.find(text, &mut self.found);
        let mut done = 0;
        let mut found = self.found.iter().peekable();
        while let Some(first) = found.peek() {
            let start = text[..first.start].iter().rposition(|byte| *byte == b'\n');
            let start = start.map_or(0, |at| at + 1).max(done);
            let end = text[first.start..].iter().position(|byte| *byte == b'\n');
            let end = end.map_or(text.len(), |at| first.start + at);
            through_some(&text[done..start], through);
            let mut ranges = Vec::new();
            // No value has a break in it, so that a match is within one line.
            while let Some(range) = found.next_if(|range| range.start < end) {
                ranges.push(range.start - start..range.end.min(end) - start);
            }
            let line = &text[start..end];
            let mut clean = Vec::with_capacity(line.len());
            splice(line, &ranges, 0, &mut |bytes| clean.extend_from_slice(bytes));
            through(&lines::repaired(line, &self.searcher, clean));
            done = end;
        }
        through_some(&text[done..], through);
    }
}

/// Lets `text` through with a mark in place of each range; the first `covered` bytes have theirs.
fn splice(text: &[u8], found: &[Range<usize>], covered: usize, through: &mut dyn FnMut(&[u8])) {
    let mut done = covered;
    for range in found.iter().filter(|range| range.end > covered) {
        // What goes on from a value with a mark needs no other.
        if range.start >= done {
            through_some(&text[done..range.start], through);
            through(MARK.as_bytes());
        }
        done = range.end;
    }
    through_some(&text[done.min(text.len())..], through);
}

fn through_some(bytes: &[u8], through: &mut dyn FnMut(&[u8])) {
    if !bytes.is_empty() {
        through(bytes);
    }
}
