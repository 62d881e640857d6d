//! What was found wrong while reading, with the bytes it concerns, turned into lines and columns
//! in one sweep at the end.
//!
//! Columns count characters, so a place costs a walk along its line; doing that per finding would
//! be quadratic on a file that is one long line.

use std::ops::Range;
use waypost_model::diagnostic::{Diagnostic, Place, Severity};

/// A line that is meant as a task, a field or a dependency and is none.
pub(super) const PARSE_FAIL: &str = "PARSE_FAIL";
/// A dependency on a task that is not in the file.
pub(super) const MISSING_DEP: &str = "MISSING_DEP";
/// A file, or a graph of dependencies, beyond what one run can be.
pub(super) const TOO_LARGE: &str = "too_large";

/// The longest stretch that a caret underlines; more helps no reader and would cost a walk each.
const UNDERLINE_MAX: usize = 120;

/// Where each line of a text starts.
#[derive(Debug)]
pub(super) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub(super) fn new(text: &str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(starts).collect())
    }

    /// The line that holds the byte `at`, from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        u32::try_from(self.0.partition_point(|&start| start <= at)).unwrap_or(u32::MAX)
    }

    /// Where the line that holds the byte `at` starts.
    fn start(&self, at: usize) -> usize {
        self.0[self.0.partition_point(|&start| start <= at) - 1]
    }
}

/// Findings in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<(Range<usize>, Diagnostic)>);

impl Findings {
    pub(super) fn add(&mut self, span: Range<usize>, diagnostic: Diagnostic) {
        self.0.push((span, diagnostic));
    }

    pub(super) fn have_errors(&self) -> bool {
        self.0.iter().any(|(_, diagnostic)| diagnostic.severity == Severity::Error)
    }

    /// Gives each finding its place and returns them in the order of the text.
    pub(super) fn into_diagnostics(mut self, text: &str, starts: &LineStarts) -> Vec<Diagnostic> {
        self.0.sort_by_key(|(span, _)| span.start);
        let mut counted = Counted { at: 0, column: 1 };
        let place = |(span, diagnostic): (Range<usize>, Diagnostic)| {
            let line_start = starts.start(span.start);
            if counted.at < line_start {
                counted = Counted { at: line_start, column: 1 };
            }
            counted.column += characters(&text[counted.at..span.start]);
            counted.at = span.start;
            let marked = text[span].lines().next().unwrap_or_default();
            let length = marked.chars().take(UNDERLINE_MAX).count().max(1);
            diagnostic.at(Place {
                line: starts.line(counted.at),
                column: counted.column,
                length: u32::try_from(length).unwrap_or(u32::MAX),
            })
        };
        self.0.into_iter().map(place).collect()
    }
}

/// How far the characters of the current line have been counted.
struct Counted {
    at: usize,
    column: u32,
}

fn characters(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

/// The beginning of a text that may be as long as the file.
pub(super) fn shorten(text: &str) -> String {
    const LENGTH_MAX: usize = 40;
    match text.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str, spans: &[Range<usize>]) -> Vec<(u32, u32, u32)> {
        let mut findings = Findings::default();
        for span in spans {
            findings.add(span.clone(), Diagnostic::error(PARSE_FAIL, "x"));
        }
        let found = findings.into_diagnostics(text, &LineStarts::new(text));
        let place = |diagnostic: Diagnostic| diagnostic.place.expect("every finding has a place");
        found.into_iter().map(place).map(|at| (at.line, at.column, at.length)).collect()
    }

    #[test]
    fn columns_and_lengths_count_characters() {
        assert_eq!(places("작업 T1 x", &[7..9, 10..11]), [(1, 4, 2), (1, 7, 1)]);
    }

    #[test]
    fn findings_come_in_the_order_of_the_text_and_end_with_their_line() {
        assert_eq!(places("ab\ncd", &[3..5, 0..5, 2..2]), [(1, 1, 2), (1, 3, 1), (2, 1, 2)]);
    }
}
