//! Shell lines out of the file of a task runner, put together for the judge.
//!
//! What the runner fills in and we do not know becomes a variable that nothing sets, so that the
//! judge finds it unknowable where it matters.

use std::path::Path;

use waypost_guard::{Script, UNKNOWN_VARIABLE};

use crate::look::read::{TEXT_LIMIT, Text, text};

/// Letters that a runner takes off the beginning of a line.
const MARKS: [char; 5] = ['@', '-', '+', ' ', '\t'];

/// A runner's file, with whatever was found.
pub(super) enum Source {
    Text(String),
    TooLong,
    None,
}

/// The first of `names` that is in `folder`.
pub(super) fn source(folder: &Path, names: &[&str]) -> Source {
    for name in names {
        match text(&folder.join(name)) {
            Text::Whole(text) => return Source::Text(text),
            Text::TooLong => return Source::TooLong,
            Text::None => {}
        }
    }
    Source::None
}

/// Text for the shell under way: a piece that is not known has to stand outside single quotes.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: String,
    in_single: bool,
    in_double: bool,
    is_escaped: bool,
}

impl Line {
    pub(super) fn push(&mut self, char: char) {
        match char {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' => self.is_escaped = !self.in_single,
            '\'' if !self.in_double => self.in_single = !self.in_single,
            '"' if !self.in_single => self.in_double = !self.in_double,
            _ => {}
        }
        self.text.push(char);
    }

    pub(super) fn extend(&mut self, text: &str) {
        text.chars().for_each(|char| self.push(char));
    }

    pub(super) fn push_unknown(&mut self) {
        let (open, close) = if self.in_single { ("'\"", "\"'") } else { ("", "") };
        self.is_escaped = false;
        self.text.extend([open, "${", UNKNOWN_VARIABLE, "}", close]);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Whether a piece of the text is not known.
pub(super) fn has_unknown(text: &str) -> bool {
    text.contains(UNKNOWN_VARIABLE)
}

/// Text of which nothing is known but that a shell runs it.
pub(super) fn unknown() -> String {
    let mut line = Line::default();
    line.push_unknown();
    line.finish()
}

/// The lines of a recipe, each of which gets a shell of its own.
#[derive(Debug, Default)]
pub(super) struct Lines(String);

impl Lines {
    pub(super) fn add(&mut self, line: &str) {
        let line = line.trim_start_matches(MARKS);
        if !line.trim().is_empty() && self.0.len() <= TEXT_LIMIT {
            // With a command of our own before it, a line that is only a comment is fine too.
            self.0.extend(["(\n:\n", line, "\n)\n"]);
        }
    }

    pub(super) fn finish(self) -> Script {
        if self.0.len() > TEXT_LIMIT { Script::TooLong } else { Script::Shell(self.0) }
    }
}
