//! JSON text as a tree with places.
//!
//! serde_json decides what is well-formed JSON, what a string says and what is too large for a
//! number; the scan afterwards only finds out where everything stands.

use super::text::{Span, offset_of, place};
use super::tree::{DEPTH_MAX, Entry, Node, VALUES_MAX, Value, number};
use serde::de::IgnoredAny;
use std::borrow::Cow;
use waypost_model::diagnostic::Diagnostic;
use waypost_model::document::code;

/// Reads well-formed JSON into a tree, or says where it is not well formed.
pub(super) fn tree(text: &str) -> Result<Node<'_>, Box<Diagnostic>> {
    if let Some(offset) = too_deep(text) {
        let message = "lists and objects are nested too deeply";
        let finding = Diagnostic::error(code::TOO_DEEP, message)
            .at(place(text, Span::new(offset, offset + 1)))
            .expected(format!("at most {DEPTH_MAX} levels"));
        return Err(finding.into());
    }
    if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        // Reading into values costs more, but its messages say more.
        let error = serde_json::from_str::<serde_json::Value>(text).err().unwrap_or(error);
        return Err(explain(text, &error).into());
    }
    Scan { text, at: 0, values: 0 }.value()
}

/// Turns an error of serde_json into a finding, as well as its position allows.
fn explain(text: &str, error: &serde_json::Error) -> Diagnostic {
    let full = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = full.strip_suffix(&position).unwrap_or(&full);
    let offset = offset_of(text, error.line(), error.column());
    let at = |code, message: String| {
        Diagnostic::error(code, message).at(place(text, Span::new(offset, offset + 1)))
    };
    if let Some(word) = not_a_number(text, offset) {
        return at(code::NOT_A_NUMBER, format!("`{word}` is not a number in JSON"));
    }
    match message {
        "trailing characters" => {
            at(code::TRAILING_CONTENT, "something follows after the document's end".to_owned())
        }
        _ => match message.strip_prefix("EOF while parsing ") {
            Some(what) => at(code::SYNTAX, format!("the file ends inside {what}")),
            None => at(code::SYNTAX, message.to_owned()),
        },
    }
}

/// The word around `offset`, if other languages call it a number.
fn not_a_number(text: &str, offset: usize) -> Option<&str> {
    let is_inside = |c: char| c.is_ascii_alphabetic() || c == '-';
    let start = text[..offset]
        .rfind(|c| !is_inside(c))
        .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
    let word = text[start..].split(|c| !is_inside(c)).next().unwrap_or_default();
    let known = ["NaN", "Infinity", "inf"];
    let unsigned = word.trim_start_matches('-');
    known.iter().any(|name| name.eq_ignore_ascii_case(unsigned)).then_some(word)
}

/// Where the nesting first exceeds its limit.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Some(offset);
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// A walk over well-formed JSON; recursion is bounded by `DEPTH_MAX`.
struct Scan<'t> {
    text: &'t str,
    at: usize,
    values: usize,
}

