//! The text of a file as the rest of this module sees it: no byte order mark, lines end with `\n`.
//!
//! Markdown treats `\r\n` and a lone `\r` as line ends too, but a parser has many places to forget
//! one in. Evening them out first makes reading independent of them by construction; where a byte
//! stood in the file is known for edits of it.

use std::borrow::Cow;

/// What some editors put in front of UTF-8; it is not part of the text.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// A text with even line ends.
#[derive(Debug)]
pub(super) struct Source<'t> {
    text: Cow<'t, str>,
    /// How many bytes of the file stand before the text.
    skipped: usize,
    /// Where in the text a `\r` was left out, ascending.
    removed: Vec<usize>,
}

impl<'t> Source<'t> {
    pub(super) fn new(file: &'t str) -> Self {
        let text = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
        let pairs = text.match_indices("\r\n").enumerate();
        Self {
            skipped: file.len() - text.len(),
            removed: pairs.map(|(before, (at, _))| at - before).collect(),
            text: if text.contains('\r') {
                text.replace("\r\n", "\n").replace('\r', "\n").into()
            } else {
                text.into()
            },
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where the byte `at` of the text stands in the file; a line's end is where its `\r` stands.
    pub(super) fn in_file(&self, at: usize) -> usize {
        self.skipped + at + self.removed.partition_point(|&removed| removed < at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_even_and_every_byte_is_found_again() {
        let file = "\u{feff}a\r\nb\rc\n\r\nd\r\r\n";
        let source = Source::new(file);
        assert_eq!(source.text(), "a\nb\nc\n\nd\n\n");
        let places: Vec<usize> = (0..=source.text().len()).map(|at| source.in_file(at)).collect();
        assert_eq!(places, [3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 16]);
        assert_eq!(Source::new("a\nb").in_file(3), 3);
    }
}
