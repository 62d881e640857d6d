//! What can go wrong while a tree is read into a type, collected instead of ending at the first.

use super::nearest::nearest;
use super::text::{Span, place};
use super::tree::{Cut, FINDINGS_MAX, Path, Value};
use serde::de::{Expected, Unexpected};
use std::cell::RefCell;
use std::fmt;
use waypost_model::diagnostic::Diagnostic;
use waypost_model::document::code;

/// Something that is wrong, before it is known where.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) expected: Option<String>,
    pub(super) hint: Option<String>,
    /// A field that should stand below the place at which this is noticed.
    pub(super) field: Option<&'static str>,
    /// The known word that was probably meant.
    pub(super) meant: Option<String>,
}

impl Fault {
    pub(super) fn new(code: &'static str, message: String) -> Self {
        Self { code, message, expected: None, hint: None, field: None, meant: None }
    }

    pub(super) fn expected(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    /// A value of another type than the one that was asked for.
    pub(super) fn wrong_type(found: &Value<'_>, expected: &str) -> Self {
        let fault = Self::new(code::WRONG_TYPE, format!("found {}", describe(found)));
        Self { hint: quoting_hint(found, expected), ..fault.expected(expected) }
    }

    pub(super) fn unknown_field(field: &str, known: &[&str]) -> Self {
        let fault = Self::new(code::UNKNOWN_FIELD, format!("unknown field `{}`", Cut(field)));
        fault.one_of(field, known)
    }

    pub(super) fn unknown_value(word: &str, known: &[&str]) -> Self {
        Self::new(code::UNKNOWN_VALUE, format!("unknown value `{}`", Cut(word))).one_of(word, known)
    }

    fn one_of(self, written: &str, known: &[&str]) -> Self {
        let meant = nearest(written, known).map(str::to_owned);
        let hint = meant.as_ref().map(|word| format!("did you mean `{word}`?"));
        let expected = if known.is_empty() {
            "nothing".to_owned()
        } else {
            format!("one of {}", known.join(", "))
        };
        Self { hint, meant, ..self.expected(expected) }
    }
}

/// What a value is, in the words of a message.
fn describe(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Unsigned(value) => format!("the number {value}"),
        Value::Negative(value) => format!("the number {value}"),
        Value::Float(value) => format!("the number {value}"),
        Value::Text(text) => format!("the string \"{}\"", Cut(text)),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "an object".to_owned(),
    }
}

/// Quotes too many or too few are the commonest reason for a wrong type.
fn quoting_hint(found: &Value<'_>, expected: &str) -> Option<String> {
    let wants_text = expected == TEXT;
    match found {
        Value::Bool(value) if wants_text => Some(format!("write it in quotes: \"{value}\"")),
        Value::Unsigned(value) if wants_text => Some(format!("write it in quotes: \"{value}\"")),
        Value::Negative(value) if wants_text => Some(format!("write it in quotes: \"{value}\"")),
        Value::Text(text) if expected == BOOL && matches!(text.as_ref(), "true" | "false") => {
            Some(format!("write it without quotes: {text}"))
        }
        Value::Text(text) if expected.contains("number") && text.parse::<i64>().is_ok() => {
            Some(format!("write it without quotes: {text}"))
        }
        _ => None,
    }
}

pub(super) const TEXT: &str = "a string";
pub(super) const BOOL: &str = "true or false";

/// The error that travels through serde; empty once it has been recorded.
#[derive(Debug)]
pub(super) struct Failure(pub(super) Option<Box<Fault>>);

impl Failure {
    fn new(fault: Fault) -> Self {
        Self(Some(Box::new(fault)))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_ref().map_or("recorded", |fault| &fault.message))
    }
}

impl std::error::Error for Failure {}

impl serde::de::Error for Failure {
    /// The types say what they expect after a colon; the two are shown apart.
    fn custom<T: fmt::Display>(message: T) -> Self {
        let message = message.to_string();
        Self::new(match message.split_once(": expected ") {
            Some((what, expected)) => {
                Fault::new(code::BAD_VALUE, what.to_owned()).expected(expected)
            }
            None => Fault::new(code::BAD_VALUE, message),
        })
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let fault = Fault::new(code::WRONG_TYPE, format!("found {found}"));
        Self::new(fault.expected(expected.to_string()))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let fault = Fault::new(code::BAD_VALUE, format!("found {found}"));
        Self::new(fault.expected(expected.to_string()))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let fault = Fault::new(code::WRONG_TYPE, format!("found {length} items"));
        Self::new(fault.expected(expected.to_string()))
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self::new(Fault::unknown_value(word, known))
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::new(Fault::unknown_field(field, known))
    }

    fn missing_field(field: &'static str) -> Self {
        let fault = Fault::new(code::MISSING_FIELD, format!("the field `{field}` is missing"));
        Self::new(Fault { field: Some(field), ..fault })
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(Fault::new(code::DUPLICATE_KEY, format!("the key `{field}` occurs twice")))
    }
}

/// A finding and the offset at which it stands.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) start: u32,
    pub(super) finding: Diagnostic,
    /// The path of the field that was probably meant by an unknown one.
    meant: Option<String>,
}

/// Collects faults with their places.
#[derive(Debug)]
pub(super) struct Sink<'t> {
    text: &'t str,
    found: RefCell<Vec<Found>>,
}

impl<'t> Sink<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, found: RefCell::new(Vec::new()) }
    }

    /// One that goes on from what was found before.
    pub(super) fn resumed(text: &'t str, found: Vec<Found>) -> Self {
        Self { text, found: RefCell::new(found) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.found.borrow().len() >= FINDINGS_MAX
    }

    pub(super) fn record(&self, fault: Fault, span: Span, path: &Path<'_>) {
        let shown = match fault.field {
            Some(field) => Path::Key(path, field).to_string(),
            None => path.to_string(),
        };
        if self.is_full() || self.is_consequence(&shown, span) {
            return;
        }
        let meant = match (path, fault.meant) {
            (Path::Key(object, _), Some(word)) if fault.code == code::UNKNOWN_FIELD => {
                Some(Path::Key(object, &word).to_string())
            }
            _ => None,
        };
        // A version is never a matter of spelling: the file is of another time.
        let is_version = shown == "version" && fault.code == code::BAD_VALUE;
        let code = if is_version { code::WRONG_VERSION } else { fault.code };
        let finding = Diagnostic {
            expected: fault.expected,
            hint: fault.hint,
            ..Diagnostic::error(code, fault.message).at(place(self.text, span)).path(shown)
        };
        self.found.borrow_mut().push(Found { start: span.start, finding, meant });
    }

    /// Whether something at `path` only follows from what was found before: a stand-in that does
    /// not fit either, or a field that is missing because it was misspelled.
    fn is_consequence(&self, path: &str, span: Span) -> bool {
        self.found.borrow().iter().any(|known| {
            let is_same = known.start == span.start && known.finding.path == path;
            is_same || known.meant.as_deref() == Some(path)
        })
    }

    pub(super) fn into_found(self) -> Vec<Found> {
        self.found.into_inner()
    }
}
