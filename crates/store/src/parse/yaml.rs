//! YAML text as a tree with places.
//!
//! A scalar without quotes means what it means in JSON: a number, true, false or null; everything
//! else is text, so `no`, `012` and dates stay what was written. Anchors, aliases and tags are
//! refused: no document needs them, and they can make a small file enormous.

use super::text::{Span, place};
use super::tree::{DEPTH_MAX, Entry, Node, VALUES_MAX, Value, is_number, number};
use serde_saphyr::granit_parser::{
    self, ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, StrInput, Tag,
};
use std::borrow::Cow;
use waypost_model::diagnostic::Diagnostic;
use waypost_model::document::code;

/// Reads one YAML document into a tree, or says where it is not well formed.
pub(super) fn tree(text: &str) -> Result<Node<'_>, Box<Diagnostic>> {
    let mut options = granit_parser::options! {
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
        emit_unresolved_aliases: true,
    };
    options.set_emit_comments(false);
    let mut build = YamlBuild { text, open: Vec::new(), root: None, values: 0 };
    let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str_with_options(text, options);
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| explain(text, &error))?;
        build.take(event, span)?;
    }
    build.root.ok_or_else(|| {
        let place = place(text, Span::new(0, 1));
        Diagnostic::error(code::EMPTY, "the file has no content").at(place).into()
    })
}

fn explain(text: &str, error: &ScanError) -> Box<Diagnostic> {
    let offset = offset(text, error.marker());
    let at = place(text, Span::new(offset, offset + 1));
    if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
        return too_deep().at(at).into();
    }
    Diagnostic::error(code::SYNTAX, error.info()).at(at).into()
}

fn too_deep() -> Diagnostic {
    Diagnostic::error(code::TOO_DEEP, "lists and objects are nested too deeply")
        .expected(format!("at most {DEPTH_MAX} levels"))
}

fn offset(text: &str, marker: &Marker) -> usize {
    let counted = || text.char_indices().nth(marker.index()).map_or(text.len(), |(at, _)| at);
    marker.byte_offset().unwrap_or_else(counted)
}

/// A list or object whose end has not come yet.
enum Open<'t> {
    List { start: usize, items: Vec<Node<'t>> },
    Map { start: usize, entries: Vec<Entry<'t>>, key: Option<(Cow<'t, str>, Span)> },
}

struct YamlBuild<'t> {
    text: &'t str,
    open: Vec<Open<'t>>,
    root: Option<Node<'t>>,
    values: usize,
}

impl<'t> YamlBuild<'t> {
    fn take(&mut self, event: Event<'t>, span: granit_parser::Span) -> Result<(), Box<Diagnostic>> {
        let range = Span::new(offset(self.text, &span.start), offset(self.text, &span.end));
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.check_properties(range, anchor, tag.as_deref())?;
                self.scalar(text, style, range)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.check_properties(range, anchor, tag.as_deref())?;
                let start = range.start as usize;
                self.push(Open::List { start, items: Vec::new() }, range)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.check_properties(range, anchor, tag.as_deref())?;
                let start = range.start as usize;
                self.push(Open::Map { start, entries: Vec::new(), key: None }, range)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                Err(self.refuse(code::ALIAS, range, "an alias is not allowed here"))
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(self.refuse(code::TRAILING_CONTENT, range, "a second document follows"))
            }
            _ => Ok(()),
        }
    }

    fn check_properties(
        &self,
        range: Span,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), Box<Diagnostic>> {
        if anchor != 0 {
            return Err(self.refuse(code::ANCHOR, range, "an anchor is not allowed here"));
        }
        match tag {
            Some(_) => Err(self.refuse(code::TAG, range, "a tag is not allowed here")),
            None => Ok(()),
        }
    }

    fn refuse(&self, code: &'static str, range: Span, message: &str) -> Box<Diagnostic> {
        let finding = Diagnostic::error(code, message).at(place(self.text, range));
        finding.hint("write the value itself").into()
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        range: Span,
    ) -> Result<(), Box<Diagnostic>> {
        if let Some(Open::Map { key: key @ None, .. }) = self.open.last_mut() {
            *key = Some((text, range));
            return Ok(());
        }
        let value =
            if style == ScalarStyle::Plain { self.plain(text, range)? } else { Value::Text(text) };
        self.put(Node { span: range, value })
    }

    /// What a scalar without quotes means.
    fn plain(&self, text: Cow<'t, str>, range: Span) -> Result<Value<'t>, Box<Diagnostic>> {
        match text.as_ref() {
            "" | "~" | "null" | "Null" | "NULL" => Ok(Value::Null),
            "true" | "True" | "TRUE" => Ok(Value::Bool(true)),
            "false" | "False" | "FALSE" => Ok(Value::Bool(false)),
            word if is_number(word) => number(word).ok_or_else(|| {
                let place = place(self.text, range);
                Diagnostic::error(code::OUT_OF_RANGE, "the number is too large").at(place).into()
            }),
            _ => Ok(Value::Text(text)),
        }
    }

    fn push(&mut self, open: Open<'t>, range: Span) -> Result<(), Box<Diagnostic>> {
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            let finding = Diagnostic::error(code::WRONG_TYPE, "a key is a list or an object");
            return Err(finding.at(place(self.text, range.head())).expected("a string").into());
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep().at(place(self.text, range.head())).into());
        }
        self.open.push(open);
        Ok(())
    }

    fn close(&mut self, range: Span) -> Result<(), Box<Diagnostic>> {
        let end = range.end as usize;
        let node = match self.open.pop() {
            Some(Open::List { start, items }) => {
                Node { span: Span::new(start, end), value: Value::List(items) }
            }
            Some(Open::Map { start, entries, .. }) => {
                Node { span: Span::new(start, end), value: Value::Map(entries) }
            }
            None => return Ok(()),
        };
        self.put(node)
    }

    /// Gives a finished value to the list or object that it stands in.
    fn put(&mut self, node: Node<'t>) -> Result<(), Box<Diagnostic>> {
        self.values += 1;
        if self.values > VALUES_MAX {
            let finding = Diagnostic::error(code::TOO_LARGE, "the file has too many values");
            let finding = finding.expected(format!("at most {VALUES_MAX}"));
            return Err(finding.at(place(self.text, node.span.head())).into());
        }
        match self.open.last_mut() {
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => {
                let (key, key_span) = key.take().unwrap_or((Cow::Borrowed(""), node.span));
                entries.push(Entry { key, key_span, node });
            }
            None => self.root = Some(node),
        }
        Ok(())
    }
}
