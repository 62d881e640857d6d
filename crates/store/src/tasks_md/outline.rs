//! The blocks of a Markdown text, as far as a task can be made of them.
//!
//! Quotes, HTML and everything inside them are left out; so are lists nested deeper than
//! [`DEPTH_MAX`], which is said. A heading inside a list item is a line of that item: it opens no
//! section.

use super::{
    field,
    line::{Kind, Line},
};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// How deep lists may nest. No person indents a task this far, and a bound makes recursion safe.
pub(super) const DEPTH_MAX: usize = 32;

/// Cells of a table row that are kept: a field's row has two, and a third shows that it is none.
const CELLS_MAX: usize = 3;

/// How many blocks most items have: a line, and the fields below it.
const BLOCKS_USUAL: usize = 2;

/// The blocks of a text.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) blocks: Vec<Block>,
    /// The first list that is nested too deep to be read.
    pub(super) too_deep: Option<Range<usize>>,
}

/// One block of the text.
#[derive(Debug)]
pub(super) enum Block {
    Heading { level: u8, line: Line, span: Range<usize> },
    Paragraph(Vec<Line>),
    List(Vec<Item>),
    Code { language: String, text: Line },
    Table(Vec<Vec<Line>>),
}

/// One item of a list.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) span: Range<usize>,
    /// Its `[ ]` or `[x]`, where Markdown sees one.
    pub(super) tick_box: Option<TickBox>,
    pub(super) blocks: Vec<Block>,
}

/// A box to tick, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct TickBox {
    pub(super) span: Range<usize>,
    pub(super) ticked: bool,
}

impl Item {
    /// The lines of its first paragraph, and the blocks below them.
    pub(super) fn parts(&self) -> (&[Line], &[Block]) {
        match self.blocks.split_first() {
            Some((Block::Paragraph(lines), rest)) => (lines, rest),
            _ => (&[], &self.blocks),
        }
    }
}

/// Reads `source` into its blocks, part after part in the order of the text, so that only one part
/// of a long text is in memory as blocks; `length` is how much of the text makes a part, roughly.
pub(super) fn parts(source: &str, length: usize) -> impl Iterator<Item = Outline> {
    // A reference can be defined behind its use, so such a text is read at once.
    let length = if source.contains("]:") { source.len() } else { length };
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < source.len()).then(|| {
            let (part, end) = part(source, at, length);
            at = end;
            part
        })
    })
}

/// The blocks from `start` to a place where nothing of what follows belongs to them; and that place.
fn part(source: &str, start: usize, length: usize) -> (Outline, usize) {
    let mut length = length.max(1);
    loop {
        let end = source.floor_char_boundary(start.saturating_add(length));
        let end = source[end..].find('\n').map_or(source.len(), |line_end| end + line_end + 1);
        let mut outline = outline(source, start..end);
        if end == source.len() {
            return (outline, end);
        }
        // The last block may go on behind the end, so the next part starts with it.
        if let Some(place) = cut(&mut outline.blocks) {
            let line = source[..place].rfind('\n').map_or(0, |line_end| line_end + 1);
            return (outline, line);
        }
        length = length.saturating_mul(2);
    }
}

/// Takes away the last heading or item of a list of the first level and what follows it, unless it
/// is the first; where it starts. Markdown reads line by line, so whatever stands before such a
/// line is the same whatever follows.
fn cut(blocks: &mut Vec<Block>) -> Option<usize> {
    for at in (0..blocks.len()).rev() {
        let (before, rest) = blocks.split_at_mut(at);
        match &mut rest[0] {
            Block::Heading { span, .. } if at > 0 => {
                let start = span.start;
                blocks.truncate(at);
                return Some(start);
            }
            Block::List(items) if items.len() > 1 && !before.last().is_some_and(wants_value) => {
                let start = items.pop().map(|item| item.span.start);
                blocks.truncate(at + 1);
                return start;
            }
            _ => {}
        }
    }
    None
}

/// Whether a list below may be the value of a field, which is read as a whole.
fn wants_value(block: &Block) -> bool {
    let Block::Paragraph(lines) = block else { return false };
    let last = lines.last().and_then(field::labelled);
    last.is_some_and(|labelled| labelled.value.text().is_empty())
}

/// Reads the blocks of one part of `source`.
fn outline(source: &str, part: Range<usize>) -> Outline {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_GFM;
    let mut builder = Builder {
        source,
        open: vec![OpenContainer::Blocks(Vec::new())],
        inline: None,
        one_line: false,
        rows: Vec::new(),
        language: None,
        skipped: 0,
        too_deep: None,
    };
    let start = part.start;
    for (event, span) in Parser::new_ext(&source[part], options).into_offset_iter() {
        builder.event(event, start + span.start..start + span.end);
    }
    builder.flush();
    let blocks = match builder.open.swap_remove(0) {
        OpenContainer::Blocks(blocks) => blocks,
        OpenContainer::List(_) | OpenContainer::Item(_) => Vec::new(),
    };
    Outline { blocks, too_deep: builder.too_deep }
}

/// A container whose end has not come yet.
enum OpenContainer {
    Blocks(Vec<Block>),
    List(Vec<Item>),
    Item(Item),
}