impl<'t> Scan<'t> {
    fn value(&mut self) -> Result<Node<'t>, Box<Diagnostic>> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(self.too_many());
        }
        self.skip_space();
        let start = self.at;
        let value = match self.peek() {
            b'{' => self.object()?,
            b'[' => self.array()?,
            b'"' => Value::Text(self.string()?),
            b't' => self.word(4, Value::Bool(true)),
            b'f' => self.word(5, Value::Bool(false)),
            b'n' => self.word(4, Value::Null),
            _ => self.number()?,
        };
        Ok(Node { span: Span::new(start, self.at), value })
    }

    fn object(&mut self) -> Result<Value<'t>, Box<Diagnostic>> {
        let mut entries = Vec::new();
        self.at += 1;
        loop {
            self.skip_separators();
            if matches!(self.peek(), b'}' | 0) {
                self.at += 1;
                return Ok(Value::Map(entries));
            }
            let start = self.at;
            let key = self.string()?;
            let key_span = Span::new(start, self.at);
            self.skip_separators();
            entries.push(Entry { key, key_span, node: self.value()? });
        }
    }

    fn array(&mut self) -> Result<Value<'t>, Box<Diagnostic>> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip_separators();
            if matches!(self.peek(), b']' | 0) {
                self.at += 1;
                return Ok(Value::List(items));
            }
            items.push(self.value()?);
        }
    }

    fn string(&mut self) -> Result<Cow<'t, str>, Box<Diagnostic>> {
        let start = self.at;
        let mut has_escape = false;
        self.at += 1;
        loop {
            match self.peek() {
                b'"' | 0 => break,
                b'\\' => {
                    has_escape = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at = (self.at + 1).min(self.text.len());
        let quoted = &self.text[start..self.at];
        if !has_escape {
            return Ok(Cow::Borrowed(quoted.trim_matches('"')));
        }
        serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| {
            self.faulty(code::SYNTAX, start, "an escape in this string is no character")
        })
    }

    fn number(&mut self) -> Result<Value<'t>, Box<Diagnostic>> {
        let start = self.at;
        while matches!(self.peek(), b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
            self.at += 1;
        }
        number(&self.text[start..self.at])
            .ok_or_else(|| self.faulty(code::OUT_OF_RANGE, start, "the number is too large"))
    }

    fn word(&mut self, length: usize, value: Value<'t>) -> Value<'t> {
        self.at += length;
        value
    }

    fn too_many(&self) -> Box<Diagnostic> {
        let finding = Diagnostic::error(code::TOO_LARGE, "the file has too many values");
        let place = place(self.text, Span::new(self.at, self.at + 1));
        finding.at(place).expected(format!("at most {VALUES_MAX}")).into()
    }

    fn faulty(&self, code: &'static str, start: usize, message: &str) -> Box<Diagnostic> {
        let place = place(self.text, Span::new(start, self.at));
        Diagnostic::error(code, message).at(place).into()
    }

    /// The next byte, 0 at the end; a NUL cannot occur in the text itself.
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn skip_separators(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n' | b',' | b':') {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str, at: (u32, u32), message: &str) {
        let found = tree(text).expect_err(text);
        let place = found.place.unwrap();
        let got = (found.code, (place.line, place.column), found.message.as_str());
        assert_eq!(got, (code, at, message), "{text}");
    }

    #[test]
    fn what_is_not_json_is_said_where_it_is() {
        check("{\n  \"a\": 1,\n}", "syntax", (3, 1), "trailing comma");
        check("{\"가\": 1 \"b\": 2}", "syntax", (1, 9), "expected `,` or `}`");
        check("{\"a\": ", "syntax", (1, 6), "the file ends inside a value");
        check("{\"a\": [1, ", "syntax", (1, 10), "the file ends inside a value");
        check("{} x", "trailing_content", (1, 4), "something follows after the document's end");
        check("{\"a\": NaN}", "not_a_number", (1, 7), "`NaN` is not a number in JSON");
        check("{\"a\": -Infinity}", "not_a_number", (1, 8), "`-Infinity` is not a number in JSON");
        check("{\"a\": 1e999}", "out_of_range", (1, 7), "the number is too large");
        check("[\"x\", \"\\ud800\"]", "syntax", (1, 7), "an escape in this string is no character");
        check("{'a': 1}", "syntax", (1, 2), "key must be a string");
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(tree(&nested(DEPTH_MAX)).is_ok());
        let message = "lists and objects are nested too deeply";
        check(&nested(DEPTH_MAX + 1), "too_deep", (1, 128), message);
        check(&"[".repeat(1_000_000), "too_deep", (1, 128), message);
        assert!(tree(&format!("\"{}\"", "[".repeat(500))).is_ok(), "brackets in a string are text");
    }

    #[test]
    fn trees_have_a_limit() {
        let text = format!("[{}0]", "0,".repeat(VALUES_MAX));
        assert_eq!(tree(&text).unwrap_err().code, "too_large");
    }

    #[test]
    fn values_know_where_they_stand() {
        let text = r#"{"a.b": [1, {"c": "x\n"}], "d": {"": null}, "e[0]": true}"#;
        let tree = tree(text).unwrap();
        let at = |path: &str| {
            let span = tree.locate(path);
            &text[span.start as usize..span.end as usize]
        };
        let table = [
            ("", "{"),
            ("a.b", "\"a.b\""),
            ("a.b[0]", "1"),
            ("a.b[1].c", "\"x\\n\""),
            ("a.b[1].missing", "{"),
            ("a.b[7]", "\"a.b\""),
            ("d.", "null"),
            ("e[0]", "true"),
            ("missing", "{"),
        ];
        for (path, want) in table {
            assert_eq!(at(path), want, "{path}");
        }
    }
}
