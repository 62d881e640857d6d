//! One line of text as a reader sees it: markup taken away, each stretch tied to its source.
//!
//! Grammars work on the plain text, findings and edits on the source; inline code stays known as
//! such, because an id or a label that is quoted as code means something else than one that is not.

use std::ops::Range;

/// A line without its markup.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: String,
    pieces: Vec<Piece>,
    /// Where emphasis and links stand in the source, delimiters included.
    wraps: Vec<Range<usize>>,
    end: usize,
}

/// Whether a stretch was written as inline code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Code,
}

/// A stretch of a line and where it stands in the source.
#[derive(Debug)]
struct Piece {
    /// Where it starts in the line's text.
    at: usize,
    source: Range<usize>,
    kind: Kind,
    /// Whether text and source are the same bytes; an entity such as `&amp;` is not.
    verbatim: bool,
}

impl Line {
    /// Appends what a Markdown event holds; `span` is the event's place in `source`.
    pub(super) fn push(&mut self, text: &str, kind: Kind, source: &str, span: Range<usize>) {
        self.reach(span.end);
        if text.is_empty() {
            return;
        }
        // The delimiters of inline code stand symmetrically around its text.
        let start = span.start + span.len().saturating_sub(text.len()) / 2;
        let inner = start..start + text.len();
        let verbatim = source.get(inner.clone()) == Some(text);
        let place = if verbatim { inner } else { span };
        match self.pieces.last_mut() {
            Some(last)
                if last.verbatim
                    && verbatim
                    && (last.kind, kind) == (Kind::Plain, Kind::Plain)
                    && last.source.end == place.start =>
            {
                last.source.end = place.end;
            }
            _ => self.pieces.push(Piece { at: self.text.len(), source: place, kind, verbatim }),
        }
        self.text.push_str(text);
    }

    /// Notes emphasis or a link that ends in this line.
    pub(super) fn wrap(&mut self, span: Range<usize>) {
        self.reach(span.end);
        self.wraps.push(span);
    }

    /// Notes that the line goes on to `end` in the source, as with a comment.
    pub(super) fn reach(&mut self, end: usize) {
        self.end = self.end.max(end);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The byte of the source after everything that belongs to the line.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Whether the character at `at` is inline code.
    pub(super) fn is_code(&self, at: usize) -> bool {
        self.piece(at).is_some_and(|piece| piece.kind == Kind::Code)
    }

    /// Whether inline code starts exactly at `at`.
    pub(super) fn code_starts(&self, at: usize) -> bool {
        self.piece(at).is_some_and(|piece| piece.kind == Kind::Code && piece.at == at)
    }

    /// Whether inline code ends exactly at `at`.
    pub(super) fn code_ends(&self, at: usize) -> bool {
        at > 0 && self.is_code(at - 1) && (!self.is_code(at) || self.code_starts(at))
    }

    /// Where a stretch of the text stands in the source.
    pub(super) fn span(&self, range: Range<usize>) -> Range<usize> {
        let start = match self.piece(range.start) {
            Some(piece) if piece.verbatim => {
                (piece.source.start + (range.start - piece.at)).min(piece.source.end)
            }
            Some(piece) => piece.source.start,
            None => self.end,
        };
        let end = match self.piece(range.end.saturating_sub(1)) {
            _ if range.is_empty() => start,
            Some(piece) if piece.verbatim => piece.source.start + (range.end - piece.at),
            Some(piece) => piece.source.end,
            None => self.end,
        };
        start..end.max(start)
    }

    /// The stretches of `range`, each with its kind.
    pub(super) fn stretches(&self, range: Range<usize>) -> impl Iterator<Item = (Kind, &str)> {
        let ends = self.pieces.iter().skip(1).map(|piece| piece.at).chain([self.text.len()]);
        self.pieces.iter().zip(ends).filter_map(move |(piece, end)| {
            let (start, end) = (piece.at.max(range.start), end.min(range.end));
            (start < end).then(|| (piece.kind, &self.text[start..end]))
        })
    }

    fn piece(&self, at: usize) -> Option<&Piece> {
        let after = self.pieces.partition_point(|piece| piece.at <= at);
        self.pieces.get(after.checked_sub(1)?)
    }
}

/// A part of a line: a field's value, an item below it, or a block of code.
#[derive(Clone, Debug)]
pub(super) struct Slice<'l> {
    pub(super) line: &'l Line,
    pub(super) range: Range<usize>,
    pub(super) origin: Origin,
}

/// How a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Behind its label.
    Inline,
    /// In the cell of a table beside its label.
    Cell,
    /// As an item of a list below its label.
    Item,
    /// As a block of code below its label.
    Block,
}

impl<'l> Slice<'l> {
    /// The part of `line` from `start` on, without the spaces around it.
    pub(super) fn after(line: &'l Line, start: usize, origin: Origin) -> Self {
        Self::of(line, start..line.text().len(), origin)
    }

    /// The part `range` of `line`, without the spaces around it.
    pub(super) fn of(line: &'l Line, range: Range<usize>, origin: Origin) -> Self {
        let text = &line.text()[range.clone()];
        let start = range.start + (text.len() - text.trim_start().len());
        Self { line, range: start..start + text.trim().len(), origin }
    }

    pub(super) fn text(&self) -> &'l str {
        &self.line.text()[self.range.clone()]
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.line.span(self.range.clone())
    }

    /// The texts of its inline code.
    pub(super) fn codes(&self) -> impl Iterator<Item = &'l str> {
        let stretches = self.line.stretches(self.range.clone());
        stretches.filter(|&(kind, _)| kind == Kind::Code).map(|(_, text)| text.trim())
    }

    /// The value as it was typed: a path with `__` in it is no emphasis. Only in a table, where
    /// `|` has to be escaped, Markdown's reading is the better one.
    pub(super) fn typed<'t>(&'t self, source: &'t str) -> &'t str {
        match self.origin {
            Origin::Cell => self.text(),
            Origin::Inline | Origin::Item | Origin::Block => source[self.typed_span()].trim(),
        }
    }

    /// The place of the value with the delimiters that belong to it: those of `*.rs src/*` do, as
    /// the emphasis that Markdown sees was not meant; those around the whole value do not.
    fn typed_span(&self) -> Range<usize> {
        let span = self.span();
        let before = self.range.start.saturating_sub(1)..self.range.start;
        let floor = if before.is_empty() { 0 } else { self.line.span(before).end };
        let inside = || self.line.wraps.iter().filter(|wrap| wrap.start >= floor);
        if inside().any(|wrap| wrap.start < span.start && wrap.end > span.end) {
            return span;
        }
        let is_near = |wrap: &&Range<usize>| wrap.start <= span.end && wrap.end >= span.start;
        inside()
            .filter(is_near)
            .fold(span.clone(), |all, wrap| all.start.min(wrap.start)..all.end.max(wrap.end))
    }
}