struct Builder<'s> {
    source: &'s str,
    open: Vec<OpenContainer>,
    /// The lines of the paragraph, heading, cell or code block that is being read.
    inline: Option<Vec<Line>>,
    /// Whether it is a heading or a cell, which are one line to their reader.
    one_line: bool,
    rows: Vec<Vec<Line>>,
    /// The language of the code block that is being read.
    language: Option<String>,
    /// How many open tags stand inside something that is left out, itself included.
    skipped: usize,
    too_deep: Option<Range<usize>>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Range<usize>) {
        if self.skipped > 0 {
            match event {
                Event::Start(_) => self.skipped += 1,
                Event::End(_) => self.skipped -= 1,
                _ => {}
            }
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, span),
            Event::End(tag) => self.end(tag, span),
            Event::Text(text) => self.push(&text, Kind::Plain, span),
            Event::Code(text) => self.push(&text, Kind::Code, span),
            Event::InlineHtml(html) if html.starts_with("<br") => self.line_break(span),
            Event::InlineHtml(_) => self.line().reach(span.end),
            Event::SoftBreak | Event::HardBreak => self.line_break(span),
            Event::TaskListMarker(ticked) => {
                if let Some(OpenContainer::Item(item)) = self.open.last_mut() {
                    item.tick_box = Some(TickBox { span, ticked });
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, span: Range<usize>) {
        match tag {
            Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. } => {}
            Tag::Paragraph | Tag::Table(_) => self.flush(),
            Tag::Heading { .. } | Tag::TableCell => {
                self.flush();
                self.one_line = true;
            }
            Tag::List(_) if self.open.len() < 2 * DEPTH_MAX => {
                self.flush();
                self.open.push(OpenContainer::List(Vec::new()));
            }
            Tag::List(_) => {
                self.flush();
                self.skipped = 1;
                self.too_deep.get_or_insert(span);
            }
            Tag::Item => {
                self.open.push(OpenContainer::Item(Item {
                    span,
                    tick_box: None,
                    blocks: Vec::with_capacity(BLOCKS_USUAL),
                }));
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.language = Some(language(&kind));
            }
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            _ => {
                self.flush();
                self.skipped = 1;
            }
        }
    }

    fn end(&mut self, tag: TagEnd, span: Range<usize>) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(level) => {
                let line = self.take_line();
                match self.open.as_slice() {
                    [_] => self.add(Block::Heading { level: level as u8, line, span }),
                    _ => self.add(Block::Paragraph(vec![line])),
                }
            }
            TagEnd::CodeBlock => {
                let text = self.take_line();
                let language = self.language.take().unwrap_or_default();
                self.add(Block::Code { language, text });
            }
            TagEnd::TableCell => {
                let line = self.take_line();
                match self.rows.last_mut() {
                    Some(row) if row.len() < CELLS_MAX => row.push(line),
                    _ => {}
                }
            }
            TagEnd::Table => {
                let rows = std::mem::take(&mut self.rows);
                self.add(Block::Table(rows));
            }
            TagEnd::Item | TagEnd::List(_) => self.close(),
            _ => {
                if self.inline.is_some() {
                    self.line().wrap(span);
                }
            }
        }
    }

    /// Ends the innermost item or list and puts it where it belongs.
    fn close(&mut self) {
        self.flush();
        match self.open.pop() {
            Some(OpenContainer::Item(item)) => {
                if let Some(OpenContainer::List(items)) = self.open.last_mut() {
                    items.push(item);
                }
            }
            Some(OpenContainer::List(items)) => self.add(Block::List(items)),
            Some(root @ OpenContainer::Blocks(_)) => self.open.push(root),
            None => {}
        }
    }

    fn add(&mut self, block: Block) {
        match self.open.last_mut() {
            Some(OpenContainer::Blocks(blocks) | OpenContainer::Item(Item { blocks, .. })) => {
                blocks.push(block);
            }
            Some(OpenContainer::List(_)) | None => {}
        }
    }

    /// Ends the paragraph that is being read; a tight item's has no tag of its own.
    fn flush(&mut self) {
        if let Some(lines) = self.inline.take() {
            self.add(Block::Paragraph(lines));
        }
    }

    fn line(&mut self) -> &mut Line {
        let lines = self.inline.get_or_insert_with(|| Vec::with_capacity(1));
        if lines.is_empty() {
            lines.push(Line::default());
        }
        lines.last_mut().expect("a line was pushed above if there was none")
    }

    fn push(&mut self, text: &str, kind: Kind, span: Range<usize>) {
        let source = self.source;
        self.line().push(text, kind, source, span);
    }

    /// Ends a heading, a cell or a block of code, which have a single line.
    fn take_line(&mut self) -> Line {
        self.one_line = false;
        self.inline.take().and_then(|mut lines| lines.pop()).unwrap_or_default()
    }

    fn line_break(&mut self, span: Range<usize>) {
        if self.one_line {
            self.push(" ", Kind::Plain, span);
        } else {
            self.line();
            self.inline.get_or_insert_default().push(Line::default());
        }
    }
}

/// The first word behind the fence, in small letters; nothing for an indented block.
fn language(kind: &CodeBlockKind<'_>) -> String {
    match kind {
        CodeBlockKind::Fenced(words) => {
            words.split_whitespace().next().unwrap_or_default().to_ascii_lowercase()
        }
        CodeBlockKind::Indented => String::new(),
    }
}
