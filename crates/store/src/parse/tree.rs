//! A document as a tree in which every key and value knows where it stands in the text.
//!
//! The three syntaxes end up here, so that one reader can say of each where something is wrong.

use super::text::{Span, place};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use waypost_model::diagnostic::Diagnostic;
use waypost_model::document::code;

/// How deep lists and objects may be nested; the limit that serde_json keeps to as well.
pub(super) const DEPTH_MAX: usize = 127;

/// How many values a tree may have, so that hostile text cannot exhaust memory.
pub(super) const VALUES_MAX: usize = 4_000_000;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node<'t> {
    pub(super) span: Span,
    pub(super) value: Value<'t>,
}

#[derive(Debug)]
pub(super) enum Value<'t> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Negative(i64),
    Float(f64),
    Text(Cow<'t, str>),
    List(Vec<Node<'t>>),
    Map(Vec<Entry<'t>>),
}

/// One entry of an object.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    pub(super) key: Cow<'t, str>,
    pub(super) key_span: Span,
    pub(super) node: Node<'t>,
}

/// A way into a document, linked from the inside out; written as `tasks.T1.steps[2]`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'p> {
    Root,
    Key(&'p Self, &'p str),
    Item(&'p Self, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Item(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

impl Node<'_> {
    /// What to underline for this value: itself if it is short, else the key that leads to it.
    pub(super) fn anchor(&self, key: Option<Span>) -> Span {
        match (&self.value, key) {
            (Value::List(_) | Value::Map(_), None) => self.span.head(),
            (Value::List(_) | Value::Map(_), Some(key)) => key,
            (_, Some(key)) if self.span.is_empty() => key,
            _ => self.span,
        }
    }

    /// Where a path leads, as far as it does; keys may themselves have dots and brackets.
    pub(super) fn locate(&self, path: &str) -> Span {
        self.follow(path, None).unwrap_or_else(|nearest| nearest)
    }

    /// `Ok` is the end of the path, `Err` the last place on the way to it.
    fn follow(&self, path: &str, key: Option<Span>) -> Result<Span, Span> {
        if path.is_empty() {
            return Ok(self.anchor(key));
        }
        let mut nearest = self.anchor(key);
        match &self.value {
            Value::List(items) => {
                let inside = path.strip_prefix('[').and_then(|rest| rest.split_once(']'));
                let item = inside
                    .and_then(|(at, rest)| Some((items.get(at.parse::<usize>().ok()?)?, rest)));
                item.map_or(Err(nearest), |(item, rest)| item.follow(rest, None))
            }
            Value::Map(entries) => {
                let path = path.strip_prefix('.').unwrap_or(path);
                for entry in entries {
                    let Some(rest) = path.strip_prefix(entry.key.as_ref()) else { continue };
                    if !rest.is_empty() && !rest.starts_with(['.', '[']) {
                        continue;
                    }
                    match entry.node.follow(rest, Some(entry.key_span)) {
                        Ok(span) => return Ok(span),
                        Err(span) => nearest = span,
                    }
                }
                Err(nearest)
            }
            _ => Err(nearest),
        }
    }

    /// Takes out every entry whose key occurred before in the same object, and reports it.
    pub(super) fn drop_duplicates(
        &mut self,
        text: &str,
        path: &Path<'_>,
        found: &mut Vec<Diagnostic>,
    ) {
        match &mut self.value {
            Value::List(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    item.drop_duplicates(text, &Path::Item(path, at), found);
                }
            }
            Value::Map(entries) => {
                drop_repeated(entries, text, path, found);
                for Entry { key, node, .. } in entries {
                    node.drop_duplicates(text, &Path::Key(path, key), found);
                }
            }
            _ => {}
        }
    }
}

/// How many findings are reported about one file; no one fixes more than that at once.
pub(super) const FINDINGS_MAX: usize = 100;

fn drop_repeated(
    entries: &mut Vec<Entry<'_>>,
    text: &str,
    path: &Path<'_>,
    found: &mut Vec<Diagnostic>,
) {
    let repeated = repeated(entries);
    for (&at, &earlier) in repeated.iter().take(FINDINGS_MAX.saturating_sub(found.len())) {
        let Entry { key, key_span, .. } = &entries[at];
        let line = place(text, earlier).line;
        let message = format!("the key `{}` occurs twice", Cut(key));
        found.push(
            Diagnostic::error(code::DUPLICATE_KEY, message)
                .at(place(text, *key_span))
                .path(Path::Key(path, key).to_string())
                .hint(format!("it stands on line {line} already; keep one of the two")),
        );
    }
    if !repeated.is_empty() {
        let mut at = 0..;
        entries.retain(|_| at.next().is_some_and(|at| !repeated.contains_key(&at)));
    }
}

/// The positions of entries whose key stood before, each with where it did.
fn repeated(entries: &[Entry<'_>]) -> BTreeMap<usize, Span> {
    /// Up to this many entries, comparing each with each is faster than a table.
    const FEW: usize = 16;
    let (mut repeated, mut first) = (BTreeMap::new(), HashMap::new());
    for (at, entry) in entries.iter().enumerate() {
        let earlier = if entries.len() <= FEW {
            entries[..at].iter().find(|other| other.key == entry.key).map(|other| other.key_span)
        } else {
            let span = *first.entry(entry.key.as_ref()).or_insert(entry.key_span);
            (span != entry.key_span).then_some(span)
        };
        if let Some(earlier) = earlier {
            repeated.insert(at, earlier);
        }
    }
    repeated
}

/// A text as messages show it: cut when it is long.
pub(super) struct Cut<'a>(pub(super) &'a str);

impl fmt::Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_MAX: usize = 60;
        match self.0.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => write!(f, "{}…", self.0[..end].escape_debug()),
            None => write!(f, "{}", self.0.escape_debug()),
        }
    }
}

/// Whether JSON calls this text a number.
pub(super) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    is_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && is_digits(fraction)
        && is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
}

/// The value of a text that JSON calls a number, unless no float is that large.
pub(super) fn number<'t>(text: &str) -> Option<Value<'t>> {
    if let Ok(value) = text.parse() {
        return Some(Value::Unsigned(value));
    }
    match text.parse() {
        // Only a float can be a negative zero.
        Ok(value) if value != 0_i64 => Some(Value::Negative(value)),
        _ => text.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Float),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_json_calls_so() {
        for good in ["0", "-0", "12", "-3.50", "1e3", "0.5E-7", "18446744073709551616"] {
            assert!(is_number(good), "{good}");
        }
        for bad in ["", "-", "012", "+1", ".5", "1.", "1e", "0x1F", "1_000", "NaN", "1.2.3", "１"]
        {
            assert!(!is_number(bad), "{bad}");
        }
    }

    #[test]
    fn numbers_are_read_as_exactly_as_they_can_be() {
        let table = [
            ("7", "Some(Unsigned(7))"),
            ("-7", "Some(Negative(-7))"),
            ("-0", "Some(Float(-0.0))"),
            ("7.0", "Some(Float(7.0))"),
            ("18446744073709551616", "Some(Float(1.8446744073709552e19))"),
            ("1e999", "None"),
        ];
        for (text, want) in table {
            assert_eq!(format!("{:?}", number(text)), want, "{text}");
        }
    }
}
